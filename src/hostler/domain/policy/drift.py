"""Drift: when a changed list of commands is brought to a host that is in use, and when no more.

A host that is in use is neither rebooted nor wiped because a change does not reach it: it stays as
it is, is said to be stuck, and is tried again after a long while, or at once when the list changes.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from .remediation import PAUSES, pause_after

_MIN = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolls:
    """How often a change is tried: `attempts` in a row (0: always), then once a `cooldown` (0: no).

    Between attempts lie the `pauses`, of which the last one repeats.
    """

    attempts: int = 5
    cooldown: timedelta = 30 * _MIN
    pauses: tuple[timedelta, ...] = PAUSES


ROLLS = Rolls()
"""How often a change is tried everywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What is remembered: the digest that failed last, how often in a row, and when."""

    digest: str = ""
    failures: int = 0
    last: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Roll:
    """Whether to try now, or when; `stuck` says that the attempts in a row are used up.

    It stays stuck while it is tried after a cooldown, so that an alarm does not come and go.
    """

    due: bool
    why: str
    again: datetime | None = None
    stuck: bool = False


def next_roll(drift: Drift, wanted: str, applied: str, now: datetime, rolls: Rolls) -> Roll:
    """Return whether to bring the wanted list to a host that carries the applied one. Total.

    Failures count against the digest that failed, not against the one that is applied: a list that
    is wished anew is tried at once, and one that fails is not tried for ever.
    """
    if wanted in {"", applied}:
        return Roll(due=False, why="the host carries what is wanted")
    if drift.digest != wanted or not drift.failures:
        return Roll(due=True, why="the list changed")
    stuck = 0 < rolls.attempts <= drift.failures
    pause = rolls.cooldown if stuck else pause_after(drift.failures, rolls.pauses)
    why = f"it failed {drift.failures} times in a row" if drift.failures > 1 else "it failed once"
    if stuck and not rolls.cooldown:
        return Roll(due=False, why=why, stuck=True)
    if drift.last is None or not drift.last <= now < drift.last + pause:
        return Roll(due=True, why=why, stuck=stuck)
    return Roll(due=False, why=why, again=drift.last + pause, stuck=stuck)


def roll_failed(drift: Drift, digest: str, now: datetime) -> Drift:
    """Return the memory after this digest could not be applied."""
    before = drift.failures if drift.digest == digest else 0
    return Drift(digest=digest, failures=before + 1, last=now)
