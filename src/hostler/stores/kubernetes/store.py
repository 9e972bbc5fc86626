"""KubernetesStore: the store port on a journal of custom resources."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from hostler.domain.ids import FleetName, HostId, InstallationId, MachineId, ResourceId
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Orphan, Request
from hostler.ports.engine_record import EngineRecord
from hostler.ports.store import Fence, Identity, Lease, StoredEvent
from hostler.stores.records import reads

from .batches import Batches
from .notices import Notices

LetGo = Callable[[], Awaitable[None]]


async def _nothing() -> None:
    """Let go of nothing: somebody else closes the connections."""


class KubernetesStore:
    """The records of one installation in a cluster; any number of processes may share them."""

    def __init__(
        self, batches: Batches, let_go: LetGo = _nothing, notices: Notices | None = None
    ) -> None:
        """Have the records of these batches; `notices`, if there are any, tell of others' saves."""
        self._batches, self._let_go, self._notices = batches, let_go, notices
        self._read, self._write = batches.read, batches.write
        self._requested = 0

    @property
    def exclusive(self) -> bool:
        """Nobody knows who else is alive: a lease passes by its end alone."""
        return False

    @property
    def version(self) -> str:
        """The version of the journal that was read or written last; empty before the first."""
        return self._batches.version

    async def identity(self) -> Identity:
        return await self._read(lambda rules: rules.tables.identity)

    async def adopt(self, installations: tuple[InstallationId, ...], fence: Fence) -> None:
        await self._write(lambda rules: rules.adopt(installations, fence))

    async def engine_record(self) -> EngineRecord | None:
        return await self._read(lambda rules: rules.tables.engine)

    async def save_engine_record(self, record: EngineRecord) -> None:
        await self._write(lambda rules: rules.save_engine_record(record))

    async def fleets(self) -> tuple[FleetRow, ...]:
        return await self._read(lambda rules: reads.fleets(rules.tables))

    async def add_fleet(self, row: FleetRow) -> FleetRow:
        return await self._write(lambda rules: rules.add_fleet(row))

    async def save_fleet(
        self,
        row: FleetRow,
        inserts: tuple[Machine, ...],
        events: tuple[Event, ...],
        fence: Fence,
    ) -> FleetRow:
        return await self._write(lambda rules: rules.save_fleet(row, inserts, events, fence))

    async def remove_fleet(self, row: FleetRow, events: tuple[Event, ...], fence: Fence) -> None:
        await self._write(lambda rules: rules.remove_fleet(row, events, fence))

    async def machines(self, fleet: FleetName) -> tuple[Machine, ...]:
        return await self._read(lambda rules: reads.machines(rules.tables, fleet))

    async def machine(self, machine: MachineId) -> Machine | None:
        return await self._read(lambda rules: rules.tables.find(machine))

    async def history(self, machines: tuple[MachineId, ...]) -> tuple[Machine, ...]:
        return await self._read(lambda rules: reads.history(rules.tables, machines))

    async def issued(self, machines: tuple[MachineId, ...]) -> frozenset[MachineId]:
        return await self._read(lambda rules: frozenset(machines) & rules.tables.issued)

    async def save_machine(
        self, machine: Machine, events: tuple[Event, ...], fence: Fence
    ) -> Machine:
        return await self._write(lambda rules: rules.save_machine(machine, events, fence))

    async def events(
        self,
        fleet: FleetName | None = None,
        machine: MachineId | None = None,
        after: int = 0,
        limit: int = 1000,
        *,
        host: HostId | None = None,
    ) -> tuple[StoredEvent, ...]:
        return await self._read(
            lambda rules: rules.tables.past.events(fleet, machine, after, limit, host)
        )

    async def newest_event(self) -> int:
        return await self._read(lambda rules: rules.tables.last_event)

    async def images(self, fleet: FleetName, at: datetime) -> tuple[Machine, ...]:
        return await self._read(lambda rules: rules.tables.past.images(fleet, at))

    async def forget(self, before: datetime, limit: int, fence: Fence) -> int:
        return await self._write(lambda rules: rules.forget(before, limit, fence))

    async def forgotten(self) -> datetime | None:
        return await self._read(lambda rules: rules.tables.forgotten)

    async def spent(self, fleet: FleetName) -> float:
        return await self._read(lambda rules: reads.spent(rules.tables, fleet))

    async def hosts(self) -> tuple[Host, ...]:
        return await self._read(lambda rules: reads.hosts(rules.tables))

    async def save_host(self, host: Host, events: tuple[Event, ...], fence: Fence) -> Host:
        return await self._write(lambda rules: rules.save_host(host, events, fence))

    async def bind(self, host: HostId, machine: MachineId, fence: Fence) -> None:
        await self._write(lambda rules: rules.bind(host, machine, fence))

    async def bindings(self) -> tuple[tuple[HostId, MachineId], ...]:
        return await self._read(lambda rules: reads.bindings(rules.tables))

    async def unbind(self, host: HostId, machine: MachineId, fence: Fence) -> None:
        await self._write(lambda rules: rules.unbind(host, machine, fence))

    async def orphans(self) -> tuple[Orphan, ...]:
        return await self._read(lambda rules: reads.orphans(rules.tables))

    async def save_orphans(
        self, orphans: tuple[Orphan, ...], cleared: tuple[ResourceId, ...], fence: Fence
    ) -> None:
        await self._write(lambda rules: rules.save_orphans(orphans, cleared, fence))

    async def request(self, request: Request) -> Request:
        (recorded,) = await self.request_all((request,))
        return recorded

    async def request_all(self, requests: tuple[Request, ...]) -> tuple[Request, ...]:
        try:
            return await self._write(lambda rules: rules.request(*requests))
        finally:  # who is cancelled meanwhile may have recorded them all the same
            self._requested += 1

    async def requests(self) -> tuple[Request, ...]:
        return await self._read(lambda rules: reads.requests(rules.tables))

    async def take_requests(self, numbers: tuple[int, ...], fence: Fence) -> None:
        await self._write(lambda rules: rules.take_requests(numbers, fence))

    async def revision(self) -> int:
        """Count the requests of this process, and how often saves of others were found.

        Nothing is asked of the cluster while a watch says that there is nothing new.
        """
        notices = self._notices
        if notices is None or not notices.is_newest(self.version):
            await self._read(lambda _: None)
            if notices is not None:
                notices.read()
        return self._batches.foreign + self._requested

    async def follow(self, notice: Callable[[], None]) -> None:
        """Call `notice` when somebody else saved, as long as a watch tells that; see `Notifies`."""
        if self._notices is not None:
            await self._notices.follow(lambda: self.version, notice)

    async def leases(self) -> tuple[Lease, ...]:
        return await self._read(lambda rules: reads.leases(rules.tables))

    async def take_lease(self, name: str, holder: str, seen: Lease | None) -> Lease | None:
        return await self._write(lambda rules: rules.take_lease(name, holder, seen))

    async def renew_lease(self, lease: Lease) -> Lease | None:
        return await self._write(lambda rules: rules.renew_lease(lease))

    async def drop_lease(self, lease: Lease) -> None:
        await self._write(lambda rules: rules.drop_lease(lease))

    async def close(self) -> None:
        await self._let_go()
