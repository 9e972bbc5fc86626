"""Fake scene: whole engines over the fake provider and the store in memory, in simulated time.

Under simulated loop time nothing waits; what goes wrong is written into the provider's script.
"""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from msgspec.structs import replace

from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Account, Ports, Settings
from hostler.domain.ids import AccountName, InstallationId, MachineId, machine_id
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.ports.prober import Prober
from hostler.ports.provider import Provider
from hostler.ports.store import Store, StoredEvent
from hostler.ports.workload import Workloads
from hostler.stores.memory import MemoryStore
from hostler.testing.fakes.metrics import CountingMetrics
from hostler.testing.fakes.prober import FakeProber
from hostler.testing.fakes.provider import FakeProvider
from hostler.testing.fakes.world import FakeWorld
from hostler.testing.scenes.builders import FLEET, HOME
from hostler.testing.time.clock import SimClock

SETTINGS = Settings()


@dataclass(slots=True)
class FakeScene:
    """One world, one provider's account, one store; engines over them come and go.

    The store once `issued` these ids, and knows no more of them. `beside` are further fleets of the
    account.
    """

    fleet: Fleet = FLEET
    installation: InstallationId = HOME
    exclusive: bool = True
    addresses: int = 1
    rate: float = 100.0
    burst: float = 100.0
    settings: Settings = SETTINGS
    issued: tuple[MachineId, ...] = ()
    beside: tuple[Fleet, ...] = ()
    clock: SimClock = field(init=False)
    world: FakeWorld = field(init=False)
    provider: FakeProvider = field(init=False)
    store: MemoryStore = field(init=False)
    prober: FakeProber = field(default_factory=FakeProber)
    metrics: CountingMetrics = field(default_factory=CountingMetrics)
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    wrap: Callable[[Store], Store] = field(default=lambda store: store)
    wrap_prober: Callable[[Prober], Prober] = field(default=lambda prober: prober)
    workloads: Workloads | None = None

    def __post_init__(self) -> None:
        self.clock = SimClock(asyncio.get_running_loop())
        self.world = FakeWorld(self.clock)
        self.provider = FakeProvider(self.world, self.installation, addresses=self.addresses)
        self.store = MemoryStore(self.installation, exclusive=self.exclusive, issued=self.issued)

    def neighbour(self, installation: InstallationId) -> "FakeScene":
        """Return a second installation over the same world, with a store of its own."""
        other = FakeScene(replace(self.fleet), installation, addresses=self.addresses)
        other.clock, other.world = self.clock, self.world
        other.provider = FakeProvider(self.world, installation, addresses=self.addresses)
        other.numbers = itertools.count(1000)
        return other

    def served(self) -> Provider:
        """Return the provider that engines are given."""
        return self.provider

    def fresh(self) -> MachineId:
        """Return the next machine id."""
        return machine_id(next(self.numbers))

    def engine(self, holder: str = "a", clock: SimClock | None = None) -> Engine:
        """Return an engine that does not run yet."""
        account = Account(
            name=AccountName("main"),
            provider=self.served(),
            fleets=(self.fleet, *self.beside),
            rate=self.rate,
            burst=self.burst,
        )
        return Engine(self.ports(clock), (account,), holder, self.settings)

    def ports(self, clock: SimClock | None = None) -> Ports:
        """Return what engines, and frontends beside them, are given."""
        return Ports(
            store=self.wrap(self.store),
            clock=clock or self.clock,
            prober=self.wrap_prober(self.prober),
            metrics=self.metrics,
            fresh=self.fresh,
            workloads=self.workloads,
        )

    @asynccontextmanager
    async def running(
        self, holder: str = "a", clock: SimClock | None = None
    ) -> AsyncGenerator[Engine]:
        """Run an engine while the block lasts; then it is killed, as far as that is polite."""
        engine = self.engine(holder, clock)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(engine.run())
            try:
                yield engine
            finally:
                task.cancel()

    async def request(
        self,
        kind: RequestKind,
        *,
        size: int | None = None,
        machine: MachineId | None = None,
        source: InstallationId | None = None,
    ) -> Request:
        """Request, as a frontend does."""
        asked = replace(self.blank(kind), size=size, machine=machine, installation=source)
        return await self.store.request(asked)

    def blank(self, kind: RequestKind) -> Request:
        """Return a request of now that says nothing yet of what it is about."""
        now = self.clock.now()
        return Request(number=0, kind=kind, fleet=self.fleet.name, at=now, actor="ann")

    async def pass_by(self, time: timedelta) -> None:
        """Let time go by."""
        await asyncio.sleep(time.total_seconds())

    async def machines(self) -> tuple[Machine, ...]:
        """Return the living machines as they are stored."""
        return await self.store.machines(self.fleet.name)

    async def phases(self) -> list[Phase]:
        """Return their phases, by serial."""
        return [machine.phase for machine in await self.machines()]

    async def until(self, phases: list[Phase], most: timedelta) -> timedelta:
        """Return how long it took until the machines stand so; TimeoutError after the most."""
        begun = self.clock.boot()
        async with asyncio.timeout(most.total_seconds()):
            while await self.phases() != phases:  # noqa: ASYNC110 - simulated time; nothing to wait on
                await asyncio.sleep(0.05)
        return timedelta(seconds=self.clock.boot() - begun)

    async def events(self, kind: str) -> tuple[StoredEvent, ...]:
        """Return the stored events of a kind."""
        return tuple(k for k in await self.store.events(limit=100_000) if k.event.kind == kind)

    def calls(self, kind: str = "") -> list[str]:
        """Return what was asked of the world, in order: all of it, or one kind."""
        return [entry[1] for entry in self.world.journal if kind in {"", entry[1]}]
