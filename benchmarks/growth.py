"""From nothing to a thousand machines, and what they cost when nothing happens, in simulated time.

A guest is up exactly 60 s after its server was switched on; the API's latencies are those that were
recorded at the real one. Overhead is what is left of the time when 60 s, and the account's rate for
the calls that make machines, are taken from it: looks are overhead.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Iterator
from math import ceil
from pathlib import Path

from figures import Figure, show
from theatre import Asked, Theatre, fleet_file, load, silence

from hostler.simulators.scaleway.state.options import Options

SIZE = 1000
BOOT = 60.0
MINUTES = 10
_WORLD = Options(boot=BOOT, boot_slow=BOOT, pace=0.0)
_MAKING = frozenset({"ip.create", "server.create", "volume.update", "server.action.poweron"})


async def grow(theatre: Theatre) -> tuple[float, Counter[str]]:
    """Return the seconds until all machines are ready, and the requests by then."""
    async with theatre.running():
        took = await theatre.until_ready(SIZE)
        return took, Counter(theatre.world.calls)


async def grow_and_idle(theatre: Theatre) -> tuple[float, Counter[str], Counter[str]]:
    """As `grow`, and the requests of some minutes in which nothing happens."""
    async with theatre.running():
        took = await theatre.until_ready(SIZE)
        grown = Counter(theatre.world.calls)
        await asyncio.sleep(300)
        before = Counter(theatre.world.calls)
        await asyncio.sleep(60 * MINUTES)
        return took, grown, Counter(theatre.world.calls) - before


def grown(rate: float, took: float, calls: Counter[str], goal: float | None) -> Iterator[Figure]:
    """Say how long growing took, and what of it nobody else is to blame for."""
    requests = calls.total()
    made = sum(number for kind, number in calls.items() if kind in _MAKING)
    overhead = took - BOOT - (made - 2 * rate) / rate
    about = f"0 to {SIZE:,} machines at {rate:,g} calls/s"
    yield Figure(f"{about}: beyond boot and rate limit", goal, overhead, "simulated s")
    yield Figure(f"{about}: all", None, took, "simulated s")
    yield Figure(f"{about}: calls a machine", None, requests / SIZE, "calls")
    pace = requests / (took - BOOT)
    yield Figure(f"{about}: calls a second, looks and all", rate, pace, "calls")


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
        theatre = Theatre(load(path), _WORLD)
        took, calls, quiet = theatre.loop.run_until_complete(grow_and_idle(theatre))
        theatre.check()
        figures += (*grown(100, took, calls, 15), *idle(quiet))
        path = fleet_file(Path(folder), Asked(size=SIZE, probe="tcp"))
        theatre = Theatre(load(path), _WORLD)
        took, calls = theatre.loop.run_until_complete(grow(theatre))
        theatre.check()
        figures += grown(10, took, calls, 15)
    show(figures)


if __name__ == "__main__":
    main()
