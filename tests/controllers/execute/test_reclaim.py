"""Sweeping: what no record explains is removed with proof, and with none it is left alone."""

from collections.abc import Iterable
from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import MachineId, ResourceId, machine_id
from hostler.domain.model.calls import Call, Outcome, Refusal, Refused
from hostler.domain.model.fleet import Caps
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, Observation, OwnerTag, Resource, Scope, Slot
from hostler.domain.model.snapshot import RequestKind
from hostler.domain.observation.ownership import Explained
from hostler.lab.scenes.fake import FakeScene
from hostler.ports.metrics import Count
from hostler.ports.store import Fence
from hostler.stores.memory import MemoryStore
from hostler.testing.fakes.planner import REMOVE_ADDRESS, TERMINATE
from hostler.testing.scenes.builders import FLEET, HOME, MIN, WEB, S, address, server

pytestmark = pytest.mark.looptime

OLD = timedelta(hours=2)
NOBODY = machine_id(7777)


def littered(**changes: object) -> FakeScene:
    """Return a rig with a server and its address that an unknown machine left behind."""
    caps = Caps(share=9.0, per_hour=100, per_reclaim=100)
    fleet = replace(FLEET, **{"size": 1, "reclaim": True, "caps": caps} | changes)
    rig = FakeScene(fleet, issued=(NOBODY,))
    old = rig.clock.now() - OLD
    orphan = replace(server(NOBODY), created=old)
    rig.world.add(orphan)
    rig.world.add(replace(address(NOBODY, owner=orphan.id), created=old))
    return rig


def orphans(rig: FakeScene) -> list[ResourceId]:
    tagged = [
        p for p in rig.world.resources.values() if p.owner_tag and p.owner_tag.machine == NOBODY
    ]
    return [resource.id for resource in tagged]


async def test_stray_is_seen_in_a_minute_and_gone_in_a_few_and_then_the_fleet_is_made() -> None:
    rig = littered()
    async with rig.running():
        await rig.pass_by(60 * S)
        assert len(await rig.store.orphans()) == 2
        assert await rig.machines() == ()
        await rig.pass_by(3 * MIN)
        assert orphans(rig) == []
        await rig.pass_by(2 * MIN)
        assert await rig.store.orphans() == ()
        assert await rig.phases() == [Phase.READY]
    assert rig.calls(TERMINATE) == [TERMINATE]
    assert rig.calls(REMOVE_ADDRESS) == [REMOVE_ADDRESS]


async def test_an_id_that_was_never_issued_is_asked_of_the_store_once_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A decision that takes a newer store's server for an orphan is barred by the gate alone."""
    rig = littered()
    rig.store = MemoryStore(HOME)

    def explained(strangers: Iterable[Resource], *known: object) -> Explained:
        del known
        return Explained(unexplained=tuple(strangers))

    monkeypatch.setattr("hostler.domain.decision.view.explain", explained)
    async with rig.running():
        await rig.pass_by(10 * MIN)
    assert len(orphans(rig)) == 2
    assert rig.metrics.value(Count.GATE_REFUSALS, "G1") > 0


async def test_report_only_is_the_default() -> None:
    rig = littered()
    rig.fleet = replace(rig.fleet, reclaim=False)
    async with rig.running():
        await rig.pass_by(20 * MIN)
    assert len(orphans(rig)) == 2
    assert len(await rig.store.orphans()) == 2


async def test_what_the_next_observation_lacks_leaves_the_orphan_report() -> None:
    rig = littered(reclaim=False)
    async with rig.running():
        for _ in range(100):
            await rig.pass_by(1 * S)
            if await rig.store.orphans():
                break
        for resource in orphans(rig):
            del rig.world.resources[resource]
        await rig.pass_by(5 * MIN)
        assert await rig.store.orphans() == ()


async def test_the_orphan_report_is_read_again_by_whoever_takes_a_lease() -> None:
    """Another engine may have written in it meanwhile."""
    rig = FakeScene(replace(FLEET, size=1))
    async with rig.running() as engine:
        await rig.pass_by(2 * MIN)
        (loop,) = engine.loops
        assert not loop.state.unread
        await engine.leases.drop()
        await loop.keep_leases()
        assert loop.state.unread


