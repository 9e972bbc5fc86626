"""Mutants of what Cluster Autoscaler is answered: each must be caught by its simulation."""

from collections.abc import Mapping

from hostler.lab.autoscaler.faults import AutoscalerScenario

from .mutant import Mutant

MUTANTS: Mapping[str, Mutant[AutoscalerScenario]] = {}
"""Known bugs, by name."""
