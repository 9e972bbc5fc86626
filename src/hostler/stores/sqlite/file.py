"""Faults: what SQLite and msgspec raise, told as our errors: what, where, and what to do."""

import sqlite3
from pathlib import Path

import msgspec

from hostler.domain.errors import StoreBusy, StoreDamaged, StoreError, StoreLost

FAULTS = (sqlite3.Error, msgspec.MsgspecError, OverflowError, UnicodeError)
"""What work in the database may raise besides our own errors."""

_DAMAGE = "put a backup in its place, or move it away to begin anew (then: hostler adopt)"


def told(fault: Exception, path: Path) -> StoreError:
    """Return the error of ours that says what happened to this store."""
    if isinstance(fault, sqlite3.Error):
        return _of_sqlite(fault, path)
    if isinstance(fault, msgspec.MsgspecError):
        return StoreDamaged(f"{path}: a record in it cannot be read ({fault}); {_DAMAGE}")
    return StoreError(f"{path}: a value cannot be stored ({fault})")


def _of_sqlite(fault: sqlite3.Error, path: Path) -> StoreError:
    match getattr(fault, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusy(f"{path} is locked by another process; it is tried again later")
        case sqlite3.SQLITE_FULL:
            return StoreBusy(
                f"{path}: no room is left to write; nothing was saved. Free some room on its disk: "
                "the next save works then"
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return damaged(path, str(fault))
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return StoreError(
                f"{path} cannot be opened for writing ({fault}): the file and its folder must be "
                "writable by the user that hostler runs as"
            )
        case _:
            return StoreError(f"{path}: the database failed: {fault}")


def damaged(path: Path, why: str) -> StoreDamaged:
    """Return the error for a file that is no readable store."""
    return StoreDamaged(
        f"{path} is not a readable hostler store ({why}); it is left as it is. To go on, {_DAMAGE}"
    )


def lost(path: Path) -> StoreLost:
    """Return the error for a file that was deleted or replaced while it was open."""
    return StoreLost(
        f"{path} was deleted or replaced while hostler had it open; nothing more is written. "
        "Put the file back (or a backup) and start hostler again"
    )
