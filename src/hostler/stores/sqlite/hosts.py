"""Hosts in SQL: their records, and the bindings between hosts and machines."""

from sqlite3 import Connection

from msgspec.structs import replace

from hostler.domain.errors import AlreadyBound, Conflict
from hostler.domain.ids import HostId, MachineId, ResourceId
from hostler.domain.model.commands import Event
from hostler.domain.model.host import Host
from hostler.domain.model.snapshot import Orphan, Request
from hostler.ports.store import Fence
from hostler.stores.records.documents import HOST, ORPHAN, REQUEST

from . import events as story
from . import leases
from .documents import read_all
from .queries import SQL


def records(db: Connection) -> tuple[Host, ...]:
    """Return all hosts, by id."""
    return read_all(HOST, db.execute(SQL["hosts"]))


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
    """Bind a host to a machine; AlreadyBound when either is bound elsewhere."""
    leases.check(db, fence)
    columns = {"host": host, "machine": machine}
    db.execute(SQL["bind"], columns)
    bindings: list[tuple[str, str]] = db.execute(SQL["bindings"], columns).fetchall()
    for tied_host, tied_machine in bindings:
        if (tied_host, tied_machine) != (host, machine):
            raise AlreadyBound(f"host {tied_host} is bound to machine {tied_machine}")


def bindings(db: Connection) -> tuple[tuple[HostId, MachineId], ...]:
    """Return every binding, by host."""
    return tuple((HostId(row[0]), MachineId(row[1])) for row in db.execute(SQL["all_bindings"]))


def unbind(db: Connection, host: HostId, machine: MachineId, fence: Fence) -> None:
    """Remove this very binding."""
    leases.check(db, fence)
    db.execute(SQL["unbind"], {"host": host, "machine": machine})


def orphans(db: Connection) -> tuple[Orphan, ...]:
    """Return the orphan report, by resource."""
    return read_all(ORPHAN, db.execute(SQL["orphans"]))


def save_orphans(
    db: Connection, orphans: tuple[Orphan, ...], cleared: tuple[ResourceId, ...], fence: Fence
) -> None:
    """Write these orphans, then take those resources out."""
    leases.check(db, fence)
    for orphan in orphans:
        db.execute(SQL["save_orphan"], {"resource": orphan.resource, "doc": ORPHAN.write(orphan)})
    for resource in cleared:
        db.execute(SQL["clear_orphan"], {"resource": resource})


def request(db: Connection, request: Request) -> Request:
    """Keep a request under a number that was never given before."""
    number = db.execute(
        SQL["add_request"], {"doc": REQUEST.write(replace(request, number=0))}
    ).lastrowid
    return replace(request, number=number or 0)


def requests(db: Connection) -> tuple[Request, ...]:
    """Return the requests that nobody took yet, in order."""
    rows = db.execute(SQL["requests"])
    return tuple(replace(REQUEST.read(document), number=number) for number, document in rows)


def take_requests(db: Connection, numbers: tuple[int, ...], fence: Fence) -> None:
    """Take requests out, those that are still there."""
    leases.check(db, fence)
    for number in numbers:
        db.execute(SQL["take_request"], {"number": number})
