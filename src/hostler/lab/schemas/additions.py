"""Additions: what somebody else's schema has beside what we know, and what that must be read as.

Each changes a schema in place and returns what it did, or an empty text where there is no place.
"""

import random

from . import words
from .model import Body, Choice, Field, Schema


def add_verdict(schema: Schema, chance: random.Random) -> str:
    """Add something to an answer that says how it went."""
    body = chance.choice(schema.ends("Reply"))
    shape = chance.choice(("flag", "flag", "flag", "status", "enum", "enum", "missing"))
    if shape == "flag":
        one = Field(name=chance.choice(words.VERDICTS), kind="bool", demand="true")
    elif shape == "missing":
        one = _by_absence(chance)
    elif shape == "enum":
        name = chance.choice(("status", "result", "outcome", "health", "mood"))
        one = Field(name=name, kind=_verdict_choice(schema, chance), demand="good")
    else:
        one = _status(schema, chance)
    body.add(one)
    return f"{body.name} has a verdict, {one.name}, {one.kind}"


def _by_absence(chance: random.Random) -> Field:
    """Return a verdict that is bad where it is left out: what it is not called says nothing."""
    name = chance.choice(words.VERDICTS[:-1])
    match chance.choice(("optional", "wrapper", "marker", "list", "map")):
        case "optional":
            return Field(name=name, kind="bool", demand="true", optional=True)
        case "wrapper":
            return Field(name=name, kind="google.protobuf.BoolValue", demand="true")
        case "marker":
            return Field(name=name, kind="google.protobuf.Empty", demand="there")
        case "list":
            return Field(name=f"{name}_ids", kind="string", demand="there", repeated=True)
        case _:
            return Field(name=name, kind="bool", demand="there", key="string")


def _status(schema: Schema, chance: random.Random) -> Field:
    """Return a message that says by a flag or an enum in it how a call went."""
    name, kind, demand = chance.choice(words.VERDICTS[:-1]), "bool", "true"
    if chance.random() < 0.4:
        name, kind, demand = "code", _verdict_choice(schema, chance), "good"
    inner = f"Verdict{len(schema.bodies)}"
    schema.bodies[inner] = Body(
        name=f"Status{len(schema.bodies)}",
        fields=[Field(name=name, kind=kind, demand=demand, number=1)],
    )
    return Field(name="status", kind=inner)


def _verdict_choice(schema: Schema, chance: random.Random) -> str:
    """Add an enum that says how a call went; return its key."""
    key = f"Verdict{len(schema.choices)}"
    good = chance.choice(("OK", "HEALTHY", "SUCCESS", "ACCEPTED", "FINE", "DANDY"))
    bad = chance.choice(("UNKNOWN", "UNHEALTHY", "FAILED", "ERROR"))
    order = [bad, good] if chance.random() < 0.7 else [good, bad]
    values = [(f"V_{w}", n, "good" if w == good else "") for n, w in enumerate(order)]
    schema.choices[key] = Choice(name=f"Verdict{len(schema.choices)}", values=values)
    return key


def add_part(schema: Schema, chance: random.Random) -> str:
    """Add a flag that says that less was accepted than was asked for: so it is, in every trial."""
    body = schema.bodies[chance.choice(("IncreaseReply", "DecreaseReply"))]
    name = chance.choice(words.SOME)
    body.add(Field(name=name, kind="bool", demand="true"))
    return f"{body.name} says by {name} that it is not all"


def add_end(schema: Schema, chance: random.Random) -> str:
    """Let a stream of instances end with a mark: whoever waits for it, waits for ever."""
    if not schema.rpcs["Update"].streams:
        return ""
    name = chance.choice(words.ENDS)
    schema.bodies["UpdateReply"].add(
        Field(name=name, kind="google.protobuf.Empty", demand="there"),
    )
    return f"Update ends with {name}"


def add_noise(schema: Schema, chance: random.Random) -> str:
    """Add something to an answer: that speaks, or that may be left out."""
    body = chance.choice([*schema.ends("Reply"), *_inner(schema)])
    kind = chance.choice(("string", "int64", "bool", "bytes", "double", "google.protobuf.Duration"))
    if chance.random() < 0.3:
        name = chance.choice(words.HARMLESS)
        body.add(Field(name=name, kind="string", demand="any"))
    else:
        shape = chance.choice(("plain", "plain", "repeated", "optional"))
        name = chance.choice(words.SPEAKS)
        repeated, optional = shape == "repeated", shape == "optional" and "." not in kind
        body.add(
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
    schema.bodies["UpdateReply"].add(Field(name=name, kind="int32", demand="entries"))
    return f"Update tells a {name}"


def add_asking(schema: Schema, chance: random.Random) -> str:
    """Add something to a request that asks for more, or only comes along."""
    body = chance.choice(schema.ends("Request"))
    if chance.random() < 0.3:
        name, demand = chance.choice(words.HARMLESS_ASKS), "any"
        body.add(Field(name=name, kind="string", demand=demand))
    else:
        name, demand = chance.choice(words.ASKS), "asks"
        kind = chance.choice(("string", "bool", "int32"))
        shape = chance.choice(("plain", "repeated", "optional"))
        repeated = shape == "repeated" and kind == "string"
        body.add(
            Field(
                name=name, kind=kind, demand=demand, repeated=repeated, optional=shape == "optional"
            ),
        )
    return f"{body.name} has {name} too"


def add_rival(schema: Schema, chance: random.Random) -> str:
    """Add a list that could as well be the one; either of them is true."""
    places = [
        (b, one)
        for b, one in schema.meaningful()
        if one.means in words.RIVALS and one.kind == "string" and not one.deprecated
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
    body.add(rival)
    return f"{body.name} has {rival.name} beside {one.name}"


def add_rival_list(schema: Schema, chance: random.Random) -> str:
    """Add a second list of instances to Update's answer; either of them is true."""
    reply = schema.bodies["UpdateReply"]
    true = [one for one in reply.fields if one.means in {"states", "entries"}]
    fields = [one for _, one in schema.fields("UpdateReply")]
    complete = any(one.means in {"states", "state"} for one in fields)
    if not complete or any(one.deprecated for one in fields):
        return ""
    name = chance.choice(words.LISTS)
    if true and chance.random() < 0.5:
        true[0].name = chance.choice(words.LISTS)
    kind = chance.choice(("State", "string"))
    reply.add(Field(name=name, kind=kind, key="string", demand="speaks"))
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
    reply.add(one)
    return f"the credentials are in {name}, {kind}"
