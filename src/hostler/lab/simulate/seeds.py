"""Simulate: the whole program through many seeded disasters, in simulated time, on all cores."""

import argparse
import logging
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import structlog
from msgspec import Struct
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from hostler.domain.errors import UsageError
from hostler.frontends.cli.console.screen import Screen
from hostler.lab.harness.metrics import bug_text
from hostler.lab.scenario.faults import Size
from hostler.lab.scenario.run import Result
from hostler.testing.invariants import Violation

from .names import INSTANCES
from .providers import PROVIDERS
from .report import Report, as_json, as_story, as_text

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - only where the stores of seeds lie
_CHUNK = 1


class Plan(Struct, frozen=True, kw_only=True):
    """Which seeds are to be run, how large, and with which planted bug."""

    seeds: tuple[int, ...]
    size: Size
    bug: str = ""
    provider: str = INSTANCES


def main(  # noqa: PLR0913 - the options of the command, by name
    *,
    provider: str = INSTANCES,
    seeds: int = 100,
    seed: int | None = None,
    machines: int | None = None,
    days: float | None = None,
    jobs: int | None = None,
    json: bool = False,
    bug: str = "",
) -> int:
    """Run the seeds and print what came of them; return 1 if any failed.

    `seed` alone replays that one, with its whole story; with `seeds` it is the first of them.
    """
    simulated = PROVIDERS.get(provider)
    if simulated is None or (bug and bug not in simulated.mutants):
        known = ", ".join(simulated.mutants) if simulated else ""
        wrong = f"bug {bug!r}; there are {known}" if known else f"provider {provider!r}"
        return Screen(json=json).fail(UsageError(f"there is no {wrong}"))
    size = Size(machines=machines, days=days or simulated.days)
    first = 1 if seed is None else seed
    numbers = tuple(range(first, first + seeds))
    plan = Plan(seeds=numbers, size=size, bug=bug, provider=provider)
    begun = time.perf_counter()
    report = Report(size=size, bug=bug, provider=provider)
    for result in _with_progress(plan, jobs or os.cpu_count() or 1):
        report.take(result)
        if result.violation is not None:
            sys.stdout.write(as_story(result, report) + "\n")
            sys.stdout.flush()
    report.seconds = time.perf_counter() - begun
    sys.stdout.write((as_json(report) if json else as_text(report)) + "\n")
    return 1 if report.failed else 0


def _with_progress(plan: Plan, jobs: int) -> Iterator[Result]:
    console = Console(stderr=True)
    words = (TextColumn("{task.completed} of {task.total} seeds"), TimeElapsedColumn())
    progress = Progress(*words, console=console, transient=True)
    with progress if console.is_terminal else nullcontext():
        bar = progress.add_task("seeds", total=len(plan.seeds))
        for result in run(plan, jobs):
            progress.advance(bar)
            yield result


def run(plan: Plan, jobs: int = 1) -> Iterator[Result]:
    """Run seeds on this many processes; results come in the order of the seeds.

    One whose simulation itself breaks has failed: the others are run all the same.
    """
    one = partial(_run_or_broken, size=plan.size, bug=plan.bug, provider=plan.provider)
    if jobs == 1 or len(plan.seeds) == 1:
        yield from map(one, plan.seeds)
        return
    with multiprocessing.get_context("spawn").Pool(min(jobs, len(plan.seeds))) as pool:
        yield from pool.imap(one, plan.seeds, chunksize=_CHUNK)


def run_seed(seed: int, size: Size, bug: str = "", provider: str = INSTANCES) -> Result:
    """Run one seed from beginning to rest. Raises whatever the simulation itself breaks by."""
    begun = time.process_time()
    _silence()
    shared = _SHARED_MEMORY if _SHARED_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="hostler-", dir=shared) as folder:
        result = PROVIDERS[provider].run(seed, size, Path(folder), bug)
    return replace(result, seconds=time.process_time() - begun)


def _run_or_broken(seed: int, size: Size, bug: str, provider: str) -> Result:
    try:
        return run_seed(seed, size, bug, provider)
    except Exception as error:  # noqa: BLE001 - nothing of one seed may end the others
        return _broken(seed, error)


def _broken(seed: int, error: Exception) -> Result:
    """Return the result of a seed whose simulation broke, with the traceback as its story."""
    return Result(
        seed=seed,
        violation=Violation(invariant="bug", text=bug_text("the simulation broke", error)),
        story=tuple("".join(traceback.format_exception(error)).splitlines()),
        digest="",
        simulated=0.0,
        machine_seconds=0.0,
        faults={},
        pairs=(),
        plans={},
    )


def _silence() -> None:
    """Log nothing below *critical*: what happens is in the trace."""
    quiet = structlog.make_filtering_bound_logger(logging.CRITICAL)
    structlog.configure(wrapper_class=quiet, cache_logger_on_first_use=False)


def _from_command_line() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m hostler.lab.simulate.seeds", description=__doc__
    )
    parser.add_argument("--provider", default="instances")
    parser.add_argument("--seeds", type=int, default=None)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--machines", type=int)
    parser.add_argument("--days", type=float)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--bug", default="")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.seeds is None:
        options.seeds = 1 if options.seed is not None else 100
    return main(**vars(options))


if __name__ == "__main__":
    sys.exit(_from_command_line())
