"""The report of many seeds: what people and programs read of it."""

import json
from collections import Counter

import pytest
from msgspec.structs import replace

from hostler.lab.harness.prediction import (
    ANSWER,
    INTERRUPTION,
    OBSERVATION,
    OTHERWISE,
    RECALL,
    REQUEST,
    RIVAL,
)
from hostler.lab.scenario.faults import Size
from hostler.lab.simulate.names import INSTANCES
from hostler.lab.simulate.providers import PROVIDERS
from hostler.lab.simulate.report import Report, as_json, as_text
from hostler.lab.simulate.seeds import Plan, run, run_seed

FATES = (ANSWER, INTERRUPTION, OBSERVATION, OTHERWISE, RECALL, REQUEST, RIVAL)


def test_plans_are_counted_by_what_became_of_them() -> None:
    report = Report(size=Size(), plans=Counter({"whole": 150, ANSWER: 48, RIVAL: 2}))
    line = next(line for line in as_text(report).splitlines() if line.startswith("plans:"))
    assert line == (
        "plans: 200; 75.0% were carried out whole, 24.0% ended with an answer, "
        "1.0% ended with another fleet that took the host"
    )
    assert json.loads(as_json(report))["plans"] == {"answer": 48, "rival": 2, "whole": 150}


def test_no_plan_at_all_is_not_reported_to_people() -> None:
    assert "plans" not in as_text(Report(size=Size()))


@pytest.mark.parametrize("fate", FATES)
def test_every_end_of_a_plan_has_its_words(fate: str) -> None:
    assert "100.0% ended with" in as_text(Report(size=Size(), plans=Counter({fate: 3})))


def test_a_seed_whose_simulation_breaks_has_failed_and_the_others_are_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One KeyError at the end of a seed took the results of 39 others with it."""
    known = PROVIDERS[INSTANCES]

    def draw(seed: int, size: Size) -> object:
        if seed == 1:
            raise ExceptionGroup("of a group", [KeyError("nobody knows it")])
        return known.draw(seed, size)

    monkeypatch.setitem(PROVIDERS, INSTANCES, replace(known, draw=draw))
    report = Report(size=Size(machines=1, days=0.01))
    for result in run(Plan(seeds=(1, 2), size=report.size)):
        report.take(result)
    printed = json.loads(as_json(report))
    assert printed["seeds"] == 2
    (failed,) = printed["failed"]
    assert (failed["seed"], failed["invariant"]) == (1, "bug")
    assert "the simulation broke: KeyError('nobody knows it')" in failed["text"]
    with pytest.raises(ExceptionGroup):
        run_seed(1, report.size)
