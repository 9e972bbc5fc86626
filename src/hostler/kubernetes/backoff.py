"""Back-off: longer and longer pauses, none of them like another's. Pure."""

from collections.abc import Callable
from datetime import timedelta

from msgspec import Struct

Draw = Callable[[], float]
"""Gives a number from 0 up to, and without, 1: `random.Random(seed).random`."""


class Backoff(Struct, frozen=True, kw_only=True):
    """The first pause, by what each next one is longer, and the longest."""

    first: timedelta = timedelta(milliseconds=500)
    factor: float = 2.0
    longest: timedelta = timedelta(seconds=30)

    def pause(self, failures: int) -> timedelta:
        """Return the pause after so many failures in a row; none after none."""
        if failures <= 0:
            return timedelta(0)
        seconds = self.first.total_seconds()
        longest = self.longest.total_seconds()
        for _ in range(failures - 1):
            seconds *= self.factor
            if seconds >= longest:
                break
        return timedelta(seconds=min(seconds, longest))

    def jittered(self, failures: int, draw: Draw) -> timedelta:
        """Return the pause, or less of it, down to half: many clients do not come back at once."""
        return self.pause(failures) * (0.5 + draw() / 2)
