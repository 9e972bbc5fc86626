"""Mutations: ways in which somebody else's schema differs, each keeping what every field means.

Each changes a schema in place and returns what it did, or an empty text where there is nothing to
do it to.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from . import words
from .additions import (
    add_asking,
    add_end,
    add_noise,
    add_part,
    add_rival,
    add_rival_list,
    add_total,
    add_verdict,
    hide_credentials,
)
from .model import CALLS, Body, Choice, Field, Schema

Mutation = Callable[[Schema, random.Random], str]
_WRAPPERS = {
    "string": "StringValue",
    "bytes": "BytesValue",
    "bool": "BoolValue",
    "int32": "Int32Value",
    "int64": "Int64Value",
    "uint32": "UInt32Value",
}
_TIMES = {"keepalive", "timeout"}
_SPANS = {"google.protobuf.Duration", "google.protobuf.Timestamp"}


def rename_field(schema: Schema, chance: random.Random) -> str:
    """Call one field something that nobody knows."""
    body, one = chance.choice(
        [(body, one) for body in schema.bodies.values() for one in body.fields]
    )
    old, one.name = one.name, body.free(chance.choice(words.UNKNOWN))
    return f"{body.name}.{old} is called {one.name}"


def rename_message(schema: Schema, chance: random.Random) -> str:
    """Call one message something that says nothing."""
    body = chance.choice(list(schema.bodies.values()))
    names = {each.name for each in schema.bodies.values()}
    old, name = body.name, chance.choice(words.MESSAGES)
    body.name = name if name not in names else f"{name}More"
    return f"{old} is called {body.name}"


def turn_field(schema: Schema, chance: random.Random) -> str:
    """Let one field say the opposite, under a name that says so."""
    turned = [(b, one) for b, one in schema.meaningful() if one.means in words.TURNED_FIELDS]
    places = [(b, one) for b, one in turned if one.part == (0, 1)]
    if not places:
        return ""
    body, one = chance.choice(places)
    one.inverted = not one.inverted
    one.name = body.free(chance.choice(words.TURNED_FIELDS[one.means]))
    return f"{body.name}.{one.name} says the opposite"


def turn_message(schema: Schema, chance: random.Random) -> str:
    """Let one message turn round what its field says, by its own name only."""
    places = [(b, one) for b, one in schema.meaningful() if one.means in words.TURNED_MESSAGES]
    if not places:
        return ""
    body, one = chance.choice(places)
    name = chance.choice(words.TURNED_MESSAGES[one.means])
    if name in {each.name for each in schema.bodies.values()}:
        return ""
    one.inverted = not one.inverted
    body.name = name
    return f"{body.name}.{one.name} says the opposite, by the name of its message"


def wrap(schema: Schema, chance: random.Random) -> str:
    """Put one value into a wrapper of google's, or one list's texts into messages."""
    places = [(b, one) for b, one in schema.meaningful() if one.kind in _WRAPPERS and not one.key]
    if not places:
        return ""
    body, one = chance.choice(places)
    if one.repeated and one.kind == "string" and one.means != "capabilities":
        key = f"Ref{body.name}"
        inner = Field(name=chance.choice(("id", "name", "zone")), kind="string", means="id")
        schema.bodies[key] = Body(name=chance.choice(("Ref", "Item", "Tag")) + body.name)
        schema.bodies[key].add(inner)
        one.kind = key
        return f"{body.name}.{one.name} is a list of messages with {inner.name}"
    one.kind = f"google.protobuf.{_WRAPPERS[one.kind]}"
    return f"{body.name}.{one.name} is wrapped"


def nest(schema: Schema, chance: random.Random) -> str:
    """Put some of a message's fields one floor deeper."""
    key, body = chance.choice(list(schema.bodies.items()))
    inside = [one for one in body.fields if chance.random() < 0.8]
    if not inside or key == "Entry":
        return ""
    odd = chance.random() < 0.4
    name = body.free(chance.choice(words.ODD_CONTAINERS if odd else words.CONTAINERS))
    inner = f"Inner{key}{len(schema.bodies)}"
    kind = chance.choice(("Info", "Data", "Body", "Details", *words.MESSAGES[:4]))
    schema.bodies[inner] = Body(name=f"{kind}{len(schema.bodies)}", fields=inside)
    body.fields = [one for one in body.fields if one not in inside]
    body.add(Field(name=name, kind=inner))
    return f"{len(inside)} fields of {body.name} are inside {name}"


def move(schema: Schema, chance: random.Random) -> str:
    """Move one field from a message into one that is inside it, or out of it."""
    holders = [
        (body, one)
        for body in schema.bodies.values()
        for one in body.fields
        if one.kind in schema.bodies and not one.repeated and not one.key
    ]
    if not holders:
        return ""
    outer, holder = chance.choice(holders)
    inner = _own_body(schema, holder)
    source, target = (inner, outer) if chance.random() < 0.5 else (outer, inner)
    fields = [one for one in source.fields if one.means]
    if not fields:
        return ""
    one = chance.choice(fields)
    source.fields.remove(one)
    target.add(one)
    return f"{source.name}.{one.name} is in {target.name}"


def _own_body(schema: Schema, holder: Field) -> Body:
    """Return the message of a field, as a copy of its own where others have it too."""
    body = schema.bodies[holder.kind]
    kinds = [one.kind for each in schema.bodies.values() for one in each.fields]
    if kinds.count(holder.kind) == 1:
        return body
    holder.kind = f"{holder.kind}{len(schema.bodies)}"
    fields = [replace(one) for one in body.fields]
    own = Body(name=f"{body.name}{len(schema.bodies)}", fields=fields)
    schema.bodies[holder.kind] = own
    return own


