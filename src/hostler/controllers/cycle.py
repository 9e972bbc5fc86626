"""Turn: one pass for one fleet: gather what was seen, decide, and carry the commands out."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import assert_never

import structlog

from hostler.domain.decide import decide
from hostler.domain.decision_cache import LONGEST, Rests
from hostler.domain.errors import Fenced, StoreError
from hostler.domain.hosts.next_calls import moved_events
from hostler.domain.ids import MachineId
from hostler.domain.model.commands import (
    Decision,
    Event,
    KeepHost,
    KeepLedger,
    KeepRow,
    Loose,
    OrderHosts,
    Reclaim,
    Take,
    Tend,
)
from hostler.domain.model.fleet import WELL
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine, Offer
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.snapshot import Seen
from hostler.domain.observation.blockers import world_is_right, zone_is_known

from .observe.snapshot import Occasion, gather
from .runtime.leases import Tenure
from .runtime.settings import Ports
from .runtime.state import AccountState, Steadiness

_LOOKS_AT_REST = 4
"""However seldom looks come, what rests is believed for so many of them."""

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.turn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    """What came of a turn: what was seen and decided, and the machines to be worked on."""

    seen: Seen
    decision: Decision
    tends: tuple[Tend, ...] = ()
    reclaims: tuple[Reclaim, ...] = ()
    order: OrderHosts | None = None


@dataclass(slots=True)
class Todo:
    """A decision's commands by their kind, in the order in which they were given."""

    row: KeepRow | None = None
    tends: list[Tend] = field(default_factory=list[Tend])
    ledgers: list[KeepLedger] = field(default_factory=list[KeepLedger])
    reclaims: list[Reclaim] = field(default_factory=list[Reclaim])
    takes: list[Take] = field(default_factory=list[Take])
    loose: list[Loose] = field(default_factory=list[Loose])
    hosts: list[KeepHost] = field(default_factory=list[KeepHost])
    order: OrderHosts | None = None


def _sorted(decision: Decision) -> Todo:
    todo = Todo()
    for command in decision.commands:
        match command:
            case KeepRow():
                todo.row = command
            case Tend():
                todo.tends.append(command)
            case KeepLedger():
                todo.ledgers.append(command)
            case Reclaim():
                todo.reclaims.append(command)
            case Take():
                todo.takes.append(command)
            case Loose():
                todo.loose.append(command)
            case KeepHost():
                todo.hosts.append(command)
            case OrderHosts():
                todo.order = command
            case _:
                assert_never(command)
    return todo


