"""A fleet that left the file goes on under another's name; nothing is lost, made or destroyed."""

import asyncio

import pytest
from msgspec.structs import replace
from rename_kit import BUILDERS, NEW, OLD, READY, adopt, grown, has_moved, ids, rename, rows

from hostler.domain.model.snapshot import RequestKind
from hostler.lab.scenes.fake import FakeScene
from hostler.testing.fakes.planner import MAKE_SERVER, TERMINATE
from hostler.testing.fakes.script import Lost
from hostler.testing.scenes.builders import MIN, WEB, S

pytestmark = pytest.mark.looptime


async def test_machines_of_a_renamed_fleet_are_carried_over_and_no_other_is_made() -> None:
    rig = FakeScene(OLD)
    await grown(rig)
    rename(rig)
    before = await rig.store.machines(WEB)
    await adopt(rig)
    async with rig.running():
        await rig.until([READY] * 3, 10 * S)
        await rig.pass_by(60 * MIN)
        assert await rig.phases() == [READY] * 3
    await has_moved(rig, {machine.id for machine in before})
    assert [m.id for m in await rig.machines()] == [m.id for m in before], "in their order"
    events = [entry.event for entry in await rig.events("renamed")]
    assert {event.machine for event in events} == {None, *(m.id for m in before)}
    assert [event.fleet for event in events if event.machine is None] == [WEB, BUILDERS]


async def test_the_past_of_a_machine_that_was_carried_over_stays_its_own() -> None:
    rig = FakeScene(OLD)
    await grown(rig)
    then = rig.clock.now()
    before = await rig.store.machines(WEB)
    rename(rig)
    await adopt(rig)
    async with rig.running():
        await rig.until([READY] * 3, 10 * S)
    history = [entry.event for entry in await rig.store.events(machine=before[0].id)]
    assert [history[0].kind, history[0].fleet] == ["made", WEB]
    assert [event.fleet for event in history if event.kind == "renamed"] == [WEB, BUILDERS]
    assert len(await rig.store.images(WEB, then)) == 3
    assert await rig.store.images(WEB, rig.clock.now() + MIN) == ()
    assert len(await rig.store.images(BUILDERS, rig.clock.now() + MIN)) == 3


async def test_what_was_carried_over_is_decided_as_any_other_machine() -> None:
    rig = FakeScene(OLD)
    await grown(rig)
    rename(rig)
    await adopt(rig)
    async with rig.running():
        await rig.until([READY] * 3, 10 * S)
        await rig.pass_by(5 * MIN)
        rig.world.remove(rig.world.servers()[0].id)
        await rig.pass_by(5 * MIN)
        await rig.until([READY] * 3, 10 * MIN)
        await rig.request(RequestKind.SCALE, size=0)
        await rig.until([], 10 * MIN)
    assert rig.world.resources == {}


async def test_a_fleet_that_made_its_own_machines_first_comes_to_its_size() -> None:
    rig = FakeScene(OLD)
    await grown(rig)
    before = await ids(rig, WEB)
    rename(rig)
    async with rig.running():
        await rig.until([READY] * 3, 2 * MIN)
        assert not before & await ids(rig)
        await adopt(rig)
        await rig.pass_by(1 * S)
        assert before <= await ids(rig)
        await rig.until([READY] * 3, 30 * MIN)
        assert await ids(rig) == before, "the youngest go: those of which nobody made use yet"
    assert len(rig.calls(MAKE_SERVER)) == 6, "none was made since"
    assert (await rows(rig)).keys() == {BUILDERS}


async def test_calls_in_flight_end_first_and_nothing_is_made_meanwhile() -> None:
    rig = FakeScene(OLD)
    await grown(rig)
    victim, *rest = await rig.store.machines(WEB)
    rename(rig, replace(NEW, size=0))
    rig.provider.befall(TERMINATE, Lost.HUNG)
    end = replace(rig.blank(RequestKind.DELETE), fleet=WEB, machine=victim.id, now=True)
    await rig.store.request(end)
    async with rig.running() as engine:
        async with asyncio.timeout(120):
            while not rig.calls(TERMINATE):  # noqa: ASYNC110 - simulated time
                await asyncio.sleep(0.05)
        await adopt(rig)
        await rig.request(RequestKind.SCALE, size=3)
        (loop,), rounds = engine.loops, 0
        while loop.fleets.in_flight.tasks.get(WEB):
            assert len(rig.calls(MAKE_SERVER)) == 3
            assert victim.id in await ids(rig, WEB)
            rounds += (await rows(rig))[BUILDERS].adopts == WEB
            await asyncio.sleep(0.05)
        assert rounds > 20, "it waited"
        await rig.until([READY] * 3, 10 * MIN)
        await rig.pass_by(10 * MIN)
    assert {machine.id for machine in rest} <= await ids(rig)
    assert len(rig.world.servers()) == 3
    assert len(rig.calls(MAKE_SERVER)) == 4
    assert (await rows(rig)).keys() == {BUILDERS}


async def test_a_pause_that_somebody_asked_for_holds_for_the_other_fleet_too() -> None:
    rig = FakeScene(OLD)
    await grown(rig)
    async with rig.running():
        await rig.request(RequestKind.PAUSE)
        await rig.pass_by(1 * MIN)
    rename(rig, replace(NEW, size=1))
    await adopt(rig)
    async with rig.running():
        await rig.pass_by(10 * MIN)
        assert await rig.phases() == [READY] * 3
        await rig.request(RequestKind.RESUME)
        await rig.until([READY], 10 * MIN)
