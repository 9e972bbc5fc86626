"""Providers: what is simulated, one entry each: scenarios, how one is played, faults, mutants."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from hostler.domain.model.phases import Phase

from .gitlab_runner import faults as runner_faults
from .gitlab_runner.faults import RunnerScenario, draw_runner
from .gitlab_runner.run import RunnerRun
from .macs import faults as mac_faults
from .macs.environment import MacEnvironment
from .macs.faults import MacScenario, draw_macs
from .mutants import macs as mac_mutants
from .mutants import runner as runner_mutants
from .mutants import servers as server_mutants
from .mutants.mutant import Mutant, planted
from .scenario import faults
from .scenario.faults import Scenario, Size, draw
from .scenario.run import Result, Run

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
    play: Callable[[S, Path], Result]
    faults: tuple[str, ...]
    mutants: Mapping[str, Mutant[S]]
    days: float = Size().days
    impossible: Mapping[Pair, str] = field(default_factory=dict[Pair, str])
    phased: bool = True

    def run(self, seed: int, size: Size, folder: Path, mutant: str = "") -> Result:
        """Run one seed from its first second to its last, with a mutant if one is named."""
        if not mutant:
            return self.play(self.draw(seed, size), folder)
        with planted(self.mutants[mutant]):
            return self.control(seed, size, folder, mutant)

    def control(self, seed: int, size: Size, folder: Path, mutant: str) -> Result:
        """Run the scenario in which a mutant soon shows, without the mutant."""
        scenario = self.mutants[mutant].scenario(self.draw(seed, size))
        return self.play(scenario, folder)

    def can_meet(self, fault: str, phase: str) -> bool:
        """Tell whether a fault could strike while a machine is in this phase."""
        never = self.impossible.keys()
        return not {(fault, phase), (EVERY_FAULT, phase), (fault, EVERY_PHASE)} & never


def play_servers(scenario: Scenario, folder: Path) -> Result:
    """Play one scenario of created servers."""
    return Run(scenario, folder).play()


def play_macs(scenario: MacScenario, folder: Path) -> Result:
    """Play one scenario of leased Macs."""
    return Run(scenario.base, folder, MacEnvironment(scenario)).play()


def play_runner(scenario: RunnerScenario, folder: Path) -> Result:
    """Play one scenario of a modelled GitLab Runner."""
    return RunnerRun(scenario, folder).play()


_DELETED = {(EVERY_FAULT, Phase.DELETED.value): "a machine that is gone is no machine any more"}
_STANDBY = {(EVERY_FAULT, Phase.STANDBY.value): "created servers are never kept while they are off"}

PROVIDERS: Mapping[
    str, Simulated[Scenario] | Simulated[MacScenario] | Simulated[RunnerScenario]
] = {
    INSTANCES: Simulated(
        draw=draw,
        play=play_servers,
        faults=faults.ALL,
        mutants=server_mutants.MUTANTS,
        impossible=_DELETED | _STANDBY,
    ),
    FLEETING: Simulated(
        draw=draw_runner,
        play=play_runner,
        faults=runner_faults.ALL,
        mutants=runner_mutants.MUTANTS,
        phased=False,
    ),
    MACS: Simulated(
        draw=draw_macs,
        play=play_macs,
        faults=mac_faults.ALL,
        mutants=mac_mutants.MUTANTS,
        days=mac_faults.DAYS,
        impossible=_DELETED,
    ),
}
"""What `simulate --provider` knows."""
