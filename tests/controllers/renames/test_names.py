"""What bears a former name of a fleet is the fleet's own: its resources, reports and requests."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from rename_kit import BUILDERS, LEFT, NEW, OLD, READY, adopt, grown, ids, refused, rename, rows

from hostler.domain.ids import FleetName, MachineId, machine_id
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import RequestKind
from hostler.lab.scenes.fake import FakeScene
from hostler.testing.fakes.planner import MAKE_SERVER, TERMINATE
from hostler.testing.scenes.builders import MIN, WEB, S, server

pytestmark = pytest.mark.looptime

ISSUED, STRANGE = machine_id(7777), machine_id(6666)
"""An id that our store once gave away, and one that it never did."""
WORKERS = FleetName("workers")


async def renamed(new: Fleet = NEW) -> FakeScene:
    """Carry the machines of `web` over to `builders`."""
    rig = FakeScene(OLD, issued=(ISSUED,))
    await grown(rig)
    rename(rig, new)
    await adopt(rig)
    async with rig.running():
        await rig.until([READY] * 3, 10 * S)
    rig.beside = ()
    return rig


def appear(rig: FakeScene, machine: MachineId) -> None:
    """Have a server in the old name show up."""
    rig.world.add(replace(server(machine), created=rig.clock.now() - timedelta(hours=2)))


async def test_what_turns_up_late_in_the_old_name_is_reported_and_removed() -> None:
    rig = await renamed()
    async with rig.running():
        appear(rig, ISSUED)
        await rig.pass_by(30 * S)
        (orphan,) = await rig.store.orphans()
        assert (orphan.fleet, orphan.cls) == (BUILDERS, OrphanClass.UNRECORDED)
        await rig.pass_by(30 * MIN)
    assert rig.calls(TERMINATE) == [TERMINATE]
    assert len(rig.world.servers()) == 3


async def test_what_our_store_never_issued_is_never_ours_to_destroy_under_the_old_name() -> None:
    rig = await renamed()
    async with rig.running():
        appear(rig, STRANGE)
        await rig.pass_by(60 * MIN)
        (orphan,) = await rig.store.orphans()
        assert (orphan.fleet, orphan.cls) == (BUILDERS, OrphanClass.UNISSUED)
        await rig.request(RequestKind.SCALE, size=4)
        await rig.pass_by(10 * MIN)
        assert "never issued" in (await rows(rig))[BUILDERS].condition
    assert not rig.calls(TERMINATE)
    assert len(rig.calls(MAKE_SERVER)) == 3


async def test_what_was_reported_before_stays_in_the_report_since_then() -> None:
    rig = FakeScene(replace(OLD, reclaim=False), issued=(ISSUED,))
    await grown(rig)
    async with rig.running():
        appear(rig, ISSUED)
        await rig.pass_by(5 * MIN)
    (before,) = await rig.store.orphans()
    rename(rig, replace(NEW, reclaim=False), replace(LEFT, reclaim=False))
    await adopt(rig)
    async with rig.running():
        await rig.pass_by(1 * MIN)
    (after,) = await rig.store.orphans()
    assert (before.fleet, after.fleet) == (WEB, BUILDERS)
    assert (after.resource, after.first) == (before.resource, before.first)


async def test_machine_of_the_history_that_turns_up_late_ends_once_more() -> None:
    rig = FakeScene(OLD)
    await grown(rig)
    async with rig.running():
        (machine, *_) = await rig.machines()
        (lost,) = (
            s for s in rig.world.servers() if s.owner_tag and s.owner_tag.machine == machine.id
        )
        await rig.store.request(
            replace(rig.blank(RequestKind.DELETE), machine=machine.id, now=True)
        )
        await rig.pass_by(10 * MIN)
        assert machine.id not in await ids(rig, WEB)
    rename(rig)
    await adopt(rig)
    async with rig.running():
        await rig.until([READY] * 3, 10 * S)
        rig.world.add(lost)
        await rig.pass_by(30 * MIN)
    found = await rig.store.machine(machine.id)
    assert found is not None
    assert found.fleet == BUILDERS
    assert len(rig.world.servers()) == 3


async def test_requests_in_the_old_name_are_answered_by_the_fleet_that_has_the_machines() -> None:
    rig = await renamed()
    victim, *rest = await ids(rig)
    blank = replace(rig.blank(RequestKind.DELETE), fleet=WEB)
    async with rig.running():
        await rig.store.request(replace(blank, machine=victim, now=True))
        await rig.store.request(replace(blank, kind=RequestKind.SCALE, size=1))
        await rig.pass_by(10 * MIN)
        await rig.until([READY] * 3, 5 * MIN)
    assert await rig.store.requests() == ()
    assert await refused(rig) == ["fleet web was taken over by builders: ask that of builders"]
    assert victim not in await ids(rig)
    assert set(rest) <= await ids(rig)


async def test_requests_that_came_before_the_move_wait_for_it() -> None:
    rig = FakeScene(OLD)
    await grown(rig)
    victim, *_ = await ids(rig, WEB)
    rename(rig)
    await adopt(rig)
    blank = replace(rig.blank(RequestKind.PROTECT), fleet=WEB, machine=victim)
    await rig.store.request(blank)
    async with rig.running():
        await rig.pass_by(1 * MIN)
    assert await refused(rig) == []
    found = await rig.store.machine(victim)
    assert found is not None
    assert found.protection is not None
    assert found.fleet == BUILDERS


async def test_a_fleet_of_the_old_name_that_comes_later_is_another_one() -> None:
    rig = await renamed()
    before = await ids(rig)
    rig.beside = (replace(OLD, size=1),)
    async with rig.running():
        await rig.pass_by(60 * MIN)
        assert await rig.phases() == [READY] * 3
        (own,) = await rig.store.machines(WEB)
        assert own.phase is READY
    assert await ids(rig) == before
    assert own.id not in before
    assert await rig.store.orphans() == ()
    assert not rig.calls(TERMINATE)
    assert {row.condition for row in (await rows(rig)).values()} == {""}


async def test_a_fleet_that_is_renamed_twice_has_both_names() -> None:
    rig = await renamed()
    rename(rig, replace(NEW, name=WORKERS), replace(NEW, removed=True))
    await adopt(rig, BUILDERS)
    async with rig.running():
        await rig.until([READY] * 3, 10 * S)
        await rig.pass_by(30 * MIN)
    assert (await rows(rig))[WORKERS].former == (WEB, BUILDERS)
    assert len(await ids(rig, WORKERS)) == 3
    assert await rig.store.orphans() == ()
    assert len(rig.calls(MAKE_SERVER)) == 3
