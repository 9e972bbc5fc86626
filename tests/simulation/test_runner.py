"""A modelled runner over the real group: what it is told holds, whatever the weather."""

import pytest

from hostler.doors.fleeting.logical import State
from hostler.lab.runner.bugs import BUGS
from hostler.lab.runner.climate import OURS, draw_runner
from hostler.lab.runner.season import RunnerSeason
from hostler.lab.runner.simulate import ALL, run_seed
from hostler.lab.weather import Size

SIZE = Size()
MANY = 20
AT_ONCE = 5


@pytest.mark.timeout(120)
@pytest.mark.parametrize("first", range(1, MANY, AT_ONCE))
def test_every_promise_to_a_runner_holds_whatever_the_weather(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        result = run_seed(seed, SIZE)
        assert result.violation is None, "\n".join(result.story)


@pytest.mark.parametrize("name", BUGS)
def test_what_plugins_do_wrong_is_caught(name: str) -> None:
    seeds = range(1, BUGS[name].within + 1)
    found = [run_seed(seed, SIZE, name).violation for seed in seeds]
    broken = {violation.invariant for violation in found if violation is not None}
    assert broken
    assert broken <= set(BUGS[name].caught)


@pytest.mark.parametrize("name", BUGS)
def test_the_weather_of_a_defect_alone_breaks_nothing(name: str) -> None:
    result = RunnerSeason(BUGS[name].climate(draw_runner(1, SIZE))).play()
    assert result.violation is None, "\n".join(result.story)


def test_a_seed_of_a_runner_replays_to_the_same_byte() -> None:
    assert run_seed(13, SIZE) == run_seed(13, SIZE)


def test_a_season_of_a_runner_serves_jobs() -> None:
    season = RunnerSeason(draw_runner(7, SIZE))
    result = season.play()
    assert result.calm
    assert result.violation is None
    assert season.runner.served.done >= len(season.climate.jobs) // 2


def test_every_fault_of_the_runner_is_drawn_within_a_hundred_seeds() -> None:
    climates = [draw_runner(seed, SIZE) for seed in range(1, 101)]
    drawn = {stroke.fault for climate in climates for stroke in climate.strokes}
    drawn |= {fault for climate in climates for fault in climate.base.world.rates}
    assert drawn == set(ALL)
    assert set(OURS) < drawn
    assert any(State.STOPPED in climate.states for climate in climates)
    assert any(State.STOPPED not in climate.states for climate in climates)
