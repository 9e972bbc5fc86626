"""Stores of simulated installations: where they lie, and what somebody does to them by hand."""

import copy
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from hostler.domain.ids import InstallationId, MachineId
from hostler.lab.harness.process_run import ProcessRun
from hostler.lab.harness.store_place import StorePlace
from hostler.ports.store import Store
from hostler.stores.memory import MemoryStore
from hostler.stores.sqlite.opening import RunnerOf, open_beside, open_engine, open_shared
from hostler.stores.sqlite.worker import Inline

from .faults import FORGOTTEN


def store_place(
    own: InstallationId, path: Path | None, *, exclusive: bool, runner: RunnerOf = Inline
) -> StorePlace:
    """Return where an installation's store is to lie; without a path it is in memory."""
    if path is None:
        return InMemory(own, exclusive=exclusive)
    return OnDisk(own, path, exclusive=exclusive, runner=runner)


class InMemory:
    """Implements `StorePlace` for a store that all its engines share in memory."""

    def __init__(self, own: InstallationId, *, exclusive: bool) -> None:
        self._own, self._exclusive = own, exclusive
        self._store = MemoryStore(own, exclusive=exclusive, issued=(FORGOTTEN,))
        self._backup = copy.deepcopy(self._store)

    def open(self, run: ProcessRun | None = None) -> Store:
        """Return the one store."""
        del run
        return self._store

    def open_beside(self) -> Store:
        """Return the one store."""
        return self._store

    def copy(self) -> None:
        """Keep a copy of all that it holds."""
        self._backup = copy.deepcopy(self._store)

    def twin(self, path: Path | None) -> StorePlace:
        """Return a copy of the store, in memory too."""
        del path
        twin = InMemory(self._own, exclusive=self._exclusive)
        twin._store = copy.deepcopy(self._store)
        return twin

    def put_back(self) -> None:
        """Let engines that are started from now on find what the copy holds."""
        self._store = copy.deepcopy(self._backup)

    def remove_record(self, machine: MachineId) -> None:
        """Remove a machine's record."""
        self._store.remove_record(machine)


class OnDisk:
    """Implements `StorePlace` for a file of SQLite; `runner` does what its engines ask of it."""

    def __init__(
        self, own: InstallationId, path: Path, *, exclusive: bool, runner: RunnerOf
    ) -> None:
        self._own, self._path, self._exclusive, self._runner = own, path, exclusive, runner
        self._backup = path.with_suffix(".backup")

    def open(self, run: ProcessRun | None = None) -> Store:
        """Open the file; an id without a record was issued from it."""
        del run
        opens = open_engine if self._exclusive else open_shared
        store = opens(self._path, self._own, runner=self._runner)
        with self._connected(self._path) as db:
            db.execute("INSERT OR IGNORE INTO issued (id) VALUES (?)", (FORGOTTEN,))
        return store

    def open_beside(self) -> Store:
        """Open the file beside its engines."""
        return open_beside(self._path, runner=Inline)

    def copy(self) -> None:
        """Back the file up as SQLite does."""
        with self._connected(self._path) as store, self._connected(self._backup) as backup:
            store.backup(backup)

    def twin(self, path: Path | None) -> StorePlace:
        """Back the file up to another path."""
        if path is None:
            raise ValueError("the copy of a file is a file: give its path")
        with self._connected(self._path) as store, self._connected(path) as twin:
            store.backup(twin)
        return OnDisk(self._own, path, exclusive=self._exclusive, runner=self._runner)

    def put_back(self) -> None:
        """Write the backup over the file, and remove the log of what came after it."""
        for log in ("-wal", "-shm"):
            self._path.with_name(self._path.name + log).unlink(missing_ok=True)
        self._path.write_bytes(self._backup.read_bytes())

    def remove_record(self, machine: MachineId) -> None:
        """Remove a machine's record."""
        with self._connected(self._path) as db:
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("DELETE FROM machines WHERE id = ?", (machine,))

    @contextmanager
    def _connected(self, path: Path) -> Generator[sqlite3.Connection]:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            yield db
