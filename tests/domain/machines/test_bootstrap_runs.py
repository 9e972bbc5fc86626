"""What becomes of machines whose hosts are logged in to: more tries, a reboot, or another host."""

from collections.abc import Set as AbstractSet
from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.decide import decide
from hostler.domain.hosts import allocation
from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.machines import bootstrap
from hostler.domain.model.commands import Advance
from hostler.domain.model.fleet import Probe, ProbeKind
from hostler.domain.model.host import Host, HostCondition, HostOrigin
from hostler.domain.model.machine import RETIRE, Machine, MachineSpec
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.snapshot import Probed, Snapshot
from hostler.domain.model.transition import Transition
from hostler.domain.policy.bootstrap import digest_of
from hostler.domain.policy.bootstrap_data import DataRun, DataState
from hostler.domain.policy.remediation import Diagnosis, Trouble
from hostler.domain.policy.revisions import Drift
from hostler.testing.fakes.planner import FakePlanner
from hostler.testing.scenes.builders import BEGIN, FLEET
from hostler.testing.scenes.hosts import (
    BOX,
    MINE,
    fleet_snapshot,
    hosts_snapshot,
    on_host,
    record,
    tenant,
)

NOTHING = frozenset[str]()
STRUCK = frozenset({allocation.FAULT})
ALONE = STRUCK | {allocation.ALONE}
STRANGER = ALONE | {allocation.STRANGER}
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
NEW = ("echo new",)
HEALTHY, HOPELESS, WIPE = Diagnosis.HEALTHY, Diagnosis.NOTHING, Diagnosis.REINSTALL


def snapshot(
    machine: Machine, host: Host, probed: Probed | None = None, after: timedelta = HOUR
) -> Snapshot:
    """Return what a turn sees of a fleet whose hosts are logged in to."""
    found = fleet_snapshot(
        (machine,), (tenant(),), now=BEGIN + after, hosts=(host,), bindings={MINE: BOX}
    )
    fleet = replace(FLEET, probe=Probe(kind=ProbeKind.SSH, commands=NEW))
    probes = {} if probed is None else {MINE: probed}
    return replace(found, fleet=fleet, probed=probes)


def tried(begun: timedelta = HOUR, text: str = "no login", **fields: object) -> Probed:
    at = BEGIN + begun
    return replace(Probed(begun=at, passed=False, text=text, ended=at), **fields)


def judged(
    trouble: Trouble, probed: Probed | None = None, *, strikes: int = 0, after: timedelta = HOUR
) -> Transition:
    """Return the step of a machine that starts, and would be probed now."""
    machine = on_host(Phase.STARTING).with_health(was_ready=None)
    transition = Transition(before=machine, machine=machine, resources=(), probe=True)
    now = snapshot(machine, record(trouble=trouble, strikes=strikes), probed, after)
    return bootstrap.starting(transition, now)


def facts(machine: Machine) -> set[str]:
    return {fact.name for fact in machine.facts} - {bootstrap.TOLD}


@pytest.mark.parametrize(
    ("trouble", "strikes", "expected"),
    [
        (Trouble(failures=2), 0, NOTHING),
        (Trouble(failures=3, diagnosis=HEALTHY), 0, {bootstrap.REBOOT}),
        (Trouble(failures=3, diagnosis=WIPE), 0, STRUCK),
        (Trouble(failures=7, rebooted=True), 0, NOTHING),
        (Trouble(failures=8, rebooted=True, diagnosis=HEALTHY), 0, STRUCK),
        (Trouble(failures=8, rebooted=True, diagnosis=HOPELESS), 0, ALONE),
        (Trouble(failures=8, rebooted=True), 1, ALONE),
        (Trouble(failures=2, stranger=True), 0, NOTHING),
        (Trouble(failures=3, stranger=True), 0, STRANGER),
    ],
)
def test_what_a_machine_is_written_down_for_on_each_rung(
    trouble: Trouble, strikes: int, expected: AbstractSet[str]
) -> None:
    transition = judged(trouble, strikes=strikes)
    assert facts(transition.machine) == expected
    assert (transition.machine.phase is Phase.FAILED) is (allocation.FAULT in expected)
    if expected:
        assert not transition.probe, "nothing is tried while it is rebooted, or when it is given up"


def test_a_reboot_is_decided_once() -> None:
    machine = on_host(Phase.STARTING).with_health(was_ready=None).with_fact(bootstrap.REBOOT, BEGIN)
    transition = Transition(before=machine, machine=machine, resources=(), probe=True)
    host = record(trouble=Trouble(failures=3, diagnosis=HEALTHY))
    after = bootstrap.starting(transition, snapshot(machine, host, tried(MINUTE)))
    assert after.machine.fact(bootstrap.REBOOT) == BEGIN
    assert after.probe


