"""Decisions of simulated processes, shown to whoever watches the process that makes them."""

import contextvars
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

from hostler.controllers import cycle as cycles
from hostler.domain.decision.cache import DecisionCache
from hostler.domain.model.commands import Decision
from hostler.domain.model.provider import Planner
from hostler.domain.model.snapshot import Snapshot
from hostler.testing.invariants import Found, Violation

_TWICE = 16
_FORGOT = "what is remembered of rests decides otherwise"


class DecisionObserver(Protocol):
    """Who hears of the decisions of one run of a process, and of what is wrong with them."""

    def decided(self, snapshot: Snapshot, planner: Planner, decision: Decision) -> None:
        """Take in a decision."""
        ...

    def found(self, violations: Found) -> None:
        """Take in what is wrong with it."""
        ...


OBSERVER: contextvars.ContextVar[DecisionObserver | None] = contextvars.ContextVar(
    "decision_observer", default=None
)
"""Who watches the process that is at work."""


@contextmanager
def watching_decisions(seed: int) -> Generator[None]:
    """Show every decision of a simulated process to its observer.

    In a few of the seeds each is made twice: what is remembered of rests must change nothing.
    """
    real, twice = cycles.decide, seed % _TWICE == 0

    def decide(
        snapshot: Snapshot, planner: Planner, cache: DecisionCache | None = None
    ) -> Decision:
        decision = real(snapshot, planner, cache)
        observer = OBSERVER.get()
        if observer is not None:
            observer.decided(snapshot, planner, decision)
            if twice and real(snapshot, planner) != decision:
                text = f"{snapshot.cycle}: {_FORGOT}"
                observer.found((Violation(invariant="E1", text=text),))
        return decision

    cycles.decide = decide
    try:
        yield
    finally:
        cycles.decide = real