class Turner:
    """Takes the turns of one account's fleets."""

    def __init__(
        self, ports: Ports, state: AccountState, steadiness: Steadiness, quiet: timedelta
    ) -> None:
        self._ports, self._state, self._steadiness = ports, state, steadiness
        self._longest = max(LONGEST, _LOOKS_AT_REST * quiet)

    async def turn(self, occasion: Occasion) -> Turned:
        """Gather, decide, record. A save that fails drops its machine from this turn, no more."""
        fleet, tenure, number = occasion.fleet, occasion.tenure, occasion.turn
        seen = await gather(self._ports, self._state, occasion, self._steadiness)
        self._state.world[fleet.name] = world_is_right(seen)
        rests = self._state.rests.setdefault(fleet.name, Rests(longest=self._longest))
        decision = decide(seen, self._state.account.provider, rests)
        self._state.recalled -= {machine.id for machine in seen.machines}
        self._state.recalled |= set(decision.recalled)
        for alarm in decision.alarms:
            self._ports.meters.illegal()
            log.error("illegal move", what=alarm, turn=number)
        turned = await self._apply(seen, decision, tenure)
        self._ports.meters.machines(fleet.name, self._state.living(fleet.name))
        self._note_hosts(seen, decision)
        return turned

    def _note_hosts(self, seen: Seen, decision: Decision) -> None:
        """Note whether the ledger is up to date, and how many hosts the fleet lacks."""
        if not seen.traits.hosts:
            return
        if all(zone_is_known(seen, offer) for offer in seen.fleet.offers):
            self._ports.meters.swept(seen.fleet.name, seen.now)
        starved = decision.condition.startswith(Reason.NO_AVAILABLE_HOST)
        wanted = sum(machine.wanted for machine in self._state.living(seen.fleet.name))
        missing = max(0, seen.row.wished(seen.fleet) - wanted) if starved else 0
        self._state.missing[seen.fleet.name] = missing
        self._ports.meters.starved(seen.fleet.name, missing)
        known = self._state.rows.get(seen.fleet.name, seen.row).revision
        broken = max(1, len(known.failed)) if known.broken is not None else 0
        self._ports.meters.outfit(seen.fleet.name, broken)

    async def _apply(self, seen: Seen, decision: Decision, tenure: Tenure) -> Turned:
        """Save the row, then each machine by itself, then new machines, then take the wishes.

        New machines come last, and only if every save before them stands: so at no moment do the
        records hold more than is wanted. Ties come before the machines that have them, and are
        loosened after those that have them no longer.
        """
        todo = _sorted(decision)
        late = _inserts_alone(todo.row, decision) if todo.row is not None else None
        if todo.row is not None:
            now = _row_alone(todo.row) if late else todo.row
            await self._keep_row(now, seen, tenure)
        for command in todo.hosts:
            await self._keep_host(command.host, seen, tenure)
        untaken = {t.machine for t in todo.takes if not await self._take(t, seen, tenure)}
        tends = [tend for tend in todo.tends if tend.machine.id not in untaken]
        kept = await self._keep_machines(tends, tenure)
        lost = {tend.machine.id for tend in todo.tends} - kept.keys()
        for ledger in todo.ledgers:
            self._state.unread = True
            await self._ports.store.save_suspects(ledger.suspects, ledger.cleared, tenure.fence)
        await self._loosen([tie for tie in todo.loose if tie.machine in kept], tenure)
        if late is not None and not lost:
            stored = self._state.rows[late.row.name]
            row = replace(stored, creations=late.row.creations)
            await self._keep_row(replace(late, row=row), seen, tenure)
        await self._take_wishes(seen, lost, tenure)
        worked = (replace(t, machine=kept[t.machine.id]) for t in tends if t.machine.id in kept)
        alive = tuple(tend for tend in worked if tend.machine.phase is not Phase.GONE)
        return Turned(
            seen=seen,
            decision=decision,
            tends=alive,
            reclaims=tuple(todo.reclaims),
            order=todo.order,
        )

    async def _keep_host(self, host: Host, seen: Seen, tenure: Tenure) -> None:
        stable = self._state.stable
        told = moved_events(stable.hosts.get(host.id), host, seen.turn, seen.now)
        await stable.keep(self._ports.store, host, tenure.fence, told)

    async def _loosen(self, ties: Sequence[Loose], tenure: Tenure) -> None:
        stable = self._state.stable
        for tie in ties:
            await stable.loosen(self._ports.store, tie.host, tie.machine, tenure.fence)

    async def _take(self, command: Take, seen: Seen, tenure: Tenure) -> bool:
        """Tie a host to a machine; False where somebody was faster, so look again."""
        stable = self._state.stable
        try:
            await stable.take(self._ports.store, command.host, command.machine, tenure.fence)
        except Fenced:
            raise
        except StoreError as error:
            log.info("host not taken", host=command.host.id, error=str(error))
            self._state.stale.add(seen.fleet.name)
            return False
        return True

    async def _keep_row(self, command: KeepRow, seen: Seen, tenure: Tenure) -> None:
        """Save the fleet's row with its new machines; a conflict ends the turn."""
        if command.installations:
            await self._ports.store.adopt(command.installations, tenure.fence)
        born = tuple(
            self._born(command, offer, place, seen) for place, offer in enumerate(command.inserts)
        )
        adopted = tuple(
            replace(machine, serial=command.row.serial + len(born) + place)
            for place, machine in enumerate(command.adopted, start=1)
        )
        inserts = (*born, *adopted)
        row = replace(command.row, serial=command.row.serial + len(inserts))
        events = (*command.events, *(_made(machine, seen) for machine in inserts))
        stored = await self._ports.store.save_fleet(row, inserts, events, tenure.fence)
        self._state.rows[row.name] = stored
        for machine in inserts:
            self._state.keep(replace(machine, version=1))
        for event in events:
            self._say(event)

    def _born(self, command: KeepRow, offer: Offer, place: int, seen: Seen) -> Machine:
        row, named = command.row, command.named
        return Machine(
            id=named[place] if place < len(named) else self._ports.fresh(),
            fleet=row.name,
            serial=row.serial + place + 1,
            created=seen.now,
            since=seen.now,
            phase=Phase.WANTED,
            offer=offer,
            reason=str(Reason.MADE),
            template=seen.fleet.template,
        )

    async def _keep_machines(
        self, tends: Sequence[Tend], tenure: Tenure
    ) -> dict[MachineId, Machine]:
        """Save records side by side, so that they share the store's waits; return those kept."""
        changed = [tend for tend in tends if tend.changed]
        kept = {tend.machine.id: tend.machine for tend in tends if not tend.changed}
        stored = await asyncio.gather(
            *(self._keep_machine(tend, tenure) for tend in changed), return_exceptions=True
        )
        for machine in stored:
            if isinstance(machine, BaseException):
                raise machine
            if machine is not None:
                kept[machine.id] = machine
        return kept

    async def _keep_machine(self, tend: Tend, tenure: Tenure) -> Machine | None:
        """Save one record; None where it could not be saved: somebody was faster, so look again."""
        try:
            stored = await self._ports.store.save_machine(tend.machine, tend.events, tenure.fence)
        except Fenced:
            raise
        except StoreError as error:
            log.warning("record not saved", machine=tend.machine.id, error=str(error))
            self._state.stale.add(tend.machine.fleet)
            return None
        self._state.keep(stored)
        for event in tend.events:
            self._say(event)
        return stored

    async def _take_wishes(self, seen: Seen, lost: set[MachineId], tenure: Tenure) -> None:
        taken = tuple(wish.number for wish in seen.wishes if wish.machine not in lost)
        if taken:
            self._state.taken |= frozenset(taken)
            await self._ports.store.take_wishes(taken, tenure.fence)
            self._state.wishes = tuple(w for w in self._state.wishes if w.number not in taken)

    def _say(self, event: Event) -> None:
        """Log an event, one line per decision, and count moves and alarms."""
        log.log(
            gravity(event),
            event.kind,
            fleet=event.fleet,
            machine=event.machine,
            reason=event.reason,
            detail=event.detail,
            turn=event.turn,
        )
        if event.kind == "moved":
            before, after = event.detail.split(":", 1)[0].split(">")
            self._ports.meters.moved(event.fleet, before, after, event.reason)
        if event.kind == "alarm":
            self._ports.meters.alarmed(event.fleet, event.reason)


