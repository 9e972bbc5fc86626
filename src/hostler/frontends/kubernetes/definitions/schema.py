"""Schema: a table of the fleet file as the OpenAPI schema of an object's fields. Pure.

Everything comes from the Struct that decodes the file: types, limits, choices, descriptions. What
it says of two keys together is in `rules.py`, and judged again when the object is read.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from typing import Any, cast, get_args, get_origin

import msgspec
from msgspec import Struct, field
from msgspec.structs import FieldInfo

from hostler.config.structure import (
    bare_of,
    choices,
    described,
    extra,
    is_size,
    metas,
    struct_of,
)
from hostler.config.units import format_duration

from .notation import (
    SECRET_KEY_PATTERN,
    key_in_object,
    local_words,
    names_secret,
    object_fields,
)

Schema = Mapping[str, object]

DURATION = r"^([0-9]{1,9}(\.[0-9]{1,6})?(ms|s|m|h|d|w))+$"
SIZE = r"^[0-9]{1,9}(\.[0-9]{1,6})? ?(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)$"
_SOME = {"pattern": "[1-9]"}
"""A duration with a digit that is not zero."""
_FREE_TEXT = 65_536
_EXTENDED = re.compile(r"\(\?")
"""What patterns of files may have, and Kubernetes' own expressions have not."""


class Fields(Struct, frozen=True, kw_only=True):
    """The properties of an object, and which of them must be there."""

    properties: Mapping[str, Schema] = field(default_factory=dict[str, Schema])
    required: tuple[str, ...] = ()

    def with_others(self, others: "Fields") -> "Fields":
        """Return these and others, which must not have the same names."""
        if both := self.properties.keys() & others.properties.keys():
            raise ValueError(f"a key of two tables: {', '.join(sorted(both))}")
        return Fields(
            properties={**self.properties, **others.properties},
            required=(*self.required, *others.required),
        )

    def schema(self, description: str = "") -> dict[str, object]:
        """Return the schema of the object that has them."""
        made: dict[str, object] = {"type": "object"}
        if description:
            made["description"] = description
        made["properties"] = self.properties
        if self.required:
            made["required"] = list(self.required)
        return made


def fields_in_object(struct: type[object], without: Collection[str] = ()) -> Fields:
    """Return the properties that a Struct's fields are, but for the file's keys `without`."""
    fields = [f for f in object_fields(struct) if f.encode_name not in without]
    words = local_words(struct)
    return Fields(
        properties={key_in_object(f.encode_name): _of_field(f, words) for f in fields},
        required=tuple(key_in_object(f.encode_name) for f in fields if f.required),
    )


def sentence(struct: type[object]) -> str:
    """Return what a Struct's docstring says first."""
    return (struct.__doc__ or "").splitlines()[0]


def _of_field(field: FieldInfo, words: Collection[str]) -> Schema:
    schema = _of_type(field.type, words)
    if names_secret(field):
        schema |= {"pattern": SECRET_KEY_PATTERN, "maxLength": 253}
    text = " ".join(_description(field))
    return {"description": text, **schema} if text else schema


def _description(field: FieldInfo) -> Iterator[str]:
    text = described(field.type)
    inner = struct_of(bare_of(field.type, None))
    if not text and inner is not None:
        text = sentence(inner)
    if text:
        yield f"{text[0].upper()}{text[1:].rstrip('.')}."
    if names_secret(field):
        yield "Here: the name of a key in the Secret of `secretName`."
    if (extra_text := extra(field.type, "expected")) and inner is None:
        yield f"It is {extra_text}."
    default = _default(field)
    if default:
        yield f"Default: {default}."


def _default(field: FieldInfo) -> str:
    """Return a default as an object would have it; empty where there is none to tell of."""
    value: object = field.default
    if value is msgspec.NODEFAULT or value is None or isinstance(value, dict | msgspec.Struct):
        return ""
    if isinstance(value, tuple):
        return ", ".join(_written(one) for one in cast("tuple[object, ...]", value))
    return _written(value)


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return format_duration(value) if isinstance(value, timedelta) else str(value)


def _of_type(kind: object, words: Collection[str] = ()) -> dict[str, object]:
    """Return the schema of a value."""
    bare = bare_of(kind, None)
    struct = struct_of(bare)
    if struct is not None:
        return fields_in_object(struct).schema(sentence(struct))
    if get_origin(bare) is tuple:
        return _of_list(kind, bare)
    if get_origin(bare) is dict:
        values = _of_type(get_args(bare)[1])
        return {"type": "object", "additionalProperties": values}
    if bare is object or bare is Any:
        return {"x-kubernetes-preserve-unknown-fields": True}
    if bare is timedelta or is_size(kind):
        return _of_amount(kind, SIZE if is_size(kind) else DURATION)
    return _of_scalar(kind, bare, words)


def _of_amount(kind: object, pattern: str) -> dict[str, object]:
    """Return the schema of what is written with a unit."""
    some = {"allOf": [_SOME]} if extra(kind, "positive") else {}
    return {"type": "string", "pattern": pattern, "maxLength": 64, **some}


def _of_list(kind: object, bare: object) -> dict[str, object]:
    least = next((meta.min_length for meta in metas(kind) if meta.min_length), 0)
    made: dict[str, object] = {
        "type": "array",
        "items": _of_type(get_args(bare)[0]),
        "x-kubernetes-list-type": "atomic",
    }
    return made | ({"minItems": least} if least else {})


def _of_scalar(kind: object, bare: object, words: Collection[str]) -> dict[str, object]:
    if bare is Any:
        return {"x-kubernetes-preserve-unknown-fields": True}
    made: dict[str, object] = {"type": _name_of(bare)}
    if found := _values(bare, words):
        return made | {"enum": found}
    for meta in reversed(metas(kind)):
        limits = {
            "minimum": meta.ge,
            "maximum": meta.le,
            "minLength": meta.min_length,
            "maxLength": meta.max_length,
            "pattern": _pattern(meta.pattern),
        }
        made |= {name: limit for name, limit in limits.items() if limit is not None}
    if made["type"] == "string":
        made.setdefault("maxLength", _FREE_TEXT)
    return made


def _values(bare: object, words: Collection[str]) -> list[object]:
    """Return the values that a type has where they can be counted."""
    numbers = [one for one in get_args(bare) if isinstance(one, int)]
    return [*numbers] or [word for word in choices(bare) if word not in words]


def _name_of(bare: object) -> str:
    if bare is bool:
        return "boolean"
    if bare is int or any(isinstance(one, int) for one in get_args(bare)):
        return "integer"
    if bare is float:
        return "number"
    if bare is str or choices(bare):
        return "string"
    raise TypeError(f"no schema for {bare!r}")


def _pattern(pattern: str | None) -> str | None:
    """Return a pattern that Kubernetes can read too, or None."""
    return None if pattern is None or _EXTENDED.search(pattern) else pattern
