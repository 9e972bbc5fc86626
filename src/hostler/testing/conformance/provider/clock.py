"""RigClock: time that passes only when a rig says so; nothing really waits."""

from datetime import UTC, datetime, timedelta

_START = datetime(2026, 1, 1, tzinfo=UTC)


class RigClock:
    """A clock that stands still until it is told to pass, or until somebody sleeps on it."""

    def __init__(self) -> None:
        self._passed = timedelta(0)

    def now(self) -> datetime:
        """Return the time on the wall."""
        return _START + self._passed

    def boot(self) -> float:
        """Return seconds since the clock was made."""
        return self._passed.total_seconds()

    async def sleep(self, time: timedelta) -> None:
        """Let this time pass at once."""
        self.pass_by(time)

    def pass_by(self, time: timedelta) -> None:
        """Let this time pass."""
        self._passed += time
