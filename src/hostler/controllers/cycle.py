"""Cycle: one pass for one fleet: gather what was seen, decide, and carry the commands out."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import assert_never

import structlog
from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.decide import decide
from hostler.domain.decision.cache import LONGEST, DecisionCache
from hostler.domain.decision.view import view_of
from hostler.domain.errors import Fenced, StoreError, StoreUnusable
from hostler.domain.hosts.next_calls import moved_events
from hostler.domain.ids import MachineId
from hostler.domain.machines.failure import loses_many
from hostler.domain.model.commands import (
    Advance,
    Bind,
    Decision,
    Event,
    OrderHosts,
    Reclaim,
    SaveFleet,
    SaveHost,
    SaveOrphans,
    Unbind,
)
from hostler.domain.model.fleet import WELL, Fleet
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine, MachineSpec, Offer
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.observation.blockers import world_is_right, zone_is_known
from hostler.ports.metrics import Count

from .observe.snapshot import Occasion, gather
from .runtime.leases import Tenure
from .runtime.measurements import measure_fleet, measure_host_needs, measure_report
from .runtime.settings import Ports
from .runtime.state import AccountState, Steadiness

_OBSERVATIONS_AT_REST = 4
"""However seldom observations come, what needs nothing is believed for so many of them."""

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.cycle")


class Reconciled(Struct, frozen=True, kw_only=True):
    """What came of a cycle: what was seen and decided, and the machines to be worked on.

    It goes on where machines were `made` or got hosts: what comes next for those may begin.
    """

    snapshot: Snapshot
    decision: Decision
    advances: tuple[Advance, ...] = ()
    reclaims: tuple[Reclaim, ...] = ()
    order: OrderHosts | None = None
    made: bool = False
    goes_on: bool = False


@dataclass(slots=True)
class Todo:
    """A decision's commands by their kind, in the order in which they were given."""

    row: SaveFleet | None = None
    advances: list[Advance] = field(default_factory=list[Advance])
    ledgers: list[SaveOrphans] = field(default_factory=list[SaveOrphans])
    reclaims: list[Reclaim] = field(default_factory=list[Reclaim])
    binds: list[Bind] = field(default_factory=list[Bind])
    unbind: list[Unbind] = field(default_factory=list[Unbind])
    hosts: list[SaveHost] = field(default_factory=list[SaveHost])
    order: OrderHosts | None = None


def _sorted(decision: Decision) -> Todo:
    todo = Todo()
    for command in decision.commands:
        match command:
            case SaveFleet():
                todo.row = command
            case Advance():
                todo.advances.append(command)
            case SaveOrphans():
                todo.ledgers.append(command)
            case Reclaim():
                todo.reclaims.append(command)
            case Bind():
                todo.binds.append(command)
            case Unbind():
                todo.unbind.append(command)
            case SaveHost():
                todo.hosts.append(command)
            case OrderHosts():
                todo.order = command
            case _:
                assert_never(command)
    return todo


