"""Units: durations such as "1h30m" and sizes such as "20GB", read and written."""

import re
from datetime import timedelta

_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_BYTES = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}

_STEP = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)(ms|s|m|h|d|w)", re.ASCII)
_DURATION = re.compile(rf"(?:{_STEP.pattern})+", re.ASCII)
_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,6})?) ?([kKMGT]?i?B)", re.ASCII)

A_DURATION = 'a duration such as "30s", "10m", "1h30m" or "24h"'
A_SIZE = 'a size such as "20GB"'


def parse_duration(text: str) -> timedelta:
    """Return the time that a text such as "1h30m" says; ValueError where it says none."""
    if not _DURATION.fullmatch(text):
        raise ValueError(A_DURATION)
    steps = _STEP.findall(text)
    try:
        return sum(
            (timedelta(seconds=float(number) * _SECONDS[unit]) for number, unit in steps),
            timedelta(0),
        )
    except OverflowError as error:
        raise ValueError(A_DURATION) from error


def format_duration(time: timedelta) -> str:
    """Return a time as the fleet file writes it; its largest units first, zero as "0s"."""
    left = round(time.total_seconds() * 1000)
    if left <= 0:
        return "0s"
    text = ""
    for unit in ("d", "h", "m", "s", "ms"):
        size = round(_SECONDS[unit] * 1000)
        count, left = divmod(left, size)
        text += f"{count}{unit}" if count else ""
    return text


def parse_size(text: str) -> int:
    """Return the bytes that a text such as "20GB" says; ValueError where it says none."""
    found = _SIZE.fullmatch(text)
    if found is None or found[2] not in _BYTES:
        raise ValueError(A_SIZE)
    return round(float(found[1]) * _BYTES[found[2]])
