"""Hclog: one line of JSON for each event, as go-plugin reads them from a plugin's stderr.

A line whose `@message`, `@level` or `@timestamp` is no string crashes the host, which here is the
runner with all its jobs (hashicorp/go-plugin v1.8.0, log_entry.go; reference/fleeting.md 1.6). So
those three are strings always, no other key begins with `@`, and a line stays under the 64 KB at
which the host stops reading it as one.
"""

import json
import math
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import cast

LONGEST = 60_000
"""Bytes of a line, its end included."""

_LEVELS: Mapping[str, str] = {
    "trace": "trace",
    "debug": "debug",
    "info": "info",
    "warn": "warn",
    "warning": "warn",
    "error": "error",
    "critical": "error",
    "exception": "error",
    "fatal": "error",
}
_CUTS = (16_000, 4_000, 500, 50)
_DEEPEST = 4


def line(level: str, message: str, at: datetime, fields: Mapping[str, object]) -> bytes:
    """Return one event as a line, cut where it is too long."""
    first = {
        "@level": _LEVELS.get(level.lower(), "info"),
        "@message": message,
        "@timestamp": f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z",
    }
    others = {_key(key): _plain(value) for key, value in fields.items()}
    made = _encoded(first | others)
    for longest in _CUTS:
        if len(made) <= LONGEST:
            return made
        made = _encoded({key: _cut(value, longest) for key, value in (first | others).items()})
    if len(made) <= LONGEST:
        return made
    return _encoded({**first, "@message": _cut(message, _CUTS[0]), "cut": f"{len(others)} keys"})


def _encoded(values: Mapping[str, object]) -> bytes:
    """Return JSON in ASCII: no text can fail to be written, or end the line."""
    return json.dumps(values, allow_nan=False).encode("ascii") + b"\n"


def _key(key: str) -> str:
    return key.lstrip("@") or "value"


def _plain(value: object, depth: int = 0) -> object:
    """Return a value as JSON has it: what JSON does not know is its text."""
    if isinstance(value, str):
        return str.__str__(value)
    if _is_number(value) or value is None:
        return value
    if depth < _DEEPEST and isinstance(value, Mapping):
        inside = cast("Mapping[object, object]", value)
        return {_text(key): _plain(inner, depth + 1) for key, inner in inside.items()}
    if depth < _DEEPEST and isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner, depth + 1) for inner in cast("Collection[object]", value)]
    return _text(value)


def _is_number(value: object) -> bool:
    """Tell whether this is a number that JSON and the host have; Python's may be of any length."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and value.bit_length() < 64


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001 - a value that cannot be shown must not end the log
        return f"<{type(value).__name__}: {type(error).__name__} when shown>"


def _cut(value: object, longest: int) -> object:
    """Return a value that is no longer than this; of a long text, its beginning and its end."""
    if value is None or isinstance(value, int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value)
    if len(text) <= longest:
        return value
    half = longest // 2
    return f"{text[:half]} … {len(text) - longest} characters cut … {text[-half:]}"
