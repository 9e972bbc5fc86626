"""The lock of an engine: one for each file, let go by the kernel however the process ends."""

import fcntl
import os
from pathlib import Path

from hostler.domain.errors import StoreError, StoreHeld


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
        raise StoreError(
            f"{lock} cannot be opened ({error.strerror}): the store's folder must be writable by "
            "the user that hostler runs as"
        ) from error
    try:
        _lock(descriptor, path)
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
