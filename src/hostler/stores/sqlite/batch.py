"""Jobs for the database, and how several share one transaction without sharing their failures."""

import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from hostler.domain.errors import StoreError

from .file import FAULTS, told
from .witness import Witness

ResultT = TypeVar("ResultT")


class Job(Generic[ResultT]):
    """A piece of work and, once it was done, its answer. It may be done twice; the last counts."""

    def __init__(self, work: Callable[[sqlite3.Connection], ResultT], *, writes: bool) -> None:
        self._work = work
        self.writes = writes
        self._result: list[ResultT] = []
        self._error: StoreError | None = StoreError("the store was closed before this was done")

    def do(self, connection: sqlite3.Connection) -> None:
        """Do the work; what the database raises passes through."""
        self._result, self._error = [self._work(connection)], None

    def refuse(self, error: StoreError) -> None:
        """Note that it was not done, and why."""
        self._result, self._error = [], error

    def answer(self) -> ResultT:
        """Return the result, or raise what it failed with."""
        if self._error is not None:
            raise self._error
        return self._result[0]


class AnyJob(Protocol):
    """A job whose answer somebody else knows the type of."""

    writes: bool

    def do(self, connection: sqlite3.Connection) -> None: ...

    def refuse(self, error: StoreError) -> None: ...


class Database:
    """A connection to one file, and the rules by which jobs are done on it."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._witness = Witness(path)

    def perform(self, jobs: Sequence[AnyJob]) -> None:
        """Do these jobs in order; neighbours that write share a transaction and its fsync.

        When this returns each job has its answer, and what it answers is durable.
        """
        for writes, run in groupby(jobs, key=lambda job: job.writes):
            some = tuple(run)
            try:
                self._witness.check()
                if writes:
                    self._write(some)
                else:
                    self._read(some)
            except StoreError as error:
                _refuse(some, error)

    def close(self) -> None:
        """Close the connection; the last one of all folds the log into the file."""
        self._connection.close()

    def _read(self, jobs: Sequence[AnyJob]) -> None:
        for job in jobs:
            try:
                job.do(self._connection)
            except StoreError as error:
                job.refuse(error)
            except FAULTS as fault:
                job.refuse(told(fault, self._path))

    def _write(self, jobs: Sequence[AnyJob]) -> None:
        """Try all in one transaction; when the database itself fails, each alone."""
        try:
            with self._transaction():
                for job in jobs:
                    self._apart(job)
        except FAULTS as fault:
            self._alone(jobs, fault)

    def _alone(self, jobs: Sequence[AnyJob], fault: Exception) -> None:
        """Give each its own transaction, so that each learns its own truth."""
        if len(jobs) == 1:
            jobs[0].refuse(told(fault, self._path))
            return
        for index, job in enumerate(jobs):
            try:
                self._write((job,))
            except StoreError as error:
                _refuse(jobs[index:], error)
                return

    def _apart(self, job: AnyJob) -> None:
        """Do one job so that its refusal takes back its own changes and no other's."""
        self._connection.execute("SAVEPOINT job")
        try:
            job.do(self._connection)
        except StoreError as error:
            self._connection.execute("ROLLBACK TO job")
            job.refuse(error)
        self._connection.execute("RELEASE job")

    @contextmanager
    def _transaction(self) -> Generator[None]:
        """Begin and commit; whatever is raised inside, nothing of it stays."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as fault:
            raise told(fault, self._path) from fault
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise


def _refuse(jobs: Sequence[AnyJob], error: StoreError) -> None:
    for job in jobs:
        job.refuse(error)
