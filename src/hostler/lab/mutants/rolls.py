"""Mutants of rolls of Macs by Cluster API: each must be caught by their simulation."""

from collections.abc import Mapping
from random import Random

from msgspec.structs import replace

from hostler.lab.kubernetes.faults import ROLL_DAYS, ClusterScenario
from hostler.lab.kubernetes.rolls.scenario import rolled
from hostler.lab.scenario.faults import HOUR
from hostler.simulators.scaleway.faults.rates import FaultRates

from .mutant import Mutant
from .server_mutations import always, never


def _alone(scenario: ClusterScenario) -> ClusterScenario:
    """Return a roll in which nothing else happens."""
    seed = scenario.base.seed
    drawn = rolled(seed, ROLL_DAYS * 24 * HOUR, Random(f"hostler planted roll {seed}"))
    base = replace(
        drawn.macs.base, severity="planted", faults=(), world=FaultRates({}), disruptions=()
    )
    roll = replace(drawn, macs=replace(drawn.macs, base=base))
    return replace(
        scenario, base=base, roll=roll, api={}, edits=(), replicas=(), nodes=None, scripts=None
    )


_CLUSTER_API = "frontends.kubernetes.clusterapi"

MUTANTS: Mapping[str, Mutant[ClusterScenario]] = {
    "roll-ends-its-hosts": Mutant(
        summary="a host that a roll released is deleted once its billing floor is over",
        puts=(
            (f"{_CLUSTER_API}.standing:View.terminates", always),
            ("domain.hosts.lifecycle:_is_wanted_back", never),
        ),
        scenario=_alone,
        caught=("released", "S11"),
    ),
    "roll-that-never-leaves": Mutant(
        summary="a HostlerMachine stays although the end of its machine is on record",
        puts=((f"{_CLUSTER_API}.deletion:_is_over", never),),
        scenario=_alone,
        caught=("leaves",),
    ),
}
"""Every one of them, by name."""
