import tempfile
from pathlib import Path

import pytest

from hostler.lab.macs.faults import draw_macs
from hostler.lab.macs.simulate import play
from hostler.lab.mutants.macs import BUGS
from hostler.lab.scenario.faults import Size
from hostler.lab.simulate import MACS, run_seed

DAY = Size(days=1.0)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", BUGS)
def test_a_famous_bug_of_mac_fleets_is_caught(name: str):
    seeds = range(1, BUGS[name].within + 1)
    results = (run_seed(seed, DAY, name, MACS) for seed in seeds)
    first = next((r.violation for r in results if r.violation), None)
    assert first is not None
    assert first.invariant in BUGS[name].caught, first


@pytest.mark.parametrize("name", BUGS)
def test_its_weather_alone_breaks_nothing(name: str):
    scenario = BUGS[name].scenario(draw_macs(1, DAY))
    with tempfile.TemporaryDirectory() as folder:
        result = play(scenario, Path(folder))
    assert result.violation is None, "\n".join(result.story)
