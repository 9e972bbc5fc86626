"""GatedStore: a store behind the gate of one process; what was saved is told to the checker."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Protocol, TypeVar

from hostler.domain.errors import StoreError
from hostler.domain.ids import FleetName, HostId, InstallationId, MachineId, ResourceId
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Orphan, Request
from hostler.ports.store import Fence, Identity, Lease, Store, StoredEvent

from .gates import Gate

T = TypeVar("T")


class SaveListener(Protocol):
    """Who hears of every save that stands; who derives from it need not heed all of them."""

    def machine_saved(self, machine: Machine, events: tuple[Event, ...], fence: Fence) -> None:
        """Note a machine's record."""

    def fleet_removed(self, row: FleetRow, fence: Fence) -> None:
        """Note that a fleet's row is removed."""
        ...

    def fleet_saved(
        self, row: FleetRow, inserts: tuple[Machine, ...], events: tuple[Event, ...], fence: Fence
    ) -> None:
        """Note a fleet's row and its new machines."""

    def host_saved(self, host: Host, fence: Fence) -> None:
        """Note a host's record."""

    def bound(self, host: HostId, machine: MachineId) -> None:
        """Note that a host is a machine's from now on."""

    def unbound(self, host: HostId, machine: MachineId) -> None:
        """Note that it is not any more."""

    def orphans_saved(self, orphans: tuple[Orphan, ...], cleared: tuple[ResourceId, ...]) -> None:
        """Note the ledger's changes."""

    def requested(self, requests: tuple[Request, ...]) -> None:
        """Note what was asked for."""

    def requests_taken(self, numbers: tuple[int, ...]) -> None:
        """Note requests that were taken out."""

    def adopted(self, installations: tuple[InstallationId, ...]) -> None:
        """Note whose tags are ours from now on."""

    def leased(self, lease: Lease) -> None:
        """Note who took a lease."""

    def store_failed(self) -> None:
        """Note that a call to the store was refused."""


