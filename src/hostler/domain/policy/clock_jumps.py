"""Clock jumps: what becomes of recorded times that lie in the future once the clock jumped back."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import overload

from msgspec import Struct

_APART = timedelta(microseconds=1)


class CaughtUp(Struct, frozen=True):
    """Says what each recorded time is from now on: whatever counts from it begins anew.

    Times that came one after the other still do, a microsecond apart: that a machine was switched
    on after it had rested is known by nothing else.
    """

    by: Mapping[datetime, datetime]

    @overload
    def __call__(self, at: datetime) -> datetime: ...
    @overload
    def __call__(self, at: datetime | None) -> datetime | None: ...
    def __call__(self, at: datetime | None) -> datetime | None:
        """Return the time itself, or what it is now where it lay in the future."""
        return None if at is None else self.by.get(at, at)

    def end(self, at: datetime | None, since: datetime | None) -> datetime | None:
        """Return the end of a wait that began then: it begins anew where that lay in the future."""
        return at if at is None or since is None else at - (since - self(since))


def caught_up(times: Iterable[datetime | None], now: datetime) -> CaughtUp | None:
    """Return what becomes of a record's times, or None where none of them is to come."""
    late = {at for at in times if at is not None and at > now}
    if not late:
        return None
    newest_first = enumerate(sorted(late, reverse=True))
    return CaughtUp({at: now - place * _APART for place, at in newest_first})
