"""Most seeds run on the real store, and go the same way as in memory."""

from pathlib import Path

import pytest
from msgspec.structs import replace

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


@pytest.mark.parametrize("seed", [2, 3])
def test_a_seed_of_two_replicas_goes_the_same_way_in_a_cluster(seed: int, tmp_path: Path) -> None:
    scenario = replace(draw_servers(seed, Size(days=0.01)), replicas=2, sqlite=False)
    memory = play(EngineCourse(ServerEnvironment(scenario), tmp_path))
    elsewhere = replace(scenario, cluster=0.0)
    cluster = play(EngineCourse(ServerEnvironment(elsewhere), tmp_path))
    assert memory.violation is None
    assert cluster.digest == memory.digest


@pytest.mark.parametrize("seed", range(1, 4))
def test_in_a_cluster_whose_answers_are_lost_no_invariant_is_broken(
    seed: int, tmp_path: Path
) -> None:
    """A twentieth of all calls, and of all answers, is lost between engines and cluster."""
    scenario = replace(draw_servers(seed, Size(days=0.01)), replicas=2, cluster=0.05)
    result = play(EngineCourse(ServerEnvironment(scenario), tmp_path))
    assert result.violation is None, result.story
