"""Simulate: one seed of Mac fleets: the real engine, provider and client over simulated hosts."""

from pathlib import Path

from hostler.lab.mutants.macs import BUGS, planted
from hostler.lab.scenario.faults import Size
from hostler.lab.scenario.run import Result, Run

from .environment import MacEnvironment
from .faults import MacScenario, draw_macs


def run_seed(seed: int, size: Size, folder: Path, bug: str = "") -> Result:
    """Run one seed from its first second until its fleets rest."""
    scenario = draw_macs(seed, size)
    if not bug:
        return play(scenario, folder)
    with planted(BUGS[bug]):
        return play(BUGS[bug].scenario(scenario), folder)


def play(scenario: MacScenario, folder: Path) -> Result:
    """Play one climate."""
    return Run(scenario.base, folder, MacEnvironment(scenario)).play()
