"""What a seeded team's CI asks for: days, nights, weekends, lunches, bursts, releases.

Jobs come as a Poisson stream whose rate follows the hour and the day; each takes a time of its own
(log-normal). A machine is wanted for every job under way, and for a while after it, as a runner
keeps idle machines. None of the numbers was measured at a real team: they are our assumption.
"""

from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta
from math import exp, log
from random import Random

from msgspec import Struct

from hostler.domain.policy.demand import Demand, demand_of

_MIN = timedelta(minutes=1)
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)


class Team(Struct, frozen=True, kw_only=True):
    """How much a team builds. Rates are jobs an hour; `job` is the median of a job's minutes.

    `retention` is how long a machine is wanted after its last job; `bursts` is the number of merge
    trains of a working day, each of up to `burst` jobs at once; every other Thursday is a release.
    """

    day: float = 40.0
    night: float = 4.0
    weekend: float = 3.0
    job: float = 18.0
    spread: float = 0.6
    retention: timedelta = 120 * _MIN
    bursts: float = 1.0
    burst: int = 6
    nightly: int = 6
    release: float = 1.2


STEADY = Team()
RESTLESS = Team(retention=60 * _MIN, release=1.5)
"""Machines go one hour after their last job, and releases are of half as much again."""
SPIKY = Team(
    day=6.0,
    night=0.5,
    weekend=0.4,
    retention=60 * _MIN,
    bursts=3.0,
    burst=12,
    nightly=4,
    release=1.5,
)
"""A small team whose demand is mostly merge trains: three a day, of up to twelve jobs at once."""

_HOURS = (
    *(0.0,) * 7,
    *(0.15, 0.5, 0.9, 1.0, 0.95, 0.55, 0.75, 1.0, 1.0, 0.95, 0.7, 0.4, 0.2, 0.1),
    *(0.0,) * 3,
)
"""The part of a working day's rate that comes in each hour; the rest of it is the night's."""


def generated(days: int, seed: int, start: datetime, team: Team | None = None) -> Demand:
    """Return a demand of so many days from a Monday's midnight on; the same seed, the same one."""
    return _Stream(team or Team(), Random(seed), start, days).demand()


class _Stream:
    """One seeded stream of jobs."""

    def __init__(self, team: Team, dice: Random, start: datetime, days: int) -> None:
        self._team, self._dice = team, dice
        self._start, self._days = start, days

    def demand(self) -> Demand:
        """Return how many machines the jobs want, each change at its minute."""
        end = self._start + self._days * _DAY
        under_way = list[tuple[datetime, int]]()
        for begun, done in self._jobs():
            under_way += ((_minute(begun), 1), (_minute(done) + _MIN, -1))
        steps, running = list[tuple[datetime, int]]([(self._start, 0)]), 0
        for time, change in sorted(under_way):
            running += change
            steps.append((time, running))
        most = kept_for(demand_of(steps, end), self._team.retention)
        return demand_of([step for step in most if step[0] < end], end)

    def _jobs(self) -> Iterator[tuple[datetime, datetime]]:
        for number in range(self._days):
            day = self._start + number * _DAY
            for hour in range(24):
                yield from self._hour(day + hour * _HOUR, self._rate(number, hour))
            if number % 7 < 5:
                yield from self._trains(day)
            yield from self._batch(day + 2 * _HOUR, self._team.nightly)

    def _rate(self, number: int, hour: int) -> float:
        team = self._team
        if number % 7 >= 5:
            return team.weekend
        release = number % 14 == 3
        return team.night + team.day * _HOURS[hour] * (team.release if release else 1.0)

    def _hour(self, start: datetime, rate: float) -> Iterator[tuple[datetime, datetime]]:
        time = self._dice.expovariate(rate)
        while time < 1:
            yield self._job(start + time * _HOUR)
            time += self._dice.expovariate(rate)

    def _trains(self, day: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Let merge trains come at any time from eight to eight."""
        time = 8 + self._dice.expovariate(self._team.bursts / 12)
        while time < 20:
            yield from self._batch(day + time * _HOUR, self._dice.randint(2, self._team.burst))
            time += self._dice.expovariate(self._team.bursts / 12)

    def _batch(self, time: datetime, size: int) -> Iterator[tuple[datetime, datetime]]:
        for _ in range(size):
            yield self._job(time + self._dice.random() * 5 * _MIN)

    def _job(self, start: datetime) -> tuple[datetime, datetime]:
        team = self._team
        minutes = exp(self._dice.gauss(log(team.job), team.spread))
        return start, start + max(2.0, minutes) * _MIN


def _minute(time: datetime) -> datetime:
    return time.replace(second=0, microsecond=0)


def kept_for(demand: Demand, time: timedelta) -> list[tuple[datetime, int]]:
    """Return the steps of a demand in which nothing falls before so long a time has passed."""
    changes = {*demand.times, *(at + time for at in demand.times)}
    falling = deque[tuple[datetime, int]]()
    steps, place = list[tuple[datetime, int]](), 0
    for now in sorted(changes):
        while place < len(demand.times) and demand.times[place] <= now:
            ends = demand.times[place + 1] if place + 1 < len(demand.times) else demand.until
            while falling and falling[-1][1] <= demand.wanted[place]:
                falling.pop()
            falling.append((ends + time, demand.wanted[place]))
            place += 1
        while falling and falling[0][0] <= now:
            falling.popleft()
        steps.append((now, falling[0][1] if falling else 0))
    return steps
