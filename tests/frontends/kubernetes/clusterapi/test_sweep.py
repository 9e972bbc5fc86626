"""Origin 001: a machine whose HostlerMachine is gone past its finalizer is found, and taken back.

Only a cluster that is surely the right one, read whole and afresh, twice, says that it is gone.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest
from core_kit import KIND, LONG, WORKERS, Site
from msgspec.structs import replace

from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import Caps
from hostler.domain.model.machine import Machine
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Orphan
from hostler.kubernetes.errors import ApiError, Forbidden, KindNotServed, Unavailable
from hostler.kubernetes.objects import Key
from hostler.testing.scenes.builders import MIN

pytestmark = pytest.mark.looptime

GRACE, GAP = WORKERS.timers.grace, WORKERS.timers.sighting_gap
FOUND = GAP + 3 * MIN
"""Within this an abandoned machine is in the report: two readings, and a request that is taken."""
RECLAIMS = replace(WORKERS, reclaim=True)


async def provisioned(here: Site, *names: str) -> None:
    """Make Machines, and wait until they have their hosts."""
    here.cluster()
    here.secret()
    for name in names:
        here.machine(name)
    await here.until(lambda: all(map(here.is_provisioned, names)))


async def passed(time: object = FOUND) -> None:
    await asyncio.sleep(getattr(time, "total_seconds", lambda: 0.0)())


async def abandoned(here: Site) -> tuple[Orphan, ...]:
    """Return what the orphan report says of machines that nobody asks for."""
    found = await here.scene.store.orphans()
    return tuple(one for one in found if one.cls is OrphanClass.ABANDONED)


async def record(here: Site, machine: MachineId | None) -> Machine:
    found = await here.scene.store.machine(machine or MachineId(""))
    assert found is not None
    return found


# ---------------------------------------------------------------- who asked


async def test_who_asked_for_a_machine_is_on_its_record() -> None:
    here = Site()
    async with here.serving():
        await provisioned(here, "w-1")
        (machine,) = await here.machines()
    requester, raw = machine.spec.requester, here.api.raw(KIND, "w-1")
    assert requester is not None
    assert raw is not None
    assert (requester.frontend, requester.namespace, requester.name) == (
        "cluster-api",
        "fleet",
        "w-1",
    )
    assert (requester.uid, requester.cluster) == (raw["metadata"]["uid"], "uid-of-this-cluster")


async def test_while_its_object_is_there_a_machine_is_no_orphan() -> None:
    here = Site(RECLAIMS)
    async with here.serving():
        await provisioned(here, "w-1")
        await passed(2 * GRACE)
        assert not await abandoned(here)
        (machine,) = await here.machines()
        events = await here.scene.store.events(limit=100_000)
    assert machine.deletion is None
    assert not [e for e in events if "its HostlerMachine" in e.event.detail]


# ---------------------------------------------------------------- causes


def finalizer_taken_off(here: Site) -> None:
    """Somebody takes the finalizer off by force, in the very write that deletes the object."""
    here.api.vanish(KIND, "w-1")
    here.api.vanish("Machine", "w-1")


def owner_collected(here: Site) -> None:
    """The Machine is gone by force, and the collector removes what it owned, past its finalizer."""
    here.api.vanish("Machine", "w-1")
    here.api.vanish(KIND, "w-1")


def namespace_deleted(here: Site) -> None:
    """The whole namespace is finished off, with all that was in it."""
    here.api.vanish(KIND, "w-1")
    for kind, name in (("Machine", "w-1"), ("Cluster", "c1"), ("Secret", "data")):
        here.api.vanish(kind, name)


def made_anew(here: Site) -> None:
    """It is gone by force, and another one has its name: that asks for a machine of its own."""
    raw = here.api.vanish(KIND, "w-1")
    here.api.put(
        KIND, {"metadata": {"name": "w-1"}, "spec": {"fleetName": raw["spec"]["fleetName"]}}
    )


@pytest.mark.parametrize(
    "cause", [finalizer_taken_off, owner_collected, namespace_deleted, made_anew]
)
async def test_a_machine_without_its_object_is_reported(cause: Callable[[Site], None]) -> None:
    here = Site()
    async with here.serving():
        await provisioned(here, "w-1")
        (machine,) = await here.machines()
        cause(here)
        await passed()
        (orphan,) = await abandoned(here)
        await passed(2 * GRACE)
        still = await record(here, machine.id)
    assert orphan.machine == machine.id
    assert orphan.owner == "HostlerMachine fleet/w-1 (gone)"
    assert orphan.resource == machine.bound(here.scene.provider.capabilities.main)
    assert still.deletion is None


async def test_a_fleet_whose_sightings_are_close_together_is_looked_at_as_often() -> None:
    gap = timedelta(seconds=2)
    here = Site(replace(WORKERS, timers=replace(WORKERS.timers, sighting_gap=gap)))
    async with here.serving():
        await provisioned(here, "w-1")
        (machine,) = await here.machines()
        await passed(FOUND)
        finalizer_taken_off(here)
        await passed(timedelta(seconds=20))
        assert (await record(here, machine.id)).health.abandoned is not None


async def test_a_machine_of_an_object_that_went_while_it_was_asked_for_is_reported() -> None:
    """It goes by force between the last look at it and the request: nobody will ask for its end."""
    here = Site()

    def go(kind: str, key: Key) -> None:
        raw = here.api.raw(KIND, "w-1")
        if kind == KIND and raw and raw["metadata"].get("finalizers"):
            here.api.on_get = None
            here.api.vanish(KIND, key.name)

    async with here.serving():
        here.api.on_get = go
        here.cluster()
        here.secret()
        here.machine("w-1")
        await passed(FOUND + 2 * MIN)
        (orphan,) = await abandoned(here)
    assert orphan.owner == "HostlerMachine fleet/w-1 (gone)"


async def test_an_object_that_is_collected_with_its_finalizer_leaves_no_orphan() -> None:
    here = Site()
    async with here.serving():
        await provisioned(here, "w-1")
        here.api.vanish("Machine", "w-1")
        here.api.delete(KIND, "w-1")
        await here.until(lambda: here.api.raw(KIND, "w-1") is None)
        await passed()
        assert not await abandoned(here)
        assert not await here.machines()


# ---------------------------------------------------------------- nothing is concluded


@pytest.mark.parametrize(
    "error",
    [
        Unavailable("the API server cannot be reached"),
        Forbidden("hostlermachines may not be listed", code=403),
        KindNotServed("the definition is not installed", code=404),
    ],
    ids=["server down", "forbidden", "definition deleted"],
)
async def test_what_cannot_be_read_is_not_held_to_be_gone(error: ApiError) -> None:
    here = Site()
    async with here.serving():
        await provisioned(here, "w-1")
        finalizer_taken_off(here)
        here.api.refusals[KIND] = error
        await passed(LONG)
        assert not await abandoned(here)
        here.api.refusals.clear()
        await passed()
        assert await abandoned(here)


async def test_a_failure_between_two_readings_begins_their_gap_anew() -> None:
    here = Site()
    async with here.serving():
        await provisioned(here, "w-1")
        finalizer_taken_off(here)
        for _ in range(10):
            await passed(GAP * 0.7)
            here.api.refusals[KIND] = Unavailable("the API server cannot be reached")
            await passed(GAP * 0.7)
            here.api.refusals.clear()
        assert not await abandoned(here)


async def test_an_empty_list_after_an_outage_is_not_believed() -> None:
    here = Site()
    async with here.serving():
        await provisioned(here, "w-1")
        here.api.empty_lists[KIND] = lambda _: True
        await passed(LONG)
        assert not await abandoned(here)


@pytest.mark.parametrize("cluster", ["uid-of-another-cluster", ""], ids=["another", "unknown"])
async def test_another_cluster_proves_nothing(cluster: str) -> None:
    """A kubeconfig that names another cluster, or one that came up empty: no object is there."""
    here = Site()
    async with here.serving():
        await provisioned(here, "w-1")
        finalizer_taken_off(here)
        here.belongs_to(cluster)
        await passed(LONG)
        assert not await abandoned(here)


async def test_a_cluster_that_may_not_be_told_is_known_by_the_other_objects() -> None:
    here = Site()
    here.belongs_to("")
    async with here.serving():
        await provisioned(here, "w-1", "w-2")
        finalizer_taken_off(here)
        await passed()
        (orphan,) = await abandoned(here)
    assert "fleet/w-1" in orphan.owner


async def test_an_object_that_was_moved_still_asks_for_its_machine() -> None:
    """It has another uid then, perhaps another namespace, and the same machine."""
    here = Site(RECLAIMS)
    async with here.serving():
        await provisioned(here, "w-1")
        raw = here.api.vanish(KIND, "w-1")
        await passed()
        assert await abandoned(here)
        metadata = {**raw["metadata"], "uid": "uid-moved", "annotations": {PAUSED: ""}}
        here.api.put(KIND, {**raw, "metadata": metadata})
        await passed(2 * GRACE)
        assert not await abandoned(here)
        (machine,) = await here.machines()
    assert machine.deletion is None
    assert machine.spec.requester is not None
    assert machine.spec.requester.uid == "uid-moved"


PAUSED = "cluster.x-k8s.io/paused"

# ---------------------------------------------------------------- reclaim


async def test_an_abandoned_machine_is_reported_only_until_its_fleet_reclaims() -> None:
    here = Site()
    async with here.serving():
        await provisioned(here, "w-1")
        finalizer_taken_off(here)
        await passed(2 * GRACE)
        (orphan,) = await abandoned(here)
    assert "report only" in orphan.blocked


async def test_an_abandoned_machine_ends_after_the_grace_period() -> None:
    here = Site(RECLAIMS)
    async with here.serving():
        await provisioned(here, "w-1")
        (machine,) = await here.machines()
        finalizer_taken_off(here)
        await passed()
        (orphan,) = await abandoned(here)
        assert "grace period" in orphan.blocked
        await passed(GRACE)
        ended = await record(here, machine.id)
        assert ended.deletion is not None
        await passed(LONG)
        assert not await abandoned(here)
        assert not await here.machines()
    assert ended.deletion.why == "its HostlerMachine is gone"


async def test_no_more_end_at_once_than_the_caps_allow() -> None:
    here = Site(replace(RECLAIMS, caps=Caps(per_reclaim=1, per_hour=1)))
    async with here.serving():
        await provisioned(here, "w-1", "w-2", "w-3")
        for name in ("w-1", "w-2"):
            here.api.vanish(KIND, name)
        await passed(GRACE + FOUND + LONG)
        left = await here.machines()
        (orphan,) = await abandoned(here)
    assert len(left) == 2
    assert "cap" in orphan.blocked


async def test_the_objects_are_read_once_more_just_before_a_machine_ends() -> None:
    """Its object came back, and the reading before that act still lacked it."""
    here = Site(RECLAIMS)
    async with here.serving():
        await provisioned(here, "w-1")
        raw = here.api.vanish(KIND, "w-1")
        await passed()
        assert await abandoned(here)
        last = here.scene.clock.boot()

        def lies(number: int) -> bool:
            """Lie to whoever has not asked a moment ago: that is each round's first reading."""
            nonlocal last
            del number
            before, last = last, here.scene.clock.boot()
            return last - before > 5

        here.api.empty_lists[KIND] = lies
        here.api.put(KIND, {**raw, "metadata": {**raw["metadata"], "uid": "uid-moved"}})
        (machine,) = await here.machines()
        await passed(2 * GRACE)
        still = await record(here, machine.id)
    assert still.deletion is None
