"""By id: the machines of a fleet whose user counts them by their ids: recorded, or only requested.

A request is durable before its user is answered, and on record as machines a moment later. Until
then the ids count here: nothing is requested twice, and nothing that was accepted is missing.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from hostler.domain.errors import StoreError
from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.machine import Machine, MachineSpec
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.ports.clock import Clock
from hostler.ports.store import Store

from .capacity import Admission, Occupancy, admit
from .fleets import grow
from .machines import delete_unrecorded, retire
from .recording import Accepted, Author, record

_UNANSWERED = 1 << 62
"""The number of a request while it is being recorded: none that was granted is as high."""


class Live(Protocol):
    """What the engine of this process has on record of the fleet; it answers at once."""

    def row(self) -> FleetRow | None:
        """Return the fleet's row, or None until the engine has read it."""
        ...

    def machines(self) -> tuple[Machine, ...] | None:
        """Return the living machines, or None until the engine has read them."""
        ...

    def creation_blocker(self) -> str:
        """Return why nothing may be created in this fleet at all now; empty where it may."""
        ...


@dataclass(slots=True, kw_only=True)
class MachinesById:
    """A fleet's machines, and what was requested of them by id.

    `first_row` and `first_machines` are the records of before the engine read them; `requested` are
    those that are not on record yet, each with the number of its request; `deleting` are those
    whose deletion was requested. `actor` is who asks, and `fresh` makes new machine ids.
    """

    fleet: Fleet
    live: Live
    store: Store
    clock: Clock
    actor: str
    fresh: Callable[[], MachineId]
    first_row: FleetRow
    first_machines: tuple[Machine, ...]
    requested: dict[MachineId, int] = field(default_factory=dict[MachineId, int])
    deleting: set[MachineId] = field(default_factory=set[MachineId])

    def machines(self) -> tuple[Machine, ...]:
        """Return the living records: those of the engine once it has read them, else the store's.

        Callable from another thread than the engine's.
        """
        live = self.live.machines()
        return self.first_machines if live is None else live

    def row(self) -> FleetRow:
        """Return the fleet's row as the engine has it, or as it was read at first."""
        return self.live.row() or self.first_row

    def recorded(self) -> tuple[Machine, ...]:
        """Return the living records, once the ids are forgotten that these have instead.

        Each id is in one of both at any moment, also where the engine writes meanwhile, in another
        thread: it writes a row that has granted a request after the machines of it, and it is read
        before them. Callable from another thread than the engine's.
        """
        row = self.row()
        machines = self.machines()
        if not self.requested:
            return machines
        known = {machine.id for machine in machines}
        for machine, number in tuple(self.requested.items()):
            if machine in known or number <= row.grown:
                self.requested.pop(machine, None)
        return machines

    def admit(self, count: int, *, whole: bool = False) -> Admission:
        """Return how many more machines may be requested now; `whole`: all of them, or none."""
        machines = self.recorded()
        occupancy = Occupancy(
            fleet=self.fleet,
            row=self.row(),
            machines=machines,
            requested=len(self.requested),
            blocker=self.live.creation_blocker(),
            now=self.clock.now(),
        )
        return admit(count, occupancy, whole=whole)

    async def grow(self, count: int, why: str = "") -> tuple[MachineId, ...]:
        """Request so many new machines durably, in one request; return their ids.

        Until the answer to that is known, the ids count as requested. Raises StoreError: nothing is
        made then. Whoever is cancelled meanwhile finds on record what was made all the same.
        """
        ids = tuple(self.fresh() for _ in range(count))
        await self._grow(ids, (), why)
        return ids

    async def grow_named(self, machine: MachineId, spec: MachineSpec, why: str = "") -> int:
        """Request one machine under an id that its user chose; return the request's number.

        As `grow` does; the id was never used before, and repeating the request makes no second one.
        """
        return await self._grow((machine,), (spec,), why)

    async def _grow(
        self, ids: tuple[MachineId, ...], specs: tuple[MachineSpec, ...], why: str
    ) -> int:
        self.requested |= dict.fromkeys(ids, _UNANSWERED)
        try:
            request = await self.record(grow(self.author(why), self.fleet, ids, specs))
        except (StoreError, asyncio.CancelledError):  # else they would count for ever
            for machine in ids:
                self.requested.pop(machine, None)
            raise
        self.requested |= {machine: request.number for machine in ids if machine in self.requested}
        return request.number

    async def delete(self, *machines: MachineId, why: str) -> None:
        """Request the deletion of machines, on record or not: of all of them, or of none.

        Raises StoreError, and RequestRefused where the fleet is protected.
        """
        author = self.author(why)
        await record(self.store, [delete_unrecorded(author, self.fleet, m) for m in machines])
        self.deleting |= set(machines)

    async def retire(self, machine: Machine, why: str) -> None:
        """Request the deletion of a machine and the end of its host; as `delete` otherwise."""
        await self.record(retire(self.author(why), self.fleet, machine, now=True))
        self.deleting.add(machine.id)

    def author(self, why: str = "") -> Author:
        """Return whoever asks as the author of a request, as of now."""
        return Author(name=self.actor, at=self.clock.now(), why=why)

    async def record(self, accepted: Accepted) -> Request:
        """Record a request; raises StoreError."""
        (request,) = await record(self.store, (accepted,))
        return request


async def open_by_id(  # noqa: PLR0913 - what it is opened with, all of it by name
    *,
    fleet: Fleet,
    live: Live,
    store: Store,
    clock: Clock,
    actor: str,
    fresh: Callable[[], MachineId],
    row: FleetRow,
) -> MachinesById:
    """Read a fleet's records, and the requests that nobody granted yet. Raises StoreError."""
    return MachinesById(
        fleet=fleet,
        live=live,
        store=store,
        clock=clock,
        actor=actor,
        fresh=fresh,
        first_row=row,
        first_machines=await store.machines(fleet.name),
        requested=await ungranted(store, row),
    )


async def ungranted(store: Store, row: FleetRow) -> dict[MachineId, int]:
    """Return the ids that were requested of a fleet and not granted yet, with their requests."""
    found = dict[MachineId, int]()
    for request in await store.requests():
        if (
            request.kind is RequestKind.GROW
            and request.fleet == row.name
            and request.number > row.grown
        ):
            found |= dict.fromkeys(request.machines, request.number)
    return found
