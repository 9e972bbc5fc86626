"""Kubernetes' own API server passes the checks by which our fake of it is judged."""

import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import aiohttp
import pytest
import pytest_asyncio
import yaml

from hostler.lab.controlplane.api_server import ApiServer
from hostler.testing.conformance.kubernetes.peer import Peer
from hostler.testing.conformance.kubernetes.suite import (
    CHECKS,
    CONTROLLED,
    RULES,
    Check,
    install,
    with_namespace,
)

pytestmark = pytest.mark.timeout(2000)  # the first test waits for the build of the server


@pytest_asyncio.fixture
async def peer(api_server: ApiServer) -> AsyncGenerator[Peer]:
    async with _peer(api_server) as one:
        yield one


@pytest_asyncio.fixture
async def controlled_peer(cluster: ApiServer) -> AsyncGenerator[Peer]:
    """The same where controllers act: a server that is not the others'."""
    async with _peer(cluster) as one:
        yield one


@asynccontextmanager
async def _peer(server: ApiServer) -> AsyncGenerator[Peer]:
    config = yaml.safe_load(server.kubeconfig.read_bytes())
    cluster = config["clusters"][0]["cluster"]
    users = {one["name"]: one["user"] for one in config["users"]}
    trusted = ssl.create_default_context(cafile=cluster["certificate-authority"])
    connector = aiohttp.TCPConnector(ssl=trusted)
    async with aiohttp.ClientSession(connector=connector) as session:
        peer = Peer(session, cluster["server"], users["admin"]["token"], "default")
        await install(peer)
        yield await with_namespace(peer)


@pytest.mark.parametrize("check", [*CHECKS, *RULES], ids=lambda check: check.__name__)
async def test_the_api_server(check: Check, peer: Peer) -> None:
    await check(peer)


@pytest.mark.parametrize("check", CONTROLLED, ids=lambda check: check.__name__)
async def test_the_cluster(check: Check, controlled_peer: Peer) -> None:
    await check(controlled_peer)
