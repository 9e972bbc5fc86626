"""Capacity: how many of the machines asked for are accepted, and what is in the way of more."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.model.fleet import Caps, FleetRow, Setback
from hostler.domain.model.machine import Machine, Offer, Protection
from hostler.domain.model.phases import Phase
from hostler.requests.capacity import Occupancy, admit
from hostler.testing.scenes.builders import BEGIN, FLEET, MIN, OFFER, WEB, S, machine

GROUP = replace(FLEET, size=0, maximum=5, renews=False)
LARGE = Offer(type="large", zone=OFFER.zone)


def occupied(*machines: Machine, row: FleetRow | None = None, **changes: object) -> Occupancy:
    occupancy = Occupancy(
        fleet=GROUP,
        row=row or FleetRow(name=WEB, created=BEGIN),
        machines=machines,
        requested=0,
        blocker="",
        now=BEGIN,
    )
    return replace(occupancy, **changes)


def failed(until: timedelta, *offers: Offer) -> FleetRow:
    row = FleetRow(name=WEB, created=BEGIN)
    for offer in offers:
        row = row.with_setback(Setback(offer=offer, why="out of stock", until=BEGIN + until))
    return row


def test_all_are_accepted_while_there_is_room() -> None:
    assert admit(5, occupied()).count == 5
    assert admit(6, occupied()).count == 5
    assert admit(3, occupied(machine(1), machine(2), requested=2)).count == 1


@pytest.mark.parametrize("phase", [Phase.FAILED, Phase.STOPPING, Phase.STARTING, Phase.PENDING])
def test_every_machine_that_exists_takes_room(phase: Phase) -> None:
    assert admit(9, occupied(*(machine(n, phase) for n in range(1, 5)))).count == 1


def test_stuck_machines_take_no_room_up_to_their_allowance() -> None:
    stuck = [machine(n, Phase.STOPPING).with_health(stuck=True) for n in range(1, 6)]
    assert admit(9, occupied(*stuck[:3])).count == 5
    assert admit(9, occupied(*stuck)).count == 3


def test_wrong_world_and_pause_let_nobody_in() -> None:
    pause = Protection(until=BEGIN + MIN, why="rest", actor="ann")
    assert admit(1, occupied(blocker="foreign parts")).why == "foreign parts"
    assert "paused by ann" in admit(1, occupied(row=replace(failed(S), pause=pause))).why


def test_creations_of_an_hour_bound_what_is_let_in() -> None:
    fleet = replace(GROUP, caps=Caps(creates=3))
    row = replace(failed(S), setbacks=(), creations=(BEGIN,))
    admitted = admit(5, occupied(fleet=fleet, row=row, requested=1))
    assert (admitted.count, "limit on creations" in admitted.why) == (1, True)


def test_nobody_is_let_in_while_every_type_waits() -> None:
    admitted = admit(3, occupied(row=failed(MIN, OFFER)))
    assert (admitted.count, "small in z-1: out of stock until" in admitted.why) == (0, True)


def test_one_alone_tries_a_type_that_failed() -> None:
    assert admit(3, occupied(row=failed(0 * S, OFFER))).count == 1
    assert admit(3, occupied(row=failed(0 * S, OFFER), requested=1)).count == 0
    trying = machine(1, Phase.STARTING)
    assert admit(3, occupied(trying, row=failed(0 * S, OFFER))).count == 0


def test_whoever_asks_for_the_whole_or_nothing_gets_it_as_soon_as_one_may_try() -> None:
    """It asks for as many again and again: if only one were ever accepted, none would be."""
    assert admit(3, occupied(row=failed(0 * S, OFFER)), whole=True).count == 3
    assert admit(3, occupied(row=failed(0 * S, OFFER), requested=1), whole=True).count == 0
    assert admit(3, occupied(row=failed(MIN, OFFER)), whole=True).count == 0
    assert admit(9, occupied(row=failed(0 * S, OFFER)), whole=True).count == 5
    fleet = replace(GROUP, caps=Caps(creates=2))
    assert admit(3, occupied(row=failed(0 * S, OFFER), fleet=fleet), whole=True).count == 2


def test_another_type_lets_all_in() -> None:
    fleet = replace(GROUP, offers=(OFFER, LARGE))
    assert admit(3, occupied(fleet=fleet, row=failed(MIN, OFFER))).count == 3
