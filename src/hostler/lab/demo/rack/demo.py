"""Demo: twelve machines over many protocols, and a day of demand in less than a minute.

Everything is real but the machines: the engine, the SQLite store, the provider and its methods over
real sockets on loopback. The day goes faster; the machines do not, so that a boot of a third of a
second takes minutes of it, and what it draws then is counted so.
"""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from hostler.config.store_url import StoreUrl
from hostler.config.values import Config
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import Fleet
from hostler.frontends.cli.console.guard import guarded
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Purpose, Runnable, Services
from hostler.lab.demo.board import Board
from hostler.ports.store import Store
from hostler.queries.fleets import fleet_status
from hostler.queries.history import fleet_events
from hostler.requests.fleets import scale
from hostler.requests.recording import Author, record
from hostler.simulators.power.rack.machine import KILOWATT_HOUR
from hostler.simulators.power.rack.rack import Rack
from hostler.simulators.power.rack.server import RackServer, Settings, serve, write_fleet
from hostler.testing.fakes.metrics import CountingMetrics

from .day import TROUBLES, Pace, Troubles
from .display import Display, Frame
from .tally import EUROS, RackTally, tally
from .uses import uses, wrong_actions

MACHINES = 12
ENDING = timedelta(seconds=20)
"""How long after the day the rack may take to stand as it was asked to."""
_MADE = Settings(
    machines=MACHINES, port=0, guest_port=0, boot=0.3, shutdown=0.2, settles=0.5, deadline=2.0
)
_LOOK = timedelta(milliseconds=100)


def main(services: Services, *, seconds: float, json: bool) -> int:
    """Give the demo and return its exit code: 0 only if the rack stands as it was asked to."""

    async def work(screen: Screen) -> int:
        with tempfile.TemporaryDirectory(prefix="hostler-rack-") as folder:
            return await _demo(services, Path(folder), Pace(seconds), screen)

    return guarded(json, work)


@dataclass(slots=True, kw_only=True)
class Demo:
    """A demo under way; `origin` is the rack's time and the date at which it began."""

    services: Services
    fleet: Fleet
    store: Store
    rack: Rack
    pace: Pace
    display: Display
    origin: tuple[float, datetime]
    wanted: int = 0
    ready: int = 0
    drawn: float | None = None
    last_event: int = 0
    events: list[Event] = field(default_factory=list[Event])

    @property
    def passed(self) -> float:
        """The real seconds since the beginning."""
        return self.rack.time() - self.origin[0]

    async def live(self) -> None:
        """Let the day pass: ask for what is wanted at each hour, and let things go wrong."""
        troubles = Troubles(self.pace, list(TROUBLES))
        while self.passed < self.pace.seconds:
            await self._ask(self.pace.wanted(self.passed))
            for text in troubles.due(self.passed, self.rack):
                self.display.announce(text)
            await self.show()
            await self.services.clock().sleep(_LOOK)
        self.drawn = self._energy()
        self.rack.clear()

    async def _ask(self, wanted: int) -> None:
        if wanted == self.wanted:
            return
        self.wanted = wanted
        author = Author(name="demo", at=self.services.clock().now())
        await record(self.store, (scale(author, self.fleet, wanted),))

    async def rest(self) -> bool:
        """Wait until the rack stands as it was asked to; tell whether it does."""
        self.display.announce(f"the day is over: {self.wanted} machines stay")
        end = self.passed + ENDING.total_seconds()
        while self.passed < end:
            await self.show()
            if self.ready == self.wanted and self._stands():
                return True
            await self.services.clock().sleep(_LOOK)
        return False

    def _stands(self) -> bool:
        """Tell whether as many machines are up as are wanted, and nothing else has power."""
        powered = sum(machine.has_power() for machine in self.rack.machines.values())
        return powered == len(self.rack.up()) == self.wanted

    async def show(self) -> None:
        """Show how the rack stands, and remember what happened since the last time."""
        now = self.services.clock().now()
        seen = await fleet_status(self.store, self.fleet, now, runs=True)
        recorded = await fleet_events(self.store, self.fleet.name, self.last_event)
        self.last_event = recorded[-1].number if recorded else self.last_event
        self.events += [entry.event for entry in recorded]
        self.ready = seen.ready
        machines = tuple(self.rack.machines.values())
        kwh = self._hours(self._energy() if self.drawn is None else self.drawn)
        hours = min(self.passed, self.pace.seconds) / self.pace.hour
        always = sum(machine.watts[1] for machine in machines) * hours / 1000
        self.display.show(
            Frame(
                clock=self.pace.clock(self.passed),
                wanted=self.wanted,
                ready=self.ready,
                machines=machines,
                watts=sum(machine.draw() for machine in machines),
                kwh=kwh,
                saved=(always - kwh) * EUROS,
            )
        )

    def _energy(self) -> float:
        return sum(machine.energy() for machine in self.rack.machines.values())

    def _hours(self, watt_seconds: float) -> float:
        """Return kilowatt-hours of the day for what the meters say in real time."""
        return watt_seconds * self.pace.factor / KILOWATT_HOUR

    def tally(self) -> tuple[RackTally, tuple[str, ...]]:
        """Return what came of it, and what was switched wrongly."""
        began, date = self.origin
        changes = {name: one.changes for name, one in self.rack.machines.items()}
        wrong = wrong_actions(changes, uses(self.events), date - timedelta(seconds=began))
        kwh = self._hours(self.drawn if self.drawn is not None else self._energy())
        counted = tally(self.rack, kwh, wanted=self.wanted, ready=self.ready, wrong=len(wrong))
        return counted, wrong


async def _demo(services: Services, folder: Path, pace: Pace, screen: Screen) -> int:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(serve(_MADE))
        config = _config(services, server, folder)
        store = await stack.enter_async_context(services.store(config, Purpose.ENGINE))
        accounts = await stack.enter_async_context(services.accounts(config, store))
        engine = services.engine(config, services.ports(store, CountingMetrics()), accounts)
        display = Display(stack.enter_context(Board(screen)), pace.factor)
        demo = Demo(
            services=services,
            fleet=config.fleets[0],
            store=store,
            rack=server.rack,
            pace=pace,
            display=display,
            origin=(server.rack.time(), services.clock().now()),
        )
        stands = await _beside(engine, demo)
        counted, wrong = demo.tally()
    display.conclude(counted, wrong, stands=stands)
    return 0 if stands and not wrong else 1


def _config(services: Services, server: RackServer, folder: Path) -> Config:
    """Return the fleet of the rack, with its store in a folder of its own."""
    path = folder / "rack.toml"
    write_fleet(server, path)
    return replace(services.load(path), store=StoreUrl("sqlite", str(folder / "rack.db")))


async def _beside(engine: Runnable, demo: Demo) -> bool:
    """Run the engine for as long as the day goes on; tell whether the rack stands at its end."""
    async with asyncio.TaskGroup() as group:
        running = group.create_task(engine.run())
        await demo.live()
        stands = await demo.rest()
        running.cancel()
    return stands
