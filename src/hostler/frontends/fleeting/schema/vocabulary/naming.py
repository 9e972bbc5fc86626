"""Naming: the names of a schema taken apart into words, whatever their spelling."""

import re
from functools import lru_cache

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_UNITS = {
    "s": ("s", "sec", "secs", "second", "seconds"),
    "ms": ("ms", "msec", "msecs", "milli", "millis", "millisecond", "milliseconds"),
    "us": ("us", "usec", "usecs", "micro", "micros", "microsecond", "microseconds"),
    "ns": ("ns", "nsec", "nsecs", "nano", "nanos", "nanosecond", "nanoseconds"),
    "m": ("mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
    "d": ("day", "days"),
}
_UNIT_OF = {word: unit for unit, words in _UNITS.items() for word in words}
_POINTS = frozenset({"at", "on", "time", "date", "unix", "epoch", "timestamp"})
_ENDS = frozenset({"at", "time", "date", "epoch", "unix"})
_ALONE = frozenset(
    {
        *("timestamp", "since", "until", "after", "before", "seen", "deadline", "expiry"),
        *("expires", "expiration", "ttl", "age", "uptime", "lifetime", "latency", "duration"),
    }
)
_DATE = frozenset({"year", "month"})
_SINCE = {"unix": "s", "epoch": "s", "timestamp": ""}


@lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case: `maxSize`, `max_size` and `MAX-SIZE` are the same.

    >>> words("UseStaticCredentials")
    ('use', 'static', 'credentials')
    """
    return tuple(word.lower() for word in _WORD.findall(name))


def plain(name: str) -> str:
    """Return a name in lower case without punctuation, for comparing.

    >>> plain("External_Addr") == plain("externalAddr")
    True
    """
    return "".join(words(name))


def timed(name: str) -> tuple[str, str]:
    """Return the name of a time or duration without its unit, and its unit, as in `_UNITS`, or "".

    >>> timed("expires_at_unix_ms"), timed("expires_unix"), timed("keepalive")
    (('expiresat', 'ms'), ('expires', 's'), ('keepalive', ''))
    """
    rest, unit = list(words(name)), ""
    while len(rest) > 1 and (rest[-1] in _UNIT_OF or rest[-1] in _SINCE):
        word = rest.pop()
        unit = unit or _UNIT_OF.get(word, "") or _SINCE.get(word, "")
    return "".join(rest), unit


def unit(name: str) -> str:
    """Return the unit of a time or duration by its name, which may be nothing else; or "".

    >>> [unit(name) for name in ("expires_ms", "millis", "expires")]
    ['ms', 'ms', '']
    """
    return timed(name)[1] or _UNIT_OF.get(name.lower(), "")


def is_span(name: str) -> bool:
    """Tell whether the name of a time may as well be of a span: it has a unit, and no point.

    >>> [is_span(name) for name in ("expiration_seconds", "expires_at_seconds", "expires_unix_ms")]
    [True, False, False]
    """
    parts = words(name)
    return parts[-1] in _UNIT_OF and not _POINTS.intersection(parts)


def says_when(name: str) -> bool:
    """Tell whether a name is of a time or a span by its last word, or by its unit.

    >>> [says_when(name) for name in ("created_at", "last_seen", "lag_ms", "at", "page_size")]
    [True, True, True, False, False]
    """
    parts = words(name)
    last = parts[-1] if parts else ""
    return last in _ALONE or (len(parts) > 1 and (last in _ENDS or last in _UNIT_OF))


def is_part_of_time(name: str) -> bool:
    """Tell whether a name is a unit of time, or a part of a date, and nothing else."""
    return all(word in _UNIT_OF or word in _SINCE or word in _DATE for word in words(name))


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text that lists them."""
    return frozenset(text.split())
