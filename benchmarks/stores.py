"""What the SQLite store costs: saves, shared commits, reads; `--json` for one line a figure.

The collector of garbage runs seldom, as it does in every process of ours.
"""

import asyncio
import json
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from hostler.app.collector import collect_seldom
from hostler.domain.ids import CycleId, Epoch, FleetName, ResourceId, Zone, machine_id
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.machine import Known, Machine, Offer, Place
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Slot
from hostler.ports.store import Fence, Store
from hostler.stores.sqlite.opening import open_engine, open_shared

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
FLEET, ZONE = FleetName("web"), Zone("zone-1")
FENCE = Fence(lease="fleet/web", epoch=Epoch(1))


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, beside the goal that it should stay under."""

    name: str
    goal: float
    figure: float
    unit: str


def machine(number: int) -> Machine:
    """Return a machine as it is in the middle of its life: three slots, each bound."""
    places = tuple(
        Place(slot=Slot(kind), attempt=1, bound=resource, known=(known,))
        for kind in ("address", "server", "volume")
        for resource in (ResourceId(f"{kind}-0d6c6a7e-5bd5-4d29-b7a3-{number:012d}"),)
        for known in (Known(id=resource, zone=ZONE, since=NOW),)
    )
    return Machine(
        id=machine_id(number),
        fleet=FLEET,
        serial=number,
        created=NOW,
        phase=Phase.READY,
        since=NOW,
        offer=Offer("DEV1-S", ZONE, "ubuntu"),
        places=places,
    )


def event(about: Machine) -> Event:
    """Return the event of a change."""
    return Event(kind="phase", at=NOW, fleet=FLEET, cycle=CycleId("t-1"), machine=about.id)


async def fill(store: Store, count: int) -> None:
    """Insert machines, a thousand a save."""
    row = await store.add_fleet(FleetRow(name=FLEET, created=NOW))
    for start in range(0, count, 1000):
        some = tuple(machine(number) for number in range(start, min(start + 1000, count)))
        row = await store.save_fleet(row, some, (), FENCE)


async def save(store: Store, one: Machine) -> Machine:
    """Save one change with its event."""
    return await store.save_machine(replace(one, observed="running"), (event(one),), FENCE)


async def saves_together(folder: Path) -> tuple[Figure, ...]:
    """Save a thousand machines at once, as at start-up; the fsyncs are shared."""
    store = open_engine(folder / "together.db", "bench")
    await fill(store, 1000)
    machines = await store.machines(FLEET)
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(save(store, one) for one in machines))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    await store.close()
    return (
        Figure("store: CPU of a save among 1,000 at once", 200, cpu * 1e3, "µs"),
        Figure("store: time of a save among 1,000 at once", 500, wall * 1e3, "µs"),
    )


async def saves_alone(folder: Path) -> tuple[Figure, ...]:
    """Save one after the other: each waits for an fsync of its own."""
    store = open_engine(folder / "alone.db", "bench")
    await fill(store, 200)
    wall = time.perf_counter()
    for one in await store.machines(FLEET):
        await save(store, one)
    wall = time.perf_counter() - wall
    await store.close()
    return (Figure("store: time of a save alone, with its fsync", 20_000, wall * 5e3, "µs"),)


async def saves_inline(folder: Path) -> tuple[Figure, ...]:
    """Save without thread and fsync, as simulations do."""
    store = open_shared(folder / "inline.db", "bench")
    await fill(store, 1000)
    machines = await store.machines(FLEET)
    cpu = time.process_time()
    for one in machines:
        await save(store, one)
    cpu = time.process_time() - cpu
    await store.close()
    return (Figure("store: CPU of a save under simulation", 200, cpu * 1e3, "µs"),)


async def reads(folder: Path, count: int, goal: float) -> tuple[Figure, ...]:
    """Read a fleet whole."""
    store = open_engine(folder / f"{count}.db", "bench")
    await fill(store, count)
    wall = time.perf_counter()
    assert len(await store.machines(FLEET)) == count
    wall = time.perf_counter() - wall
    await store.close()
    return (Figure(f"store: read {count:,} machines", goal, wall * 1e3, "ms"),)


async def measure(folder: Path) -> tuple[Figure, ...]:
    """Measure everything, in files of its own each."""
    return (
        *await saves_together(folder),
        *await saves_alone(folder),
        *await saves_inline(folder),
        *await reads(folder, 1_000, 20),
        *await reads(folder, 100_000, 3_000),
    )


def show(figure: Figure) -> None:
    """Print a figure: JSON where it was asked for, else a line for people."""
    if "--json" in sys.argv:
        values = {
            "name": figure.name,
            "goal": figure.goal,
            "figure": round(figure.figure, 2),
            "unit": figure.unit,
        }
        print(json.dumps(values, ensure_ascii=False))
    else:
        print(f"{figure.name:<48} {figure.figure:>9.1f} {figure.unit:<3} (goal {figure.goal:,g})")


def main() -> None:
    """Measure in a folder that is thrown away."""
    collect_seldom()
    folder = Path(tempfile.mkdtemp(prefix="hostler-bench-"))
    try:
        for figure in asyncio.run(measure(folder)):
            show(figure)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
