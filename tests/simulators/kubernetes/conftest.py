"""What the tests of this folder share: a fake API server behind a loopback socket, and clients."""

import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from random import Random

import pytest_asyncio

from hostler.app.clock import SystemClock
from hostler.kubernetes.client import Client
from hostler.kubernetes.contexts import Place, from_kubeconfig
from hostler.kubernetes.session import Session
from hostler.simulators.kubernetes.http import ADMIN, STRANGER, Served, serve
from hostler.simulators.kubernetes.server import KubernetesServer

sys.path.insert(0, str(Path(__file__).parents[2] / "controlplane"))


@pytest_asyncio.fixture
async def served() -> AsyncGenerator[Served]:
    async with serve(KubernetesServer(SystemClock(), Random(1))) as one:
        yield one


@pytest_asyncio.fixture
async def client(served: Served, tmp_path: Path) -> AsyncGenerator[Client]:
    async for one in _client(served, tmp_path, ADMIN):
        yield one


@pytest_asyncio.fixture
async def stranger(served: Served, tmp_path: Path) -> AsyncGenerator[Client]:
    async for one in _client(served, tmp_path, STRANGER):
        yield one


async def _client(served: Served, folder: Path, user: str) -> AsyncGenerator[Client]:
    path = folder / f"kubeconfig-{user}"
    path.write_bytes(served.kubeconfig(user))
    place = Place(environment={"KUBECONFIG": str(path)}, home=folder)
    session = Session(from_kubeconfig(place, SystemClock()))
    try:
        yield Client(session=session)
    finally:
        await session.close()
