"""The store in a cluster, on Kubernetes' own API server: every promise of the port, and rights."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from itertools import count
from typing import NamedTuple

import pytest
import pytest_asyncio

from hostler.app.clock import SystemClock
from hostler.domain.errors import Conflict, StoreError
from hostler.domain.ids import FleetName
from hostler.frontends.kubernetes.install import install, wait_established
from hostler.kubernetes.client import Client
from hostler.kubernetes.objects import Metadata, Object
from hostler.kubernetes.requests import Selection
from hostler.kubernetes.resources import Resource
from hostler.lab.controlplane.api_server import ApiServer
from hostler.ports.store import Notifies, Store
from hostler.stores.kubernetes.definitions import definitions
from hostler.stores.kubernetes.kinds import JOURNALS, LABEL, PART_NAMES
from hostler.stores.kubernetes.opening import ClusterPlace, Surroundings, journal_at, open_store
from hostler.stores.kubernetes.store import KubernetesStore
from hostler.testing.conformance.store.records import OPEN, WEB, event, filled, machine, row
from hostler.testing.conformance.store.suite import CHECKS, Check

pytestmark = pytest.mark.timeout(2000)  # the first test waits for the build of the server

NAMESPACE = "default"
_NUMBERS = count(1)
Free = Mapping[str, object]


class Opened(NamedTuple):
    """A handle, and where its journal is."""

    store: Store
    place: ClusterPlace


class ClusterStores:
    """Handles of stores in the cluster, each with connections of its own."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._opened = list[Opened]()
        self._around = Surroundings(os.environ, SystemClock())

    def place(self, context: str = "admin") -> ClusterPlace:
        """Return a place where there is no journal yet."""
        return ClusterPlace(
            namespace=NAMESPACE,
            name=f"s-{next(_NUMBERS)}",
            context=context,
            kubeconfig=str(self._server.kubeconfig),
        )

    def open(self, place: ClusterPlace) -> Store:
        number = len(self._opened)
        self._opened.append(Opened(open_store(place, self._around, f"i-{number}"), place))
        return self._opened[-1].store

    async def sequence(self, place: ClusterPlace) -> int:
        journal = await journal_at(place, self._around)
        return journal.sequence if journal else 0

    async def fresh(self) -> Store:
        return self.open(self.place())

    async def reopened(self, store: Store) -> Store:
        return self.open(next(place for opened, place in self._opened if opened is store))

    async def close(self) -> None:
        for store, _ in self._opened:
            await store.close()


@pytest_asyncio.fixture
async def stores(api_server: ApiServer, client: Client) -> AsyncIterator[ClusterStores]:
    changes = [one.name async for one in install(client, definitions())]
    await wait_established(client, SystemClock(), changes, timedelta(seconds=60))
    opened = ClusterStores(api_server)
    yield opened
    await opened.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_store_in_a_cluster_keeps_the_promise_that(
    check: Check, stores: ClusterStores
) -> None:
    await check(stores)


async def test_two_who_save_the_same_records_lose_none(stores: ClusterStores) -> None:
    """Each save is made over what the other one saved: nothing is lost, nothing counted twice."""
    place = stores.place()
    one, two = stores.open(place), stores.open(place)
    await filled(one, machine(1))

    async def save(store: Store, times: int) -> int:
        refused = 0
        while times:
            (record,) = await store.machines(WEB)
            try:
                await store.save_machine(record, (event(record),), OPEN)
                times -= 1
            except Conflict:
                refused += 1
        return refused

    await asyncio.gather(save(one, 20), save(two, 20))
    (record,) = await stores.open(place).machines(WEB)
    assert record.version == 41
    assert [entry.number for entry in await one.events()] == list(range(1, 41))


async def test_a_hundred_saves_at_the_same_time_take_a_few_writes(stores: ClusterStores) -> None:
    place = stores.place()
    store = stores.open(place)
    await filled(store, *(machine(number) for number in range(100)))
    machines, before = await store.machines(WEB), await stores.sequence(place)
    await asyncio.gather(*(store.save_machine(one, (event(one),), OPEN) for one in machines))
    assert await stores.sequence(place) - before < 5


async def test_parts_end_with_their_journal_and_belong_to_it(
    stores: ClusterStores, client: Client
) -> None:
    place = stores.place()
    store = stores.open(place)
    await store.add_fleet(row())
    (saved,) = await store.fleets()
    await store.save_fleet(saved, tuple(machine(number) for number in range(5000)), (), OPEN)
    selection = Selection(namespace=NAMESPACE, labels=f"{LABEL}={place.name}")
    parts = (await client.list_all(PART_NAMES, selection)).items
    journals = (await client.list_all(JOURNALS, Selection(namespace=NAMESPACE))).items
    (uid,) = (one.metadata.uid for one in journals if one.metadata.name == place.name)
    assert parts
    assert all(
        [owner.uid for owner in part.metadata.owner_references or ()] == [uid] for part in parts
    )
    assert len(await stores.open(place).machines(WEB)) == 5000


class Role(Object[Free, Free], frozen=True, kw_only=True):
    """A role, or who has it."""

    rules: tuple[Free, ...] | None = None
    role_ref: Free | None = None
    subjects: tuple[Free, ...] | None = None


ROLES = Resource(
    group="rbac.authorization.k8s.io", version="v1", plural="roles", kind="Role", model=Role
)
BINDINGS = Resource(
    group="rbac.authorization.k8s.io",
    version="v1",
    plural="rolebindings",
    kind="RoleBinding",
    model=Role,
)
RULES: tuple[Free, ...] = (
    {
        "apiGroups": ["hostler.dev"],
        "resources": ["journals"],
        "verbs": ["get", "list", "create", "update"],
    },
    {
        "apiGroups": ["hostler.dev"],
        "resources": ["journalparts"],
        "verbs": ["get", "list", "create", "delete"],
    },
)


async def test_who_has_no_rights_learns_which_and_the_documented_ones_suffice(
    stores: ClusterStores, client: Client
) -> None:
    place = stores.place("stranger")
    with pytest.raises(StoreError, match="journals"):
        await stores.open(place).fleets()
    metadata = Metadata(name="hostler-store", namespace=NAMESPACE)
    await client.create(ROLES, Role(metadata=metadata, rules=RULES))
    await client.create(
        BINDINGS,
        Role(
            metadata=metadata,
            role_ref={
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "Role",
                "name": "hostler-store",
            },
            subjects=(
                {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "stranger"},
            ),
        ),
    )
    store = stores.open(place)
    async with asyncio.timeout(10):
        while True:
            try:
                await store.add_fleet(row())
                break
            except StoreError:
                await asyncio.sleep(0.1)
    (saved,) = await store.fleets()
    await store.save_fleet(saved, tuple(machine(number) for number in range(5000)), (), OPEN)
    (record, *_) = await store.machines(WEB)
    for _ in range(40):
        record = await store.save_machine(record, (event(record),) * 30, OPEN)
    assert len(await stores.open(place).events(limit=5000)) == 1200


async def test_a_watch_tells_of_saves_of_others(stores: ClusterStores) -> None:
    """What follows the store hears of it without asking."""
    place = stores.place()
    one, other = stores.open(place), stores.open(place)
    assert isinstance(one, Notifies)
    assert isinstance(one, KubernetesStore)
    await one.add_fleet(row())
    heard = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(one.follow(heard.set))
        await asyncio.sleep(1)
        before = await one.revision()
        heard.clear()
        await other.add_fleet(row(FleetName("other")))
        async with asyncio.timeout(60):
            await heard.wait()
        assert await one.revision() > before
        task.cancel()
