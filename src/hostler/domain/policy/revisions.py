"""Revisions: what is remembered of the setup script that is in force for a fleet's hosts.

A revision is known by its digest. Another list is another revision, of which nothing is known yet.
"""

from datetime import datetime, timedelta

from msgspec import Struct

from hostler.domain.ids import FleetName, HostId

from .remediation import PAUSES, pause_after


class Tried(Struct, frozen=True, kw_only=True):
    """How the newest run of a list came out at a host, for a machine of this fleet.

    `number` is the command that failed, of as many as `of`, and 0 where all ran; `ended` says how
    it failed (`exit 1`), without a word of the command itself.
    """

    digest: str = ""
    fleet: FleetName = FleetName("")
    at: datetime | None = None
    number: int = 0
    of: int = 0
    ended: str = ""


class Lapse(Struct, frozen=True, kw_only=True):
    """A host at which the list failed last, when, at which command, and how."""

    host: HostId
    at: datetime
    number: int
    of: int
    ended: str


class Revision(Struct, frozen=True, kw_only=True):
    """One revision in one fleet: in force since when, when it worked last, and where it failed.

    `broken` is since when the script itself is held to be at fault; `cleared` is when that was last
    taken back because it worked somewhere: what failed up to then says nothing any more.
    """

    digest: str = ""
    since: datetime | None = None
    worked: datetime | None = None
    failed: tuple[Lapse, ...] = ()
    broken: datetime | None = None
    cleared: datetime | None = None

    @property
    def retry(self) -> datetime | None:
        """From when on its failures count, and what waits for it has its whole time again."""
        return max((at for at in (self.since, self.cleared) if at is not None), default=None)


_MIN = timedelta(minutes=1)


class Rolls(Struct, frozen=True, kw_only=True):
    """How often a change is tried: `attempts` in a row (0: always), then once a `cooldown` (0: no).

    Between attempts lie the `pauses`, of which the last one repeats.
    """

    attempts: int = 5
    cooldown: timedelta = 30 * _MIN
    pauses: tuple[timedelta, ...] = PAUSES


ROLLS = Rolls()
"""How often a change is tried everywhere."""


class Drift(Struct, frozen=True, kw_only=True):
    """What is remembered: the digest that failed last, how often in a row, and when."""

    digest: str = ""
    failures: int = 0
    last: datetime | None = None


class Roll(Struct, frozen=True, kw_only=True):
    """Whether to try now, or when; `stuck` says that the attempts in a row are used up.

    It stays stuck while it is tried after a cooldown, so that an alarm does not come and go.
    """

    due: bool
    why: str
    retry_at: datetime | None = None
    stuck: bool = False


def next_roll(drift: Drift, wanted: str, applied: str, now: datetime, rolls: Rolls) -> Roll:
    """Return whether to bring the wanted script to a host that carries the applied one. Total.

    Failures count against the digest that failed, not against the one that is applied: a list that
    is asked for again is tried at once, and one that fails is not tried for ever.
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
    return Roll(due=False, why=why, retry_at=drift.last + pause, stuck=stuck)


def roll_failed(drift: Drift, digest: str, now: datetime) -> Drift:
    """Return the memory after this digest could not be applied."""
    before = drift.failures if drift.digest == digest else 0
    return Drift(digest=digest, failures=before + 1, last=now)
