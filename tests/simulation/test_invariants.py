from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import (
    AccountName,
    CycleId,
    Epoch,
    FleetName,
    HostId,
    InstallationId,
    MachineId,
    ResourceId,
    Zone,
)
from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.commands import Advance, Decision, SaveFleet, Verdict
from hostler.domain.model.fleet import Fleet, FleetRow, Setback, Timers
from hostler.domain.model.host import allocation_of
from hostler.domain.model.inventory import Inventory
from hostler.domain.model.machine import (
    Asked,
    CallState,
    Deletion,
    Machine,
    Offer,
    Protection,
)
from hostler.domain.model.phases import Goal, Phase, Reason
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import OrphanClass, OwnerTag, Slot
from hostler.domain.model.snapshot import Orphan, Snapshot
from hostler.domain.model.subject import ask
from hostler.lab.checks.shadow_store import shadow_for
from hostler.testing import invariants, sureness
from hostler.testing.invariants import Attempts, Bounds, Recorded, Thing, Touch, Violation
from hostler.testing.sureness import Failures, Onces, Records

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WEB = FleetName("web")
OURS, THEIRS = InstallationId("ours"), InstallationId("theirs")
M = MachineId("m-aaaaaaaaaa")
OFFER = Offer("DEV1-S", Zone("fr-par-1"))
SERVER = Slot("server")
FLEET = Fleet(name=WEB, account=AccountName("main"), size=2, offers=(OFFER,), maximum=4)
ROW = FleetRow(name=WEB, created=NOW)


def machine(phase: Phase = Phase.READY, number: int = 0) -> Machine:
    name = MachineId(f"m-{'abcdefgh'[number] * 10}")
    return Machine(
        id=name, fleet=WEB, serial=number, created=NOW, phase=phase, since=NOW, offer=OFFER
    )


def thing(owner_tag: InstallationId | None = OURS, created: float = 0.0) -> Thing:
    made = (
        None
        if owner_tag is None
        else OwnerTag(installation=owner_tag, fleet=WEB, machine=M, attempt=1)
    )
    return Thing(id=ResourceId("s1"), kind="server", created=created, owner_tag=made, slot=SERVER)


def advance(machine: Machine) -> Advance:
    verdict = Verdict(machine=machine.id, reason="refused")
    return Advance(machine=machine, changed=True, events=(), verdict=verdict)


def create(attempt: int = 1) -> Call:
    return Call(
        kind="server.create",
        slot=SERVER,
        zone=OFFER.zone,
        effect=Effect.MAKE,
        attempt=attempt,
        once=True,
    )


def names(found: tuple[Violation, ...]) -> list[str]:
    return [violation.invariant for violation in found]


def test_s1_fires_when_a_resource_stays_unexplained_too_long():
    checker = Recorded(bound=100.0)
    resource = thing()
    assert not checker.check([resource], (), {resource.id: 60.0})
    assert names(checker.check([resource], (), {resource.id: 60.0})) == ["S1"]


def test_s1_counts_no_time_in_which_nobody_could_observe_and_forgives_what_is_explained():
    checker = Recorded(bound=100.0)
    resource = thing()
    for _ in range(10):
        assert not checker.check([resource], (), {})
        assert not checker.check([resource], (resource.id,), {resource.id: 90.0})


def test_s2_fires_when_inserts_exceed_request_and_surge():
    machines = [machine(number=number) for number in range(4)]
    assert not invariants.grown(FLEET, ROW, machines[:3], machines[2:3])
    assert names(invariants.grown(FLEET, ROW, machines, machines[3:])) == ["S2"]


@pytest.mark.parametrize(
    ("until", "stock", "renews", "holds"),
    [
        (60, False, True, False),
        (0, False, True, True),
        (60, True, True, True),
        (60, False, False, True),
    ],
)
def test_s4_fires_when_an_offer_that_failed_is_tried_before_its_pause_is_over(
    until: int, *, stock: bool, renews: bool, holds: bool
) -> None:
    new, now = machine(Phase.PENDING), NOW
    back = Setback(offer=new.offer, why="x", until=now + timedelta(seconds=until), stock=stock)
    row, fleet = ROW.with_setback(back), replace(FLEET, renews=renews)
    assert names(invariants.set_back(fleet, row, [new], now)) == ([] if holds else ["S4"])
    assert not invariants.set_back(fleet, ROW, [new], now)
    assert not invariants.set_back(fleet, row, [], now)


