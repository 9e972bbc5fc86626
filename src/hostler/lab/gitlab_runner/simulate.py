"""Simulate: one seed of a modelled runner over the real group, engine, provider and client."""

from pathlib import Path

from hostler.lab.mutants.runner import BUGS, planted
from hostler.lab.scenario.faults import ALL as WORLD_AND_HOST
from hostler.lab.scenario.faults import OURS as ENGINES
from hostler.lab.scenario.faults import Size
from hostler.lab.scenario.run import Result

from .faults import HOST, OURS, PAGES, draw_runner
from .run import RunnerRun

ALL = (*(f for f in WORLD_AND_HOST if f not in {*ENGINES, *PAGES}), *sorted(HOST), *OURS)
"""Every fault that a runner's season knows."""


def run_seed(seed: int, size: Size, folder: Path, bug: str = "") -> Result:
    """Run one seed from its first second until nothing is left; its records may be in `folder`."""
    scenario = draw_runner(seed, size)
    if not bug:
        return RunnerRun(scenario, folder=folder).play()
    found = BUGS[bug]
    with planted(found):
        return RunnerRun(found.scenario(scenario), found.wrap).play()
