"""Most seeds run on the real store, and go the same way as in memory."""

from dataclasses import replace
from pathlib import Path

import pytest

from hostler.lab.scenario.course import EngineCourse
from hostler.lab.scenario.faults import Size
from hostler.lab.scenario.run import play
from hostler.lab.servers.environment import ServerEnvironment
from hostler.lab.servers.faults import draw_servers
from hostler.lab.simulate.seeds import run_seed


def test_most_seeds_of_servers_run_on_the_real_store() -> None:
    assert sum(draw_servers(seed, Size()).sqlite for seed in range(1, 501)) > 350


@pytest.mark.parametrize("seed", [4, 6])
def test_a_seed_goes_the_same_way_on_either_store(seed: int, tmp_path: Path) -> None:
    scenario = draw_servers(seed, Size(days=0.01))
    other = replace(scenario, sqlite=not scenario.sqlite)
    swapped = play(EngineCourse(ServerEnvironment(other), tmp_path))
    assert swapped.digest == run_seed(seed, Size(days=0.01)).digest
