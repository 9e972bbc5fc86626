"""Controller: keeps reconciling until it is cancelled, whatever fails for a while."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import structlog
from msgspec import Struct

from hostler.domain.errors import HostlerError
from hostler.kubernetes.errors import Conflict, NotFound
from hostler.kubernetes.objects import Key
from hostler.kubernetes.queue import WorkQueue

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.clusterapi")

WORKERS = 8

Reconcile = Callable[[Key], Awaitable[timedelta | None]]


class Controller(Struct, frozen=True, kw_only=True):
    """Reconciles the keys of one queue, several at a time, and each by one worker alone."""

    kind: str
    queue: WorkQueue[Key]
    reconcile: Reconcile

    async def run(self, workers: int = WORKERS) -> None:
        """Work for ever; ends by being cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            key = await self.queue.get()
            try:
                await self.work(key)
            finally:
                self.queue.done(key)

    async def work(self, key: Key) -> None:
        """Reconcile one key, and see to it that it comes again where that is needed."""
        try:
            again = await self.reconcile(key)
        except (Conflict, NotFound) as error:
            pause = self.queue.add_failed(key)
            log.debug("decided from an old copy", object=str(key), error=str(error), again=pause)
            return
        except HostlerError as error:
            pause = self.queue.add_failed(key)
            log.warning(
                "not reconciled",
                kind=self.kind,
                object=str(key),
                error=str(error),
                again=round(pause.total_seconds(), 3),
            )
            return
        self.queue.forget(key)
        if again is not None:
            self.queue.add_after(key, again)
