"""Power: when boxes may start, by what their provider's limits say."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.decision.view import view_of
from hostler.domain.hosts import power
from hostler.domain.hosts.free import free_hosts
from hostler.domain.hosts.lifecycle import decide_hosts, without_future
from hostler.domain.ids import FleetName, HostId, MachineId, ResourceId
from hostler.domain.machines.failure import switched_on
from hostler.domain.model.calls import Shows
from hostler.domain.model.capabilities import PowerLimits, Preference
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Free, HostCondition, HostPower
from hostler.domain.model.machine import CallState, Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import Condition, Resource
from hostler.domain.model.transition import Transition
from hostler.testing.fakes.metal import metal
from hostler.testing.fakes.metal_planner import HOST_OFF, SWITCH_ON
from hostler.testing.scenes.builders import BEGIN, FLEET, OFFER, S, asked
from hostler.testing.scenes.hosts import (
    BOX,
    account_snapshot,
    box,
    call,
    fleet_snapshot,
    hosts_snapshot,
    on_host,
    record,
)

GAP = PowerLimits(start_gap=30 * S)
FREE = Free(resource=box("pool", Condition.OFF, HostId("host-2")), offer=OFFER)


def _fits(*_: object) -> str:
    return ""


def test_gap_counts_from_a_start_that_is_over_too() -> None:
    start = asked(SWITCH_ON, BEGIN, shows=Shows.POWER, call_state=CallState.DONE)
    machine = on_host(Phase.READY, asked=(start,))
    for passed, startable in ((29 * S, ()), (30 * S, (FREE,))):
        snapshot = replace(
            fleet_snapshot([machine], now=BEGIN + passed), capabilities=metal(power=GAP)
        )
        assert power.startable((FREE,), [machine], snapshot) == startable


def test_gap_counts_from_a_start_whose_machine_is_deleted_too() -> None:
    on = HostPower(on=True, since=BEGIN)
    host = record(condition=HostCondition.FREE, power=on)
    for passed, startable in ((29 * S, ()), (30 * S, (FREE,))):
        snapshot = fleet_snapshot([], now=BEGIN + passed, hosts=[host])
        snapshot = replace(snapshot, capabilities=metal(power=GAP))
        assert power.startable((FREE,), [], snapshot) == startable


def test_gap_counts_from_a_start_that_was_never_seen_and_whose_machine_is_deleted() -> None:
    """The box drew its current, or draws it late; nothing but the machine's record said so."""
    start = asked(SWITCH_ON, BEGIN, shows=Shows.POWER, call_state=CallState.DONE)
    past = on_host(Phase.DELETED, asked=(start,))
    host = record(condition=HostCondition.ALLOCATED, machine=past.id, power=HostPower(on=False))
    snapshot = hosts_snapshot(host, box("pool"), bindings={BOX: past.id}, past=(past,))
    (left,) = decide_hosts(replace(snapshot, capabilities=metal(power=GAP)))
    assert left.host.power.started == BEGIN
    for passed, startable in ((29 * S, ()), (30 * S, (FREE,))):
        snapshot = fleet_snapshot([], now=BEGIN + passed, hosts=[left.host])
        snapshot = replace(snapshot, capabilities=metal(power=GAP))
        assert power.startable((FREE,), [], snapshot) == startable
        next_one = on_host(Phase.STARTING, host=HostId("host-2"), id=MachineId("m-a22222222"))
        held = started(next_one)
        assert power.spaced((held,), snapshot)[0].starts is bool(startable)


def started(machine: Machine) -> Transition:
    return Transition(before=machine, machine=machine, resources=(), goal=Goal.PRESENT, starts=True)


def spaced(
    *machines: Machine,
    now: datetime = BEGIN,
    moving: tuple[MachineId, ...] = (),
    seen: tuple[Resource, ...] = (),
) -> list[bool]:
    """Return of each machine whether its box may be switched on."""
    snapshot = replace(
        fleet_snapshot(machines, seen, now=now),
        capabilities=metal(power=GAP),
        moving=frozenset(moving),
    )
    transitions = tuple(
        replace(started(machine), starts=machine.id not in moving) for machine in machines
    )
    return [one.starts and one.goal is not None for one in power.spaced(transitions, snapshot)]


def test_of_two_that_would_start_at_once_the_one_that_began_first_does() -> None:
    """However late it comes to it: what was begun half an hour ago is no newer start."""
    first = replace(on_host(Phase.STARTING), since=BEGIN - 90 * S)
    second = replace(on_host(Phase.STARTING), id=MachineId("m-a22222222"))
    assert spaced(second, first) == [False, True]
    assert spaced(replace(second, phase=Phase.STANDBY), first) == [False, True], "woken too"


