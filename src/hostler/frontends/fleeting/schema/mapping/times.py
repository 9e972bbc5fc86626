"""Times: times and durations as schemas write them: messages, numbers in a unit, texts."""

import re
from datetime import UTC, datetime

from msgspec import Struct

from hostler.frontends.fleeting.schema.vocabulary.naming import unit

from .leaves import Leaf

_SECOND = 10**9
_LONGER = {"m": 60 * _SECOND, "h": 3600 * _SECOND, "d": 86_400 * _SECOND}
_NANOS = {"s": _SECOND, "ms": 10**6, "us": 10**3, "ns": 1, **_LONGER}
_GO_UNITS = {"µs": 1000, "μs": 1000, **_NANOS}
_GO = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(h|ms|us|µs|μs|ns|m|s)")
_LARGEST = 2**63 - 1


class Raw(Struct, frozen=True):
    """A duration as the wire had it, with the shape and the unit ("" for unknown) of its field."""

    shape: str
    unit: str
    value: object


def unit_of(leaf: Leaf) -> str:
    """Return the unit of a number, as its name tells; "" where it does not."""
    return unit(leaf.field.name)


def same_terms(one: Leaf, other: Leaf, *, alike: bool) -> bool:
    """Tell whether a duration can go from one field to the other without a guess.

    `alike`: both have a known name, so that what is not said of their units is the same.
    """
    if one.shape == other.shape and unit_of(one) == unit_of(other):
        return _known(one) or one.field.name == other.field.name or alike
    return all(_known(leaf) for leaf in (one, other))


def _known(leaf: Leaf) -> bool:
    return leaf.shape in {"Duration", "string"} or bool(unit_of(leaf))


def to_field(raw: Raw, leaf: Leaf) -> object | None:
    """Return a duration in another field's terms: itself where they agree; None for no way."""
    shape, own = leaf.shape, unit_of(leaf)
    if raw.shape == shape and raw.unit == own:
        return raw.value
    nanos = _to_nanos(raw)
    if nanos is None:
        return None
    if shape == "Duration":
        return divmod(nanos, 10**9) if nanos >= 0 else tuple(-n for n in divmod(-nanos, 10**9))
    if shape == "string":
        return f"{nanos / 10**9:.9f}".rstrip("0").rstrip(".") + "s"
    return _number(nanos, leaf) if own in _NANOS else None


def _number(nanos: int, leaf: Leaf) -> object | None:
    """Return a duration as a number in its field's unit; None where it cannot hold the same."""
    own = _NANOS[unit_of(leaf)]
    if leaf.shape != "integer":
        return nanos / own
    number, rest = divmod(nanos, own)
    return number if not rest and _holds(leaf, number) else None


def _holds(leaf: Leaf, number: int) -> bool:
    """Tell whether a whole number is within the range of its field."""
    kind = leaf.type.rpartition(".")[2].lower()
    unsigned = kind.startswith(("uint", "fixed"))
    bits = (32 if "32" in kind else 64) - (not unsigned)
    return (0 if unsigned else -(2**bits)) <= number < 2**bits


def too_small(leaf: Leaf) -> bool:
    """Tell whether a number is too small for the moments of today in its unit."""
    fine = {"ms", "us", "ns"}
    return leaf.shape == "integer" and "32" in leaf.type and unit_of(leaf) in fine


def _to_nanos(raw: Raw) -> int | None:
    """Return the nanoseconds of a duration, or None where nobody knows."""
    match raw.value:
        case (int(seconds), int(nanos)):
            return seconds * 10**9 + nanos
        case str(text):
            return _go_nanos(text)
        case bool():
            return None
        case int(number) | float(number) if raw.unit in _NANOS:
            total = number * _NANOS[raw.unit]
            return int(total) if abs(total) <= _LARGEST else None
        case _:
            return None


def _go_nanos(text: str) -> int | None:
    """Return the nanoseconds of a duration as Go writes it, such as 1m30s."""
    sign = -1 if text.startswith("-") else 1
    rest = text.lstrip("+-")
    found = _GO.findall(rest)
    if not found or "".join(number + unit for number, unit in found) != rest:
        return None
    return sign * int(sum(float(number) * _GO_UNITS[unit] for number, unit in found))


def moment(when: datetime, leaf: Leaf) -> object:
    """Return a time in a field's terms: seconds and nanoseconds, a number, or RFC 3339."""
    micros = int(when.timestamp()) * 10**6 + when.microsecond
    match leaf.shape:
        case "Timestamp":
            return micros // 10**6, micros % 10**6 * 1000
        case "string":
            return when.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case shape:
            own = _NANOS[unit_of(leaf) or "s"]
            return micros * 1000 / own if shape == "double" else micros * 1000 // own


def guessed(leaf: Leaf) -> str:
    """Return what is guessed of a time's encoding, or an empty string."""
    if leaf.shape == "string":
        return "written as RFC 3339, the usual text"
    if leaf.shape in {"integer", "double"} and not unit_of(leaf):
        return "taken to be seconds since 1970: its name has no unit"
    return ""
