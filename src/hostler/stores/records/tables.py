"""Tables: all records of an installation in memory; each change can be undone."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TypeVar, assert_never

from hostler.domain.ids import FleetName, HostId, MachineId, ResourceId
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Orphan, Request
from hostler.ports.engine_record import EngineRecord
from hostler.ports.store import Identity, Lease, StoredEvent

from . import changes as put
from .claims import claims
from .past import Past

_IDS = 10_000
"""Ids in one change: a store may have to write each change into an object of limited size."""

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class Tables:
    """The records, for whoever reads; `apply` is the only way to change them."""

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self.engine: EngineRecord | None = None
        self.fleets = dict[FleetName, FleetRow]()
        self.living = dict[FleetName, dict[MachineId, Machine]]()
        self.history = dict[MachineId, Machine]()
        self.owners = dict[ResourceId, MachineId]()
        self.issued = set[MachineId]()
        self.past = Past()
        self.forgotten: datetime | None = None
        self.forgotten_spent = dict[FleetName, float]()
        self.hosts = dict[HostId, Host]()
        self.bindings = dict[HostId, MachineId]()
        self.orphans = dict[ResourceId, Orphan]()
        self.requests = dict[int, Request]()
        self.leases = dict[str, Lease]()
        self.last_event = 0
        self.last_request = 0
        self.commits = dict[str, int]()
        self._fleet_of = dict[MachineId, FleetName]()

    def find(self, machine: MachineId) -> Machine | None:
        """Return a machine, living or in the history."""
        fleet = self._fleet_of.get(machine)
        return self.history.get(machine) if fleet is None else self.living[fleet][machine]

    def apply(self, change: put.Change) -> tuple[put.Change, ...]:  # noqa: C901, PLR0911, PLR0912 - one case a kind of change
        """Make a change; return those that take it back."""
        match change:
            case put.IdentityPut():
                before, self.identity = self.identity, change.identity
                return (put.IdentityPut(before),)
            case put.EnginePut():
                record, self.engine = self.engine, change.record
                return (put.EnginePut(record),)
            case put.FleetPut():
                name = FleetName(change.name)
                return (put.FleetPut(name, _swap(self.fleets, name, change.row)),)
            case put.MachinePut():
                return (put.MachinePut(change.id, self._put_machine(change.id, change.machine)),)
            case put.IssuedPut():
                return self._issue(change)
            case put.EventPut():
                image = self._image(change) if change.imaged else change.image
                self.past.add(StoredEvent(number=change.number, event=change.event, image=image))
                return (put.EventsRemoved((change.number,)),)
            case put.EventsRemoved():
                removed = self.past.remove(change.numbers)
                return tuple(put.EventPut(one.number, one.event, one.image) for one in removed)
            case put.ForgottenPut():
                before = put.ForgottenPut(self.forgotten, self.forgotten_spent)
                self.forgotten, self.forgotten_spent = change.before, change.spent
                return (before,)
            case put.HostPut():
                return (put.HostPut(change.id, _swap(self.hosts, change.id, change.host)),)
            case put.BindingPut():
                machine = _swap(self.bindings, change.host, change.machine)
                return (put.BindingPut(change.host, machine),)
            case put.OrphanPut():
                orphan = _swap(self.orphans, change.resource, change.orphan)
                return (put.OrphanPut(change.resource, orphan),)
            case put.RequestPut():
                request = _swap(self.requests, change.number, change.request)
                return (put.RequestPut(change.number, request),)
            case put.LeasePut():
                return (put.LeasePut(change.name, _swap(self.leases, change.name, change.lease)),)
            case put.CountersPut():
                counters = put.CountersPut(self.last_event, self.last_request)
                self.last_event, self.last_request = change.event, change.request
                return (counters,)
            case put.CommitPut():
                number = self.commits.pop(change.writer, None)  # the newest comes last
                _swap(self.commits, change.writer, change.number)
                return (put.CommitPut(change.writer, number),)
        assert_never(change)

    def all_but_past(self) -> Iterator[put.Change]:
        """Return changes that make these records anew, but for the events."""
        yield put.IdentityPut(self.identity)
        yield put.EnginePut(self.engine)
        yield put.CountersPut(self.last_event, self.last_request)
        yield put.ForgottenPut(self.forgotten, self.forgotten_spent)
        yield from _each(self.commits, put.CommitPut)
        yield from _each(self.leases, put.LeasePut)
        yield from _each(self.fleets, put.FleetPut)
        yield from _each(self.history, put.MachinePut)
        for fleet in self.living.values():
            yield from _each(fleet, put.MachinePut)
        yield from _each(self.hosts, put.HostPut)
        yield from _each(self.bindings, put.BindingPut)
        yield from _each(self.orphans, put.OrphanPut)
        yield from _each(self.requests, put.RequestPut)
        issued = sorted(self.issued)
        for start in range(0, len(issued), _IDS):
            yield put.IssuedPut(tuple(issued[start : start + _IDS]))

    def _image(self, change: put.EventPut) -> Machine | None:
        machine = change.event.machine
        return self.find(machine) if machine else None

    def _issue(self, change: put.IssuedPut) -> tuple[put.Change, ...]:
        if change.present:
            new = tuple(one for one in change.ids if one not in self.issued)
            self.issued.update(new)
            return (put.IssuedPut(new, present=False),) if new else ()
        self.issued.difference_update(change.ids)
        return (put.IssuedPut(change.ids),)

    def _put_machine(self, id_: MachineId, machine: Machine | None) -> Machine | None:
        before = self.find(id_)
        if before is not None:
            self._drop(before)
        if machine is None:
            return before
        if machine.phase is Phase.DELETED:
            self.history[id_] = machine
            return before
        self.living.setdefault(machine.fleet, {})[id_] = machine
        self._fleet_of[id_] = machine.fleet
        self.owners |= dict.fromkeys(claims(machine), id_)
        return before

    def _drop(self, machine: Machine) -> None:
        self.history.pop(machine.id, None)
        if self._fleet_of.pop(machine.id, None) is not None:
            del self.living[machine.fleet][machine.id]
        for resource in claims(machine):
            self.owners.pop(resource)


def _swap(table: dict[KeyT, ValueT], key: KeyT, value: ValueT | None) -> ValueT | None:
    """Put a value, or remove it; return the one before."""
    before = table.get(key)
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value
    return before


def _each(
    table: dict[KeyT, ValueT], change: Callable[[KeyT, ValueT], put.Change]
) -> Iterator[put.Change]:
    return (change(key, value) for key, value in table.items())
