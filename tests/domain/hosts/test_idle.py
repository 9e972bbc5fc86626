"""Idle hosts: which of those that nobody has go on, and what counts against one that does not."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.hosts.allocation import FAULT, STRANGER
from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.ids import HostId
from hostler.domain.model.calls import Shows
from hostler.domain.model.capabilities import PowerLimits
from hostler.domain.model.hold import Hold, HoldKind
from hostler.domain.model.host import Host, HostCondition, HostGoal, HostPower
from hostler.domain.model.machine import CallState
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.domain.model.snapshot import AccountSnapshot
from hostler.domain.policy.remediation import PAUSES
from hostler.testing.fakes.metal import metal
from hostler.testing.fakes.metal_planner import HOST_ON
from hostler.testing.scenes.builders import BEGIN, FLEET, S, asked
from hostler.testing.scenes.hosts import (
    BOX,
    account_snapshot,
    box,
    hosts_snapshot,
    on_host,
    record,
)

FIRST, SECOND = HostId("host-1"), HostId("host-2")
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
ONE_BY_ONE = (PowerLimits(parallel_starts=1), PowerLimits(start_gap=30 * S))


def off(host: HostId, hold: HoldKind | None = None) -> Host:
    """Return a host that has been off for a day; somebody may hold it."""
    held = Hold(kind=hold, until=BEGIN + HOUR, actor="ann") if hold is not None else None
    known = record(
        condition=HostCondition.FREE,
        power=HostPower(on=False, since=BEGIN - timedelta(days=1)),
        hold=held,
    )
    return replace(known, id=host, fleet=FLEET.name)


def seen_off(
    *hosts: Host, limits: PowerLimits, now: datetime = BEGIN, paused: bool = False
) -> AccountSnapshot:
    boxes = (box("pool", Condition.OFF, host.id) for host in hosts)
    protected = {FLEET.name: "the fleet is paused"} if paused else {}
    snapshot = account_snapshot(boxes, hosts, observed=now, now=now, protected=protected)
    return replace(snapshot, capabilities=metal(power=limits))


def goals(snapshot: AccountSnapshot) -> dict[HostId, HostGoal | None]:
    return {transition.host.id: transition.goal for transition in decide_hosts(snapshot)}


@pytest.mark.parametrize("limits", ONE_BY_ONE)
def test_one_that_a_person_wants_on_goes_on_where_it_were_to_stay_on_anyhow(
    limits: PowerLimits,
) -> None:
    """Seeds 131000040 and 131000096 of power: it was to go on for both, and went on for neither."""
    hosts = off(FIRST, HoldKind.ON), off(SECOND)
    snapshot = seen_off(*hosts, limits=replace(limits, stay_on=2))
    assert goals(snapshot) == {FIRST: HostGoal.ON, SECOND: None}


@pytest.mark.parametrize("limits", ONE_BY_ONE)
def test_one_that_a_person_wants_on_goes_before_those_that_are_to_stay_on(
    limits: PowerLimits,
) -> None:
    hosts = off(FIRST), off(SECOND, HoldKind.ON)
    snapshot = seen_off(*hosts, limits=replace(limits, stay_on=2))
    assert goals(snapshot) == {FIRST: None, SECOND: HostGoal.ON}


@pytest.mark.parametrize(("passed", "goal"), [(59 * S, None), (60 * S, HostGoal.ON)])
def test_one_that_stays_dark_is_told_again_after_twice_the_gap(
    passed: timedelta, goal: HostGoal | None
) -> None:
    then = BEGIN - passed
    command = asked(HOST_ON, then, shows=Shows.POWER, call_state=CallState.DONE)
    begun = HostPower(on=False, since=BEGIN - HOUR, begun=then, started=then)
    host = replace(off(FIRST, HoldKind.ON), power=begun, asked=(command,))
    assert goals(seen_off(host, limits=PowerLimits(start_gap=30 * S))) == {FIRST: goal}


def test_of_several_that_stay_dark_one_at_a_time_is_told_again() -> None:
    limits, hosts = PowerLimits(start_gap=30 * S), list[Host]()
    for place, host in enumerate((FIRST, SECOND)):
        commanded = BEGIN - (10 + place) * MINUTE
        command = asked(HOST_ON, commanded, shows=Shows.POWER, call_state=CallState.DONE)
        begun = HostPower(on=False, since=BEGIN - HOUR, begun=commanded, started=commanded)
        hosts.append(replace(off(host, HoldKind.ON), power=begun, asked=(command,)))
    patient = replace(limits, start=HOUR)
    assert goals(seen_off(*hosts, limits=patient)) == {FIRST: None, SECOND: HostGoal.ON}


@pytest.mark.parametrize(
    ("seen", "passed", "stays"),
    [
        (Condition.OFF, 61 * S, False),
        (Condition.OFF, 60 * S, True),
        (Condition.UP, 61 * S, True),
        (Condition.UNKNOWN, 61 * S, True),
    ],
)
def test_what_switched_a_box_off_is_over_once_it_is_off(
    seen: Condition, passed: timedelta, *, stays: bool
) -> None:
    """The next time it is asked to shut down anew: its power was cut at once."""
    shut = asked("host.off_soft", BEGIN, shows=Shows.REST, call_state=CallState.DONE)
    on = asked(HOST_ON, BEGIN - HOUR, shows=Shows.POWER, call_state=CallState.DONE)
    host = replace(off(FIRST), asked=(on, replace(shut, closed=BEGIN)))
    now = BEGIN + passed
    snapshot = account_snapshot([box("pool", seen, FIRST)], [host], observed=now, now=now)
    capabilities = replace(metal(), consistency_delay=60 * S)
    (found,) = decide_hosts(replace(snapshot, capabilities=capabilities))
    kinds = {one.kind for one in found.host.asked}
    assert kinds == {HOST_ON} | ({shut.kind} if stays else set())


@pytest.mark.parametrize(("seen", "strikes"), [(899 * S, 0), (900 * S, 1)])
def test_one_that_nobody_saw_since_it_was_to_be_on_has_no_strike_for_that(
    seen: timedelta, strikes: int
) -> None:
    """No listing came through: it may have been on all the while."""
    power = HostPower(on=False, since=BEGIN - HOUR, begun=BEGIN)
    host = replace(off(FIRST, HoldKind.ON), power=power)
    late = replace(host, hold=Hold(kind=HoldKind.ON, until=BEGIN + 9 * HOUR, actor="ann"))
    boxes = [box("pool", Condition.OFF, FIRST)]
    snapshot = account_snapshot(boxes, [late], observed=BEGIN + seen, now=BEGIN + HOUR)
    (found,) = decide_hosts(replace(snapshot, capabilities=metal(power=PowerLimits())))
    assert found.host.health.strikes == strikes


def test_one_that_did_not_go_on_is_left_alone_for_a_while() -> None:
    wanted = PowerLimits(stay_on=1)
    host, now = off(FIRST), BEGIN
    while not host.health.strikes:
        (found,) = decide_hosts(seen_off(host, limits=wanted, now=now))
        host, now = found.host, now + MINUTE
        assert now < BEGIN + HOUR
    struck, pause = now - MINUTE, PAUSES[0]
    assert goals(seen_off(host, limits=wanted, now=struck + pause / 2)) == {FIRST: None}
    assert goals(seen_off(host, limits=wanted, now=struck + pause)) == {FIRST: HostGoal.ON}


def test_one_that_nobody_could_switch_on_tells_why() -> None:
    """It was said to have been switched on, and its password was refused (power 206000002)."""
    begun = HostPower(on=False, since=BEGIN - HOUR, begun=BEGIN - HOUR)
    for refused in ("", "host.on: the credentials are refused"):
        host = replace(off(FIRST), power=begun, error=refused)
        (found,) = decide_hosts(seen_off(host, limits=PowerLimits(stay_on=1)))
        why = found.host.error
        assert why == f"it was not seen on after it was to go on: {refused}".strip(": ")
        (more,) = decide_hosts(
            seen_off(
                replace(found.host, power=begun), limits=PowerLimits(stay_on=1), now=BEGIN + HOUR
            )
        )
        assert more.host.health.strikes == 2
        assert more.host.error.count("it was not seen on") == 1


@pytest.mark.parametrize("wanted", [PowerLimits(exercise=HOUR), PowerLimits(stay_on=1)])
def test_one_whose_fleet_is_paused_has_no_strike_for_not_going_on(wanted: PowerLimits) -> None:
    """Seed 131000146 of power: the time in which it was to come up ran while nobody switched it."""
    host = off(FIRST, HoldKind.ON if wanted.stay_on else None)
    for now in (BEGIN, BEGIN + HOUR / 4, BEGIN + HOUR / 2):
        (found,) = decide_hosts(seen_off(host, limits=wanted, now=now, paused=True))
        host = found.host
        assert found.goal is None
        assert not host.health.strikes
    (found,) = decide_hosts(seen_off(host, limits=wanted, now=BEGIN + HOUR / 2))
    assert found.goal is HostGoal.ON
    assert found.host.power.begun == BEGIN + HOUR / 2


@pytest.mark.parametrize("limits", ONE_BY_ONE)
@pytest.mark.parametrize("wanted", [PowerLimits(exercise=HOUR), PowerLimits(stay_on=1)])
def test_one_whose_fleet_is_paused_takes_no_others_turn(
    limits: PowerLimits, wanted: PowerLimits
) -> None:
    idle, other = off(FIRST), replace(off(SECOND), fleet=None)
    both = replace(limits, exercise=wanted.exercise, stay_on=wanted.stay_on)
    snapshot = seen_off(idle, other, limits=both, paused=True)
    assert goals(snapshot) == {FIRST: None, SECOND: HostGoal.ON}


@pytest.mark.parametrize(
    ("hold", "on_for", "goes_off"),
    [
        (None, 2 * MINUTE, False),
        (None, 20 * MINUTE, True),
        (HoldKind.OFF, 2 * MINUTE, True),
        (HoldKind.ON, 20 * MINUTE, False),
        (HoldKind.RESERVED, 20 * MINUTE, False),
        (HoldKind.MAINTENANCE, 20 * MINUTE, False),
    ],
)
@pytest.mark.parametrize("after", [HostGoal.CLEAN, None])
def test_one_in_quarantine_goes_off_as_any_that_nobody_has(
    hold: HoldKind | None, on_for: timedelta, goes_off: bool, after: HostGoal | None
) -> None:
    """Seed 238000622 of kubernetes: a person had switched it on, and so it stayed for a day."""
    power = HostPower(on=True, since=BEGIN - on_for)
    snapshot = _in_quarantine(power, hold, after, PowerLimits(least_on=10 * MINUTE))
    assert (goals(snapshot)[FIRST] is HostGoal.OFF) is goes_off


@pytest.mark.parametrize(
    ("hold", "goal"),
    [
        (None, None),
        (HoldKind.OFF, HostGoal.OFF),
        (HoldKind.ON, None),
        (HoldKind.RESERVED, None),
        (HoldKind.MAINTENANCE, None),
    ],
)
def test_one_that_showed_a_strangers_key_is_left_on_unless_a_person_wants_it_off(
    hold: HoldKind | None, goal: HostGoal | None
) -> None:
    power = HostPower(on=True, since=BEGIN - HOUR)
    snapshot = _in_quarantine(power, hold, HostGoal.CLEAN, PowerLimits(), stranger=True)
    assert goals(snapshot) == {FIRST: goal}


@pytest.mark.parametrize("showed", [True, False])
def test_it_is_on_record_that_one_showed_a_strangers_key_until_its_quarantine_ends(
    *, showed: bool
) -> None:
    past = on_host(Phase.DELETED)
    past = past.with_fact(STRANGER if showed else FAULT, BEGIN)
    host = record(condition=HostCondition.ALLOCATED, machine=past.id, strikes=9)
    snapshot = hosts_snapshot(host, box("pool"), bindings={BOX: past.id}, past=(past,))
    (left,) = decide_hosts(replace(snapshot, capabilities=metal()))
    assert left.host.health.stranger is showed
    over = replace(left.host, condition=HostCondition.QUARANTINED)
    over = over.with_health(quarantined_until=BEGIN)
    (served,) = decide_hosts(replace(hosts_snapshot(over, box("pool")), capabilities=metal()))
    assert (served.host.condition, served.host.health.stranger) == (HostCondition.DIRTY, False)


def test_one_that_could_not_be_cleaned_is_no_strangers() -> None:
    power = HostPower(on=True, since=BEGIN - HOUR)
    snapshot = _in_quarantine(power, None, HostGoal.CLEAN, PowerLimits())
    (host,) = snapshot.hosts.values()
    failed = host.with_cleaning(wiped=None)
    assert goals(replace(snapshot, hosts={FIRST: failed})) == {FIRST: HostGoal.OFF}


@pytest.mark.parametrize("limits", [PowerLimits(stay_on=1), PowerLimits(exercise=HOUR)])
@pytest.mark.parametrize("hold", [None, HoldKind.ON])
def test_one_in_quarantine_goes_on_for_nothing(limits: PowerLimits, hold: HoldKind | None) -> None:
    power = HostPower(on=False, since=BEGIN - timedelta(days=1))
    assert goals(_in_quarantine(power, hold, None, limits)) == {FIRST: None}


def _in_quarantine(
    power: HostPower,
    hold: HoldKind | None,
    after: HostGoal | None,
    limits: PowerLimits,
    *,
    stranger: bool = False,
) -> AccountSnapshot:
    """Return an account whose only host is in quarantine for hours, and held so by somebody."""
    left = off(FIRST, hold).with_health(quarantined_until=BEGIN + 5 * HOUR, stranger=stranger)
    alone = replace(
        left,
        condition=HostCondition.QUARANTINED,
        goal=after,
        power=power,
    )
    condition = Condition.UP if power.on else Condition.OFF
    snapshot = account_snapshot([box("pool", condition, FIRST)], [alone], observed=BEGIN, now=BEGIN)
    return replace(snapshot, capabilities=metal(power=limits))


@pytest.mark.parametrize(("passed", "goal"), [(29 * S, None), (30 * S, HostGoal.ON)])
def test_one_that_stays_dark_and_is_due_is_told_again_the_gap_after_another_went_on(
    passed: timedelta, goal: HostGoal | None
) -> None:
    then = BEGIN - 2 * MINUTE
    command = asked(HOST_ON, then, shows=Shows.POWER, call_state=CallState.DONE)
    begun = HostPower(on=False, since=BEGIN - HOUR, begun=then, started=then)
    dark = replace(off(FIRST, HoldKind.ON), power=begun, asked=(command,))
    other = replace(off(SECOND), power=HostPower(on=False, since=then, started=BEGIN - passed))
    snapshot = seen_off(dark, other, limits=PowerLimits(start_gap=30 * S))
    assert goals(snapshot) == {FIRST: goal, SECOND: None}


@pytest.mark.parametrize("begun", [None, BEGIN - S])
def test_one_that_was_told_in_an_earlier_start_waits_for_one_gap_alone(
    begun: datetime | None,
) -> None:
    then = BEGIN - 30 * MINUTE
    command = asked(HOST_ON, then, shows=Shows.POWER, call_state=CallState.LAPSED)
    power = HostPower(on=False, since=BEGIN - HOUR, begun=begun)
    again = replace(off(FIRST, HoldKind.ON), power=power, asked=(command,))
    other = replace(off(SECOND), power=HostPower(on=False, since=then, started=BEGIN - 30 * S))
    snapshot = seen_off(again, other, limits=PowerLimits(start_gap=30 * S))
    assert goals(snapshot) == {FIRST: HostGoal.ON, SECOND: None}


@pytest.mark.parametrize("is_on", [False, True])
def test_one_in_quarantine_takes_neither_the_turn_nor_the_place_of_another(*, is_on: bool) -> None:
    power = HostPower(on=is_on, since=BEGIN - timedelta(days=1))
    limits = PowerLimits(parallel_starts=1, stay_on=1)
    (alone,) = _in_quarantine(power, None if is_on else HoldKind.ON, None, limits).hosts.values()
    boxes = (
        box("pool", Condition.UP if is_on else Condition.OFF, FIRST),
        box("pool", Condition.OFF, SECOND),
    )
    snapshot = account_snapshot(boxes, [alone, off(SECOND)], observed=BEGIN, now=BEGIN)
    snapshot = replace(snapshot, capabilities=metal(power=limits))
    assert goals(snapshot) == {FIRST: HostGoal.OFF if is_on else None, SECOND: HostGoal.ON}


def test_one_that_is_to_be_given_up_takes_no_place_of_those_that_stay_on() -> None:
    limits = PowerLimits(stay_on=1)
    leaving = replace(off(FIRST), goal=HostGoal.RETIRED)
    snapshot = seen_off(leaving, off(SECOND), limits=limits)
    assert goals(snapshot)[SECOND] is HostGoal.ON


@pytest.mark.parametrize("hold", [None, HoldKind.OFF])
def test_one_that_is_dirty_is_switched_off_by_nobody(hold: HoldKind | None) -> None:
    """Somebody may be at work on it: only what is free, or failed too often, is idle."""
    power = HostPower(on=True, since=BEGIN - HOUR)
    dirty = replace(off(FIRST, hold), condition=HostCondition.DIRTY, power=power)
    dirty = dirty.with_cleaning(wiped=BEGIN - HOUR)
    snapshot = account_snapshot([box("other", host=FIRST)], [dirty], observed=BEGIN, now=BEGIN)
    assert goals(replace(snapshot, capabilities=metal(power=PowerLimits()))) == {FIRST: None}


@pytest.mark.parametrize(("why", "goal"), [("", HostGoal.OFF), ("its owner's", None)])
def test_one_in_quarantine_that_its_owner_leaves_alone_is_switched_by_nobody(
    why: str, goal: HostGoal | None
) -> None:
    power, limits = HostPower(on=True, since=BEGIN - HOUR), PowerLimits()
    (alone,) = _in_quarantine(power, HoldKind.OFF, None, limits).hosts.values()
    seen = account_snapshot([box("pool", host=FIRST, left_alone=why)], [alone], now=BEGIN)
    assert goals(replace(seen, capabilities=metal(power=limits))) == {FIRST: goal}