@pytest.mark.parametrize(
    ("machines", "made", "holds"),
    [
        ([machine()], Decision(), False),
        ([machine()], Decision(condition="nothing is sold"), True),
        ([machine()], Decision(commands=(SaveFleet(row=ROW, inserts=(OFFER,)),)), True),
        ([machine()], Decision(commands=(SaveFleet(row=ROW),)), False),
        ([machine()], Decision(commands=(SaveFleet(row=replace(ROW, size=1)),)), True),
        ([machine(), machine(Phase.STARTING, 1)], Decision(), True),
        ([machine(), machine(Phase.STOPPING, 1)], Decision(), False),
        ([machine(), replace(machine(number=1), goal=Goal.STANDBY)], Decision(), False),
        ([machine(), machine(Phase.STANDBY, 1)], Decision(), True),
        ([machine(), replace(machine(Phase.STANDBY, 1), goal=Goal.STANDBY)], Decision(), False),
    ],
)
def test_l3_fires_when_a_fleet_that_lacks_machines_makes_none_and_is_silent(
    machines: list[Machine], made: Decision, *, holds: bool
) -> None:
    left = [(one, one) for one in machines]
    assert names(invariants.unmade(FLEET, ROW, left, made)) == ([] if holds else ["L3"])
    assert not invariants.unmade(replace(FLEET, renews=False), ROW, left, made)


def test_l3_leaves_it_to_others_who_ends_as_one_too_many():
    one, other = machine(), machine(number=1)
    for actor, broken in (("hostler", []), ("ann", ["L3"])):
        ends = replace(other, deletion=Deletion(at=NOW, actor=actor, why="x"))
        left = [(one, one), (other, ends)]
        assert names(invariants.unmade(FLEET, ROW, left, Decision())) == broken


def test_s2_lets_new_machines_come_beside_those_that_end_only_where_they_are_asked_for_by_id():
    machines = [machine(number=number) for number in range(4)]
    by_id, ending = replace(FLEET, renews=False), [machines[0].id]
    assert not invariants.grown(by_id, ROW, machines, machines[3:], ending)
    assert names(invariants.grown(by_id, ROW, machines, machines[3:])) == ["S2"]
    assert names(invariants.grown(FLEET, ROW, machines, machines[3:], ending)) == ["S2"]


def test_s2_knows_what_the_newest_decision_ends():
    shadow, ended = shadow_for(OURS, [FLEET], 30.0), machine(Phase.STOPPING)
    shadow.inserted([machine(), machine(number=1)])
    stays, ends = advance(machine(number=1)), advance(ended)
    shadow.decides(WEB, [ends, stays], 0.0)
    assert shadow.ending[WEB] == {ended.id}
    shadow.decides(WEB, [stays], 1.0)
    assert not shadow.ending[WEB]


def test_s2_fires_when_inserts_exceed_the_maximum():
    held = [machine(Phase.STOPPING, number) for number in range(4)]
    new = machine(Phase.PENDING, 5)
    assert names(invariants.grown(FLEET, ROW, [*held, new], [new])) == ["S2"]


def test_s2_fires_when_too_many_servers_exist_outside():
    most = FLEET.most(2) + FLEET.caps.stuck
    assert not invariants.crowded(FLEET, 2, most)
    assert names(invariants.crowded(FLEET, 2, most + 1)) == ["S2"]


def test_s4_fires_when_creations_exceed_the_hour():
    checker = Attempts()
    assert not any(checker.made(float(second), 5) for second in range(5))
    assert names(checker.made(5.0, 5)) == ["S4"]
    assert not checker.made(5000.0, 5)


def test_s4_finds_no_attempt_too_many_because_the_size_fell():
    """Seed 5060127: a large fleet was to be small, and one machine's creation was tried again."""
    checker = Attempts()
    assert not any(checker.made(float(second), 9) for second in range(8))
    assert not checker.made(9.0, 2)
    assert names(checker.made(10.0, 2)) == ["S4"]
    assert names(checker.made(3608.5, 1)) == ["S4"], "the larger bound is an hour ago"


def test_s4_counts_the_hour_by_the_clock_of_the_engine_that_jumped():
    checker = Attempts()
    assert not any(checker.made(float(second), 5) for second in range(5))
    checker.jumped(1800.0)
    assert not checker.made(1900.0, 5)
    behind = Attempts()
    assert not any(behind.made(float(second), 5) for second in range(5))
    behind.jumped(-1800.0)
    assert names(behind.made(1900.0, 5)) == ["S4"]
    assert not behind.made(9000.0, 5)


def test_s4_fires_when_an_offer_is_tried_again_within_its_pause():
    checker = Failures(pause=25.0)
    before = machine(Phase.STARTING)
    checker.moved(before, replace(before, phase=Phase.FAILED), 100.0)
    assert names(checker.inserted([machine(number=1)], 110.0)) == ["S4"]
    assert not checker.inserted([machine(number=1)], 126.0)


