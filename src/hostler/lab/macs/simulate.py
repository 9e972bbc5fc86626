"""Simulate: one seed of Mac fleets: the real engine, provider and client over simulated hosts."""

from pathlib import Path

from hostler.lab.season import Result, Season
from hostler.lab.weather import Size

from .climate import draw_macs
from .land import MacLand


def run_seed(seed: int, size: Size, folder: Path, bug: str = "") -> Result:
    """Run one seed from its first second until its fleets rest."""
    del bug
    climate = draw_macs(seed, size)
    return Season(climate.base, folder, MacLand(climate)).play()
