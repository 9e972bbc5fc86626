"""A cache that lags: what was decided from an old copy is not done."""

import asyncio
from typing import Any

import msgspec
import pytest
from core_kit import KIND, NAMESPACES, Site

from hostler.app.kubernetes.cluster_api import fleets_of
from hostler.domain.errors import StoreBusy
from hostler.domain.ids import FleetName
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.machine import Machine
from hostler.domain.model.requester import Requester
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.frontends.kubernetes.clusterapi.acts import Adopt
from hostler.frontends.kubernetes.clusterapi.caches import Caches, watched
from hostler.frontends.kubernetes.clusterapi.engine import EngineAccess
from hostler.frontends.kubernetes.clusterapi.looking import Identity
from hostler.frontends.kubernetes.clusterapi.machines import MachineReconciler
from hostler.frontends.kubernetes.clusterapi.objects import (
    CLUSTERS,
    CORE_MACHINES,
    MACHINES,
)
from hostler.kubernetes.errors import Conflict, NotFound
from hostler.kubernetes.informer import Surroundings
from hostler.kubernetes.objects import Key, M
from hostler.kubernetes.resources import Resource

pytestmark = pytest.mark.looptime

KEY = Key("fleet", "w-0")
HOST = "11111111-1111-1111-1111-111111111111"


class Heard(EngineAccess):
    """An engine that only hears which hosts it is to take over."""

    adopted: list[Adopt] = []  # noqa: RUF012 - emptied by each test that reads it

    async def adopt(self, fleet: FleetName, act: Adopt, requester: Requester) -> None:
        del fleet, requester
        self.adopted.append(act)


def _seen(here: Site, resource: Resource[M], name: str) -> M:
    raw: Any = here.api.raw(resource.kind, name)
    return msgspec.convert(raw, type=resource.model)


async def _reconciler(here: Site) -> tuple[MachineReconciler, Caches]:
    """Return a reconciler whose caches have everything as it is now, and follow nothing."""
    assert here.engine is not None
    around = Surroundings(clock=here.scene.clock, draw=lambda: 0.5)
    caches = watched(here.api, around, NAMESPACES)
    for _ in caches.items.cache.put(_seen(here, MACHINES, "w-0")):
        pass
    for _ in caches.owners.cache.put(_seen(here, CORE_MACHINES, "w-0")):
        pass
    for _ in caches.clusters.cache.put(_seen(here, CLUSTERS, "c1")):
        pass
    access = Heard(here.scene.store, here.scene.clock, NAMESPACES)
    access.attach(await fleets_of(here.engine, here.scene.ports()))
    made = MachineReconciler(
        api=here.api,
        caches=caches,
        engine=access,
        clock=here.scene.clock,
        identity=Identity(here.api),
    )
    return made, caches


def _site() -> Site:
    here = Site()
    here.cluster()
    here.secret()
    here.machine("w-0")
    claimed = {"finalizers": ["hostlermachine.infrastructure.cluster.x-k8s.io"]}
    here.api.change(KIND, "w-0", metadata=claimed, spec={"machineID": "m-aaaaaaaaaa"})
    return here


async def test_no_machine_is_asked_for_an_object_that_is_there_no_longer() -> None:
    here = _site()
    async with here.scene.running() as here.engine:
        await asyncio.sleep(2)
        reconciler, _ = await _reconciler(here)
        here.api.change(KIND, "w-0", metadata={"finalizers": None})
        here.api.delete(KIND, "w-0")
        with pytest.raises(NotFound):
            await reconciler.reconcile(KEY)
        await asyncio.sleep(60)
        assert await here.machines() == ()


async def test_no_machine_is_asked_for_an_object_that_is_on_its_way_out() -> None:
    here = _site()
    async with here.scene.running() as here.engine:
        await asyncio.sleep(2)
        reconciler, _ = await _reconciler(here)
        here.api.delete(KIND, "w-0")
        await reconciler.reconcile(KEY)
        await asyncio.sleep(60)
        assert await here.machines() == ()


async def test_no_machine_is_asked_for_under_an_id_that_was_given_up() -> None:
    here = _site()
    async with here.scene.running() as here.engine:
        await asyncio.sleep(2)
        reconciler, _ = await _reconciler(here)
        here.api.change(KIND, "w-0", spec={"machineID": "m-bbbbbbbbbb"})
        await reconciler.reconcile(KEY)
        await asyncio.sleep(60)
        assert await here.machines() == ()