def test_a_start_waits_for_the_gap_after_another_one_was_asked_for() -> None:
    before = on_host(
        Phase.READY, asked=(asked(SWITCH_ON, BEGIN, shows=Shows.POWER, call_state=CallState.OPEN),)
    )
    other = replace(on_host(Phase.STARTING), id=MachineId("m-second2222"))
    assert spaced(replace(before, phase=Phase.READY), other, now=BEGIN + 29 * S)[1] is False
    snapshot = replace(
        fleet_snapshot((before, other), now=BEGIN + 29 * S), capabilities=metal(power=GAP)
    )
    (_, held) = power.spaced(
        (replace(started(before), starts=False, goal=None), started(other)), snapshot
    )
    assert held.next.at == BEGIN + 30 * S
    assert "gap between two starts" in held.next.detail
    snapshot = replace(snapshot, now=BEGIN + 30 * S)
    over = power.spaced((replace(started(before), starts=False), started(other)), snapshot)
    assert over[1].starts


def test_a_start_that_was_answered_late_counts_from_its_answer() -> None:
    """Its process stood still between its record and the call: it was switched on just before."""
    late = replace(asked(SWITCH_ON, BEGIN, shows=Shows.POWER), closed=BEGIN + 26 * S)
    first = on_host(Phase.STARTING, asked=(late,))
    other = replace(on_host(Phase.STARTING), id=MachineId("m-second2222"))
    for passed, may in ((55 * S, False), (56 * S, True)):
        snapshot = fleet_snapshot([first, other], now=BEGIN + passed)
        snapshot = replace(snapshot, capabilities=metal(power=GAP))
        assert (power.startable((FREE,), [first], snapshot) == (FREE,)) is may
        spaced_out = power.spaced((replace(started(first), starts=False), started(other)), snapshot)
        assert spaced_out[1].starts is may


def test_a_start_that_is_under_way_is_one_of_just_now() -> None:
    call_open = asked(SWITCH_ON, BEGIN, shows=Shows.POWER, call_state=CallState.OPEN)
    first = on_host(Phase.STARTING, asked=(call_open,))
    other = replace(on_host(Phase.STARTING), id=MachineId("m-second2222"))
    now = BEGIN + 40 * S
    assert spaced(first, other, now=now, moving=(first.id,)) == [False, False]


@pytest.mark.parametrize(("seen", "is_over"), [(60 * S, False), (79 * S, False), (80 * S, True)])
def test_a_box_has_not_gone_off_before_another_command_to_go_on_could_show(
    seen: timedelta, is_over: bool
) -> None:
    """It may have heard nothing of the first: it is its turn again after twice the gap."""
    command = asked(SWITCH_ON, BEGIN, shows=Shows.POWER, call_state=CallState.DONE)
    machine = on_host(Phase.STARTING, since=BEGIN, asked=(replace(command, closed=BEGIN),))
    box_off = replace(box("pool", Condition.OFF), id=machine.places[0].bound or ResourceId(""))
    snapshot = fleet_snapshot([machine], [box_off], now=BEGIN + seen)
    delayed = replace(metal(power=GAP), consistency_delay=20 * S)
    assert switched_on(machine, replace(snapshot, capabilities=delayed)) is is_over


def test_a_machine_whose_call_is_in_flight_starts_now() -> None:
    first = on_host(Phase.STARTING)
    second = replace(on_host(Phase.STARTING), id=MachineId("m-second2222"))
    assert spaced(first, second, moving=(first.id,)) == [False, False]


@pytest.mark.parametrize("phase", [Phase.STARTING, Phase.STANDBY, Phase.READY])
def test_another_try_that_is_in_flight_counts_before_it_is_on_record(phase: Phase) -> None:
    """Power seed 76000324: two passes within one instant, after a packet that was lost."""
    before = replace(asked(SWITCH_ON, BEGIN, shows=Shows.POWER), closed=BEGIN)
    again = on_host(phase, since=BEGIN, asked=(before,))
    other, now = on_host(Phase.STARTING, id=MachineId("m-second2222")), BEGIN + 40 * S
    assert spaced(again, other, now=now, moving=(again.id,)) == [False, False]
    up = box("claimed", Condition.UP)
    assert spaced(again, other, now=now, moving=(again.id,), seen=(up,))[1]
    off = box("claimed", Condition.OFF)
    assert not spaced(again, other, now=now, moving=(again.id,), seen=(off,))[1]
    ending = replace(again, phase=Phase.STOPPING)
    assert spaced(ending, other, now=now, moving=(again.id,))[1]


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


def test_gap_counts_from_when_a_machine_that_lost_its_box_took_another() -> None:
    machine = on_host(Phase.STARTING, since=BEGIN - timedelta(hours=1))
    host = record(condition=HostCondition.ALLOCATED, since=BEGIN)
    for passed, startable in ((29 * S, ()), (30 * S, (FREE,))):
        snapshot = fleet_snapshot([machine], now=BEGIN + passed, hosts=[host])
        snapshot = replace(snapshot, capabilities=metal(power=GAP))
        assert power.startable((FREE,), [machine], snapshot) == startable


