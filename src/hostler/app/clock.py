"""The real clock: the wall's, and the time since the machine's start, suspend included."""

import asyncio
import time
from datetime import UTC, datetime, timedelta

_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_LONGEST = 60.0


class SystemClock:
    """Tells the operating system's time."""

    def now(self) -> datetime:
        """Return the time on the wall."""
        return datetime.now(UTC)  # noqa: TID251 - this is the port's real adapter

    def boot(self) -> float:
        """Return seconds since the machine started; where the system can, through suspend."""
        return time.clock_gettime(_BOOT)

    async def sleep(self, time: timedelta) -> None:
        """Wait this long, after a suspend at most a minute longer."""
        end = self.boot() + time.total_seconds()
        await asyncio.sleep(min(time.total_seconds(), _LONGEST))
        # The loop's own time stands still in a suspend, so it is asked again and again.
        while (left := end - self.boot()) > 0:  # noqa: ASYNC110 - no event tells of boot time
            await asyncio.sleep(min(left, _LONGEST))
