import tempfile
from pathlib import Path

import pytest

from hostler.lab.mutants.registry import BUGS
from hostler.lab.scenario.faults import Size, draw
from hostler.lab.scenario.run import Run
from hostler.lab.simulate import run_seed


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", BUGS)
def test_a_famous_bug_is_caught(name: str):
    seeds = range(1, BUGS[name].within + 1)
    caught = next((seed for seed in seeds if run_seed(seed, Size(), name).violation), None)
    assert caught is not None


@pytest.mark.parametrize("name", BUGS)
def test_its_weather_alone_breaks_nothing(name: str):
    scenario = BUGS[name].scenario(draw(1, Size()))
    with tempfile.TemporaryDirectory() as folder:
        result = Run(scenario, Path(folder)).play()
    assert result.violation is None, "\n".join(result.story)


def test_a_bug_is_gone_after_its_season():
    name = "no-rollback"
    assert run_seed(1, Size(), name).violation is not None
    assert run_seed(1, Size()).violation is None