@pytest.mark.parametrize(
    ("failures", "ended", "after", "probes"),
    [
        (1, timedelta(0), timedelta(seconds=29), False),
        (1, timedelta(0), timedelta(seconds=30), True),
        (2, timedelta(0), timedelta(seconds=119), False),
        (2, timedelta(0), timedelta(seconds=120), True),
        (1, 10 * MINUTE, timedelta(seconds=29), False),
        (1, 10 * MINUTE, timedelta(seconds=30), True),
    ],
)
def test_pauses_lie_after_attempts_however_long_those_took(
    failures: int, ended: timedelta, after: timedelta, probes: bool
) -> None:
    probed = tried(ended=BEGIN + HOUR + ended)
    transition = judged(Trouble(failures=failures), probed, after=HOUR + ended + after)
    assert transition.probe is probes
    assert ("no login" in transition.next.detail) is not probes


@pytest.mark.parametrize(
    ("state", "phase"), [(DataState.DONE, Phase.READY), (DataState.FAILED, Phase.STOPPING)]
)
def test_a_login_makes_no_machine_ready_whose_own_script_failed(
    state: DataState, phase: Phase
) -> None:
    """A login may have been under way when that was recorded: it brings no script, and works."""
    spec = MachineSpec(bootstrap="secret/fleet/w-1")
    machine = replace(on_host(Phase.STARTING), spec=spec).with_health(was_ready=None)
    run = DataRun(machine=MINE, state=state, text="it failed with 3")
    now = snapshot(machine, record().with_bootstrap(run=run), tried(passed=True, text="logged in"))
    (judged,) = (
        c.machine for c in decide(now, FakePlanner(addresses=0)).commands if isinstance(c, Advance)
    )
    assert judged.phase is phase
    assert (judged.error == run.text) is (state is DataState.FAILED)


def test_an_engine_that_was_restarted_tries_at_once_and_says_what_failed() -> None:
    transition = judged(Trouble(failures=5, rebooted=True))
    assert transition.probe
    assert "in a row: 5" in transition.next.detail


def test_each_attempt_is_told_once_with_its_output() -> None:
    transition = judged(Trouble(failures=1), tried(output="$ false\n"))
    (notice,) = transition.events
    assert (notice.kind, notice.detail) == ("not_prepared", "no login\n$ false\n")
    again = replace(transition, before=transition.machine, events=())
    host = record(trouble=Trouble(failures=1))
    now = snapshot(transition.machine, host, tried(output="$ false\n"), HOUR + MINUTE)
    assert bootstrap.starting(again, now).events == ()
    later = replace(now, probed={MINE: tried(HOUR + MINUTE, "another")})
    assert [one.detail for one in bootstrap.starting(again, later).events] == ["another"]


def test_what_was_not_even_tried_is_not_told() -> None:
    """Else a host without an address yet fills the story, every two seconds."""
    assert judged(Trouble(), tried(ended=None)).events == ()


@pytest.mark.parametrize(("taken", "due"), [(0, 1.0), (0.5, 1.5), (0.99, 1.99), (7, 2.0)])
def test_a_start_that_got_its_host_late_has_its_whole_time_with_it(
    taken: float, due: float
) -> None:
    """Autoscaler seed 77000033: a box that nobody had tried was set aside for what went before.

    One that got another host again and again comes to an end all the same.
    """
    machine, start = on_host(Phase.STARTING), FLEET.timers.start
    host = record(condition=HostCondition.ALLOCATED, since=BEGIN + taken * start)
    assert bootstrap.start_due(machine, snapshot(machine, host)) == BEGIN + due * start
    free = replace(host, condition=HostCondition.FREE)
    assert bootstrap.start_due(machine, snapshot(machine, free)) == BEGIN + start


@pytest.mark.parametrize("failures", [0, 1])
def test_an_overdue_start_is_held_against_a_host_only_where_it_failed(failures: int) -> None:
    machine = on_host(Phase.STARTING).with_health(was_ready=None)
    transition = Transition(before=machine, machine=machine, resources=())
    after, reason = bootstrap.overdue(
        transition, snapshot(machine, record(trouble=Trouble(failures=failures)))
    )
    assert reason is Reason.START_OVERDUE
    assert facts(after.machine) == ({allocation.FAULT} if failures else set())


