"""Demo: five simulated servers, a bad day, and nothing left behind; watched in the terminal.

Everything is real but the cloud: the engine, the SQLite store, the provider with its HTTP client,
and the readiness probes. The simulated Scaleway listens on loopback and lives faster than life.
"""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import msgspec
from msgspec.structs import replace

from hostler.config.store_url import StoreUrl
from hostler.config.values import AccountConfig, Config
from hostler.domain.errors import ConfigError
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import Fleet
from hostler.frontends.cli.console.guard import guarded
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Purpose, Runnable, Services
from hostler.ports.store import Store
from hostler.providers.scaleway.common.config_tables import AccountTable
from hostler.queries.fleets import FleetStatus, fleet_status
from hostler.queries.history import fleet_events
from hostler.requests.fleets import scale
from hostler.requests.recording import Author, record
from hostler.simulators.ports import free_port
from hostler.simulators.scaleway.http import Settings, SimulatorServer, serve, world_of
from hostler.testing.fakes.metrics import CountingMetrics

from .board import Board
from .environment import Display
from .script import Script
from .tally import Tally, count_healed, count_made

SPEED = 10.0
"""How many times faster than life the simulated cloud is."""

HEALING, ENDING = 8.0, 17.0
"""So many seconds after the troubles the fleet is whole, and gone: with all the rest, twenty."""

SHORTEST = 20.0
"""Seconds that the troubles of the day take at least."""

_OBSERVE = timedelta(milliseconds=200)
_LIVELY, _BY_HAND, _CLEAR = 0.2, 0.4, 0.65
"""When, as parts of the whole, many faults begin at the latest, a server is deleted by hand
at the latest, and they cease."""


def main(services: Services, *, seconds: float, seed: int, json: bool) -> int:
    """Give the demo and return its exit code: 0 only if the fleet stood and nothing is left."""

    async def work(screen: Screen) -> int:
        if seconds < SHORTEST:
            raise ConfigError(f"--seconds: expected {SHORTEST:g} at least for a day of servers")
        with tempfile.TemporaryDirectory(prefix="hostler-demo-") as folder:
            return await _demo(services, Path(folder), seconds, seed, screen)

    return guarded(json, work)


def example() -> Path:
    """Return the fleet file of the demo: beside this module when installed, else in examples/."""
    packaged = Path(__file__).with_name("web.toml")
    return packaged if packaged.exists() else Path(__file__).parents[4] / "examples" / "web.toml"


@dataclass(slots=True)
class Demo:
    """A demo under way."""

    services: Services
    config: Config
    store: Store
    server: SimulatorServer
    display: Display
    script: Script
    seconds: float
    last_event: int = 0
    events: list[Event] = field(default_factory=list[Event])

    @property
    def fleet(self) -> Fleet:
        """The only fleet."""
        return self.config.fleets[0]

    async def keep(self) -> FleetStatus:
        """Keep the fleet for as long as was asked, and return how it stood at the end."""
        clock = self.services.clock()
        self.script.begin()
        while (passed := self.display.passed()) < self.seconds:
            self._trouble(await self.show(), passed / self.seconds)
            await clock.sleep(_OBSERVE)
        return await self._heal()

    async def _heal(self) -> FleetStatus:
        """Wait until what broke last is healed, and return how the fleet stands then."""
        clock = self.services.clock()
        seen = await self.show()
        while seen.ready != seen.desired and self.display.passed() < self.seconds + HEALING:
            await clock.sleep(_OBSERVE)
            seen = await self.show()
        return seen

    def _trouble(self, seen: FleetStatus, resource: float) -> None:
        """Let happen what belongs to this part of the whole."""
        whole = seen.ready == seen.desired
        if not self.script.missed() or resource > _LIVELY:
            self.script.rouse()
        if (whole and resource > _LIVELY) or resource > _BY_HAND:
            self.script.insist()
            self.script.delete_one()
        if resource > _CLEAR:
            self.script.clear()

    async def end(self) -> bool:
        """Scale to zero and wait until nothing is left, at the simulator too; tell whether so."""
        clock = self.services.clock()
        self.display.announce("scaling to zero")
        author = Author(name="demo", at=clock.now())
        await record(self.store, (scale(author, self.fleet, 0),))
        while self.display.passed() < self.seconds + ENDING:
            seen = await self.show()
            if seen.desired == 0 and not seen.machines and not self.server.world.leaks():
                return True
            await clock.sleep(_OBSERVE)
        return False

    async def show(self) -> FleetStatus:
        """Show how the fleet stands, and what happened since the last time."""
        seen = await fleet_status(self.store, self.fleet, self.services.clock().now(), runs=True)
        recorded = await fleet_events(self.store, self.fleet.name, self.last_event)
        self.last_event = recorded[-1].number if recorded else self.last_event
        events = [entry.event for entry in recorded]
        self.events += events
        self.display.show(seen, events, self.server.world.faults)
        return seen

    def tally(self, before: FleetStatus) -> Tally:
        """Return what came of it; `before` is how the fleet stood before it was scaled down."""
        world = self.server.world
        return Tally(
            wanted=before.desired,
            ready=before.ready,
            made=count_made(self.events),
            healed=count_healed(self.events, before.desired, before.ready),
            faults={name: count for name, count in world.faults.items() if count},
            calls=sum(world.calls.values()),
            leaks=len(world.leaks()),
            cost=world.cost(),
        )


async def _demo(services: Services, folder: Path, seconds: float, seed: int, screen: Screen) -> int:
    guest_port = free_port()
    world = world_of(Settings(speed=SPEED, seed=seed, guest_port=guest_port))
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(serve(world, "127.0.0.1", 0, SPEED, guest_port))
        config = at_simulator(services.load(example()), server.url, guest_port, folder)
        store = await stack.enter_async_context(services.store(config, Purpose.ENGINE))
        accounts = await stack.enter_async_context(services.accounts(config, store))
        engine = services.engine(config, services.ports(store, CountingMetrics()), accounts)
        board = stack.enter_context(Board(screen))
        display = Display(board, services.clock(), seconds)
        demo = Demo(
            services=services,
            config=config,
            store=store,
            server=server,
            display=display,
            script=Script(world, display.fault_rates),
            seconds=seconds,
        )
        before, empty = await _beside(engine, demo)
        tally = demo.tally(before)
    display.conclude(tally, empty=empty)
    return 0 if empty and not tally.leaks and tally.ready == tally.wanted else 1


async def _beside(engine: Runnable, demo: Demo) -> tuple[FleetStatus, bool]:
    """Run the engine for as long as the demo goes on."""
    async with asyncio.TaskGroup() as group:
        running = group.create_task(engine.run())
        before = await demo.keep()
        empty = await demo.end()
        running.cancel()
    return before, empty


def at_simulator(config: Config, url: str, guest_port: int, folder: Path) -> Config:
    """Return the example's fleet, at this simulator, with its store in a folder of its own."""
    return replace(
        config,
        store=StoreUrl("sqlite", str(folder / "demo.db")),
        accounts=tuple(_moved(account, url) for account in config.accounts),
        fleets=tuple(
            replace(fleet, probe=replace(fleet.probe, port=guest_port)) for fleet in config.fleets
        ),
    )


def _moved(account: AccountConfig, url: str) -> AccountConfig:
    if not isinstance(account.settings, AccountTable):
        raise TypeError(type(account.settings))
    return replace(account, settings=msgspec.structs.replace(account.settings, endpoint=url))