def test_a_move_counts_from_its_decision_however_late_it_is_saved():
    """S4, S6: a process stood still before it saved (servers 8020135, Macs 9030405)."""
    shadow, before = shadow_for(OURS, (FLEET,), 60.0), machine(Phase.STARTING)
    shadow.inserted((before,))
    failed = replace(before, phase=Phase.FAILED)
    shadow.decides(WEB, [advance(failed)], 80.0)
    shadow.machines[failed.id] = failed
    shadow.decides(WEB, [advance(replace(failed, version=7))], 95.0)
    assert shadow.decided_at(failed, 100.0) == 80.0
    assert shadow.decided_at(before, 100.0) == 100.0


@pytest.mark.parametrize("phase", [Phase.PENDING, Phase.STARTING, Phase.READY, Phase.DRAINING])
def test_s5_fires_when_what_a_live_record_binds_is_destroyed(phase: Phase):
    touch = Touch(thing=thing(), by=(OURS,), destroys=True)
    assert names(invariants.touched(touch, machine(phase))) == ["S5"]
    assert not invariants.touched(replace(touch, destroys=False), machine(phase))
    assert not invariants.touched(touch, machine(Phase.STOPPING))


def test_s5_fires_when_what_is_foreign_is_touched_at_all():
    touch = Touch(thing=thing(THEIRS), by=(OURS,), destroys=False)
    assert names(invariants.touched(touch, None)) == ["S5"]
    assert not invariants.touched(replace(touch, by=(OURS, THEIRS)), None)


def test_s5_fires_when_what_is_healthy_is_believed_lost():
    before, after = machine(Phase.READY), machine(Phase.FAILED)
    assert names(invariants.lost_falsely(before, after, healthy=True)) == ["S5"]
    assert not invariants.lost_falsely(before, after, healthy=False)
    asked = replace(after, phase=Phase.STOPPING, deletion=Deletion(at=NOW, actor="me", why=""))
    assert not invariants.lost_falsely(before, asked, healthy=True)


def test_s5_fires_when_a_reclaim_is_hasty():
    assert names(sureness.swept(thing(), 10.0, 900.0, 1.0)) == ["S5"]
    assert names(sureness.swept(thing(), 1000.0, 900.0, None)) == ["S5"]
    assert names(sureness.swept(thing(), 1000.0, 900.0, 300.0)) == ["S5"]
    assert not sureness.swept(thing(), 1000.0, 900.0, 1.0)


def test_s5_fires_when_a_record_explains_an_orphan():
    orphan = Orphan(
        resource=ResourceId("s1"),
        kind="server",
        zone=OFFER.zone,
        fleet=WEB,
        cls=OrphanClass.UNRECORDED,
        first=NOW,
        last=NOW,
        machine=M,
    )
    assert names(sureness.suspected([orphan], {M: machine()}, {})) == ["S5"]
    assert not sureness.suspected([orphan], {M: machine(Phase.DELETED)}, {})
    unissued = replace(orphan, cls=OrphanClass.UNISSUED)
    assert not sureness.suspected([unissued], {M: machine()}, {HostId("s1"): M})
    of_host, bound = replace(unissued, resource=allocation_of(HostId("b1"), M)), {HostId("b1"): M}
    assert names(sureness.suspected([of_host], {M: machine()}, bound)) == ["S5"]
    assert not sureness.suspected([of_host], {M: machine()}, {HostId("b2"): M})


def test_s7_fires_when_something_old_is_left():
    record = machine(Phase.DELETED)
    assert names(invariants.deleted(Phase.STOPPING, record, [thing(created=5.0)], 10.0)) == ["S7"]
    assert not invariants.deleted(Phase.STOPPING, record, [thing(created=15.0)], 10.0)
    assert not invariants.deleted(Phase.DELETED, record, [thing(created=5.0)], 10.0)


def asked_of(record: Machine, call_state: CallState) -> Machine:
    asked = Asked(
        kind="server.create",
        slot=SERVER,
        attempt=1,
        at=NOW,
        epoch=Epoch(1),
        shows=create().shows,
        call_state=call_state,
    )
    return record.with_asked(asked)


def test_s7_fires_when_a_call_is_still_unsure():
    checker = Onces(consistency_delay=60.0)
    stopping = machine(Phase.STOPPING)
    open_ = asked_of(machine(Phase.DELETED), CallState.OPEN)
    assert names(checker.deleted(stopping.phase, open_, 1000.0)) == ["S7"]
    checker.sending(create(), asked_of(stopping, CallState.OPEN), 0.0, there=False)
    lapsed = asked_of(machine(Phase.DELETED), CallState.LAPSED)
    assert names(checker.deleted(stopping.phase, lapsed, 30.0)) == ["S7"]
    assert not checker.deleted(stopping.phase, lapsed, 61.0)


