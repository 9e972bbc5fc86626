"""The environment of Fleets: owned machines, and a cluster whose objects say what is wanted."""

from random import Random

from hostler.domain.ids import InstallationId
from hostler.lab.checks.trace import Trace
from hostler.lab.kubernetes.faults import ClusterScenario
from hostler.lab.power.environment import PowerEnvironment
from hostler.lab.scenario.environment import CONSISTENCY_DELAY
from hostler.lab.scenario.faults import Disruption
from hostler.testing.time.clock import SimClock
from hostler.testing.time.loop import SimLoop

from .checker import FleetsChecker
from .objects import Objects


class FleetsEnvironment(PowerEnvironment):
    """Boxes, and objects. Implements the lab's `Environment`, as `power` does."""

    fleets_checker: FleetsChecker
    objects: Objects
    _loop: SimLoop

    def __init__(self, scenario: ClusterScenario) -> None:
        super().__init__(scenario)
        self._cluster_scenario = scenario

    def open(self, loop: SimLoop, rng: Random) -> None:
        """Open the rack and the cluster."""
        super().open(loop, rng)
        self._loop = loop
        boxes = self._cluster_scenario.boxes
        self.objects = Objects(SimClock(loop), Random(rng.getrandbits(64)), boxes)
        self.objects.gateway.faults.rates = self._cluster_scenario.api

    def checker(self, trace: Trace) -> FleetsChecker:
        """Return the checker of the run."""
        delay = CONSISTENCY_DELAY.total_seconds()
        made = FleetsChecker(self.truth, trace, delay, self._cluster_scenario)
        self.judge = self.metal_checker = self.fleets_checker = made
        made.objects = self.objects
        return made

    def strike(self, own: InstallationId, disruption: Disruption) -> bool | None:
        """Let happen what happens beside all engines."""
        if self.objects.strike(disruption, self._loop):
            self.judge.trace.note(f"{disruption.fault} for {disruption.length:.0f} s")
            return True
        return super().strike(own, disruption)

    def cease(self) -> None:
        """Let the faults of boxes and of the API cease."""
        super().cease()
        self.objects.gateway.faults.rates = {}
        self.objects.gateway.bring_up()
