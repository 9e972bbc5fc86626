import io
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest
from rich.console import Console
from rich.text import Text

from hostler.app.compose import Composed
from hostler.domain.ids import CycleId, FleetName, machine_id
from hostler.domain.model.commands import Event
from hostler.lab.demo.board import below
from hostler.lab.demo.demo import at_simulator, example
from hostler.lab.demo.environment import conclusion
from hostler.lab.demo.script import RULES, Script
from hostler.lab.demo.tally import Tally, count_healed, count_made
from hostler.simulators.scaleway.faults.rates import CALM, LIVELY
from hostler.simulators.scaleway.world import World


def event(kind: str, machine: int, detail: str = "") -> Event:
    return Event(
        kind=kind,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        fleet=FleetName("web"),
        cycle=CycleId("t"),
        machine=machine_id(machine),
        detail=detail,
    )


EVENTS = (
    event("made", 1),
    event("made", 2),
    event("moved", 1, "ready>failed: gone"),
    event("moved", 1, "failed>stopping: kept no longer"),
    event("moved", 2, "starting>failed: overdue"),
    event("moved", 2, "failed>ready: recovered"),
    event("moved", 2, "ready>failed: gone"),
    event("made", 3),
)


def test_a_machine_that_failed_is_healed_once_its_place_is_filled() -> None:
    assert count_made(EVENTS) == 3
    assert count_healed(EVENTS, wanted=2, ready=2) == 2
    assert count_healed(EVENTS, wanted=2, ready=1) == 1
    assert count_healed(EVENTS, wanted=2, ready=0) == 0
    assert count_healed((), wanted=2, ready=2) == 0


def test_the_tally_has_the_promised_keys() -> None:
    value = Tally(wanted=5, ready=5, made=7, healed=2, faults={"b": 1, "a": 2}).as_json()
    assert list(value) == [
        "wanted",
        "ready",
        "made",
        "healed",
        "faults",
        "calls",
        "leaks",
        "cost",
    ]
    assert list(value["faults"]) == ["a", "b"]  # pyright: ignore[reportArgumentType] - a dict


def test_what_is_left_is_not_called_nothing() -> None:
    def printed(tally: Tally, *, empty: bool) -> str:
        console = Console(file=io.StringIO(), width=80)
        console.print(conclusion(tally, empty=empty))
        assert isinstance(console.file, io.StringIO)
        return console.file.getvalue()

    good = Tally(wanted=5, ready=5, made=5, healed=0)
    bad = Tally(wanted=5, ready=5, made=5, healed=0, leaks=2)
    assert "nothing is left behind" in printed(good, empty=True)
    assert "something is left" in printed(bad, empty=True)
    assert "2 resources on the bill" in printed(bad, empty=True)
    assert "something is left" in printed(good, empty=False)
    assert "was not whole" in printed(Tally(wanted=5, ready=4, made=5, healed=0), empty=True)
    assert "was not whole" not in printed(good, empty=True)


def test_troubles_are_scripted_once_and_faults_come_and_go() -> None:
    messages = list[str]()
    world = World(lambda: 0.0, Random(1))
    script = Script(world, messages.append)
    script.begin()
    assert len(script.missed()) == len(RULES) == 4
    script.rouse()
    script.rouse()
    assert world.fault_rates is LIVELY
    script.delete_one()
    assert not script.deleted
    script.clear()
    script.clear()
    assert world.fault_rates is CALM
    assert len(messages) == len(RULES) + 2


def test_the_example_is_moved_to_the_simulator_with_a_store_of_its_own(tmp_path: Path) -> None:
    config = at_simulator(Composed().load(example()), "http://127.0.0.1:7", 2345, tmp_path)
    assert config.store.path.parent == tmp_path
    assert config.fleets[0].probe.port == 2345
    assert config.fleets[0].size == 5
    assert getattr(config.accounts[0].settings, "endpoint", "") == "http://127.0.0.1:7"


@pytest.mark.parametrize(("height", "lines"), [(10, 3), (4, 2), (3, 1), (2, 0), (1, 0)])
def test_below_a_picture_stand_the_last_textseach_on_one(height: int, lines: int) -> None:
    console = Console(file=io.StringIO(), width=20, height=height, color_system=None)
    texts = [Text(f"line {n} " + "x" * 40, no_wrap=True, overflow="ellipsis") for n in range(3)]
    console.print(below((Text("head " * 6),), texts))
    file = console.file
    assert isinstance(file, io.StringIO)
    head, *rest = file.getvalue().split("line")[0], *file.getvalue().splitlines()[2:]
    assert head.split() == ["head"] * 6
    assert [line[:6] for line in rest] == [f"line {n}" for n in range(3 - lines, 3)]
    assert all(line.endswith("…") and len(line) == 20 for line in rest)
