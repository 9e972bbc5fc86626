"""Demand: how many machines were wanted when, as steps; recorded, generated, or forecast."""

from bisect import bisect_right
from datetime import datetime, timedelta

from msgspec import Struct

Span = tuple[datetime, datetime]


class Demand(Struct, frozen=True, kw_only=True):
    """How many machines are wanted from each time on, in order; nothing before the first.

    Nothing is known from `until` on: a forecast must not take silence for quiet.
    """

    times: tuple[datetime, ...]
    wanted: tuple[int, ...]
    until: datetime

    def __post_init__(self) -> None:
        if len(self.times) != len(self.wanted):
            raise ValueError("a step is a time and a number")
        if any(a >= b for a, b in zip(self.times, self.times[1:], strict=False)):
            raise ValueError("the times of the steps must rise")

    @property
    def start(self) -> datetime:
        """When the record begins."""
        return self.times[0] if self.times else self.until

    def at(self, time: datetime) -> int:
        """Return how many are wanted at a time."""
        place = bisect_right(self.times, time) - 1
        return self.wanted[place] if place >= 0 and time < self.until else 0

    def known(self, until: datetime) -> "Demand":
        """Return what is known of the demand at a time: nothing of what comes after it."""
        place = bisect_right(self.times, until)
        return Demand(times=self.times[:place], wanted=self.wanted[:place], until=until)

    def since(self, start: datetime) -> "Demand":
        """Return the demand from a time on."""
        if not self.times or start <= self.start:
            return self
        later = [(t, n) for t, n in zip(self.times, self.wanted, strict=True) if t > start]
        return demand_of([(start, self.at(start)), *later], max(start, self.until))


def demand_of(steps: list[tuple[datetime, int]], until: datetime) -> Demand:
    """Return steps as a demand: the last of a time counts, and what changes nothing is left out."""
    changes = list[tuple[datetime, int]]()
    for time, wanted in sorted(steps, key=_time):
        if changes and changes[-1][0] == time:
            changes.pop()
        if not changes or changes[-1][1] != wanted:
            changes.append((time, wanted))
    return Demand(
        times=tuple(time for time, _ in changes),
        wanted=tuple(wanted for _, wanted in changes),
        until=until,
    )


def machine_hours(demand: Demand) -> float:
    """Return the hours of machines that a demand asks for in all."""
    ends = (*demand.times[1:], demand.until)
    spans = zip(demand.times, ends, demand.wanted, strict=True)
    return sum(wanted * ((end - time) / timedelta(hours=1)) for time, end, wanted in spans)


def _time(step: tuple[datetime, int]) -> datetime:
    return step[0]
