"""Limits of boxes that are objects: each namespace is a rack, and Hosts come and go."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from hostler.domain.ids import HostId
from hostler.domain.model.calls import Call
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.resource import Condition
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.metal.limits import Limits
from hostler.testing.invariants import Found


@dataclass(slots=True, kw_only=True)
class SpaceLimits(Limits):
    """Limits of power of each namespace for itself; `space` names the one of a box."""

    space: Callable[[HostId], str]

    def rack_of(self, box: HostId) -> str:
        """Return the namespace of a box: those of one rack are told to start one by one."""
        return self.space(box)

    def saw_off(self, box: HostId) -> bool:
        """Since when a box is off that had no Host when it went off, nobody knows."""
        return self.truth.handled.get(box, -inf) < self.truth.since(box)

    def stopped(self, host: Host | None, call: Call) -> Found:
        """Since when a box is on that had no Host then, nobody knows."""
        if host is None:
            return ()
        on = self.truth.last(host.id, Condition.STARTING)
        known = on is None or self.truth.handled.get(host.id, -inf) <= on + 1.0
        return Limits.stopped(self, host, call) if known else ()

    def is_starting(self, machine: Machine, newest: Machine, shadow: ShadowStore) -> bool:
        """Tell whether a machine's box is started in the rack of the newest."""
        one, other = machine.host, newest.host
        same = one is None or other is None or self.space(one) == self.space(other)
        return same and Limits.is_starting(self, machine, newest, shadow)
