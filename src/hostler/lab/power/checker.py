"""The checker of provider `power`: that of metal, and how many boxes are on at rest.

L1  of those that nobody has so many are on as are to stay on, and those that show that they still
    start; and that of each machine that is ready is on.
"""

from hostler.domain.ids import HostId
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.host import HostCondition
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.checks.trace import Trace
from hostler.lab.metal.checker import MetalChecker
from hostler.lab.metal.faults import MetalScenario
from hostler.lab.metal.ground_truth import MetalTruth
from hostler.testing.invariants import Found, Violation

_NOTICED = 180.0
"""So long, in seconds, after it was on for long enough a box may still be on."""


class PowerChecker(MetalChecker):
    """All checkers of one run of power. `costs` is what an hour of each box costs, by its name."""

    def __init__(
        self, truth: MetalTruth, trace: Trace, consistency_delay: float, scenario: MetalScenario
    ) -> None:
        super().__init__(truth, trace, consistency_delay, scenario)
        self.costs = dict[HostId, float]()

    def cost(self, box: HostId) -> float | None:
        """Return what an hour of a box costs; None where that is not told."""
        return self.costs.get(box)

    def rested(self, shadow: ShadowStore, fleet: Fleet) -> Found:
        """Return what still keeps a fleet from rest; what is ready is truly up."""
        return super().rested(shadow, fleet) or self._ready_is_up(shadow, fleet)

    def _ready_is_up(self, shadow: ShadowStore, fleet: Fleet) -> Found:
        for machine in shadow.living(fleet.name):
            if machine.phase is not Phase.READY or machine.host is None:
                continue
            if (condition := self.truth.condition(machine.host)) is not Condition.UP:
                text = f"{machine.id} is ready, and {machine.host} is {condition}"
                return (Violation(invariant="L1", text=text, machine=machine.id),)
        return ()

    def _boxes_rest(self, shadow: ShadowStore) -> Found:
        """As many boxes that nobody has are on as are to be; no other is, but for a while.

        One whose hold may be over by the engine's own time may count, and may not.
        """
        free = ((b, host) for b, host in self._boxes(shadow) if b not in shadow.bindings)
        known = {box: host for box, host in free if self._goes_off(box, host)}
        usable, sure = [*known], [b for b, host in known.items() if not self._lasting_hold(host)]
        on = [box for box in usable if self.truth.condition(box) is not Condition.OFF]
        free = [box for box in on if self._is_free(shadow, box)]
        lasting = [box for box in on if box in sure and not self._is_exercised(box)]
        least, most = (self._staying(shadow, some) for some in (sure, usable))
        if len(free) >= least and len(lasting) <= most and set(lasting) <= set(free):
            return ()
        names, stay = ", ".join(on) or "none", least if len(free) < least else most
        text = f"{len(usable)} boxes are nobody's, {stay} are to stay on, and {names} is on"
        return (Violation(invariant="L1", text=text),)

    def _staying(self, shadow: ShadowStore, boxes: list[HostId]) -> int:
        """Return how many of these boxes are to stay on."""
        free = sum(self._is_free(shadow, box) for box in boxes)
        return min(self._scenario.power.stay_on, free)

    def _is_free(self, shadow: ShadowStore, box: HostId) -> bool:
        host = shadow.hosts.get(box)
        return host is not None and host.condition is HostCondition.FREE

    def _is_exercised(self, box: HostId) -> bool:
        """Tell whether a box may be on for a while, to show that it still starts."""
        limits = self._scenario.power
        time = max(limits.exercise_time, limits.least_on).total_seconds() + _NOTICED
        return limits.exercise is not None and self.truth.now - self.truth.since(box) < time
