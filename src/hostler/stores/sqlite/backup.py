"""Backup: one whole copy of a store, taken beside a running engine, and read before it counts."""

import os
import sqlite3
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from hostler.domain.errors import StoreError

from .file import FAULTS, as_store_error, damaged, not_made
from .migrate import version
from .opening import reading_connection, resolved


def back_up(path: Path, to: Path | None, now: datetime) -> Path:
    """Copy the store to a new file, and return its path. Nothing that is there is overwritten.

    The copy is one file, readable by its owner alone, with all that was saved before this call.
    `to` may be a folder; None is the store's own: the file is named by the store and by `now`, in
    UTC. A store of any version is copied. Raises StoreMissing, StoreDamaged where the copy could
    not be read, and StoreError; then no file is left.
    """
    path = resolved(path)
    target = _target(path, to, now)
    if target.exists():
        raise StoreError(f"{target} is there already: name another file; nothing was copied")
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise not_made(part, error) from error
    try:
        _copy(path, part)
        _check(part, path)
        _sync(part)
        part.rename(target)
        _sync(target.parent)
    except OSError as error:
        raise not_made(target, error) from error
    finally:
        part.unlink(missing_ok=True)
    return target


def _target(path: Path, to: Path | None, now: datetime) -> Path:
    target = path.parent if to is None else to.resolve()
    if target.is_dir():
        return target / f"{path.stem}-{now:%Y%m%dT%H%M%SZ}{path.suffix}"
    if not target.parent.is_dir():
        raise StoreError(f"{target.parent} is no folder; make it, or name another place")
    return target


def _copy(path: Path, part: Path) -> None:
    """Copy all pages in one reading transaction, and make of them a file that needs no log."""
    try:
        with closing(reading_connection(path)) as source, closing(_own(part)) as copy:
            if version(source, path, newest=sys.maxsize) == 0:
                raise StoreError(f"{path} holds no store yet: there is nothing to copy")
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
    except FAULTS as fault:
        if getattr(fault, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
            raise StoreError(f"{part.parent} has no room for a copy; nothing was copied") from fault
        raise as_store_error(fault, path) from fault


def _check(part: Path, path: Path) -> None:
    """Read all of the copy, as SQLite does to find damage: the store has the same."""
    try:
        with closing(_own(part)) as copy:
            found: tuple[str] = copy.execute("PRAGMA quick_check").fetchone()
    except FAULTS as fault:
        raise as_store_error(fault, path) from fault
    if found[0] != "ok":
        raise damaged(path, found[0].splitlines()[-1])


def _own(part: Path) -> sqlite3.Connection:
    """Open a file that nobody else knows: without shared memory, which not every share has."""
    where = f"file:{quote(str(part))}?mode=rw"
    connection = sqlite3.connect(where, uri=True, isolation_level=None)
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    return connection


def _sync(place: Path) -> None:
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
