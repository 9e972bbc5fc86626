"""The fake answers as Kubernetes does: the checks that the real API server passes too."""

from collections.abc import AsyncGenerator

import aiohttp
import pytest
import pytest_asyncio

from hostler.simulators.kubernetes.http import ADMIN, Served
from hostler.testing.conformance.kubernetes.peer import Peer
from hostler.testing.conformance.kubernetes.suite import (
    CHECKS,
    CONTROLLED,
    RULES,
    Check,
    install,
    with_namespace,
)


@pytest_asyncio.fixture
async def peer(served: Served) -> AsyncGenerator[Peer]:
    async with aiohttp.ClientSession() as session:
        peer = Peer(session, served.url, ADMIN, "default")
        await install(peer)
        yield await with_namespace(peer)


@pytest.mark.parametrize("check", [*CHECKS, *RULES, *CONTROLLED], ids=lambda check: check.__name__)
async def test_the_fake(check: Check, peer: Peer) -> None:
    await check(peer)
