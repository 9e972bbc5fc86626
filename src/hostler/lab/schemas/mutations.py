"""Mutations: ways in which somebody else's schema differs, each keeping what every field means.

Each changes a schema in place and returns what it did, or an empty text where there is nothing to
do it to.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from . import words
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
Place = tuple[Body, Field]


def _meaningful(schema: Schema) -> list[Place]:
    return [(body, one) for body in schema.bodies.values() for one in body.fields if one.means]


def _free(body: Body, name: str) -> str:
    taken = {one.name for one in body.fields}
    return name if name not in taken else f"{name}_x"


def _add(body: Body, one: Field) -> None:
    one.name = _free(body, one.name)
    one.number = max((each.number for each in body.fields), default=0) + 1
    body.fields.append(one)


def _ends(schema: Schema, side: str) -> list[Body]:
    return [schema.bodies[f"{call}{side}"] for call in CALLS]


def rename_field(schema: Schema, chance: random.Random) -> str:
    """Call one field something that nobody knows."""
    body, one = chance.choice(
        [(body, one) for body in schema.bodies.values() for one in body.fields]
    )
    old, one.name = one.name, _free(body, chance.choice(words.UNKNOWN))
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
    turned = [(b, one) for b, one in _meaningful(schema) if one.means in words.TURNED_FIELDS]
    places = [(b, one) for b, one in turned if one.part == (0, 1)]
    if not places:
        return ""
    body, one = chance.choice(places)
    one.inverted = not one.inverted
    one.name = _free(body, chance.choice(words.TURNED_FIELDS[one.means]))
    return f"{body.name}.{one.name} says the opposite"


def turn_message(schema: Schema, chance: random.Random) -> str:
    """Let one message turn round what its field says, by its own name only."""
    places = [(b, one) for b, one in _meaningful(schema) if one.means in words.TURNED_MESSAGES]
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
    places = [(b, one) for b, one in _meaningful(schema) if one.kind in _WRAPPERS and not one.key]
    if not places:
        return ""
    body, one = chance.choice(places)
    if one.repeated and one.kind == "string" and one.means != "capabilities":
        key = f"Ref{body.name}"
        inner = Field(name=chance.choice(("id", "name", "zone")), kind="string", means="id")
        schema.bodies[key] = Body(name=chance.choice(("Ref", "Item", "Tag")) + body.name)
        _add(schema.bodies[key], inner)
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
    name = _free(body, chance.choice(words.ODD_CONTAINERS if odd else words.CONTAINERS))
    inner = f"Inner{key}{len(schema.bodies)}"
    kind = chance.choice(("Info", "Data", "Body", "Details", *words.MESSAGES[:4]))
    schema.bodies[inner] = Body(name=f"{kind}{len(schema.bodies)}", fields=inside)
    body.fields = [one for one in body.fields if one not in inside]
    _add(body, Field(name=name, kind=inner))
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
    _add(target, one)
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
        for body, one in _meaningful(schema)
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
    _add(body, other)
    return f"{body.name}.{one.name} is split, the rest is in {other.name}"


def retype(schema: Schema, chance: random.Random) -> str:
    """Give one field another type that can hold the same."""
    body, one = chance.choice(_meaningful(schema))
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
    one.name = _free(
        body, f"{one.name}_{chance.choice((unit, long))}" if unit != "s" else f"{one.name}_seconds"
    )


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
    said = [*(word for word in first if word), *values]
    name = f"{means.title()}{len(schema.choices)}"
    schema.choices[key] = Choice(
        name=name,
        values=[
            (
                f"{name.upper()}_{word.upper().replace('+', '_')}",
                number,
                "" if word in {"unspecified", "none"} else word,
            )
            for number, word in enumerate(said)
        ],
    )
    return key


def add_verdict(schema: Schema, chance: random.Random) -> str:
    """Add a flag or an enum to an answer that says how it went."""
    body = chance.choice(_ends(schema, "Reply"))
    name = chance.choice(words.VERDICTS)
    drawn = chance.random()
    if drawn < 0.5:
        _add(body, Field(name=name, kind="bool", demand="true", optional=drawn < 0.05))
    elif drawn < 0.7:
        name = chance.choice(words.VERDICTS[:-1])  # left out, an unknown word says nothing
        inner = f"Verdict{len(schema.bodies)}"
        schema.bodies[inner] = Body(
            name=f"Status{len(schema.bodies)}",
            fields=[Field(name=name, kind="bool", demand="true", number=1)],
        )
        _add(body, Field(name="status", kind=inner))
    else:
        key = f"Verdict{len(schema.choices)}"
        good = chance.choice(("OK", "HEALTHY", "SUCCESS", "ACCEPTED", "FINE", "DANDY"))
        bad = chance.choice(("UNKNOWN", "UNHEALTHY", "FAILED", "ERROR"))
        order = [bad, good] if chance.random() < 0.7 else [good, bad]
        values = [(f"V_{w}", n, "good" if w == good else "") for n, w in enumerate(order)]
        schema.choices[key] = Choice(name=f"Verdict{len(schema.choices)}", values=values)
        name = chance.choice(("status", "result", "outcome", "health", "mood"))
        _add(body, Field(name=name, kind=key, demand="good"))
    return f"{body.name} has a verdict, {name}"


def add_noise(schema: Schema, chance: random.Random) -> str:
    """Add something to an answer: that speaks, or that may be left out."""
    body = chance.choice([*_ends(schema, "Reply"), *_inner(schema)])
    kind = chance.choice(("string", "int64", "bool", "bytes", "double", "google.protobuf.Duration"))
    if chance.random() < 0.3:
        name = chance.choice(words.HARMLESS)
        _add(body, Field(name=name, kind="string", demand="any"))
    else:
        shape = chance.choice(("plain", "plain", "repeated", "optional"))
        name = chance.choice(words.SPEAKS)
        repeated, optional = shape == "repeated", shape == "optional" and "." not in kind
        _add(
            body,
            Field(name=name, kind=kind, demand="speaks", repeated=repeated, optional=optional),
        )
    return f"{body.name} has {name} too"


def _inner(schema: Schema) -> list[Body]:
    return [schema.bodies["Entry"]] if "Entry" in schema.bodies else []


def add_total(schema: Schema, chance: random.Random) -> str:
    """Add to Update's answer how many instances there are."""
    if schema.rpcs["Update"].streams:
        return ""
    name = chance.choice(("total", "count", "num_instances", "size", "population"))
    _add(schema.bodies["UpdateReply"], Field(name=name, kind="int32", demand="entries"))
    return f"Update tells a {name}"


