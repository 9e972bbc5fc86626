"""A process that runs one engine after the other, as its file is read again."""

import asyncio
from pathlib import Path

import pytest
from cli_kit import FILE, FLEET, InMemory, NoFrontends
from msgspec.structs import replace

from hostler.app.null_metrics import NullMetrics
from hostler.config.values import Config
from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Account, Ports
from hostler.domain.errors import StoreBusy
from hostler.frontends.cli import engine_process
from hostler.frontends.cli.engine_process import EngineProcess, Signals
from hostler.ports.clock import Clock
from hostler.testing.time.clock import SimClock


class Idle(Engine):
    """An engine that does nothing until it is cancelled."""

    async def run(self) -> None:
        await asyncio.Event().wait()


class Growing(InMemory):
    """Services whose file says another size each time that it is read."""

    read = 0

    def clock(self) -> Clock:
        return SimClock(asyncio.get_running_loop())

    def load(self, path: Path, *, partial: bool = False) -> Config:
        self.read += 1
        sized = (replace(FLEET, size=self.read),)
        return replace(super().load(path, partial=partial), fleets=sized)

    def engine(self, config: Config, ports: Ports, accounts: tuple[Account, ...]) -> Engine:
        return Idle(ports, accounts, "a", config.settings)


class Busy(NoFrontends):
    """Frontends that cannot read the store, in these of their attempts."""

    def __init__(self, *busy: int) -> None:
        self.busy, self.sizes = frozenset(busy), list[int]()
        self.attempts = 0

    async def attach(self, config: Config, ports: Ports, engine: object) -> None:
        del ports, engine
        self.attempts += 1
        if self.attempts in self.busy:
            raise StoreBusy("the API server does not answer")
        self.sizes.append(config.fleets[0].size)


def process(frontends: NoFrontends, signals: Signals) -> tuple[EngineProcess, Config]:
    services = Growing()
    made = EngineProcess(services, services.store_, NullMetrics(), frontends, signals)
    return made, services.load(FILE)


def stop(signals: Signals) -> None:
    signals.stop = True
    signals.came.set()


async def until(frontends: Busy, attempts: int) -> None:
    while frontends.attempts < attempts:  # noqa: ASYNC110 - simulated time; nothing to wait on
        await asyncio.sleep(0.01)


@pytest.mark.looptime
async def test_the_next_engine_waits_for_a_store_that_does_not_answer_at_its_beginning() -> None:
    """The one before has ended by then: a process that ended too would leave the fleets alone."""
    frontends, signals = Busy(2, 3), Signals()
    engines, config = process(frontends, signals)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(engines.run(config))
        await until(frontends, 1)
        signals.ask_to_reload()
        await until(frontends, 4)
        await asyncio.sleep(1)
        stop(signals)
    assert frontends.sizes == [1, 2]


@pytest.mark.looptime
async def test_a_process_that_is_to_stop_does_not_wait_for_the_store() -> None:
    frontends, signals = Busy(*range(2, 1000)), Signals()
    engines, config = process(frontends, signals)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(engines.run(config))
        await until(frontends, 1)
        signals.ask_to_reload()
        await until(frontends, 4)
        stop(signals)
    assert frontends.attempts < 7


async def test_the_first_engine_says_why_it_cannot_begin() -> None:
    engines, config = process(Busy(1), Signals())
    with pytest.raises(StoreBusy):
        await engines.run(config)


@pytest.mark.looptime
async def test_a_password_that_changed_in_its_file_is_read_with_the_fleet_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The tables are the same; else the old one would be refused until a restart."""
    monkeypatch.setattr(Growing, "load", InMemory.load)
    frontends, signals, held = Busy(), Signals(), ["old"]
    engines, config = process(frontends, signals)

    def contents(_: Config) -> str:
        return held[0]

    monkeypatch.setattr(engine_process, "digest_of_files", contents)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(engines.run(config))
        await until(frontends, 1)
        signals.ask_to_reload()
        await asyncio.sleep(1)
        assert frontends.attempts == 1, "all is as it was"
        held[0] = "new"
        signals.ask_to_reload()
        await until(frontends, 2)
        stop(signals)
