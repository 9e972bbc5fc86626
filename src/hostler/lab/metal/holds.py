"""Holds of boxes: what is to be on or off, and that nobody has, comes to be so soon.

What is to go off and on again does; so does what was off for so long that it is to show that it
still goes on.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from hostler.domain.ids import HostId
from hostler.domain.model.calls import Shows
from hostler.domain.model.hold import HoldKind
from hostler.domain.model.host import Host
from hostler.domain.model.resource import Condition
from hostler.lab.checks.holds import HEARD, Holds, wrong
from hostler.testing.invariants import Found
from hostler.testing.time.clock import BEGINNING

from .ground_truth import MetalTruth

OFF_SOON = 240.0
"""So long, in seconds, a box that is to be off may be on while nothing befalls anything."""
ON_SOON = 900.0
"""So long one that is to be on may be off: boxes that start take turns."""
_ASKED = 120.0
"""So long, in seconds, after it was told to go on nobody can say that nothing is done for a box."""
_WANTED: Mapping[HoldKind, tuple[frozenset[Condition], float]] = {
    HoldKind.OFF: (frozenset({Condition.OFF}), OFF_SOON),
    HoldKind.ON: (frozenset({Condition.STARTING, Condition.UP}), ON_SOON),
}


@dataclass(slots=True)
class Switched:
    """For how long the boxes of one installation are not as their holds want them.

    `has_room` tells whether one may go on while others do, and `exercise` is for how long one may
    be off before it is to show that it still goes on, if it is.
    `waited` is in seconds of the time that counts; `struck` is how many faults there were by the
    last check.
    """

    truth: MetalTruth
    holds: Holds
    has_room: Callable[[Host], bool]
    exercise: timedelta | None = None
    waited: dict[HostId, float] = field(default_factory=dict[HostId, float])
    struck: int = 0

    def late(self, free: Iterable[Host], passed: float) -> Found:
        """Judge which free boxes are not as they are held; `passed` is the time that counts.

        Whatever befalls anything begins that time anew.
        """
        struck, older = sum(self.holds.faults.values()), self.waited
        calm, self.struck, self.waited = struck == self.struck, struck, {}
        for host in free:
            hold, condition = self.holds.heard(host), self.truth.condition(host.id)
            kind, why = (hold.kind, f"is {hold}") if hold is not None else (None, "")
            if kind is None and self._is_due(host):
                kind, why = HoldKind.ON, "is to show that it still goes on"
            if kind is None or kind not in _WANTED:
                continue
            wanted, soon = _WANTED[kind]
            if condition is None or condition in {*wanted, Condition.FAILED}:
                continue
            if kind is HoldKind.ON and self._is_asked(host):
                continue
            counted = passed if kind is not HoldKind.ON or self.has_room(host) else 0.0
            time = self.waited[host.id] = older.get(host.id, 0.0) + counted if calm else 0.0
            if time > soon:
                return wrong(f"{host.id} is {condition} for {time:.0f} s, and {why}")
        return ()

    def _is_asked(self, host: Host) -> bool:
        """Tell whether a box was told to go on just now: one that stays dark is told again."""
        times = (one.closed or one.at for one in host.asked if one.shows is Shows.POWER)
        return any(self.truth.now - (at - BEGINNING).total_seconds() < _ASKED for at in times)

    def _is_due(self, host: Host) -> bool:
        """Tell whether a box of which nobody wants anything was off for long, as everybody knows.

        A clock that jumped says otherwise since when, and a box that failed is left alone.
        """
        since, wanted = host.power.since, host.hold is not None or host.power.cycle is not None
        if self.exercise is None or since is None or wanted or self.holds.faults["clock_jump"]:
            return False
        if host.health.strikes or host.retry_at is not None:
            return False
        off = max((since - BEGINNING).total_seconds(), self.truth.since(host.id))
        return self.truth.now - off > self.exercise.total_seconds()


@dataclass(slots=True)
class Cycles:
    """Which boxes of one installation are to go off and on again, and since when that was saved."""

    truth: MetalTruth
    begun: dict[HostId, float] = field(default_factory=dict[HostId, float])

    def saved(self, host: Host) -> Found:
        """Judge a record by which that is over: the box was off meanwhile, or just before."""
        if host.power.cycle is not None:
            self.begun.setdefault(host.id, self.truth.now)
            return ()
        since = self.begun.pop(host.id, None)
        if since is None or host.health.strikes:
            return ()
        off, condition = self.truth.last(host.id, Condition.OFF), self.truth.condition(host.id)
        if condition is not Condition.UP or (off is not None and off >= since - HEARD):
            return ()
        return wrong(f"{host.id} is no longer to go off and on, and was not off since")
