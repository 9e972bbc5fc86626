"""Which call comes next for a box: asked to shut down first, then cut, and never twice at once."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import Epoch, ResourceId
from hostler.domain.model.calls import Shows
from hostler.domain.model.capabilities import Cleaning
from hostler.domain.model.host import HOST, Host, HostCondition, HostGoal
from hostler.domain.model.machine import Asked, CallState, Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, Resource
from hostler.providers.power.planner import SERVER, PowerPlanner
from hostler.testing.scenes.builders import BEGIN, ZONE
from hostler.testing.scenes.hosts import BOX, MAIN, MINE, on_host

SECOND = timedelta(seconds=1)
SETTLES, SOFT_WAIT = 15 * SECOND, 180 * SECOND
ALL = ("release", "cycle", "off_hard", "off_soft", "on")
PLANNER = PowerPlanner(Cleaning.POWER_CYCLE, SETTLES, SOFT_WAIT)


def allocation(machine: Machine, condition: Condition, *allowed: str) -> Resource:
    bound = machine.bound(SERVER)
    assert bound is not None
    return Resource(
        id=bound, slot=SERVER, zone=ZONE, condition=condition, allowed=allowed or ALL, type="box"
    )


def machine(phase: Phase, *asked: Asked) -> Machine:
    return replace(on_host(phase), since=BEGIN, asked=asked)


def asked(kind: str, at: float, state: CallState = CallState.DONE) -> Asked:
    when = BEGIN + at * SECOND
    return Asked(
        kind=f"box.{kind}",
        slot=SERVER,
        attempt=1,
        at=when,
        epoch=Epoch(1),
        closed=when,
        call_state=state,
        shows=Shows.REST,
    )


def kinds(goal: Goal, it: Machine, condition: Condition, at: float, *allowed: str) -> list[str]:
    box = allocation(it, condition, *allowed)
    return [call.kind for call in PLANNER.next_calls(goal, it, (box,), BEGIN + at * SECOND)]


@pytest.mark.parametrize(
    ("phase", "condition", "expected"),
    [
        (Phase.STARTING, Condition.OFF, ["box.on"]),
        (Phase.STARTING, Condition.STANDBY, ["box.on"]),
        (Phase.STARTING, Condition.UP, []),
        (Phase.STARTING, Condition.UNKNOWN, []),
        (Phase.READY, Condition.OFF, []),
    ],
)
def test_a_box_is_switched_on_while_its_machine_starts_and_it_is_seen_off(
    phase: Phase, condition: Condition, expected: list[str]
) -> None:
    assert kinds(Goal.PRESENT, machine(phase), condition, 0) == expected


def test_nothing_is_done_on_what_nobody_knows() -> None:
    for goal in (Goal.PRESENT, Goal.STANDBY):
        for phase in (Phase.STARTING, Phase.STOPPING):
            assert kinds(goal, machine(phase), Condition.UNKNOWN, 9999) == []


@pytest.mark.parametrize(
    ("before", "at", "expected"),
    [
        ((), 0, ["box.off_soft"]),
        ((asked("off_soft", 1),), 2, []),
        ((asked("off_soft", 1),), 180, []),
        ((asked("off_soft", 1),), 181, ["box.off_hard"]),
        ((asked("off_soft", 1), asked("off_hard", 181)), 190, []),
        ((asked("off_soft", 1), asked("off_hard", 181)), 196, ["box.off_hard"]),
        ((asked("off_soft", -500),), 0, ["box.off_soft"]),
        ((asked("off_soft", 1, CallState.LAPSED),), 100, []),
        ((asked("off_soft", 1, CallState.REFUSED),), 2, ["box.off_soft"]),
        ((asked("off_soft", 170, CallState.REFUSED),), 180, ["box.off_hard"]),
        ((asked("off_soft", 8),), 5, ["box.off_soft"]),
        ((asked("off_soft", 3600),), 5, ["box.off_soft"]),
        ((asked("off_soft", 5, CallState.REFUSED),), -3, ["box.off_soft"]),
    ],
)
def test_a_box_is_asked_to_shut_down_and_its_power_is_cut_when_that_took_too_long(
    before: tuple[Asked, ...], at: float, expected: list[str]
) -> None:
    stopping = machine(Phase.STOPPING, *before)
    assert kinds(Goal.STANDBY, stopping, Condition.UP, at) == expected


def test_what_can_only_be_asked_is_asked_again_and_what_can_only_be_cut_is_cut() -> None:
    stopping = machine(Phase.STOPPING, asked("off_soft", 1))
    assert kinds(Goal.STANDBY, stopping, Condition.UP, 181, "off_soft") == ["box.off_soft"]
    assert kinds(Goal.STANDBY, machine(Phase.STOPPING), Condition.UP, 0, "off_hard") == [
        "box.off_hard"
    ]
    assert kinds(Goal.STANDBY, machine(Phase.STOPPING), Condition.UP, 0, "on") == []


def test_a_command_that_was_ignored_is_given_again_once_its_effect_cannot_come_any_more() -> None:
    starting = machine(Phase.STARTING, asked("on", 0))
    assert kinds(Goal.PRESENT, starting, Condition.OFF, 14) == []
    assert kinds(Goal.PRESENT, starting, Condition.OFF, 15) == ["box.on"]
    undated = machine(Phase.STARTING, replace(asked("on", 0), closed=None))
    assert kinds(Goal.PRESENT, undated, Condition.OFF, 14) == []
    answered = machine(Phase.STARTING, replace(asked("on", 0), closed=BEGIN + 9 * SECOND))
    assert kinds(Goal.PRESENT, answered, Condition.OFF, 23) == []


def test_a_machine_lets_go_of_its_box_and_nothing_happens_to_it() -> None:
    assert kinds(Goal.ABSENT, machine(Phase.STOPPING), Condition.UP, 0) == ["box.release"]


@pytest.mark.parametrize(
    ("cleaning", "goal", "condition", "expected"),
    [
        (Cleaning.POWER_CYCLE, HostGoal.CLEAN, Condition.UP, ["host.off_soft"]),
        (Cleaning.POWER_CYCLE, HostGoal.CLEAN, Condition.OFF, []),
        (Cleaning.TRUSTED, HostGoal.CLEAN, Condition.UP, []),
        (Cleaning.TRUSTED, HostGoal.OFF, Condition.UP, ["host.off_soft"]),
        (Cleaning.POWER_CYCLE, HostGoal.OFF, Condition.UNKNOWN, []),
    ],
)
def test_a_free_box_is_switched_off_to_rest_or_to_become_clean(
    cleaning: Cleaning, goal: HostGoal, condition: Condition, expected: list[str]
) -> None:
    box = Resource(
        id=ResourceId(BOX), slot=HOST, zone=ZONE, condition=condition, allowed=ALL, type="box"
    )
    host = Host(id=BOX, account=MAIN, zone=ZONE, condition=HostCondition.FREE, since=BEGIN)
    planner = PowerPlanner(cleaning, SETTLES, SOFT_WAIT)
    assert [call.kind for call in planner.host_calls(goal, host, box, BEGIN)] == expected


def test_the_calls_of_a_machine_name_it() -> None:
    it = machine(Phase.STARTING)
    box = replace(allocation(it, Condition.OFF), owner_tag=None)
    (call,) = PLANNER.next_calls(Goal.PRESENT, it, (box,), BEGIN)
    assert call.once
    assert call.shows is Shows.POWER
    assert (call.target, call.arg("machine")) == (it.bound(SERVER), "")
    assert it.id == MINE
