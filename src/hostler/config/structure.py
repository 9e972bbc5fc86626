"""Structure: what the type of a key says of its values: limits, units, words, what is inside.

Types do not change while a program runs, and asking one takes as long as reading a whole table
does otherwise: what they say is remembered, of as many as a configuration has several times over.
"""

from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from types import UnionType
from typing import Annotated, Literal, Union, cast, get_args, get_origin

import msgspec

_REMEMBERED = 4096  # types; a bound, because a table with methods of packages is made anew


@lru_cache(_REMEMBERED)
def fields_of(struct: type[object]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Return the fields of a Struct; TypeError where it is none."""
    return msgspec.structs.fields(cast("type[msgspec.Struct]", struct))


def described(kind: object) -> str:
    """Return the description of a field's type, or an empty string."""
    return next((meta.description for meta in metas(kind) if meta.description), "")


def struct_of(bare: object) -> type[msgspec.Struct] | None:
    """Return a bare type as a Struct, or None where it is none."""
    return bare if isinstance(bare, type) and issubclass(bare, msgspec.Struct) else None


def metas(kind: object) -> tuple[msgspec.Meta, ...]:
    """Return what a type is annotated with, the outermost first.

    A type of a package may say something that has no hash: that one is asked each time.
    """
    try:
        return _remembered(kind)
    except TypeError:
        return tuple(_metas(kind))


@lru_cache(_REMEMBERED)
def _remembered(kind: object) -> tuple[msgspec.Meta, ...]:
    return tuple(_metas(kind))


def _metas(kind: object) -> Iterator[msgspec.Meta]:
    if get_origin(kind) is Annotated:
        yield from (m for m in get_args(kind)[1:] if isinstance(m, msgspec.Meta))
        yield from _metas(get_args(kind)[0])
    if get_origin(kind) in {Union, UnionType}:
        for member in get_args(kind):
            yield from _metas(member)


def extra(kind: object, key: str) -> str:
    """Return what a type says beside what msgspec has words for, or an empty string."""
    found = (m.extra[key] for m in metas(kind) if m.extra and key in m.extra)
    return next((str(value) for value in found), "")


def inventory_key(settings: type[object]) -> str:
    """Return the key of an account's table that lists its hosts; empty where it lists none."""
    found = (f.encode_name for f in fields_of(settings) if extra(f.type, "inventory"))
    return next(found, "")


def names_file(field: msgspec.structs.FieldInfo) -> bool:
    """Tell whether a field names a file; in an object of a cluster that is a key of a Secret."""
    key = field.encode_name
    return key.endswith("_file") or (key == "key" and "private key" in described(field.type))


def refusal(kind: object) -> str:
    """Return what to do instead of writing this key; empty where it may be written."""
    return extra(kind, "refused")


def is_size(kind: object) -> bool:
    """Tell whether it is a number of bytes that is written with a unit."""
    return extra(kind, "unit") == "size"


def bare_of(kind: object, raw: object) -> object:
    """Return the type behind annotations and unions that fits a raw value's shape."""
    if get_origin(kind) is Annotated:
        return bare_of(get_args(kind)[0], raw)
    if get_origin(kind) in {Union, UnionType}:
        members = [bare_of(m, raw) for m in get_args(kind) if m is not type(None)]
        shaped = (m for m in members if _fits(m, raw))
        return next(shaped, members[0])
    return kind


def _fits(member: object, raw: object) -> bool:
    struct = struct_of(member) is not None
    listed = get_origin(member) is tuple
    return struct == isinstance(raw, dict) and listed == isinstance(raw, list)


def choices(bare: object) -> tuple[str, ...]:
    """Return the words that a bare type has, where it has no other values."""
    if get_origin(bare) is Literal:
        return tuple(str(word) for word in get_args(bare))
    if isinstance(bare, type) and issubclass(bare, StrEnum):
        return tuple(str(word) for word in bare)
    return ()
