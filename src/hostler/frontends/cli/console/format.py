"""Words: times, sums and spans as people read them, and times as people write them. Pure."""

from datetime import UTC, datetime, timedelta, tzinfo

from hostler.config.units import format_duration, parse_duration
from hostler.domain.errors import RequestRefused

_S = timedelta(seconds=1)
_STEPS = ((timedelta(days=2), 86400, "d"), (timedelta(hours=2), 3600, "h"), (2 * 60 * _S, 60, "m"))

_TYPED = 128
"""How many letters of a name are repeated: the longest names that hosts bear have fewer."""


def clean(text: str) -> str:
    """Return a text that cannot steer a terminal: what does not print is shown as a point.

    Tabs are spaces, up to the next stop.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else "·" for c in text.expandtabs())


def typed(name: str) -> str:
    """Return a name that somebody typed, in one line and as long as a message has room for it."""
    line = " ".join(name.split())
    return line if len(line) <= _TYPED else f"{line[:_TYPED]}…"


def ago(span: timedelta) -> str:
    """Return a span in its largest whole unit: "45s", "12m", "3h", "8d"."""
    for least, size, unit in _STEPS:
        if span >= least:
            return f"{int(span.total_seconds()) // size}{unit}"
    return f"{max(0, int(span.total_seconds()))}s"


def until(at: datetime, now: datetime) -> str:
    """Return when something is due, seen from now."""
    return f"in {ago(at - now)}" if at > now else "now"


def euros(sum_of_money: float) -> str:
    """Return a sum with as many places as it takes to tell it from nothing."""
    if sum_of_money == 0:
        return "€0"
    places = 2 if sum_of_money >= 1 else 4
    return f"€{sum_of_money:.{places}f}"


def clock_time(at: datetime, now: datetime, zone: tzinfo | None = None) -> str:
    """Return a time of day, with the date where it is not today's; local unless a zone is given."""
    local, today = at.astimezone(zone), now.astimezone(zone)
    form = "%H:%M:%S" if local.date() == today.date() else "%Y-%m-%d %H:%M:%S"
    return local.strftime(form)


def parse_time(text: str, now: datetime) -> datetime:
    """Return the time that a person means: ISO 8601 (local without a zone), or "10m" for ago."""
    try:
        return now - parse_duration(text)
    except (ValueError, OverflowError):
        pass
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise RequestRefused(
            f"{text!r} is no time: write 2026-03-01T14:30, or 10m for ten minutes ago"
        ) from error


def parse_span(text: str) -> timedelta:
    """Return the span that a person means."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise RequestRefused(f"{text!r} is no duration: write 30s, 10m or 1h30m") from error


def span(time: timedelta) -> str:
    """Return a span as the fleet file writes it."""
    return format_duration(time)