class Reconciler:
    """Takes the cycles of one account's fleets."""

    def __init__(
        self, ports: Ports, state: AccountState, steadiness: Steadiness, quiet: timedelta
    ) -> None:
        self._ports, self._state, self._steadiness = ports, state, steadiness
        self._longest = max(LONGEST, _OBSERVATIONS_AT_REST * quiet)

    async def reconcile(self, fleet: Fleet, occasion: Occasion) -> Reconciled:
        """Gather, decide, record. A save that fails drops its machine from this cycle, no more."""
        tenure, number = occasion.tenure, occasion.cycle
        account = await gather(self._ports, self._state, occasion, self._steadiness)
        snapshot = view_of(account, fleet, self._state.terms(fleet.name))
        self._state.world[fleet.name] = world_is_right(snapshot)
        self._state.wave[fleet.name] = loses_many(snapshot.machines, snapshot.row, snapshot)
        cache = self._state.cache.setdefault(fleet.name, DecisionCache(longest=self._longest))
        decision = decide(snapshot, self._state.account.provider, cache)
        self._state.recalled -= {machine.id for machine in snapshot.machines}
        self._state.recalled |= set(decision.recalled)
        self._state.provable[snapshot.fleet.name] = decision.provable
        for alarm in decision.alarms:
            self._ports.metrics.count(Count.ILLEGAL_MOVES)
            log.error("illegal move", what=alarm, cycle=number)
        reconciled = await self._apply(snapshot, decision, tenure)
        measure_fleet(self._ports.metrics, fleet, self._state)
        self._note_hosts(snapshot, decision)
        return reconciled

    def _note_hosts(self, snapshot: Snapshot, decision: Decision) -> None:
        """Note whether the orphan report is up to date, and how many hosts the fleet lacks."""
        if all(zone_is_known(snapshot, offer) for offer in snapshot.fleet.offers):
            measure_report(self._ports.metrics, snapshot.fleet.name, snapshot.now)
        if not snapshot.capabilities.hosts:
            return
        starved = decision.condition.startswith(Reason.NO_AVAILABLE_HOST)
        wanted = sum(machine.wanted for machine in self._state.living(snapshot.fleet.name))
        missing = max(0, snapshot.row.desired(snapshot.fleet) - wanted) if starved else 0
        self._state.missing[snapshot.fleet.name] = missing
        known = self._state.rows.get(snapshot.fleet.name, snapshot.row).revision
        broken = max(1, len(known.failed)) if known.broken is not None else 0
        name = snapshot.fleet.name
        measure_host_needs(self._ports.metrics, name, missing=missing, broken=broken)

    async def _apply(self, snapshot: Snapshot, decision: Decision, tenure: Tenure) -> Reconciled:
        """Save the row, then each machine by itself, then new machines, then take the requests.

        New machines come last, and only if every save before them stands: so at no moment do the
        records hold more than is wanted. Bindings come before the machines that have them, and are
        unbound after those that have them no longer.
        """
        todo = _sorted(decision)
        late = _inserts_alone(todo.row, decision) if todo.row is not None else None
        if todo.row is not None:
            now = _row_alone(todo.row) if late else todo.row
            await self._save_fleet(now, snapshot, tenure)
        for command in todo.hosts:
            await self._save_host(command.host, snapshot, tenure)
        untaken = {t.machine for t in todo.binds if not await self._take(t, snapshot, tenure)}
        advances = [advance for advance in todo.advances if advance.machine.id not in untaken]
        saved = await self._save_machines(advances, tenure)
        lost = {advance.machine.id for advance in todo.advances} - saved.keys()
        for orphan_report in todo.ledgers:
            self._state.unread = True
            await self._ports.store.save_orphans(
                orphan_report.orphans, orphan_report.cleared, tenure.fence
            )
        await self._unbind([one for one in todo.unbind if one.machine not in lost], tenure)
        if late is not None and not lost:
            stored = self._state.rows[late.row.name]
            row = replace(stored, creations=late.row.creations)
            await self._save_fleet(replace(late, row=row), snapshot, tenure)
        await self._take_requests(snapshot, lost, tenure)
        worked = (
            replace(t, machine=saved[t.machine.id]) for t in advances if t.machine.id in saved
        )
        alive = tuple(advance for advance in worked if advance.machine.phase is not Phase.DELETED)
        made = todo.row is not None and bool(todo.row.inserts) and not (late and lost)
        return Reconciled(
            snapshot=snapshot,
            decision=decision,
            advances=alive,
            reclaims=tuple(todo.reclaims),
            order=todo.order,
            made=made,
            goes_on=made or len(untaken) < len(todo.binds),
        )

    async def _save_host(self, host: Host, snapshot: Snapshot, tenure: Tenure) -> None:
        host_records = self._state.host_records
        events = moved_events(host_records.hosts.get(host.id), host, snapshot.cycle, snapshot.now)
        await host_records.keep(self._ports.store, host, tenure.fence, events)

    async def _unbind(self, bindings: Sequence[Unbind], tenure: Tenure) -> None:
        host_records = self._state.host_records
        for binding in bindings:
            await host_records.unbind(
                self._ports.store, binding.host, binding.machine, tenure.fence
            )

    async def _take(self, command: Bind, snapshot: Snapshot, tenure: Tenure) -> bool:
        """Bind a host to a machine; False where somebody was faster: observe again."""
        host_records = self._state.host_records
        try:
            await host_records.take(self._ports.store, command.host, command.machine, tenure.fence)
        except (Fenced, StoreUnusable):
            raise
        except StoreError as error:
            log.info("host not taken", host=command.host.id, error=str(error))
            self._state.stale.add(snapshot.fleet.name)
            return False
        return True

    async def _save_fleet(self, command: SaveFleet, snapshot: Snapshot, tenure: Tenure) -> None:
        """Save the fleet's row with its new machines; a conflict ends the cycle."""
        if command.installations:
            await self._ports.store.adopt(command.installations, tenure.fence)
        born = tuple(
            self._born(command, offer, place, snapshot)
            for place, offer in enumerate(command.inserts)
        )
        adopted = tuple(
            replace(machine, serial=command.row.serial + len(born) + place)
            for place, machine in enumerate(command.adopted, start=1)
        )
        inserts = (*born, *adopted)
        row = replace(command.row, serial=command.row.serial + len(inserts))
        events = (*command.events, *(_made(machine, snapshot) for machine in inserts))
        stored = await self._ports.store.save_fleet(row, inserts, events, tenure.fence)
        for machine in inserts:
            self._state.keep(replace(machine, version=1))
        self._state.rows[row.name] = stored  # after what it grants: another thread may look
        for event in events:
            self._say(event)

    def _born(self, command: SaveFleet, offer: Offer, place: int, snapshot: Snapshot) -> Machine:
        row, named = command.row, command.named
        spec = command.specs[place] if place < len(command.specs) else MachineSpec()
        return Machine(
            id=named[place] if place < len(named) else self._ports.fresh(),
            fleet=row.name,
            serial=row.serial + place + 1,
            created=snapshot.now,
            since=snapshot.now,
            phase=Phase.PENDING,
            offer=offer,
            reason=str(Reason.MADE),
            template=spec.template or snapshot.fleet.template,
            spec=spec,
        )

    async def _save_machines(
        self, advances: Sequence[Advance], tenure: Tenure
    ) -> dict[MachineId, Machine]:
        """Save records side by side, so that they share the store's waits; return those kept."""
        changed = [advance for advance in advances if advance.changed]
        saved = {advance.machine.id: advance.machine for advance in advances if not advance.changed}
        stored = await asyncio.gather(
            *(self._save_machine(advance, tenure) for advance in changed), return_exceptions=True
        )
        for machine in stored:
            if isinstance(machine, BaseException):
                raise machine
            if machine is not None:
                saved[machine.id] = machine
        return saved

    async def _save_machine(self, advance: Advance, tenure: Tenure) -> Machine | None:
        """Save one record; None where it could not be saved: somebody was faster."""
        try:
            stored = await self._ports.store.save_machine(
                advance.machine, advance.events, tenure.fence
            )
        except (Fenced, StoreUnusable):
            raise
        except StoreError as error:
            log.warning("record not saved", machine=advance.machine.id, error=str(error))
            self._state.stale.add(advance.machine.fleet)
            return None
        self._state.keep(stored)
        for event in advance.events:
            self._say(event)
        return stored

    async def _take_requests(
        self, snapshot: Snapshot, lost: set[MachineId], tenure: Tenure
    ) -> None:
        """Take out what was answered, of former cycles too: what a store refused is tried again.

        It is not answered once more: a later request may have undone by then what it came to.
        """
        state = self._state
        taken = {request.number for request in snapshot.requests if request.machine not in lost}
        state.taken |= taken
        state.answered |= taken
        state.requests = tuple(w for w in state.requests if w.number not in taken)
        if due := state.answered:
            await self._ports.store.take_requests(tuple(sorted(due)), tenure.fence)
            state.answered -= due

    def _say(self, event: Event) -> None:
        """Log an event, one line per decision, and count moves and alarms."""
        log.log(
            gravity(event),
            event.kind,
            fleet=event.fleet,
            machine=event.machine,
            reason=event.reason,
            detail=event.detail,
            cycle=event.cycle,
        )
        if event.kind == "moved":
            before, after = event.detail.split(":", 1)[0].split(">")
            self._ports.metrics.count(Count.TRANSITIONS, event.fleet, before, after, event.reason)
        if event.kind == "alarm":
            self._ports.metrics.count(Count.ALARMS, event.fleet, event.reason)


