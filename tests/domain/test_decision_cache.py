"""Rests: what is remembered changes no decision, and is forgotten when anything is otherwise."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostler.domain.decide import decide
from hostler.domain.decision_cache import Rests
from hostler.domain.model.calls import Call
from hostler.domain.model.fleet import Probe, ProbeKind
from hostler.domain.model.machine import Ending, Hold, Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, Part
from hostler.domain.model.snapshot import WishKind
from hostler.domain.observation.certainty import parts_of, reconcile, survey
from hostler.testing.fakes.planner import FakeWays
from hostler.testing.scenes.builders import ABROAD, BEGIN, FLEET, S, address, machine, server
from hostler.testing.scenes.fleet import Scene

SIZE = 4


def resting() -> tuple[Scene, Rests]:
    """Return a fleet at rest, and what a few decisions remember of it."""
    scene, rests = Scene(fleet=replace(FLEET, size=SIZE)), Rests()
    scene.furnish(*(machine(number) for number in range(1, SIZE + 1)))
    for _ in range(3):
        scene.look()
        decide(scene.seen(), scene.ways, rests)
        scene.turn()
        scene.later(30 * S)
    scene.look()
    return scene, rests


def both(scene: Scene, rests: Rests) -> None:
    """The decision with what is remembered is the one without."""
    seen = scene.seen()
    assert decide(seen, scene.ways, rests) == decide(seen, scene.ways)


class Counting(FakeWays):
    """Counts how often it is asked."""

    asked = 0

    def next_calls(
        self, goal: Goal, machine: Machine, parts: tuple[Part, ...], now: datetime
    ) -> tuple[Call, ...]:
        self.asked += 1
        return super().next_calls(goal, machine, parts, now)


def test_fleet_at_rest_is_not_asked_about_again() -> None:
    scene, rests = resting()
    scene.ways = ways = Counting()
    for _ in range(5):
        scene.look()
        assert decide(scene.seen(), ways, rests).commands == ()
        scene.later(30 * S)
    assert ways.asked == 0


def test_only_what_is_otherwise_is_asked_about() -> None:
    scene, rests = resting()
    scene.ways = ways = Counting()
    scene.exist(replace(server(scene.the(2)), name="renamed"))
    scene.look()
    decide(scene.seen(), ways, rests)
    assert ways.asked == 1


def test_everything_is_asked_about_again_after_a_while() -> None:
    scene, rests = resting()
    scene.ways = ways = Counting()
    for _ in range(40):
        scene.later(30 * S)
        scene.look()
        decide(scene.seen(), ways, rests)
    assert SIZE <= ways.asked <= 3 * SIZE


CHANGES = [
    "off",
    "gone",
    "address",
    "surplus",
    "stray",
    "foreign",
    "wish",
    "end",
    "hold",
    "phase",
    "row",
    "pause",
    "fleet",
    "outdated",
    "jump",
    "back",
    "late",
    "moving",
    "creations",
    "nothing",
]


def change(scene: Scene, what: str) -> None:  # noqa: C901, PLR0912 - one line each
    entry = scene.the(2)
    match what:
        case "off":
            scene.exist(server(entry, Condition.OFF))
        case "gone":
            scene.vanish(server(entry).id)
        case "address":
            scene.vanish(address(entry).id)
        case "surplus":
            scene.exist(server(entry, attempt=2, name="other"))
        case "stray":
            scene.exist(server(machine(90)))
        case "foreign":
            scene.exist(server(machine(90), installation=ABROAD))
        case "wish":
            scene.wish(WishKind.SCALE, size=2)
        case "end":
            scene.keep(replace(entry, ending=Ending(at=BEGIN, actor="ann", why="")))
        case "hold":
            scene.keep(replace(entry, hold=Hold(until=scene.now + 60 * S, why="", actor="")))
        case "phase":
            scene.keep(replace(entry, phase=Phase.STARTING))
        case "row":
            scene.row = replace(scene.row, size=SIZE + 1)
        case "pause":
            pause = Hold(until=scene.now + 60 * S, why="", actor="")
            scene.row = replace(scene.row, pause=pause)
        case "fleet":
            scene.fleet = replace(scene.fleet, size=SIZE - 1, probe=Probe(kind=ProbeKind.TCP))
        case "outdated":
            scene.fleet = replace(scene.fleet, template="new", replace_outdated=True, surge=0)
        case "jump":
            scene.later(timedelta(days=1))
            scene.jumped = scene.now
        case "back":
            scene.later(-timedelta(days=1))
        case "late":
            gone = machine(91, Phase.GONE)
            scene.history[gone.id] = gone
            scene.exist(server(gone))
        case "moving":
            scene.moving.add(entry.id)
        case "creations":
            scene.row = replace(scene.row, creations=(scene.now - timedelta(minutes=59),))
        case _:
            pass


@pytest.mark.parametrize("what", CHANGES)
def test_whatever_changes_is_noticed_at_once(what: str) -> None:
    scene, rests = resting()
    change(scene, what)
    for _ in range(12):
        scene.look()
        both(scene, rests)
        scene.turn()
        both(scene, rests)
        scene.later(20 * S)


@pytest.mark.parametrize("field", ["max_age", "replace"])
def test_what_ends_with_time_alone_is_not_slept_through(field: str) -> None:
    scene, rests = resting()
    timers = replace(FLEET.timers, max_age=timedelta(minutes=20))
    outdated = {"template": "new", "replace_outdated": True, "surge": 0}
    scene.fleet = replace(scene.fleet, **({"timers": timers} if field == "max_age" else outdated))
    for _ in range(60):
        scene.look()
        both(scene, rests)
        scene.turn()
        scene.later(20 * S)


@pytest.mark.parametrize("down", [Condition.OFF, Condition.STANDBY])
def test_machine_that_goes_down_within_settle_of_its_start_is_not_slept_through(
    down: Condition,
) -> None:
    """At first a look may be older than the start: what is down then counts a minute later."""
    scene, rests = Scene(), Rests()
    entry = machine(1, since=scene.now)
    scene.furnish(entry)
    scene.exist(server(entry, down))
    for _ in range(15):
        scene.look()
        both(scene, rests)
        scene.turn()
        both(scene, rests)
        scene.later(20 * S)
    assert scene.machines[entry.id].phase is not Phase.READY


@settings(max_examples=30)
@given(st.lists(st.sampled_from(CHANGES), max_size=6), st.integers(0, 120))
def test_remembering_changes_no_decision(changes: list[str], pause: int) -> None:
    scene, rests = resting()
    for what in changes:
        if machine(2).id in scene.machines and server(machine(2)).id in scene.parts:
            change(scene, what)
        for _ in range(3):
            scene.look()
            both(scene, rests)
            scene.turn()
            scene.later(pause * S)
        scene.moving.clear()


@given(st.lists(st.sampled_from(["off", "gone", "address", "surplus", "phase", "end"]), max_size=4))
def test_survey_is_what_reconciling_and_then_asking_for_the_parts_comes_to(
    changes: list[str],
) -> None:
    scene, _ = resting()
    for what in changes:
        if server(machine(2)).id in scene.parts and address(machine(2)).id in scene.parts:
            change(scene, what)
        scene.look()
        seen = scene.seen()
        for entry in seen.machines:
            known = reconcile(entry, seen)
            assert survey(entry, seen) == (known, parts_of(known, seen))
        scene.turn()
        scene.later(30 * S)


def test_bug_of_a_provider_for_one_machine_is_told_and_stops_no_other() -> None:
    class Buggy(FakeWays):
        def next_calls(
            self, goal: Goal, machine: Machine, parts: tuple[Part, ...], now: datetime
        ) -> tuple[Call, ...]:
            if machine.id == second:
                raise KeyError("surprise")
            return super().next_calls(goal, machine, parts, now)

    second = machine(2).id
    scene, _ = resting()
    scene.exist(server(machine(1), Condition.OFF))
    scene.ways = Buggy()
    alarms = list[str]()
    for _ in range(15):
        scene.look()
        alarms += scene.turn().alarms
        scene.later(2 * S)
    assert any("surprise" in alarm for alarm in alarms)
    assert scene.the(1).phase is Phase.STOPPING
    assert scene.the(2).phase is Phase.READY
