"""Every corner of what the planner may see of one box: no wrong call, and always a way out."""

from collections.abc import Iterator
from itertools import combinations, product

from hostler.domain.model.machine import CallState
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition

from .test_planner import SECOND, SETTLES, SOFT_WAIT, asked, kinds, machine

OFF = {Condition.OFF, Condition.STANDBY}
SWITCHES = ("off_hard", "off_soft")
ABLE = [("on", *some) for count in range(3) for some in combinations(SWITCHES, count)]
LAST = [
    None,
    *product(("on", *SWITCHES), CallState, (-1, 0, 1)),
]
LATER = int((SOFT_WAIT + SETTLES) / SECOND) + 1
TIMES = (1, int(SETTLES / SECOND), int(SOFT_WAIT / SECOND), LATER)
Last = tuple[str, CallState, int] | None
Corner = tuple[Goal, Phase, Condition, tuple[str, ...], Last]


def corners() -> Iterator[Corner]:
    goals = (Goal.PRESENT, Goal.STANDBY)
    return product(goals, (Phase.STARTING, Phase.STOPPING), Condition, ABLE, LAST)


def calls(corner: Corner, at: int) -> list[str]:
    goal, phase, condition, able, last = corner
    box = machine(phase, *([asked(last[0], last[2], last[1])] if last else []))
    return [kind.removeprefix("box.") for kind in kinds(goal, box, condition, at, *able)]


def test_no_corner_switches_a_box_whose_power_is_not_known() -> None:
    known = {*OFF, Condition.UP}
    for corner, at in product(corners(), TIMES):
        assert corner[2] in known or not calls(corner, at), (corner, at)


def test_no_corner_switches_the_wrong_way_or_by_what_the_box_cannot_do() -> None:
    for corner, at in product(corners(), TIMES):
        goal, _, condition, able, _ = corner
        for call in calls(corner, at):
            assert call in able, (corner, at)
            right = (Goal.PRESENT, True) if call == "on" else (Goal.STANDBY, False)
            assert (goal, condition in OFF) == right, (corner, at)


def test_no_corner_cuts_power_before_a_box_had_its_time_to_shut_down() -> None:
    for corner, at in product(corners(), TIMES):
        _, _, _, able, last = corner
        if "off_soft" not in able or "off_hard" not in calls(corner, at):
            continue
        assert last is not None, (corner, at)
        assert last[0] == "off_soft", (corner, at)
        begun = 0 if last[1] is CallState.REFUSED else last[2]
        assert begun >= 0, (corner, at)
        assert (at - begun) * SECOND >= SOFT_WAIT, (corner, at)


def test_no_corner_repeats_a_command_that_may_still_be_obeyed() -> None:
    for corner, at in product(corners(), TIMES):
        last = corner[4]
        if last is not None and last[1] is CallState.DONE and (at - last[2]) * SECOND < SETTLES:
            assert last[0] not in calls(corner, at), (corner, at)


def test_every_corner_has_a_way_out() -> None:
    for corner in corners():
        goal, phase, condition, able, _ = corner
        starts = goal is Goal.PRESENT and phase is Phase.STARTING and condition in OFF
        stops = goal is Goal.STANDBY and condition is Condition.UP and len(able) > 1
        assert bool(calls(corner, LATER)) == (starts or stops), corner
