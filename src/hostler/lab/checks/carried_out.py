"""Carried out: what a person asks for stands on record as it was asked for, and soon (E3).

The later of two requests about the same counts. A store that somebody put back, or copied, may hold
other requests than those that were written: nothing is said then.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.machine import Machine, Protection
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.lab.scenario.faults import OTHER_STORES
from hostler.testing.invariants import Found, Violation

from .shadow_store import ShadowStore

ANSWERED = 300.0
"""So long, in seconds in which an engine could act, a request waits for its answer at most."""

_ABOUT = {
    RequestKind.PROTECT: "protection",
    RequestKind.UNPROTECT: "protection",
    RequestKind.DELETE: "end",
    RequestKind.SCALE: "size",
    RequestKind.PAUSE: "pause",
    RequestKind.RESUME: "pause",
}


def _subject(request: Request) -> tuple[str, str]:
    return _ABOUT.get(request.kind, ""), request.machine or request.fleet


@dataclass(slots=True)
class CarriedOut:
    """The requests of people to one installation; `faults` are how often each fault struck."""

    faults: Mapping[str, int]
    waiting: dict[int, Request] = field(default_factory=dict[int, Request])
    waited: dict[int, float] = field(default_factory=dict[int, float])
    newest: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    refusals: set[int] = field(default_factory=set[int])

    def asked(self, request: Request) -> None:
        """Note what a person asks for."""
        self.waiting[request.number] = request
        self.waited[request.number] = 0.0
        self.newest[_subject(request)] = request.number

    def passed(self, seconds: float) -> Found:
        """Judge how long requests wait, after time in which an engine could act."""
        for number, request in self.waiting.items():
            self.waited[number] += seconds
            if self.waited[number] > ANSWERED and not self._by_hand:
                return _wrong(request, f"has no answer for {self.waited[number]:.0f} s")
        return ()

    def refused(self, number: int | None, shadow: ShadowStore) -> Found:
        """Judge that a request was refused: what is there can be protected, ended and scaled."""
        request = self.waiting.get(number) if number is not None else None
        if request is None or self._by_hand:
            return ()
        self.refusals.add(request.number)
        if request.machine is not None:
            machine = shadow.machines.get(request.machine)
            there = machine is not None and machine.phase is not Phase.DELETED
        else:
            fleet, row = shadow.fleets.get(request.fleet), shadow.rows.get(request.fleet)
            there = fleet is not None and not fleet.removed and fleet.renews
            there = there and row is not None and not row.ends
        known = request.kind in _ABOUT and request.machine not in shadow.removed
        return _wrong(request, "was refused") if there and known else ()

    def taken(self, numbers: Collection[int], shadow: ShadowStore) -> Found:
        """Judge requests that were taken: each was refused, or stands on record."""
        taken = [self.waiting.pop(n) for n in sorted(numbers) if n in self.waiting]
        found = tuple(violation for request in taken for violation in self._stands(request, shadow))
        self.refusals -= set(numbers)
        return () if self._by_hand else found

    def _stands(self, request: Request, shadow: ShadowStore) -> Found:
        later = self.newest[_subject(request)] != request.number
        fleet = shadow.fleets.get(request.fleet)
        if later or request.number in self.refusals or fleet is None:
            return ()
        if request.machine is not None:
            machine = shadow.machines.get(request.machine)
            ended = machine is None or machine.phase is Phase.DELETED
            wrong = "" if ended or machine is None else _of_machine(request, machine, fleet)
        else:
            row = shadow.rows.get(request.fleet)
            wrong = _of_fleet(request, row, fleet) if row is not None else ""
        return _wrong(request, f"was taken, and {wrong}") if wrong else ()

    @property
    def _by_hand(self) -> bool:
        return any(self.faults[fault] for fault in OTHER_STORES)


def _of_machine(request: Request, machine: Machine, fleet: Fleet) -> str:
    """Return how a machine is not what was asked, or an empty text."""
    match request.kind:
        case RequestKind.PROTECT:
            return _until(machine.protection, request, fleet)
        case RequestKind.UNPROTECT:
            return "it is protected" if machine.protection is not None else ""
        case RequestKind.DELETE:
            deletion = machine.deletion
            if deletion is None:
                return "it is not to end"
            return "it is not to end at once" if request.now and not deletion.now else ""
        case _:
            return ""


def _of_fleet(request: Request, row: FleetRow, fleet: Fleet) -> str:
    """Return how a fleet is not what was asked, or an empty text."""
    match request.kind:
        case RequestKind.SCALE:
            return f"its size is {row.size}" if row.size != request.size else ""
        case RequestKind.PAUSE:
            return _until(row.pause, request, fleet)
        case RequestKind.RESUME:
            return "it is paused" if row.pause is not None else ""
        case _:
            return ""


def _until(stands: Protection | None, request: Request, fleet: Fleet) -> str:
    longest = request.at + fleet.timers.longest_protection
    until: datetime = min(request.until or longest, longest)
    if stands is None:
        return "nothing of it stands"
    return f"it ends at {stands.until}, not at {until}" if stands.until != until else ""


def _wrong(request: Request, what: str) -> Found:
    about = request.machine or request.fleet
    text = f"request {request.number} ({request.kind} {about}) {what}"
    return (Violation(invariant="E3", text=text, machine=request.machine),)
