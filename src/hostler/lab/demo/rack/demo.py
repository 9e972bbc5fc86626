"""Demo: a day of a rack of twelve machines in less than a minute: on when needed, else off.

Everything is real but the machines and the length of the day: the engine, the SQLite store, the
provider, and each method over a socket of its own to a rack that is simulated on loopback.
"""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hostler.config.store_url import StoreUrl
from hostler.domain.errors import ConfigError
from hostler.frontends.cli.console.guard import guarded
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Purpose, Runnable, Services
from hostler.lab.demo.board import Board
from hostler.simulators.power.rack.faults import Fault, Order
from hostler.simulators.power.rack.fleet_file import Terms
from hostler.simulators.power.rack.server import RackServer, Settings, serve, write_fleet
from hostler.testing.fakes.metrics import CountingMetrics

from .day import Day, sizes
from .environment import Display
from .sampling import Sampler
from .tally import Meter, Metering, RackTally, count

MACHINES = 12
SHORTEST = 8.0
"""Seconds that a day takes at least: what boxes and the engine take is not shortened."""
LATE = timedelta(seconds=30)
"""How long after the day the rack may take until it stands as it was asked to."""
HUNG = 4.0
"""Seconds for which a controller hangs, longer than a call waits."""
RACK = Settings(
    machines=MACHINES,
    port=0,
    guest_port=0,
    boot=0.4,
    shutdown=0.2,
    terms=Terms(settles=0.5, deadline=2.0, patience=1.0, look=0.2),
)
TROUBLES = (
    Order(fault=Fault.BMC_HUNG, machine="node-01", seconds=HUNG, at_command=True),
    Order(fault=Fault.PACKET_LOST, machine="node-02"),
)
"""What is armed from the start, each for the first command of its machine."""
_TICK = timedelta(milliseconds=100)


class Options(Struct, frozen=True, kw_only=True):
    """What was asked of the demo; `price` is in euros for a kilowatt-hour."""

    seconds: float
    seed: int
    price: float


def main(services: Services, options: Options, *, json: bool) -> int:
    """Give the demo and return its exit code: 0 only if the rack stands as it was asked to."""

    async def work(screen: Screen) -> int:
        if options.seconds < SHORTEST:
            raise ConfigError(f"--seconds: expected {SHORTEST:g} at least for a day of a rack")
        with tempfile.TemporaryDirectory(prefix="hostler-demo-") as folder, Board(screen) as board:
            display = Display(board)
            tally, rests = await give(services, Path(folder), options, display)
        display.conclude(tally, rests=rests)
        return 0 if rests and not tally.wrong else 1

    return guarded(json, work)


async def give(
    services: Services, folder: Path, options: Options, display: Display
) -> tuple[RackTally, bool]:
    """Let the day pass, and return what came of it, and whether the rack stood at the end."""
    day = Day(options.seconds, sizes(options.seed))
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(_served())
        write_fleet(server, folder / "rack.toml")
        config = services.load(folder / "rack.toml")
        config = replace(config, store=StoreUrl("sqlite", str(folder / "demo.db")))
        store = await stack.enter_async_context(services.store(config, Purpose.ENGINE))
        accounts = await stack.enter_async_context(services.accounts(config, store))
        engine = services.engine(config, services.ports(store, CountingMetrics()), accounts)
        sampler = Sampler(
            rack=server.rack,
            store=store,
            fleet=config.fleets[0],
            clock=services.clock(),
            day=day,
            announce=display.announce,
        )
        display.begin(sampler, options.price)
        for order in TROUBLES:
            server.rack.arm(order)
        meter, rests = await _beside(engine, sampler, display)
        return _tally(sampler, meter, options), rests


@asynccontextmanager
async def _served() -> AsyncGenerator[RackServer]:
    """Serve the rack; raises ConfigError where this computer has not the addresses for it."""
    stack = AsyncExitStack()
    try:
        server = await stack.enter_async_context(serve(RACK))
    except OSError as error:
        why = error.strerror or error
        raise ConfigError(
            f"the rack cannot be served: {why} (each machine has addresses of its own, 127.64.0.1 "
            "and on, which systems other than Linux have only if they are added to loopback)"
        ) from error
    async with stack:
        yield server


async def _beside(engine: Runnable, sampler: Sampler, display: Display) -> tuple[Meter, bool]:
    """Run the engine for as long as the demo goes on."""
    async with asyncio.TaskGroup() as group:
        running = group.create_task(engine.run())
        meter = await _live(sampler, display)
        rests = await _rest(sampler, display)
        running.cancel()
    return meter, rests


async def _live(sampler: Sampler, display: Display) -> Meter:
    """Let the day pass, and return what was drawn in it."""
    metering = Metering(sampler.rack, sampler.day.scale)
    while sampler.passed < sampler.day.seconds:
        await sampler.ask()
        await sampler.watch()
        display.show(metering.read())
        await sampler.clock.sleep(_TICK)
    return metering.read()


async def _rest(sampler: Sampler, display: Display) -> bool:
    """Wait until the rack stands as it was asked to, within a bound; tell whether it does."""
    end = sampler.passed + LATE.total_seconds()
    while not (rests := await sampler.rests()) and sampler.passed < end:
        await sampler.watch()
        display.show(None)
        await sampler.clock.sleep(_TICK)
    await sampler.watch()
    return rests


def _tally(sampler: Sampler, meter: Meter, options: Options) -> RackTally:
    rack = sampler.rack
    return RackTally(
        machines=len(rack.machines),
        asked=sampler.asked,
        up=len(rack.up()),
        counts=count(rack),
        meter=meter,
        wrong=tuple(str(one) for one in sampler.wrong()),
        price=options.price,
        scale=sampler.day.scale,
        seconds=sampler.passed,
    )
