"""Findings: what a checker found in one run, and which faults truly struck."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol

from hostler.testing.invariants import Found, Violation

from .trace import Trace


class SimulatedWorld(Protocol):
    """What every checker needs of a simulated world."""

    @property
    def faults(self) -> Mapping[str, int]:
        """How often each fault of the world truly struck; those of requests may be left out."""
        ...

    def advance(self) -> None:
        """Let everything happen that is due by now."""
        ...


class Findings(ABC):
    """What every checker has; a checker says in which phases its machines are just now."""

    def __init__(self, world: SimulatedWorld, trace: Trace) -> None:
        self._world, self.trace = world, trace
        self.first: Violation | None = None
        self.faults = Counter[str]()
        self.pairs = set[tuple[str, str]]()
        self.plans = Counter[str]()
        self.machine_seconds: float = 0.0
        self._ambient = dict[str, int]()

    @property
    def now(self) -> float:
        """True time, in seconds; the world may not have caught up with it."""
        return self.trace.now

    @abstractmethod
    def phases(self) -> Iterable[str]:
        """Return the phases in which machines are just now."""

    def catch_up(self) -> None:
        """Let everything happen in the world that is due by now."""
        self._world.advance()

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

    def count_ambient(self) -> bool:
        """Count the faults that struck without a request; tell whether there were any."""
        changed = False
        for fault, count in self._world.faults.items():
            known = max(self._ambient.get(fault, 0), self.faults[fault])
            if count > known:
                self.struck(fault, count - known)
                changed = True
            self._ambient[fault] = count
        return changed
