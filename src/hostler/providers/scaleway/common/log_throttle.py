"""Log throttle: a trouble is told as it begins, then once a minute with a count, and as it ends."""

from dataclasses import dataclass
from datetime import timedelta

from hostler.ports.clock import Clock

_APART = timedelta(minutes=1)
_MOST = 64
"""How many kinds of trouble are told apart: their names come from outside, and might never end."""


@dataclass(slots=True)
class _Report:
    """When a kind of trouble was last told of, how often it came since, and whether it ended."""

    at: float
    since: int = 0
    over: bool = False


class Repeats:
    """Counts troubles by kind, and says which are to be told."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._reports = dict[str, _Report]()

    def count(self, kind: str) -> int:
        """Count one; return how many it stands for if it is to be told of, else 0.

        What comes and goes all the time is told once a minute too: an end changes nothing here.
        """
        now, last = self._clock.boot(), self._reports.get(kind)
        if last is not None and now - last.at < _APART.total_seconds():
            last.since += 1
            return 0
        self._make_room()
        self._reports[kind] = _Report(now)
        return 1 + (last.since if last is not None else 0)

    def end(self, kind: str) -> bool:
        """Tell whether this kind was told of, and its end was not."""
        last = self._reports.get(kind)
        if last is None or last.over:
            return False
        last.over = True
        return True

    def _make_room(self) -> None:
        """Forget the kind that was told of longest ago, where there are many."""
        if len(self._reports) >= _MOST:
            del self._reports[min(self._reports, key=lambda kind: self._reports[kind].at)]