def test_an_overdue_start_at_a_stranger_does_not_wipe_it() -> None:
    machine = on_host(Phase.STARTING).with_health(was_ready=None)
    transition = Transition(before=machine, machine=machine, resources=())
    host = record(trouble=Trouble(failures=1, stranger=True))
    assert allocation.STRANGER in facts(
        bootstrap.overdue(transition, snapshot(machine, host))[0].machine
    )


def explained(drift: Drift, after: timedelta) -> tuple[str, str, bool, Phase]:
    """Return the blocker, what is next, and whether a probe is asked for."""
    machine = on_host(Phase.READY)
    host = record(condition=HostCondition.ALLOCATED, applied=digest_of(("old",)), drift=drift)
    decision = decide(snapshot(machine, host, after=after), FakePlanner(addresses=0))
    (verdict,) = decision.verdicts
    probes = any(isinstance(c, Advance) and c.probe for c in decision.commands)
    return verdict.blocker, verdict.next.detail, probes, machine.phase


def test_a_machine_in_use_that_is_stuck_says_so_and_when_it_is_tried_again() -> None:
    drift = Drift(digest=digest_of(NEW), failures=5, last=BEGIN)
    blocker, detail, probes, phase = explained(drift, 29 * MINUTE)
    assert "its configuration is not the fleet's" in blocker
    assert "5 times" in blocker
    assert "5 times" in detail
    assert (probes, phase) == (False, Phase.READY)
    assert explained(drift, 30 * MINUTE)[2]


def test_a_machine_in_use_that_failed_once_waits_without_an_alarm() -> None:
    drift = Drift(digest=digest_of(NEW), failures=1, last=BEGIN)
    blocker, detail, probes, _ = explained(drift, timedelta(seconds=29))
    assert (blocker, probes) == ("", False)
    assert "failed once" in detail
    assert explained(drift, timedelta(seconds=30))[2]


def test_another_list_is_tried_at_once_whatever_failed_before() -> None:
    drift = Drift(digest=digest_of(("older",)), failures=9, last=BEGIN)
    assert explained(drift, MINUTE)[2]


def deleted(*names: str, was_ready: bool = False) -> Machine:
    machine = replace(on_host(Phase.DELETED), reason=Reason.NOT_PREPARED)
    machine = machine if was_ready else machine.with_health(was_ready=None)
    for name in names:
        machine = machine.with_fact(name, BEGIN)
    return machine


@pytest.mark.parametrize(
    ("names", "strikes", "days"),
    [
        ((allocation.FAULT,), 0, 0),
        ((allocation.FAULT,), 1, 1),
        ((allocation.FAULT,), 2, 2),
        ((allocation.FAULT, allocation.ALONE), 0, 1),
        ((), 1, 0),
    ],
)
def test_how_long_a_host_stays_in_quarantine(
    names: tuple[str, ...], strikes: int, days: int
) -> None:
    machine = deleted(*names)
    host = record(condition=HostCondition.ALLOCATED, strikes=strikes, trouble=Trouble(failures=8))
    (transition,) = decide_hosts(hosts_snapshot(host, None, bindings={BOX: MINE}, past=(machine,)))
    until = transition.host.health.quarantined_until
    assert (until - BEGIN if until else timedelta(0)) == timedelta(days=days)
    assert transition.host.health.strikes == strikes + bool(names)
    assert transition.host.health.trouble.failures == 0


def test_a_stranger_is_put_away_unwiped() -> None:
    machine = deleted(allocation.FAULT, allocation.ALONE, allocation.STRANGER)
    host = record(condition=HostCondition.ALLOCATED)
    (transition,) = decide_hosts(hosts_snapshot(host, None, bindings={BOX: MINE}, past=(machine,)))
    assert transition.host.condition is HostCondition.QUARANTINED
    assert (transition.host.cleaning.wiping, transition.host.cleaning.wiped, transition.unbind) == (
        None,
        None,
        MINE,
    )


@pytest.mark.parametrize("origin", [HostOrigin.POOL, HostOrigin.ORDERED])
def test_a_machine_at_a_stranger_ends_without_a_release(origin: HostOrigin) -> None:
    """One that would be given up anyway is given up: that needs no wipe either."""
    machine = on_host(Phase.STOPPING).with_health(was_ready=None)
    machine = machine.with_fact(allocation.STRANGER, BEGIN)
    transition = Transition(before=machine, machine=machine, resources=(tenant(),))
    after = allocation.stopping(transition, snapshot(machine, record(origin=origin))).machine
    if origin is HostOrigin.ORDERED:
        assert (after.phase, after.fact(RETIRE) is not None) == (Phase.STOPPING, True)
    else:
        assert (after.phase, after.reason) == (Phase.DELETED, Reason.NOT_PREPARED)
