"""Leaves: the fields of a message that hold a value, however deep they are nested."""

from collections.abc import Iterator, Sequence

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from msgspec import Struct

from hostler.frontends.fleeting.schema.vocabulary.naming import words
from hostler.frontends.fleeting.schema.vocabulary.slots import Kind, Need, Slot
from hostler.frontends.fleeting.schema.vocabulary.synonyms import NEVER, barring

_DEEPEST = 5
_MOST = 2_000
"""Leaves of one message; a schema that has more is none of ours."""
_GOOGLE = "google.protobuf."

_INTEGERS = frozenset(
    {
        FieldDescriptor.TYPE_INT32,
        FieldDescriptor.TYPE_INT64,
        FieldDescriptor.TYPE_UINT32,
        FieldDescriptor.TYPE_UINT64,
        FieldDescriptor.TYPE_SINT32,
        FieldDescriptor.TYPE_SINT64,
        FieldDescriptor.TYPE_FIXED32,
        FieldDescriptor.TYPE_FIXED64,
        FieldDescriptor.TYPE_SFIXED32,
        FieldDescriptor.TYPE_SFIXED64,
    }
)
_NAMED = {
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_FLOAT: "float",
    FieldDescriptor.TYPE_ENUM: "enum",
}
_TYPES = {
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_UINT64: "uint64",
    FieldDescriptor.TYPE_SINT32: "sint32",
    FieldDescriptor.TYPE_SINT64: "sint64",
    FieldDescriptor.TYPE_FIXED32: "fixed32",
    FieldDescriptor.TYPE_FIXED64: "fixed64",
    FieldDescriptor.TYPE_SFIXED32: "sfixed32",
    FieldDescriptor.TYPE_SFIXED64: "sfixed64",
    **_NAMED,
}
_WRAPPERS = {
    "StringValue": "string",
    "BytesValue": "bytes",
    "BoolValue": "bool",
    "Int32Value": "integer",
    "Int64Value": "integer",
    "UInt32Value": "integer",
    "UInt64Value": "integer",
    "DoubleValue": "double",
    "FloatValue": "float",
}
_SUIT = {
    Kind.TEXT: frozenset({"string"}),
    Kind.WORD: frozenset({"string", "enum"}),
    Kind.SECRET: frozenset({"string", "bytes"}),
    Kind.CONFIG: frozenset({"string", "bytes", "Struct"}),
    Kind.COUNT: frozenset({"integer"}),
    Kind.FLAG: frozenset({"bool", "enum"}),
    Kind.IDS: frozenset({"string"}),
    Kind.TEXTS: frozenset({"string"}),
    Kind.TIME: frozenset({"Timestamp", "integer", "double", "string"}),
    Kind.OPAQUE: frozenset({"Duration", "integer", "double", "float", "string"}),
    Kind.STATE: frozenset({"string", "enum"}),
}


