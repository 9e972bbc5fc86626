"""Anew: what was tried and is tried again counts, and waits where an hour's bound has no room."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.model.calls import Refusal
from hostler.domain.model.commands import Advance
from hostler.domain.model.fleet import Caps, FleetRow, next_creation
from hostler.domain.model.machine import CallState, Machine, Offer
from hostler.domain.model.phases import Phase
from hostler.testing.fakes.planner import ADDRESS, MAKE_ADDRESS, MAKE_SERVER
from hostler.testing.scenes.builders import BEGIN, FLEET, MIN, WEB, S, asked, machine
from hostler.testing.scenes.fleet import Scene

HOUR = 60 * MIN
SMALL = replace(FLEET, caps=Caps(creates=4))


def row(*minutes: int) -> FleetRow:
    times = tuple(BEGIN + minute * MIN for minute in minutes)
    return FleetRow(name=WEB, created=BEGIN, creations=times)


def refused(number: int, since: timedelta, tried: timedelta) -> Machine:
    """Return a machine that is starting, whose server was refused."""
    starting = machine(number, Phase.STARTING, since=BEGIN + since)
    call = asked(MAKE_SERVER, BEGIN + tried, call_state=CallState.REFUSED)
    return replace(starting, places=(), asked=(call,), tries=1)


def scene(*machines: Machine, creations: tuple[int, ...] = ()) -> Scene:
    made = Scene(fleet=replace(SMALL, size=len(machines)), row=row(*creations))
    made.add(*machines)
    made.observe()
    return made


def worked(s: Scene) -> set[int]:
    """Return the numbers of the machines that something is asked for now."""
    advances = (command for command in s.decide().commands if isinstance(command, Advance))
    return {advance.machine.serial for advance in advances if advance.goal is not None}


@pytest.mark.parametrize(
    ("used", "minute"),
    [((), 10), ((9,), 10), ((0, 1), 31), ((0, 9), 39), ((0, 1, 2), 32), ((0, 1, 2, 9), 61)],
)
def test_half_of_the_bound_may_be_used_at_once_and_the_rest_is_spread_over_the_hour(
    used: tuple[int, ...], minute: int
) -> None:
    assert next_creation(SMALL, row(*used), BEGIN + 10 * MIN) == BEGIN + minute * MIN


def test_whatever_the_times_no_more_are_tried_in_an_hour_than_the_bound() -> None:
    tried, now = row(), BEGIN
    for _ in range(40):
        now = next_creation(SMALL, tried, now) + S
        tried = replace(tried, creations=(*tried.creations, now))
        assert sum(now - at < HOUR for at in tried.creations) <= 4


def test_a_first_attempt_is_not_counted_for_it_was_as_the_machine_began() -> None:
    fresh = replace(refused(1, 5 * MIN, MIN), asked=())
    s = scene(fresh, creations=(5,))
    s.reconcile()
    assert worked(s) == {1}
    assert s.row.creations == row(5).creations


def test_another_attempt_is_counted() -> None:
    s = scene(refused(1, 5 * MIN, 6 * MIN), creations=(5,))
    s.reconcile()
    assert s.row.creations == (BEGIN + 5 * MIN, s.now)


def test_another_attempt_at_a_resource_beside_the_machine_is_counted_too() -> None:
    call = asked(MAKE_ADDRESS, BEGIN + 6 * MIN, slot=ADDRESS, call_state=CallState.REFUSED)
    s = scene(replace(refused(1, 5 * MIN, 6 * MIN), asked=(call,)), creations=(5,))
    s.reconcile()
    assert s.row.creations == (BEGIN + 5 * MIN, s.now)


def test_an_attempt_of_an_earlier_start_is_none_of_this_one() -> None:
    s = scene(refused(1, 5 * MIN, 4 * MIN), creations=(5,))
    s.reconcile()
    assert s.row.creations == row(5).creations


def test_a_changed_offer_is_counted_once() -> None:
    s = scene(refused(1, 5 * MIN, 6 * MIN), creations=(5,))
    (entry,) = s.machines.values()
    other = Offer(type="large", zone=entry.offer.zone)
    s.fleet = replace(s.fleet, offers=(entry.offer, other), renews=False, caps=Caps(creates=8))
    s.keep(entry.with_health(refused=Refusal.STOCK))
    assert worked(s) == {1}
    s.reconcile()
    assert s.the().offer == other
    assert s.row.creations == (BEGIN + 5 * MIN, s.now)


def test_without_room_a_machine_waits_and_says_until_when() -> None:
    s = scene(refused(1, 5 * MIN, 6 * MIN), creations=(5, 6))
    decision = s.decide()
    assert worked(s) == set()
    (verdict,) = decision.verdicts
    assert (verdict.next.kind, verdict.next.at) == ("wait", BEGIN + 36 * MIN)
    assert "bound on creations" in verdict.next.detail
    assert decision.due == BEGIN + 36 * MIN
    s.reconcile()
    assert s.row.creations == row(5, 6).creations


def test_who_waited_longest_is_tried_first() -> None:
    young, old = refused(1, 5 * MIN, 8 * MIN), refused(2, 5 * MIN, 7 * MIN)
    s = scene(young, old, creations=(5,))
    assert worked(s) == {2}


def test_what_begins_in_the_same_cycle_has_its_room_first() -> None:
    s = scene(refused(1, 5 * MIN, 6 * MIN))
    s.fleet = replace(s.fleet, size=3)
    s.reconcile()
    assert len(s.machines) == 3
    assert s.row.creations == (s.now, s.now)
