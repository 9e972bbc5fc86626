"""Wishes: each is written into the row or a record, none is lost, holds hold."""

from dataclasses import replace
from datetime import timedelta

import pytest

from hostler.domain.model.fleet import Setback
from hostler.domain.model.machine import Ending, Hold
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.domain.model.snapshot import WishKind
from hostler.testing.scenes.builders import BEGIN, FLEET, MIN, OFFER, S, machine, server
from hostler.testing.scenes.fleet import Scene

HOUR = timedelta(hours=1)


def furnished(many: int = 1) -> Scene:
    scene = Scene(fleet=replace(FLEET, size=many))
    scene.furnish(*(machine(number) for number in range(1, many + 1)))
    scene.look()
    return scene


def hold(scene: Scene) -> Hold:
    return Hold(until=scene.now + HOUR, why="looking into it", actor="ann")


def test_hold_is_saved_though_nothing_else_changed() -> None:
    scene = furnished()
    wish = scene.wish(WishKind.HOLD, scene.the().id)
    scene.wishes[0] = replace(wish, until=scene.now + HOUR, why="mine")
    scene.turn()
    assert scene.the().hold == Hold(until=scene.now + HOUR, why="mine", actor="ann")


def test_unhold_is_saved_though_nothing_else_changed() -> None:
    scene = furnished()
    scene.keep(replace(scene.the(), hold=hold(scene)))
    scene.wish(WishKind.UNHOLD, scene.the().id)
    scene.turn()
    assert scene.the().hold is None


def test_hold_has_a_longest_duration() -> None:
    scene = furnished()
    wish = scene.wish(WishKind.HOLD, scene.the().id)
    scene.wishes[0] = replace(wish, until=scene.now + timedelta(days=365))
    scene.turn()
    held = scene.the().hold
    assert held is not None
    assert held.until == scene.now + FLEET.timers.longest_hold


def test_hold_without_an_end_has_one() -> None:
    scene = furnished()
    scene.wish(WishKind.HOLD, scene.the().id)
    scene.turn()
    assert scene.the().held(scene.now)
    assert not scene.the().held(scene.now + FLEET.timers.longest_hold)


def test_wish_survives_an_illegal_move_of_its_machine() -> None:
    """A record that the table refuses to move is not moved; what a person asked is kept."""
    scene = Scene()
    lost = replace(machine(phase=Phase.RESTING), ending=None)
    scene.add(lost)
    scene.look()
    scene.wish(WishKind.HOLD, lost.id)
    scene.turn()
    assert scene.the().hold is not None


def test_end_drains_a_ready_machine_and_replaces_it() -> None:
    scene = furnished()
    scene.wish(WishKind.END, scene.the(1).id)
    scene.turn()
    assert scene.the(1).phase is Phase.DRAINING
    assert scene.the(2).phase is Phase.WANTED


def test_end_now_skips_the_drain() -> None:
    scene = furnished()
    wish = scene.wish(WishKind.END, scene.the(1).id)
    scene.wishes[0] = replace(wish, now=True)
    scene.turn()
    assert scene.the(1).phase is Phase.STOPPING


def test_end_of_what_was_never_asked_for_is_gone_at_once() -> None:
    scene = Scene(fleet=replace(FLEET, size=0))
    scene.add(machine(phase=Phase.WANTED))
    scene.wish(WishKind.END, scene.the().id)
    scene.turn()
    assert not scene.machines
    assert scene.history


def test_end_of_a_held_machine_waits_for_the_hold() -> None:
    scene = furnished()
    scene.keep(replace(scene.the(), hold=hold(scene)))
    scene.wish(WishKind.END, scene.the().id)
    scene.turn()
    assert scene.the().phase is Phase.READY
    verdict = next(v for v in scene.decide().verdicts if v.machine == scene.the().id)
    assert "held until" in verdict.blocker
    scene.later(HOUR)
    scene.look()
    scene.turn()
    assert scene.the().phase is Phase.DRAINING


def test_wish_for_a_machine_that_nobody_knows_changes_nothing() -> None:
    scene = furnished()
    scene.wish(WishKind.END, machine(99).id)
    before = scene.the()
    scene.turn()
    assert scene.the() == before


@pytest.mark.parametrize(("wished", "there"), [(0, 1), (1, 1), (3, 3)])
def test_scale_is_kept_in_the_row(wished: int, there: int) -> None:
    scene = furnished()
    scene.wish(WishKind.SCALE, size=wished)
    scene.turn()
    assert scene.row.size == wished
    assert len(scene.machines) == there
    assert scene.the().phase is (Phase.READY if wished else Phase.DRAINING)