def test_s2_fires_when_a_once_call_is_sent_that_no_record_holds():
    checker = Onces(consistency_delay=60.0)
    assert names(checker.sending(create(), machine(), 0.0, there=False)) == ["S2"]


def test_s2_fires_when_a_once_call_is_tried_again_unsure():
    checker = Onces(consistency_delay=60.0)
    first, second = create(1), create(2)
    record = ask(machine(Phase.STARTING), first, NOW, Epoch(1))
    assert not checker.sending(first, record, 0.0, there=False)
    checker.sent(record.id, first, "unknown")
    again = ask(record, second, NOW, Epoch(1))
    assert names(checker.sending(second, again, 30.0, there=False)) == ["S2"]


def test_the_answer_of_a_call_that_hung_says_nothing_of_the_one_that_was_sent_since():
    checker = Onces(consistency_delay=60.0)
    hung, second, third = create(1), create(1), create(1)
    record = ask(machine(Phase.STARTING), hung, NOW, Epoch(1))
    checker.sending(hung, record, 0.0, there=False)
    checker.sending(second, record, 100.0, there=False)
    checker.sent(record.id, second, "done")
    checker.sent(record.id, hung, "unknown")
    assert not checker.sending(third, record, 130.0, there=False)
    checker.sent(record.id, second, "done")
    checker.sent(record.id, third, "unknown")
    assert names(checker.sending(create(1), record, 140.0, there=False)) == ["S2"]


def test_s2_fires_when_what_was_answered_is_made_twice():
    checker = Onces(consistency_delay=60.0)
    first, second = create(1), create(2)
    record = ask(machine(Phase.STARTING), first, NOW, Epoch(1))
    checker.sending(first, record, 0.0, there=False)
    checker.sent(record.id, first, "done")
    again = ask(record, second, NOW, Epoch(1))
    assert names(checker.sending(second, again, 300.0, there=True)) == ["S2"]


def test_a_call_that_was_refused_may_be_made_again_at_once():
    checker = Onces(consistency_delay=60.0)
    first, second = create(1), create(2)
    record = ask(machine(Phase.STARTING), first, NOW, Epoch(1))
    checker.sending(first, record, 0.0, there=False)
    checker.sent(record.id, first, "refused")
    again = ask(record, second, NOW, Epoch(1))
    assert not checker.sending(second, again, 1.0, there=False)


def test_s8_fires_without_a_lease_and_under_a_stale_epoch():
    assert names(invariants.begun(holds_lease=False, call="POST")) == ["S8"]
    assert names(invariants.saved(Epoch(1), Epoch(2), "web")) == ["S8"]
    assert not invariants.begun(holds_lease=True, call="POST")
    assert not invariants.saved(Epoch(2), Epoch(2), "web")


@pytest.mark.parametrize("phase", [Phase.PENDING, Phase.STARTING, Phase.STOPPING, Phase.FAILED])
def test_s9_fires_when_a_phase_outlives_its_bound(phase: Phase):
    checker = Bounds(Timers())
    record = machine(phase)
    long = timedelta(hours=1).total_seconds()
    found = checker.check([record], {record.id: long})
    found += checker.check([record], {record.id: long})
    assert set(names(found)) == {"S9"}


def test_s9_counts_no_time_in_which_nobody_could_observe():
    checker = Bounds(Timers())
    record = machine(Phase.STARTING)
    assert not any(checker.check([record], {}) for _ in range(1000))


def test_s10_fires_when_a_machine_or_a_fleet_waits():
    assert names(invariants.delayed(M, 61.0, 60.0)) == ["S10"]
    assert names(invariants.wedged(301.0, 300.0)) == ["S10"]
    assert not invariants.delayed(M, 59.0, 60.0)
    assert not invariants.wedged(299.0, 300.0)


def test_l1_fires_when_the_fleet_is_not_at_rest():
    ready = [machine(number=number) for number in range(2)]
    assert not invariants.rested(2, ready, [], ())
    assert names(invariants.rested(2, ready[:1], [], ())) == ["L1"]
    assert names(invariants.rested(2, [*ready, machine(Phase.STOPPING, 3)], [], ())) == ["L1"]
    assert names(invariants.rested(2, ready, [thing()], ())) == ["L1"]


def test_l1_fires_when_what_is_seen_is_still_in_doubt():
    doubted = machine().with_health(doubt=NOW)
    assert names(invariants.rested(2, [doubted, machine(number=1)], [], ())) == ["L1"]


