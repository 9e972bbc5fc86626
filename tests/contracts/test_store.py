"""Every store of ours keeps every promise of the port."""

from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest
from direct import opened, session_of

from hostler.app.clock import SystemClock
from hostler.domain.ids import InstallationId
from hostler.lab.scenario.cluster_store import cluster
from hostler.ports.store import Store
from hostler.simulators.kubernetes.server import KubernetesServer
from hostler.stores.memory import MemoryStore
from hostler.stores.sqlite.opening import RunnerOf, open_beside, open_shared
from hostler.stores.sqlite.worker import Inline, Threaded
from hostler.testing.conformance.store.suite import CHECKS, Check, Stores


class MemoryStores:
    """Handles of a store in memory are the store itself."""

    def __init__(self) -> None:
        self._numbers = count(1)

    async def fresh(self) -> Store:
        return MemoryStore(InstallationId(f"i-{next(self._numbers)}"), exclusive=False)

    async def reopened(self, store: Store) -> Store:
        return store

    async def close(self) -> None:
        """Nothing is open."""


class FileStores:
    """Handles of a store in a file are connections of their own."""

    def __init__(self, folder: Path, runner: RunnerOf) -> None:
        self._folder, self._runner = folder, runner
        self._opened = list[tuple[Store, Path]]()

    async def fresh(self) -> Store:
        number = len(self._opened)
        path = self._folder / f"{number}.db"
        store = open_shared(path, f"i-{number}", runner=self._runner)
        self._opened.append((store, path))
        return store

    async def reopened(self, store: Store) -> Store:
        path = next(path for opened, path in self._opened if opened is store)
        handle = open_beside(path, runner=self._runner)
        self._opened.append((handle, path))
        return handle

    async def close(self) -> None:
        for store, _ in self._opened:
            await store.close()


class ClusterStores:
    """Handles of a store in a cluster share its journal; each has its own copy of the records."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._servers = dict[int, KubernetesServer]()

    async def fresh(self) -> Store:
        return self._opened(cluster(SystemClock()))

    async def reopened(self, store: Store) -> Store:
        return self._opened(self._servers[id(store)])

    async def close(self) -> None:
        """Nothing is open."""

    def _opened(self, server: KubernetesServer) -> Store:
        number = next(self._numbers)
        store = opened(session_of(server), SystemClock(), f"w-{number}", f"i-{number}")
        self._servers[id(store)] = server
        return store


@pytest.fixture(params=["memory", "inline", "threaded", "kubernetes"])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stores]:
    runners: dict[object, RunnerOf] = {"inline": Inline, "threaded": Threaded}
    runner = runners.get(request.param)
    others = {"memory": MemoryStores, "kubernetes": ClusterStores}
    opened = FileStores(tmp_path, runner) if runner else others[str(request.param)]()
    yield opened
    await opened.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_store_keeps_the_promise_that(check: Check, stores: Stores):
    await check(stores)


def test_the_suite_is_not_empty():
    assert len(CHECKS) > 50
