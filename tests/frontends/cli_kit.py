"""What the tests of the command line share: a world services it that is all in memory."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from hostler.app.null_metrics import NullMetrics
from hostler.config.store_url import StoreUrl
from hostler.config.values import Config
from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Account, Ports, Settings
from hostler.domain.errors import ConfigError, StoreHeld
from hostler.domain.ids import (
    AccountName,
    CycleId,
    FleetName,
    InstallationId,
    MachineId,
    Zone,
    machine_id,
)
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.machine import Machine, Offer
from hostler.domain.model.phases import Phase
from hostler.frontends.cli.context import ClusterOptions, Frontends, Purpose
from hostler.frontends.cli.main import application, commands, main
from hostler.ports.clock import Clock
from hostler.ports.kind import Lack
from hostler.ports.metrics import Metrics
from hostler.ports.provider import Connection
from hostler.ports.store import Fence, Store
from hostler.stores.memory import MemoryStore
from hostler.testing.fakes.provider import FakeProvider
from hostler.testing.fakes.world import FakeWorld, Pace
from hostler.testing.scenes.fields import with_fields

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOME = InstallationId("home")
WEB = FleetName("web")
OFFER = Offer(type="small", zone=Zone("z-1"))
FLEET = Fleet(name=WEB, account=AccountName("main"), size=2, offers=(OFFER,))
FILE = Path("web.toml")
T = TypeVar("T")
TURN = CycleId("t-1")


@dataclass(slots=True)
class StillClock:
    """Stands at noon; sleeping moves it on."""

    at: datetime = NOW

    def now(self) -> datetime:
        return self.at

    def boot(self) -> float:
        return self.at.timestamp()

    async def sleep(self, time: timedelta) -> None:
        self.at += time


class NoFrontends:
    """Nothing is served beside an engine."""

    async def attach(self, config: Config, ports: Ports, engine: object) -> None:
        del config, ports, engine


class NoProbes:
    """Probes nothing."""

    async def probe(
        self, machine: MachineId, connection: Connection, probe: object
    ) -> tuple[bool, str]:
        del machine, connection, probe
        return False, "nothing is probed here"


@dataclass(slots=True)
class InMemory:
    """Services whose store is a MemoryStore and whose cloud is the fake one.

    `taker` makes the store take a request as soon as it is recorded, as a running engine would.
    `exists` is whether an engine ever made the store.
    """

    store_: MemoryStore = field(default_factory=lambda: MemoryStore(HOME))
    fleets: tuple[Fleet, ...] = (FLEET,)
    beside: tuple[Fleet, ...] | None = None
    runs: bool = False
    clusters: list[ClusterOptions] = field(default_factory=list[ClusterOptions])
    taker: bool = False
    wrong: ConfigError | None = None
    held: bool = False
    exists: bool = True
    reloads: Callable[[Config], None] = lambda _: None
    clock_: StillClock = field(default_factory=StillClock)
    provider: FakeProvider | None = None
    became: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])

    def load(self, path: Path, *, partial: bool = False) -> Config:
        del partial
        if self.wrong is not None:
            raise self.wrong
        return Config(
            path=path,
            store=StoreUrl("sqlite", "web.db"),
            accounts=(),
            fleets=self.fleets,
            templates={},
            settings=Settings(),
        )

    def lacks(self, config: Config) -> Mapping[str, tuple[Lack, ...]]:
        del config
        return {}

    @asynccontextmanager
    async def objects(self, config: Config, store: Store) -> AsyncGenerator[Config]:
        del store
        if self.beside is None:
            yield config
            return
        names = frozenset(f"fleet.{fleet.name}" for fleet in self.beside)
        yield replace(config, fleets=(*config.fleets, *self.beside), objects=names)

    async def with_removed(self, config: Config, store: Store) -> Config:
        del store
        return config

    async def store_problem(self, config: Config) -> str:
        del config
        return ""

    def back_up(self, config: Config, to: Path | None) -> Path:
        del config
        assert to is not None
        to.write_bytes(b"all of it")
        return to

    def become(self, words: Sequence[str]) -> None:
        self.became.append(tuple(words))

    def clock(self) -> Clock:
        return self.clock_

    def actor(self) -> str:
        return "anna@desk"

    @asynccontextmanager
    async def store(self, config: Config, purpose: Purpose) -> AsyncGenerator[Store]:
        del config
        if self.held and purpose is Purpose.ENGINE:
            raise StoreHeld("another engine (pid 7) runs on web.db")
        yield self.store_
        if self.taker:
            await self.take_all()

    async def take_all(self) -> None:
        numbers = tuple(request.number for request in await self.store_.requests())
        await self.store_.take_requests(numbers, await fence(self.store_))

    async def refuse_all(self, why: str) -> None:
        """Refuse what is asked, as an engine does: in the history, and then it takes it."""
        row = await self.store_.add_fleet(FleetRow(name=WEB, created=NOW))
        blank = Event(kind="request_refused", at=NOW, fleet=WEB, cycle=TURN, detail=why)
        refused = (replace(blank, request=r.number) for r in await self.store_.requests())
        await self.store_.save_fleet(row, (), tuple(refused), await fence(self.store_))
        await self.take_all()

    def engine_runs(self, config: Config) -> bool:
        del config
        return self.runs

    def ask_to_reload(self, config: Config) -> None:
        self.reloads(config)

    def store_exists(self, config: Config) -> bool:
        del config
        return self.exists

    async def with_nodes(self, config: Config, ports: Ports) -> Ports:
        del config
        return ports

    @asynccontextmanager
    async def accounts(self, config: Config, store: Store) -> AsyncGenerator[tuple[Account, ...]]:
        del config, store
        yield (Account(name=FLEET.account, provider=self.cloud(), fleets=self.fleets),)

    def cloud(self) -> FakeProvider:
        if self.provider is None:
            world = FakeWorld(self.clock_, Pace(answer=timedelta(0)))
            self.provider = FakeProvider(world, HOME)
        return self.provider

    @asynccontextmanager
    async def metrics(self, config: Config) -> AsyncGenerator[Metrics]:
        del config
        yield NullMetrics()

    @asynccontextmanager
    async def frontends(self, config: Config) -> AsyncGenerator[Frontends]:
        del config
        yield NoFrontends()

    def engine(self, config: Config, ports: Ports, accounts: tuple[Account, ...]) -> Engine:
        raise NotImplementedError

    async def run_in_cluster(self, options: ClusterOptions) -> None:
        self.clusters.append(options)

    def ports(self, store: Store, metrics: Metrics | None = None) -> Ports:
        return Ports(
            store=store,
            clock=self.clock_,
            prober=NoProbes(),
            metrics=metrics or NullMetrics(),
            fresh=lambda: machine_id(99),
        )


async def fence(store: Store) -> Fence:
    """Take the fleet's lease, and return what saves under it carry."""
    name = f"fleet/{WEB}"
    seen = next((lease for lease in await store.leases() if lease.name == name), None)
    lease = await store.take_lease(name, "test", seen)
    assert lease is not None
    return Fence(lease=name, epoch=lease.epoch)