async def test_resource_with_its_owners_tag_alone_is_reclaimed_too() -> None:
    """A root volume carries no mark: its server's was decided on, and the re-check must know."""
    rig = littered()
    owner = orphans(rig)[0]
    disk = Resource(
        id=ResourceId("disk"),
        slot=Slot("address", 1),
        zone=FLEET.offers[0].zone,
        owner=owner,
        created=rig.clock.now() - OLD,
    )
    rig.world.add(disk)
    rig.world.resources[owner] = replace(rig.world.resources[owner], allowed=())
    async with rig.running():
        await rig.pass_by(5 * MIN)
        assert disk.id in rig.world.resources
        rig.world.become(owner, Condition.UP)
        await rig.pass_by(10 * MIN)
    assert owner not in rig.world.resources


async def test_removal_that_fails_is_tried_again_and_eats_the_cap_once() -> None:
    rig = littered()
    for resource in orphans(rig):
        rig.world.resources[resource] = replace(rig.world.resources[resource], owner=None)
    do = rig.provider.do

    calls = list[str]()

    async def stubborn(call: Call) -> Outcome:
        calls.append(call.kind)
        return Refused(why=Refusal.BUSY, text="no") if len(calls) < 8 else await do(call)

    rig.provider.do = stubborn
    async with rig.running():
        await rig.pass_by(20 * MIN)
    assert orphans(rig) == []
    assert len(calls) >= 9


@pytest.mark.parametrize("change", ["status", "mark", "owner", "record"])
async def test_recheck_that_finds_something_else_ends_the_reclaim(change: str) -> None:
    """Provider, then records, read again just before the act, compared field by field."""
    rig = littered()
    observation = rig.provider.observe

    async def different(scopes: tuple[Scope, ...]) -> Observation:
        snapshot = await observation(scopes)
        if all(scope.machine != NOBODY for scope in scopes):
            return snapshot
        if change == "record":
            await _record(rig)
        return replace(
            snapshot, resources=tuple(_changed(resource, change) for resource in snapshot.resources)
        )

    rig.provider.observe = different
    async with rig.running():
        await rig.pass_by(10 * MIN)
    assert rig.calls(TERMINATE) == []
    assert rig.calls(REMOVE_ADDRESS) == []


def _changed(resource: Resource, change: str) -> Resource:
    if change == "status":
        return replace(resource, status="another")
    if change == "mark":
        owner_tag = OwnerTag(installation=HOME, fleet=WEB, machine=MachineId("m-else"), attempt=1)
        return replace(resource, owner_tag=owner_tag)
    if change == "owner":
        return replace(resource, owner=ResourceId("somebody"))
    return resource


async def _record(rig: FakeScene) -> None:
    """Write a record for the machine that nobody knew, as another process would."""
    if await rig.store.machine(NOBODY) is None:
        row = (await rig.store.fleets())[0]
        now = rig.clock.now()
        entry = Machine(
            id=NOBODY,
            fleet=WEB,
            serial=99,
            created=now,
            since=now,
            phase=Phase.PENDING,
            offer=FLEET.offers[0],
        )
        lease = next(lease for lease in await rig.store.leases() if lease.name == "fleet/web")
        await rig.store.save_fleet(row, (entry,), (), Fence(lease=lease.name, epoch=lease.epoch))


async def test_recheck_that_fails_ends_the_reclaim() -> None:
    rig = littered()
    observation = rig.provider.observe

    async def failing(scopes: tuple[Scope, ...]) -> Observation:
        snapshot = await observation(scopes)
        if any(scope.machine == NOBODY for scope in scopes):
            return replace(
                snapshot,
                observed=tuple(replace(observed, complete=False) for observed in snapshot.observed),
            )
        return snapshot

    rig.provider.observe = failing
    async with rig.running():
        await rig.pass_by(10 * MIN)
    assert len(orphans(rig)) == 2


async def test_pause_asked_for_a_moment_ago_stops_the_reclaim() -> None:
    rig = littered()
    async with rig.running():
        await rig.pass_by(40 * S)
        await rig.request(RequestKind.PAUSE)
        await rig.pass_by(10 * MIN)
        before = len(orphans(rig))
        await rig.request(RequestKind.RESUME)
        await rig.pass_by(10 * MIN)
    assert before == 2
    assert orphans(rig) == []


async def test_what_was_read_again_too_long_ago_proves_nothing() -> None:
    rig = littered()
    rig.provider.answers[NOBODY] = 11 * S
    rig.world.resources = {
        resource: replace(there, owner=None) for resource, there in rig.world.resources.items()
    }
    async with rig.running():
        await rig.pass_by(3 * MIN)
    assert rig.metrics.value(Count.GATE_REFUSALS, "G2") > 0
