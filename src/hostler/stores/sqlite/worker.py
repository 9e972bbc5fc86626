"""Worker: does the database's jobs in batches, on a thread of its own or here and now."""

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from sqlite3 import Connection
from typing import Generic, Protocol, TypeVar

from hostler.domain.errors import StoreError

from .file import FAULTS, Witness, as_store_error

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
                job.refuse(as_store_error(fault, self._path))

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
            jobs[0].refuse(as_store_error(fault, self._path))
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
            raise as_store_error(fault, self._path) from fault
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


Waiting = tuple[AnyJob, asyncio.Future[None]]
Batch = tuple[Waiting, ...]

_MOST = 512  # jobs in one batch: bounds how long an answer may wait for its neighbours


class Runner(Protocol):
    """Does jobs on a database, one after the other, in the order in which they were asked for."""

    async def run(self, work: Callable[[Connection], ResultT], *, writes: bool) -> ResultT:
        """Do this work and return its answer, once it is durable."""
        ...

    async def close(self) -> None:
        """Finish what was asked for, and close the database; repeating it changes nothing."""
        ...


class Inline:
    """Does each job at once on the caller's own thread: no thread, no waiting, the same each time.

    For simulations, where an await that goes nowhere would give time to nobody.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._closed = False

    async def run(self, work: Callable[[Connection], ResultT], *, writes: bool) -> ResultT:
        if self._closed:
            raise _closed()
        job = Job(work, writes=writes)
        self._database.perform((job,))
        return job.answer()

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._database.close()


class Threaded:
    """Does all jobs on one thread; what asks while it is busy makes the next batch together.

    Its own state is touched by the loop's thread alone: only whole batches cross over.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hostler-store")
        self._waiting = deque[Waiting]()
        self._busy = False
        self._closed = False

    async def run(self, work: Callable[[Connection], ResultT], *, writes: bool) -> ResultT:
        if self._closed:
            raise _closed()
        job = Job(work, writes=writes)
        await self._done(job)
        return job.answer()

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._done(Job(_nothing, writes=False))
        await asyncio.get_running_loop().run_in_executor(self._executor, self._database.close)
        self._executor.shutdown()

    async def _done(self, job: AnyJob) -> None:
        """Put the job at the end of the line, and wait until it has its answer."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((job, done))
        self._begin()
        await done

    def _begin(self) -> None:
        if self._busy or not self._waiting:
            return
        self._busy = True
        count = min(len(self._waiting), _MOST)
        batch = tuple(self._waiting.popleft() for _ in range(count))
        jobs = tuple(job for job, _ in batch)
        loop = asyncio.get_running_loop()
        performed = loop.run_in_executor(self._executor, self._database.perform, jobs)
        performed.add_done_callback(partial(self._finish, batch))

    def _finish(self, batch: Batch, performed: asyncio.Future[None]) -> None:
        """Wake who waited for this batch (some may have been cancelled), and begin the next."""
        self._busy = False
        error = performed.exception()
        for _, done in batch:
            if done.done():
                continue
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)
        self._begin()


def _closed() -> StoreError:
    return StoreError("the store is closed")


def _nothing(_: Connection) -> None:
    """Do nothing: who waits for this has waited for all that was asked before it."""