def split(schema: Schema, chance: random.Random) -> str:
    """Let two fields hold one value together."""
    places = [
        (body, one)
        for body, one in schema.meaningful()
        if one.kind in {"string", "bytes", "int64", "int32", "uint32"}
        and not one.key
        and one.means not in {"state", "entries", "os", "arch", "protocol", *_TIMES}
        and not one.inverted
        and one.part == (0, 1)
    ]
    if not places:
        return ""
    body, one = chance.choice(places)
    other = Field(
        name=chance.choice((f"{one.name}_2", f"more_{one.name}", *words.UNKNOWN)),
        kind=one.kind,
        means=one.means,
        repeated=one.repeated,
        part=(1, 2),
    )
    one.part = (0, 2)
    body.add(other)
    return f"{body.name}.{one.name} is split, the rest is in {other.name}"


def retype(schema: Schema, chance: random.Random) -> str:
    """Give one field another type that can hold the same."""
    body, one = chance.choice(schema.meaningful())
    old = one.kind
    kinds = _other_kinds(one, schema, chance)
    if one.key or one.repeated or not kinds:
        return ""
    one.kind = chance.choice(kinds)
    if one.means in {*_TIMES, "expires"} and one.kind not in _SPANS:
        _give_unit(body, one, chance)
    return f"{body.name}.{one.name} is {one.kind}, not {old}"


def _give_unit(body: Body, one: Field, chance: random.Random) -> None:
    unit = chance.choice(("s", "ms", "ns"))
    long = {"s": "seconds", "ms": "millis", "ns": "nanos"}[unit]
    if one.kind == "string":
        return
    one.unit = unit
    end = chance.choice((unit, long)) if unit != "s" else long
    one.name = body.free(f"{one.name}_{end}")


def _other_kinds(one: Field, schema: Schema, chance: random.Random) -> Sequence[str]:
    if one.means in _VALUES:
        return (_value_choice(one.means, schema, chance),)
    return _KINDS.get(one.means, ())


_NUMBERS = ("int32", "uint32", "int64", "sint64", "fixed32", "string", "double")
_TEXTS = ("string", "bytes")
_SPAN = ("int64", "string", "double", "google.protobuf.Int64Value")
_KINDS: dict[str, Sequence[str]] = {
    **dict.fromkeys(("count", "accepted_count", "max_size", "protocol_port"), _NUMBERS),
    **dict.fromkeys(("keepalive", "timeout"), _SPAN),
    **dict.fromkeys(("key", "password", "username", "id", "version"), _TEXTS),
    "config": (*_TEXTS, "google.protobuf.Struct"),
    "expires": ("int64", "google.protobuf.Int64Value"),
    "state": ("string", "int32", "State"),
}
_VALUES = {
    "os": ("linux", "windows", "darwin"),
    "arch": ("arm64", "amd64"),
    "protocol": ("winrm", "ssh", "winrm+https"),
}


def _value_choice(means: str, schema: Schema, chance: random.Random) -> str:
    """Add an enum for a value: with an unset value or not, some without what is needed."""
    key = f"Kind{means}{len(schema.choices)}"
    values = [value for value in _VALUES[means] if value != "ssh" or chance.random() < 0.7]
    chance.shuffle(values)
    first = [chance.choice(("", "", "unspecified", "none"))] if chance.random() < 0.6 else []
    listed = [*(word for word in first if word), *values]
    name = f"{means.title()}{len(schema.choices)}"
    schema.choices[key] = Choice(
        name=name,
        values=[
            (
                f"{name.upper()}_{word.upper().replace('+', '_')}",
                number,
                "" if word in {"unspecified", "none"} else word,
            )
            for number, word in enumerate(listed)
        ],
    )
    return key


def rename_method(schema: Schema, chance: random.Random) -> str:
    """Call one method something else."""
    rpc = schema.rpcs[chance.choice(CALLS)]
    key = next(call for call, each in schema.rpcs.items() if each is rpc)
    old, rpc.name = rpc.name, chance.choice(words.METHODS[key])
    return f"the method {old} is called {rpc.name}"


def rename_states(schema: Schema, chance: random.Random) -> str:
    """Call some states something else."""
    choice = schema.choices["State"]
    for place, (name, number, means) in enumerate(choice.values):
        if means in words.STATES and chance.random() < 0.5:
            choice.values[place] = (chance.choice(words.STATES[means]), number, means)
        elif not means and chance.random() < 0.3:
            choice.values[place] = (f"{name}_MORE", number, means)
    return "states have other names"


def drop_field(schema: Schema, chance: random.Random) -> str:
    """Leave one field out."""
    body, one = chance.choice(schema.meaningful())
    if one.part != (0, 1) or _has_rival(schema):
        return ""
    body.fields.remove(one)
    return f"{body.name} has no {one.name}"


def deprecate(schema: Schema, chance: random.Random) -> str:
    """Call one field deprecated, though it is used."""
    body, one = chance.choice(schema.meaningful())
    if _has_rival(schema):
        return ""
    one.deprecated = True
    return f"{body.name}.{one.name} is deprecated"


def _has_rival(schema: Schema) -> bool:
    """Tell whether what is left would be a field of a known name with another meaning."""
    fields = [one for body in schema.bodies.values() for one in body.fields]
    return any(one.demand and (one.repeated or one.key) for one in fields)


MUTATIONS: Sequence[Mutation] = (
    *(rename_field, rename_field, rename_message, turn_field, turn_message, wrap, nest, move),
    *(split, retype, retype, retype, add_verdict, add_verdict, add_noise, add_total, add_asking),
    *(add_rival, add_rival_list, hide_credentials, rename_method, rename_states, drop_field),
    deprecate,
    add_part,
    add_end,
)
