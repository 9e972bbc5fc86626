"""Leading: what one process alone does, where several share the records of one installation.

Which one it is says a Lease of the cluster. The engines have leases of their own, in their store:
they are to end up with the same process, for what is written on objects is what its engine knows.
So an engine lets its leases run out while another process is seen to be elected.

Who looked on may have missed what people wrote: before a process takes over it reads all anew, for
else it would bring a fleet back to the size of before, and end machines that are wanted.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import structlog
from msgspec import Struct

from hostler.domain.errors import HostlerError
from hostler.kubernetes.backoff import Draw
from hostler.kubernetes.election import Candidate, Elector, Leases
from hostler.ports.clock import Clock

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.kubernetes")

LEASE = "hostler-objects"
"""The Lease whose holder writes on objects, where several engines have one store."""

LOOK = timedelta(seconds=1)
"""How often it is looked whether this process leads: by less than a lease lasts beyond belief."""

PATIENCE = timedelta(seconds=30)
"""How long machines wait for a process that cannot read anew; then what it saw last must do.

Where records are ahead of that it does not: machines that are well would be taken for lost, or end.
"""

Tells = Callable[[], bool]


class Election(Struct, frozen=True, kw_only=True):
    """What tells whether this process is elected now, and whether another one is.

    Neither may be: while the API server is away, or nobody was seen to be elected yet.
    """

    leads: Tells
    yields: Tells


ALONE = Election(leads=lambda: True, yields=lambda: False)
"""The election of a process that alone has its records."""


@asynccontextmanager
async def elected(
    leases: Leases, candidate: Candidate, clock: Clock, draw: Draw
) -> AsyncGenerator[Election]:
    """Stand for election while the block lasts; give back what was won at its end."""
    elector = Elector(leases, candidate, clock, draw)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(elector.run((LEASE,)))
        try:
            yield Election(
                leads=lambda: elector.holding(LEASE) is not None,
                yields=lambda: elector.is_others(LEASE),
            )
        finally:
            running.cancel()


class Successor:
    """Lets a process take over from another one only after it `catches_up`.

    Its `election` is that of before, but that it neither leads nor takes anything until then; nor
    does it for `PATIENCE` after it was elected itself: it may have stood still, and another one
    leads by now. `behind` says why it cannot go on with what it saw last, where it cannot catch up;
    empty where it can.
    """

    def __init__(
        self,
        election: Election,
        catches_up: Callable[[], Awaitable[None]],
        behind: Callable[[], Awaitable[str]],
        clock: Clock,
    ) -> None:
        self._election, self._clock = election, clock
        self._catches_up, self._behind = catches_up, behind
        self._is_behind, self._seen = False, 0
        self._was_elected = False
        self._unsure_since: float | None = None
        self.election = Election(leads=self._leads, yields=self._yields)

    def _leads(self) -> bool:
        return self._election.leads() and not self._is_behind

    def _yields(self) -> bool:
        """Tell whether to yield; from the moment on that another one was seen to be elected."""
        if self._election.yields():
            self._is_behind, self._seen = True, self._seen + 1
            self._was_elected = False
        return self._is_behind or self._is_unsure()

    def _is_unsure(self) -> bool:
        """Tell whether it was elected, and has not had the time since to see who is.

        That begins when it first notices: while a process stands still it asks nobody.
        """
        if self._election.leads():
            self._was_elected, self._unsure_since = True, None
            return False
        if not self._was_elected:
            return False
        now = self._clock.boot()
        since = self._unsure_since = now if self._unsure_since is None else self._unsure_since
        self._was_elected = now - since < PATIENCE.total_seconds()
        return self._was_elected

    async def run(self) -> None:
        """Catch up whenever nobody else is elected any more; for ever.

        Who is elected meanwhile, and for a moment only, is one more to catch up with.
        """
        while True:
            if self._yields() and self._is_behind and not self._election.yields():
                seen = self._seen
                await self._catch_up()
                self._is_behind = self._seen != seen
            await self._clock.sleep(LOOK)

    async def _catch_up(self) -> None:
        while True:
            try:
                async with asyncio.timeout(PATIENCE.total_seconds()):
                    return await self._caught_up()
            except TimeoutError:
                why = await self._why_not_unread()
            if not why:
                log.warning("kubernetes.taking_over_unread", seconds=PATIENCE.total_seconds())
                return None
            log.warning("kubernetes.not_taking_over", why=why)

    async def _why_not_unread(self) -> str:
        """Return why this process cannot take over with what it saw last; empty where it can."""
        try:
            return await self._behind()
        except HostlerError as error:
            return str(error)

    async def _caught_up(self) -> None:
        while True:
            try:
                await self._catches_up()
            except HostlerError as error:
                log.warning("kubernetes.not_read", error=str(error))
                await self._clock.sleep(LOOK)
            else:
                return


async def while_leading(run: Callable[[], Awaitable[None]], clock: Clock, leads: Tells) -> None:
    """Do something whenever this process leads, and not otherwise; for ever."""
    running: asyncio.Task[None] | None = None

    async def lead() -> None:
        await run()

    async with asyncio.TaskGroup() as group:
        while True:
            if leads() and running is None:
                running = group.create_task(lead())
            elif running is not None and not leads():
                running.cancel()
                running = None
            await clock.sleep(LOOK)
