"""Time: a clock that jumps either way, a process that starts again, and take-overs."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.fleets.reclaim import blocked
from hostler.domain.model.calls import Shows
from hostler.domain.model.commands import Advance
from hostler.domain.model.fleet import FleetRow, Setback, recent
from hostler.domain.model.machine import RESTED, CallState, Doubt, Known, Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, OrphanClass
from hostler.domain.model.snapshot import Orphan
from hostler.domain.observation.certainty import present, reconcile
from hostler.testing.fakes.planner import MAKE_SERVER, POWER_ON, SERVER
from hostler.testing.scenes.builders import BEGIN, FLEET, MIN, S, asked, machine, server
from hostler.testing.scenes.fleet import Scene

DAY = timedelta(days=1)


def jumped(scene: Scene, by: timedelta) -> None:
    """Let the clock jump, as the engine takes it: looks are forgotten, and time counts anew."""
    scene.later(by)
    scene.inventory = Scene().inventory
    scene.probed.clear()
    scene.steady = scene.jumped = scene.now


def furnished(size: int = 3) -> Scene:
    scene = Scene(fleet=replace(FLEET, size=size))
    scene.furnish(*(machine(number) for number in range(1, size + 1)))
    scene.observe()
    return scene


@pytest.mark.parametrize("by", [DAY, -DAY, timedelta(days=400), -2 * MIN, 2 * MIN])
def test_healthy_fleet_is_not_touched_by_a_jump(by: timedelta) -> None:
    scene = furnished()
    timers = replace(FLEET.timers, max_age=timedelta(hours=12))
    scene.fleet = replace(scene.fleet, timers=timers)
    jumped(scene, by)
    for _ in range(30):
        scene.reconcile()
        scene.later(2 * S)
        scene.observe()
    assert [m.phase for m in scene.machines.values()] == [Phase.READY] * 3
    assert all(m.deletion is None for m in scene.machines.values())


@pytest.mark.parametrize("by", [DAY, -DAY])
def test_machine_that_starts_has_its_whole_bound_after_a_jump(by: timedelta) -> None:
    scene = Scene()
    scene.add(machine(1, Phase.STARTING, scene.now))
    scene.exist(server(scene.the(), Condition.STARTING))
    jumped(scene, by)
    for _ in range(59):
        scene.observe()
        scene.reconcile()
        assert scene.the().phase is Phase.STARTING
        scene.later(10 * S)
    scene.later(10 * S)
    scene.observe()
    scene.reconcile()
    assert scene.the().phase is not Phase.STARTING


@pytest.mark.parametrize("by", [DAY, -DAY])
def test_wanted_and_stopping_machines_have_their_whole_bound_after_a_jump(by: timedelta) -> None:
    scene = Scene(fleet=replace(FLEET, size=1))
    scene.add(machine(1, Phase.PENDING, scene.now), machine(2, Phase.STOPPING, scene.now))
    scene.exist(server(machine(2), Condition.BUSY))
    jumped(scene, by)
    for _ in range(59):
        scene.observe(complete=False)
        scene.reconcile()
        assert scene.the(1).phase is Phase.PENDING
        assert not scene.the(2).health.stuck
        scene.later(10 * S)
    scene.later(10 * S)
    scene.observe(complete=False)
    scene.reconcile()
    assert machine(1).id in scene.history
    assert scene.the(2).health.stuck


def test_open_call_settles_anew_after_a_jump_forward() -> None:
    scene = Scene()
    scene.add(
        replace(machine(1, Phase.STARTING), places=(), asked=(asked(MAKE_SERVER, scene.now),))
    )
    jumped(scene, DAY)
    scene.later(59 * S)
    scene.observe()
    assert reconcile(scene.the(), scene.snapshot()).asked[0].call_state is CallState.OPEN
    scene.later(1 * S)
    scene.observe()
    assert reconcile(scene.the(), scene.snapshot()).asked[0].call_state is CallState.LAPSED


def test_open_call_from_the_future_settles_from_now() -> None:
    scene = Scene()
    future = asked(MAKE_SERVER, scene.now + DAY)
    scene.add(replace(machine(1, Phase.STARTING), places=(), asked=(future,)))
    scene.reconcile()
    assert scene.the().asked[0].at == scene.now
    scene.later(61 * S)
    scene.observe()
    scene.reconcile()
    assert scene.the().asked[0].call_state is CallState.LAPSED


def test_gap_between_two_observations_is_not_made_by_a_jump() -> None:
    scene = furnished(1)
    scene.exist(server(scene.the(), Condition.OFF))
    scene.observe()
    scene.reconcile()
    assert scene.the().health.doubt is not None
    jumped(scene, DAY)
    scene.observe()
    scene.reconcile()
    assert scene.the().phase is Phase.READY
    scene.later(19 * S)
    scene.observe()
    scene.reconcile()
    assert scene.the().phase is Phase.READY
    scene.later(1 * S)
    scene.observe()
    scene.reconcile()
    assert scene.the().phase is Phase.STOPPING


def absent(at: timedelta, scene: Scene) -> Machine:
    entry = machine(1, Phase.STOPPING)
    place = entry.place(SERVER)
    known = replace(place.known[0], absent=scene.now + at, removed=scene.now + at)
    return entry.with_place(replace(place, known=(known,)))


def test_gap_between_two_absences_is_not_made_by_a_jump() -> None:
    scene = Scene()
    scene.add(absent(0 * S, scene))
    jumped(scene, DAY)
    scene.observe()
    assert not reconcile(scene.the(), scene.snapshot()).place(SERVER).known[0].deleted
    scene.later(20 * S)
    scene.observe()
    assert reconcile(scene.the(), scene.snapshot()).place(SERVER).known[0].deleted


@pytest.mark.parametrize("by", [DAY, -DAY, 2 * MIN])
def test_it_is_said_until_when_a_machine_has_its_bound_after_a_jump(by: timedelta) -> None:
    scene = Scene(fleet=replace(FLEET, size=1))
    scene.add(machine(1, Phase.STARTING, scene.now))
    scene.exist(server(scene.the(), Condition.STARTING))
    jumped(scene, by)
    scene.observe(complete=False)
    advances = [c for c in scene.reconcile().commands if isinstance(c, Advance)]
    assert [one.verdict.next.at for one in advances] == [scene.now + 10 * MIN]


@pytest.mark.parametrize("back", [DAY, timedelta(0)])
def test_grace_is_counted_by_the_clock_of_the_engine_that_reclaims(back: timedelta) -> None:
    """Seed 78000164: an engine with a wrong clock noted an orphan, and another one took over."""
    scene = Scene(fleet=replace(FLEET, reclaim=True))
    found = server(machine(1))
    orphan = Orphan(
        resource=found.id,
        kind="server",
        zone=found.zone,
        fleet=scene.fleet.name,
        cls=OrphanClass.UNRECORDED,
        first=scene.now - back,
        last=scene.now,
        sightings=2,
        installation=scene.ours[0],
        machine=machine(1).id,
        owner=f"{machine(1).id} of home",
    )
    scene.took = scene.now
    assert blocked(orphan, scene.snapshot()).startswith("younger")
    scene.later(FLEET.timers.grace - S)
    assert blocked(orphan, scene.snapshot()).startswith("younger")
    scene.later(S)
    assert not blocked(orphan, scene.snapshot()).startswith("younger")
    dated = replace(orphan, created=scene.took - DAY)
    scene.took = scene.now
    assert not blocked(dated, scene.snapshot()).startswith("younger"), "the provider dated it"


@pytest.mark.parametrize("field", ["since", "blind", "doubt", "asked", "closed", "known", "absent"])
def test_time_from_the_future_is_brought_back_to_now_whatever_it_is(field: str) -> None:
    """The clock jumped back, perhaps while we were not running: nothing may wait for years."""
    scene = Scene()
    future = scene.now + timedelta(days=3650)
    entry = machine(1, Phase.STARTING, scene.now)
    place = entry.place(SERVER)
    entries = {
        "since": replace(entry, since=future),
        "blind": replace(entry, unknown_since=future),
        "doubt": entry.with_health(doubt=Doubt(what="stopped", since=future)),
        "asked": replace(entry, asked=(asked(MAKE_SERVER, future),)),
        "closed": replace(entry, asked=(replace(asked(MAKE_SERVER), closed=future),)),
        "known": entry.with_place(replace(place, known=(replace(place.known[0], since=future),))),
        "absent": absent(timedelta(days=3650), scene),
    }
    after = reconcile(entries[field], scene.snapshot())
    assert str(future) not in str(after)
    assert repr(future) not in repr(after)


def test_record_without_times_of_the_future_is_left_as_it_is() -> None:
    scene = furnished(1)
    entry = scene.the()
    assert reconcile(entry, scene.snapshot()) is entry


def test_windows_of_the_caps_from_the_future_run_out() -> None:
    scene = furnished(1)
    future = scene.now + timedelta(days=3650)
    scene.row = replace(scene.row, creations=(future,) * 40, destructions=(future,) * 40)
    scene.row = replace(scene.row, losses=(future,) * 5)
    scene.reconcile()
    assert set(scene.row.creations) == {scene.now}
    scene.later(timedelta(hours=1, minutes=1))
    scene.observe()
    scene.reconcile()
    assert (scene.row.creations, scene.row.destructions, scene.row.losses) == ((), (), ())


def test_setback_from_the_future_ends_within_its_longest_pause() -> None:
    scene = Scene()
    scene.row = replace(
        scene.row,
        setbacks=(Setback(offer=FLEET.offers[0], why="x", until=scene.now + timedelta(days=3650)),),
    )
    scene.observe()
    scene.reconcile()
    scene.later(FLEET.timers.tries[-1])
    scene.observe()
    scene.reconcile()
    assert len(scene.machines) == 1


def test_time_that_lies_ahead_counts_as_now() -> None:
    assert recent((BEGIN, BEGIN + DAY), BEGIN, 1 * S) == (BEGIN, BEGIN + DAY)
    assert recent((BEGIN,), BEGIN + 1 * S, 1 * S) == ()


def test_restart_begins_where_the_records_are() -> None:
    """Nothing is remembered but what was saved: not a look, not a probe."""
    scene = furnished(2)
    scene.exist(server(machine(1), Condition.OFF))
    scene.rounds(5, 2 * S)
    again = Scene(fleet=scene.fleet, now=scene.now, row=scene.row, epoch=2, took=scene.now)
    again.steady = again.now
    again.machines, again.resources = dict(scene.machines), dict(scene.resources)
    assert not again.decide().commands, "before its first look a process knows nothing"
    again.rounds(20, 2 * S)
    assert again.the(1).phase is Phase.STOPPING
    assert again.the(2).phase is Phase.READY


def test_row_that_nobody_asked_for_has_the_size_of_the_file() -> None:
    row = FleetRow(name=FLEET.name, created=BEGIN)
    assert row.desired(FLEET) == 1
    assert replace(row, size=0).desired(FLEET) == 0
    assert Known(id=server(machine()).id, zone=FLEET.offers[0].zone, since=BEGIN).attempt == 0


def test_machine_that_was_woken_before_the_clock_jumped_back_was_not_in_standby_since() -> None:
    """Nothing said that it was down, for what is in standby may be: it was off and ready for hours.

    Both times came back to the same moment, or only that of its call did.
    """
    rested, woken = BEGIN + 2 * DAY, BEGIN + 2 * DAY + MIN
    on = asked(POWER_ON, woken, shows=Shows.POWER, call_state=CallState.DONE)
    before = replace(machine(1), asked=(on,)).with_fact(RESTED, rested)
    after = present(before, BEGIN)
    assert not before.woken
    assert not after.woken
    assert max(fact.at for fact in after.facts) <= BEGIN
    assert present(after, BEGIN) is after


def test_pause_after_a_refusal_is_no_longer_because_the_clock_jumped_back() -> None:
    """It lasted until the clock had caught up, up to ten minutes: a server stayed off for them."""
    since = BEGIN + 5 * MIN
    after = present(replace(machine(1), retry_since=since, retry_at=since + MIN), BEGIN)
    assert (after.retry_since, after.retry_at) == (BEGIN, BEGIN + MIN)
    assert present(after, BEGIN) is after
