"""Simulate: one seed of Mac fleets: the real engine, provider and client over simulated hosts."""

from pathlib import Path

from hostler.lab.mutants.macs import BUGS, planted
from hostler.lab.scenario.faults import Size
from hostler.lab.scenario.run import Result, Season

from .environment import MacLand
from .faults import MacClimate, draw_macs


def run_seed(seed: int, size: Size, folder: Path, bug: str = "") -> Result:
    """Run one seed from its first second until its fleets rest."""
    climate = draw_macs(seed, size)
    if not bug:
        return play(climate, folder)
    with planted(BUGS[bug]):
        return play(BUGS[bug].climate(climate), folder)


def play(climate: MacClimate, folder: Path) -> Result:
    """Play one climate."""
    return Season(climate.base, folder, MacLand(climate)).play()