def made(number: int, phase: Phase = Phase.READY, **more: Any) -> Machine:
    """Return a machine of the fleet."""
    plain = Machine(
        id=machine_id(number),
        fleet=WEB,
        serial=number,
        created=NOW - timedelta(hours=1),
        since=NOW - timedelta(minutes=5),
        phase=phase,
        offer=OFFER,
    )
    return with_fields(plain, **more)


async def fill(store: Store, *machines: Machine, row: FleetRow | None = None) -> None:
    """Put machines into a store, as an engine would."""
    stored = await store.add_fleet(row or FleetRow(name=WEB, created=NOW - timedelta(hours=2)))
    events = tuple(
        Event(
            kind="made",
            at=machine.created,
            fleet=WEB,
            cycle=TURN,
            machine=machine.id,
            reason="made",
            detail=str(machine.offer),
        )
        for machine in machines
    )
    await store.save_fleet(stored, machines, events, await fence(store))


@dataclass(frozen=True, slots=True)
class Result:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The last line of its output."""
        return json.loads(self.out.splitlines()[-1])


def run(work: Coroutine[Any, Any, T]) -> T:
    """Wait for something, in a loop of its own that leaves pytest's alone."""
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(work)


def cli(services: InMemory, capsys: pytest.CaptureFixture[str], *argv: str) -> Result:
    """Run one command line in this process."""
    code = main(application(commands(services)), argv)
    printed = capsys.readouterr()
    return Result(code, printed.out, printed.err)
