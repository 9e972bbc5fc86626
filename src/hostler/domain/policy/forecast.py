"""Forecast: when free hosts are likely to be wanted again, and what it costs to buy others then.

Hosts are alike, so a free host is wanted as soon as demand exceeds the number of the others. When
that may be is read off the recorded days that were like this one. A host that is bought instead is
paid for a whole floor, and the work of the day needs only a part of it: what the windows of the
recorded time would have lost on the average is what it saves to keep a host that is wanted in time.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta

from msgspec import Struct

from .demand import Demand

_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
Backs = Mapping[date, tuple[timedelta, ...]]
Course = tuple[int, ...]
"""One way in which demand may go on: how many are wanted now, and at most in each step to come."""


class Outlook(Struct, frozen=True, kw_only=True):
    """How a forecast looks: so far ahead, in steps, at all days like each day for so long back.

    `quiet` are the days of the week (Monday is 0, in UTC) that are alike among themselves, and
    unlike the others. `fades` is how long that matters which is otherwise today. `saved` is how
    much of what a window usually loses is saved by not buying one: not all of it, since a host that
    is bought today may spare another one tomorrow.
    """

    step: timedelta = timedelta(minutes=30)
    ahead: timedelta = timedelta(hours=12)
    back: timedelta = timedelta(days=14)
    quiet: frozenset[int] = frozenset({5, 6})
    fades: timedelta = timedelta(hours=2)
    saved: float = 0.85


# ---------------------------------------------------------------- what is likely


def likely(past: Demand, now: datetime, at_work: int, outlook: Outlook) -> tuple[Course, ...]:
    """Return the courses that demand may take, one for each sample; none without a record.

    What is otherwise now than it was then is added at first, and less and less later.
    """
    starts = [now + n * outlook.step for n in range(int(outlook.ahead / outlook.step))]
    firsts = {start.date(): start for start in reversed(starts)}
    backs = {day: alike(past, now, start, outlook) for day, start in firsts.items()}
    courses = list[Course]()
    for number, ago in enumerate(backs[now.date()]):
        wanted = _wanted(past, starts, backs, number, outlook)
        other = at_work - past.at(now - ago)
        courses.append((at_work, *_faded(wanted, other, outlook)))
    return tuple(courses)


def alike(past: Demand, now: datetime, time: datetime, outlook: Outlook) -> tuple[timedelta, ...]:
    """Return how long ago the days like a time's were, as far as their record is whole."""
    quiet = time.weekday() in outlook.quiet
    first = max(past.start, now - outlook.back)
    found, ago = list[timedelta](), _DAY
    while time - ago >= first:
        then = time - ago
        if (then.weekday() in outlook.quiet) is quiet and then + _DAY <= now + outlook.step:
            found.append(ago)
        ago += _DAY
    return tuple(found)


def _wanted(
    past: Demand, starts: Sequence[datetime], backs: Backs, number: int, outlook: Outlook
) -> list[int]:
    """Return the most that was wanted in each step of one sample; nothing where there is none."""
    wanted = list[int]()
    for start in starts:
        back = backs[start.date()]
        wanted.append(_most(past, start - back[number], outlook.step) if number < len(back) else 0)
    return wanted


def _most(past: Demand, start: datetime, step: timedelta) -> int:
    place = bisect_right(past.times, start)
    most, end = past.at(start), start + step
    while place < len(past.times) and past.times[place] < end:
        most = max(most, past.wanted[place])
        place += 1
    return most


def _faded(wanted: Sequence[int], other: int, outlook: Outlook) -> list[int]:
    """Return what is wanted with a difference that fades."""
    steps = int(outlook.fades / outlook.step)
    near = [max(0, most + round(other * (1 - n / steps))) for n, most in enumerate(wanted[:steps])]
    return [*near, *wanted[steps:]]


# ---------------------------------------------------------------- what it comes to


def lost(past: Demand, now: datetime, floor: timedelta, outlook: Outlook) -> timedelta:
    """Return how long, of a whole window, nobody would have been on its host, on the average.

    The record is played hour by hour: what is short is bought, and nothing is kept. Without any
    window a whole floor is lost.
    """
    wanted = _by_hour(past, max(past.start, now - outlook.back), now)
    hours = int(floor / _HOUR)
    paid, idle = _windows(wanted, hours)
    return floor * (idle / paid) if paid else floor


def _by_hour(past: Demand, start: datetime, now: datetime) -> list[int]:
    """Return the most that was wanted in each whole hour from a start on."""
    place, wanted, most = bisect_right(past.times, start), past.at(start), list[int]()
    for hour in range(int((now - start) / _HOUR)):
        begin, end = start + hour * _HOUR, start + (hour + 1) * _HOUR
        highest = wanted
        while place < len(past.times) and past.times[place] < end:
            wanted = past.wanted[place]
            highest = wanted if past.times[place] == begin else max(highest, wanted)
            place += 1
        most.append(highest)
    return most


def _windows(wanted: Sequence[int], floor: int) -> tuple[int, int]:
    """Return the hours of all windows that are bought for a demand, and how many are idle."""
    there = wanted[0] if wanted else 0
    dues, paid, idle = deque([0] * there), 0, 0
    for hour, most in enumerate(wanted):
        if most > there:
            dues.extend([hour + floor] * (most - there))
            paid += (most - there) * min(floor, len(wanted) - hour)
            there = most
        while there > most and dues[0] <= hour:
            dues.popleft()
            there -= 1
        idle += there - most
    return paid, idle


def worth_keeping(courses: Sequence[Course], others: int, free: int, saves: float) -> int:
    """Return how many of the free hosts whose window is over it pays to keep, beside the others.

    `saves` is what it saves, in steps, not to buy a host. Each one more is wanted later than the
    one before, so whoever does not pay ends the count.
    """
    count = 0
    while count < free and _pays(_waits(courses, others + count + 1), len(courses), saves):
        count += 1
    return count


def _waits(courses: Sequence[Course], level: int) -> list[int]:
    """Return after how many steps demand reaches a level, where it does, the soonest first."""
    return sorted(
        next(n for n, wanted in enumerate(course) if wanted >= level)
        for course in courses
        if max(course) >= level
    )


def _pays(waits: Sequence[int], courses: int, saves: float) -> bool:
    """Tell whether there is a time until which a host is kept for less than that is likely to save.

    Where it is wanted by then it is idle until it is wanted, elsewhere for all of the time.
    """
    idle = 0
    for number, wait in enumerate(waits, 1):
        idle += wait
        if idle + (courses - number) * (wait + 1) < number * saves:
            return True
    return False
