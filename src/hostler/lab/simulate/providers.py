"""Providers: what is simulated, one entry each: scenarios, courses, faults and mutants."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import Struct, field

from hostler.domain.model.phases import Phase
from hostler.lab.autoscaler import faults as autoscaler_faults
from hostler.lab.autoscaler.course import AutoscalerCourse
from hostler.lab.autoscaler.faults import AutoscalerScenario, draw_autoscaler
from hostler.lab.gitlab_runner import faults as runner_faults
from hostler.lab.gitlab_runner.course import RunnerCourse
from hostler.lab.gitlab_runner.faults import RunnerScenario, draw_runner
from hostler.lab.kubernetes import faults as cluster_faults
from hostler.lab.kubernetes.course import ClusterCourse
from hostler.lab.kubernetes.faults import ClusterScenario, draw_cluster
from hostler.lab.kubernetes.fleets.course import FleetsCourse
from hostler.lab.kubernetes.rolls.course import RollCourse
from hostler.lab.macs import faults as mac_faults
from hostler.lab.macs.environment import MacEnvironment
from hostler.lab.macs.faults import MacScenario, draw_macs
from hostler.lab.metal import faults as metal_faults
from hostler.lab.metal.environment import MetalEnvironment
from hostler.lab.metal.faults import MetalScenario, draw_metal
from hostler.lab.mutants import autoscaler as autoscaler_mutants
from hostler.lab.mutants import clusterapi as cluster_mutants
from hostler.lab.mutants import fleets as fleet_mutants
from hostler.lab.mutants import macs as mac_mutants
from hostler.lab.mutants import metal as metal_mutants
from hostler.lab.mutants import nodes as node_mutants
from hostler.lab.mutants import power as power_mutants
from hostler.lab.mutants import rolls as roll_mutants
from hostler.lab.mutants import runner as runner_mutants
from hostler.lab.mutants import scripts as script_mutants
from hostler.lab.mutants import servers as server_mutants
from hostler.lab.mutants.mutant import Mutant, planted
from hostler.lab.power import faults as power_faults
from hostler.lab.power.environment import PowerEnvironment
from hostler.lab.power.faults import PowerScenario, draw_power
from hostler.lab.scenario.course import EngineCourse
from hostler.lab.scenario.environment import Environment
from hostler.lab.scenario.faults import (
    HISTORY_PRUNED,
    RECORD_REMOVED,
    STORE_RESTORED,
    STORE_TWINNED,
    Scenario,
    Size,
)
from hostler.lab.scenario.file_faults import FILE_FAULTS
from hostler.lab.scenario.run import Course, Result, play
from hostler.lab.scenario.store_faults import STORE_OF_HOSTS
from hostler.lab.servers import faults as server_faults
from hostler.lab.servers.address_pool import POOL_FAULTS
from hostler.lab.servers.environment import ServerEnvironment
from hostler.lab.servers.large import HALF_DELETED, draw_any_servers

from .names import AUTOSCALER, FLEETING, INSTANCES, KUBERNETES, MACS, METAL, POWER

EVERY_FAULT, EVERY_PHASE = "every fault", "every phase"

S = TypeVar("S")
Pair = tuple[str, str]
"""A fault, and the phase of a machine that it struck."""


class Simulated(Struct, Generic[S], frozen=True, kw_only=True):
    """One provider as it is simulated.

    `draw` makes the scenario of a seed: the same seed and size, the same scenario. `course` is what
    a run goes through: `engines` of an `Environment`, unless something else drives the engine.
    `faults` are the names of all that may be drawn; each is counted under its name when it truly
    strikes. `mutants` are known bugs that must be caught.
    `impossible` are the pairs of fault and phase that cannot be, each with its reason; `phased` is
    whether a run sees phases at all. `days` is how long a run lasts unless somebody says otherwise.
    """

    draw: Callable[[int, Size], S]
    course: Callable[[S, Path], Course]
    faults: tuple[str, ...]
    mutants: Mapping[str, Mutant[S]]
    days: float = Size().days
    impossible: Mapping[Pair, str] = field(default_factory=dict[Pair, str])
    phased: bool = True

    def run(self, seed: int, size: Size, folder: Path, mutant: str = "") -> Result:
        """Run one seed from its first second to its last, with a mutant if one is named."""
        if not mutant:
            return play(self.course(self.draw(seed, size), folder))
        with planted(self.mutants[mutant]):
            return self.control(seed, size, folder, mutant)

    def control(self, seed: int, size: Size, folder: Path, mutant: str) -> Result:
        """Run the scenario in which a mutant soon shows, without the mutant."""
        return play(self.course(self.alone(seed, size, mutant), folder))

    def alone(self, seed: int, size: Size, mutant: str) -> S:
        """Return the scenario in which a mutant soon shows; several mutants may have the same."""
        return self.mutants[mutant].scenario(self.draw(seed, size))

    def can_meet(self, fault: str, phase: str) -> bool:
        """Tell whether a fault could strike while a machine is in this phase."""
        never = self.impossible.keys()
        return not {(fault, phase), (EVERY_FAULT, phase), (fault, EVERY_PHASE)} & never


def engines(environment: Callable[[S], Environment]) -> Callable[[S, Path], Course]:
    """Return the course of engines in an environment that is made from a scenario."""

    def course(scenario: S, folder: Path) -> Course:
        return EngineCourse(environment(scenario), folder)

    return course


def _cluster_course(scenario: ClusterScenario, folder: Path) -> Course:
    """Return the course of Machines of Cluster API, or that of Fleets and Hosts."""
    if scenario.roll is not None:
        return RollCourse(scenario, scenario.roll, folder)
    return (FleetsCourse if scenario.edits else ClusterCourse)(scenario, folder)


_DELETED = {(EVERY_FAULT, Phase.DELETED.value): "a machine that is gone is no machine any more"}
_STANDBY = {(EVERY_FAULT, Phase.STANDBY.value): "created servers are never kept while they are off"}
_UNASKED = {(EVERY_FAULT, Phase.STANDBY.value): "no object asks for the standby of a machine"}
_ALL_ASKED_FOR = {
    (EVERY_FAULT, Phase.STANDBY.value): "each node is asked for, and nobody asks for standby"
}

PROVIDERS: Mapping[
    str,
    Simulated[Scenario]
    | Simulated[MacScenario]
    | Simulated[MetalScenario]
    | Simulated[PowerScenario]
    | Simulated[AutoscalerScenario]
    | Simulated[ClusterScenario]
    | Simulated[RunnerScenario],
] = {
    INSTANCES: Simulated(
        draw=draw_any_servers,
        course=engines(ServerEnvironment),
        faults=(
            *server_faults.ALL,
            HALF_DELETED,
            STORE_RESTORED,
            RECORD_REMOVED,
            HISTORY_PRUNED,
            STORE_TWINNED,
            *FILE_FAULTS,
            *POOL_FAULTS,
        ),
        mutants=server_mutants.MUTANTS,
        impossible=_DELETED | _STANDBY,
    ),
    FLEETING: Simulated(
        draw=draw_runner,
        course=RunnerCourse,
        faults=runner_faults.ALL,
        mutants=runner_mutants.MUTANTS,
        phased=False,
    ),
    MACS: Simulated(
        draw=draw_macs,
        course=engines(MacEnvironment),
        faults=(*mac_faults.ALL, *STORE_OF_HOSTS, *FILE_FAULTS),
        mutants=mac_mutants.MUTANTS,
        days=mac_faults.DAYS,
        impossible=_DELETED,
    ),
    METAL: Simulated(
        draw=draw_metal,
        course=engines(MetalEnvironment),
        faults=(*metal_faults.ALL, *STORE_OF_HOSTS, *FILE_FAULTS),
        mutants=metal_mutants.MUTANTS,
        days=metal_faults.DAYS,
        impossible=_DELETED,
    ),
    POWER: Simulated(
        draw=draw_power,
        course=engines(PowerEnvironment),
        faults=(*power_faults.ALL, *STORE_OF_HOSTS, *FILE_FAULTS),
        mutants=power_mutants.MUTANTS,
        days=power_faults.DAYS,
        impossible=_DELETED,
    ),
    AUTOSCALER: Simulated(
        draw=draw_autoscaler,
        course=AutoscalerCourse,
        faults=autoscaler_faults.ALL,
        mutants=autoscaler_mutants.MUTANTS,
        days=autoscaler_faults.DAYS,
        impossible=_DELETED | _ALL_ASKED_FOR,
    ),
    KUBERNETES: Simulated(
        draw=draw_cluster,
        course=_cluster_course,
        faults=cluster_faults.ALL,
        mutants={
            **cluster_mutants.MUTANTS,
            **fleet_mutants.MUTANTS,
            **node_mutants.MUTANTS,
            **script_mutants.MUTANTS,
            **roll_mutants.MUTANTS,
        },
        days=cluster_faults.DAYS,
        impossible=_DELETED | _UNASKED,
    ),
}
"""What `simulate --provider` knows."""
