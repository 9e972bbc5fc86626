"""What runs on a host that is to be ended: who is asked, what is waited for, and for how long."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.machines import drain as busy
from hostler.domain.machines.repair import end
from hostler.domain.model.calls import Shows
from hostler.domain.model.commands import RESIZE
from hostler.domain.model.fleet import FleetRow, Probe, ProbeKind, Workload
from hostler.domain.model.machine import RESTED, CallState, Deletion, Machine, Origin
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.domain.model.snapshot import Answer, Answered, Snapshot
from hostler.domain.model.transition import Transition
from hostler.testing.scenes.builders import BEGIN, FLEET
from hostler.testing.scenes.hosts import MINE, call, fleet_snapshot, on_host, tenant

S, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
NOW = BEGIN + 10 * MINUTE
PROBE = Probe(kind=ProbeKind.SSH, busy="pgrep x")
WAITS = on_host(Phase.DRAINING).with_fact(busy.DRAIN, BEGIN)
ENDING = Deletion(at=BEGIN, actor="ann", why="")
ADOPTED = replace(
    on_host(Phase.STARTING, was_ready=BEGIN, origin=Origin.ADOPTED), deletion=ENDING, asked=()
)


def snapshot(now: datetime = NOW, probe: Probe = PROBE, *answers: Answered) -> Snapshot:
    """Return what a turn sees of a fleet whose hosts are asked whether they are busy."""
    found = replace(fleet_snapshot((), (), now=now), fleet=replace(FLEET, probe=probe))
    return replace(found, answers={MINE: answers[-1]} if answers else {})


def answered(answer: Answer, at: datetime, machine: Machine = WAITS) -> Machine:
    """Return the record of a machine whose host said this."""
    transition = Transition(before=machine, machine=machine, resources=())
    return busy.noted(transition, snapshot(at, PROBE, Answered(answer=answer, at=at))).machine


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (WAITS, "asked first"),
        (answered(Answer.BUSY, NOW), "is busy, as it said at 00:10:00"),
        (answered(Answer.UNKNOWN, NOW), "is not known"),
        (answered(Answer.FREE, NOW - 61 * S), "asked again"),
        (answered(Answer.FREE, BEGIN - S, on_host()).with_fact(busy.DRAIN, BEGIN), "asked first"),
        (answered(Answer.FREE, NOW + S), "asked again"),
        (replace(WAITS, deletion=ENDING), "asked first"),
    ],
    ids=["not asked", "busy", "unknown", "stale", "before the wait", "future", "an end"],
)
def test_what_bars_the_end_of_a_machine_says_until_when(machine: Machine, words: str) -> None:
    barred = busy.bars(machine, snapshot())
    assert words in barred
    assert "ended anyhow at 01:00:00 UTC" in barred


@pytest.mark.parametrize(
    "machine",
    [
        answered(Answer.FREE, NOW - 60 * S),
        WAITS.without_fact(busy.DRAIN),
        replace(WAITS, deletion=replace(ENDING, now=True)),
        replace(WAITS, asked=(call("reinstall", CallState.DONE, BEGIN),)),
        replace(WAITS, asked=(call("reinstall", CallState.OPEN, BEGIN),)),
    ],
    ids=["free", "never to be waited for", "at once", "wiped", "perhaps wiped"],
)
def test_what_may_be_ended_is_not_barred(machine: Machine) -> None:
    assert busy.bars(machine, snapshot()) == ""
    assert busy.waits(machine, snapshot()) is None


@pytest.mark.parametrize(
    "asked",
    [
        call("reinstall", CallState.REFUSED, BEGIN),
        call("reinstall", CallState.LAPSED, BEGIN),
        call("reinstall", CallState.DONE, BEGIN - S),
        call("mark", CallState.DONE, BEGIN, shows=Shows.OWNER_TAG),
    ],
)
def test_no_other_call_shows_that_nothing_runs(asked: object) -> None:
    machine = replace(WAITS, asked=(asked,))
    assert busy.bars(machine, snapshot()) != ""


@pytest.mark.parametrize("probe", [replace(PROBE, busy=""), replace(PROBE, kind=ProbeKind.TCP)])
def test_a_fleet_that_does_not_ask_waits_for_nothing(probe: Probe) -> None:
    assert busy.bars(WAITS, snapshot(probe=probe)) == ""


@pytest.mark.parametrize("answer", [Answer.BUSY, Answer.UNKNOWN])
def test_the_bound_of_drain_ends_every_wait(answer: Answer) -> None:
    until = BEGIN + FLEET.timers.drain
    assert busy.bars(answered(answer, NOW), snapshot(until - S)) != ""
    assert busy.bars(answered(answer, NOW), snapshot(until)) == ""


def test_an_answer_from_before_the_clock_jumped_is_none() -> None:
    machine = answered(Answer.FREE, NOW)
    assert busy.bars(machine, replace(snapshot(), jumped=NOW + S)) != ""
    assert busy.bars(machine, replace(snapshot(), jumped=NOW)) == ""


def test_a_wait_that_the_clock_left_in_the_future_begins_anew() -> None:
    """Seed 5036127: the clock jumped back by hours, and a drain took as much longer."""
    machine = WAITS.with_fact(busy.DRAIN, NOW + 60 * MINUTE)
    transition = Transition(before=machine, machine=machine, resources=())
    noted = busy.noted(transition, snapshot(NOW)).machine
    assert noted.fact(busy.DRAIN) == NOW
    assert busy.noted(
        Transition(before=WAITS, machine=WAITS, resources=()), snapshot()
    ).machine is (WAITS)


def test_a_host_is_asked_at_once_and_then_every_half_a_minute() -> None:
    def wait(machine: Machine, now: datetime = NOW) -> tuple[bool, datetime]:
        found = busy.waits(machine, snapshot(now))
        assert found is not None
        return found.ask, found.retry_at

    assert wait(WAITS) == (True, NOW)
    assert wait(answered(Answer.BUSY, NOW), NOW + 29 * S) == (False, NOW + 30 * S)
    assert wait(answered(Answer.BUSY, NOW), NOW + 30 * S) == (True, NOW + 30 * S)
    last = BEGIN + FLEET.timers.drain - 10 * S
    assert wait(answered(Answer.BUSY, last), last) == (False, last + 10 * S)


def test_another_answer_is_told_and_the_same_one_is_only_dated_anew() -> None:
    def note(machine: Machine, answer: Answer, at: datetime) -> Transition:
        transition = Transition(before=machine, machine=machine, resources=())
        return busy.noted(
            transition, snapshot(at, PROBE, Answered(answer=answer, at=at, text="exit 0"))
        )

    first = note(WAITS, Answer.BUSY, NOW)
    assert [(notice.kind, notice.reason, notice.detail) for notice in first.events] == [
        ("asked_whether_busy", "busy", "exit 0")
    ]
    again = note(first.machine, Answer.BUSY, NOW + MINUTE)
    assert again.events == ()
    assert busy.answer_of(again.machine) == Answered(answer=Answer.BUSY, at=NOW + MINUTE)
    free = note(again.machine, Answer.FREE, NOW + 2 * MINUTE)
    assert len(free.events) == 1
    assert busy.answer_of(free.machine) == Answered(answer=Answer.FREE, at=NOW + 2 * MINUTE)
    late = note(free.machine, Answer.BUSY, NOW)
    assert late.machine is free.machine, "an older answer says nothing"


def test_why_it_is_not_known_is_said_as_long_as_somebody_remembers() -> None:
    machine = answered(Answer.UNKNOWN, NOW)
    newest = Answered(answer=Answer.UNKNOWN, at=NOW, text="no login")
    assert "not known: no login;" in busy.bars(machine, snapshot(NOW, PROBE, newest))


@pytest.mark.parametrize(
    ("machine", "answer", "phase"),
    [
        (ADOPTED, Answer.BUSY, Phase.STARTING),
        (ADOPTED, None, Phase.STARTING),
        (ADOPTED, Answer.FREE, Phase.STOPPING),
        (replace(ADOPTED, deletion=replace(ENDING, now=True)), Answer.BUSY, Phase.STOPPING),
        (ADOPTED.with_health(was_ready=None), Answer.BUSY, Phase.STOPPING),
        (ADOPTED.with_fact(RESTED, BEGIN), Answer.BUSY, Phase.STOPPING),
    ],
    ids=["busy", "not asked yet", "free", "at once", "never ready", "woken"],
)
def test_what_was_ready_is_asked_before_its_start_is_taken_back(
    machine: Machine, answer: Answer | None, phase: Phase
) -> None:
    """Seed 5030493: a machine that was adopted while a job ran was too many, and wiped."""
    answers = () if answer is None else (Answered(answer=answer, at=NOW),)
    now = snapshot(NOW, PROBE, *answers)
    asked = Transition(before=machine, machine=machine, resources=(tenant(),))
    after = end(busy.noted(asked, now), now.row, now)
    again = end(busy.noted(after, now), now.row, now)
    assert again.machine.phase is phase
    assert again.ask is (phase is Phase.STARTING and answer is None)
    off = replace(asked, resources=(tenant(condition=Condition.OFF),))
    assert end(off, now.row, now).machine.phase is Phase.STOPPING


@pytest.mark.parametrize(
    ("condition", "runs"),
    [
        (Condition.UP, True),
        (Condition.FAILED, True),
        (Condition.LOCKED, True),
        (Condition.OFF, False),
        (Condition.WIPING, False),
    ],
)
def test_nothing_runs_on_a_host_that_is_off_or_being_wiped(
    condition: Condition, *, runs: bool
) -> None:
    machine = on_host(Phase.FAILED)
    transition = Transition(
        before=machine, machine=machine, resources=(tenant(condition=condition),)
    )
    now = fleet_snapshot((machine,), transition.resources)
    assert busy.may_run(transition, now) is runs


# ------------------------------------------------------------------ Nodes of a cluster


BOUNDED = Workload()


def in_cluster(now: datetime = NOW, workload: Workload = BOUNDED, *answers: Answered) -> Snapshot:
    """Return what a turn sees of a fleet whose cluster is asked; its probe asks no host."""
    found = snapshot(now, Probe(), *answers)
    return replace(found, fleet=replace(found.fleet, workload=workload))


def test_the_end_of_a_node_waits_for_what_its_cluster_says() -> None:
    assert "its cluster is asked first" in busy.bars(WAITS, in_cluster())
    text = "1 Pod is still there: ns/a (it is ending)"
    answer = Answered(answer=Answer.BUSY, at=NOW, text=text)
    barred = busy.bars(answered(Answer.BUSY, NOW), in_cluster(NOW, Workload(), answer))
    assert barred == f"its Node is not free: {text}; it is ended anyhow at 01:00:00 UTC"
    assert busy.bars(answered(Answer.FREE, NOW), in_cluster()) == ""


def test_a_node_is_asked_again_while_its_end_waits() -> None:
    waits = busy.waits(answered(Answer.BUSY, NOW - busy.EVERY), in_cluster())
    assert waits is not None
    assert waits.ask


@pytest.mark.parametrize("answer", [Answer.BUSY, Answer.UNKNOWN])
def test_at_the_bound_a_node_is_ended_or_waited_for_as_its_fleet_says(answer: Answer) -> None:
    late = BEGIN + FLEET.timers.drain + MINUTE
    machine = answered(answer, late - S)
    assert busy.bars(machine, in_cluster(late)) == ""
    waiting = in_cluster(late, Workload(waits=True))
    assert busy.bars(machine, waiting).endswith("it is waited for as long as it takes")
    waits = busy.waits(machine, waiting)
    assert waits is not None
    assert waits.retry_at == late - S + busy.EVERY, "it is not asked without a pause"
    assert busy.bars(answered(Answer.FREE, late), waiting) == ""


def test_an_end_at_once_asks_no_cluster() -> None:
    at_once = replace(WAITS, deletion=replace(ENDING, now=True))
    assert busy.bars(at_once, in_cluster(NOW, Workload(waits=True))) == ""


def test_a_changed_list_waits_for_no_cluster() -> None:
    assert busy.before_roll(WAITS, NOW, in_cluster()) is None


@pytest.mark.parametrize(
    ("actor", "why", "detail"),
    [
        (RESIZE, "scaled_down", "the fleet has more machines than its size"),
        ("ann", "too slow", "too slow (ann)"),
    ],
)
def test_it_is_on_record_why_a_machine_goes_and_which_person_asked(
    actor: str, why: str, detail: str
) -> None:
    """Of a fleet that shrinks nobody is named: nobody asked."""
    machine = replace(on_host(), deletion=Deletion(at=BEGIN, actor=actor, why=why))
    transition = Transition(before=machine, machine=machine, resources=())
    ended = end(transition, FleetRow(name=FLEET.name, created=BEGIN), snapshot())
    assert [event.detail for event in ended.events] == [f"ready>draining: {detail}"]
