"""Wording: times, durations and sums of money as people read them. Pure."""

from datetime import datetime, timedelta, tzinfo

_UNITS = (
    (timedelta(days=2), 86400, "d"),
    (timedelta(hours=2), 3600, "h"),
    (timedelta(minutes=2), 60, "min"),
)

_LONGEST_NAME = 128
"""How many letters of a name are repeated in a message: real names of hosts are shorter."""


def rounded(duration: timedelta) -> str:
    """Return a duration in its largest whole unit: "45 s", "12 min", "3 h", "8 d"."""
    for least, size, unit in _UNITS:
        if duration >= least:
            return f"{int(duration.total_seconds()) // size} {unit}"
    return f"{max(0, int(duration.total_seconds()))} s"


def until(at: datetime, now: datetime) -> str:
    """Return when something is due, relative to now: "in 12 min", or "now"."""
    return f"in {rounded(at - now)}" if at > now else "now"


def clock_time(at: datetime, now: datetime, zone: tzinfo | None = None) -> str:
    """Return a time of day, with the date unless it is today's; local unless a zone is given."""
    local, today = at.astimezone(zone), now.astimezone(zone)
    form = "%H:%M:%S" if local.date() == today.date() else "%Y-%m-%d %H:%M:%S"
    return local.strftime(form)


def utc(at: datetime) -> str:
    """Return a date and time to the minute, in UTC."""
    return f"{at:%Y-%m-%d %H:%M} UTC"


def euros(amount: float) -> str:
    """Return an amount with as many decimals as it takes to tell it from nothing."""
    if amount == 0:
        return "€0"
    places = 2 if amount >= 1 else 4
    return f"€{amount:.{places}f}"


def quoted(name: str) -> str:
    """Return a name that somebody typed, on one line and not longer than a message has room for."""
    line = " ".join(name.split())
    return line if len(line) <= _LONGEST_NAME else f"{line[:_LONGEST_NAME]}…"


def count(number: int, noun: str) -> str:
    """Return a number and its noun: "1 orphan", "2 orphans"."""
    return f"{number} {noun}" if number == 1 else f"{number} {plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a regular noun: "orphans", "addresses"."""
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"
