"""Model: a schema in which every field says what it means, so that a judge can read and write it.

Nothing here is shared with the plugin: what a field means is written down when the schema is drawn,
and never looked up by its name.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

CALLS = ("Init", "Update", "Increase", "Decrease", "ConnectInfo", "Heartbeat", "Shutdown")
_SCALARS = {
    name: FieldDescriptorProto.Type.Value(f"TYPE_{name.upper()}")
    for name in (
        *("double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool"),
        *("string", "bytes", "uint32", "sfixed32", "sfixed64", "sint32", "sint64"),
    )
}
_FILES = {
    name: name.lower() for name in ("Timestamp", "Duration", "Struct", "Any", "Empty")
}  # all else is a wrapper


@dataclass
class Field:
    """One field: its name and type, and what it means.

    `kind` is a scalar, the key of one of our messages or enums, or a google type such as
    `google.protobuf.Duration`. `means` is a logical value, "" for a container or for noise.
    `unit` is that of a number that is a time; `inverted` says that the opposite is meant: of a flag
    its negation, of a number or a list what is left of all; `part` is (place, of how many) where a
    value is split; `demand` says what noise must be read as.
    """

    name: str
    kind: str
    means: str = ""
    repeated: bool = False
    optional: bool = False
    key: str = ""
    unit: str = ""
    inverted: bool = False
    part: tuple[int, int] = (0, 1)
    demand: str = ""
    deprecated: bool = False
    number: int = 0


@dataclass
class Body:
    """One message: its name in the schema, and its fields."""

    name: str
    fields: list[Field] = field(default_factory=list[Field])

    def free(self, name: str) -> str:
        """Return a name like this one that no field has."""
        return name if all(one.name != name for one in self.fields) else f"{name}_x"

    def add(self, one: Field) -> None:
        """Add a field under the next number, and a name that is free."""
        one.name = self.free(one.name)
        one.number = max((each.number for each in self.fields), default=0) + 1
        self.fields.append(one)


@dataclass
class Choice:
    """One enum: its name, and the name, number and meaning ("" for none) of each value."""

    name: str
    values: list[tuple[str, int, str]]


@dataclass
class Rpc:
    """One method: its name, the keys of its messages, and whether it streams answers."""

    name: str
    request: str
    reply: str
    streams: bool = False


@dataclass
class Schema:
    """A whole schema; messages and enums stand under keys that are no names."""

    package: str
    service: str
    bodies: dict[str, Body]
    choices: dict[str, Choice]
    rpcs: dict[str, Rpc]

    def meaningful(self) -> list[tuple[Body, Field]]:
        """Return the fields that mean something, with their messages."""
        return [(body, one) for body in self.bodies.values() for one in body.fields if one.means]

    def ends(self, side: str) -> list[Body]:
        """Return the messages of all calls on one side."""
        return [self.bodies[f"{call}{side}"] for call in CALLS]

    def fields(self, key: str) -> Iterator[tuple[Body, Field]]:
        """Go through the fields of a message and of all messages in it."""
        for one in self.bodies[key].fields:
            yield self.bodies[key], one
            if one.kind in self.bodies:
                yield from self.fields(one.kind)


def descriptor_set(schema: Schema) -> bytes:
    """Return a schema as a descriptor set."""
    return FileDescriptorSet(file=[descriptor_file(schema)]).SerializeToString(deterministic=True)


def descriptor_file(schema: Schema) -> FileDescriptorProto:
    """Return a schema as the descriptor of its one file."""
    file = FileDescriptorProto(name="drawn.proto", package=schema.package, syntax="proto3")
    for choice in schema.choices.values():
        made = file.enum_type.add(name=choice.name)
        for name, number, _ in sorted(choice.values, key=lambda value: value[1] != 0):
            made.value.add(name=name, number=number)
    for body in schema.bodies.values():
        _add_message(file.message_type.add(name=body.name), body, schema)
    service = file.service.add(name=schema.service)
    for rpc in schema.rpcs.values():
        service.method.add(
            name=rpc.name,
            input_type=f".{schema.package}.{schema.bodies[rpc.request].name}",
            output_type=f".{schema.package}.{schema.bodies[rpc.reply].name}",
            server_streaming=rpc.streams,
        )
    file.dependency.extend(sorted(_imports(schema)))
    return file


def _imports(schema: Schema) -> set[str]:
    kinds = {one.kind for body in schema.bodies.values() for one in body.fields}
    google = {kind.rpartition(".")[2] for kind in kinds if kind.startswith("google.")}
    return {f"google/protobuf/{_FILES.get(name, 'wrappers')}.proto" for name in google}


def _add_message(made: DescriptorProto, body: Body, schema: Schema) -> None:
    for place, one in enumerate(body.fields, 1):
        one.number = one.number or place
        added = made.field.add(name=one.name, number=one.number)
        added.label = (
            FieldDescriptorProto.LABEL_REPEATED
            if one.repeated or one.key
            else FieldDescriptorProto.LABEL_OPTIONAL
        )
        added.options.deprecated = one.deprecated
        if one.key:
            _add_map(made, added, one, schema)
            continue
        _set_type(added, one.kind, schema)
        if one.optional:
            added.proto3_optional = True
            added.oneof_index = len(made.oneof_decl)
            made.oneof_decl.add(name=f"_{one.name}")


def _add_map(
    made: DescriptorProto, added: FieldDescriptorProto, one: Field, schema: Schema
) -> None:
    entry = made.nested_type.add(name=f"{one.name.title().replace('_', '')}Entry")
    entry.options.map_entry = True
    for number, (name, kind) in enumerate((("key", one.key), ("value", one.kind)), 1):
        inner = entry.field.add(name=name, number=number)
        inner.label = FieldDescriptorProto.LABEL_OPTIONAL
        _set_type(inner, kind, schema)
    added.type = FieldDescriptorProto.TYPE_MESSAGE
    added.type_name = f".{schema.package}.{made.name}.{entry.name}"


def _set_type(added: FieldDescriptorProto, kind: str, schema: Schema) -> None:
    if kind in _SCALARS:
        added.type = _SCALARS[kind]
    elif kind in schema.choices:
        added.type = FieldDescriptorProto.TYPE_ENUM
        added.type_name = f".{schema.package}.{schema.choices[kind].name}"
    else:
        added.type = FieldDescriptorProto.TYPE_MESSAGE
        own = schema.bodies.get(kind)
        added.type_name = f".{schema.package}.{own.name}" if own else f".{kind}"
