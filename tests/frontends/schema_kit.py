"""Schema kit: what tests of schemas share: schemas written as text, and made into descriptors."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    EnumValueDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    MethodDescriptorProto,
    OneofDescriptorProto,
    ServiceDescriptorProto,
)

from hostler.frontends.fleeting.schema.binary.descriptors import build, gather
from hostler.frontends.fleeting.schema.mapping.mapping import ServiceMap, map_service
from hostler.frontends.fleeting.schema.mapping.override import parse
from hostler.frontends.fleeting.schema.mapping.services import service

_SCALARS = {
    name: FieldDescriptorProto.Type.Value(f"TYPE_{name.upper()}")
    for name in (
        *("double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool"),
        *("string", "bytes", "uint32", "sfixed32", "sfixed64", "sint32", "sint64"),
    )
}
_IMPORTS = {
    "Timestamp": "timestamp",
    "Duration": "duration",
    "Empty": "empty",
    "Struct": "struct",
    "Any": "any",
}
_FIELD = re.compile(
    r"(?:(repeated|optional|required)\s+)?(map<\w+,\s*[\w.]+>|[\w.]+)\s+(\w+)\s*=\s*(\d+)"
    r"(?:\s+\[default=(.*)\])?"
)

CONNECTOR = """
    string os = 1; string arch = 2; string protocol = 3; int32 protocol_port = 4;
    string username = 5; string password = 6; bytes key = 7; bool use_static_credentials = 8;
    google.protobuf.Duration keepalive = 9; google.protobuf.Duration timeout = 10;
"""
BODIES: Mapping[str, str] = {
    "Connector": CONNECTOR,
    "InitRequest": "bytes config = 1; Connector connector = 2;",
    "InitReply": "string id = 1; int64 max_size = 2; string version = 3; string build_info = 4;"
    " repeated string capabilities = 5;",
    "UpdateRequest": "",
    "UpdateReply": "string id = 1; State state = 2;",
    "IncreaseRequest": "int64 delta = 1;",
    "IncreaseReply": "int64 succeeded = 1;",
    "DecreaseRequest": "repeated string instances = 1;",
    "DecreaseReply": "repeated string succeeded = 1;",
    "ConnectInfoRequest": "string id = 1;",
    "ConnectInfoReply": "string id = 1; Connector connector = 2; string external_addr = 3;"
    " string internal_addr = 4; google.protobuf.Timestamp expires = 5;",
    "HeartbeatRequest": "string id = 1;",
    "HeartbeatReply": "",
    "ShutdownRequest": "",
    "ShutdownReply": "",
}
STATES = "STATE_UNSPECIFIED STATE_CREATING STATE_RUNNING STATE_DELETING STATE_DELETED STATE_TIMEOUT"
CALLS = ("Init", "Update", "Increase", "Decrease", "ConnectInfo", "Heartbeat", "Shutdown")


Bodies = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One schema with one service, in what it differs from a plain one.

    `bodies` replace or add messages by their names; `methods` add methods by their names.
    """

    bodies: Bodies = field(default_factory=dict[str, str])
    states: str = STATES
    stream: bool = True
    package: str = "test.v1"
    name: str = "Plugin"
    methods: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    enums: str = ""
    syntax: str = "proto3"
    calls: tuple[str, ...] = CALLS
    path: str = ""


def written(bodies: Bodies | None = None, **parts: object) -> FileDescriptorProto:
    """Return a file with one service; parts are those of Written."""
    return made(replace(Written(bodies=bodies or {}), **parts))


def made(schema: Written) -> FileDescriptorProto:
    """Return the file of a schema."""
    messages, package = {**BODIES, **schema.bodies}, schema.package
    file = FileDescriptorProto(
        name=schema.path or f"{package.replace('.', '/') or 'none'}/{schema.name.lower()}.proto",
        package=package,
    )
    if schema.syntax != "proto2":
        file.syntax = schema.syntax
    file.enum_type.append(_enum("State", schema.states.split()))
    for line in filter(str.strip, schema.enums.splitlines()):
        kind, *values = line.split()
        file.enum_type.append(_enum(kind, values))
    enums = {one.name for one in file.enum_type}
    for kind, body in messages.items():
        file.message_type.append(_message(kind, body, package, messages, enums))
    types = {call: (f"{call}Request", f"{call}Reply") for call in schema.calls}
    file.service.append(
        _service(schema.name, types | dict(schema.methods), package, stream=schema.stream)
    )
    file.dependency.extend(f"google/protobuf/{one}.proto" for one in sorted(_imported(file)))
    return file


def mapped(file: FileDescriptorProto, override: str = "") -> ServiceMap:
    """Return the mapping of a file's only service."""
    (one,) = all_mapped([file], override)
    return one


