"""Staged: a fleet that stands, its store, and the simulated Scaleway where it stands, over HTTP.

A process of its own, so that its work is not counted as ours. The engine itself makes the fleet, in
simulated time; the records are copied into SQLite.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from figures import silence
from msgspec.structs import replace
from theatre import FLEET, INSTALLATION, PROJECT, Asked, Theatre, fleet_file, load

from hostler.domain.ids import Epoch
from hostler.ports.store import Fence
from hostler.simulators.scaleway.http import serve
from hostler.simulators.scaleway.state.options import Options
from hostler.stores.sqlite.opening import open_engine
from hostler.testing.time.clock import BEGINNING

_BEFORE = timedelta(minutes=30)
"""How long ago the fleet was made, so that nothing in its records lies in the future."""

_QUICK = Options(project=PROJECT, latency=0.0, pace=0.0, boot=1.0, boot_slow=1.0)
_FENCE = Fence(lease=f"fleet/{FLEET}", epoch=Epoch(1))
_BATCH = 1000


@contextmanager
def staged(folder: Path, size: int) -> Generator[str]:
    """Give the URL of a simulator with a fleet of this size, whose store is FOLDER/web.db."""
    command = (sys.executable, __file__, str(folder), str(size))
    with subprocess.Popen(  # noqa: S603 - ourselves
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url, "the fleet could not be made"
        try:
            yield url
        finally:
            process.stdin.close()


def made(folder: Path, size: int) -> Theatre:
    """Make the fleet in simulated time."""
    path = fleet_file(folder, Asked(size=size, rate=10_000, burst=10_000))
    start = datetime.now(UTC) - _BEFORE
    wall = (start - BEGINNING).total_seconds()
    theatre = Theatre(load(path), replace(_QUICK, epoch=start), wall=wall)
    theatre.loop.run_until_complete(_fill(theatre, size))
    theatre.check()
    return theatre


async def _fill(theatre: Theatre, size: int) -> None:
    async with theatre.running():
        await theatre.until_ready(size)
        await asyncio.sleep(60)


async def copied(theatre: Theatre, path: Path) -> None:
    """Write the fleet's records into a store on disk."""
    store = open_engine(path, INSTALLATION)
    (row,) = await theatre.store.fleets()
    row = await store.add_fleet(replace(row, version=0))
    machines = await theatre.store.machines(FLEET)
    for start in range(0, len(machines), _BATCH):
        row = await store.save_fleet(row, machines[start : start + _BATCH], (), _FENCE)
    await store.close()


async def served(theatre: Theatre) -> None:
    """Serve the world, its clock the wall's from now on, until our input ends."""
    start = time.perf_counter() - _BEFORE.total_seconds()
    theatre.time = lambda: time.perf_counter() - start
    async with serve(theatre.world, "127.0.0.1", 0, 1.0) as server:
        print(server.url, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def main() -> None:
    """Make, copy and serve."""
    silence()
    folder, size = Path(sys.argv[1]), int(sys.argv[2])
    theatre = made(folder, size)
    asyncio.run(copied(theatre, folder / "web.db"))
    asyncio.run(served(theatre))


if __name__ == "__main__":
    main()
