"""Opening: as the engine, beside it, or shared by simulated engines; each checks the file first."""

import os
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

from hostler.domain.errors import StoreError, StoreMissing
from hostler.domain.ids import InstallationId

from .file import FAULTS, as_store_error, not_made, take
from .migrate import STEPS, check_current, migrate, version
from .store import SqliteStore
from .worker import Database, Inline, Runner, Threaded

PATIENCE = timedelta(seconds=5)
"""How long a save waits for another process that is writing, before it is StoreBusy."""

_CACHE_KIB = 8000
"""How much of the file a connection may hold in memory, changes not committed among it: those of a
batch of 512 records and their events are fewer."""

_NO_RIGHT = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})
"""What SQLite answers, in short, where it may not make its own files beside the store."""

RunnerOf = Callable[[Database], Runner]


def open_engine(
    path: Path, fresh_id: str, *, runner: RunnerOf = Threaded, patience: timedelta = PATIENCE
) -> SqliteStore:
    """Open the store as its only engine, make it where there is none, bring it forward.

    `fresh_id` is the installation's id if the file is new. Raises StoreHeld when another engine
    has it, StoreTooNew, StoreDamaged, or StoreError with what to do.
    """
    path = resolved(path)
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

    Makes and migrates nothing: a missing or empty file is StoreMissing, an older one a StoreError.
    """
    path = resolved(path)
    _require_there(path)
    with _translated(path), _closed_on_error(_connect(path, "mode=rw", patience)) as connection:
        check_current(connection, path)
        _prepare(connection, path, durable=True)
        database = Database(connection, path)
    return SqliteStore(runner(database), exclusive=False)


def open_reading(
    path: Path, *, runner: RunnerOf = Threaded, patience: timedelta = PATIENCE
) -> SqliteStore:
    """Open a store that exists only to read it: no right to write is needed, and none is used.

    Makes and migrates nothing, as `open_beside`.
    """
    path = resolved(path)
    with _translated(path):
        connection = reading_connection(path, patience)
        with _closed_on_error(connection):
            check_current(connection, path)
            database = Database(connection, path)
    return SqliteStore(runner(database), exclusive=False)


def reading_connection(path: Path, patience: timedelta = PATIENCE) -> sqlite3.Connection:
    """Connect to a file that is only read; StoreMissing where none is. SQLite's errors are raised.

    Where not even SQLite's own files beside the store may be made, and none are there, no engine
    runs: the file alone is read, as it stands.
    """
    _require_there(path)
    try:
        return _reading(path, "mode=ro", patience)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in _NO_RIGHT or _log_of(path).exists():
            raise
        return _reading(path, "mode=ro&immutable=1", patience)


def is_made(path: Path) -> bool:
    """Tell whether there is a store, or anything else that is not merely to become one."""
    try:
        _require_there(path)
        with _translated(path), closing(_connect(path, "mode=ro", PATIENCE)) as connection:
            check_current(connection, path)
    except StoreMissing:
        return False
    except StoreError:
        return True
    return True


def _reading(path: Path, options: str, patience: timedelta) -> sqlite3.Connection:
    with _closed_on_error(_connect(path, options, patience)) as connection:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        return connection


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


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
    path = resolved(path)
    database = _opened(path, fresh_id, patience, durable=durable)
    return SqliteStore(runner(database), exclusive=False)


def resolved(path: Path) -> Path:
    """Return the one true path of a file that could be a store: links must not fool the lock."""
    path = path.resolve()
    if path.is_dir():
        raise StoreError(f"{path} is a folder; name a file in it, such as {path / 'hostler.db'}")
    if not path.parent.is_dir():
        raise StoreMissing(f"{path.parent} is no folder; make it, or name another place")
    return path


def _opened(path: Path, fresh_id: str, patience: timedelta, *, durable: bool) -> Database:
    _make_private(path)
    with _translated(path), _closed_on_error(_connect(path, "mode=rw", patience)) as connection:
        version(connection, path, len(STEPS))
        _prepare(connection, path, durable=durable)
        migrate(connection, path, InstallationId(fresh_id))
        return Database(connection, path)


def _require_there(path: Path) -> None:
    if not path.exists():
        raise StoreMissing(f"there is no store at {path}; an engine makes it: hostler run")


def _make_private(path: Path) -> None:
    """Make the file, readable by its owner alone, where there is none; SQLite's own follow it."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise not_made(path, error) from error


def _connect(path: Path, options: str, patience: timedelta) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(str(path))}?{options}",
        uri=True,
        timeout=patience.total_seconds(),
        isolation_level=None,
        check_same_thread=False,  # opened here, then used by its runner's thread alone
    )


def _prepare(connection: sqlite3.Connection, path: Path, *, durable: bool) -> None:
    """Settle how this connection writes. Nothing before this may have changed the file."""
    connection.execute("PRAGMA foreign_keys = ON")
    # What a batch changes is in memory until it is committed, and so is what its savepoints take
    # back: files for either cost a fifth of a round in which 5,000 machines move.
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(f"PRAGMA cache_size = {-_CACHE_KIB}")
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
