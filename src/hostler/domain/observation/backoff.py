"""Back-off: how long a call is left alone after a refusal, or after an outcome nobody knows.

One table for machines and hosts. Spread by a hash, so that a decision can be repeated.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from hostler.domain.ids import jitter
from hostler.domain.model.calls import Call, Refusal, Refused

_SECOND = timedelta(seconds=1)
_SPREAD = timedelta(milliseconds=500)
_UNKNOWN = (1 * _SECOND, 2 * _SECOND, 5 * _SECOND, 15 * _SECOND)

LONGEST: Mapping[Refusal, timedelta] = {
    Refusal.BUSY: 15 * _SECOND,
    Refusal.RATE: 15 * _SECOND,
    Refusal.NOT_SENT: 15 * _SECOND,
    Refusal.WRONG_STATE: 60 * _SECOND,
    Refusal.STOCK: 60 * _SECOND,
    Refusal.QUOTA: 60 * _SECOND,
    Refusal.INVALID: 60 * _SECOND,
    Refusal.DENIED: 60 * _SECOND,
    Refusal.BOOTSTRAP: 60 * _SECOND,
}
"""The longest pause after each refusal: what heals by itself is asked for sooner."""

LONGEST_ASKED = timedelta(minutes=10)
"""The longest pause that a provider, a device or an API server may ask for: a machine that ends is
billed until its calls are made, so they are tried for as long as its bounds last."""

_STEADY = frozenset({Refusal.BUSY, Refusal.RATE, Refusal.NOT_SENT})
"""What is asked for again after 1 s, and later a second more for every eight tries."""


def after_refusal(refused: Refused, tries: int) -> timedelta:
    """Return how long a call is left alone that was refused so many times in a row.

    That is for as long as whoever refused it asks for, where it does.
    """
    if refused.after:
        return min(refused.after, LONGEST_ASKED)
    why = refused.why
    grown = _SECOND * (1 + tries // 8 if why in _STEADY else 2 ** min(tries, 10))
    return min(grown, LONGEST[why])


def after_unknown(tries: int) -> timedelta:
    """Return how long a call is left alone whose outcome is not known: 1 s, then up to 15 s."""
    return _UNKNOWN[min(tries, len(_UNKNOWN)) - 1]


def retry_at(subject: str, call: Call, tries: int, pause: timedelta, now: datetime) -> datetime:
    """Return when a call may be made again, spread by who makes it and how often it was tried."""
    return now + pause + jitter(f"{subject} {call.kind} {tries} {now.timestamp()}", _SPREAD)
