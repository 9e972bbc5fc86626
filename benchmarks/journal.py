"""The store in Kubernetes: what a thousand machines write on their way to ready, and what it costs.

The engine makes them in simulated time against a fake API server in the same process, each of whose
answers takes 5 ms. CPU is that of client, records and journal, and of the fake server too.
"""

import asyncio
import tempfile
import time
from pathlib import Path

from figures import Figure, resident, show, silence
from theatre import FLEET, INSTALLATION, Asked, Theatre, fleet_file, load

from hostler.kubernetes.client import Client
from hostler.kubernetes.session import Call
from hostler.lab.harness.cluster_session import ClusterSession
from hostler.lab.scenario.cluster_store import cluster
from hostler.ports.clock import Clock
from hostler.ports.store import Store
from hostler.simulators.scaleway.state.options import Options
from hostler.stores.kubernetes.batches import Batches, Writing
from hostler.stores.kubernetes.objects import Objects
from hostler.stores.kubernetes.store import KubernetesStore

SIZE = 1000
_WORLD = Options(boot=60.0, boot_slow=60.0, pace=0.0)


async def _answered(call: Call) -> None:
    """Let an answer take its time."""
    del call
    await asyncio.sleep(0.005)


class InCluster:
    """A store in a cluster, and the calls that it makes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.session = ClusterSession(cluster(clock), after=_answered)

    def open(self) -> Store:
        """Return a handle with its own copy of the records."""
        client = Client(session=self.session)
        writing = Writing(
            writer="bench", installation=INSTALLATION, clock=self._clock, draw=lambda: 0.5
        )
        objects = Objects(client=client, namespace="default", name="hostler")
        return KubernetesStore(Batches(objects, writing))


async def grown(theatre: "ClusterTheatre") -> tuple[list[Call], list[Call]]:
    """Return the calls until all machines are ready, and those of ten minutes at rest."""
    calls = theatre.place.session.calls
    async with theatre.running():
        await theatre.until_ready(SIZE)
        growth = list(calls)
        await asyncio.sleep(300)
        calls.clear()
        await asyncio.sleep(600)
        return growth, list(calls)


def writes(calls: list[Call]) -> list[Call]:
    """Return the calls that write."""
    return [call for call in calls if call.method != "GET"]


def reads(calls: list[Call]) -> list[Call]:
    """Return the calls that read."""
    return [call for call in calls if call.method == "GET"]


async def opened(place: InCluster) -> tuple[float, float]:
    """Open the store anew and read the fleet; return the seconds of CPU, and the megabytes held."""
    size, spent = resident(), time.process_time()
    machines = await place.open().machines(FLEET)
    spent = time.process_time() - spent
    assert len(machines) == SIZE
    return spent, resident() - size


class ClusterTheatre(Theatre):
    """An engine whose store is in a cluster."""

    place: InCluster

    def made_store(self, clock: Clock) -> Store:
        """Return a store in a new cluster."""
        self.place = InCluster(clock)
        return self.place.open()


def measure(folder: Path) -> list[Figure]:
    """Grow, rest, and open the store once more."""
    path = fleet_file(folder, Asked(size=SIZE, rate=100, burst=200))
    theatre = ClusterTheatre(load(path), _WORLD)
    spent = time.process_time()
    growth, idle = theatre.loop.run_until_complete(grown(theatre))
    spent = time.process_time() - spent
    theatre.check()
    cpu, held = theatre.loop.run_until_complete(opened(theatre.place))
    events = theatre.loop.run_until_complete(theatre.store.newest_event())
    size = sum(len(call.body) for call in writes(growth))
    what = f"journal: 0 to {SIZE:,} machines"
    return [
        Figure(f"{what}: writes a machine", 5, len(writes(growth)) / SIZE, "writes"),
        Figure(f"{what}: written a machine", None, size / SIZE / 1e3, "kB"),
        Figure(f"{what}: reads a machine", None, len(reads(growth)) / SIZE, "reads"),
        Figure(f"{what}: CPU, with the engine and both fakes", None, spent, "s CPU"),
        Figure("journal: idle minute: writes", None, len(writes(idle)) / 10, "writes"),
        Figure("journal: idle minute: reads", None, len(reads(idle)) / 10, "reads"),
        Figure(f"journal: opened with {SIZE:,} machines, {events:,} events", 1, cpu, "s CPU"),
        Figure(f"journal: opened with {SIZE:,} machines, held", 60, held, "MB"),
    ]


def main() -> None:
    """Measure, and print."""
    silence()
    with tempfile.TemporaryDirectory(prefix="hostler-bench-") as folder:
        show(measure(Path(folder)))


if __name__ == "__main__":
    main()
