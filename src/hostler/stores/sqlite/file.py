"""File errors: what SQLite and msgspec raise, as our errors: what, where, and what to do."""

import errno
import fcntl
import os
import sqlite3
from pathlib import Path

import msgspec

from hostler.domain.errors import StoreBusy, StoreDamaged, StoreError, StoreHeld, StoreLost

FAULTS = (sqlite3.Error, msgspec.MsgspecError, OverflowError, UnicodeError)
"""What work in the database may raise besides our own errors."""

_DAMAGE = "put a backup in its place, or move it away to begin again (then: hostler adopt)"


def as_store_error(fault: Exception, path: Path) -> StoreError:
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
        case sqlite3.SQLITE_CANTOPEN if _is_forbidden(path):
            return StoreError(
                f"{path} may not be read by this user: use the one that hostler runs as (sudo -u …)"
            )
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return StoreError(
                f"{path} cannot be opened for writing ({fault}): the file and its folder must be "
                "writable by the user that hostler runs as"
            )
        case _:
            return StoreError(f"{path}: the database failed: {fault}")


def _is_forbidden(path: Path) -> bool:
    """Tell whether this user may not even read a file."""
    try:
        os.close(os.open(path, os.O_RDONLY))
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def damaged(path: Path, why: str) -> StoreDamaged:
    """Return the error for a file that is no readable store."""
    return StoreDamaged(
        f"{path} is not a readable hostler store ({why}); it is left as it is. To go on, {_DAMAGE}"
    )


def not_made(path: Path, error: OSError) -> StoreError:
    """Return the error for a file that could not be made or written: no right to, or no room."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return StoreBusy(f"{path} cannot be written ({error.strerror}): free some room on its disk")
    return StoreError(
        f"{path} cannot be opened ({error.strerror}): the store's folder must be writable by the "
        "user that hostler runs as"
    )


def lost(path: Path) -> StoreLost:
    """Return the error for a file that was deleted or replaced while it was open."""
    return StoreLost(
        f"{path} was deleted or replaced while hostler had it open; nothing more is written. "
        "Put the file back (or a backup) and start hostler again"
    )


_PROC = Path("/proc")


class FileLock:
    """An exclusive lock on a file beside the store, for as long as this object is not let go.

    The lock is not on the store's own file: closing that anywhere in this process would drop
    SQLite's locks on it. The lock file stays when the lock goes: to delete it would be a race.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def let_go(self) -> None:
        """Let the next engine in; repeating it changes nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def take(path: Path) -> FileLock:
    """Take the lock of the store at this path, or raise StoreHeld with its holder's pid."""
    lock = path.with_name(f"{path.name}.lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise not_made(lock, error) from error
    try:
        _lock(descriptor, path)
    except OSError as error:
        os.close(descriptor)
        raise not_made(lock, error) from error
    except BaseException:
        os.close(descriptor)
        raise
    return FileLock(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        pid = os.read(descriptor, 20).decode(errors="replace").strip() or "unknown"
        raise StoreHeld(
            f"another hostler engine (pid {pid}) runs on {path}; stop it first, or give this one "
            "a store of its own"
        ) from error
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode())


def is_held(store: Path) -> bool:
    """Tell whether an engine holds the lock beside this store.

    The lock is tried shared, for an instant: commands do not hinder each other, and an engine that
    starts in that very instant is told that another one runs.
    """
    lock = store.resolve().with_name(f"{store.resolve().name}.lock")
    try:
        descriptor = os.open(lock, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def holder(store: Path, proc: Path = _PROC) -> int | None:
    """Return the process id of the engine that holds the lock; None where none is known to.

    The number in the file is that of whoever wrote it: an engine in a container, or on another
    computer, has one by which we know another process, or none.
    """
    if not is_held(store):
        return None
    lock = store.resolve().with_name(f"{store.resolve().name}.lock")
    try:
        process = int(lock.read_text(encoding="ascii", errors="replace").strip() or "none")
    except (OSError, ValueError):
        return None
    return process if _has_open(process, lock, proc) else None


def _has_open(process: int, file: Path, proc: Path) -> bool:
    """Tell whether a process has a file open; true where the system does not tell."""
    try:
        found = list((proc / str(process) / "fd").iterdir())
    except FileNotFoundError:
        return not (proc / "self").exists()
    except OSError:
        return True
    return any(_is_same(one, file) for one in found)


def _is_same(link: Path, file: Path) -> bool:
    try:
        return link.samefile(file)
    except OSError:  # it was closed meanwhile
        return False


class Witness:
    """Remembers which file lies under a path.

    A process that has a deleted file open can write to it for ever, and all of it is lost.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = {file: _identity(file) for file in (str(path), f"{path}-wal")}

    def check(self) -> None:
        """Raise StoreLost when the file, or the log beside it, was deleted or replaced."""
        for file, identity in self._files.items():
            if _identity(file) != identity:
                raise lost(self._path)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        stat = os.stat(path)  # noqa: PTH116 - called for every batch; Path.stat costs twice as much
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:  # nobody can tell: no right to look for a while, or a failing disk
        raise not_made(Path(path), error) from error
    return (stat.st_dev, stat.st_ino)
