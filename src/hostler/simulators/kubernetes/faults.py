"""Faults: what goes wrong between a client and the server, by name, by script or by chance."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from hostler.ports.http import HttpRequest


class Fault(StrEnum):
    """One thing that goes wrong with one call, or with one watch."""

    RESET = "reset"
    """The connection breaks; the call had no effect."""
    REPLY_LOST = "reply_lost"
    """The connection breaks; the call had its effect."""
    HUNG = "hung"
    """The call has its effect, and no answer ever comes."""
    UNAVAILABLE = "unavailable"
    """503, as from a load balancer with no server behind it; no effect."""
    OVERLOADED = "overloaded"
    """429 with the request to come back in a second; no effect."""
    INTERNAL = "internal"
    """500 without any effect."""
    TIMED_OUT = "timed_out"
    """504 although the call has its effect."""
    CONFLICT = "conflict"
    """Somebody else writes the object just before: what names a version is too late."""
    WEBHOOK_REFUSES = "webhook_refuses"
    """403: a webhook is against the write."""
    WEBHOOK_DOWN = "webhook_down"
    """500: a webhook does not answer, and its policy is to fail."""
    WATCH_EXPIRED = "watch_expired"
    """A watch ends at once with the event of a version that is too old."""
    WATCH_LATE = "watch_late"
    """A watch is silent for a while; then everything comes."""
    WATCH_BEHIND = "watch_behind"
    """A watch is behind as long as it lasts: each event is late, and those of other kinds are not,
    so that what happened one after the other is seen in another order."""


WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_OF_WRITES = frozenset({Fault.CONFLICT, Fault.WEBHOOK_REFUSES, Fault.WEBHOOK_DOWN})
OF_WATCHES = frozenset({Fault.WATCH_EXPIRED, Fault.WATCH_LATE, Fault.WATCH_BEHIND})


@dataclass(slots=True)
class Script:
    """A fault that is to strike the next `times` calls whose method and path fit."""

    fault: Fault
    method: str = ""
    path: str = ""
    times: int = 1

    def fits(self, request: HttpRequest) -> bool:
        """Tell whether it strikes this call."""
        fits = not self.method or self.method == request.method
        return self.times > 0 and fits and self.path in request.path


@dataclass(slots=True)
class Faults:
    """Which fault strikes a call: first what is scripted, then what is drawn at its rate.

    `rates` are chances per call; `counts` says how often each struck.
    """

    random: Random
    rates: Mapping[Fault, float] = field(default_factory=dict[Fault, float])
    scripts: list[Script] = field(default_factory=list[Script])
    counts: Counter[Fault] = field(default_factory=Counter[Fault])

    def script(self, fault: Fault, method: str = "", path: str = "", times: int = 1) -> None:
        """Let a fault strike the next calls of a method whose path has a part."""
        self.scripts.append(Script(fault, method, path, times))

    def strike(self, request: HttpRequest) -> Fault | None:
        """Return the fault that strikes a call, and count it."""
        fault = self._scripted(request) or self._drawn(request)
        if fault is not None:
            self.counts[fault] += 1
        return fault

    def _scripted(self, request: HttpRequest) -> Fault | None:
        for script in self.scripts:
            if script.fits(request):
                script.times -= 1
                return script.fault
        return None

    def _drawn(self, request: HttpRequest) -> Fault | None:
        for fault, rate in self.rates.items():
            if _can(fault, request) and self.random.random() < rate:
                return fault
        return None


def _can(fault: Fault, request: HttpRequest) -> bool:
    """Tell whether a fault can happen to a call."""
    if fault in _OF_WRITES:
        return request.method in WRITES
    watches = ("watch", "true") in request.query or ("watch", "1") in request.query
    return watches == (fault in OF_WATCHES)