def test_last_of_two_wishes_wins() -> None:
    scene = furnished()
    scene.wish(WishKind.SCALE, size=7)
    scene.wish(WishKind.SCALE, size=2)
    scene.turn()
    assert scene.row.size == 2


def test_pause_stops_growing_shrinking_and_repair_and_resume_lets_them_go_on() -> None:
    scene = furnished(2)
    scene.wish(WishKind.PAUSE)
    scene.turn()
    scene.keep(replace(scene.the(1), phase=Phase.BROKEN))
    scene.vanish(server(scene.the(1)).id)
    for size in (0, 5):
        scene.row = replace(scene.row, size=size)
        scene.look()
        scene.turn()
        assert len(scene.machines) == 2
        assert scene.the(1).phase is Phase.BROKEN
        assert scene.the(2).phase is Phase.READY
    scene.wish(WishKind.RESUME)
    scene.turn()
    assert scene.row.pause is None
    assert scene.the(1).phase is Phase.STOPPING
    assert len(scene.machines) == 6


def test_pause_stops_replacing() -> None:
    scene = furnished()
    scene.fleet = replace(scene.fleet, template="new", replace_outdated=True, surge=0)
    scene.wish(WishKind.PAUSE)
    scene.turn()
    scene.turn()
    assert scene.the().phase is Phase.READY


def test_pause_ends_by_itself() -> None:
    scene = furnished()
    scene.wish(WishKind.PAUSE)
    scene.turn()
    scene.later(FLEET.timers.longest_hold)
    scene.row = replace(scene.row, size=2)
    scene.look()
    scene.turn()
    assert len(scene.machines) == 2


def test_hold_stops_the_start_bound_but_not_observing() -> None:
    scene = Scene()
    scene.add(
        replace(machine(phase=Phase.STARTING), hold=Hold(until=BEGIN + HOUR, why="", actor=""))
    )
    scene.exist(server(scene.the(), Condition.STARTING))
    scene.look()
    scene.later(30 * MIN)
    scene.look()
    scene.turn()
    assert scene.the().phase is Phase.STARTING
    assert scene.the().observed == "starting"
    scene.later(30 * MIN)
    scene.look()
    scene.turn()
    assert scene.the().phase is not Phase.STARTING


def test_hold_stops_the_end_of_what_is_stopping_and_its_bound() -> None:
    scene = furnished()
    stopping = replace(machine(phase=Phase.STOPPING, since=scene.now), hold=hold(scene))
    scene.keep(stopping)
    scene.later(20 * MIN)
    scene.look()
    tend = scene.tend()
    assert tend is None or (tend.goal is None and not tend.machine.stuck)


def test_held_machine_that_is_lost_is_kept_broken_and_still_counted_in_the_maximum() -> None:
    scene = furnished()
    scene.keep(replace(scene.the(), hold=Hold(until=BEGIN + 2 * HOUR, why="", actor="")))
    scene.exist(server(scene.the(), Condition.OFF))
    scene.rounds(30)
    assert scene.the().phase is Phase.BROKEN
    assert scene.the().in_maximum


def test_protected_fleet_ends_nothing_that_was_ready() -> None:
    scene = furnished(2)
    scene.fleet = replace(scene.fleet, protected=True)
    scene.row = replace(scene.row, size=0)
    scene.wish(WishKind.END, scene.the(1).id)
    scene.turn()
    assert [scene.the(1).phase, scene.the(2).phase] == [Phase.READY, Phase.READY]
    assert "protected" in scene.row.condition


def test_wish_for_a_machine_leaves_others_and_the_row_alone() -> None:
    scene = furnished(2)
    scene.row = replace(
        scene.row, setbacks=(Setback(offer=OFFER, why="x", until=BEGIN + 5 * S),), size=2
    )
    before = scene.the(2)
    scene.wish(WishKind.HOLD, scene.the(1).id)
    scene.turn()
    assert scene.the(2) == before
    assert scene.row.setbacks


def test_ending_of_a_broken_machine_ends_its_keeping() -> None:
    scene = furnished()
    scene.fleet = replace(
        scene.fleet, timers=replace(scene.fleet.timers, keep_broken=timedelta(hours=9))
    )
    scene.keep(replace(machine(phase=Phase.BROKEN, since=scene.now), was_ready=BEGIN))
    scene.exist(server(scene.the(), Condition.OFF))
    scene.look()
    scene.turn()
    assert scene.the().phase is Phase.BROKEN
    scene.wish(WishKind.END, scene.the().id)
    scene.turn()
    assert scene.the().phase is Phase.STOPPING
    assert isinstance(scene.the().ending, Ending)
