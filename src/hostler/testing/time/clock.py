"""SimClock: the clock port over simulated time; the wall can jump, the time since boot cannot."""

import asyncio
from datetime import UTC, datetime, timedelta

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
"""The date at simulated time zero."""


class SimClock:
    """One host's clock: `wall` is by how much its wall clock is off the true date."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, boot: float = 0.0, wall: float = 0.0
    ) -> None:
        self._loop, self._boot = loop, boot
        self._wall = timedelta(seconds=wall)

    def now(self) -> datetime:
        """Return the time on this host's wall."""
        return BEGINNING + self._wall + timedelta(seconds=self._loop.time())

    def boot(self) -> float:
        """Return seconds since this host's start; a suspend counts."""
        return self._loop.time() + self._boot

    async def sleep(self, time: timedelta) -> None:
        """Wait this long in simulated time."""
        await asyncio.sleep(time.total_seconds())

    @property
    def ahead(self) -> float:
        """By how many seconds the wall is ahead of the true date."""
        return self._wall.total_seconds()

    def jump(self, by: timedelta) -> None:
        """Let the wall clock jump."""
        self._wall += by
