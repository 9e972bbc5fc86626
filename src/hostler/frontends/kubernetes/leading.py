"""Leading: what one process alone does, where several share the records of one installation.

Which one it is says a Lease of the cluster. The engines have leases of their own, in their store:
they are to end up with the same process, for what is written on objects is what its engine knows.
So an engine lets its leases run out while another process is seen to be elected.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from hostler.kubernetes.backoff import Draw
from hostler.kubernetes.election import Candidate, Elector, Leases
from hostler.ports.clock import Clock

LEASE = "hostler-objects"
"""The Lease whose holder writes on objects, where several engines have one store."""

LOOK = timedelta(seconds=1)
"""How often it is looked whether this process leads: by less than a lease lasts beyond belief."""

Tells = Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Election:
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
