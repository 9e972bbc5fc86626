"""Clocks that nobody waits for: SimClock over a simulated loop, RigClock as a rig says.

UnaskedClock is for what needs a clock and may never ask it.
"""

import asyncio
from datetime import UTC, datetime, timedelta

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
"""The date at simulated time zero."""


class SimClock:
    """One host's clock: `wall` is by how much its wall clock is off the true date.

    The wall can jump; the time since boot cannot.
    """

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


class RigClock:
    """A clock that stands still until it is told to pass, or until somebody sleeps on it."""

    def __init__(self) -> None:
        self._passed = self._jumped = timedelta(0)

    def now(self) -> datetime:
        """Return the time on the wall."""
        return BEGINNING + self._passed + self._jumped

    def boot(self) -> float:
        """Return seconds since the clock was made."""
        return self._passed.total_seconds()

    async def sleep(self, time: timedelta) -> None:
        """Let this time pass at once."""
        self.pass_by(time)

    def pass_by(self, time: timedelta) -> None:
        """Let this time pass."""
        self._passed += time

    def jump(self, time: timedelta) -> None:
        """Set the clock on the wall forward, or back."""
        self._jumped += time


class UnaskedClock:
    """A clock that nobody asks: it raises NotImplementedError."""

    def now(self) -> datetime:
        """Raise."""
        raise NotImplementedError

    def boot(self) -> float:
        """Raise."""
        raise NotImplementedError

    async def sleep(self, time: timedelta) -> None:
        """Raise."""
        raise NotImplementedError
