"""Where paid hours went, host by host, so that two ways to serve a demand can be compared.

Every paid hour of a host has one cause, so the differences add up to the difference in all.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from .backtest import Life

_HOUR = timedelta(hours=1)


class Cause(StrEnum):
    """What a paid hour went into."""

    WORK = "work"
    VAIN = "bought in vain"
    EARLY = "bought too early"
    BETWEEN = "idle inside the window"
    TAIL = "window tails"
    LINGERING = "lingering until the next"
    LATE = "late ends"


def causes(lives: Iterable[Life], floor: timedelta) -> Mapping[Cause, float]:
    """Return the paid hours of these hosts by their cause."""
    found = dict.fromkeys(Cause, 0.0)
    for life in lives:
        for cause, start, end in _spans(life, life.delivered + floor):
            found[cause] += (end - start) / _HOUR
    return found


def _spans(life: Life, due: datetime) -> Iterator[tuple[Cause, datetime, datetime]]:
    if not life.worked:
        yield Cause.VAIN, life.delivered, life.ended
        return
    at = life.delivered
    for number, (begun, done) in enumerate(life.worked):
        if number == 0:
            yield Cause.EARLY, at, begun
        else:
            yield Cause.BETWEEN, at, max(at, min(begun, due))
            yield Cause.LINGERING, max(at, min(begun, due)), begun
        yield Cause.WORK, begun, done
        at = done
    inside = max(at, min(life.ended, due))
    yield Cause.TAIL, at, inside
    yield Cause.LATE, inside, life.ended