def all_mapped(files: Sequence[FileDescriptorProto], override: str = "") -> tuple[ServiceMap, ...]:
    """Return the mappings of all services of these files."""
    message, known = parse(override.encode(), "schema.toml"), gather(files)
    return tuple(
        map_service(service(build(file, known, name), message), message)
        for file, name in known.services()
    )


def _enum(name: str, values: list[str]) -> EnumDescriptorProto:
    """Return an enum; a value may carry its number: CREATING=4."""
    made, next_ = EnumDescriptorProto(name=name), 0
    for value in values:
        word, _, number = value.partition("=")
        next_ = int(number) if number else next_
        made.value.append(EnumValueDescriptorProto(name=word, number=next_))
        next_ += 1
    numbers = [value.number for value in made.value]
    if len(set(numbers)) < len(numbers):
        made.options.allow_alias = True
    return made


def _message(
    name: str, body: str, package: str, messages: Mapping[str, str], enums: set[str]
) -> DescriptorProto:
    made = DescriptorProto(name=name)
    synthetic = list[FieldDescriptorProto]()
    for text, oneof in _statements(body):
        found = _FIELD.fullmatch(text)
        assert found is not None, f"{name}: {text!r}"
        label, kind, named, number, default = found.groups()
        one = made.field.add(name=named, number=int(number), label=_label(label, kind))
        if default is not None:
            one.default_value = default
        if kind.startswith("map<"):
            entry = _entry(named, kind, package, messages, enums)
            made.nested_type.append(entry)
            one.type = FieldDescriptorProto.TYPE_MESSAGE
            one.type_name = f".{package}.{name}.{entry.name}".replace("..", ".")
        else:
            _type(one, kind, package, messages, enums)
        if oneof:
            names = [each.name for each in made.oneof_decl]
            if oneof not in names:
                made.oneof_decl.append(OneofDescriptorProto(name=oneof))
                names.append(oneof)
            one.oneof_index = names.index(oneof)
        elif label == "optional":
            synthetic.append(one)
    for one in synthetic:
        one.proto3_optional = True
        one.oneof_index = len(made.oneof_decl)
        made.oneof_decl.append(OneofDescriptorProto(name=f"_{one.name}"))
    return made


def _label(label: str | None, kind: str) -> FieldDescriptorProto.Label.ValueType:
    if label == "repeated" or kind.startswith("map<"):
        return FieldDescriptorProto.LABEL_REPEATED
    if label == "required":
        return FieldDescriptorProto.LABEL_REQUIRED
    return FieldDescriptorProto.LABEL_OPTIONAL


def _statements(body: str) -> Iterator[tuple[str, str]]:
    """Go through the fields of a body, with the oneof that each is in."""
    for part in re.split(r"(oneof \w+ \{[^}]*\})", body):
        oneof, inner = "", part
        if found := re.fullmatch(r"oneof (\w+) \{([^}]*)\}", part):
            oneof, inner = found.groups()
        for text in inner.split(";"):
            if text.strip():
                yield text.strip(), oneof


def _entry(
    field: str, kind: str, package: str, messages: Mapping[str, str], enums: set[str]
) -> DescriptorProto:
    key, value = (part.strip() for part in kind[4:-1].split(","))
    entry = DescriptorProto(name=f"{field.title().replace('_', '')}Entry")
    entry.options.map_entry = True
    for number, (name, of) in enumerate((("key", key), ("value", value)), 1):
        one = entry.field.add(name=name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
        _type(one, of, package, messages, enums)
    return entry


def _type(
    one: FieldDescriptorProto,
    kind: str,
    package: str,
    messages: Mapping[str, str],
    enums: set[str],
) -> None:
    if kind in _SCALARS:
        one.type = _SCALARS[kind]
        return
    one.type = (
        FieldDescriptorProto.TYPE_ENUM if kind in enums else FieldDescriptorProto.TYPE_MESSAGE
    )
    one.type_name = f".{kind}" if "." in kind else f".{package}.{kind}".replace("..", ".")
    assert "." in kind or kind in messages or kind in enums, kind


def _service(
    name: str, types: Mapping[str, tuple[str, str]], package: str, *, stream: bool
) -> ServiceDescriptorProto:
    made = ServiceDescriptorProto(name=name)
    for call, (asked, answer) in types.items():
        made.method.append(
            MethodDescriptorProto(
                name=call,
                input_type=_full(asked, package),
                output_type=_full(answer, package),
                server_streaming=True if stream and call == "Update" else None,
            )
        )
    return made


def _full(kind: str, package: str) -> str:
    return f".{kind}" if "." in kind else f".{package}.{kind}".replace("..", ".")


def _imported(file: FileDescriptorProto) -> set[str]:
    """Return the files of google.protobuf that a file needs."""
    text = str(file)
    found = set(re.findall(r"\.google\.protobuf\.(\w+)", text))
    return {_IMPORTS.get(name, "wrappers") for name in found}
