"""Fixed: fields of an answer that always say the same, because the operator says so."""

from collections.abc import Iterator, Mapping

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from msgspec import Struct

from .leaves import type_of
from .override import Constant

_INTEGERS = frozenset({"int32", "int64", "uint32", "uint64", "sint32", "sint64"}) | frozenset(
    {"fixed32", "fixed64", "sfixed32", "sfixed64"}
)


class Fixed(Struct, frozen=True, kw_only=True):
    """One field, and what it always is, in the field's own type."""

    path: tuple[FieldDescriptor, ...]
    value: object

    @property
    def name(self) -> str:
        """The dotted name."""
        return ".".join(field.name for field in self.path)


class Unfit(Exception):
    """A value that cannot be what a field always is; the text says why."""


def fixed(message: Descriptor, settled: Mapping[str, Constant]) -> Iterator[Fixed]:
    """Go through the fields that the operator has settled. Unfit for the first that cannot be."""
    for name, value in settled.items():
        path = _path(message, name)
        yield Fixed(path=_inside(path), value=_value(_inside(path)[-1], value, name))


def named_field(message: Descriptor, name: str) -> bool:
    """Tell whether a message has a field of this dotted name."""
    try:
        _path(message, name)
    except Unfit:
        return False
    return True


def _path(message: Descriptor, name: str) -> tuple[FieldDescriptor, ...]:
    path, inner = list[FieldDescriptor](), message
    for part in name.split("."):
        one = inner.fields_by_name.get(part) if inner is not None else None
        if one is None:
            raise Unfit(f"the override names {name}, but the message has no such field")
        path.append(one)
        inner = one.message_type
    return tuple(path)


def _inside(path: tuple[FieldDescriptor, ...]) -> tuple[FieldDescriptor, ...]:
    """Return the path of the flag in a wrapper, and of all else the path itself."""
    kind = path[-1].message_type
    if kind is None or kind.full_name != "google.protobuf.BoolValue" or path[-1].is_repeated:
        return path
    return (*path, kind.fields_by_name["value"])


def _value(field: FieldDescriptor, value: Constant, name: str) -> object:
    """Return what the operator says in the field's own type."""
    kind = type_of(field)
    if field.is_repeated or field.message_type is not None:
        if value is False and field.is_required:
            raise Unfit(f"the override leaves {name} out, but it is required")
        if value is False or (value is True and not field.is_repeated):
            return value
        raise Unfit(f"the override says what {name} always is, but it is no single value")
    if field.enum_type is not None:
        found = field.enum_type.values_by_name.get(str(value))
        if found is not None:
            return found.number
    elif (kind == "bool" and isinstance(value, bool)) or (
        kind in _INTEGERS and isinstance(value, int) and not isinstance(value, bool)
    ):
        return value
    elif kind in {"double", "float"} and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    elif kind in {"string", "bytes"} and isinstance(value, str):
        return value if kind == "string" else value.encode()
    raise Unfit(f"the override says that {name} is always {value!r}, but it is {kind}")