def test_machine_that_was_bound_before_a_crash_counts_as_one_that_begins() -> None:
    for phase in (Phase.PENDING, Phase.STARTING):
        bound = replace(on_host(phase), host=None, places=())
        for limits in (GAP, PowerLimits(parallel_starts=1)):
            snapshot = fleet_snapshot([bound], bindings={bound.id: BOX})
            snapshot = replace(snapshot, capabilities=metal(power=limits))
            assert power.startable((FREE,), [bound], snapshot) == ()


@pytest.mark.parametrize("limits", [GAP, PowerLimits(parallel_starts=1)])
def test_start_of_another_fleets_machine_counts_as_long_as_a_start_may_take(
    limits: PowerLimits,
) -> None:
    """Two fleets share a rack; the other one may be paused, with a machine that starts for ever."""
    other = on_host(Phase.STARTING)
    for passed, startable in ((S, ()), (timedelta(hours=1), (FREE,))):
        snapshot = fleet_snapshot([], now=BEGIN + passed)
        snapshot = replace(snapshot, capabilities=metal(power=limits), neighbours=(other,))
        assert power.startable((FREE,), [], snapshot) == startable


def test_another_try_of_another_fleets_machine_is_a_start_as_its_first_one_was() -> None:
    """Its box does not go on, and says nothing of it: only its machine knows when it was asked."""
    late, begun = BEGIN + timedelta(hours=1), on_host(Phase.STARTING)
    again = replace(asked(SWITCH_ON, late, shows=Shows.POWER), closed=late)
    other, own = (
        replace(begun, asked=(again,)),
        on_host(Phase.STARTING, id=MachineId("m-a22222222")),
    )
    for passed, may in ((29 * S, False), (30 * S, True)):
        snapshot = fleet_snapshot([own], now=late + passed)
        snapshot = replace(snapshot, capabilities=metal(power=GAP), neighbours=(other,))
        assert (power.startable((FREE,), [], snapshot) == (FREE,)) is may
        assert power.spaced((started(own),), snapshot)[0].starts is may


def test_another_fleets_machine_that_is_worked_on_may_be_asked_for_at_this_moment() -> None:
    """In one round fleets are decided one after the other, and nothing is on record between."""
    before = replace(asked(SWITCH_ON, BEGIN, shows=Shows.POWER), closed=BEGIN)
    other = on_host(Phase.STARTING, asked=(before,))
    own, now = on_host(Phase.STARTING, id=MachineId("m-a22222222")), BEGIN + timedelta(hours=1)
    for moving in (frozenset[MachineId](), frozenset({other.id})):
        snapshot = replace(
            fleet_snapshot([own], now=now),
            capabilities=metal(power=GAP),
            neighbours=(other,),
            moving=moving,
        )
        assert power.spaced((started(own),), snapshot)[0].starts is not moving


def test_fleets_know_the_machines_of_others_where_they_share_the_limits_of_power() -> None:
    second, mine = replace(FLEET, name=FleetName("other")), on_host(Phase.STARTING)
    theirs = on_host(Phase.STARTING, id=MachineId("m-a22222222"), fleet=second.name)
    account = account_snapshot([], [])
    account = replace(
        account,
        fleets=(FLEET, second),
        rows={name: FleetRow(name=name, created=BEGIN) for name in (FLEET.name, second.name)},
        living={FLEET.name: (mine,), second.name: (theirs,)},
        machines={mine.id: mine, theirs.id: theirs},
    )
    for capabilities, known in (
        (metal(power=GAP), (theirs,)),
        (Capabilities(), ()),
    ):
        found = view_of(replace(account, capabilities=capabilities), FLEET, None)
        assert found.neighbours == known


def test_box_that_was_told_to_go_off_is_taken_once_the_command_must_have_been_obeyed() -> None:
    off = call(HOST_OFF, CallState.DONE, shows=Shows.REST)
    host = record(condition=HostCondition.FREE, wiped=BEGIN, asked=(off,))
    delay = metal().consistency_delay
    for passed, taken in ((delay, False), (delay + S, True)):
        at = BEGIN + passed
        account = account_snapshot([box()], [host], observed=at, now=at, capabilities=metal())
        free = free_hosts(account, FLEET, _fits)
        assert bool(free) is taken, passed


def test_times_of_a_box_that_lie_in_the_future_are_brought_back() -> None:
    """The clock jumped back: what counts from them must not wait until it has caught up."""
    later = BEGIN + timedelta(hours=2)
    off = call(HOST_OFF, CallState.DONE, later, shows=Shows.REST)
    host = record(since=later, power=HostPower(on=False, since=later), asked=(off,))
    host = replace(host, power=replace(host.power, started=later))
    known = without_future(host, BEGIN)
    assert known.since == BEGIN
    assert known.power == HostPower(on=False, since=BEGIN, started=BEGIN)
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