_ODD = frozenset({Reason.RELEASE_SKIPPED, Reason.HOST_TAKEN})
"""The ends of machines that leave a host as it is, and on the bill."""


def gravity(event: Event) -> int:
    """Return how grave an event is: what somebody has to do is a warning, an alarm an error."""
    if event.kind == "alarm":
        return logging.ERROR
    blocked = event.kind == "condition" and event.reason != WELL
    odd = blocked or event.kind == "drift" or event.kind in _ODD
    return logging.WARNING if odd else logging.INFO


def _inserts_alone(command: SaveFleet, decision: Decision) -> SaveFleet | None:
    """Return the inserts to be saved after the machines; None where no machine is saved.

    Those that were asked for by name are saved with the row, which says that the request was
    granted.
    """
    changed = any(isinstance(other, Advance) and other.changed for other in decision.commands)
    if not command.inserts or command.named or not changed:
        return None
    return replace(command, adopted=(), installations=(), events=(), requests=())


def _row_alone(command: SaveFleet) -> SaveFleet:
    """Return the row without its inserts: attempts that are not made yet are not counted."""
    times = command.row.creations
    row = replace(command.row, creations=times[: len(times) - len(command.inserts)])
    return replace(command, inserts=(), row=row)


def _made(machine: Machine, snapshot: Snapshot) -> Event:
    return Event(
        kind="made",
        at=snapshot.now,
        fleet=machine.fleet,
        cycle=snapshot.cycle,
        machine=machine.id,
        reason=machine.reason,
        detail=str(machine.offer),
    )