def ended(actor: str, why: str = "scaled_down", one: Machine | None = None) -> Machine:
    return replace(one or machine(), deletion=Deletion(at=NOW, actor=actor, why=why))


PAUSED = replace(ROW, pause=Protection(until=NOW + timedelta(seconds=1), actor="ada", why="a look"))


@pytest.mark.parametrize("actor", ["hostler", "hostler-replace", "ada"])
@pytest.mark.parametrize(
    ("row", "fleet", "held"),
    [
        (PAUSED, FLEET, True),
        (replace(PAUSED, pause=Protection(until=NOW, actor="ada", why="")), FLEET, False),
        (replace(ROW, removed=NOW), FLEET, True),
        (replace(PAUSED, removed=NOW, ends=True), FLEET, False),
        (ROW, replace(FLEET, protected=True), True),
        (ROW, FLEET, False),
        (None, FLEET, False),
    ],
    ids=["paused", "no longer paused", "kept", "ends", "protected", "free", "no row yet"],
)
def test_e3_fires_when_a_fleet_that_is_held_back_loses_a_machine_by_our_choice(
    actor: str, row: FleetRow | None, fleet: Fleet, *, held: bool
):
    before = machine().with_health(was_ready=NOW)
    found = invariants.held_back(before, ended(actor, one=before), row, fleet)
    assert names(found) == (["E3"] if held and actor != "ada" else [])


def test_e3_forgives_what_was_never_ready_in_a_protected_fleet_and_what_ends_already():
    protected = replace(FLEET, protected=True)
    assert not invariants.held_back(machine(), ended("hostler"), ROW, protected)
    assert not invariants.held_back(ended("ada"), ended("hostler"), PAUSED, FLEET)


def test_e3_fires_when_what_is_replaced_is_not_due_or_too_few_are_ready():
    before = machine().with_health(was_ready=NOW - timedelta(hours=2))
    after = ended("hostler-replace", "outdated", before)
    another = replace(FLEET, replace_outdated=True, template="t2")
    aged = replace(FLEET, timers=Timers(max_age=timedelta(hours=2)))
    younger = replace(FLEET, timers=Timers(max_age=timedelta(hours=2, seconds=1)))
    for fleet in (another, aged):
        assert not invariants.replaced(before, after, fleet, 2, 2)
        assert names(invariants.replaced(before, after, fleet, 1, 2)) == ["E3"]
    for fleet in (FLEET, younger, replace(another, template=""), replace(FLEET, template="t2")):
        assert names(invariants.replaced(before, after, fleet, 2, 2)) == ["E3"]
    window = ended("hostler-replace", "window_over", before)
    assert not invariants.replaced(before, window, FLEET, 0, 2)
    assert not invariants.replaced(after, after, FLEET, 0, 2)
    assert not invariants.replaced(before, ended("ada"), FLEET, 0, 2)


def test_l1_fires_when_something_is_decided_or_called_at_rest():
    assert names(invariants.quiet(1, ())) == ["L1"]
    assert names(invariants.quiet(0, ("server.get",))) == ["L1"]
    assert not invariants.quiet(0, ())


def test_an_illegal_move_is_found():
    assert invariants.moved(machine(Phase.READY), machine(Phase.PENDING))
    assert not invariants.moved(machine(Phase.READY), machine(Phase.DRAINING))


def test_a_decision_on_older_records_than_its_observation_is_found():
    checker = Records()
    newest = replace(machine(), version=3)
    checker.note(newest, now=10.0)
    snapshot = Snapshot(
        cycle=CycleId("t"),
        now=NOW,
        fleet=FLEET,
        row=ROW,
        machines=(replace(newest, version=2),),
        inventory=Inventory(),
        capabilities=Capabilities(),
        epoch=Epoch(1),
        took=NOW,
        steady=NOW,
        ours=(OURS,),
    )
    assert names(checker.check(snapshot, observed=11.0)) == ["look first"]
    assert not checker.check(snapshot, observed=9.0)
    assert not checker.check(replace(snapshot, machines=(newest,)), observed=11.0)


@pytest.mark.parametrize("reason", [Reason.BOOTSTRAP_FAILED, Reason.BOOTSTRAP_REFUSED])
def test_s4_takes_a_script_that_fails_for_no_fault_of_its_offer(reason: Reason):
    checker, before = Failures(pause=25.0), machine(Phase.STARTING)
    checker.moved(before, replace(before, phase=Phase.FAILED, reason=reason), 100.0)
    assert not checker.inserted([machine(number=1)], 110.0)
