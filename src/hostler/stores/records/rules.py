"""Rules: what a save must find to be made, and the changes that it is, all of them or none."""

from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import replace

from hostler.domain.errors import AlreadyBound, Conflict, Fenced
from hostler.domain.ids import Epoch, FleetName, HostId, InstallationId, MachineId, ResourceId
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Orphan, Request
from hostler.ports.engine_record import EngineRecord
from hostler.ports.store import Fence, Lease

from . import changes as put
from .claims import claims
from .documents import ENGINE, EVENT, FLEET, HOST, MACHINE, ORPHAN, REQUEST
from .tables import Tables


class Rules:
    """The saves of the store port, on tables; each returns what the port says, or raises it.

    What a save changed can be taken: for a log, or to undo it. A save that raises changed nothing.
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._made = list[put.Change]()
        self._undo = list[put.Change]()

    def made(self) -> tuple[put.Change, ...]:
        """Return the changes since `settle` or `undo`, in order."""
        return tuple(self._made)

    def settle(self) -> None:
        """Let these changes stand."""
        self._made.clear()
        self._undo.clear()

    def undo(self) -> None:
        """Take these changes back, the newest first."""
        for change in reversed(self._undo):
            self.tables.apply(change)
        self.settle()

    def change(self, *changes: put.Change) -> None:
        """Make changes that no rule is about."""
        for change in changes:
            self._undo.extend(reversed(self.tables.apply(change)))
            self._made.append(change)

    # ------------------------------------------------------------ identity and fleets

    def adopt(self, installations: tuple[InstallationId, ...], fence: Fence) -> None:
        """Make these installations ours too."""
        self._check(fence)
        identity = self.tables.identity
        ours = dict.fromkeys((*identity.ours, *installations))
        self.change(put.IdentityPut(replace(identity, adopted=tuple(ours)[1:])))

    def save_engine_record(self, record: EngineRecord) -> None:
        """Write what this process runs."""
        self.change(put.EnginePut(ENGINE.storable(record)))

    def add_fleet(self, row: FleetRow) -> FleetRow:
        """Add a row unless there is one of its name; return the one that is there."""
        if row.name not in self.tables.fleets:
            self.change(put.FleetPut(row.name, FLEET.storable(replace(row, version=1))))
        return self.tables.fleets[row.name]

    def save_fleet(
        self,
        row: FleetRow,
        inserts: tuple[Machine, ...],
        events: tuple[Event, ...],
        fence: Fence,
    ) -> FleetRow:
        """Save a row over the version that it carries, with its new machines."""
        self._check_row(row, fence)
        saved = FLEET.storable(replace(row, version=row.version + 1))
        made = tuple(MACHINE.storable(replace(machine, version=1)) for machine in inserts)
        self._check_new(made)
        entries = self._numbered(events, made)
        self.change(put.FleetPut(saved.name, saved))
        self._issue(order.id for order in saved.orders)
        self._issue(machine.id for machine in made)
        self.change(*(put.MachinePut(machine.id, machine) for machine in made), *entries)
        return saved

    def remove_fleet(self, row: FleetRow, events: tuple[Event, ...], fence: Fence) -> None:
        """Remove a row at the version that it carries, once no machine of the fleet lives."""
        self._check_row(row, fence)
        if self.tables.living.get(row.name):
            raise Conflict(f"machines of fleet {row.name} live")
        entries = self._numbered(events, ())
        self.change(put.FleetPut(row.name, None), *entries)

    # ------------------------------------------------------------ machines and their past

    def save_machine(self, machine: Machine, events: tuple[Event, ...], fence: Fence) -> Machine:
        """Save over the version that the record carries, where its phase belongs."""
        self._check(fence)
        stored = self.tables.find(machine.id)
        if stored is None or stored.version != machine.version:
            raise Conflict(f"machine {machine.id} changed since version {machine.version} was read")
        saved = MACHINE.storable(replace(machine, version=machine.version + 1))
        _check_claims(saved, self.tables.owners)
        entries = self._numbered(events, (saved,))
        self.change(put.MachinePut(saved.id, saved), *entries)
        return saved

    def remove_machine(self, machine: MachineId) -> bool:
        """Remove a record as if it had never been, but for its events; tell if there was one."""
        there = self.tables.find(machine) is not None
        if there:
            self.change(put.MachinePut(machine, None))
        return there

    def forget(self, before: datetime, limit: int, fence: Fence) -> int:
        """Remove at most so many rows of what was over before a time; return how many went."""
        self._check(fence)
        return self._forget(before, max(limit, 0))

    def trim(self, most: int, limit: int) -> int:
        """Forget the oldest until there are at most so many events, at most so many rows at once.

        Each living machine has its last image still, so there may be more. Returns how many went.
        """
        excess = len(self.tables.past) - most
        return self._forget(self.tables.past.date(excess), limit) if excess > 0 else 0

    def _forget(self, before: datetime, left: int) -> int:
        numbers, machines = list[int](), list[MachineId]()
        old = self._forgettable(before)[: left + 1]
        for machine, about in self.tables.past.about(old).items():
            numbers += about[:left]
            left -= len(about[:left])
            if not left:
                break
            machines.append(machine)
            left -= 1
        over = self.tables.past.over(before, left, set(numbers))
        went = len(numbers) + len(machines) + len(over)
        if went:
            spent = self._spent_with(machines)
            self.change(put.EventsRemoved((*numbers, *over)))
            self.change(*(put.MachinePut(machine, None) for machine in machines))
            self.change(put.ForgottenPut(max(before, self.tables.forgotten or before), spent))
        return went

    def _spent_with(self, machines: Iterable[MachineId]) -> dict[FleetName, float]:
        """Return what those cost that are forgotten, these with them."""
        spent = dict(self.tables.forgotten_spent)
        for one in machines:
            machine = self.tables.history[one]
            spent[machine.fleet] = spent.get(machine.fleet, 0.0) + machine.billing.spent
        return spent

    # ------------------------------------------------------------ hosts

    def save_host(self, host: Host, events: tuple[Event, ...], fence: Fence) -> Host:
        """Save over the version that the record carries; 0 is a host that nobody saved yet."""
        self._check(fence)
        stored = self.tables.hosts.get(host.id)
        if host.version != (stored.version if stored else 0):
            raise Conflict(f"host {host.id} changed since version {host.version} was read")
        saved = HOST.storable(replace(host, version=host.version + 1))
        entries = self._numbered(events, ())
        self.change(put.HostPut(saved.id, saved), *entries)
        return saved

    def bind(self, host: HostId, machine: MachineId, fence: Fence) -> None:
        """Bind a host to a machine; AlreadyBound when either is bound elsewhere."""
        self._check(fence)
        bindings = self.tables.bindings
        if bindings.get(host, machine) != machine:
            raise AlreadyBound(f"host {host} is bound to machine {bindings[host]}")
        other = next((tied for tied, to in bindings.items() if to == machine), host)
        if other != host:
            raise AlreadyBound(f"machine {machine} is bound to host {other}")
        if host not in bindings:
            self.change(put.BindingPut(host, machine))

    def unbind(self, host: HostId, machine: MachineId, fence: Fence) -> None:
        """Remove this very binding."""
        self._check(fence)
        if self.tables.bindings.get(host) == machine:
            self.change(put.BindingPut(host, None))

    # ------------------------------------------------------------ orphans and requests

    def save_orphans(
        self, orphans: tuple[Orphan, ...], cleared: tuple[ResourceId, ...], fence: Fence
    ) -> None:
        """Write these orphans, then take those resources out."""
        self._check(fence)
        written = tuple(ORPHAN.storable(orphan) for orphan in orphans)
        self.change(*(put.OrphanPut(orphan.resource, orphan) for orphan in written))
        absent = tuple(one for one in cleared if one in self.tables.orphans)
        self.change(*(put.OrphanPut(resource, None) for resource in absent))

    def request(self, *requests: Request) -> tuple[Request, ...]:
        """Record requests under numbers that were never given before; all of them, or none."""
        first = self.tables.last_request + 1
        numbered = enumerate(requests, start=first)
        stored = tuple(REQUEST.storable(replace(one, number=number)) for number, one in numbered)
        self.change(put.CountersPut(self.tables.last_event, first + len(stored) - 1))
        self.change(*(put.RequestPut(one.number, one) for one in stored))
        return stored

    def take_requests(self, numbers: tuple[int, ...], fence: Fence) -> None:
        """Take requests out, those that are still there."""
        self._check(fence)
        there = tuple(n for n in dict.fromkeys(numbers) if n in self.tables.requests)
        self.change(*(put.RequestPut(number, None) for number in there))

    # ------------------------------------------------------------ leases

    def take_lease(self, name: str, holder: str, seen: Lease | None) -> Lease | None:
        """Take the lease under its next epoch if it still stands as it was seen."""
        if self.tables.leases.get(name) != seen:
            return None
        epoch = Epoch(seen.epoch + 1 if seen else 1)
        return self._lease(Lease(name=name, holder=holder, epoch=epoch, beat=0))

    def renew_lease(self, lease: Lease) -> Lease | None:
        """Add a beat if holder and epoch are still the same."""
        stored = self._own(lease)
        return self._lease(replace(stored, beat=stored.beat + 1)) if stored else None

    def drop_lease(self, lease: Lease) -> None:
        """Empty the holder if holder and epoch are still the same."""
        stored = self._own(lease)
        if stored:
            self._lease(replace(stored, holder=""))

    # ------------------------------------------------------------ inside

    def _check(self, fence: Fence) -> None:
        lease = self.tables.leases.get(fence.lease)
        if lease is not None and lease.epoch > fence.epoch:
            raise Fenced(f"lease {fence.lease} is at epoch {lease.epoch}; ours was {fence.epoch}")

    def _check_row(self, row: FleetRow, fence: Fence) -> None:
        self._check(fence)
        stored = self.tables.fleets.get(row.name)
        if stored is None or stored.version != row.version:
            raise Conflict(f"fleet {row.name} changed since version {row.version} was read")

    def _check_new(self, machines: Iterable[Machine]) -> None:
        """Refuse ids of machines that exist, and resources that are another's, within these too."""
        claimed = dict[ResourceId, MachineId]()
        fresh = set[MachineId]()
        for machine in machines:
            if machine.id in fresh or self.tables.find(machine.id) is not None:
                raise Conflict(f"there is a machine {machine.id} already")
            fresh.add(machine.id)
            _check_claims(machine, self.tables.owners)
            _check_claims(machine, claimed)
            claimed |= dict.fromkeys(claims(machine), machine.id)

    def _issue(self, ids: Iterable[MachineId]) -> None:
        new = tuple(one for one in dict.fromkeys(ids) if one not in self.tables.issued)
        if new:
            self.change(put.IssuedPut(new))

    def _numbered(
        self, events: tuple[Event, ...], changed: tuple[Machine, ...]
    ) -> tuple[put.Change, ...]:
        """Return these events under the next numbers, to be put once the machines are changed."""
        if not events:
            return ()
        ids = {machine.id for machine in changed}
        last = self.tables.last_event + len(events)
        entries = (
            put.EventPut(number, EVENT.storable(event), imaged=event.machine in ids)
            for number, event in enumerate(events, self.tables.last_event + 1)
        )
        return (*entries, put.CountersPut(last, self.tables.last_request))

    def _forgettable(self, before: datetime) -> tuple[MachineId, ...]:
        """Return who went before a time and has no event since, the first to go first."""
        named = self.tables.past.named_since(before)
        old = (
            machine
            for machine in self.tables.history.values()
            if machine.since < before and machine.id not in named
        )
        return tuple(machine.id for machine in sorted(old, key=lambda m: (m.since, m.id)))

    def _own(self, lease: Lease) -> Lease | None:
        """Return the stored lease if it is still under this holder and epoch."""
        stored = self.tables.leases.get(lease.name)
        if stored is None or (stored.holder, stored.epoch) != (lease.holder, lease.epoch):
            return None
        return stored

    def _lease(self, lease: Lease) -> Lease:
        self.change(put.LeasePut(lease.name, lease))
        return lease


def _check_claims(machine: Machine, owners: dict[ResourceId, MachineId]) -> None:
    for resource in claims(machine):
        owner = owners.get(resource, machine.id)
        if owner != machine.id:
            raise AlreadyBound(f"part {resource} is machine {owner}'s, not {machine.id}'s")
