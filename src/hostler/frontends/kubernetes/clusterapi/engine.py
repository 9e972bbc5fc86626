"""Engine: how it stands to each machine that Cluster API asked for, and what is asked of it.

What lives is read from the engine's memory; what does not, from the store, each time: an act on the
strength of an absence must not come from an old memory.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.errors import RequestRefused
from hostler.domain.ids import FleetName, MachineId
from hostler.domain.machines.failure import REFUSALS
from hostler.domain.model.machine import Machine, MachineSpec
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.requester import Requester
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.domain.reporting.hosts import HostStatus
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.ports.clock import Clock
from hostler.ports.store import Store
from hostler.queries.live import LiveRecords
from hostler.requests.by_id import MachinesById
from hostler.requests.hosts import adopt_requested
from hostler.requests.recording import refusals

from .acts import Adopt
from .adoptions import adopted_by, adoption
from .names import ACTOR
from .standing import Standing, addresses

_REFUSAL = 60.0
"""Seconds after which a refused request is made again: the fleet may have been changed."""

_REFUSED = frozenset(map(str, REFUSALS.values()))
"""The reasons of events that say why a machine was refused for good."""

_ENDS = frozenset({RequestKind.DELETE, RequestKind.RETIRE})


@dataclass(slots=True, kw_only=True)
class FleetAccess:
    """One fleet: its machines by id, the engine's memory of it, and how the engine is woken.

    `capabilities` are those of its provider, as far as they are known. `current` tells whether the
    memory is of now: that of an engine which does not lead is of when it led last.
    """

    machines: MachinesById
    live: LiveRecords
    hear: Callable[[], None]
    hosts: Callable[[], tuple[HostStatus, ...]] = tuple
    capabilities: Capabilities | None = None
    current: Callable[[], bool] = lambda: True


class _Request(Struct, frozen=True):
    """A request for a machine: its number, and the newest event before it."""

    number: int
    after: int


class _Refused(Struct, frozen=True):
    """Why a request was refused, and until when that counts, in boot time."""

    text: str
    until: float


@dataclass(slots=True)
class EngineAccess:
    """All fleets of the engine of this process. Its store's errors go through.

    `lent` are the fleets of the file of which objects of all namespaces may ask for machines.
    `_adopting` are those that the store was seen to be asked for with a host, and that are not in
    the engine's memory yet: so long it counts that their ends were requested.
    """

    store: Store
    clock: Clock
    namespaces: Namespaces
    lent: Callable[[], Collection[str]] = tuple
    _fleets: Mapping[FleetName, FleetAccess] | None = None
    _living: dict[MachineId, Machine] = field(default_factory=dict[MachineId, Machine])
    _pending: dict[MachineId, _Request] = field(default_factory=dict[MachineId, _Request])
    _refused: dict[MachineId, _Refused] = field(default_factory=dict[MachineId, _Refused])
    _adopting: set[MachineId] = field(default_factory=set[MachineId])

    def attach(self, fleets: Mapping[FleetName, FleetAccess]) -> None:
        """Answer from these fleets from now on: another engine may have begun."""
        self._fleets = fleets

    def changes(self) -> Iterator[MachineId]:
        """Return the machines whose records are others than when this was asked last."""
        now = {machine.id: machine for access in self._read() for machine in self._of(access)}
        before, self._living = self._living, now
        self._adopting -= now.keys()
        for access in self._read():
            known = now.keys() | access.machines.requested.keys() | self._adopting
            access.machines.deleting &= known
        for name, machine in now.items():
            if before.get(name) is not machine:
                yield name
        yield from (name for name in before if name not in now)

    def fleet_of(self, namespace: str, name: str) -> FleetName:
        """Return the fleet that an object of a namespace names.

        It is one of its own namespace, or else one of the file that is lent to all.
        """
        own = FleetName(self.namespaces.name(namespace, name))
        is_there = self.namespaces.is_home(namespace) or own in (self._fleets or {})
        return own if is_there or name not in self.lent() else FleetName(name)

    def concerns(self, machine: Machine, namespace: str) -> bool:
        """Tell whether a machine is any matter of the objects of a namespace.

        It is where one of them asked for it; where nobody is on record as having asked, by its
        fleet. An id in a spec proves nothing: whoever writes an object may write any.
        """
        requester = machine.spec.requester
        if requester is not None and requester.frontend == ACTOR and requester.namespace:
            return requester.namespace == namespace
        return self.namespaces.namespace_of(machine.fleet) == namespace

    async def standing(
        self, fleet: FleetName, machine: MachineId | None, namespace: str
    ) -> Standing:
        """Return how the engine stands to a machine of a fleet, or to none yet, for an object.

        The machine of another namespace's object is none to this one: its id was used up.
        """
        found = await self._standing(fleet, machine)
        if found.machine is None:
            return found
        if not self.concerns(found.machine, namespace):
            return Standing(fleet=found.fleet, issued=True)
        if found.machine.health.refused is None or found.machine.error:
            return found
        return replace(found, words=await self._words(found.machine))

    async def _standing(self, fleet: FleetName, machine: MachineId | None) -> Standing:
        access = (self._fleets or {}).get(fleet)
        if not self._is_known(access):
            return Standing(known=False)
        if machine is None:
            return _of_fleet(access)
        record = self._living.get(machine)
        if record is not None:
            return self._recorded(record)
        return await self._unrecorded(access, machine)

    async def grow(self, fleet: FleetName, machine: MachineId, spec: MachineSpec) -> bool:
        """Ask for a machine; tell whether that was accepted. StoreError: it was not recorded."""
        access = (self._fleets or {}).get(fleet)
        if access is None or access.machines.admit(1).count < 1:
            return False
        after = await self.store.newest_event()
        number = await access.machines.grow_named(machine, spec, "a Machine of Cluster API")
        self._pending[machine] = _Request(number, after)
        access.hear()
        return True

    async def adopt(self, fleet: FleetName, act: Adopt, requester: Requester) -> None:
        """Ask for a host to be taken over, if it is called as was said. StoreError goes through."""
        access = (self._fleets or {}).get(fleet)
        if access is None:
            return
        author = access.machines.author("an imported HostlerMachine")
        try:
            found = adoption(act, access.machines, access.hosts(), await self.store.requests())
            accepted = adopt_requested(author, found, requester)
        except RequestRefused as error:
            self._refused[act.machine] = _Refused(str(error), self.clock.boot() + _REFUSAL)
            return
        after = await self.store.newest_event()
        request = await access.machines.record(accepted)
        self._pending[act.machine] = _Request(request.number, after)
        access.hear()

    async def end(self, fleet: FleetName, machine: MachineId, *, retires: bool) -> None:
        """Ask for the end of a machine, on record or not; RequestRefused, StoreError."""
        record = self._living.get(machine) or await self.store.machine(machine)
        access = (self._fleets or {}).get(record.fleet if record is not None else fleet)
        if access is None:
            return
        why = "its Machine of Cluster API was deleted"
        if retires and record is not None:
            await access.machines.retire(record, why)
        else:
            await access.machines.delete(machine, why=why)
        access.hear()

    def by_id(self) -> Iterator[tuple[FleetAccess, Machine]]:
        """Return the living machines that are asked for by their ids, each with its fleet."""
        for access in self._read():
            if not access.machines.fleet.renews and self._is_known(access):
                yield from ((access, machine) for machine in self._of(access))

    # ------------------------------------------------------------ what is known

    def _read(self) -> Iterator[FleetAccess]:
        yield from (self._fleets or {}).values()

    def _of(self, access: FleetAccess) -> tuple[Machine, ...]:
        return access.machines.machines()

    def _is_known(self, access: FleetAccess | None) -> bool:
        """Tell whether the engine has read what is asked about."""
        if access is None:
            return self._fleets is not None
        read = access.live.row() is not None and access.live.machines() is not None
        return read and access.current()

    def _recorded(self, machine: Machine) -> Standing:
        self._pending.pop(machine.id, None)
        self._refused.pop(machine.id, None)
        access = (self._fleets or {}).get(machine.fleet)
        if access is None:
            return Standing(machine=machine)
        row = access.live.row()
        return Standing(
            fleet=access.machines.fleet,
            machine=machine,
            deleting=machine.id in access.machines.deleting,
            condition=row.condition if row is not None else "",
            provider_id=access.live.provider_id(machine) or "",
            addresses=addresses(machine, access.live.connection(machine)),
        )

    async def _unrecorded(self, access: FleetAccess | None, machine: MachineId) -> Standing:
        if access is not None:
            access.machines.recorded()
            if machine in access.machines.requested:
                deleting = machine in access.machines.deleting
                return Standing(fleet=access.machines.fleet, requested=True, deleting=deleting)
        requests = await self.store.requests()
        if machine in adopted_by(requests):
            return self._adopted(access, machine, requests)
        record = await self.store.machine(machine)
        if record is not None:
            return self._recorded(record)
        self._adopting.discard(machine)
        if access is not None and (number := _grow_of(machine, access, requests)):
            access.machines.requested[machine] = number
            return self._asked_by_another(access, machine, requests)
        if machine in await self.store.issued((machine,)):
            return Standing(fleet=access.machines.fleet if access else None, issued=True)
        return _of_fleet(access, await self._why_refused(machine))

    def _adopted(
        self, access: FleetAccess | None, machine: MachineId, requests: Iterable[Request]
    ) -> Standing:
        """Return how it stands with a host that was asked for, and the engine did not answer yet.

        Whether that one's end was asked for is in the store too: another process may have done it.
        """
        self._adopting.add(machine)
        return self._asked_by_another(access, machine, requests)

    def _asked_by_another(
        self, access: FleetAccess | None, machine: MachineId, requests: Iterable[Request]
    ) -> Standing:
        deleting = any(r.kind in _ENDS and r.machine == machine for r in requests)
        if access is None:
            return Standing(requested=True, deleting=deleting)
        if deleting:
            access.machines.deleting.add(machine)
        return Standing(fleet=access.machines.fleet, requested=True, deleting=deleting)

    async def _words(self, machine: Machine) -> str:
        """Return why a machine was refused for good, as its story has it; empty if forgotten."""
        story = (one.event for one in await self.store.events(machine=machine.id))
        texts = [one.detail for one in story if one.kind == "moved" and one.reason in _REFUSED]
        return texts[-1].partition(": ")[2] if texts else ""

    async def _why_refused(self, machine: MachineId) -> str:
        """Return why the newest request for this machine was refused, for a while."""
        request = self._pending.pop(machine, None)
        if request is not None:
            found = await refusals(self.store, request.after, {request.number})
            until = self.clock.boot() + _REFUSAL
            if text := found.get(request.number):
                self._refused[machine] = _Refused(text, until)
        refused = self._refused.get(machine)
        if refused is None or refused.until <= self.clock.boot():
            self._refused.pop(machine, None)
            return ""
        return refused.text


def _grow_of(machine: MachineId, access: FleetAccess, requests: Iterable[Request]) -> int:
    """Return the number of the request for a machine that no engine granted yet, 0 without one.

    Another process may have made it since this one began, and ended.
    """
    fleet, grown = access.machines.fleet.name, access.machines.row().grown
    asked = (r for r in requests if r.kind is RequestKind.GROW and r.fleet == fleet)
    return next((r.number for r in asked if machine in r.machines and r.number > grown), 0)


def _of_fleet(access: FleetAccess | None, refused: str = "") -> Standing:
    """Return how the engine stands to a machine that it never heard of."""
    if access is None:
        return Standing()
    admission = access.machines.admit(1)
    blocker = "" if admission.count else admission.why
    return Standing(
        fleet=access.machines.fleet,
        capabilities=access.capabilities,
        blocker=blocker,
        refused=refused,
    )


LOOK = timedelta(milliseconds=500)
"""How often the engine's memory is looked at for changes."""
