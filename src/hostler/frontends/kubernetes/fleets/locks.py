"""Locks: the four annotations by which the older homelab autoscaler locked a node. Pure.

Other tools look at them: they are shown while something is done to a host's power. They guard
nothing of ours. A lock of somebody else is respected until it has expired.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from hostler.queries.power_states import Operation

PREFIX = "homelab-autoscaler.dev"
LOCK, OWNER = f"{PREFIX}/operation-lock", f"{PREFIX}/lock-owner"
AT, TIMEOUT = f"{PREFIX}/lock-timestamp", f"{PREFIX}/lock-timeout"
NONE: Mapping[str, str | None] = dict.fromkeys((LOCK, OWNER, AT, TIMEOUT))
OURS = "hostler"
USUAL = timedelta(minutes=5)
"""How long a lock holds that does not say so, or says it in words: as it was then."""

_LONGEST = 200
"""Letters of a lock's texts that are kept: an annotation may be as long as a whole record."""


class Lock(Struct, frozen=True, kw_only=True):
    """A lock on an object: what for, whose, and until when it holds."""

    operation: str
    owner: str
    until: datetime

    @property
    def is_ours(self) -> bool:
        """Whether we wrote it."""
        return self.owner == OURS or self.owner.startswith(f"{OURS}/")


def lock_of(annotations: Mapping[str, str] | None, now: datetime) -> Lock | None:
    """Return the lock that is on an object, expired or not; None where there is none.

    One without a date that can be read is over: it would hold for ever.
    """
    found = annotations or {}
    if LOCK not in found:
        return None
    try:
        at = datetime.fromisoformat(found.get(AT, ""))
    except ValueError:
        at = datetime.min.replace(tzinfo=UTC)
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    seconds = found.get(TIMEOUT, "")
    length = timedelta(seconds=min(int(seconds[:9]), 86_400)) if seconds.isdecimal() else USUAL
    until = min(aware, now) + length if aware.year > 1 else aware
    operation, owner = found[LOCK][:_LONGEST], found.get(OWNER, "")[:_LONGEST]
    return Lock(operation=operation, owner=owner, until=until)


def foreign_lock(annotations: Mapping[str, str] | None, now: datetime) -> Lock | None:
    """Return a lock of somebody else that holds now."""
    lock = lock_of(annotations, now)
    return lock if lock is not None and not lock.is_ours and lock.until > now else None


def annotations_for(
    present: Mapping[str, str] | None, operation: Operation | None, now: datetime
) -> Mapping[str, str | None]:
    """Return what the annotations are to be: None for each that goes; empty to leave them.

    Expired ones go, whoever wrote them. Where nobody knows since when an operation runs, it is
    since it was first displayed; that is renewed before it expires, and stands still until then.
    """
    if foreign_lock(present, now) is not None:
        return {}
    if operation is None:
        return NONE if lock_of(present, now) is not None else {}
    timeout = operation.timeout or USUAL
    ours = {
        LOCK: str(operation.kind),
        OWNER: OURS if operation.owner == OURS else f"{OURS}/{operation.owner}",
        TIMEOUT: str(int(timeout.total_seconds())),
    }
    begun = _written(operation.since or now)
    if operation.since is None and _stands(present or {}, ours, now + timeout / 2):
        begun = (present or {})[AT]
    return {**ours, AT: begun}


def _stands(present: Mapping[str, str], ours: Mapping[str, str], until: datetime) -> bool:
    """Tell whether this lock of ours is displayed, and holds for longer than until then."""
    lock = lock_of(present, until)
    same = all(present.get(name) == text for name, text in ours.items())
    return same and lock is not None and lock.until > until


def _written(date: datetime) -> str:
    return f"{date.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
