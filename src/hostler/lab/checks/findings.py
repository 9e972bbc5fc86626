"""Findings: what a checker found in one run, and which faults truly struck."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable

from hostler.ports.http import HttpRequest
from hostler.simulators.scaleway.state.ledger import Line
from hostler.simulators.scaleway.world import World
from hostler.testing.invariants import Found, Violation

from .trace import Trace


class Findings(ABC):
    """What every checker has; a checker says in which phases its machines are just now."""

    def __init__(self, world: World, trace: Trace) -> None:
        self.world, self.trace = world, trace
        self.first: Violation | None = None
        self.faults = Counter[str]()
        self.pairs = set[tuple[str, str]]()
        self.machine_seconds: float = 0.0
        self._ambient = dict[str, int]()

    @property
    def now(self) -> float:
        """True time in seconds."""
        return self.world.cloud.now

    @abstractmethod
    def phases(self) -> Iterable[str]:
        """Return the phases in which machines are just now."""

    def found(self, violations: Found) -> None:
        """Note violations; the first one ends the trace."""
        if violations and self.first is None:
            self.first = violations[0]
            machine = self.first.machine or ""
            self.trace.note(f"VIOLATION {self.first.invariant}: {self.first.text}", machine)
            self.trace.close()

    def struck(self, fault: str, times: int = 1) -> None:
        """Count a fault that truly happened, and in which phases machines were."""
        self.faults[fault] += times
        self.pairs |= {(fault, phase) for phase in self.phases()}

    def handled(self, request: HttpRequest, source: str, line: Line) -> tuple[str, ...]:
        """Trace what became of a request in the world; return the faults that took effect."""
        text = f"{source} {request.method} {request.path}"
        if request.method != "GET":
            self.trace.note(f"{text} -> {line.status} {line.fate} {line.fault}")
        else:
            self.trace.digest(f"{text} {line.status} {line.fault}")
        faults = tuple(line.fault.split("+")) if line.fault else ()
        for fault in faults:
            self.struck(fault)
        return faults

    def count_ambient(self) -> bool:
        """Count the faults that struck without a request; tell whether there were any."""
        changed = False
        for fault, count in self.world.faults.items():
            known = max(self._ambient.get(fault, 0), self.faults[fault])
            if count > known:
                self.struck(fault, count - known)
                changed = True
            self._ambient[fault] = count
        return changed
