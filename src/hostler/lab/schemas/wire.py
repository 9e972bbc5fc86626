"""Wire: requests written and answers read by what the fields mean, with protobuf alone.

A reader sees what a Go program sees: the zero value of whatever was left out, unless its absence
can be told.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import cast

from google.protobuf import (
    any_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from msgspec import Struct

from .model import Body, Choice, Field, Schema, descriptor_file

NANOS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
Values = Mapping[str, object]
_GO = re.compile(r"([0-9.]+)(h|ms|us|ns|m|s)")
_GO_UNITS = {"h": 3600 * 10**9, "m": 60 * 10**9, **NANOS}
STATE_NUMBERS = {"creating": 3, "running": 1, "deleting": 2, "deleted": 7, "timeout": 9}
"""What the numbers mean where states are plain numbers."""


class Read(Struct, frozen=True):
    """One field as a reader finds it: its value, and whether its absence can be told and is so."""

    field: Field
    value: object
    absent: bool


class Wire:
    """The messages of one schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._pool = descriptor_pool.DescriptorPool()
        for module in (any_pb2, duration_pb2, empty_pb2, struct_pb2, timestamp_pb2, wrappers_pb2):
            self._pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
        self._pool.AddSerializedFile(descriptor_file(schema).SerializeToString())

    def request(self, call: str, values: Values, *, noise: bool = False) -> bytes:
        """Return a request that says these values; `noise`: what else it can ask, it asks."""
        body = self._schema.bodies[self._schema.rpcs[call].request]
        made = self._new(body)
        self._write(made, body, values, noise=noise)
        return made.SerializeToString()

    def can_say(self, call: str, means: str, value: object) -> bool:
        """Tell whether a request has a way to say a value: an enum may have none."""
        fields = self._schema.fields(self._schema.rpcs[call].request)
        choices = (self._schema.choices.get(one.kind) for _, one in fields if one.means == means)
        return all(choice is None or _says(choice, value) for choice in choices)

    def reply(self, call: str, content: bytes) -> list[Read]:
        """Return every field of an answer, entries of lists left out."""
        body = self._schema.bodies[self._schema.rpcs[call].reply]
        made = self._new(body)
        made.ParseFromString(content)
        return list(self._read(made, body, absent=False))

    def entries(self, call: str, content: bytes) -> list[list[Read]]:
        """Return the fields of every entry of an answer's lists of instances."""
        body = self._schema.bodies[self._schema.rpcs[call].reply]
        made = self._new(body)
        made.ParseFromString(content)
        return list(self._entries(made, body))

    def _new(self, body: Body) -> Message:
        name = f"{self._schema.package}.{body.name}"
        return GetMessageClass(self._pool.FindMessageTypeByName(name))()

    def _write(self, made: Message, body: Body, values: Values, *, noise: bool) -> None:
        for one in body.fields:
            inner = self._schema.bodies.get(one.kind)
            if one.means in values:
                self._put(made, one, values[one.means])
            elif inner is not None and not one.repeated and not one.demand:
                self._write(getattr(made, one.name), inner, values, noise=noise)
            elif one.demand and noise:
                self._ask(made, one)

    def _ask(self, made: Message, one: Field) -> None:
        """Write something into a field of noise."""
        at: object = getattr(made, one.name)
        if one.key:
            cast("dict[str, str]", at)[one.name] = "x"
        elif one.repeated:
            cast("list[str]", at).append("x")
        elif isinstance(at, Message):
            at.SetInParent()
        else:
            setattr(made, one.name, {"string": "x", "bytes": b"x", "bool": True}.get(one.kind, 1))

    def _put(self, made: Message, one: Field, value: object) -> None:
        value = _inverted(one, value)
        if one.part[1] > 1:
            value = _part(value, one.part)
        if not one.repeated:
            self._put_single(made, one, value)
            return
        listed = getattr(made, one.name)
        inner = self._schema.bodies.get(one.kind)
        for text in cast("list[str]", value):
            if inner is not None:
                self._write(listed.add(), inner, {"id": text}, noise=False)
            elif one.kind.startswith("google."):
                listed.add().value = text
            else:
                listed.append(text)

    def _put_single(self, made: Message, one: Field, value: object) -> None:
        at = getattr(made, one.name)
        match one.kind.rpartition(".")[2]:
            case "Struct":
                ParseDict(json.loads(cast("bytes", value)), at)
            case "Duration" | "Timestamp":
                seconds, nanos = divmod(cast("int", value), 10**9)
                at.seconds, at.nanos = seconds, nanos
            case kind if kind.endswith("Value") and one.kind.startswith("google."):
                at.value = self._own(one, value, kind)
            case kind:
                setattr(made, one.name, self._own(one, value, kind))

    def _own(self, one: Field, value: object, kind: str) -> object:
        """Return a value in a field's own type."""
        if choice := self._schema.choices.get(one.kind):
            return next((n for _, n, means in choice.values if means == value), 0)
        if one.means in {"keepalive", "timeout"}:
            return _in_unit(cast("int", value), one.unit, kind)
        return _as_kind(value, kind)

    def _read(self, made: Message, body: Body, *, absent: bool) -> Iterator[Read]:
        for one in body.fields:
            inner = self._schema.bodies.get(one.kind)
            if one.means == "entries" or (one.key and one.means):
                continue
            if one.key:
                yield Read(one, "", not getattr(made, one.name))
                continue
            value = getattr(made, one.name)
            if inner is not None and not one.repeated:
                yield from self._read(value, inner, absent=False)
            elif inner is not None and one.means:
                ids = [self._id_of(entry, inner) for entry in value]
                yield Read(one, _inverted(one, ids), absent)
            elif inner is None:
                yield Read(one, _inverted(one, self._value(one, value)), _absent(made, one))

    def _id_of(self, entry: Message, body: Body) -> object:
        return next((r.value for r in self._read(entry, body, absent=False) if r.field.means), "")

    def _value(self, one: Field, value: object) -> object:
        """Return what a reader makes of a field's value."""
        if one.repeated:
            return [getattr(e, "value", e) for e in cast("list[object]", value)]
        if choice := self._schema.choices.get(one.kind):
            return next((means for _, n, means in choice.values if n == value), "")
        if one.kind.endswith((".Duration", ".Timestamp")):
            pair = cast("duration_pb2.Duration", value)
            return pair.seconds * 10**9 + pair.nanos
        if one.kind.startswith("google.") and one.kind.endswith("Value"):
            value = getattr(value, "value")  # noqa: B009 - a wrapper's field
        return _meant(one, value)

    def _entries(self, made: Message, body: Body) -> Iterator[list[Read]]:
        for one in body.fields:
            inner = self._schema.bodies.get(one.kind)
            value = getattr(made, one.name)
            if one.key and one.means:
                for key, each in value.items():
                    own = Field(name="key", kind="string", means="id")
                    yield [Read(own, key, absent=False), *self._of_map(one, inner, each)]
            elif one.means == "entries" and inner is not None:
                for entry in value:
                    yield list(self._read(entry, inner, absent=False))
            elif inner is not None and not one.repeated:
                yield from self._entries(value, inner)

    def _of_map(self, one: Field, inner: Body | None, value: object) -> Iterator[Read]:
        if inner is not None:
            yield from self._read(cast("Message", value), inner, absent=False)
        else:
            state = Field(name=one.name, kind=one.kind, means="state")
            yield Read(state, self._value(state, value), absent=False)


