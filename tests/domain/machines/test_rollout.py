"""Whether a list of commands is at fault, or the hosts on which it fails."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.decide import decide
from hostler.domain.hosts.allocation import FAULT, LISTED
from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.ids import FleetName, HostId, machine_id
from hostler.domain.machines import rollout
from hostler.domain.model.commands import Advance, OrderHosts, SaveFleet, SaveHost
from hostler.domain.model.fleet import FleetRow, Probe, ProbeKind
from hostler.domain.model.host import Free, Host, HostCondition
from hostler.domain.model.machine import Machine, Protection
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.policy.bootstrap import digest_of
from hostler.domain.policy.purchasing import Limits
from hostler.domain.policy.remediation import Diagnosis, Trouble
from hostler.domain.policy.revisions import Drift, Lapse, Revision, Tried
from hostler.testing.fakes.planner import FakePlanner
from hostler.testing.scenes.builders import BEGIN, FLEET, OFFER, WEB
from hostler.testing.scenes.hosts import (
    BOX,
    MINE,
    box,
    fleet_snapshot,
    hosts_snapshot,
    on_host,
    record,
)

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
COMMANDS = ("echo one", "false")
DIGEST = digest_of(COMMANDS)
KNOWN = Revision(digest=DIGEST, since=BEGIN)
PROBE = Probe(kind=ProbeKind.SSH, commands=COMMANDS)
FAILED = Tried(digest=DIGEST, fleet=WEB, at=BEGIN + HOUR, number=2, of=2, ended="exit 1")
WORKED = replace(FAILED, number=0, ended="")


def host(number: int, tried: Tried = FAILED, **fields: object) -> Host:
    """Return the record of a host of this fleet."""
    return record(id=HostId(f"host-{number}"), fleet=WEB, tried=tried, **fields)


def lapse(number: int, at: timedelta = HOUR) -> Lapse:
    return Lapse(host=HostId(f"host-{number}"), at=BEGIN + at, number=2, of=2, ended="exit 1")


def snapshot(
    *hosts: Host, known: Revision = KNOWN, size: int = 1, probe: Probe = PROBE
) -> Snapshot:
    """Return what a turn sees of a fleet with these hosts, two hours after its list was set."""
    found = fleet_snapshot((), (), now=BEGIN + 2 * HOUR, hosts=hosts)
    row = FleetRow(name=WEB, created=BEGIN, revision=known)
    return replace(found, fleet=replace(FLEET, size=size, probe=probe), row=row)


def reviewed(*hosts: Host, known: Revision = KNOWN, size: int = 1) -> Revision:
    now = snapshot(*hosts, known=known, size=size)
    return rollout.reviewed(now.row, now)


def test_a_list_that_fails_on_two_hosts_and_worked_on_none_is_at_fault() -> None:
    assert reviewed(host(1)).broken is None
    assert reviewed(host(1), host(2)).broken == BEGIN + 2 * HOUR


@pytest.mark.parametrize("many", [1, 3])
def test_on_how_many_hosts_it_must_fail_is_a_setting(many: int) -> None:
    now = snapshot(*map(host, range(many)), probe=replace(PROBE, broken_on=many))
    assert rollout.reviewed(now.row, now).broken is not None
    fewer = snapshot(*map(host, range(many - 1)), probe=replace(PROBE, broken_on=many))
    assert rollout.reviewed(fewer.row, fewer).broken is None


@pytest.mark.parametrize(
    "good",
    [host(3, WORKED), host(3, Tried(), applied=DIGEST)],
    ids=["it worked in a try", "a host carries it"],
)
def test_a_list_that_worked_somewhere_is_judged_host_by_host(good: Host) -> None:
    found = reviewed(host(1), host(2), good, size=5)
    assert (found.broken, len(found.failed)) == (None, 2)


@pytest.mark.parametrize(
    "other",
    [
        host(2, replace(FAILED, digest=digest_of(("true",)))),
        host(2, replace(FAILED, at=BEGIN)),
        host(2, replace(FAILED, fleet=FleetName("other"))),
        replace(host(2), fleet=FleetName("other")),
        host(2, Tried()),
    ],
    ids=["another list", "before it was set", "another fleet's try", "passed on", "never tried"],
)
def test_what_says_nothing_of_this_list_does_not_count(other: Host) -> None:
    found = reviewed(host(1), other)
    assert (found.broken, len(found.failed)) == (None, 1)


def test_a_host_counts_once_however_often_it_fails() -> None:
    known = reviewed(host(1))
    later = host(1, replace(FAILED, at=BEGIN + 2 * HOUR))
    found = reviewed(later, known=known)
    assert (len(found.failed), found.broken) == (1, None)
    assert found.failed[0].at == BEGIN + 2 * HOUR


def test_a_host_whose_disk_was_wiped_or_that_went_still_counts() -> None:
    known = reviewed(host(1))
    assert reviewed(host(2), known=known).broken is not None


@pytest.mark.parametrize(
    ("size", "failed", "broken"), [(5, 2, 0), (5, 3, 1), (20, 4, 0), (20, 5, 1)]
)
def test_a_wave_of_failures_is_the_lists_fault_although_it_had_worked(
    size: int, failed: int, broken: int
) -> None:
    known = replace(KNOWN, worked=BEGIN + MINUTE)
    late = replace(FAILED, at=BEGIN + 2 * HOUR)
    found = reviewed(*(host(n, late) for n in range(failed)), known=known, size=size)
    assert (found.broken is not None) is bool(broken)


def test_failures_far_apart_are_no_wave() -> None:
    old = tuple(lapse(number, 59 * MINUTE) for number in range(3))
    known = replace(KNOWN, worked=BEGIN + MINUTE, failed=old)
    late = host(9, replace(FAILED, at=BEGIN + 2 * HOUR))
    found = reviewed(late, known=known)
    assert (found.broken, len(found.failed)) == (None, 1)


def test_a_success_after_it_was_blamed_clears_the_list_and_begins_anew() -> None:
    known = replace(KNOWN, broken=BEGIN + MINUTE, failed=(lapse(1), lapse(2)))
    found = reviewed(host(1), host(2, WORKED), known=known)
    assert (found.broken, found.cleared, found.failed) == (None, BEGIN + 2 * HOUR, ())
    assert found.worked == WORKED.at
    assert reviewed(host(1), host(2, WORKED), known=found) == found


def test_a_success_before_it_was_blamed_clears_nothing() -> None:
    known = replace(KNOWN, broken=BEGIN + 90 * MINUTE, failed=(lapse(1), lapse(2)))
    assert reviewed(host(2, WORKED), known=known).broken is not None


def test_another_list_begins_with_nothing_known() -> None:
    known = replace(KNOWN, digest="older", broken=BEGIN, failed=(lapse(1),))
    assert reviewed(known=known) == Revision(digest=DIGEST, since=BEGIN + 2 * HOUR)


@pytest.mark.parametrize("probe", [replace(PROBE, commands=()), Probe()])
def test_without_a_list_nothing_is_at_fault(probe: Probe) -> None:
    now = snapshot(known=replace(KNOWN, broken=BEGIN), probe=probe)
    assert rollout.reviewed(now.row, now) == Revision()


def test_what_is_said_names_commands_by_number_with_their_ends_and_hosts() -> None:
    other = replace(lapse(9), number=1, ended="no end in time")
    failed = (lapse(4), lapse(2), lapse(3), lapse(1), other)
    condition = rollout.condition(replace(KNOWN, broken=BEGIN, failed=failed))
    assert condition.startswith("bootstrap_failed: ")
    assert "command 1 of 2 failed (no end in time) on host-9; " in condition
    assert "command 2 of 2 failed (exit 1) on host-1, host-2, host-3 and 1 more; " in condition
    assert "it worked on none" in condition
    assert rollout.condition(KNOWN) == ""


def test_failures_of_another_list_or_from_before_it_healed_count_no_more() -> None:
    trouble = Trouble(failures=7, listed=True, strikes=1)
    assert rollout.trouble_of(host(1, trouble=trouble), KNOWN) == trouble
    older = host(1, replace(FAILED, digest="older"), trouble=trouble)
    assert rollout.trouble_of(older, KNOWN) == Trouble(strikes=1)
    healed = replace(KNOWN, cleared=FAILED.at)
    assert rollout.trouble_of(host(1, trouble=trouble), healed).failures == 0
    login = host(1, replace(FAILED, digest="older"), trouble=replace(trouble, listed=False))
    assert rollout.trouble_of(login, KNOWN).failures == 7


@pytest.mark.parametrize(
    ("diagnosis", "orphan"),
    [
        (None, True),
        (Diagnosis.HEALTHY, True),
        (Diagnosis.NO_ANSWER, True),
        (Diagnosis.NOTHING, False),
        (Diagnosis.REINSTALL, False),
    ],
)
def test_a_host_that_is_called_unhealthy_is_no_proof_against_a_list(
    diagnosis: Diagnosis | None, *, orphan: bool
) -> None:
    trouble = Trouble(failures=8, listed=True, diagnosis=diagnosis)
    assert rollout.is_suspect(host(1, trouble=trouble), KNOWN) is orphan


def starting(number: int = 1) -> Machine:
    return on_host(Phase.STARTING, machine_id(number)).with_health(was_ready=None)


def test_no_machine_is_made_and_no_host_taken_for_a_list_at_fault() -> None:
    free = Free(resource=box(host=HostId("host-9")), offer=OFFER)
    now = replace(snapshot(host(1), host(2), size=4), free=(free,))
    waits = replace(
        on_host(Phase.PENDING).with_health(was_ready=None), host=None, places=(), since=now.now
    )
    now = replace(now, machines=(waits,))
    decision = decide(now, FakePlanner(addresses=0))
    assert decision.condition.startswith(Reason.BOOTSTRAP_FAILED)
    (row,) = (command for command in decision.commands if isinstance(command, SaveFleet))
    assert row.inserts == ()
    assert [type(c).__name__ for c in decision.commands] == ["SaveFleet"]
    good = replace(now, hosts={}, row=replace(now.row, revision=KNOWN))
    made = decide(good, FakePlanner(addresses=0)).commands
    assert "Bind" in [type(c).__name__ for c in made]


def test_strikes_that_the_list_gave_are_taken_back_once_and_others_stay() -> None:
    struck = host(1, strikes=3, struck=("older", DIGEST, DIGEST))
    out = replace(
        struck.with_health(quarantined_until=BEGIN + 99 * HOUR), condition=HostCondition.QUARANTINED
    )
    decision = decide(snapshot(out, host(2)), FakePlanner(addresses=0))
    (record,) = (command.host for command in decision.commands if isinstance(command, SaveHost))
    assert (record.health.strikes, record.health.struck) == (1, ("older",))
    assert record.health.quarantined_until == BEGIN + 2 * HOUR
    (row,) = (command for command in decision.commands if isinstance(command, SaveFleet))
    events = [event for event in row.events if event.kind == "strikes_taken_back"]
    assert [event.detail for event in events] == [
        "host host-1: 2 strikes that the list was to blame for"
    ]
    known = replace(KNOWN, broken=BEGIN + HOUR, failed=(lapse(1), lapse(2)))
    assert list(rollout.pardons(known, snapshot(record))) == []


def test_a_quarantine_for_strikes_of_its_own_goes_on() -> None:
    until = BEGIN + 99 * HOUR
    out = host(1, strikes=3, struck=(DIGEST,), quarantined_until=until)
    known = replace(KNOWN, broken=BEGIN + HOUR)
    (pardon,) = rollout.pardons(known, snapshot(out))
    assert (pardon.keep.host.health.strikes, pardon.keep.host.health.quarantined_until) == (
        2,
        until,
    )


def test_a_host_in_flight_keeps_its_strikes_until_it_has_landed() -> None:
    known = replace(KNOWN, broken=BEGIN + HOUR)
    now = snapshot(host(1, strikes=1, struck=(DIGEST,)))
    flying = replace(now, moving_hosts=frozenset({HostId("host-1")}))
    assert list(rollout.pardons(known, flying)) == []
    assert len(list(rollout.pardons(known, now))) == 1


@pytest.mark.parametrize("ready", [False, True])
def test_a_strike_says_of_which_list_it_came(*, ready: bool) -> None:
    machine = replace(on_host(Phase.DELETED), reason=Reason.NOT_PREPARED)
    machine = machine if ready else machine.with_health(was_ready=None)
    machine = machine.with_fact(FAULT, BEGIN).with_fact(f"{LISTED} {DIGEST}", BEGIN)
    held = record(condition=HostCondition.ALLOCATED, struck=("older",), strikes=1)
    (step,) = decide_hosts(hosts_snapshot(held, None, bindings={BOX: MINE}, past=(machine,)))
    assert step.host.health.struck == (() if ready else ("older", DIGEST))


def used(number: int, *, applied: str = "older", failures: int = 0) -> tuple[Machine, Host]:
    """Return a machine in use, and its host."""
    drift = Drift(digest=DIGEST, failures=failures) if failures else Drift()
    own = host(number, Tried(), applied=applied, drift=drift)
    machine = replace(on_host(Phase.READY, machine_id(number)), serial=number, host=own.id)
    return machine, own


def canaries(known: Revision, *pairs: tuple[Machine, Host]) -> list[int] | None:
    """Return the serials of the machines in use that the list is brought to now."""
    now = replace(snapshot(*(own for _, own in pairs)), machines=tuple(m for m, _ in pairs))
    found = rollout.canaries(known, now)
    return None if found is None else [m.serial for m, _ in pairs if m.id in found]


def test_a_changed_list_goes_to_one_machine_until_it_worked() -> None:
    assert canaries(KNOWN, used(1), used(2), used(3)) == [1]
    assert canaries(KNOWN, used(1, applied=DIGEST), used(2), used(3)) == [2]
    assert canaries(replace(KNOWN, worked=BEGIN), used(1), used(2)) is None


def test_the_next_one_is_tried_when_the_tries_of_the_first_are_used_up() -> None:
    assert canaries(KNOWN, used(1), used(2, failures=4), used(3)) == [2]
    assert canaries(KNOWN, used(1), used(2, failures=5), used(3)) == [1, 2]


def test_a_list_at_fault_goes_to_none_that_did_not_try_it() -> None:
    broken = replace(KNOWN, broken=BEGIN)
    assert canaries(broken, used(1), used(2, failures=5)) == [2]
    assert canaries(replace(broken, worked=BEGIN), used(1), used(2, failures=1)) == [2]


def test_a_machine_that_is_held_or_ends_is_not_the_first() -> None:
    (machine, own), second = used(1), used(2)
    held = replace(machine, protection=Protection(until=BEGIN + 9 * HOUR, why="", actor="ann"))
    assert canaries(KNOWN, (held, own), second) == [2]
    assert canaries(KNOWN, (starting(), own), second) == [2]


def test_what_failed_with_another_list_is_not_kept_for_this_one() -> None:
    trouble, broken = Trouble(failures=3, listed=True), replace(KNOWN, broken=BEGIN)
    assert rollout.keeps(host(1, trouble=trouble), broken)
    assert not rollout.keeps(host(1, trouble=trouble), KNOWN)
    assert not rollout.keeps(host(1, replace(FAILED, digest="older"), trouble=trouble), broken)


@pytest.mark.parametrize("broken", [False, True])
def test_a_machine_that_is_asked_for_by_name_waits_for_another_list(*, broken: bool) -> None:
    free = Free(resource=box(host=HostId("host-9")), offer=OFFER)
    now = replace(snapshot(*((host(1), host(2)) if broken else ())), free=(free,))
    waits = replace(
        on_host(Phase.PENDING).with_health(was_ready=None), host=None, places=(), since=now.now
    )
    now = replace(now, machines=(waits,), fleet=replace(now.fleet, renews=False))
    decision = decide(now, FakePlanner(addresses=0))
    (verdict,) = decision.verdicts
    assert verdict.blocker.startswith("bootstrap_failed") is broken
    begun = [c.machine.phase for c in decision.commands if isinstance(c, Advance)]
    assert (Phase.STARTING in begun) is not broken


@pytest.mark.parametrize("broken", [False, True])
def test_nothing_is_ordered_for_a_list_at_fault(*, broken: bool) -> None:
    now = snapshot(*((host(1), host(2)) if broken else ()), size=4)
    now = replace(now, limits=Limits())
    commands = decide(now, FakePlanner(addresses=0)).commands
    assert any(isinstance(command, OrderHosts) for command in commands) is not broken
