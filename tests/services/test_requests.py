"""Requests: what is accepted is returned as a value, and what is refused says why."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.errors import RequestRefused
from hostler.domain.ids import InstallationId, machine_id
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Protection
from hostler.domain.model.snapshot import RequestKind
from hostler.requests import fleets, machines
from hostler.requests.recording import Author, record, wait_until_taken
from hostler.stores.memory import MemoryStore
from hostler.testing.scenes.builders import BEGIN, FLEET, MIN, S, machine
from hostler.testing.time.clock import SimClock

ANN = Author(name="ann", at=BEGIN, why="a test")
BOUNDED = replace(FLEET, maximum=3)


def test_a_size_within_the_maximum_is_accepted_under_its_authors_name() -> None:
    request = fleets.scale(ANN, BOUNDED, 3).request
    assert (request.kind, request.fleet, request.size) == (RequestKind.SCALE, FLEET.name, 3)
    assert (request.actor, request.at, request.why) == ("ann", BEGIN, "a test")


@pytest.mark.parametrize(
    ("fleet", "size", "why"),
    [
        (BOUNDED, 4, "at most 3 machines"),
        (BOUNDED, -1, "-1 is not a size"),
        (replace(FLEET, renews=False), 1, "has no size of its own"),
        (replace(FLEET, removed=True), 1, "put it back first, or end them: hostler delete"),
    ],
)
def test_a_size_that_cannot_be_is_refused(fleet: Fleet, size: int, why: str) -> None:
    with pytest.raises(RequestRefused, match=why):
        fleets.scale(ANN, fleet, size)


def test_a_protection_is_as_long_as_asked_and_never_longer_than_the_fleet_allows() -> None:
    longest = FLEET.timers.longest_protection
    assert machines.protect(ANN, FLEET, machine(1), MIN).request.until == BEGIN + MIN
    assert fleets.pause(ANN, FLEET).request.until == BEGIN + longest
    for duration in (longest + S, timedelta.max):
        with pytest.raises(RequestRefused, match=r"timers\.longest_protection"):
            fleets.pause(ANN, FLEET, duration)


def test_no_machine_of_a_protected_fleet_is_deleted_or_retired() -> None:
    protected = replace(FLEET, protected=True)
    with pytest.raises(RequestRefused, match="is protected"):
        machines.delete(ANN, protected, machine(1))
    with pytest.raises(RequestRefused, match="is protected"):
        machines.delete_unrecorded(ANN, protected, machine_id(1))
    with pytest.raises(RequestRefused, match="is protected"):
        machines.retire(ANN, protected, machine(1))


def test_the_deletion_of_a_protected_machine_is_accepted_with_a_warning() -> None:
    held = replace(machine(1), protection=Protection(until=BEGIN + MIN, why="", actor="bob"))
    accepted = machines.delete(ANN, FLEET, held, now=True)
    assert accepted.request.now
    assert "by bob" in accepted.warnings[0]
    assert machines.delete(ANN, FLEET, machine(1)).warnings == ()
    assert machines.unprotect(ANN, FLEET, held).warnings == ()
    assert "is not protected" in machines.unprotect(ANN, FLEET, machine(1)).warnings[0]


def test_retiring_asks_for_a_reason_and_warns_where_there_is_no_host() -> None:
    with pytest.raises(RequestRefused, match="say why"):
        machines.retire(replace(ANN, why=""), FLEET, machine(1))
    assert "no host" in machines.retire(ANN, FLEET, machine(1)).warnings[0]


@pytest.mark.looptime
async def test_what_is_recorded_has_a_number_and_is_waited_for_until_it_is_taken() -> None:
    store, clock = MemoryStore(InstallationId("i-0")), SimClock(asyncio.get_running_loop())
    first, second = await record(store, (fleets.resume(ANN, FLEET, None), fleets.pause(ANN, FLEET)))
    assert first.number < second.number
    assert await store.requests() == (first, second)
    assert not await wait_until_taken(store, clock, {first.number}, S)
    assert await wait_until_taken(store, clock, {second.number + 1}, S)
