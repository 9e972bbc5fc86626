"""Forecast: what keeping free hosts would come to on days like this one, by arithmetic on counts.

Hosts are alike but for the ends of their windows, so those ends are all there is to say of them.
Along the demand of a recorded day, what is short is bought and what is over and not wanted soon is
ended: that gives the hours that are paid with so many hosts kept for so long, and without.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from .demand import Demand

_DAY = timedelta(days=1)
Backs = Mapping[date, tuple[timedelta, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """How a forecast looks: so far ahead, in steps, at the newest `samples` days like each day.

    `quiet` are the days of the week (Monday is 0, in UTC) that are alike among themselves, and
    unlike the others. `near` is how long a host waits, later on, for what comes for sure; `fades`
    is how long that matters which is otherwise today.
    """

    step: timedelta = timedelta(minutes=30)
    ahead: timedelta = timedelta(days=3)
    samples: int = 5
    quiet: frozenset[int] = frozenset({5, 6})
    near: timedelta = timedelta(hours=2)
    fades: timedelta = timedelta(hours=4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One way in which demand may go on: how many are wanted in each step, and how many soon."""

    wanted: tuple[int, ...]
    soon: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """The ends of the windows of all hosts, in steps from now and in order; and the floor."""

    dues: tuple[int, ...]
    floor: int


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
        courses.append(
            _course(at_work, _faded(wanted, at_work - past.at(now - ago), outlook), outlook)
        )
    return tuple(courses)


def alike(past: Demand, now: datetime, time: datetime, outlook: Outlook) -> tuple[timedelta, ...]:
    """Return how long ago the newest days like a time's were, as far as their record is whole."""
    quiet = time.weekday() in outlook.quiet
    found, ago = list[timedelta](), _DAY
    while len(found) < outlook.samples and time - ago >= past.start:
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


def _course(at_work: int, wanted: Sequence[int], outlook: Outlook) -> Course:
    """Return a course that begins with what is at work now."""
    near = int(outlook.near / outlook.step)
    soon = (max(wanted[n : n + near + 1]) for n in range(len(wanted)))
    return Course(wanted=(at_work, *wanted), soon=(at_work, *soon))


# ---------------------------------------------------------------- what it comes to


def paid(course: Course, windows: Windows, kept: int, until: int) -> int:
    """Return the steps of hosts that are paid along a course; `kept` hosts stay until a step."""
    dues, there, total, soon = deque(windows.dues), len(windows.dues), 0, course.soon
    for n, wanted in enumerate(course.wanted):
        if wanted > there:
            dues.extend([n + windows.floor] * (wanted - there))
            there = wanted
        else:
            least = kept if n < until and kept > soon[n] else soon[n]
            while there > least and dues[0] <= n:
                dues.popleft()
                there -= 1
        total += there
    return total


TIMES = (1, 2, 4, 8, 16, 30)
"""For how many steps it is tried to keep hosts; whoever is kept is asked about again soon."""


def worth_keeping(courses: Sequence[Course], windows: Windows, free: int) -> int:
    """Return how many of the free hosts whose window is over it pays to keep, on average."""

    def cost(kept: int, until: int) -> int:
        return sum(paid(course, windows, kept, until) for course in courses)

    others = len(windows.dues) - free
    best, least = 0, cost(0, 0)
    for number in range(1, free + 1 if courses else 0):
        value = min(cost(others + number, until) for until in TIMES)
        if value >= least:
            break
        best, least = number, value
    return best
