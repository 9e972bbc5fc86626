"""Reloads: what an engine that no longer runs a fleet leaves nothing of, and when it is over."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from cli_kit import FILE, InMemory
from msgspec.structs import replace

from hostler.config.values import Config
from hostler.controllers.runtime.measurements import (
    measure_age,
    measure_host_needs,
    measure_report,
)
from hostler.controllers.runtime.settings import Account, Ports
from hostler.domain.ids import AccountName, FleetName
from hostler.frontends.cli.engine_process import EngineProcess, Signals
from hostler.ports.metrics import Gauge
from hostler.ports.store import Store
from hostler.testing.fakes.metrics import CountingMetrics
from hostler.testing.fakes.provider import FakeProvider
from hostler.testing.fakes.world import FakeWorld
from hostler.testing.scenes.builders import BEGIN, HOME, S
from hostler.testing.scenes.hosts import MAIN
from hostler.testing.time.clock import UnaskedClock

WEB = FleetName("web")
SITE = Account(name=MAIN, provider=FakeProvider(FakeWorld(UnaskedClock()), HOME), fleets=())


class Engine:
    """Measures that its fleets lack hosts, and how old its accounts' observations are, and runs."""

    def __init__(
        self, config: Config, metrics: CountingMetrics, accounts: tuple[Account, ...]
    ) -> None:
        for fleet in config.fleets:
            measure_host_needs(metrics, fleet.name, missing=2, broken=1)
            measure_report(metrics, fleet.name, BEGIN)
        for account in accounts:
            measure_age(metrics, account.name, 3 * S)
            metrics.replace(Gauge.HOSTS, {("z", "M2-L", "quarantined"): 1}, account.name)
            metrics.replace(Gauge.PAID_UNTIL, {("z", "mac-1"): 1}, account.name)

    async def run(self) -> None:
        """Go on until cancelled."""
        await asyncio.get_running_loop().create_future()


@dataclass
class Reads:
    """The configuration as it is by now."""

    config: Config
    begun: list[Config] = field(default_factory=list[Config])

    async def read(self, *, file: bool) -> Config:
        del file
        return self.config

    def refuse(self) -> None:
        return

    async def began(self, config: Config) -> None:
        self.begun.append(config)

    def objects(self) -> tuple[str, ...]:
        return ()

    def home(self) -> str:
        return "home"


class Services(InMemory):
    """Opens nothing, and runs engines that only measure; `begun` is set by each."""

    def __init__(self) -> None:
        super().__init__()
        self.metrics_, self.begun = CountingMetrics(), asyncio.Event()

    async def with_removed(self, config: Config, store: Store) -> Config:
        del store
        return config

    @asynccontextmanager
    async def accounts(self, config: Config, store: Store) -> AsyncGenerator[tuple[Account, ...]]:
        del store
        yield tuple(replace(SITE, name=fleet.account) for fleet in config.fleets)

    def engine(self, config: Config, ports: Ports, accounts: tuple[Account, ...]) -> Engine:  # pyright: ignore[reportIncompatibleMethodOverride] - one that only measures
        del ports
        self.begun.set()
        return Engine(config, self.metrics_, accounts)


class Nobody:
    """No frontend."""

    async def attach(self, config: Config, ports: Ports, engine: object) -> None:
        del config, ports, engine


async def reloaded(services: Services, file: Config, first: Callable[[], None]) -> None:
    """Run a process until it runs on what the file has by then; `first` is called before that."""
    signals, before = Signals(), services.load(FILE)
    process = EngineProcess(services, services.store_, services.metrics_, Nobody(), signals)
    process.reads = Reads(file)
    running = asyncio.get_running_loop().create_task(process.run(before))
    await services.begun.wait()
    services.begun.clear()
    first()
    signals.ask_to_reload()
    await services.begun.wait()
    running.cancel()
    await asyncio.wait([running])


async def test_a_fleet_that_is_run_no_more_alerts_of_nothing() -> None:
    """The metrics are the process's: what an engine measured last would stay there for ever."""
    services = Services()
    metrics, config = services.metrics_, services.load(FILE)
    others = tuple(replace(fleet, name=FleetName("other")) for fleet in config.fleets)

    def first() -> None:
        assert metrics.value(Gauge.NO_AVAILABLE_HOST, WEB) == 2

    await reloaded(services, replace(config, fleets=others), first)
    for gauge in (Gauge.NO_AVAILABLE_HOST, Gauge.BOOTSTRAP_FAILED, Gauge.ORPHANS_CHECKED):
        assert set(metrics.series(gauge)) == {("other",)}


async def test_an_account_that_is_run_no_more_grows_no_older() -> None:
    """Its age grew by itself until the process ended, and its hosts stayed where they were."""
    services = Services()
    metrics, config = services.metrics_, services.load(FILE)
    others = tuple(replace(fleet, account=AccountName("other")) for fleet in config.fleets)

    def first() -> None:
        assert set(metrics.series(Gauge.OBSERVATION_AGE)) == {(MAIN,)}

    await reloaded(services, replace(config, fleets=others), first)
    for gauge in (Gauge.OBSERVATION_AGE, Gauge.HOSTS, Gauge.PAID_UNTIL):
        assert {labels[0] for labels in metrics.series(gauge)} == {"other"}


class Looking(Nobody):
    """Notes whether a reload went on when an engine was attached, and which tables were written."""

    def __init__(self, signals: Signals) -> None:
        self._signals = signals
        self.noted = list[bool]()

    async def attach(self, config: Config, ports: Ports, engine: object) -> None:
        del config, ports, engine
        self.noted.append(self._signals.is_reloading)


async def test_a_reload_goes_on_until_it_is_written_down_what_runs() -> None:
    services, signals = Services(), Signals()
    config, frontends = services.load(FILE), Looking(signals)
    process = EngineProcess(services, services.store_, services.metrics_, frontends, signals)
    reads = process.reads = Reads(replace(config, fleets=()))
    running = asyncio.get_running_loop().create_task(process.run(config))
    await services.begun.wait()
    signals.ask_to_reload()
    for _ in range(1000):
        await asyncio.sleep(0)
    assert not signals.is_reloading
    record = await services.store_.engine_record()
    assert reads.begun == [config, reads.config], "each is told once it alone is run"
    running.cancel()
    await asyncio.wait([running])
    assert frontends.noted == [False, True]
    assert record is not None
    assert not any(path.startswith("fleet.") for path in record.tables)
