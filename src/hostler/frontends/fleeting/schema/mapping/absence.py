"""Absence: what a single field of an answer says by being left out, and what may be said of it.

Where a schema gives a field a default (proto2, editions), a reader takes that for what was said,
though it can be seen that nothing was.
"""

import json

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor

from hostler.frontends.fleeting.schema.vocabulary.enum_values import values
from hostler.frontends.fleeting.schema.vocabulary.harmless import harmless_at_zero

_BOOLS = ("true", "false")
_TEXTS = frozenset({FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES})
_UNWRITTEN = frozenset(
    {FieldDescriptor.TYPE_BYTES, FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT}
)
"""Types of which an override file can write zero, and not every other value."""


def speaks(one: FieldDescriptor) -> bool:
    """Tell whether a field that is left out says something that may be wrong."""
    if one.is_repeated or one.message_type is not None:
        return False
    return has_default(one) or not (one.has_presence or harmless_at_zero(one))


def has_default(one: FieldDescriptor) -> bool:
    """Tell whether a field that is left out is read as something else than zero."""
    return bool(one.has_default_value and one.default_value)


def speaks_when_unset(one: FieldDescriptor) -> bool:
    """Tell whether a field says a value of its type where none was set."""
    return not one.has_presence or has_default(one)


def unset_words(kind: EnumDescriptor, one: FieldDescriptor) -> frozenset[str]:
    """Return the words of the value that an enum says where none was set."""
    number = one.default_value if has_default(one) else 0
    return frozenset(
        word for word, meant in values(kind).items() if any(n == number for _, n in meant)
    )


def unset_text(one: FieldDescriptor) -> str:
    """Return what a field says where it is left out, as TOML would have it."""
    number: object = one.default_value if has_default(one) else 0
    if one.enum_type is not None:
        return next((str(v.name) for v in one.enum_type.values if v.number == number), "nothing")
    if one.type == FieldDescriptor.TYPE_BOOL:
        return "true" if number else "false"
    if one.type not in _TEXTS:
        return str(number)
    text = number.decode(errors="replace") if isinstance(number, bytes) else number or ""
    return json.dumps(text, ensure_ascii=False)


def values_of(one: FieldDescriptor) -> tuple[str, ...]:
    """Return what an operator may say that a field always is, as TOML."""
    if one.enum_type is not None:
        return tuple(f'"{value.name}"' for value in one.enum_type.values)
    if one.type == FieldDescriptor.TYPE_BOOL:
        return _BOOLS
    zero = '""' if one.type in _TEXTS else "0"
    return (zero,) if one.type in _UNWRITTEN else tuple(dict.fromkeys((zero, unset_text(one))))
