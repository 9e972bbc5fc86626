"""Day: how many machines are asked for at each hour, and how the day fits into real seconds. Pure.

Only the day is shortened. What machines and the engine take, they take in real seconds.
"""

import random

from msgspec import Struct

HOURS = 24
_SIZES = (3, 2, 2, 2, 2, 3, 5, 7, 9, 12, 12, 12, 12, 10, 11, 10, 8, 6, 8, 9, 7, 5, 4, 4)
"""What is asked for at each hour: a night, a working day, and an evening."""
PEAK = max(_SIZES)
_PART = 4
"""So many hours have one more or less than usual together."""


def sizes(seed: int) -> tuple[int, ...]:
    """Return how many machines are asked for at each hour, which is about the same on all days.

    From 9 to 13 all are, so that each is switched on.
    """
    dice = random.Random(seed)
    more = [dice.choice((-1, 0, 1)) for _ in range(0, HOURS, _PART)]
    return tuple(
        size if size == PEAK else min(PEAK - 1, size + more[hour // _PART])
        for hour, size in enumerate(_SIZES)
    )


class Day(Struct, frozen=True):
    """A day in so many real seconds."""

    seconds: float
    sizes: tuple[int, ...]

    @property
    def scale(self) -> float:
        """How many seconds of the day one real second is."""
        return HOURS * 3600 / self.seconds

    def hour(self, passed: float) -> float:
        """Return the time of day, in hours, after so many real seconds; it ends at midnight."""
        return min(float(HOURS), passed / self.seconds * HOURS)

    def size(self, passed: float) -> int:
        """Return what is asked for then."""
        return self.sizes[min(HOURS - 1, int(self.hour(passed)))]

    def date(self, passed: float) -> str:
        """Return the time of day as people read it."""
        minutes = int(self.hour(passed) * 60)
        return f"{minutes // 60:02}:{minutes % 60:02}"
