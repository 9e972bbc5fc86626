"""SqliteStore: the store port in one SQLite file; each method is one transaction."""

from collections.abc import Callable
from datetime import datetime
from sqlite3 import Connection
from typing import TypeVar

from hostler.domain.ids import FleetName, HostId, InstallationId, MachineId, ResourceId
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Orphan, Request
from hostler.ports.engine_record import EngineRecord
from hostler.ports.store import Fence, Identity, Lease, StoredEvent

from . import events as event_log
from . import fleets, hosts, leases
from . import machines as records
from .queries import SQL
from .worker import Runner

ResultT = TypeVar("ResultT")


def _nothing() -> None:
    """Let go of nothing: there was no lock."""


class SqliteStore:
    """The records of one installation in a file; opened by the functions of `opening`."""

    def __init__(
        self, runner: Runner, *, exclusive: bool, let_go: Callable[[], None] = _nothing
    ) -> None:
        self._runner = runner
        self._exclusive = exclusive
        self._let_go = let_go
        self._desired = 0

    @property
    def exclusive(self) -> bool:
        return self._exclusive

    async def identity(self) -> Identity:
        return await self._read(fleets.identity)

    async def adopt(self, installations: tuple[InstallationId, ...], fence: Fence) -> None:
        await self._write(lambda db: fleets.adopt(db, installations, fence))

    async def engine_record(self) -> EngineRecord | None:
        return await self._read(fleets.engine)

    async def save_engine_record(self, record: EngineRecord) -> None:
        await self._write(lambda db: fleets.save_engine(db, record))

    async def fleets(self) -> tuple[FleetRow, ...]:
        return await self._read(fleets.rows)

    async def add_fleet(self, row: FleetRow) -> FleetRow:
        return await self._write(lambda db: fleets.add(db, row))

    async def save_fleet(
        self,
        row: FleetRow,
        inserts: tuple[Machine, ...],
        events: tuple[Event, ...],
        fence: Fence,
    ) -> FleetRow:
        return await self._write(lambda db: fleets.save(db, row, inserts, events, fence))

    async def remove_fleet(self, row: FleetRow, events: tuple[Event, ...], fence: Fence) -> None:
        await self._write(lambda db: fleets.remove(db, row, events, fence))

    async def machines(self, fleet: FleetName) -> tuple[Machine, ...]:
        return await self._read(lambda db: records.living(db, fleet))

    async def machine(self, machine: MachineId) -> Machine | None:
        return await self._read(lambda db: records.one(db, machine))

    async def history(self, machines: tuple[MachineId, ...]) -> tuple[Machine, ...]:
        return await self._read(lambda db: records.old(db, machines))

    async def issued(self, machines: tuple[MachineId, ...]) -> frozenset[MachineId]:
        return await self._read(lambda db: records.issued(db, machines))

    async def save_machine(
        self, machine: Machine, events: tuple[Event, ...], fence: Fence
    ) -> Machine:
        return await self._write(lambda db: records.save(db, machine, events, fence))

    async def events(
        self,
        fleet: FleetName | None = None,
        machine: MachineId | None = None,
        after: int = 0,
        limit: int = 1000,
        *,
        host: HostId | None = None,
    ) -> tuple[StoredEvent, ...]:
        about = event_log.About(fleet, machine, host)
        return await self._read(lambda db: event_log.stored(db, about, after, limit))

    async def newest_event(self) -> int:
        return await self._read(event_log.newest)

    async def images(self, fleet: FleetName, at: datetime) -> tuple[Machine, ...]:
        return await self._read(lambda db: event_log.images(db, fleet, at))

    async def forget(self, before: datetime, limit: int, fence: Fence) -> int:
        return await self._write(lambda db: event_log.forget(db, before, limit, fence))

    async def forgotten(self) -> datetime | None:
        return await self._read(event_log.forgotten)

    async def spent(self, fleet: FleetName) -> float:
        return await self._read(lambda db: records.spent(db, fleet))

    async def hosts(self) -> tuple[Host, ...]:
        return await self._read(hosts.records)

    async def save_host(self, host: Host, events: tuple[Event, ...], fence: Fence) -> Host:
        return await self._write(lambda db: hosts.save(db, host, events, fence))

    async def bind(self, host: HostId, machine: MachineId, fence: Fence) -> None:
        await self._write(lambda db: hosts.bind(db, host, machine, fence))

    async def bindings(self) -> tuple[tuple[HostId, MachineId], ...]:
        return await self._read(hosts.bindings)

    async def unbind(self, host: HostId, machine: MachineId, fence: Fence) -> None:
        await self._write(lambda db: hosts.unbind(db, host, machine, fence))

    async def orphans(self) -> tuple[Orphan, ...]:
        return await self._read(hosts.orphans)

    async def save_orphans(
        self, orphans: tuple[Orphan, ...], cleared: tuple[ResourceId, ...], fence: Fence
    ) -> None:
        await self._write(lambda db: hosts.save_orphans(db, orphans, cleared, fence))

    async def request(self, request: Request) -> Request:
        (recorded,) = await self.request_all((request,))
        return recorded

    async def request_all(self, requests: tuple[Request, ...]) -> tuple[Request, ...]:
        try:
            return await self._write(lambda db: tuple(hosts.request(db, one) for one in requests))
        finally:  # who is cancelled meanwhile has recorded them all the same
            self._desired += 1

    async def requests(self) -> tuple[Request, ...]:
        return await self._read(hosts.requests)

    async def take_requests(self, numbers: tuple[int, ...], fence: Fence) -> None:
        await self._write(lambda db: hosts.take_requests(db, numbers, fence))

    async def revision(self) -> int:
        """SQLite counts what others commit; requests from this process are added to it."""
        return self._desired + await self._read(_version)

    async def leases(self) -> tuple[Lease, ...]:
        return await self._read(leases.standing)

    async def take_lease(self, name: str, holder: str, seen: Lease | None) -> Lease | None:
        return await self._write(lambda db: leases.take(db, name, holder, seen))

    async def renew_lease(self, lease: Lease) -> Lease | None:
        return await self._write(lambda db: leases.renew(db, lease))

    async def drop_lease(self, lease: Lease) -> None:
        await self._write(lambda db: leases.drop(db, lease))

    async def close(self) -> None:
        await self._runner.close()
        self._let_go()

    async def _read(self, work: Callable[[Connection], ResultT]) -> ResultT:
        return await self._runner.run(work, writes=False)

    async def _write(self, work: Callable[[Connection], ResultT]) -> ResultT:
        return await self._runner.run(work, writes=True)


def _version(db: Connection) -> int:
    row: tuple[int] = db.execute(SQL["data_version"]).fetchone()
    return row[0]
