"""MemoryStore: the store port in plain dicts, for simulations, demos and tests."""

from collections.abc import Iterable
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
from hostler.stores.records.rules import Rules
from hostler.stores.records.tables import Tables


class MemoryStore:
    """The records of one installation, for as long as the process lives.

    One object may be handed to several engines: then `exclusive` must be False. It is
    deterministic, and refuses what no store could read back, as the durable ones do. The ids that
    it `issued` before may have lost their records.
    """

    def __init__(
        self,
        identity: InstallationId,
        *,
        exclusive: bool = True,
        issued: Iterable[MachineId] = (),
    ) -> None:
        self._tables = Tables(Identity(own=identity))
        self._tables.issued.update(issued)
        self._rules = Rules(self._tables)
        self._exclusive = exclusive
        self._revision = 0

    @property
    def exclusive(self) -> bool:
        return self._exclusive

    # ------------------------------------------------------------ identity and fleets

    async def identity(self) -> Identity:
        return self._tables.identity

    async def adopt(self, installations: tuple[InstallationId, ...], fence: Fence) -> None:
        self._rules.adopt(installations, fence)
        self._settle()

    async def engine_record(self) -> EngineRecord | None:
        return self._tables.engine

    async def save_engine_record(self, record: EngineRecord) -> None:
        self._rules.save_engine_record(record)
        self._rules.settle()

    async def fleets(self) -> tuple[FleetRow, ...]:
        return reads.fleets(self._tables)

    async def add_fleet(self, row: FleetRow) -> FleetRow:
        added = self._rules.add_fleet(row)
        self._settle()
        return added

    async def save_fleet(
        self,
        row: FleetRow,
        inserts: tuple[Machine, ...],
        events: tuple[Event, ...],
        fence: Fence,
    ) -> FleetRow:
        saved = self._rules.save_fleet(row, inserts, events, fence)
        self._settle()
        return saved

    async def remove_fleet(self, row: FleetRow, events: tuple[Event, ...], fence: Fence) -> None:
        self._rules.remove_fleet(row, events, fence)
        self._settle()

    # ------------------------------------------------------------ machines

    async def machines(self, fleet: FleetName) -> tuple[Machine, ...]:
        return reads.machines(self._tables, fleet)

    async def machine(self, machine: MachineId) -> Machine | None:
        return self._tables.find(machine)

    async def history(self, machines: tuple[MachineId, ...]) -> tuple[Machine, ...]:
        return reads.history(self._tables, machines)

    async def issued(self, machines: tuple[MachineId, ...]) -> frozenset[MachineId]:
        return frozenset(machines) & self._tables.issued

    async def save_machine(
        self, machine: Machine, events: tuple[Event, ...], fence: Fence
    ) -> Machine:
        saved = self._rules.save_machine(machine, events, fence)
        self._settle()
        return saved

    def remove_record(self, machine: MachineId) -> bool:
        """Remove a record as if it had never been, but for its events; tell if there was one."""
        removed = self._rules.remove_machine(machine)
        self._settle()
        return removed

    # ------------------------------------------------------------ events

    async def events(
        self,
        fleet: FleetName | None = None,
        machine: MachineId | None = None,
        after: int = 0,
        limit: int = 1000,
        *,
        host: HostId | None = None,
    ) -> tuple[StoredEvent, ...]:
        return self._tables.past.events(fleet, machine, after, limit, host)

    async def newest_event(self) -> int:
        return self._tables.last_event

    async def images(self, fleet: FleetName, at: datetime) -> tuple[Machine, ...]:
        return self._tables.past.images(fleet, at)

    async def forget(self, before: datetime, limit: int, fence: Fence) -> int:
        went = self._rules.forget(before, limit, fence)
        self._settle()
        return went

    async def forgotten(self) -> datetime | None:
        return self._tables.forgotten

    async def spent(self, fleet: FleetName) -> float:
        return reads.spent(self._tables, fleet)

    # ------------------------------------------------------------ hosts

    async def hosts(self) -> tuple[Host, ...]:
        return reads.hosts(self._tables)

    async def save_host(self, host: Host, events: tuple[Event, ...], fence: Fence) -> Host:
        saved = self._rules.save_host(host, events, fence)
        self._settle()
        return saved

    async def bind(self, host: HostId, machine: MachineId, fence: Fence) -> None:
        self._rules.bind(host, machine, fence)
        self._settle()

    async def bindings(self) -> tuple[tuple[HostId, MachineId], ...]:
        return reads.bindings(self._tables)

    async def unbind(self, host: HostId, machine: MachineId, fence: Fence) -> None:
        self._rules.unbind(host, machine, fence)
        self._settle()

    # ------------------------------------------------------------ orphans and requests

    async def orphans(self) -> tuple[Orphan, ...]:
        return reads.orphans(self._tables)

    async def save_orphans(
        self, orphans: tuple[Orphan, ...], cleared: tuple[ResourceId, ...], fence: Fence
    ) -> None:
        self._rules.save_orphans(orphans, cleared, fence)
        self._settle()

    async def request(self, request: Request) -> Request:
        (stored,) = await self.request_all((request,))
        return stored

    async def request_all(self, requests: tuple[Request, ...]) -> tuple[Request, ...]:
        stored = self._rules.request(*requests)
        self._settle()
        return stored

    async def requests(self) -> tuple[Request, ...]:
        return reads.requests(self._tables)

    async def take_requests(self, numbers: tuple[int, ...], fence: Fence) -> None:
        self._rules.take_requests(numbers, fence)
        self._settle()

    async def revision(self) -> int:
        return self._revision

    # ------------------------------------------------------------ leases

    async def leases(self) -> tuple[Lease, ...]:
        return reads.leases(self._tables)

    async def take_lease(self, name: str, holder: str, seen: Lease | None) -> Lease | None:
        taken = self._rules.take_lease(name, holder, seen)
        self._settle()
        return taken

    async def renew_lease(self, lease: Lease) -> Lease | None:
        renewed = self._rules.renew_lease(lease)
        self._settle()
        return renewed

    async def drop_lease(self, lease: Lease) -> None:
        self._rules.drop_lease(lease)
        self._settle()

    async def close(self) -> None:
        """Only the object's own end: other engines that share it keep it open."""

    def _settle(self) -> None:
        """Let the changes stand; where there are any, the revision is another one."""
        self._revision += bool(self._rules.made())
        self._rules.settle()
