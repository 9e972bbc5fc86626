"""Renames: carries the records of a fleet that left the file over to the one that takes it over.

Before a cycle decides anything, what is left of a move is done: the row first, which reserves the
serials, then each record by itself, then the old row. A crash in between loses nothing: the next
round goes on with what it finds. Calls in flight of the old fleet end first.
"""

import structlog

from hostler.domain.fleets.renames import Move, finished, joined, with_names
from hostler.domain.hosts.next_calls import moved_events
from hostler.domain.ids import CycleId, FleetName, evolve
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import Fleet, FleetRow, renames
from hostler.ports.store import Fence

from .observe.snapshot import read_all
from .runtime.fleets import FleetChanges
from .runtime.leases import Leases
from .runtime.settings import Ports
from .runtime.state import AccountState

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.renames")


class FleetRenames:
    """Moves the machines of one account from fleet to fleet, where somebody asked for that."""

    def __init__(
        self, ports: Ports, state: AccountState, leases: Leases, fleets: FleetChanges
    ) -> None:
        self._ports, self._state, self._leases, self._fleets = ports, state, leases, fleets

    async def carry_on(self, cycle: CycleId) -> bool:
        """Do what can be done now; tell whether anything of it is left. Conflict: observe again."""
        for taken in await read_all(self._ports, self._state):
            self._fleets.forget(taken)
        left = False
        for fleet in self._state.account.fleets:
            row = self._state.rows.get(fleet.name)  # none of one whose machines were just moved
            if row is not None and row.adopts is not None:
                left = not await self._carry(row, row.adopts, cycle) or left
        await self._rename_hosts(cycle)
        return left

    async def _carry(self, row: FleetRow, source: FleetName, cycle: CycleId) -> bool:
        """Bring one move to its end; False where it has to wait."""
        tenure = self._leases.tenure(f"fleet/{row.name}")
        if tenure is None or self._fleets.in_flight.tasks.get(source):
            return False
        before, known = self._leases.tenure(f"fleet/{source}"), self._known(source)
        if known is not None and known.removed and before is None:
            return False
        move = Move(
            source=source,
            fleet=row.name,
            now=self._ports.clock.now(),
            cycle=cycle,
            epoch=before.epoch if before else None,
            took=before.took if before else None,
        )
        if known is not None and not known.removed:
            text = f"{source} is in the file again: what it still has stays there"
        else:
            text = f"it has the machines of {source}"
            row = await self._take(row, move, tenure.fence)
            self._fleets.forget(source)
            self._state.rows.pop(source, None)
        await self._save(finished(row), tenure.fence, move.events_of(row.name, text))
        log.info("fleet renamed", fleet=row.name, source=source, detail=text, cycle=cycle)
        return True

    def _known(self, name: FleetName) -> Fleet | None:
        return next((one for one in self._state.account.fleets if one.name == name), None)

    async def _take(self, row: FleetRow, move: Move, fence: Fence) -> FleetRow:
        """Move the machines, one save each, and then remove the old row; return the new one."""
        store = self._ports.store
        stored = {one.name: one for one in await store.fleets()}
        machines = await store.machines(move.source)
        old = stored.get(move.source)
        wanted = joined(row, old) if old is not None else row
        wanted = evolve(wanted, serial=row.serial + len(machines))
        saved = await self._save(wanted, fence) if wanted is not row else row
        for serial, machine in enumerate(machines, start=row.serial + 1):
            taken, events = move.moved(machine, serial)
            self._state.keep(await store.save_machine(taken, events, fence))
        if old is not None:
            text = f"it goes on as fleet {move.fleet}"
            await store.remove_fleet(old, move.events_of(old.name, text), fence)
        return saved

    async def _save(self, row: FleetRow, fence: Fence, events: tuple[Event, ...] = ()) -> FleetRow:
        saved = await self._ports.store.save_fleet(row, (), events, fence)
        self._state.rows[row.name] = saved
        return saved

    async def _rename_hosts(self, cycle: CycleId) -> None:
        """Let hosts name their fleets as they are called now; those with calls in flight wait."""
        state = self._state
        tenure = self._leases.tenure(f"account/{state.account.name}")
        renamed = renames(state.account.fleets, state.rows)
        if not renamed or state.keeps is None or tenure is None:
            return
        records = state.host_records
        await records.refresh(self._ports.store)
        for host in tuple(records.hosts.values()):
            named = with_names(host, renamed)
            if named is not host and host.id not in records.moving:
                events = moved_events(host, named, cycle, self._ports.clock.now())
                await records.keep(self._ports.store, named, tenure.fence, events)
