"""Events in SQL: written beside the change itself, and read for histories and time travel."""

from collections.abc import Iterable
from datetime import datetime
from sqlite3 import Connection

from msgspec import Struct

from hostler.domain.ids import FleetName, HostId, MachineId
from hostler.domain.model.commands import Event
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.ports.store import Fence, StoredEvent
from hostler.stores.records.documents import EVENT, MACHINE

from . import leases
from .documents import microseconds, moment, read_all
from .queries import SQL

Images = dict[MachineId, str]
"""The documents of machines as this change leaves them."""

_BY = {
    (False, False): "events",
    (True, False): "events_of_fleet",
    (False, True): "events_of_machine",
    (True, True): "events_of_both",
}


def add(db: Connection, events: Iterable[Event], images: Images) -> None:
    """Write events in order, each with the image of the machine that it names."""
    for event in events:
        columns = {
            "at": microseconds(event.at),
            "fleet": event.fleet,
            "machine": event.machine,
            "host": event.host,
            "doc": EVENT.write(event),
            "image": images.get(event.machine) if event.machine else None,
        }
        db.execute(SQL["add_event"], columns)


class About(Struct, frozen=True):
    """Whose events are asked for: a fleet's, a machine's, a host's; None is everybody's."""

    fleet: FleetName | None
    machine: MachineId | None
    host: HostId | None


def stored(db: Connection, about: About, after: int, limit: int) -> tuple[StoredEvent, ...]:
    """Return events after a number, in order."""
    name = _BY[about.fleet is not None, about.machine is not None]
    query = SQL["events_of_host" if about.host is not None else name]
    columns = {
        "fleet": about.fleet,
        "machine": about.machine,
        "host": about.host,
        "after": after,
        "limit": max(limit, 0),
    }
    return tuple(_stored(*row) for row in db.execute(query, columns))


def newest(db: Connection) -> int:
    """Return the number of the newest event, 0 where there is none."""
    row: tuple[int] = db.execute(SQL["newest_event"]).fetchone()
    return row[0]


def images(db: Connection, fleet: FleetName, at: datetime) -> tuple[Machine, ...]:
    """Return each machine's last image before a time, deleted ones left out, by serial."""
    rows = db.execute(SQL["images"], {"fleet": fleet, "at": microseconds(at)})
    mine = (m for m in read_all(MACHINE, rows) if m.fleet == fleet)
    there = (m for m in mine if m.phase is not Phase.DELETED)
    return tuple(sorted(there, key=lambda m: (m.serial, m.id)))


def _stored(number: int, document: str, image: str | None) -> StoredEvent:
    return StoredEvent(
        number=number,
        event=EVENT.read(document),
        image=None if image is None else MACHINE.read(image),
    )


def forget(db: Connection, before: datetime, limit: int, fence: Fence) -> int:
    """Remove at most so many rows of what was over before a time; return how many went."""
    leases.check(db, fence)
    columns = {"before": microseconds(before), "limit": max(limit, 0)}
    left = columns["limit"]
    finished: list[tuple[str]] = db.execute(SQL["forgettable"], columns).fetchall()
    for (machine,) in finished:
        left -= _forget_machine(db, machine, left)
    left -= db.execute(SQL["forget_events"], {**columns, "limit": left}).rowcount
    went = columns["limit"] - left
    if went:
        db.execute(SQL["note_forgotten"], columns)
    return went


def forgotten(db: Connection) -> datetime | None:
    """Return the latest time before which anything was removed."""
    row: tuple[int] | None = db.execute(SQL["forgotten"]).fetchone()
    return None if row is None else moment(row[0])


def _forget_machine(db: Connection, machine: str, limit: int) -> int:
    """Remove a machine's events, then, if the limit leaves room, its record."""
    columns = {"machine": machine, "limit": limit}
    went = db.execute(SQL["forget_events_of"], columns).rowcount
    return went if went == limit else went + db.execute(SQL["forget_machine"], columns).rowcount