def add_asking(schema: Schema, chance: random.Random) -> str:
    """Add something to a request that asks for more, or only comes along."""
    body = chance.choice(_ends(schema, "Request"))
    if chance.random() < 0.3:
        name, demand = chance.choice(words.HARMLESS_ASKS), "any"
        _add(body, Field(name=name, kind="string", demand=demand))
    else:
        name, demand = chance.choice(words.ASKS), "asks"
        kind = chance.choice(("string", "bool", "int32"))
        shape = chance.choice(("plain", "repeated", "optional"))
        repeated = shape == "repeated" and kind == "string"
        _add(
            body,
            Field(
                name=name, kind=kind, demand=demand, repeated=repeated, optional=shape == "optional"
            ),
        )
    return f"{body.name} has {name} too"


def add_rival(schema: Schema, chance: random.Random) -> str:
    """Add a list that could as well be the one; either of them is true."""
    places = [
        (b, one)
        for b, one in _meaningful(schema)
        if one.means in words.RIVALS and one.kind == "string"
    ]
    if not places:
        return ""
    body, one = chance.choice(places)
    asked = one.means == "ids"
    rival = Field(
        name=chance.choice(words.RIVALS[one.means]),
        kind="string",
        repeated=True,
        demand="asks" if asked else "speaks",
    )
    one.name = chance.choice(words.RIVALS[one.means])
    rival.name = rival.name if rival.name != one.name else f"{rival.name}_too"
    _add(body, rival)
    return f"{body.name} has {rival.name} beside {one.name}"


def add_rival_list(schema: Schema, chance: random.Random) -> str:
    """Add a second list of instances to Update's answer; either of them is true."""
    reply = schema.bodies["UpdateReply"]
    true = [one for one in reply.fields if one.means in {"states", "entries"}]
    name = chance.choice(words.LISTS)
    if true and chance.random() < 0.5:
        true[0].name = chance.choice(words.LISTS)
    kind = chance.choice(("State", "string"))
    _add(reply, Field(name=name, kind=kind, key="string", demand="speaks"))
    return f"Update has a map {name} too"


def hide_credentials(schema: Schema, chance: random.Random) -> str:
    """Put what is needed to log in into something without a schema."""
    reply = schema.bodies["ConnectInfoReply"]
    hidden = {"username", "password", "key"}
    for body, one in list(schema.fields("ConnectInfoReply")):
        if one.means in hidden and one in body.fields:
            body.fields.remove(one)
    kind = chance.choice(("google.protobuf.Struct", "google.protobuf.Any", "map"))
    name = chance.choice(("credentials", "auth", "login", "secrets"))
    one = Field(name=name, kind=kind, demand="needed")
    if kind == "map":
        one.kind, one.key = "string", "string"
    _add(reply, one)
    return f"the credentials are in {name}, {kind}"


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
    body, one = chance.choice(_meaningful(schema))
    if one.part != (0, 1) or any(each.demand for each in body.fields):
        return ""  # what is left would hold the name, and another meaning
    body.fields.remove(one)
    return f"{body.name} has no {one.name}"


def deprecate(schema: Schema, chance: random.Random) -> str:
    """Call one field deprecated, though it is used."""
    body, one = chance.choice(_meaningful(schema))
    one.deprecated = True
    return f"{body.name}.{one.name} is deprecated"


MUTATIONS: Sequence[Mutation] = (
    *(rename_field, rename_field, rename_message, turn_field, turn_message, wrap, nest, move),
    *(split, retype, retype, retype, add_verdict, add_verdict, add_noise, add_total, add_asking),
    *(add_rival, add_rival_list, hide_credentials, rename_method, rename_states, drop_field),
    deprecate,
)