def _says(choice: Choice, value: object) -> bool:
    return any(means == value for _, _, means in choice.values)


def _as_kind(value: object, kind: str) -> object:
    """Return a text as bytes, bytes as a text, or a number as a text, as the type asks."""
    match value:
        case bytes() if kind in {"string", "StringValue"}:
            return value.decode()
        case str() if kind in {"bytes", "BytesValue"}:
            return value.encode()
        case int() if kind == "string":
            return str(value)
        case _:
            return value


def _meant(one: Field, value: object) -> object:
    """Return what a scalar means."""
    match one.means:
        case "keepalive" | "timeout" | "expires":
            return _nanos(value, one.unit)
        case "count" | "accepted_count" | "max_size" | "protocol_port":
            return int(cast("str", value) or 0)
        case "state" if isinstance(value, int):
            return next((word for word, n in STATE_NUMBERS.items() if n == value), "")
        case "key" if isinstance(value, str):
            return value.encode()
        case _:
            return value


def _absent(made: Message, one: Field) -> bool:
    descriptor = made.DESCRIPTOR.fields_by_name[one.name]
    if descriptor.is_repeated:
        return not getattr(made, one.name)
    return descriptor.has_presence and not made.HasField(one.name)


def _inverted(one: Field, value: object) -> object:
    """Return what a field that says the opposite would hold, or what it tells."""
    if not one.inverted:
        return value
    match value:
        case bool():
            return not value
        case int():
            return 5 - value
        case list():
            return [each for each in ("a", "b", "c") if each not in value]
        case _:
            return value


def _part(value: object, part: tuple[int, int]) -> object:
    """Return one part of a value that is split."""
    place, count = part
    match value:
        case int():
            share = value // count
            return value - share * (count - 1) if place == 0 else share
        case str() | bytes() | list():
            size = -(-len(cast("str", value)) // count)
            return cast("str", value)[place * size : (place + 1) * size]
        case _:
            return value


def joined(reads: list[Read]) -> object:
    """Return the value that fields say together."""
    values = [read.value for read in sorted(reads, key=lambda read: read.field.part)]
    total = values[0]
    for value in values[1:]:
        total = cast("int", total) + cast("int", value)
    return total


def _in_unit(nanos: int, unit: str, kind: str) -> object:
    if kind in {"string", "StringValue"}:
        return f"{nanos // 10**9}s"
    number = nanos / NANOS[unit or "ns"]
    return number if kind in {"double", "float", "DoubleValue"} else int(number)


def _nanos(value: object, unit: str) -> object:
    if isinstance(value, str):
        if "T" in value:
            return value
        return int(sum(float(n) * _GO_UNITS[u] for n, u in _GO.findall(value)))
    return int(cast("float", value) * NANOS[unit or "ns"])
