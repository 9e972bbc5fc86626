"""Rests: what is remembered changes no decision, and is forgotten when anything is otherwise."""

from datetime import datetime, timedelta
from typing import NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hostler.domain.decide import decide
from hostler.domain.decision.cache import DecisionCache, is_plain
from hostler.domain.ids import ResourceId
from hostler.domain.machines import lifecycle
from hostler.domain.model.calls import Call
from hostler.domain.model.commands import SaveOrphans
from hostler.domain.model.fleet import Probe, ProbeKind
from hostler.domain.model.machine import Deletion, Known, Machine, Protection
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, Resource
from hostler.domain.model.snapshot import RequestKind, Snapshot
from hostler.domain.model.transition import IllegalMove
from hostler.domain.observation.certainty import reconcile, resources_of, survey, unissued_of
from hostler.testing.fakes.planner import FakePlanner
from hostler.testing.scenes.builders import ABROAD, BEGIN, FLEET, S, address, machine, server
from hostler.testing.scenes.fleet import Scene

SIZE = 4


def resting() -> tuple[Scene, DecisionCache]:
    """Return a fleet at rest, and what a few decisions remember of it."""
    scene, cache = Scene(fleet=replace(FLEET, size=SIZE)), DecisionCache()
    scene.furnish(*(machine(number) for number in range(1, SIZE + 1)))
    for _ in range(3):
        scene.observe()
        decide(scene.snapshot(), scene.planner, cache)
        scene.reconcile()
        scene.later(30 * S)
    scene.observe()
    return scene, cache


def both(scene: Scene, cache: DecisionCache) -> None:
    """The decision with what is remembered is the one without."""
    snapshot = scene.snapshot()
    assert decide(snapshot, scene.planner, cache) == decide(snapshot, scene.planner)


class Counting(FakePlanner):
    """Counts how often it is asked."""

    asked = 0

    def next_calls(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...], now: datetime
    ) -> tuple[Call, ...]:
        self.asked += 1
        return super().next_calls(goal, machine, resources, now)


def test_fleet_at_rest_is_not_asked_about_again() -> None:
    scene, cache = resting()
    scene.planner = planner = Counting()
    for _ in range(5):
        scene.observe()
        assert decide(scene.snapshot(), planner, cache).commands == ()
        scene.later(30 * S)
    assert planner.asked == 0


def test_only_what_is_otherwise_is_asked_about() -> None:
    scene, cache = resting()
    scene.planner = planner = Counting()
    scene.exist(replace(server(scene.the(2)), name="renamed"))
    scene.observe()
    decide(scene.snapshot(), planner, cache)
    assert planner.asked == 1


def test_everything_is_asked_about_again_after_a_while() -> None:
    scene, cache = resting()
    scene.planner = planner = Counting()
    for _ in range(40):
        scene.later(30 * S)
        scene.observe()
        decide(scene.snapshot(), planner, cache)
    assert SIZE <= planner.asked <= 3 * SIZE


def test_what_an_answer_removed_and_lists_show_still_is_not_slept_through() -> None:
    """It counts as there again after a while, though nothing changed but the time (fleeting
    108000016: the answer was 404 for a moment, and a surplus address stayed on the bill).
    """
    scene, cache = resting()
    entry = scene.the(2)
    extra = replace(address(entry), id=ResourceId("extra"))
    scene.exist(extra)
    scene.observe()
    place = entry.place(extra.slot)
    removed = Known(
        id=extra.id, zone=extra.zone, since=BEGIN, attempt=1, removed=scene.now, missing=True
    )
    scene.keep(entry.with_place(replace(place, known=(*place.known, removed))))
    commands = 0
    for _ in range(20):
        both(scene, cache)
        commands += len(decide(scene.snapshot(), scene.planner).commands)
        scene.later(10 * S)
        scene.observe()
    assert commands, "it is removed once more"


