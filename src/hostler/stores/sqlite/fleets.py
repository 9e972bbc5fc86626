"""Fleets in SQL: their rows, whose saves alone let machines appear, and whose store it is."""

from sqlite3 import Connection

from msgspec.structs import replace

from hostler.domain.errors import Conflict
from hostler.domain.ids import InstallationId
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.machine import Machine
from hostler.ports.engine_record import EngineRecord
from hostler.ports.store import Fence, Identity
from hostler.stores.records.documents import ENGINE, FLEET

from . import events as story
from . import leases, machines
from .documents import read_all
from .queries import SQL


def identity(db: Connection) -> Identity:
    """Return whose store this is."""
    own, *adopted = (InstallationId(row[0]) for row in db.execute(SQL["installations"]))
    return Identity(own=own, adopted=tuple(adopted))


def adopt(db: Connection, installations: tuple[InstallationId, ...], fence: Fence) -> None:
    """Add these installations to ours."""
    leases.check(db, fence)
    for installation in installations:
        db.execute(SQL["add_installation"], {"id": installation})


def engine(db: Connection) -> EngineRecord | None:
    """Return what the newest engine runs."""
    return next(iter(read_all(ENGINE, db.execute(SQL["engine"]))), None)


def save_engine(db: Connection, record: EngineRecord) -> None:
    """Write what this process runs."""
    db.execute(SQL["save_engine"], {"doc": ENGINE.write(record)})


def rows(db: Connection) -> tuple[FleetRow, ...]:
    """Return all rows, by name."""
    return read_all(FLEET, db.execute(SQL["fleets"]))


def add(db: Connection, row: FleetRow) -> FleetRow:
    """Add a row at version 1 unless there is one of its name; return the one that is there."""
    document = FLEET.write(replace(row, version=1))
    db.execute(SQL["add_fleet"], {"name": row.name, "doc": document})
    return read_all(FLEET, db.execute(SQL["fleet"], {"name": row.name}))[0]


def save(
    db: Connection,
    row: FleetRow,
    inserts: tuple[Machine, ...],
    events: tuple[Event, ...],
    fence: Fence,
) -> FleetRow:
    """Save a row over the version that it carries, with its new machines."""
    leases.check(db, fence)
    saved = replace(row, version=row.version + 1)
    columns = {"name": row.name, "version": row.version, "doc": FLEET.write(saved)}
    if not db.execute(SQL["save_fleet"], columns).rowcount:
        raise Conflict(f"fleet {row.name} changed since version {row.version} was read")
    for order in row.orders:
        machines.issue(db, order.id)
    images = {machine.id: machines.insert(db, machine) for machine in inserts}
    story.add(db, events, images)
    return saved


def remove(db: Connection, row: FleetRow, events: tuple[Event, ...], fence: Fence) -> None:
    """Remove a row at the version that it carries, once no machine of the fleet lives."""
    leases.check(db, fence)
    if not db.execute(SQL["remove_fleet"], {"name": row.name, "version": row.version}).rowcount:
        raise Conflict(
            f"fleet {row.name} changed since version {row.version} was read, or its machines live"
        )
    story.add(db, events, {})
