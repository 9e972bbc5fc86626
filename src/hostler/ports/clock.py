"""Clock: the time on the wall, and the time since the machine's start that no clock jump moves."""

from datetime import datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Tells the time and waits; under simulation both are the world's."""

    def now(self) -> datetime:
        """Return the time on the wall, aware, in UTC; it may jump."""
        ...

    def boot(self) -> float:
        """Return seconds since some fixed start; they go on through suspend and never jump."""
        ...

    async def sleep(self, time: timedelta) -> None:
        """Wait this long in boot time."""
        ...
