"""Leases in SQL: epochs that only grow, and the fence that every save stands behind."""

from sqlite3 import Connection

from hostler.domain.errors import Fenced
from hostler.domain.ids import Epoch
from hostler.ports.store import Fence, Lease

from .queries import SQL

_Row = tuple[str, str, int, int]


def check(db: Connection, fence: Fence) -> None:
    """Raise Fenced when a newer epoch holds the lease."""
    row: tuple[int] | None = db.execute(SQL["epoch"], {"name": fence.lease}).fetchone()
    if row is not None and row[0] > fence.epoch:
        raise Fenced(f"lease {fence.lease} is at epoch {row[0]}; ours was {fence.epoch}")


def standing(db: Connection) -> tuple[Lease, ...]:
    """Return all leases by name, those that were given back with an empty holder."""
    return tuple(_lease(row) for row in db.execute(SQL["leases"]))


def take(db: Connection, name: str, holder: str, seen: Lease | None) -> Lease | None:
    """Take the lease under its next epoch if it still stands as it was seen."""
    if seen is None:
        return _one(db, "first_lease", {"name": name, "holder": holder})
    return _one(db, "take_lease", {**_columns(seen), "name": name, "taker": holder})


def renew(db: Connection, lease: Lease) -> Lease | None:
    """Add a beat if holder and epoch are still the same."""
    return _one(db, "renew_lease", _columns(lease))


def drop(db: Connection, lease: Lease) -> None:
    """Empty the holder if holder and epoch are still the same."""
    db.execute(SQL["drop_lease"], _columns(lease))


def _one(db: Connection, query: str, columns: dict[str, str | int]) -> Lease | None:
    rows: list[_Row] = db.execute(SQL[query], columns).fetchall()
    return _lease(rows[0]) if rows else None


def _columns(lease: Lease) -> dict[str, str | int]:
    return {
        "name": lease.name,
        "holder": lease.holder,
        "epoch": lease.epoch,
        "beat": lease.beat,
    }


def _lease(row: _Row) -> Lease:
    name, holder, epoch, beat = row
    return Lease(name=name, holder=holder, epoch=Epoch(epoch), beat=beat)
