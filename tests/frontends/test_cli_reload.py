"""`hostler reload` beside objects: what is compared, planned and answered is the file's own."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from cli_kit import FILE, FLEET, NOW, InMemory, NoFrontends, cli, fill, run
from msgspec.structs import replace

from hostler.app.null_metrics import NullMetrics
from hostler.config.digests import digests
from hostler.config.values import Config
from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Account, Ports
from hostler.domain.ids import FleetName
from hostler.frontends.cli.engine_process import EngineProcess, Signals
from hostler.ports.engine_record import EngineRecord
from hostler.ports.store import Store

Out = pytest.CaptureFixture[str]
THEIRS = "fleet.theirs"


def beside_objects(**changes: str) -> InMemory:
    """Return services whose engine runs this file, with the fleet of an object and `changes`."""
    services = InMemory(runs=True)
    tables = {**digests(services.load(FILE)), THEIRS: "x", **changes}
    record = EngineRecord(
        file=str(FILE.resolve()), since=NOW, tables=tables, objects=(THEIRS, "provider.cloud")
    )
    run(fill(services.store_))
    run(services.store_.save_engine_record(record))
    return services


def test_fleets_of_objects_are_no_change_of_the_file(capsys: Out) -> None:
    services = beside_objects(**{"fleet.web": "older"})
    done = cli(services, capsys, "reload", str(FILE), "--dry-run", "--json")
    assert (done.code, done.json["changed"]) == (0, ["fleet.web"])


def test_the_engine_runs_the_file_whatever_objects_there_are_too(capsys: Out) -> None:
    done = cli(beside_objects(), capsys, "reload", str(FILE), "--json")
    assert (done.code, done.json["taken"], done.json["changed"]) == (0, True, [])


def test_fleets_of_objects_are_not_planned_by_the_file(capsys: Out) -> None:
    services = beside_objects()
    theirs = replace(FLEET, name=FleetName("theirs"), removed=True)
    services.fleets = (*services.fleets, theirs)  # as the store has it, and the file has not
    done = cli(services, capsys, "reload", str(FILE), "--dry-run", "--json")
    assert [one["fleet"] for one in done.json["fleets"]] == ["web"]


def test_a_status_by_the_file_does_not_call_it_another_than_the_engines(capsys: Out) -> None:
    done = cli(beside_objects(), capsys, "status", str(FILE), "--json")
    assert done.json["standing"]["differs"] == []


class Broken(InMemory):
    """Services whose accounts cannot be opened again, by a defect of ours or of a package."""

    opened = 0

    @asynccontextmanager
    async def accounts(self, config: Config, store: Store) -> AsyncGenerator[tuple[Account, ...]]:
        self.opened += 1
        if self.opened > 1:
            raise KeyError("endpoint")
        async with super().accounts(config, store) as accounts:
            yield accounts

    def load(self, path: Path, *, partial: bool = False) -> Config:
        size = 1 + self.opened
        return replace(super().load(path, partial=partial), fleets=(replace(FLEET, size=size),))

    def engine(self, config: Config, ports: Ports, accounts: tuple[Account, ...]) -> Engine:
        del config, ports, accounts
        return cast("Engine", cast("object", Idle()))


class Idle:
    """An engine that does nothing until it is cancelled."""

    async def run(self) -> None:
        await asyncio.Event().wait()


async def test_a_file_that_a_defect_refuses_ends_no_engine() -> None:
    services, signals = Broken(), Signals()
    process = EngineProcess(services, services.store_, NullMetrics(), NoFrontends(), signals)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        running = group.create_task(process.run(services.load(FILE)))
        signals.ask_to_reload()
        record = None
        while record is None or not record.refused:
            await asyncio.sleep(0.01)
            record = await services.store_.engine_record()
        assert not running.done()
        assert record.refused == "a bug in hostler: KeyError: 'endpoint'"
        signals.stop = True
        signals.came.set()
