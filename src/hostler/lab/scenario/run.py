"""A run: one seed, from its first second to its last, and what came of it."""

from dataclasses import dataclass, field
from typing import Protocol

from hostler.lab.checks.findings import Findings
from hostler.lab.checks.trace import Trace
from hostler.testing.invariants import Violation
from hostler.testing.time.loop import SimLoop

from .faults import Scenario

_STORY = 80
"""So many entries of the trace tell the story of a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of one seed; `seconds` is what it took in real time."""

    seed: int
    violation: Violation | None
    story: tuple[str, ...]
    digest: str
    simulated: float
    machine_seconds: float
    faults: dict[str, int]
    pairs: tuple[tuple[str, str], ...]
    plans: dict[str, int]
    calm: bool = False
    seconds: float = field(default=0.0, compare=False)


class Course(Protocol):
    """What one sort of program goes through in a run, and what it goes through it in."""

    @property
    def base(self) -> Scenario:
        """What the seed drew, whatever runs."""
        ...

    @property
    def loop(self) -> SimLoop:
        """Simulated time."""
        ...

    @property
    def trace(self) -> Trace:
        """Everything that happens."""
        ...

    @property
    def checker(self) -> Findings:
        """What is wrong with it."""
        ...

    async def go(self) -> None:
        """Let faults strike and cease; check that all that was asked for is reached then."""
        ...

    def subject(self, violation: Violation) -> str:
        """Return the machine whose story a violation is, or an empty text."""
        ...


def play(course: Course) -> Result:
    """Run a seed to its end, or to the first violation, and return what came of it."""
    loop, checker = course.loop, course.checker
    try:
        loop.run_until_complete(course.go())
    finally:
        loop.close()
    if loop.failures:
        checker.found((Violation(invariant="bug", text=loop.failures[0]),))
    first = checker.first
    return Result(
        seed=course.base.seed,
        violation=first,
        story=course.trace.story(course.subject(first), _STORY) if first else (),
        digest=course.trace.sum,
        simulated=loop.time(),
        machine_seconds=checker.machine_seconds,
        faults=dict(sorted(checker.faults.items())),
        pairs=tuple(sorted(checker.pairs)),
        plans=dict(sorted(checker.plans.items())),
        calm=course.base.severity == "calm",
    )
