"""Functions: those that rules of definitions use."""

import re
from collections.abc import Callable, Mapping
from typing import Any

Function = Callable[..., Any]


def _size(value: Any) -> int:
    return len(value)


def _int(value: Any) -> int:
    return int(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _kind(value: Any) -> str:
    return type(value).__name__


def _matches(text: str, pattern: str) -> bool:
    return re.search(pattern, text, re.ASCII) is not None


def _duration(text: str) -> float:
    """Return seconds."""
    units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
    parts = re.findall(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m|h)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text.lstrip("-"):
        raise ValueError(f"{text!r} is no duration")
    seconds = sum(float(number) * units[unit] for number, unit in parts)
    return -seconds if text.startswith("-") else seconds


def _is_sorted(items: list[Any]) -> bool:
    return items == sorted(items)


def _joined(items: list[str], joint: str = "") -> str:
    return joint.join(items)


FUNCTIONS: Mapping[str, Function] = {
    "size": _size,
    "int": _int,
    "double": float,
    "string": _text,
    "type": _kind,
    "bool": bool,
    "duration": _duration,
}
METHODS: Mapping[str, Function] = {
    "size": _size,
    "matches": _matches,
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "contains": str.__contains__,
    "lowerAscii": str.lower,
    "upperAscii": str.upper,
    "trim": str.strip,
    "replace": str.replace,
    "split": str.split,
    "join": _joined,
    "indexOf": str.find,
    "isSorted": _is_sorted,
    "sum": sum,
    "min": min,
    "max": max,
}
