"""Look, decide and record against a simulated Scaleway on loopback: CPU, wall, memory, restart.

The simulator is another process. What is measured is a whole round of an account's loop with
everything read whole, with the real store, client and logs, as `hostler run` composes them; and
`hostler run` itself, from its start to its first decision.
"""

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from figures import Figure, resident, show
from msgspec.structs import replace
from staged import staged
from theatre import FLEET, Asked, fleet_file, load

from hostler.app.compose import Composed
from hostler.controllers.account import AccountLoop
from hostler.controllers.engine import Engine
from hostler.domain.model.phases import Phase
from hostler.frontends.cli.console.logs import log_to
from hostler.frontends.cli.context import Purpose
from hostler.ports.store import Store

SMALL, LARGE = 1000, 5000
ROUNDS = 5
STARTS = 3
_HOSTLER = Path(sys.executable).parent / "hostler"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What one kind of round took: seconds of CPU in our process, and seconds on the wall."""

    cpu: float
    wall: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured with a fleet of one size; memory is in MB."""

    quiet: Spent
    recorded: Spent
    memory: float
    restart: Spent


# ---------------------------------------------------------------- rounds, in a process of their own


async def rounds(file: Path) -> tuple[Spent, Spent]:
    """Return what a round takes in which nothing happened, and one that moves every machine."""
    outside = Composed()
    config = load(file)
    async with (
        outside.store(config, Purpose.ENGINE) as store,
        outside.accounts(config, store) as accounts,
        outside.metrics(config) as metrics,
    ):
        engine = outside.engine(config, outside.ports(store, metrics), accounts)
        assert isinstance(engine, Engine)
        return await _rounds(engine, store, config.fleets[0].size)


async def _rounds(engine: Engine, store: Store, size: int) -> tuple[Spent, Spent]:
    (loop,) = engine.loops
    await loop.keep_leases()
    async with asyncio.TaskGroup() as group:
        await loop.round(group)
        before = await _events(store)
        quiet = await _timed(loop, group, lambda: None)
        assert await _events(store) == before, "a quiet round wrote something"
        recorded = await _timed(loop, group, lambda: _back_to_starting(loop))
    assert await _events(store) >= before + size * ROUNDS, "a move was not recorded"
    await engine.leases.drop()
    return quiet, recorded


async def _timed(loop: AccountLoop, group: asyncio.TaskGroup, before: Callable[[], None]) -> Spent:
    """Take some rounds, each after something was done, and return the median of each figure."""
    cpu, wall = list[float](), list[float]()
    for _ in range(ROUNDS):
        await loop.keep_leases()
        loop.state.forget_observations()
        before()
        cpu_start, wall_start = time.process_time(), time.perf_counter()
        await loop.round(group)
        cpu.append(time.process_time() - cpu_start)
        wall.append(time.perf_counter() - wall_start)
    assert all(machine.phase is Phase.READY for machine in loop.state.living(FLEET))
    return Spent(cpu=median(cpu), wall=median(wall))


def _back_to_starting(loop: AccountLoop) -> None:
    """Let every machine seem to have been on its way: the next round finds it up and says so."""
    for machine in loop.state.living(FLEET):
        loop.state.keep(replace(machine.with_health(was_ready=None), phase=Phase.STARTING))


async def _events(store: Store) -> int:
    """Return the number of the last event."""
    last = 0
    while some := await store.events(after=last, limit=10_000):
        last = some[-1].number
    return last


# ---------------------------------------------------------------- processes


def measured(size: int) -> Measured:
    """Measure with a fleet of one size, each thing in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="hostler-bench-") as name:
        folder = Path(name)
        with staged(folder, size) as url:
            port = _free_port()
            asked = Asked(size=size, rate=10_000, burst=10_000, endpoint=url, port=port)
            file = fleet_file(folder, asked)
            starts = [_restarted(file, port, url) for _ in range(STARTS)]
            quiet, recorded = _rounds_apart(file)
    restart = min((spent for spent, _ in starts), key=lambda spent: spent.wall)
    memory = min(memory for _, memory in starts)
    return Measured(quiet=quiet, recorded=recorded, memory=memory, restart=restart)


def _rounds_apart(file: Path) -> tuple[Spent, Spent]:
    command = (sys.executable, __file__, str(file))
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603 - us
    quiet, recorded = json.loads(run.stdout)
    return Spent(**quiet), Spent(**recorded)


def _restarted(file: Path, port: int, simulator: str) -> tuple[Spent, float]:
    """Run `hostler run` to its first decision; return what that took, and its MB then."""
    asked = _changes(simulator)
    start = time.perf_counter()
    with subprocess.Popen(  # noqa: S603 - ourselves
        (_HOSTLER, "run", file), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while not _is_ready(port):
            assert process.poll() is None, "hostler run ended by itself"
            time.sleep(0.005)
        took = Spent(cpu=_cpu(process.pid), wall=time.perf_counter() - start)
        time.sleep(1)
        memory = resident(process.pid)
        process.send_signal(signal.SIGINT)
    assert _changes(simulator) == asked, "the first decision was wrong: it changed something"
    return took, memory


def _cpu(pid: int) -> float:
    """Return the CPU seconds of a process so far."""
    after_name = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()


def _changes(simulator: str) -> int:
    """Return how many requests that are no lists the simulator has had."""
    connection = http.client.HTTPConnection(simulator.removeprefix("http://"), timeout=30)
    connection.request("GET", "/_sim/state")
    calls: dict[str, int] = json.loads(connection.getresponse().read())["calls"]
    connection.close()
    return sum(number for kind, number in calls.items() if not kind.endswith(".list"))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


# ---------------------------------------------------------------- figures


def figures() -> Iterator[Figure]:
    """Measure two sizes, and say how the one grows to the other."""
    small, large = measured(SMALL), measured(LARGE)
    for goal, size, one in ((0.2, SMALL, small), (1.0, LARGE, large)):
        name = f"look + decide + record, {size:,} machines"
        yield Figure(f"{name}: CPU, all quiet", goal, one.quiet.cpu, "s")
        yield Figure(f"{name}: wall, all quiet", None, one.quiet.wall, "s")
        yield Figure(f"{name}: CPU, each machine moved", goal, one.recorded.cpu, "s")
        yield Figure(f"{name}: wall, each machine moved", None, one.recorded.wall, "s")
    times = LARGE / SMALL
    grown = large.quiet.cpu / small.quiet.cpu / times
    yield Figure(f"look + decide + record: CPU a machine at {LARGE:,} / {SMALL:,}", 1.2, grown, "×")
    yield Figure(f"memory, {SMALL:,} machines", 90, small.memory, "MB")
    further = (large.memory - small.memory) / (LARGE - SMALL)
    yield Figure("memory, each further machine", 0.01, further, "MB")
    for goal, size, one in ((2, SMALL, small.restart), (None, LARGE, large.restart)):
        yield Figure(f"restart to first decision, {size:,} machines", goal, one.wall, "s")
        yield Figure(f"restart, CPU until then, {size:,} machines", None, one.cpu, "s")


def main() -> None:
    """Print the figures; as a child with a fleet file, measure its rounds and print them."""
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if arguments:
        with Path(os.devnull).open("w", encoding="utf-8") as void:
            log_to(void, json=True, level="info")
            both = asyncio.run(rounds(Path(arguments[0])))
        print(json.dumps([asdict(one) for one in both]))
        return
    show(figures())


if __name__ == "__main__":
    main()
