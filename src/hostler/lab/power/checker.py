"""The checker of provider `power`: that of metal, and how many boxes that nobody has are on.

power  at rest so many of them are on as are to stay on, and those that show that they still start.
"""

from hostler.domain.ids import HostId
from hostler.domain.model.host import HostCondition
from hostler.domain.model.resource import Condition
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.metal.checker import MetalChecker
from hostler.testing.invariants import Found, Violation

_NOTICED = 180.0
"""So long, in seconds, after it was on for long enough a box may still be on."""


class PowerChecker(MetalChecker):
    """All checkers of one run of power."""

    def _boxes_rest(self, shadow: ShadowStore) -> Found:
        """As many boxes that nobody has are on as are to be; no other is, but for a while."""
        usable = [
            box
            for box, host in self._boxes(shadow)
            if box not in shadow.bindings and self._is_usable(box, host)
        ]
        free = [box for box in usable if self._is_free(shadow, box)]
        on = [box for box in usable if self.truth.condition(box) is not Condition.OFF]
        lasting = [box for box in on if not self._is_exercised(box)]
        stay = min(self._scenario.power.stay_on, len(free))
        if len(on) >= stay >= len(lasting):
            return ()
        names = ", ".join(on) or "none"
        text = f"{len(free)} boxes are nobody's, {stay} are to stay on, and {names} is on"
        return (Violation(invariant="L1", text=text),)

    def _is_free(self, shadow: ShadowStore, box: HostId) -> bool:
        host = shadow.hosts.get(box)
        return host is not None and host.condition is HostCondition.FREE

    def _is_exercised(self, box: HostId) -> bool:
        """Tell whether a box may be on for a while, to show that it still starts."""
        limits = self._scenario.power
        time = max(limits.exercise_time, limits.least_on).total_seconds() + _NOTICED
        return limits.exercise is not None and self.truth.now - self.truth.since(box) < time
