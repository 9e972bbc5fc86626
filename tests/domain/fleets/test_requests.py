"""Wishes: each is written into the row or a record, none is lost, holds hold."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import machine_id
from hostler.domain.model.commands import REQUEST_REFUSED, SaveFleet
from hostler.domain.model.fleet import Setback
from hostler.domain.model.machine import Deletion, Protection
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.domain.model.snapshot import RequestKind
from hostler.testing.scenes.builders import BEGIN, FLEET, MIN, OFFER, S, machine, server
from hostler.testing.scenes.fleet import Scene

HOUR = timedelta(hours=1)


def furnished(many: int = 1) -> Scene:
    scene = Scene(fleet=replace(FLEET, size=many))
    scene.furnish(*(machine(number) for number in range(1, many + 1)))
    scene.observe()
    return scene


def protection(scene: Scene) -> Protection:
    return Protection(until=scene.now + HOUR, why="looking into it", actor="ann")


def test_hold_is_saved_though_nothing_else_changed() -> None:
    scene = furnished()
    request = scene.request(RequestKind.PROTECT, scene.the().id)
    scene.requests[0] = replace(request, until=scene.now + HOUR, why="mine")
    scene.reconcile()
    assert scene.the().protection == Protection(until=scene.now + HOUR, why="mine", actor="ann")


def test_unhold_is_saved_though_nothing_else_changed() -> None:
    scene = furnished()
    scene.keep(replace(scene.the(), protection=protection(scene)))
    scene.request(RequestKind.UNPROTECT, scene.the().id)
    scene.reconcile()
    assert scene.the().protection is None


def test_hold_has_a_longest_duration() -> None:
    scene = furnished()
    request = scene.request(RequestKind.PROTECT, scene.the().id)
    scene.requests[0] = replace(request, until=scene.now + timedelta(days=365))
    scene.reconcile()
    held = scene.the().protection
    assert held is not None
    assert held.until == scene.now + FLEET.timers.longest_protection


def test_hold_without_an_end_has_one() -> None:
    scene = furnished()
    scene.request(RequestKind.PROTECT, scene.the().id)
    scene.reconcile()
    assert scene.the().is_protected(scene.now)
    assert not scene.the().is_protected(scene.now + FLEET.timers.longest_protection)


def test_request_survives_an_illegal_move_of_its_machine() -> None:
    """A record that the table refuses to move is not moved; what a person asked is kept."""
    scene = Scene()
    lost = replace(machine(phase=Phase.STANDBY), deletion=None)
    scene.add(lost)
    scene.observe()
    scene.request(RequestKind.PROTECT, lost.id)
    scene.reconcile()
    assert scene.the().protection is not None


def test_end_drains_a_ready_machine_and_replaces_it() -> None:
    scene = furnished()
    scene.request(RequestKind.DELETE, scene.the(1).id)
    scene.reconcile()
    assert scene.the(1).phase is Phase.DRAINING
    assert scene.the(2).phase is Phase.PENDING


def test_end_now_skips_the_drain() -> None:
    scene = furnished()
    request = scene.request(RequestKind.DELETE, scene.the(1).id)
    scene.requests[0] = replace(request, now=True)
    scene.reconcile()
    assert scene.the(1).phase is Phase.STOPPING


def test_end_of_what_was_never_asked_for_is_gone_at_once() -> None:
    scene = Scene(fleet=replace(FLEET, size=0))
    scene.add(machine(phase=Phase.PENDING))
    scene.request(RequestKind.DELETE, scene.the().id)
    scene.reconcile()
    assert not scene.machines
    assert scene.history


def test_end_of_a_held_machine_waits_for_the_hold() -> None:
    scene = furnished()
    scene.keep(replace(scene.the(), protection=protection(scene)))
    scene.request(RequestKind.DELETE, scene.the().id)
    scene.reconcile()
    assert scene.the().phase is Phase.READY
    verdict = next(v for v in scene.decide().verdicts if v.machine == scene.the().id)
    assert "protected until" in verdict.blocker
    scene.later(HOUR)
    scene.observe()
    scene.reconcile()
    assert scene.the().phase is Phase.DRAINING


def test_request_for_a_machine_that_nobody_knows_changes_nothing() -> None:
    scene = furnished()
    scene.request(RequestKind.DELETE, machine(99).id)
    before = scene.the()
    scene.reconcile()
    assert scene.the() == before


@pytest.mark.parametrize(("desired", "there"), [(0, 1), (1, 1), (3, 3)])
def test_scale_is_kept_in_the_row(desired: int, there: int) -> None:
    scene = furnished()
    scene.request(RequestKind.SCALE, size=desired)
    scene.reconcile()
    assert scene.row.size == desired
    assert len(scene.machines) == there
    assert scene.the().phase is (Phase.READY if desired else Phase.DRAINING)


def test_last_of_two_requests_wins() -> None:
    scene = furnished()
    scene.request(RequestKind.SCALE, size=7)
    scene.request(RequestKind.SCALE, size=2)
    scene.reconcile()
    assert scene.row.size == 2


def test_pause_stops_growing_shrinking_and_repair_and_resume_lets_them_go_on() -> None:
    scene = furnished(2)
    scene.request(RequestKind.PAUSE)
    scene.reconcile()
    scene.keep(replace(scene.the(1), phase=Phase.FAILED))
    scene.vanish(server(scene.the(1)).id)
    for size in (0, 5):
        scene.row = replace(scene.row, size=size)
        scene.observe()
        scene.reconcile()
        assert len(scene.machines) == 2
        assert scene.the(1).phase is Phase.FAILED
        assert scene.the(2).phase is Phase.READY
    scene.request(RequestKind.RESUME)
    scene.reconcile()
    assert scene.row.pause is None
    resumed = scene.row.resumed
    assert resumed is not None
    assert scene.row.at_work_since(scene.now) == resumed
    scene.request(RequestKind.RESUME)
    scene.observe()
    scene.reconcile()
    assert scene.row.resumed == resumed, "it was not paused: nothing ended"
    assert scene.the(1).phase is Phase.STOPPING
    assert len(scene.machines) == 6


def test_pause_stops_replacing() -> None:
    scene = furnished()
    scene.fleet = replace(scene.fleet, template="new", replace_outdated=True, surge=0)
    scene.request(RequestKind.PAUSE)
    scene.reconcile()
    scene.reconcile()
    assert scene.the().phase is Phase.READY


def test_pause_ends_by_itself() -> None:
    scene = furnished()
    scene.request(RequestKind.PAUSE)
    scene.reconcile()
    scene.later(FLEET.timers.longest_protection)
    scene.row = replace(scene.row, size=2)
    scene.observe()
    scene.reconcile()
    assert len(scene.machines) == 2


def test_hold_stops_the_start_bound_but_not_observing() -> None:
    scene = Scene()
    scene.add(
        replace(
            machine(phase=Phase.STARTING),
            protection=Protection(until=BEGIN + HOUR, why="", actor=""),
        )
    )
    scene.exist(server(scene.the(), Condition.STARTING))
    scene.observe()
    scene.later(30 * MIN)
    scene.observe()
    scene.reconcile()
    assert scene.the().phase is Phase.STARTING
    assert scene.the().observed == "starting"
    scene.later(30 * MIN)
    scene.observe()
    scene.reconcile()
    assert scene.the().phase is not Phase.STARTING


def test_hold_stops_the_end_of_what_is_stopping_and_its_bound() -> None:
    scene = furnished()
    stopping = replace(machine(phase=Phase.STOPPING, since=scene.now), protection=protection(scene))
    scene.keep(stopping)
    scene.later(20 * MIN)
    scene.observe()
    advance = scene.advance()
    assert advance is None or (advance.goal is None and not advance.machine.health.stuck)


def test_held_machine_that_is_lost_is_kept_broken_and_still_counted_in_the_maximum() -> None:
    scene = furnished()
    scene.keep(
        replace(scene.the(), protection=Protection(until=BEGIN + 2 * HOUR, why="", actor=""))
    )
    scene.exist(server(scene.the(), Condition.OFF))
    scene.rounds(30)
    assert scene.the().phase is Phase.FAILED
    assert scene.the().in_maximum


def test_protected_fleet_ends_nothing_that_was_ready() -> None:
    scene = furnished(2)
    scene.fleet = replace(scene.fleet, protected=True)
    scene.row = replace(scene.row, size=0)
    scene.request(RequestKind.DELETE, scene.the(1).id)
    scene.reconcile()
    assert [scene.the(1).phase, scene.the(2).phase] == [Phase.READY, Phase.READY]
    assert "protected" in scene.row.condition


def test_request_for_a_machine_leaves_others_and_the_row_alone() -> None:
    scene = furnished(2)
    scene.row = replace(
        scene.row, setbacks=(Setback(offer=OFFER, why="x", until=BEGIN + 5 * S),), size=2
    )
    before = scene.the(2)
    scene.request(RequestKind.PROTECT, scene.the(1).id)
    scene.reconcile()
    assert scene.the(2) == before
    assert scene.row.setbacks


def test_ending_of_a_broken_machine_ends_its_keeping() -> None:
    scene = furnished()
    scene.fleet = replace(
        scene.fleet, timers=replace(scene.fleet.timers, keep_failed=timedelta(hours=9))
    )
    scene.keep(machine(phase=Phase.FAILED, since=scene.now).with_health(was_ready=BEGIN))
    scene.exist(server(scene.the(), Condition.OFF))
    scene.observe()
    scene.reconcile()
    assert scene.the().phase is Phase.FAILED
    scene.request(RequestKind.DELETE, scene.the().id)
    scene.reconcile()
    assert scene.the().phase is Phase.STOPPING
    assert isinstance(scene.the().deletion, Deletion)


def test_what_was_to_go_at_once_still_does_whatever_is_asked_later() -> None:
    scene = furnished()
    scene.request(RequestKind.DELETE, scene.the().id)
    scene.requests[0] = replace(scene.requests[0], now=True)
    scene.request(RequestKind.DELETE, scene.the().id)
    scene.reconcile()
    deletion = scene.the(1).deletion
    assert deletion is not None
    assert deletion.now


@pytest.mark.parametrize("first", [RequestKind.GROW, RequestKind.DELETE])
def test_only_a_later_deletion_keeps_a_machine_from_being_made(first: RequestKind) -> None:
    scene = Scene(fleet=replace(FLEET, size=0, renews=False))
    scene.observe()
    new = machine_id(77)
    if first is RequestKind.GROW:
        scene.ask_for(new)
    scene.request(RequestKind.DELETE, new)
    if first is RequestKind.DELETE:
        scene.ask_for(new)
    decision = scene.decide()
    (save,) = (command for command in decision.commands if isinstance(command, SaveFleet))
    refused = [event.request for event in save.events if event.kind == REQUEST_REFUSED]
    made = first is RequestKind.DELETE
    assert (save.named, refused) == (((new,), [1]) if made else ((), []))


@pytest.mark.parametrize(
    ("kind", "phase", "why"),
    [
        (RequestKind.STANDBY, Phase.READY, "machines of its provider have no standby"),
        (RequestKind.WAKE, Phase.FAILED, "it is failed: it does not come back"),
    ],
)
def test_what_a_machine_cannot_do_is_refused(kind: RequestKind, phase: Phase, why: str) -> None:
    scene = Scene()
    scene.add(machine(phase=phase))
    scene.observe()
    scene.request(kind, scene.the().id)
    saves = (c for c in scene.decide().commands if isinstance(c, SaveFleet))
    events = [event for save in saves for event in save.events]
    assert [e.detail for e in events if e.kind == REQUEST_REFUSED] == [why]
