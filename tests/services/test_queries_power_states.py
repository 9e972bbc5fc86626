"""How a host of ours reads in the states of the older autoscaler: over all of ours, and one by one.

The numbers are those of docs/explanation/thirty-defects.md.
"""

import itertools
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from hostler.domain.ids import AccountName, HostId, Zone, machine_id
from hostler.domain.model.fleet import Timers
from hostler.domain.model.hold import Hold, HoldKind
from hostler.domain.model.host import Host, HostCondition, HostGoal, HostPower
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase, Reason
from hostler.domain.reporting.hosts import HostStatus
from hostler.ports.power import PowerState
from hostler.queries import documents
from hostler.queries.power_states import (
    ENGINE,
    OperationKind,
    PowerStatus,
    Progress,
    power_status,
    power_statuses,
)
from hostler.testing.scenes.builders import FLEET, OFFER

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SINCE = NOW - timedelta(minutes=3)
BOX = HostId("box-1")
POWERS = (True, False, None)
TIMERS = Timers(start=timedelta(minutes=15))
PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "thirty-defects.md"


def box(on: bool | None = False, **fields: object) -> Host:
    host = Host(
        id=BOX,
        account=AccountName("main"),
        zone=Zone("rack"),
        since=SINCE,
        power=HostPower(on=on, begun=SINCE, starts=1),
    )
    return replace(host, **fields)


def machine(phase: Phase, goal: Goal = Goal.PRESENT, **fields: object) -> Machine:
    made = Machine(
        id=machine_id(1),
        fleet=FLEET.name,
        serial=1,
        created=SINCE,
        phase=phase,
        since=SINCE,
        offer=OFFER,
        goal=goal,
        host=BOX,
    )
    return replace(made, **fields)


def with_machines() -> list[tuple[Phase, Goal, bool | None, PowerStatus]]:
    """Return the status of every combination of a phase, a goal and a power."""
    return [
        (phase, goal, on, power_status(box(on), machine(phase, goal), NOW, TIMERS))
        for phase, goal, on in itertools.product(Phase, Goal, POWERS)
    ]


def with_none() -> list[tuple[HostCondition, HostGoal | None, bool | None, PowerStatus]]:
    """Return the status of every combination of a condition, a goal and a power of its own."""
    return [
        (condition, goal, on, power_status(box(on, condition=condition, goal=goal), None, NOW))
        for condition, goal, on in itertools.product(HostCondition, (*HostGoal, None), POWERS)
    ]


EVERY = [status for *_, status in (*with_machines(), *with_none())]


# ---------------------------------------------------------------- what holds for all of them


def test_every_state_of_then_is_one_of_ours_and_only_what_was_seen_off_is_shut_down() -> None:
    assert {status.progress for status in EVERY} == {*Progress}
    for status in EVERY:
        if status.progress is Progress.SHUTDOWN:
            assert status.power is PowerState.OFF, "what does not answer is not off (7)"
        if status.progress is Progress.READY:
            assert status.power is not PowerState.OFF, "ready, and maybe off (4)"


def test_what_is_under_way_has_an_operation_of_its_direction_and_nothing_else_has_one() -> None:
    kinds = {
        Progress.STARTING_UP: {OperationKind.SCALE_UP},
        Progress.SHUTTING_DOWN: {OperationKind.SCALE_DOWN, None},
    }
    for status in EVERY:
        kind = status.operation.kind if status.operation is not None else None
        assert kind in kinds.get(status.progress, {None})


def test_a_machine_on_its_way_always_has_an_operation_with_its_bound() -> None:
    """No transition without a deadline that is counted from a record (1, 2)."""
    bounds = {
        Phase.PENDING: TIMERS.admit,
        Phase.STARTING: TIMERS.start,
        Phase.STOPPING: TIMERS.stop,
        Phase.FAILED: TIMERS.keep_failed,
    }
    for phase, _, on, status in with_machines():
        if phase is Phase.DELETED or status.progress in {Progress.SHUTDOWN, Progress.READY}:
            continue
        assert status.operation is not None
        assert (status.operation.owner, status.operation.since) == (machine_id(1), SINCE)
        assert status.operation.timeout == bounds.get(phase), (phase, on)