CHANGES = [
    "off",
    "gone",
    "address",
    "surplus",
    "unrecorded",
    "unissued",
    "foreign",
    "request",
    "end",
    "protect",
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
            scene.resources.pop(server(entry).id, None)
        case "address":
            scene.resources.pop(address(entry).id, None)
        case "surplus":
            scene.exist(server(entry, attempt=2, name="other"))
        case "another's":
            scene.intrude(server(entry, attempt=2, name="another's"))
        case "unrecorded":
            scene.exist(server(machine(90)))
        case "unissued":
            scene.intrude(server(machine(90)))
        case "foreign":
            scene.exist(server(machine(90), installation=ABROAD))
        case "request":
            scene.request(RequestKind.SCALE, size=2)
        case "end":
            scene.keep(replace(entry, deletion=Deletion(at=BEGIN, actor="ann", why="")))
        case "protect":
            scene.keep(
                replace(entry, protection=Protection(until=scene.now + 60 * S, why="", actor=""))
            )
        case "phase":
            scene.keep(replace(entry, phase=Phase.STARTING))
        case "row":
            scene.row = replace(scene.row, size=SIZE + 1)
        case "pause":
            pause = Protection(until=scene.now + 60 * S, why="", actor="")
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
            deleted = machine(91, Phase.DELETED)
            scene.history[deleted.id] = deleted
            scene.exist(server(deleted))
        case "moving":
            scene.moving.add(entry.id)
        case "creations":
            scene.row = replace(scene.row, creations=(scene.now - timedelta(minutes=59),))
        case _:
            pass


@pytest.mark.parametrize("what", CHANGES)
def test_whatever_changes_is_noticed_at_once(what: str) -> None:
    scene, cache = resting()
    change(scene, what)
    for _ in range(12):
        scene.observe()
        both(scene, cache)
        scene.reconcile()
        both(scene, cache)
        scene.later(20 * S)


@pytest.mark.parametrize("field", ["foreign", "unexplained", "removing", "unissued"])
def test_no_picture_with_somebodys_resource_in_it_is_plain(field: str) -> None:
    scene, _ = resting()
    snapshot = scene.snapshot()
    assert is_plain(snapshot)
    assert not is_plain(replace(snapshot, **{field: (server(machine(90)),)}))


@pytest.mark.parametrize("field", ["max_age", "replace"])
def test_what_ends_with_time_alone_is_not_slept_through(field: str) -> None:
    scene, cache = resting()
    timers = replace(FLEET.timers, max_age=timedelta(minutes=20))
    outdated = {"template": "new", "replace_outdated": True, "surge": 0}
    scene.fleet = replace(scene.fleet, **({"timers": timers} if field == "max_age" else outdated))
    for _ in range(60):
        scene.observe()
        both(scene, cache)
        scene.reconcile()
        scene.later(20 * S)


def test_the_end_of_a_protection_is_not_slept_through() -> None:
    """What a smaller size would end, and a protection keeps, ends with the protection."""
    scene, cache = resting()
    scene.fleet, until = replace(scene.fleet, size=0), scene.now + 10 * S
    for entry in tuple(scene.machines.values()):
        scene.keep(replace(entry, protection=Protection(until=until, why="a look", actor="ann")))
    snapshot = scene.snapshot()
    assert not decide(snapshot, scene.planner, cache).commands
    over = replace(snapshot, now=until + 1 * S)
    assert decide(over, scene.planner, cache) == decide(over, scene.planner)
    assert decide(over, scene.planner, cache).commands


@pytest.mark.parametrize("down", [Condition.OFF, Condition.STANDBY])
def test_machine_that_goes_down_within_the_consistency_delay_of_its_start_is_not_slept_through(
    down: Condition,
) -> None:
    """At first a look may be older than the start: what is down then counts a minute later."""
    scene, cache = Scene(), DecisionCache()
    entry = machine(1, since=scene.now)
    scene.furnish(entry)
    scene.exist(server(entry, down))
    for _ in range(15):
        scene.observe()
        both(scene, cache)
        scene.reconcile()
        both(scene, cache)
        scene.later(20 * S)
    assert scene.machines[entry.id].phase is not Phase.READY


@settings(max_examples=30)
@given(st.lists(st.sampled_from(CHANGES), max_size=6), st.integers(0, 120))
def test_remembering_changes_no_decision(changes: list[str], pause: int) -> None:
    scene, cache = resting()
    for what in changes:
        if machine(2).id in scene.machines and server(machine(2)).id in scene.resources:
            change(scene, what)
        for _ in range(3):
            scene.observe()
            both(scene, cache)
            scene.reconcile()
            scene.later(pause * S)
        scene.moving.clear()


@given(
    st.lists(
        st.sampled_from(["off", "gone", "address", "surplus", "another's", "phase", "end"]),
        max_size=4,
    )
)
def test_survey_is_what_reconciling_and_then_asking_for_the_resources_comes_to(
    changes: list[str],
) -> None:
    scene, _ = resting()
    for what in changes:
        if server(machine(2)).id in scene.resources and address(machine(2)).id in scene.resources:
            change(scene, what)
        scene.observe()
        snapshot = scene.snapshot()
        for entry in snapshot.machines:
            known = reconcile(entry, snapshot)
            assert survey(entry, snapshot) == (
                known,
                resources_of(known, snapshot),
                unissued_of(entry, snapshot),
            )
        scene.reconcile()
        scene.later(30 * S)


def test_survey_brings_back_a_pause_that_began_in_the_future() -> None:
    scene, _ = resting()
    scene.observe()
    snapshot = scene.snapshot()
    future = snapshot.now + 60 * S
    entry = replace(snapshot.machines[0], retry_since=future, retry_at=future + 5 * S)
    known, *_ = survey(entry, snapshot)
    assert known == reconcile(entry, snapshot)
    assert known.retry_at == snapshot.now + 5 * S


def test_bug_of_a_provider_for_one_machine_is_told_and_stops_no_other() -> None:
    class Buggy(FakePlanner):
        def next_calls(
            self, goal: Goal, machine: Machine, resources: tuple[Resource, ...], now: datetime
        ) -> tuple[Call, ...]:
            if machine.id == second:
                raise KeyError("surprise")
            return super().next_calls(goal, machine, resources, now)

    second = machine(2).id
    scene, _ = resting()
    scene.exist(server(machine(1), Condition.OFF))
    scene.planner = Buggy()
    alarms = list[str]()
    for _ in range(15):
        scene.observe()
        alarms += scene.reconcile().alarms
        scene.later(2 * S)
    assert any("surprise" in alarm for alarm in alarms)
    assert scene.the(1).phase is Phase.STOPPING
    assert scene.the(2).phase is Phase.READY


def test_machine_of_which_its_provider_cannot_say_anything_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def next_calls(*_: object) -> NoReturn:
        raise KeyError("surprise")

    scene, _ = resting()
    change(scene, "end")
    monkeypatch.setattr(scene.planner, "next_calls", next_calls)
    assert any("surprise" in alarm for alarm in scene.reconcile().alarms)
    assert scene.the(2).phase is Phase.READY


def test_illegal_move_of_a_machine_hides_nothing_that_another_store_made_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def illegal(machine: Machine, snapshot: Snapshot, *, wave: bool) -> NoReturn:
        raise IllegalMove(f"{machine.id}: {snapshot.now}, {wave}")

    scene, _ = resting()
    change(scene, "another's")
    scene.observe()
    monkeypatch.setattr(lifecycle, "follow", illegal)
    reported = [c for c in scene.decide().commands if isinstance(c, SaveOrphans)]
    assert [orphan.resource for save in reported for orphan in save.orphans] == ["another's"]
