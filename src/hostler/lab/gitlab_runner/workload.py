"""The workload: what is asked of a runner over a run: when they come, and how long they take."""

from dataclasses import dataclass
from random import Random

from msgspec import Struct


class Job(Struct, frozen=True):
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
    """Return the jobs of a run: waves of a few at once, single ones, and silence between."""
    found, at = list[Job](), rng.uniform(0.0, 60.0)
    typical = rng.choice((20.0, 90.0, 400.0))
    while at < span:
        for _ in range(rng.choice((1, 1, 2, most, most * 2))):
            length = min(1800.0, rng.expovariate(1 / typical) + 5.0)
            found.append(Job(at + rng.uniform(0.0, 5.0), length))
        at += rng.choice((rng.uniform(5.0, 60.0), rng.uniform(60.0, 900.0)))
    return tuple(sorted(found, key=lambda job: job.at))


class RunnerOptions(Struct, frozen=True, kw_only=True):
    """What `[runners.autoscaler]` says; spans are seconds.

    `removes_stopped`: an instance that is told to be stopped is marked for removal, as the draft
    for such a state has it; otherwise the runner leaves it alone.
    """

    max_instances: int = 5
    capacity_per_instance: int = 1
    max_use_count: int = 0
    idle_count: int = 0
    idle_time: float = 300.0
    update_interval: float = 60.0
    expecting_interval: float = 2.0
    deletion_retry: float = 60.0
    acquire_timeout: float = 900.0
    failure_threshold: int = 3
    heartbeats: bool = False
    state_storage: bool = False
    removes_stopped: bool = True
    forgotten_after: int = 5
