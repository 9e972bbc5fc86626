"""Renames: a fleet that left the file goes on under another's name, which takes over its records.

Nothing is asked of the world for it: a record moves, and keeps all that it knows of its machine. A
machine that was moved once is the other fleet's, so that each step may be the last one before a
crash: what is left is found by looking.
"""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import CycleId, Epoch, FleetName, evolve
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Asked, CallState, Machine
from hostler.domain.model.phases import Reason
from hostler.domain.model.snapshot import Request, Snapshot

_NOBODYS = Epoch(0)
"""The epoch of a call that was begun under another fleet's lease: none of ours is so old."""


def impossible(row: FleetRow, request: Request, snapshot: Snapshot) -> str:
    """Return why a fleet cannot take over the machines of another one; empty where it can."""
    source = request.source
    if row.removed is not None:
        return "it is not in the file: name one that is"
    if source == row.name:
        return "that is its own name"
    left = snapshot.left.get(source) if source else None
    if left is None:
        return f"no fleet {source} of its provider left the file and has anything still"
    return _bound(left, snapshot)


def _bound(left: FleetRow, snapshot: Snapshot) -> str:
    """Return what else becomes of a fleet that left the file, so that nobody can take it over."""
    if left.name in snapshot.adopted:
        return f"another fleet is taking over the machines of {left.name} already"
    if left.ends:
        return f"{left.name} is being deleted with all that it has"
    if left.adopts:
        return f"{left.name} is taking over the machines of {left.adopts}: ask after that"
    return ""


def begun(row: FleetRow, request: Request, snapshot: Snapshot) -> FleetRow:
    """Return the row of a fleet that takes over another's machines from now on.

    What bounds the other one bounds it too: what was made, destroyed and lost there, its setbacks,
    and a pause that somebody asked for.
    """
    left = snapshot.left.get(request.source) if request.source else None
    if left is None:
        return row
    known = {setback.offer for setback in row.setbacks}
    since = min((one.at for one in row.sizes), default=snapshot.now)
    return replace(
        joined(row, left),
        adopts=left.name,
        setbacks=(*row.setbacks, *(s for s in left.setbacks if s.offer not in known)),
        creations=_both(row.creations, left.creations),
        destructions=_both(row.destructions, left.destructions),
        losses=_both(row.losses, left.losses),
        sizes=(*(one for one in left.sizes if one.at < since), *row.sizes),
        pause=row.pause or left.pause,
    )


def _both(one: tuple[datetime, ...], other: tuple[datetime, ...]) -> tuple[datetime, ...]:
    return tuple(sorted((*one, *other)))


def joined(row: FleetRow, left: FleetRow) -> FleetRow:
    """Return the row with the orders and the former names of another, each once."""
    orders = {order.id: order for order in (*left.orders, *row.orders)}
    return evolve(
        row,
        orders=tuple(orders.values()),
        former=tuple(dict.fromkeys((*left.former, *row.former))),
    )


def finished(row: FleetRow) -> FleetRow:
    """Return the row of a fleet that has all of another: what bears that name is its own for ever.

    Unless the file has a fleet of that name again.
    """
    names = (*row.former, *((row.adopts,) if row.adopts else ()))
    return replace(row, adopts=None, former=tuple(dict.fromkeys(names)))


class Move(Struct, frozen=True, kw_only=True):
    """One cycle in which machines of `source` become those of `fleet`.

    `epoch` is that of the lease of `source`, and `took` when it began; None where nobody has it.
    """

    source: FleetName
    fleet: FleetName
    now: datetime
    cycle: CycleId
    epoch: Epoch | None = None
    took: datetime | None = None

    def moved(self, machine: Machine, serial: int) -> tuple[Machine, tuple[Event, ...]]:
        """Return a machine as the other fleet's, with an event in the history of each fleet."""
        blank = Event(kind="renamed", at=self.now, fleet=self.source, cycle=self.cycle)
        about = replace(
            blank,
            machine=machine.id,
            host=machine.host,
            reason=str(Reason.RENAMED),
            detail=f"{self.source} > {self.fleet}",
        )
        taken = replace(
            machine,
            fleet=self.fleet,
            serial=serial,
            asked=tuple(self._of_another_lease(asked) for asked in machine.asked),
        )
        return taken, (about, replace(about, fleet=self.fleet))

    def events_of(self, fleet: FleetName, text: str) -> tuple[Event, ...]:
        """Return an event about the whole of one of the two fleets."""
        return (Event(kind="renamed", at=self.now, fleet=fleet, cycle=self.cycle, detail=text),)

    def _of_another_lease(self, asked: Asked) -> Asked:
        """Return an open call as one of an epoch that is over: epochs of two leases do not compare.

        Who held the other lease before may have begun it as late as it was taken over.
        """
        if asked.call_state is not CallState.OPEN:
            return asked
        own = asked.epoch == self.epoch or self.took is None
        at = asked.at if own or self.took is None else max(asked.at, self.took)
        return replace(asked, at=at, epoch=_NOBODYS)


def with_names(host: Host, renamed: Mapping[FleetName, FleetName]) -> Host:
    """Return a host that names its fleet, and the one that bought it, as they are called now."""
    fleet, buyer = host.fleet, host.purchase.buyer
    host = evolve(host, fleet=renamed.get(fleet, fleet) if fleet else None)
    return host.with_purchase(buyer=renamed.get(buyer, buyer) if buyer else None)