_ODD = frozenset({Reason.RELEASE_SKIPPED, Reason.HOST_TAKEN})
"""The ends of machines that leave a host as it is, and on the bill."""


def gravity(event: Event) -> int:
    """Return how grave an event is: what somebody has to do is a warning, an alarm an error."""
    if event.kind == "alarm":
        return logging.ERROR
    blocked = event.kind == "condition" and event.reason != WELL
    return logging.WARNING if blocked or event.kind in _ODD else logging.INFO


def _inserts_alone(command: KeepRow, decision: Decision) -> KeepRow | None:
    """Return the inserts to be saved after the machines; None where no machine is saved.

    Those that were wished by name are saved with the row, which says that the wish was granted.
    """
    changed = any(isinstance(other, Tend) and other.changed for other in decision.commands)
    if not command.inserts or command.named or not changed:
        return None
    return replace(command, adopted=(), installations=(), events=(), wishes=())


def _row_alone(command: KeepRow) -> KeepRow:
    """Return the row without its inserts: attempts that are not made yet are not counted."""
    times = command.row.creations
    row = replace(command.row, creations=times[: len(times) - len(command.inserts)])
    return replace(command, inserts=(), row=row)


def _made(machine: Machine, seen: Seen) -> Event:
    return Event(
        kind="made",
        at=seen.now,
        fleet=machine.fleet,
        turn=seen.turn,
        machine=machine.id,
        reason=machine.reason,
        detail=str(machine.offer),
    )
