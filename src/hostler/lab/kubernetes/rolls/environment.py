"""The environment of a roll: a pool of Macs, and a cluster whose Machines are on them."""

from random import Random

from msgspec.structs import replace

from hostler.domain.ids import InstallationId
from hostler.domain.model.fleet import Fleet
from hostler.lab.checks.trace import Trace
from hostler.lab.kubernetes.faults import ClusterScenario
from hostler.lab.kubernetes.site import Site
from hostler.lab.macs.environment import MacEnvironment
from hostler.lab.scenario.environment import CONSISTENCY_DELAY
from hostler.lab.scenario.faults import HOUR, Disruption
from hostler.testing.time.clock import SimClock
from hostler.testing.time.loop import SimLoop

from .checker import RollChecker
from .scenario import RollScenario

FLOOR = 24 * HOUR
"""So long nobody may delete a host after it was bought: it is paid for."""
UNREADY = 6 * HOUR
"""So long a Machine may not be ready until a health check gives it up: a Mac is wiped meanwhile."""


class RollEnvironment(MacEnvironment):
    """Macs, and a cluster. Implements the lab's `Environment`, as that of Macs does."""

    site: Site
    _loop: SimLoop
    roll_checker: RollChecker

    def __init__(self, scenario: ClusterScenario, roll: RollScenario) -> None:
        super().__init__(roll.macs)
        self._cluster_scenario, self.roll = scenario, roll

    def open(self, loop: SimLoop, rng: Random) -> None:
        """Open the pool, whose hosts were bought not long ago, and the cluster."""
        super().open(loop, rng)
        for mac, age in zip(self.world.cloud.macs, self.roll.ages, strict=True):
            mac.created, mac.deletable = -age, FLOOR - age
        (fleet,) = self.fleets(other=False)
        self._loop = loop
        self.site = Site(SimClock(loop), Random(rng.getrandbits(64)), fleet.name, unready=UNREADY)
        self.site.gateway.faults.rates = self._cluster_scenario.api

    def checker(self, trace: Trace) -> RollChecker:
        """Return the checker of the run."""
        delay = CONSISTENCY_DELAY.total_seconds()
        made = RollChecker(self.world, trace, delay, self.roll.macs)
        self._checker = self.roll_checker = made
        return made

    def fleets(self, *, other: bool) -> tuple[Fleet, ...]:
        """Return the one fleet: each of its machines is asked for by itself."""
        (fleet,) = super().fleets(other=other)
        return (replace(fleet, size=0, maximum=self.base.machines, renews=False),)

    def strike(self, own: InstallationId, disruption: Disruption) -> bool | None:
        """Let happen what happens beside the engine."""
        if self.site.strike(disruption, self._loop):
            return True
        return super().strike(own, disruption)

    def cease(self) -> None:
        """Let the faults of the provider and of the API cease."""
        super().cease()
        self.site.calm()