def test_a_machine_that_is_deleted_is_none() -> None:
    for phase, _, on, status in with_machines():
        if phase is Phase.DELETED:
            assert status == power_status(box(on), None, NOW)


def test_what_no_machine_may_use_is_never_ready() -> None:
    usable = {HostCondition.FREE, HostCondition.ALLOCATED}
    for condition, _, _, status in with_none():
        if condition not in usable:
            assert status.progress is not Progress.READY


# ---------------------------------------------------------------- one by one


@pytest.mark.parametrize(
    ("phase", "goal", "on", "progress"),
    [
        (Phase.PENDING, Goal.PRESENT, False, Progress.STARTING_UP),
        (Phase.PENDING, Goal.ABSENT, False, Progress.SHUTDOWN),
        (Phase.STARTING, Goal.PRESENT, None, Progress.STARTING_UP),
        (Phase.STARTING, Goal.ABSENT, False, Progress.SHUTTING_DOWN),
        (Phase.READY, Goal.PRESENT, True, Progress.READY),
        (Phase.READY, Goal.PRESENT, None, Progress.READY),
        (Phase.READY, Goal.PRESENT, False, Progress.SHUTDOWN),
        (Phase.DRAINING, Goal.ABSENT, True, Progress.READY),
        (Phase.STOPPING, Goal.ABSENT, True, Progress.SHUTTING_DOWN),
        (Phase.STOPPING, Goal.PRESENT, False, Progress.SHUTTING_DOWN),
        (Phase.STANDBY, Goal.STANDBY, False, Progress.SHUTDOWN),
        (Phase.STANDBY, Goal.STANDBY, None, Progress.SHUTTING_DOWN),
        (Phase.STANDBY, Goal.PRESENT, False, Progress.STARTING_UP),
        (Phase.FAILED, Goal.PRESENT, True, Progress.SHUTTING_DOWN),
        (Phase.FAILED, Goal.PRESENT, False, Progress.SHUTDOWN),
    ],
)
def test_state_of_a_machines_host(
    phase: Phase, goal: Goal, on: bool | None, progress: Progress
) -> None:
    assert power_status(box(on), machine(phase, goal), NOW).progress is progress


@pytest.mark.parametrize(
    ("fields", "on", "progress", "kind"),
    [
        ({"condition": HostCondition.FREE}, False, Progress.SHUTDOWN, None),
        ({"condition": HostCondition.FREE}, True, Progress.READY, None),
        ({"condition": HostCondition.FREE}, None, Progress.SHUTTING_DOWN, None),
        ({"goal": HostGoal.ON}, False, Progress.STARTING_UP, OperationKind.SCALE_UP),
        ({"goal": HostGoal.OFF}, True, Progress.SHUTTING_DOWN, OperationKind.SCALE_DOWN),
        (
            {"condition": HostCondition.DIRTY},
            None,
            Progress.SHUTTING_DOWN,
            OperationKind.SCALE_DOWN,
        ),
        ({"condition": HostCondition.DIRTY}, False, Progress.SHUTDOWN, None),
        ({"condition": HostCondition.QUARANTINED}, True, Progress.SHUTTING_DOWN, None),
        (
            {"condition": HostCondition.QUARANTINED, "goal": HostGoal.CLEAN},
            None,
            Progress.SHUTTING_DOWN,
            None,
        ),
        (
            {"condition": HostCondition.QUARANTINED, "goal": HostGoal.CLEAN},
            True,
            Progress.SHUTTING_DOWN,
            None,
        ),
    ],
)
def test_state_of_a_host_that_no_machine_has(
    fields: dict[str, object], on: bool | None, progress: Progress, kind: OperationKind | None
) -> None:
    status = power_status(box(on, **fields), None, NOW)
    found = status.operation.kind if status.operation is not None else None
    assert (status.progress, found) == (progress, kind)