class GatedStore:
    """Implements `hostler.ports.store.Store`."""

    def __init__(
        self, store: Store, gate: Gate, listener: SaveListener, *, exclusive: bool
    ) -> None:
        self._store, self._gate, self._listener = store, gate, listener
        self._exclusive = exclusive

    @property
    def exclusive(self) -> bool:
        """Whether whoever opened this store knows that all former holders are dead."""
        return self._exclusive

    async def _read(self, call: Callable[[], Awaitable[T]]) -> T:
        return await self._gate.store("read", call, writes=False)

    async def _write(
        self, name: str, call: Callable[[], Awaitable[T]], note: Callable[[T], None]
    ) -> T:
        async def done() -> T:
            with self._gate.writing():
                result = await call()
                note(result)
            return result

        try:
            return await self._gate.store(name, done, writes=True)
        except StoreError:
            self._listener.store_failed()
            raise

    async def identity(self) -> Identity:
        """Return whose store this is."""
        return await self._read(self._store.identity)

    async def adopt(self, installations: tuple[InstallationId, ...], fence: Fence) -> None:
        """Make the tags of these installations ours."""
        await self._write(
            "adopt",
            lambda: self._store.adopt(installations, fence),
            lambda _: self._listener.adopted(installations),
        )

    async def fleets(self) -> tuple[FleetRow, ...]:
        """Return all rows."""
        return await self._read(self._store.fleets)

    async def add_fleet(self, row: FleetRow) -> FleetRow:
        """Return the row as stored."""
        return await self._write("add_fleet", lambda: self._store.add_fleet(row), _nothing)

    async def save_fleet(
        self,
        row: FleetRow,
        inserts: tuple[Machine, ...],
        events: tuple[Event, ...],
        fence: Fence,
    ) -> FleetRow:
        """Save the row with new machines."""
        return await self._write(
            "save_fleet",
            lambda: self._store.save_fleet(row, inserts, events, fence),
            lambda saved: self._listener.fleet_saved(saved, inserts, events, fence),
        )

    async def remove_fleet(self, row: FleetRow, events: tuple[Event, ...], fence: Fence) -> None:
        """Remove a row."""
        await self._write(
            "remove_fleet",
            lambda: self._store.remove_fleet(row, events, fence),
            lambda _: self._listener.fleet_removed(row, fence),
        )

    async def machines(self, fleet: FleetName) -> tuple[Machine, ...]:
        """Return the living machines."""
        return await self._read(lambda: self._store.machines(fleet))

    async def machine(self, machine: MachineId) -> Machine | None:
        """Return one machine."""
        return await self._read(lambda: self._store.machine(machine))

    async def history(self, machines: tuple[MachineId, ...]) -> tuple[Machine, ...]:
        """Return those that are in the history."""
        return await self._read(lambda: self._store.history(machines))

    async def issued(self, machines: tuple[MachineId, ...]) -> frozenset[MachineId]:
        """Return those that were ever given."""
        return await self._read(lambda: self._store.issued(machines))

    async def save_machine(
        self, machine: Machine, events: tuple[Event, ...], fence: Fence
    ) -> Machine:
        """Save over the version that the record carries."""
        return await self._write(
            "save_machine",
            lambda: self._store.save_machine(machine, events, fence),
            lambda saved: self._listener.machine_saved(saved, events, fence),
        )

    async def events(
        self,
        fleet: FleetName | None = None,
        machine: MachineId | None = None,
        after: int = 0,
        limit: int = 1000,
        *,
        host: HostId | None = None,
    ) -> tuple[StoredEvent, ...]:
        """Return stored events."""
        return await self._read(lambda: self._store.events(fleet, machine, after, limit, host=host))

    async def newest_event(self) -> int:
        """Return the number of the newest event."""
        return await self._read(self._store.newest_event)

    async def images(self, fleet: FleetName, at: datetime) -> tuple[Machine, ...]:
        """Return the fleet as of a time."""
        return await self._read(lambda: self._store.images(fleet, at))

    async def forget(self, before: datetime, limit: int, fence: Fence) -> int:
        """Remove what was over before a time."""
        return await self._write(
            "forget", lambda: self._store.forget(before, limit, fence), _nothing
        )

    async def forgotten(self) -> datetime | None:
        """Return before when things were removed."""
        return await self._read(self._store.forgotten)

    async def spent(self, fleet: FleetName) -> float:
        """Return what the deleted machines of a fleet have cost."""
        return await self._read(lambda: self._store.spent(fleet))

    async def hosts(self) -> tuple[Host, ...]:
        """Return all hosts."""
        return await self._read(self._store.hosts)

    async def save_host(self, host: Host, events: tuple[Event, ...], fence: Fence) -> Host:
        """Save a host."""
        return await self._write(
            "save_host",
            lambda: self._store.save_host(host, events, fence),
            lambda saved: self._listener.host_saved(saved, fence),
        )

    async def bindings(self) -> tuple[tuple[HostId, MachineId], ...]:
        """Return which host is which machine's."""
        return await self._read(self._store.bindings)

    async def bind(self, host: HostId, machine: MachineId, fence: Fence) -> None:
        """Tie a host to a machine."""
        await self._write(
            "bind",
            lambda: self._store.bind(host, machine, fence),
            lambda _: self._listener.bound(host, machine),
        )

    async def unbind(self, host: HostId, machine: MachineId, fence: Fence) -> None:
        """Loosen this very tie."""
        await self._write(
            "unbind",
            lambda: self._store.unbind(host, machine, fence),
            lambda _: self._listener.unbound(host, machine),
        )

    async def orphans(self) -> tuple[Orphan, ...]:
        """Return the ledger."""
        return await self._read(self._store.orphans)

    async def save_orphans(
        self, orphans: tuple[Orphan, ...], cleared: tuple[ResourceId, ...], fence: Fence
    ) -> None:
        """Write the ledger."""
        await self._write(
            "save_orphans",
            lambda: self._store.save_orphans(orphans, cleared, fence),
            lambda _: self._listener.orphans_saved(orphans, cleared),
        )

    async def request(self, request: Request) -> Request:
        """Save a request."""
        (stored,) = await self.request_all((request,))
        return stored

    async def request_all(self, requests: tuple[Request, ...]) -> tuple[Request, ...]:
        """Save requests, all of them or none."""
        return await self._write(
            "request", lambda: self._store.request_all(requests), self._listener.requested
        )

    async def requests(self) -> tuple[Request, ...]:
        """Return the requests that nobody took yet."""
        return await self._read(self._store.requests)

    async def take_requests(self, numbers: tuple[int, ...], fence: Fence) -> None:
        """Take requests out."""
        await self._write(
            "take_requests",
            lambda: self._store.take_requests(numbers, fence),
            lambda _: self._listener.requests_taken(numbers),
        )

    async def revision(self) -> int:
        """Return a number that changes with other writers' saves."""
        return await self._read(self._store.revision)

    async def leases(self) -> tuple[Lease, ...]:
        """Return all leases."""
        return await self._read(self._store.leases)

    async def take_lease(self, name: str, holder: str, seen: Lease | None) -> Lease | None:
        """Take a lease under the next epoch."""
        return await self._write(
            "take_lease",
            lambda: self._store.take_lease(name, holder, seen),
            lambda taken: self._listener.leased(taken) if taken else None,
        )

    async def renew_lease(self, lease: Lease) -> Lease | None:
        """Renew a lease."""
        return await self._write("renew_lease", lambda: self._store.renew_lease(lease), _nothing)

    async def drop_lease(self, lease: Lease) -> None:
        """Give a lease back."""
        await self._write("drop_lease", lambda: self._store.drop_lease(lease), _nothing)

    async def close(self) -> None:
        """Let go of the store."""
        await self._store.close()


def _nothing(_: object) -> None:
    """Nobody need be told."""
