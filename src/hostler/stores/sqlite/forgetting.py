"""Forgetting in SQL: what was over before a time goes, a bounded number of rows at once.

The pages that it leaves free are used again; the file grows no further, and does not shrink.
"""

from datetime import datetime
from sqlite3 import Connection

from hostler.ports.store import Fence

from . import leases
from .documents import microseconds, moment
from .queries import SQL


def forget(db: Connection, before: datetime, limit: int, fence: Fence) -> int:
    """Remove at most so many rows of what was over before a time; return how many went."""
    leases.check(db, fence)
    columns = {"before": microseconds(before), "limit": max(limit, 0)}
    left = columns["limit"]
    gone: list[tuple[str]] = db.execute(SQL["forgettable"], columns).fetchall()
    for (machine,) in gone:
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
