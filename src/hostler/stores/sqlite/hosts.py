"""Hosts in SQL: their records, and the ties between hosts and machines."""

from dataclasses import replace
from sqlite3 import Connection

from hostler.domain.errors import AlreadyBound, Conflict
from hostler.domain.ids import HostId, MachineId, PartId
from hostler.domain.model.commands import Event
from hostler.domain.model.host import Host
from hostler.domain.model.snapshot import Suspect, Wish
from hostler.ports.store import Fence

from . import events as story
from . import leases
from .documents import HOST, SUSPECT, WISH
from .queries import SQL


def records(db: Connection) -> tuple[Host, ...]:
    """Return all hosts, by id."""
    return HOST.read_all(db.execute(SQL["hosts"]))


def save(db: Connection, host: Host, events: tuple[Event, ...], fence: Fence) -> Host:
    """Save over the version that the record carries; 0 is a host that nobody saved yet."""
    leases.check(db, fence)
    saved = replace(host, version=host.version + 1)
    query = "save_host" if host.version else "add_host"
    columns = {"id": host.id, "version": host.version, "doc": HOST.write(saved)}
    if not db.execute(SQL[query], columns).rowcount:
        raise Conflict(f"host {host.id} changed since version {host.version} was read")
    story.add(db, events, {})
    return saved


def bind(db: Connection, host: HostId, machine: MachineId, fence: Fence) -> None:
    """Tie a host to a machine; AlreadyBound when either is tied elsewhere."""
    leases.check(db, fence)
    columns = {"host": host, "machine": machine}
    db.execute(SQL["tie"], columns)
    ties: list[tuple[str, str]] = db.execute(SQL["ties"], columns).fetchall()
    for tied_host, tied_machine in ties:
        if (tied_host, tied_machine) != (host, machine):
            raise AlreadyBound(f"host {tied_host} is tied to machine {tied_machine}")


def ties(db: Connection) -> tuple[tuple[HostId, MachineId], ...]:
    """Return every tie, by host."""
    return tuple((HostId(row[0]), MachineId(row[1])) for row in db.execute(SQL["all_ties"]))


def unbind(db: Connection, host: HostId, machine: MachineId, fence: Fence) -> None:
    """Loosen this very tie."""
    leases.check(db, fence)
    db.execute(SQL["untie"], {"host": host, "machine": machine})


def suspects(db: Connection) -> tuple[Suspect, ...]:
    """Return the ledger, by part."""
    return SUSPECT.read_all(db.execute(SQL["suspects"]))


def save_suspects(
    db: Connection, suspects: tuple[Suspect, ...], cleared: tuple[PartId, ...], fence: Fence
) -> None:
    """Write these suspects, then take those parts out."""
    leases.check(db, fence)
    for suspect in suspects:
        db.execute(SQL["save_suspect"], {"part": suspect.part, "doc": SUSPECT.write(suspect)})
    for part in cleared:
        db.execute(SQL["clear_suspect"], {"part": part})


def wish(db: Connection, wish: Wish) -> Wish:
    """Keep a wish under a number that was never given before."""
    number = db.execute(SQL["add_wish"], {"doc": WISH.write(replace(wish, number=0))}).lastrowid
    return replace(wish, number=number or 0)


def wishes(db: Connection) -> tuple[Wish, ...]:
    """Return the wishes that nobody took yet, in order."""
    rows = db.execute(SQL["wishes"])
    return tuple(replace(WISH.read(document), number=number) for number, document in rows)


def take_wishes(db: Connection, numbers: tuple[int, ...], fence: Fence) -> None:
    """Take wishes out, those that are still there."""
    leases.check(db, fence)
    for number in numbers:
        db.execute(SQL["take_wish"], {"number": number})