def test_the_owner_of_an_operation_is_a_machine_a_person_or_the_engine() -> None:
    until = NOW + timedelta(hours=1)
    held = Hold(kind=HoldKind.ON, until=until, actor="ann", why="I look at it")
    going_on = box(False, condition=HostCondition.FREE, goal=HostGoal.ON)
    owners = [
        power_status(going_on, machine(Phase.STARTING), NOW).operation,
        power_status(replace(going_on, hold=held), None, NOW).operation,
        power_status(replace(going_on, hold=held), None, until).operation,
    ]
    assert [one.owner for one in owners if one is not None] == [machine_id(1), "ann", ENGINE]
    assert [one.since for one in owners if one is not None] == [SINCE] * 3


def test_tries_and_the_last_failure_are_the_machines_then_the_hosts() -> None:
    host = box(True, error="the outlet is stuck", tries=2)
    refused = machine(Phase.STARTING, error="busy", tries=3, retry_at=NOW)
    status = power_status(host, refused, NOW)
    assert (status.last_failure, status.tries, status.retry_at) == ("busy", 3, NOW)
    overdue = machine(Phase.FAILED, reason=Reason.START_OVERDUE)
    failure = power_status(host, overdue, NOW).last_failure
    assert failure == "it did not become ready within its start bound"
    assert power_status(host, machine(Phase.STARTING), NOW).last_failure == "the outlet is stuck"
    assert (power_status(host, None, NOW).tries, power_status(host, None, NOW).retry_at) == (
        2,
        None,
    )


# ---------------------------------------------------------------- as it is listed


def status_of(host: Host, bound: Machine | None) -> HostStatus:
    binding = bound.id if bound is not None else None
    return HostStatus(id=host.id, account=host.account, record=host, binding=binding)


def test_a_host_shows_its_power_state_and_one_whose_power_is_not_ours_shows_none() -> None:
    starting = machine(Phase.STARTING)
    fleet = replace(FLEET, timers=TIMERS)
    listed = status_of(box(False), starting)
    found = power_statuses([listed], [starting], [fleet], NOW)
    document = documents.host(listed, NOW, found[BOX])["power_state"]
    assert document == {
        "state": "startingup",
        "power": "off",
        "operation": {
            "operation": "scale-up",
            "owner": str(machine_id(1)),
            "since": SINCE,
            "until": SINCE + TIMERS.start,
            "timeout_seconds": 900.0,
        },
        "tries": 0,
        "retry_at": None,
        "last_failure": "",
    }
    leased = status_of(replace(box(), power=HostPower()), starting)
    assert power_statuses([leased], [starting], [fleet], NOW) == {}
    assert documents.host(leased, NOW)["power_state"] is None


def test_the_page_has_the_state_of_every_phase_and_condition() -> None:
    """The page's rows are what the projection answers, with its power as the page says it."""
    table = PAGE.read_text().partition("## Read from our records")[2]
    row = r"^\| \*(\w+)\*(?:, ([^|]+?))? \| (\w+) \| (\w+) \| (\w+) \|$"
    rows = re.findall(row, table, re.MULTILINE)
    named = {word for word, *_ in rows}
    assert named >= ({str(p) for p in Phase} | {str(c) for c in HostCondition}) - {"deleted"}
    for word, goal, *states in rows:
        for on, state in zip(POWERS, states, strict=True):
            if word in {str(phase) for phase in Phase}:
                usual = Goal.STANDBY if word == "standby" else Goal.PRESENT
                wanted = {"to go": Goal.ABSENT, "to be woken": Goal.PRESENT}.get(goal, usual)
                found = power_status(box(on), machine(Phase(word), wanted), NOW)
            else:
                own = HostGoal(goal.removeprefix("to be ")) if goal else None
                record = box(on, condition=HostCondition(word), goal=own)
                found = power_status(record, None, NOW)
            assert found.progress == state, (word, goal, on)
