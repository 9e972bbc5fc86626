"""Revision: what is remembered of the list of commands that is in force for a fleet's hosts.

A revision is known by its digest. Another list is another revision, of which nothing is known yet.
"""

from dataclasses import dataclass
from datetime import datetime

from hostler.domain.ids import FleetName, HostId


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Lapse:
    """A host at which the list failed last, when, at which command, and how."""

    host: HostId
    at: datetime
    number: int
    of: int
    ended: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One revision in one fleet: in force since when, when it worked last, and where it failed.

    `broken` is since when the list itself is held to be at fault; `cleared` is when that was last
    taken back because it worked somewhere: what failed up to then says nothing any more.
    """

    digest: str = ""
    since: datetime | None = None
    worked: datetime | None = None
    failed: tuple[Lapse, ...] = ()
    broken: datetime | None = None
    cleared: datetime | None = None

    @property
    def anew(self) -> datetime | None:
        """From when on its failures count, and what waits for it has its whole time again."""
        return max((at for at in (self.since, self.cleared) if at is not None), default=None)
