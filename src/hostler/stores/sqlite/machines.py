"""Machines in SQL: the living, the history, and which resource is whose."""

from sqlite3 import Connection

from msgspec.structs import replace

from hostler.domain.errors import AlreadyBound, Conflict
from hostler.domain.ids import FleetName, MachineId, ResourceId
from hostler.domain.model.commands import Event
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.ports.store import Fence
from hostler.stores.records.claims import claims
from hostler.stores.records.documents import MACHINE
from hostler.stores.records.sharing import share

from . import events as story
from . import leases
from .documents import microseconds, read_all
from .queries import SQL

Columns = dict[str, str | int]
"""What stands beside a record's document in its row."""


def living(db: Connection, fleet: FleetName) -> tuple[Machine, ...]:
    """Return the living machines of a fleet, by serial."""
    rows = db.execute(SQL["machines"], {"fleet": fleet})
    return tuple([share(MACHINE.read(row[0])) for row in rows])


def one(db: Connection, machine: MachineId) -> Machine | None:
    """Return a machine, living or not."""
    found = read_all(MACHINE, db.execute(SQL["machine"], {"id": machine}))
    return found[0] if found else None


def old(db: Connection, machines: tuple[MachineId, ...]) -> tuple[Machine, ...]:
    """Return those of these machines that are in the history, in the order asked."""
    asked = dict.fromkeys(machines)
    found = (read_all(MACHINE, db.execute(SQL["old_machine"], {"id": one})) for one in asked)
    return tuple(machine for machines in found for machine in machines)


def save(db: Connection, machine: Machine, events: tuple[Event, ...], fence: Fence) -> Machine:
    """Save over the version that the record carries, in the table where its phase belongs."""
    leases.check(db, fence)
    saved = replace(machine, version=machine.version + 1)
    document = MACHINE.write(saved)
    columns = _columns(machine, document)
    _place(db, machine, columns)
    _claim(db, saved)
    story.add(db, events, {machine.id: document})
    return saved


def _place(db: Connection, machine: Machine, columns: Columns) -> None:
    """Write a record where its phase belongs, and count what those cost that are deleted."""
    here, there = ("deleted", "living") if machine.phase is Phase.DELETED else ("living", "deleted")
    if here == "deleted":
        db.execute(SQL["uncount_spent"], columns)
    if not db.execute(SQL[f"save_{here}"], columns).rowcount:
        if there == "deleted":
            db.execute(SQL["uncount_spent"], columns)
        if not db.execute(SQL[f"leave_{there}"], columns).rowcount:
            raise Conflict(f"machine {machine.id} changed since version {machine.version} was read")
        db.execute(SQL[f"enter_{here}"], columns)
    if here == "deleted":
        db.execute(SQL["count_spent"], columns)


def spent(db: Connection, fleet: FleetName) -> float:
    """Return what the deleted machines of a fleet have cost."""
    row: tuple[float] | None = db.execute(SQL["spent"], {"fleet": fleet}).fetchone()
    return 0.0 if row is None else row[0]


def insert(db: Connection, machine: Machine) -> str:
    """Add a new machine at version 1; return its document."""
    if one(db, machine.id) is not None:
        raise Conflict(f"there is a machine {machine.id} already")
    document = MACHINE.write(replace(machine, version=1))
    table = "deleted" if machine.phase is Phase.DELETED else "living"
    columns = _columns(replace(machine, version=0), document)
    db.execute(SQL[f"enter_{table}"], columns)
    if table == "deleted":
        db.execute(SQL["count_spent"], columns)
    _claim(db, machine)
    issue(db, machine.id)
    return document


def issue(db: Connection, machine: MachineId) -> None:
    """Remember an id for ever; twice is once."""
    db.execute(SQL["issue"], {"id": machine})


def issued(db: Connection, machines: tuple[MachineId, ...]) -> frozenset[MachineId]:
    """Return those of these ids that were ever given to a machine or an order."""
    found = (db.execute(SQL["issued"], {"id": one}).fetchone() for one in dict.fromkeys(machines))
    return frozenset(MachineId(row[0]) for row in found if row)


def _columns(machine: Machine, document: str) -> Columns:
    return {
        "id": machine.id,
        "fleet": machine.fleet,
        "serial": machine.serial,
        "version": machine.version,
        "since": microseconds(machine.since),
        "doc": document,
    }


def _claim(db: Connection, machine: Machine) -> None:
    """Bring the machine's claims in line with its record; AlreadyBound when one is another's."""
    if machine.phase is Phase.DELETED:
        return  # its claims went with its row
    had = {resource for (resource,) in db.execute(SQL["claims"], {"machine": machine.id})}
    wanted = claims(machine)
    for resource in had.difference(wanted):
        db.execute(SQL["disclaim"], {"resource": resource, "machine": machine.id})
    for resource in wanted:
        if resource not in had:
            _claim_one(db, resource, machine.id)


def _claim_one(db: Connection, resource: ResourceId, machine: MachineId) -> None:
    columns = {"resource": resource, "machine": machine}
    if not db.execute(SQL["claim"], columns).rowcount:
        owner: tuple[str] = db.execute(SQL["claimed_by"], columns).fetchone()
        raise AlreadyBound(f"part {resource} is machine {owner[0]}'s, not {machine}'s")
