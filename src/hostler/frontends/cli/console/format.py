"""Format: text that is safe to print, and times and durations as people type them. Pure."""

from datetime import UTC, datetime, timedelta

from hostler.config.units import parse_duration
from hostler.domain.errors import RequestRefused


def clean(text: str) -> str:
    """Return a text that cannot steer a terminal: what does not print is shown as a dot.

    Tabs are spaces, up to the next stop.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else "·" for c in text.expandtabs())


def parse_time(text: str, now: datetime) -> datetime:
    """Return the time that a person means: ISO 8601 (local without a zone), or "10m" for ago."""
    try:
        return now - parse_duration(text)
    except (ValueError, OverflowError):
        pass
    try:
        time = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise RequestRefused(
            f"{text!r} is no time: write 2026-03-01T14:30, or 10m for ten minutes ago"
        ) from error
    if time > now:
        raise RequestRefused(f"{text!r} is yet to come: nobody knows how it stands then")
    return time


def parse_span(text: str) -> timedelta:
    """Return the duration that a person means, which is longer than nothing."""
    try:
        span = parse_duration(text)
    except ValueError as error:
        raise RequestRefused(f"{text!r} is no duration: write 30s, 10m or 1h30m") from error
    if not span:
        raise RequestRefused(f"{text!r} is no time at all: write 30s, 10m or 1h30m")
    return span