class Leaf(Struct, frozen=True):
    """A field with a value, and the fields that lead to it from its message.

    `list_at` is the place of the one repeated field on the way, or None.
    """

    path: tuple[FieldDescriptor, ...]
    list_at: int | None = None

    @property
    def field(self) -> FieldDescriptor:
        """The field itself."""
        return self.path[-1]

    @property
    def name(self) -> str:
        """The dotted name, as an override file writes it."""
        return ".".join(field.name for field in self.path)

    @property
    def numbers(self) -> str:
        """The dotted field numbers."""
        return ".".join(str(field.number) for field in self.path)

    @property
    def shape(self) -> str:
        """The type in broad words: all integers are one, and a wrapper is what it wraps."""
        field = self.field
        if field.type in _INTEGERS:
            return "integer"
        if field.message_type is not None:
            kind = field.message_type.name
            return _WRAPPERS.get(kind, kind)
        return _NAMED[field.type]

    @property
    def wrapped(self) -> bool:
        """Whether the value is inside a wrapper of google.protobuf."""
        return self.field.message_type is not None and self.field.message_type.name in _WRAPPERS

    @property
    def type(self) -> str:
        """The type as a schema writes it."""
        written = type_of(self.field)
        return f"repeated {written}" if self.list_at is not None else written

    def suits(self, kind: Kind) -> bool:
        """Tell whether a value of this kind can be carried."""
        many = kind in {Kind.IDS, Kind.TEXTS}
        if many != (self.list_at is not None) or self.in_map:
            return False
        if kind is Kind.TEXTS and self.list_at != len(self.path) - 1:
            return False
        return self.shape in _SUIT[kind]

    def carries(self, kind: Kind) -> bool:
        """Tell whether one entry of a list can carry a value of this kind."""
        return self.shape in _SUIT[kind]

    @property
    def in_map(self) -> bool:
        """Whether a map is on the way."""
        return self.list_at is not None and is_map(self.path[self.list_at])

    def barred(self, after: int = 0, *, own: bool = True) -> str:
        """Return the word for which it is never to be proposed, or an empty string.

        Its own name counts where `own`; that the schema calls it deprecated counts always.
        """
        path = self.path[after:] if own else self.path[after:-1]
        if any(field.GetOptions().deprecated for field in self.path[after:]):
            return "deprecated"
        for field in path:
            if word := barring(field.name):
                return word
        around = (name for field in self.path[after:] for name in _names_around(field, self.field))
        return next((word for name in around for word in words(name) if word in NEVER), "")

    def known(self, within: frozenset[str], after: int = 0) -> bool:
        """Tell whether the names of all messages around it are made of these words only."""
        around = self.path[after:-1]
        return all(word in within for field in around for word in words(field.name))


def _names_around(field: FieldDescriptor, last: FieldDescriptor) -> Iterator[str]:
    """Go through the names of the oneof that a field is in, and of the message that it holds."""
    oneof = field.containing_oneof
    if oneof is not None and len(oneof.fields) > 1:
        yield oneof.name
    if field is not last and field.message_type is not None:
        yield field.message_type.name


def type_of(field: FieldDescriptor) -> str:
    """Return the type of a field, without "repeated"."""
    if field.message_type is not None:
        return field.message_type.full_name
    if field.enum_type is not None:
        return field.enum_type.full_name
    return _TYPES[field.type]


def is_map(field: FieldDescriptor) -> bool:
    """Tell whether a field is a map."""
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def leaves(message: Descriptor) -> tuple[Leaf, ...]:
    """Return the fields of a message that hold values, in the order of the schema."""
    found = list[Leaf]()
    for leaf in _walk(message, (), None, (message.full_name,)):
        found.append(leaf)
        if len(found) >= _MOST:
            break
    return tuple(found)


def _walk(
    message: Descriptor,
    path: tuple[FieldDescriptor, ...],
    list_at: int | None,
    inside: tuple[str, ...],
) -> Iterator[Leaf]:
    for field in message.fields:
        if field.is_repeated and list_at is not None:
            continue
        here = len(path) if field.is_repeated else list_at
        inner = field.message_type
        if inner is None or inner.full_name.startswith(_GOOGLE):
            yield Leaf((*path, field), here)
        elif inner.full_name not in inside and len(path) < _DEEPEST:
            yield from _walk(inner, (*path, field), here, (*inside, inner.full_name))


def more(leaf: Leaf, slot: Slot) -> str:
    """Return what the entries of an answer's list say beside the id, or an empty string.

    Unset, a flag or state beside each id would say of each that it was not done.
    """
    inner = leaf.path[leaf.list_at or 0].message_type
    if slot.need is not Need.ANSWER or slot.kind is not Kind.IDS or inner is None or leaf.wrapped:
        return ""
    return ", ".join(field.name for field in inner.fields if field.name != leaf.field.name)


def besides(slot: Slot, left: Sequence[Leaf]) -> str | None:
    """Return that the entries of an answer's only list say more than an id, or None."""
    found = more(left[0], slot) if len(left) == 1 else ""
    return (
        f"the entries of {left[0].name} also say {found}, which we leave unset" if found else None
    )
