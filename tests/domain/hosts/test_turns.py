"""Turns: whose box may be told to go on, where a gap lies between two starts."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.decision.view import view_of
from hostler.domain.hosts import turns
from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.ids import FleetName, HostId, MachineId, ResourceId, Zone
from hostler.domain.machines.failure import switched_on
from hostler.domain.model.calls import Shows
from hostler.domain.model.capabilities import PowerLimits
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Free, Host, HostCondition, HostPower
from hostler.domain.model.machine import Asked, CallState, Machine
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
DARK = box("pool", Condition.OFF)
FREE = Free(resource=box("pool", Condition.OFF, HostId("host-2")), offer=OFFER)


def test_gap_counts_from_a_start_that_is_over_too() -> None:
    start = asked(SWITCH_ON, BEGIN, shows=Shows.POWER, call_state=CallState.DONE)
    machine = on_host(Phase.READY, asked=(start,))
    for passed, startable in ((29 * S, ()), (30 * S, (FREE,))):
        snapshot = replace(
            fleet_snapshot([machine], now=BEGIN + passed), capabilities=metal(power=GAP)
        )
        assert turns.startable((FREE,), [machine], snapshot) == startable


def test_gap_counts_from_a_start_whose_machine_is_deleted_too() -> None:
    on = HostPower(on=True, since=BEGIN)
    host = record(condition=HostCondition.FREE, power=on)
    for passed, startable in ((29 * S, ()), (30 * S, (FREE,))):
        snapshot = fleet_snapshot([], now=BEGIN + passed, hosts=[host])
        snapshot = replace(snapshot, capabilities=metal(power=GAP))
        assert turns.startable((FREE,), [], snapshot) == startable


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
        assert turns.startable((FREE,), [], snapshot) == startable
        next_one = on_host(Phase.STARTING, host=HostId("host-2"), id=MachineId("m-a22222222"))
        held = started(next_one)
        assert turns.spaced((held,), snapshot)[0].starts is bool(startable)


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
    return [one.starts and one.goal is not None for one in turns.spaced(transitions, snapshot)]


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
    (_, held) = turns.spaced(
        (replace(started(before), starts=False, goal=None), started(other)), snapshot
    )
    assert held.next.at == BEGIN + 30 * S
    assert "gap between two starts" in held.next.detail
    snapshot = replace(snapshot, now=BEGIN + 30 * S)
    over = turns.spaced((replace(started(before), starts=False), started(other)), snapshot)
    assert over[1].starts


def test_a_start_that_was_answered_late_counts_from_its_answer() -> None:
    """Its process stood still between its record and the call: it was switched on just before."""
    late = replace(asked(SWITCH_ON, BEGIN, shows=Shows.POWER), closed=BEGIN + 26 * S)
    first = on_host(Phase.STARTING, asked=(late,))
    other = replace(on_host(Phase.STARTING), id=MachineId("m-second2222"))
    for passed, may in ((55 * S, False), (56 * S, True)):
        snapshot = fleet_snapshot([first, other], now=BEGIN + passed)
        snapshot = replace(snapshot, capabilities=metal(power=GAP))
        assert (turns.startable((FREE,), [first], snapshot) == (FREE,)) is may
        spaced_out = turns.spaced((replace(started(first), starts=False), started(other)), snapshot)
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
    host = box("pool", Condition.OFF)
    main = replace(host, id=machine.places[0].bound or ResourceId(""))
    snapshot = fleet_snapshot([machine], [host, main], now=BEGIN + seen)
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


def test_gap_counts_from_when_a_machine_that_lost_its_box_took_another() -> None:
    machine = on_host(Phase.STARTING, since=BEGIN - timedelta(hours=1))
    host = record(condition=HostCondition.ALLOCATED, since=BEGIN)
    for passed, startable in ((29 * S, ()), (30 * S, (FREE,))):
        snapshot = fleet_snapshot([machine], now=BEGIN + passed, hosts=[host])
        snapshot = replace(snapshot, capabilities=metal(power=GAP))
        assert turns.startable((FREE,), [machine], snapshot) == startable


def test_machine_that_was_bound_before_a_crash_counts_as_one_that_begins() -> None:
    for phase in (Phase.PENDING, Phase.STARTING):
        bound = replace(on_host(phase), host=None, places=())
        for limits in (GAP, PowerLimits(parallel_starts=1)):
            snapshot = fleet_snapshot([bound], bindings={bound.id: BOX})
            snapshot = replace(snapshot, capabilities=metal(power=limits))
            assert turns.startable((FREE,), [bound], snapshot) == ()


@pytest.mark.parametrize("limits", [GAP, PowerLimits(parallel_starts=1)])
def test_start_of_another_fleets_machine_counts_as_long_as_a_start_may_take(
    limits: PowerLimits,
) -> None:
    """Two fleets share a rack; the other one may be paused, with a machine that starts for ever."""
    other = on_host(Phase.STARTING)
    for passed, startable in ((S, ()), (timedelta(hours=1), (FREE,))):
        snapshot = fleet_snapshot([], now=BEGIN + passed)
        snapshot = replace(snapshot, capabilities=metal(power=limits), neighbours=(other,))
        assert turns.startable((FREE,), [], snapshot) == startable


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
        assert (turns.startable((FREE,), [], snapshot) == (FREE,)) is may
        assert turns.spaced((started(own),), snapshot)[0].starts is may


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
        assert turns.spaced((started(own),), snapshot)[0].starts is not moving


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


def dark(number: int, commanded: float | None, *, since: float = 0.0) -> Machine:
    """Return a machine whose box is off; it was told to go on so many seconds after the beginning.

    Without that it waits to be told for the first time.
    """
    host, id_ = HostId(f"host-{number}"), MachineId(f"m-{number}2222222")
    at = BEGIN + timedelta(seconds=commanded or 0.0)
    command = replace(asked(SWITCH_ON, at, shows=Shows.POWER, call_state=CallState.DONE), closed=at)
    begun = BEGIN + timedelta(seconds=since)
    return on_host(
        Phase.STARTING,
        id_,
        host=host,
        since=begun,
        asked=(command,) if commanded is not None else (),
    )


def turn_of(
    machine: Machine,
    *others: Machine,
    now: float,
    listed: Condition = Condition.OFF,
    limits: PowerLimits = GAP,
) -> datetime | None:
    """Return until when a machine waits that is to be told now; None where it is its turn.

    The others' boxes are `shown` like this.
    """
    machines = (machine, *others)
    boxes = [(one.host, Condition.OFF if one is machine else listed) for one in machines]
    seen = [box("pool", condition, host) for host, condition in boxes if host is not None]
    snapshot = fleet_snapshot(machines, seen, now=BEGIN + timedelta(seconds=now))
    fleet = replace(FLEET, timers=replace(FLEET.timers, start=timedelta(minutes=15)))
    snapshot = replace(snapshot, capabilities=metal(power=limits), fleet=fleet)
    transitions = (started(machine), *(replace(started(one), starts=False) for one in others))
    first, *_ = turns.spaced(transitions, snapshot)
    return None if first.starts else first.next.at


@pytest.mark.parametrize(
    ("others", "waits"),
    [
        ([], 60),
        ([dark(2, 10)], 120),
        ([dark(2, 10), dark(3, 20)], 180),
        ([dark(2, None)], 60),
        ([replace(dark(2, 10), phase=Phase.READY)], 60),
    ],
)
def test_one_that_stays_dark_is_told_again_after_two_gaps_for_each_that_does(
    others: list[Machine], waits: float
) -> None:
    again = BEGIN + timedelta(seconds=waits)
    for passed in (45, waits - 1):
        assert turn_of(dark(1, 0), *others, now=passed) == again
    assert turn_of(dark(1, 0), *others, now=waits) is None


@pytest.mark.parametrize(
    ("commanded", "started_at", "now", "waits"),
    [
        (0, 50, 60, 110),  # who stays dark is due, and goes first
        (0, 50, 80, 110),
        (0, 50, 110, None),  # it was kept from going: it is passed over
        (30, 50, 80, None),  # nobody is due
    ],
)
def test_who_was_not_told_yet_waits_for_one_that_is_due_and_not_for_ever(
    commanded: float, started_at: float, now: float, waits: float | None
) -> None:
    up = replace(dark(3, started_at), phase=Phase.READY)
    until = None if waits is None else BEGIN + timedelta(seconds=waits)
    assert turn_of(dark(1, None), dark(2, commanded), up, now=now) == until


def test_of_two_that_stay_dark_the_one_that_was_told_longest_ago_goes_first() -> None:
    """However old their machines are: the oldest took every turn."""
    old, young = dark(1, 30, since=-300), dark(2, 0)
    assert turn_of(young, old, now=120) is None
    assert turn_of(old, young, now=120) == BEGIN + 150 * S
    assert turn_of(replace(old, asked=()), young, now=120) is None, "passed over, after two gaps"
    up = replace(dark(3, 110), phase=Phase.READY)
    assert turn_of(young, old, up, now=150) is None, "both are due"
    assert turn_of(old, young, up, now=150) == BEGIN + 170 * S


@pytest.mark.parametrize(("others", "waits"), [(12, 390), (13, 420), (14, 450), (30, 450)])
def test_one_that_stays_dark_is_told_twice_in_the_time_of_a_start_however_many_do(
    others: int, waits: float
) -> None:
    """Its second command came after its bound: that was a strike of a healthy box."""
    rest = [dark(number, 1) for number in range(2, others + 2)]
    limits = PowerLimits(start_gap=15 * S, start=timedelta(hours=1))
    assert turn_of(dark(1, 0), *rest, now=waits - 1, limits=limits) == BEGIN + waits * S
    assert turn_of(dark(1, 0), *rest, now=waits, limits=limits) is None


def test_one_that_starts_for_longer_than_a_start_may_take_is_waited_for_by_nobody() -> None:
    """A person protects its machine, so that nothing ends it."""
    stuck, mine = dark(2, 0, since=-7200), dark(1, 0)
    assert turn_of(mine, stuck, now=60) is None
    up = replace(dark(3, 50), phase=Phase.READY)
    assert turn_of(dark(1, None), stuck, up, now=80) is None
    assert turn_of(stuck, now=59) == BEGIN + 60 * S, "it waits as others do"
    host = idle(1, 0, 0)
    boxes = [box("pool", Condition.OFF, HostId(f"host-{number}")) for number in (1, 2)]
    account = account_snapshot(
        boxes,
        [host],
        now=BEGIN + 60 * S,
        machines={stuck.id: stuck},
        capabilities=metal(power=GAP),
    )
    assert turns.is_turn(host, account)


@pytest.mark.parametrize("commanded", [(0, 30), (30, 0)])
def test_of_those_who_may_all_be_told_the_one_that_was_told_longest_ago_is(
    commanded: tuple[float, float],
) -> None:
    machines = [dark(1, commanded[0]), dark(2, commanded[1])]
    seen = [box("pool", Condition.OFF, one.host) for one in machines if one.host is not None]
    snapshot = fleet_snapshot(machines, seen, now=BEGIN + 300 * S)
    snapshot = replace(snapshot, capabilities=metal(power=GAP))
    found = turns.spaced(tuple(started(one) for one in machines), snapshot)
    assert [one.starts for one in found] == [at == 0 for at in commanded]


@pytest.mark.parametrize("listed", [Condition.STARTING, Condition.UP, Condition.UNKNOWN])
def test_one_that_does_not_stay_dark_is_told_no_more_and_keeps_nobody_waiting(
    listed: Condition,
) -> None:
    other, up = dark(2, 0), replace(dark(3, 50), phase=Phase.READY)
    assert turn_of(dark(1, None), other, up, now=80, listed=listed) is None
    assert turn_of(dark(1, 20), other, now=80, listed=listed) is None


def test_one_of_another_fleet_keeps_nobody_waiting_for_longer_than_a_start_may_take() -> None:
    """Its fleet may be paused, so that nobody tells it again."""
    theirs, mine = dark(2, 0), dark(1, None, since=3600)
    up = replace(dark(3, 3600), phase=Phase.READY)
    seen = [box("pool", Condition.OFF, HostId(f"host-{number}")) for number in (1, 2)]
    for since, may in ((BEGIN, True), (BEGIN + timedelta(minutes=59), False)):
        command = replace(theirs.asked[0], at=since, closed=since)
        beside = (replace(theirs, since=since, asked=(command,)), up)
        snapshot = fleet_snapshot([mine], seen, now=BEGIN + timedelta(seconds=3630))
        snapshot = replace(snapshot, capabilities=metal(power=GAP), neighbours=beside)
        assert turns.spaced((started(mine),), snapshot)[0].starts is may


def idle(number: int, begun: float | None, commanded: float | None) -> Host:
    """Return a host of nobody that is off, and was told to go on so many seconds after BEGIN."""
    at = BEGIN + timedelta(seconds=commanded or 0.0)
    command = call("host.on", CallState.DONE, at, shows=Shows.POWER)
    power = HostPower(
        on=False,
        since=BEGIN - timedelta(days=1),
        begun=None if begun is None else BEGIN + timedelta(seconds=begun),
    )
    known = record(
        condition=HostCondition.FREE, power=power, asked=(command,) if commanded is not None else ()
    )
    return replace(known, id=HostId(f"host-{number}"))


@pytest.mark.parametrize(
    ("condition", "may"), [(HostCondition.FREE, False), (HostCondition.ABSENT, True)]
)
def test_a_box_that_was_taken_away_as_it_came_up_keeps_nobody_waiting(
    condition: HostCondition, *, may: bool
) -> None:
    """Seed 234028332 of metal: one start at a time, and no other box was ever started again."""
    coming = replace(idle(3, 0, None), condition=condition)
    snapshot = fleet_snapshot([], now=BEGIN + timedelta(hours=1), hosts=[coming])
    snapshot = replace(snapshot, capabilities=metal(power=PowerLimits(parallel_starts=1)))
    assert turns.startable((FREE,), [], snapshot) == ((FREE,) if may else ())


@pytest.mark.parametrize(
    ("other", "listed", "may"),
    [
        (idle(2, 0, 0), Condition.OFF, False),  # it is due, and goes first
        (idle(2, 0, 30), Condition.OFF, True),
        (idle(2, None, 0), Condition.OFF, True),  # it is not to go on any more
        (idle(2, 10, 0), Condition.OFF, True),  # that was of an earlier start
        (idle(2, 0, 0), Condition.STARTING, True),
    ],
)
def test_hosts_of_nobody_take_their_turn_with_those_of_machines(
    other: Host, listed: Condition, *, may: bool
) -> None:
    mine, up = idle(1, 80, None), replace(dark(3, 50), phase=Phase.READY)
    boxes = ((mine.id, Condition.OFF), (other.id, listed))
    snapshot = account_snapshot(
        [box("pool", condition, host) for host, condition in boxes],
        [mine, other],
        now=BEGIN + 80 * S,
        machines={up.id: up},
        capabilities=metal(power=GAP),
    )
    assert turns.is_turn(mine, snapshot) is may
    machine = dark(1, None, since=80)
    fleets = fleet_snapshot([machine, up], now=BEGIN + 80 * S, hosts=[other])
    inventory = snapshot.inventory
    fleets = replace(fleets, capabilities=metal(power=GAP), inventory=inventory)
    transitions = (started(machine), replace(started(up), starts=False))
    assert turns.spaced(transitions, fleets)[0].starts is may


def test_what_was_asked_of_a_box_before_a_machine_took_it_is_a_start_of_it() -> None:
    """It was to stay on, was told so, and was taken: the next one was started right after it."""
    at = BEGIN + 10 * S
    command = call("host.on", CallState.DONE, at, shows=Shows.POWER)
    taken = record(condition=HostCondition.ALLOCATED, asked=(command,))
    other = replace(dark(2, None), host=HostId("host-2"))
    for passed, may in ((39, False), (40, True)):
        now = BEGIN + timedelta(seconds=passed)
        snapshot = fleet_snapshot([on_host(), other], now=now, hosts=[taken])
        snapshot = replace(snapshot, capabilities=metal(power=GAP))
        transitions = (replace(started(on_host()), starts=False), started(other))
        assert turns.spaced(transitions, snapshot)[1].starts is may


def test_no_other_box_is_taken_before_one_that_is_due_was_told() -> None:
    late, up = dark(1, 0), replace(dark(3, 50), phase=Phase.READY)
    seen = [box("pool", Condition.OFF, HostId("host-1"))]
    for now, free in ((80, ()), (109, ()), (110, (FREE,))):
        snapshot = fleet_snapshot([late, up], seen, now=BEGIN + timedelta(seconds=now))
        snapshot = replace(snapshot, capabilities=metal(power=GAP))
        assert turns.startable((FREE,), [late, up], snapshot) == free


@pytest.mark.parametrize(
    ("command", "waits"),
    [
        (asked(SWITCH_ON, BEGIN, shows=Shows.POWER, call_state=CallState.REFUSED), 0 * S),
        (asked(SWITCH_ON, BEGIN - S, shows=Shows.POWER, call_state=CallState.DONE), 0 * S),
        (asked(HOST_OFF, BEGIN, shows=Shows.REST, call_state=CallState.DONE), 0 * S),
        (asked(SWITCH_ON, BEGIN, shows=Shows.POWER, call_state=CallState.OPEN), 60 * S),
        (asked(SWITCH_ON, BEGIN, shows=Shows.POWER, call_state=CallState.LAPSED), 60 * S),
        (asked(SWITCH_ON, BEGIN, shows=Shows.POWER, call_state=CallState.DONE), 60 * S),
        (
            replace(
                asked(SWITCH_ON, BEGIN, shows=Shows.POWER, call_state=CallState.DONE),
                closed=BEGIN + 5 * S,
            ),
            65 * S,
        ),
    ],
)
def test_only_one_that_may_have_heard_this_starts_command_waits_for_a_second_gap(
    command: Asked, waits: timedelta
) -> None:
    """What was refused told it nothing, nor did what was asked before, or of anything else."""
    machine = on_host(Phase.STARTING, since=BEGIN, asked=(command,))
    assert spaced(machine, now=BEGIN + waits, seen=(DARK,)) == [True]
    if waits:
        assert spaced(machine, now=BEGIN + waits - S, seen=(DARK,)) == [False]


def test_one_that_was_told_in_an_earlier_start_waits_for_one_gap_after_anothers() -> None:
    before = asked(SWITCH_ON, BEGIN - 300 * S, shows=Shows.POWER, call_state=CallState.DONE)
    again = on_host(Phase.STARTING, since=BEGIN, asked=(before,))
    on = asked(SWITCH_ON, BEGIN, shows=Shows.POWER, call_state=CallState.DONE)
    other = replace(on_host(Phase.READY, asked=(on,)), id=MachineId("m-second2222"))
    assert spaced(again, other, now=BEGIN + 29 * S, seen=(DARK,))[0] is False
    assert spaced(again, other, now=BEGIN + 30 * S, seen=(DARK,))[0] is True


def test_a_start_in_another_zone_holds_nobody_back() -> None:
    on = asked(SWITCH_ON, BEGIN, shows=Shows.POWER, call_state=CallState.DONE)
    there = replace(on_host(Phase.READY, asked=(on,)), id=MachineId("m-second2222"))
    there = replace(there, offer=replace(OFFER, zone=Zone("z-2")))
    assert spaced(on_host(Phase.STARTING), there, now=BEGIN + S)[0] is True


def test_gap_counts_by_what_a_cycle_made_of_a_record() -> None:
    """The clock jumped back: by its record a box starts in an hour, and nobody would until then."""
    on = asked(SWITCH_ON, BEGIN + 3600 * S, shows=Shows.POWER, call_state=CallState.DONE)
    late = on_host(Phase.READY, asked=(on,))
    now = replace(late, asked=(replace(on, at=BEGIN),))
    other = replace(on_host(Phase.STARTING), id=MachineId("m-second2222"))
    snapshot = fleet_snapshot([late, other], now=BEGIN + 30 * S)
    snapshot = replace(snapshot, capabilities=metal(power=GAP))
    beside = replace(started(now), starts=False)
    assert turns.spaced((beside, started(other)), snapshot)[1].starts


@pytest.mark.parametrize(
    ("command", "gap", "other", "seen"),
    [
        (BEGIN, 30 * S, BEGIN + 40 * S, 70 * S),
        (BEGIN, 0 * S, BEGIN + 40 * S, 0 * S),
        (BEGIN - S, 30 * S, BEGIN, 0 * S),
    ],
)
def test_another_command_to_go_on_comes_after_the_turns_of_others(
    command: datetime, gap: timedelta, other: datetime, seen: timedelta
) -> None:
    """Without a gap there are no turns; nor is any waited for that begins another start."""
    on = asked(SWITCH_ON, command, shows=Shows.POWER, call_state=CallState.DONE)
    machine = on_host(Phase.STARTING, since=BEGIN, asked=(on,))
    its = asked(SWITCH_ON, other, shows=Shows.POWER, call_state=CallState.DONE)
    beside = replace(on_host(Phase.READY, asked=(its,)), id=MachineId("m-second2222"))
    host = box("pool", Condition.OFF)
    main = replace(host, id=machine.places[0].bound or ResourceId(""))
    for at, is_over in ((seen - S, False), (seen, True)):
        if at < 0 * S:
            continue
        snapshot = fleet_snapshot([machine, beside], [host, main], now=BEGIN + at)
        limits = metal(power=PowerLimits(start_gap=gap))
        delayed = replace(limits, consistency_delay=0 * S)
        assert switched_on(machine, replace(snapshot, capabilities=delayed)) is is_over


@pytest.mark.parametrize("phase", [Phase.READY, Phase.DRAINING])
def test_a_box_that_was_up_has_gone_off_once_its_command_could_show(phase: Phase) -> None:
    """It heard that one: no other command to go on is waited for, and its loss is told at once."""
    command = asked(SWITCH_ON, BEGIN, shows=Shows.POWER, call_state=CallState.DONE)
    machine = on_host(phase, since=BEGIN, asked=(command,))
    host = box("pool", Condition.OFF)
    main = replace(host, id=machine.places[0].bound or ResourceId(""))
    delayed = replace(metal(power=GAP), consistency_delay=20 * S)
    for seen, is_over in ((19 * S, False), (20 * S, True)):
        snapshot = fleet_snapshot([machine], [host, main], now=BEGIN + seen)
        snapshot = replace(snapshot, capabilities=delayed)
        assert switched_on(machine, snapshot) is is_over
        assert switched_on(machine, replace(snapshot, now=BEGIN + 3600 * S)) is is_over
