"""Notation: the keys of a table as an object writes them, and which of them an object has. Pure.

A file says `max_age`, an object `maxAge`; what the values are is the same. What runs a program on
the engine's own computer stands in files only: whoever may write an object would run it with all
that the engine may do.
"""

import re
from collections.abc import Iterator, Mapping

from msgspec.structs import FieldInfo

from hostler.config.structure import extra, fields_of, names_file, refusal

_JOINT = re.compile(r"[_-]([a-z0-9])")
_RENAMED = {"on_remove": "deletionPolicy"}
_SECRET_NAME = r"^[-._a-zA-Z0-9]{1,253}$"  # noqa: S105 - what a key of a Secret looks like


def key_in_object(key: str) -> str:
    """Return a file's key as an object writes it: `wake-on-lan` is `wakeOnLan` there."""
    return _RENAMED.get(key) or _JOINT.sub(lambda match: match[1].upper(), key)


def object_fields(struct: type[object]) -> Iterator[FieldInfo]:
    """Yield the fields of a Struct that an object may have, in the Struct's order."""
    for field in fields_of(struct):
        if not refusal(field.type) and not extra(field.type, "local"):
            yield field


def keys_by_name(struct: type[object]) -> Mapping[str, FieldInfo]:
    """Return those fields by the key that an object has for them."""
    return {key_in_object(field.encode_name): field for field in object_fields(struct)}


def local_words(struct: type[object]) -> frozenset[str]:
    """Return the names of the fields that only files have: nor are they a choice in an object."""
    return frozenset(f.encode_name for f in fields_of(struct) if extra(f.type, "local"))


def names_secret(field: FieldInfo) -> bool:
    """Tell whether a field names the place of a secret: in an object, a key of a Secret."""
    return names_file(field) or field.encode_name.endswith("_env")


SECRET_KEY_PATTERN = _SECRET_NAME
"""What the key of a Secret may look like."""
