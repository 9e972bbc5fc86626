"""The environment of Cluster Autoscaler: owned machines of which nobody but it asks for any."""

import asyncio

from msgspec.structs import replace

from hostler.domain.ids import InstallationId
from hostler.domain.model.fleet import Fleet
from hostler.lab.checks.trace import Trace
from hostler.lab.power.environment import PowerEnvironment
from hostler.lab.scenario.environment import CONSISTENCY_DELAY
from hostler.lab.scenario.faults import Disruption

from .checker import AutoscalerChecker
from .faults import CORE_RESTARTED, AutoscalerScenario


class AutoscalerEnvironment(PowerEnvironment):
    """Boxes for one node group. Implements the lab's `Environment`, as provider `power` does."""

    answers_checker: AutoscalerChecker

    def __init__(self, scenario: AutoscalerScenario) -> None:
        super().__init__(scenario)
        self.core_restarted = asyncio.Event()

    def checker(self, trace: Trace) -> AutoscalerChecker:
        """Return the checker of the run."""
        delay = CONSISTENCY_DELAY.total_seconds()
        made = AutoscalerChecker(self.truth, trace, delay, self.scenario)
        self.judge = self.metal_checker = self.answers_checker = made
        return made

    def fleets(self, *, other: bool) -> tuple[Fleet, ...]:
        """Return the one fleet: each of its machines is asked for by itself."""
        (fleet,) = super().fleets(other=other)
        return (replace(fleet, size=0, maximum=self.scenario.boxes, renews=False),)

    def strike(self, own: InstallationId, disruption: Disruption) -> bool | None:
        """Let happen what happens beside all engines."""
        if disruption.fault != CORE_RESTARTED:
            return super().strike(own, disruption)
        self.core_restarted.set()
        self.judge.trace.note("Cluster Autoscaler begins anew")
        return True
