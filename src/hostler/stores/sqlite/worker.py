"""Runners: where the database's work is done, on a thread of its own or here and now."""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from sqlite3 import Connection
from typing import Protocol, TypeVar

from hostler.domain.errors import StoreError

from .batch import AnyJob, Database, Job

ResultT = TypeVar("ResultT")

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
