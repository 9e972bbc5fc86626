"""MemoryStore: the store port in plain dicts, for simulations, demos and tests."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from hostler.domain.errors import AlreadyBound, Conflict, Fenced
from hostler.domain.ids import Epoch, FleetName, HostId, InstallationId, MachineId, ResourceId
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Orphan, Request
from hostler.ports.engine_record import EngineRecord
from hostler.ports.store import Fence, Identity, Lease, StoredEvent

from .past import Past
from .records import claims, storable


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
        self._identity = Identity(own=identity)
        self._exclusive = exclusive
        self._engine: EngineRecord | None = None
        self._fleets = dict[FleetName, FleetRow]()
        self._machines = dict[FleetName, dict[MachineId, Machine]]()
        self._living = dict[MachineId, FleetName]()
        self._history = dict[MachineId, Machine]()
        self._issued = set(issued)
        self._owners = dict[ResourceId, MachineId]()
        self._past = Past()
        self._forgotten: datetime | None = None
        self._hosts = dict[HostId, Host]()
        self._bindings = dict[HostId, MachineId]()
        self._orphans = dict[ResourceId, Orphan]()
        self._requests = dict[int, Request]()
        self._last_request = 0
        self._leases = dict[str, Lease]()
        self._revision = 0

    @property
    def exclusive(self) -> bool:
        return self._exclusive

    # ------------------------------------------------------------ identity and fleets

    async def identity(self) -> Identity:
        return self._identity

    async def adopt(self, installations: tuple[InstallationId, ...], fence: Fence) -> None:
        self._check(fence)
        ours = dict.fromkeys((*self._identity.ours, *installations))
        self._identity = replace(self._identity, adopted=tuple(ours)[1:])
        self._revision += 1

    async def engine_record(self) -> EngineRecord | None:
        return self._engine

    async def save_engine_record(self, record: EngineRecord) -> None:
        self._engine = record

    async def fleets(self) -> tuple[FleetRow, ...]:
        return tuple(self._fleets[name] for name in sorted(self._fleets))

    async def add_fleet(self, row: FleetRow) -> FleetRow:
        if row.name not in self._fleets:
            self._fleets[row.name] = storable(replace(row, version=1))
            self._revision += 1
        return self._fleets[row.name]

    async def save_fleet(
        self,
        row: FleetRow,
        inserts: tuple[Machine, ...],
        events: tuple[Event, ...],
        fence: Fence,
    ) -> FleetRow:
        self._check_row(row, fence)
        saved = storable(replace(row, version=row.version + 1))
        made = tuple(storable(replace(machine, version=1)) for machine in inserts)
        self._check_new(made)
        entries = self._numbered(events, made)
        self._fleets[row.name] = saved
        self._issued.update(order.id for order in saved.orders)
        for machine in made:
            self._put(machine)
            self._issued.add(machine.id)
        self._past.add(entries)
        self._revision += 1
        return saved

    async def remove_fleet(self, row: FleetRow, events: tuple[Event, ...], fence: Fence) -> None:
        self._check_row(row, fence)
        if self._machines.get(row.name):
            raise Conflict(f"machines of fleet {row.name} live")
        entries = self._numbered(events, ())
        del self._fleets[row.name]
        self._past.add(entries)
        self._revision += 1

    # ------------------------------------------------------------ machines

    async def machines(self, fleet: FleetName) -> tuple[Machine, ...]:
        living = self._machines.get(fleet, {}).values()
        return tuple(sorted(living, key=lambda machine: (machine.serial, machine.id)))

    async def machine(self, machine: MachineId) -> Machine | None:
        return self._find(machine)

    async def history(self, machines: tuple[MachineId, ...]) -> tuple[Machine, ...]:
        asked = dict.fromkeys(machines)
        return tuple(self._history[machine] for machine in asked if machine in self._history)

    async def issued(self, machines: tuple[MachineId, ...]) -> frozenset[MachineId]:
        return frozenset(machines) & self._issued

    async def save_machine(
        self, machine: Machine, events: tuple[Event, ...], fence: Fence
    ) -> Machine:
        self._check(fence)
        stored = self._find(machine.id)
        if stored is None or stored.version != machine.version:
            raise Conflict(f"machine {machine.id} changed since version {machine.version} was read")
        saved = storable(replace(machine, version=machine.version + 1))
        self._checkclaims(saved, self._owners)
        entries = self._numbered(events, (saved,))
        self._drop(stored)
        self._put(saved)
        self._past.add(entries)
        self._revision += 1
        return saved

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
        return self._past.events(fleet, machine, after, limit, host)

    async def newest_event(self) -> int:
        return self._past.next - 1

    async def images(self, fleet: FleetName, at: datetime) -> tuple[Machine, ...]:
        return self._past.images(fleet, at)

    async def forget(self, before: datetime, limit: int, fence: Fence) -> int:
        self._check(fence)
        went = 0
        for machine in self._forgettable(before):
            if went < limit:
                went += self._past.forget_machine(machine, limit - went)
            if went < limit:
                del self._history[machine]
                went += 1
        went += self._past.forget_events(before, max(limit - went, 0))
        if went:
            self._forgotten = max(before, self._forgotten or before)
            self._revision += 1
        return went

    async def forgotten(self) -> datetime | None:
        return self._forgotten

    # ------------------------------------------------------------ hosts

    async def hosts(self) -> tuple[Host, ...]:
        return tuple(self._hosts[host] for host in sorted(self._hosts))

    async def save_host(self, host: Host, events: tuple[Event, ...], fence: Fence) -> Host:
        self._check(fence)
        stored = self._hosts.get(host.id)
        if host.version != (stored.version if stored else 0):
            raise Conflict(f"host {host.id} changed since version {host.version} was read")
        saved = storable(replace(host, version=host.version + 1))
        entries = self._numbered(events, ())
        self._hosts[host.id] = saved
        self._past.add(entries)
        self._revision += 1
        return self._hosts[host.id]

    async def bind(self, host: HostId, machine: MachineId, fence: Fence) -> None:
        self._check(fence)
        if self._bindings.get(host, machine) != machine:
            raise AlreadyBound(f"host {host} is bound to machine {self._bindings[host]}")
        other = next((tied for tied, to in self._bindings.items() if to == machine), host)
        if other != host:
            raise AlreadyBound(f"machine {machine} is bound to host {other}")
        self._bindings[host] = machine
        self._revision += 1

    async def bindings(self) -> tuple[tuple[HostId, MachineId], ...]:
        return tuple(sorted(self._bindings.items()))

    async def unbind(self, host: HostId, machine: MachineId, fence: Fence) -> None:
        self._check(fence)
        if self._bindings.get(host) == machine:
            del self._bindings[host]
            self._revision += 1

    # ------------------------------------------------------------ orphans and requests

    async def orphans(self) -> tuple[Orphan, ...]:
        return tuple(self._orphans[resource] for resource in sorted(self._orphans))

    async def save_orphans(
        self, orphans: tuple[Orphan, ...], cleared: tuple[ResourceId, ...], fence: Fence
    ) -> None:
        self._check(fence)
        self._orphans |= {orphan.resource: storable(orphan) for orphan in orphans}
        for resource in cleared:
            self._orphans.pop(resource, None)
        self._revision += 1

    async def request(self, request: Request) -> Request:
        stored = storable(replace(request, number=self._last_request + 1))
        self._last_request = stored.number
        self._requests[stored.number] = stored
        self._revision += 1
        return stored

    async def requests(self) -> tuple[Request, ...]:
        return tuple(self._requests.values())

    async def take_requests(self, numbers: tuple[int, ...], fence: Fence) -> None:
        self._check(fence)
        for number in numbers:
            self._requests.pop(number, None)
        self._revision += 1

    async def revision(self) -> int:
        return self._revision

    # ------------------------------------------------------------ leases

    async def leases(self) -> tuple[Lease, ...]:
        return tuple(self._leases[name] for name in sorted(self._leases))

    async def take_lease(self, name: str, holder: str, seen: Lease | None) -> Lease | None:
        if self._leases.get(name) != seen:
            return None
        epoch = Epoch(seen.epoch + 1 if seen else 1)
        return self._lease(Lease(name=name, holder=holder, epoch=epoch, beat=0))

    async def renew_lease(self, lease: Lease) -> Lease | None:
        stored = self._own(lease)
        return self._lease(replace(stored, beat=stored.beat + 1)) if stored else None

    async def drop_lease(self, lease: Lease) -> None:
        stored = self._own(lease)
        if stored:
            self._lease(replace(stored, holder=""))

    async def close(self) -> None:
        """Only the object's own end: other engines that share it keep it open."""

    # ------------------------------------------------------------ inside

    def _check(self, fence: Fence) -> None:
        lease = self._leases.get(fence.lease)
        if lease is not None and lease.epoch > fence.epoch:
            raise Fenced(f"lease {fence.lease} is at epoch {lease.epoch}; ours was {fence.epoch}")

    def _check_row(self, row: FleetRow, fence: Fence) -> None:
        self._check(fence)
        stored = self._fleets.get(row.name)
        if stored is None or stored.version != row.version:
            raise Conflict(f"fleet {row.name} changed since version {row.version} was read")

    def _find(self, machine: MachineId) -> Machine | None:
        fleet = self._living.get(machine)
        return self._history.get(machine) if fleet is None else self._machines[fleet][machine]

    def _check_new(self, machines: Iterable[Machine]) -> None:
        """Refuse ids of machines that exist, and resources that are another's, within these too."""
        owners = dict(self._owners)
        fresh = set[MachineId]()
        for machine in machines:
            if machine.id in fresh or self._find(machine.id) is not None:
                raise Conflict(f"there is a machine {machine.id} already")
            fresh.add(machine.id)
            self._checkclaims(machine, owners)
            owners |= dict.fromkeys(claims(machine), machine.id)

    def _checkclaims(self, machine: Machine, owners: dict[ResourceId, MachineId]) -> None:
        for resource in claims(machine):
            owner = owners.get(resource, machine.id)
            if owner != machine.id:
                raise AlreadyBound(f"part {resource} is machine {owner}'s, not {machine.id}'s")

    def _drop(self, machine: Machine) -> None:
        self._history.pop(machine.id, None)
        if self._living.pop(machine.id, None) is not None:
            del self._machines[machine.fleet][machine.id]
        for resource in claims(machine):
            self._owners.pop(resource)

    def _put(self, machine: Machine) -> None:
        if machine.phase is Phase.DELETED:
            self._history[machine.id] = machine
            return
        self._machines.setdefault(machine.fleet, {})[machine.id] = machine
        self._living[machine.id] = machine.fleet
        self._owners |= dict.fromkeys(claims(machine), machine.id)

    def _numbered(
        self, events: tuple[Event, ...], changed: tuple[Machine, ...]
    ) -> list[StoredEvent]:
        images = {machine.id: machine for machine in changed}
        return [
            StoredEvent(
                number=number,
                event=storable(event),
                image=images.get(event.machine) if event.machine else None,
            )
            for number, event in enumerate(events, self._past.next)
        ]

    def _forgettable(self, before: datetime) -> tuple[MachineId, ...]:
        """Return who went before a time and has no event since, the first to go first."""
        named = self._past.named_since(before)
        old = (m for m in self._history.values() if m.since < before and m.id not in named)
        return tuple(machine.id for machine in sorted(old, key=lambda m: (m.since, m.id)))

    def _own(self, lease: Lease) -> Lease | None:
        """Return the stored lease if it is still under this holder and epoch."""
        stored = self._leases.get(lease.name)
        if stored is None or (stored.holder, stored.epoch) != (lease.holder, lease.epoch):
            return None
        return stored

    def _lease(self, lease: Lease) -> Lease:
        self._leases[lease.name] = lease
        self._revision += 1
        return lease
