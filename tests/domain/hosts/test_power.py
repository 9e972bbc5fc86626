"""Power: when boxes may start, by what their provider's limits say."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.hosts import power
from hostler.domain.hosts.free import free_hosts
from hostler.domain.hosts.lifecycle import decide_hosts, without_future
from hostler.domain.ids import Epoch, HostId
from hostler.domain.model.calls import Shows
from hostler.domain.model.capabilities import PowerLimits, Preference
from hostler.domain.model.host import Free, HostCondition, HostPower
from hostler.domain.model.machine import UNANSWERED_REST, CallState
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.domain.observation.effects import SENT_LATE
from hostler.testing.fakes.metal import metal
from hostler.testing.fakes.metal_planner import HOST_OFF, SWITCH_ON
from hostler.testing.scenes.builders import BEGIN, FLEET, OFFER, S, asked
from hostler.testing.scenes.hosts import (
    account_snapshot,
    box,
    call,
    hosts_snapshot,
    on_host,
    record,
)

GAP = PowerLimits(start_gap=30 * S)
FREE = Free(resource=box("pool", Condition.OFF, HostId("host-2")), offer=OFFER)


def _fits(*_: object) -> str:
    return ""


def test_box_that_went_off_may_start_once_its_least_time_is_over() -> None:
    limits = PowerLimits(least_off=timedelta(minutes=10))
    host = record(power=HostPower(on=False, since=BEGIN))
    off = box(condition=Condition.OFF)
    assert not power.may_start(host, off, limits, BEGIN + timedelta(minutes=9))
    assert power.may_start(host, off, limits, BEGIN + timedelta(minutes=10))


def test_box_that_is_off_and_was_on_by_its_record_waits_until_the_record_says_since_when() -> None:
    """A process that has just started sees it off before its record does."""
    limits = PowerLimits(least_off=timedelta(minutes=10))
    late = BEGIN + timedelta(hours=1)
    host = record(power=HostPower(on=True, since=BEGIN))
    assert not power.may_start(host, box(condition=Condition.OFF), limits, late)
    assert power.may_start(host, box(condition=Condition.UP), limits, late)
    assert power.may_start(None, box(condition=Condition.OFF), limits, late)


def test_box_that_was_told_to_go_off_is_taken_once_the_command_must_have_been_obeyed() -> None:
    off = call(HOST_OFF, CallState.DONE, shows=Shows.REST)
    host = record(condition=HostCondition.FREE, wiped=BEGIN, asked=(off,))
    delay = metal().consistency_delay
    for passed, taken in ((delay, False), (delay + S, True)):
        at = BEGIN + passed
        account = account_snapshot([box()], [host], observed=at, now=at, capabilities=metal())
        free = free_hosts(account, FLEET, _fits)
        assert bool(free) is taken, passed


@pytest.mark.parametrize(
    ("epoch", "took_over", "remembered"), [(0, True, True), (0, False, False), (1, True, False)]
)
@pytest.mark.parametrize("condition", [Condition.OFF, Condition.UP])
def test_box_that_a_process_may_yet_switch_off_is_not_taken_yet(
    condition: Condition, epoch: int, *, took_over: bool, remembered: bool
) -> None:
    """What was seen since tells what became of the box, not whether that was sent."""
    off = replace(call(HOST_OFF, shows=Shows.REST), epoch=Epoch(epoch))
    at = BEGIN + 2 * metal().consistency_delay
    before = record(condition=HostCondition.FREE, wiped=BEGIN, asked=(off,))
    seen = account_snapshot(
        [box(condition=condition)], [before], observed=at, now=at, capabilities=metal()
    )
    seen = replace(seen, took_over=took_over)
    (moved,) = decide_hosts(seen)
    assert moved.host.power.unanswered == (BEGIN if remembered else None)
    free = replace(moved.host, asked=())
    for passed, taken in ((SENT_LATE - S, not remembered), (SENT_LATE, True)):
        now = BEGIN + passed
        account = account_snapshot([box()], [free], observed=now, now=now, capabilities=metal())
        assert bool(free_hosts(account, FLEET, _fits)) is taken, passed
    jumped = replace(account, jumped=now)  # what counts from then begins anew
    assert bool(free_hosts(jumped, FLEET, _fits)) is not remembered


def test_box_remembers_what_may_yet_switch_it_off_after_the_machine_that_had_it() -> None:
    later = BEGIN + 60 * S
    for of_host, of_machine in ((None, later), (BEGIN, later), (later, BEGIN)):
        host = record(power=HostPower(unanswered=of_host))
        past = on_host(Phase.DELETED).with_fact(UNANSWERED_REST, of_machine)
        assert power.passed_on(host, past).unanswered == later
    assert power.passed_on(record(), on_host(Phase.DELETED)).unanswered is None


def test_times_of_a_box_that_lie_in_the_future_are_brought_back() -> None:
    """The clock jumped back: what counts from them must not wait until it has caught up."""
    later = BEGIN + timedelta(hours=2)
    off = call(HOST_OFF, CallState.DONE, later, shows=Shows.REST)
    host = record(since=later, power=HostPower(on=False, since=later), asked=(off,))
    host = replace(host, power=replace(host.power, started=later, unanswered=later))
    known = without_future(host, BEGIN)
    assert known.since == BEGIN
    assert known.power == HostPower(on=False, since=BEGIN, started=BEGIN, unanswered=BEGIN)
    assert [(asked.at, asked.closed) for asked in known.asked] == [(BEGIN, BEGIN)]
    assert without_future(known, BEGIN) is known


def test_waits_of_a_box_are_no_longer_because_the_clock_jumped_back() -> None:
    later = BEGIN + timedelta(hours=2)
    host = replace(record(since=later), retry_since=later, retry_at=later + 60 * S)
    known = without_future(host.with_health(quarantined_until=later + timedelta(days=1)), BEGIN)
    assert (known.retry_since, known.retry_at) == (BEGIN, BEGIN + 60 * S)
    assert known.health.quarantined_until == BEGIN + timedelta(days=1)
    alone = replace(record(since=BEGIN), retry_since=later, retry_at=later + 60 * S)
    assert without_future(alone, BEGIN).retry_at == BEGIN + 60 * S


def test_cycle_brings_the_times_of_a_box_back() -> None:
    host = record(condition=HostCondition.FREE, since=BEGIN + timedelta(hours=2))
    snapshot = replace(hosts_snapshot(host, box()), capabilities=metal())
    (transition,) = decide_hosts(snapshot)
    assert transition.host.since == BEGIN


@pytest.mark.parametrize(
    "between",
    [
        Condition.STARTING,
        Condition.UP,
        Condition.FAILED,
        Condition.LOCKED,
        Condition.UNKNOWN,
    ],
)
def test_box_that_was_seen_otherwise_and_then_off_counts_as_off_from_then(
    between: Condition,
) -> None:
    """It was on, or may have been while it was in error: its least time off begins anew."""
    off = record(power=HostPower(on=False, since=BEGIN))
    host = replace(off, condition=HostCondition.FREE)
    otherwise, stopped = box(condition=between), box(condition=Condition.OFF)
    for resource, at in ((otherwise, BEGIN + 60 * S), (stopped, BEGIN + 90 * S)):
        snapshot = replace(hosts_snapshot(host, resource, now=at), capabilities=metal())
        (transition,) = decide_hosts(snapshot)
        host = transition.host
    assert (host.power.on, host.power.since) == (False, BEGIN + 90 * S)


@pytest.mark.parametrize("holder", ["machine", "host", "former machine"])
def test_box_that_was_started_and_is_off_again_before_anybody_looked_counts_as_off_from_then(
    holder: str,
) -> None:
    """Its process stood still, and somebody switched it off: its least time off begins anew."""
    start = asked(SWITCH_ON, BEGIN, shows=Shows.POWER, call_state=CallState.DONE)
    start = replace(start, closed=BEGIN + 60 * S)
    machine = on_host(Phase.READY, asked=(start,))
    host = record(power=HostPower(on=False, since=BEGIN), machine=machine.id)
    machines = (machine,) if holder == "machine" else ()
    if holder == "host":
        host = replace(host, asked=(start,))
    if holder == "former machine":
        host = replace(host, power=replace(host.power, started=BEGIN + 60 * S))
    for seen, since in ((65 * S, BEGIN), (200 * S, BEGIN + 200 * S), (300 * S, BEGIN + 200 * S)):
        now, off = BEGIN + seen, box(condition=Condition.OFF)
        snapshot = hosts_snapshot(host, off, now=now, living=machines)
        known = power.observed(host, off, replace(snapshot, capabilities=metal()))
        assert (known.on, known.since) == (False, since)
        host = replace(host, power=known)


@pytest.mark.parametrize(
    ("prefer", "first"),
    [
        ((Preference.ON, Preference.COST), "on"),
        ((Preference.COST, Preference.ON), "cheap"),
        ((Preference.LONGEST_OFF,), "rested"),
        ((Preference.WEAR,), "new"),
    ],
)
def test_machines_take_the_box_that_its_provider_prefers(
    prefer: tuple[Preference, ...], first: str
) -> None:
    """What failed less often comes before all of that: see the tests of free hosts."""
    off = HostPower(on=False, since=BEGIN + 60 * S, starts=5)
    stands = {
        "on": (HostPower(on=True, since=BEGIN, starts=5), Condition.UP, 2.0),
        "cheap": (off, Condition.OFF, 1.0),
        "rested": (replace(off, since=BEGIN), Condition.OFF, 2.0),
        "new": (replace(off, starts=1), Condition.OFF, 2.0),
    }
    hosts = [
        record(id=HostId(name), condition=HostCondition.FREE, power=known)
        for name, (known, _, _) in stands.items()
    ]
    boxes = [
        box("pool", condition, HostId(name), rate=rate)
        for name, (_, condition, rate) in stands.items()
    ]
    limits = PowerLimits(prefer=prefer)
    snapshot = account_snapshot(boxes, hosts, now=BEGIN + timedelta(hours=1))
    snapshot = replace(snapshot, capabilities=metal(power=limits))
    chosen = free_hosts(snapshot, FLEET, _fits)
    assert chosen[0].id == first
    assert power.rank(None, boxes[0], None) == ()