async def test_a_write_over_another_one_is_refused() -> None:
    here = _site()
    here.api.change(KIND, "w-0", spec={"machineID": None})
    async with here.scene.running() as here.engine:
        await asyncio.sleep(2)
        reconciler, _ = await _reconciler(here)
        here.api.change(KIND, "w-0", metadata={"labels": {"a": "b"}})
        with pytest.raises(Conflict):
            await reconciler.reconcile(KEY)


async def test_what_we_wrote_ourselves_is_known_before_the_watch_brings_it() -> None:
    here = _site()
    async with here.scene.running() as here.engine:
        await asyncio.sleep(2)
        reconciler, _ = await _reconciler(here)
        await reconciler.reconcile(KEY)
        await reconciler.reconcile(KEY)  # with the copy of before: no conflict
        await asyncio.sleep(60)
        assert len(await here.machines()) == 1


async def test_a_machine_that_another_process_asked_for_ends_with_its_object(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It stood by when that was asked, and leads before any engine could grant it."""
    here = _site()
    store, save = here.scene.store, here.scene.store.save_fleet

    async def busy(row: FleetRow, inserts: tuple[Machine, ...], *more: Any) -> FleetRow:
        if inserts:
            raise StoreBusy("database is locked")
        return await save(row, inserts, *more)

    monkeypatch.setattr(store, "save_fleet", busy)
    async with here.scene.running() as here.engine:
        await asyncio.sleep(2)
        standby, caches = await _reconciler(here)
        before, _ = await _reconciler(here)
        await before.reconcile(KEY)
        assert [request.kind for request in await store.requests()] == [RequestKind.GROW]
        here.api.delete(KIND, "w-0")
        for _ in caches.items.cache.put(_seen(here, MACHINES, "w-0")):
            pass
        await standby.reconcile(KEY)
        assert here.api.raw(KIND, "w-0") is not None
        assert RequestKind.DELETE in {request.kind for request in await store.requests()}
        monkeypatch.undo()
        await asyncio.sleep(60)
        await standby.reconcile(KEY)
        assert here.api.raw(KIND, "w-0") is None
        await asyncio.sleep(60)
        assert await here.machines() == ()


async def test_a_host_is_given_up_by_a_provider_that_has_just_begun() -> None:
    here = Site()
    here.cluster()
    here.secret()
    here.machine("w-0")
    async with here.serving():
        await here.until(lambda: here.is_provisioned("w-0"))
    annotations = {"hostler.dev/release-policy": "terminate"}
    here.api.change(KIND, "w-0", metadata={"annotations": annotations})
    here.api.delete(KIND, "w-0")
    async with here.scene.running() as here.engine:
        await asyncio.sleep(2)
        reconciler, _ = await _reconciler(here)
        asked = list[RequestKind]()
        store, keep = here.scene.store, here.scene.store.request_all

        async def heard(requests: tuple[Request, ...]) -> tuple[Request, ...]:
            asked.extend(request.kind for request in requests)
            return await keep(requests)

        store.request_all = heard
        await reconciler.reconcile(KEY)
    assert asked == [RequestKind.RETIRE]


@pytest.mark.parametrize("change", ["none", "taken back", "another name", "deleted", "paused"])
async def test_a_host_is_taken_over_only_as_the_object_says_now(change: str) -> None:
    """A cache may be behind by minutes; whoever said which host it is may have taken that back."""
    here = _site()
    annotations = {"hostler.dev/adopt": "mac-1"}
    spec = {"providerID": f"scw-applesilicon://fr-par-1/{HOST}"}
    here.api.change(KIND, "w-0", metadata={"annotations": annotations}, spec=spec)
    Heard.adopted.clear()
    changes: dict[str, dict[str, object]] = {
        "taken back": {"hostler.dev/adopt": None},
        "another name": {"hostler.dev/adopt": "mac-2"},
        "paused": {"cluster.x-k8s.io/paused": ""},
    }
    async with here.scene.running() as here.engine:
        await asyncio.sleep(2)
        reconciler, _ = await _reconciler(here)
        if change == "deleted":
            here.api.delete(KIND, "w-0")
        elif change in changes:
            here.api.change(KIND, "w-0", metadata={"annotations": changes[change]})
        await reconciler.reconcile(KEY)
    names = {"none": {"mac-1"}, "another name": {"mac-2"}}
    assert {act.name for act in Heard.adopted} == names.get(change, set())
