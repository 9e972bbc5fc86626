"""Every state that a small world can reach: no invariant breaks, and each state has an exit."""

import pytest

from hostler.lab.model_check.servers.explore import QUICK, explore
from hostler.lab.model_check.servers.state import Fault, Setting
from hostler.lab.mutants.mutant import planted
from hostler.lab.mutants.servers import MUTANTS


def yes(*_: object) -> bool:
    return True


def no(*_: object) -> bool:
    return False


@pytest.mark.parametrize("name", QUICK)
def test_nothing_breaks_in_any_state_of_a_small_world(name: str) -> None:
    found = explore(QUICK[name])
    assert found.wrong == "", "\n".join(found.path)
    assert found.finished
    assert found.states > 1000
    assert found.rests > 1


@pytest.mark.parametrize(
    ("bug", "setting", "invariant"),
    [
        ("gone-too-early", Setting(addresses=0), "S7"),
        ("no-rollback", Setting(addresses=0), "S7"),
        ("blind-retry", Setting(addresses=0), "S2"),
        ("answer-forgotten", Setting(addresses=0, kinds=(Fault.LAG,), faults=2), "S2"),
        ("one-attempt-number", Setting(kinds=(Fault.LOST_BEFORE,)), "S5"),
        (
            "bound-is-surplus",
            Setting(addresses=0, faults=2, kinds=(Fault.TOO_LATE,), shrinks=False, patience=4),
            "S5",
        ),
    ],
)
def test_mutant_is_found(bug: str, setting: Setting, invariant: str) -> None:
    with planted(MUTANTS[bug]):
        found = explore(setting)
    assert found.wrong.startswith(invariant), found
    assert found.path


def test_store_without_a_fence_lets_a_process_that_was_paused_buy_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hostler.lab.model_check.servers.model.World.passes_fence", yes)
    found = explore(QUICK["1 machine, 2 replicas, 2 take-overs"])
    assert found.wrong.startswith("S2")


def test_record_that_cannot_end_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exit that is walled up: the graph says where one cannot get out."""
    monkeypatch.setattr("hostler.domain.machines.lifecycle.all_gone", no)
    found = explore(Setting(addresses=0, faults=0))
    assert found.wrong.startswith("L1")
