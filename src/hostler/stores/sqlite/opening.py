"""Opening: as the engine, beside it, or shared by simulated engines; each checks the file first."""

import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

from hostler.domain.errors import StoreError
from hostler.domain.ids import InstallationId

from .file import FAULTS, as_store_error, take
from .migrate import STEPS, check_current, migrate, version
from .store import SqliteStore
from .worker import Database, Inline, Runner, Threaded

PATIENCE = timedelta(seconds=5)
"""How long a save waits for another process that is writing, before it is StoreBusy."""

RunnerOf = Callable[[Database], Runner]


def open_engine(
    path: Path, fresh_id: str, *, runner: RunnerOf = Threaded, patience: timedelta = PATIENCE
) -> SqliteStore:
    """Open the store as its only engine, make it where there is none, bring it forward.

    `fresh_id` is the installation's id if the file is new. Raises StoreHeld when another engine
    has it, StoreTooNew, StoreDamaged, or StoreError with what to do.
    """
    path = _resolved(path)
    held = take(path)
    try:
        database = _opened(path, fresh_id, patience, durable=True)
    except BaseException:
        held.let_go()
        raise
    return SqliteStore(runner(database), exclusive=True, let_go=held.let_go)


def open_beside(
    path: Path, *, runner: RunnerOf = Threaded, patience: timedelta = PATIENCE
) -> SqliteStore:
    """Open a store that exists, to read records and write requests, beside an engine or alone.

    Makes and migrates nothing: a missing, empty or older file is a StoreError.
    """
    path = _resolved(path)
    if not path.exists():
        raise StoreError(f"there is no store at {path}; an engine makes it: hostler run")
    with _translated(path), _closed_on_error(_connect(path, "rw", patience)) as connection:
        check_current(connection, path)
        _prepare(connection, path, durable=True)
        database = Database(connection, path)
    return SqliteStore(runner(database), exclusive=False)


def open_shared(
    path: Path,
    fresh_id: str,
    *,
    runner: RunnerOf = Inline,
    patience: timedelta = PATIENCE,
    durable: bool = False,
) -> SqliteStore:
    """Open the store as one of several engines, without the lock: for simulations only.

    Unless `durable`, nothing waits for the disk: a crash of the process loses nothing, one of
    the computer may.
    """
    path = _resolved(path)
    database = _opened(path, fresh_id, patience, durable=durable)
    return SqliteStore(runner(database), exclusive=False)


def _resolved(path: Path) -> Path:
    """Return the one true path of a file that could be a store: links must not fool the lock."""
    path = path.resolve()
    if path.is_dir():
        raise StoreError(f"{path} is a folder; name a file in it, such as {path / 'hostler.db'}")
    if not path.parent.is_dir():
        raise StoreError(f"{path.parent} is no folder; make it, or name another place")
    return path


def _opened(path: Path, fresh_id: str, patience: timedelta, *, durable: bool) -> Database:
    with _translated(path), _closed_on_error(_connect(path, "rwc", patience)) as connection:
        version(connection, path, len(STEPS))
        _prepare(connection, path, durable=durable)
        migrate(connection, path, InstallationId(fresh_id))
        return Database(connection, path)


def _connect(path: Path, mode: str, patience: timedelta) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        timeout=patience.total_seconds(),
        isolation_level=None,
        check_same_thread=False,  # opened here, then used by its runner's thread alone
    )


def _prepare(connection: sqlite3.Connection, path: Path, *, durable: bool) -> None:
    """Settle how this connection writes. Nothing before this may have changed the file."""
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
    mode: tuple[str] = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode[0] != "wal":
        raise StoreError(
            f"{path} lies on a file system without shared memory (a network share?); put it on a "
            "local disk"
        )
    # The first read opens the log, so that its witness finds it.
    connection.execute("SELECT 1 FROM sqlite_master").fetchone()


@contextmanager
def _translated(path: Path) -> Generator[None]:
    try:
        yield
    except FAULTS as fault:
        raise as_store_error(fault, path) from fault


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Generator[sqlite3.Connection]:
    try:
        yield connection
    except BaseException:
        connection.close()
        raise
