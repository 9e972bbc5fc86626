"""From nothing to a thousand machines, and what they cost when nothing happens, in simulated time.

A guest is up exactly 60 s after its server was switched on; the API's latencies are those that were
recorded at the real one. Overhead is what is left of the time when 60 s, and the account's rate for
the calls that make machines, are taken from it: looks are overhead. The rate is held against the
busiest minute: guests boot while other machines are made, so no time may be taken from the whole.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from figures import Figure, show, silence
from theatre import Asked, Theatre, fleet_file, load

from hostler.simulators.scaleway.state.options import Options

SIZE = 1000
CHANCES = (7, 8, 9)
BOOT = 60.0
MINUTES = 10
_WORLD = Options(boot=BOOT, boot_slow=BOOT, pace=0.0)
_MAKING = frozenset({"ip.create", "server.create", "volume.update", "server.action.poweron"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How many seconds growing took, the requests by then, and those of its busiest minute."""

    took: float
    calls: Counter[str]
    busiest: int


@asynccontextmanager
async def counting(theatre: Theatre) -> AsyncGenerator[list[int]]:
    """Give how many requests there were by each second of the block."""
    counts = list[int]()

    async def count() -> None:
        while True:
            counts.append(sum(theatre.world.calls.values()))
            await asyncio.sleep(1)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(count())
        yield counts
        task.cancel()


async def grow(theatre: Theatre) -> Growth:
    """Grow until all machines are ready; the engine runs on."""
    async with counting(theatre) as counts:
        took = await theatre.until_ready(SIZE)
    busiest = max(after - before for before, after in zip(counts, counts[60:], strict=False))
    return Growth(took=took, calls=Counter(theatre.world.calls), busiest=busiest)


async def only_grow(theatre: Theatre) -> Growth:
    """Run an engine until it has grown."""
    async with theatre.running():
        return await grow(theatre)


async def grow_and_idle(theatre: Theatre) -> tuple[Growth, Counter[str]]:
    """As `only_grow`, and the requests of some minutes in which nothing happens."""
    async with theatre.running():
        growth = await grow(theatre)
        await asyncio.sleep(300)
        before = Counter(theatre.world.calls)
        await asyncio.sleep(60 * MINUTES)
        return growth, Counter(theatre.world.calls) - before


def overhead(rate: float, growth: Growth) -> float:
    """Return what of the time nobody else is to blame for."""
    made = sum(number for kind, number in growth.calls.items() if kind in _MAKING)
    return growth.took - BOOT - (made - 2 * rate) / rate


def grown(rate: float, growths: Sequence[Growth], goal: float | None) -> Iterator[Figure]:
    """Say how long growing took: a run in the middle, as one call in 4,000 may take 14 s alone."""
    by_time = sorted(growths, key=lambda growth: overhead(rate, growth))
    growth, slowest = by_time[len(by_time) // 2], overhead(rate, by_time[-1])
    requests, burst = growth.calls.total(), 2 * rate
    about = f"0 to {SIZE:,} machines at {rate:,g} calls/s"
    name = f"{about}: beyond boot and rate limit"
    yield Figure(name, goal, overhead(rate, growth), "simulated s")
    yield Figure(f"{name}, the slowest of {len(growths)}", None, slowest, "simulated s")
    yield Figure(f"{about}: all", None, growth.took, "simulated s")
    yield Figure(f"{about}: calls a machine", None, requests / SIZE, "calls")
    most = 60 * rate + burst
    yield Figure(f"{about}: calls of the busiest minute", most, growth.busiest, "calls")


def idle(calls: Counter[str]) -> Iterator[Figure]:
    """Say what an idle minute costs; each kind of part is listed a hundred a page, twice."""
    pages = 3 * ceil(SIZE / 100) + 1
    lists = sum(number for kind, number in calls.items() if kind.endswith(".list"))
    rest = calls.total() - lists
    name = f"idle minute, {SIZE:,} machines"
    yield Figure(f"{name}: pages of lists", 2 * pages, lists / MINUTES, "calls")
    yield Figure(f"{name}: calls about single machines", 0, rest / MINUTES, "calls")


def main() -> None:
    """Grow at the default rate, and at the highest that the real API is known to bear."""
    silence()
    figures = list[Figure]()
    with tempfile.TemporaryDirectory() as folder:
        path = fleet_file(Path(folder), Asked(size=SIZE, rate=100, burst=200, probe="tcp"))
        first = staged(path, CHANCES[0])
        growth, quiet = first.loop.run_until_complete(grow_and_idle(first))
        first.check()
        figures += (*grown(100, (growth, *others(path)), 15), *idle(quiet))
        path = fleet_file(Path(folder), Asked(size=SIZE, probe="tcp"))
        first = staged(path, CHANCES[0])
        growth = first.loop.run_until_complete(only_grow(first))
        first.check()
        figures += grown(10, (growth, *others(path)), 15)
    show(figures)


def staged(path: Path, chance: int) -> Theatre:
    """Return a fleet of a file, and how long its calls take by chance."""
    return Theatre(load(path), _WORLD, chance=chance)


def others(path: Path) -> Iterator[Growth]:
    """Grow by each of the other chances."""
    for chance in CHANCES[1:]:
        theatre = staged(path, chance)
        yield theatre.loop.run_until_complete(only_grow(theatre))
        theatre.check()


if __name__ == "__main__":
    main()
