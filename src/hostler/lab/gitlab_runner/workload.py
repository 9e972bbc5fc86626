"""Jobs: what is asked of a runner over a season: when they come, and how long they take."""

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Job:
    """One job: when it comes, and how long it takes once it runs; in seconds."""

    at: float
    length: float


@dataclass(slots=True)
class Served:
    """How jobs went: those done, those whose instance was lost or unreachable, those given up."""

    done: int = 0
    broken: int = 0
    late: int = 0


def draw_jobs(rng: Random, span: float, most: int) -> tuple[Job, ...]:
    """Return the jobs of a season: waves of a few at once, single ones, and silence between."""
    found, at = list[Job](), rng.uniform(0.0, 60.0)
    typical = rng.choice((20.0, 90.0, 400.0))
    while at < span:
        for _ in range(rng.choice((1, 1, 2, most, most * 2))):
            length = min(1800.0, rng.expovariate(1 / typical) + 5.0)
            found.append(Job(at + rng.uniform(0.0, 5.0), length))
        at += rng.choice((rng.uniform(5.0, 60.0), rng.uniform(60.0, 900.0)))
    return tuple(sorted(found, key=lambda job: job.at))
