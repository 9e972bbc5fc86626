"""Providers: what is simulated, one entry each: scenarios, courses, faults and mutants."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from hostler.domain.model.phases import Phase

from .gitlab_runner import faults as runner_faults
from .gitlab_runner.course import RunnerCourse
from .gitlab_runner.faults import RunnerScenario, draw_runner
from .macs import faults as mac_faults
from .macs.environment import MacEnvironment
from .macs.faults import MacScenario, draw_macs
from .mutants import macs as mac_mutants
from .mutants import runner as runner_mutants
from .mutants import servers as server_mutants
from .mutants.mutant import Mutant, planted
from .scenario import faults
from .scenario.course import EngineCourse
from .scenario.faults import Scenario, Size, draw
from .scenario.run import Course, Result, play

INSTANCES, FLEETING, MACS = "instances", "fleeting", "macs"
EVERY_FAULT, EVERY_PHASE = "every fault", "every phase"

S = TypeVar("S")
Pair = tuple[str, str]
"""A fault, and the phase of a machine that it struck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated(Generic[S]):
    """One provider as it is simulated.

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
        scenario = self.mutants[mutant].scenario(self.draw(seed, size))
        return play(self.course(scenario, folder))

    def can_meet(self, fault: str, phase: str) -> bool:
        """Tell whether a fault could strike while a machine is in this phase."""
        never = self.impossible.keys()
        return not {(fault, phase), (EVERY_FAULT, phase), (fault, EVERY_PHASE)} & never


def servers(scenario: Scenario, folder: Path) -> Course:
    """Return what engines of created servers go through."""
    return EngineCourse(scenario, folder)


def macs(scenario: MacScenario, folder: Path) -> Course:
    """Return what engines of leased Macs go through."""
    return EngineCourse(scenario.base, folder, MacEnvironment(scenario))


_DELETED = {(EVERY_FAULT, Phase.DELETED.value): "a machine that is gone is no machine any more"}
_STANDBY = {(EVERY_FAULT, Phase.STANDBY.value): "created servers are never kept while they are off"}

PROVIDERS: Mapping[
    str, Simulated[Scenario] | Simulated[MacScenario] | Simulated[RunnerScenario]
] = {
    INSTANCES: Simulated(
        draw=draw,
        course=servers,
        faults=faults.ALL,
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
        course=macs,
        faults=mac_faults.ALL,
        mutants=mac_mutants.MUTANTS,
        days=mac_faults.DAYS,
        impossible=_DELETED,
    ),
}
"""What `simulate --provider` knows."""
