"""Plain: schemas as a runner might have them: the same calls under harmless names and shapes."""

import random
from collections.abc import Sequence

from .model import CALLS, Body, Choice, Field, Rpc, Schema

_CONNECTOR = (
    ("os", "string", "os"),
    ("arch", "string", "arch"),
    ("protocol", "string", "protocol"),
    ("protocol_port", "int32", "protocol_port"),
    ("username", "string", "username"),
    ("password", "string", "password"),
    ("key", "bytes", "key"),
    ("use_static_credentials", "bool", "use_static_credentials"),
    ("keepalive", "google.protobuf.Duration", "keepalive"),
    ("timeout", "google.protobuf.Duration", "timeout"),
)
SYNONYMS: dict[str, Sequence[str]] = {
    "config": ("config", "config_json", "plugin_config", "configuration"),
    "os": ("os", "operating_system"),
    "arch": ("arch", "architecture"),
    "protocol": ("protocol", "proto"),
    "protocol_port": ("protocol_port", "port"),
    "username": ("username", "user"),
    "password": ("password", "passwd"),
    "key": ("key", "private_key"),
    "use_static_credentials": ("use_static_credentials", "static_credentials"),
    "max_size": ("max_size", "max_instances", "maximum"),
    "version": ("version", "plugin_version"),
    "build_info": ("build_info", "build"),
    "count": ("n", "delta", "count"),
    "accepted_count": ("succeeded", "accepted", "num_succeeded"),
    "accepted_ids": ("succeeded", "succeeded_ids", "accepted"),
    "ids": ("instances", "ids", "instance_ids"),
    "external": ("external_addr", "external_address", "public_ip"),
    "internal": ("internal_addr", "internal_address", "private_ip"),
    "expires": ("expires", "expires_at", "expiry"),
}
"""Names that mean the same, as far as anybody can tell; none is taken from the plugin."""
STATES = ("creating", "running", "deleting", "deleted", "timeout")
_STYLES = (
    ("Request", "Response"),
    ("Request", "Reply"),
    ("Req", "Resp"),
    ("Args", "Result"),
    ("Input", "Output"),
)


def plain_schema(chance: random.Random) -> Schema:
    """Return a schema that a mapper should understand."""
    asks, tells = chance.choice(_STYLES)
    bodies = {
        f"{call}{side}": Body(name=f"{call}{end}")
        for call in CALLS
        for side, end in (("Request", asks), ("Reply", tells))
    }
    schema = Schema(
        package=chance.choice(("fleeting.v1", "fleeting", "plugin.v2", "proto")),
        service=chance.choice(("FleetingPlugin", "Fleeting", "Plugin", "InstanceGroup")),
        bodies=bodies,
        choices={"State": _states(chance)},
        rpcs={call: Rpc(call, f"{call}Request", f"{call}Reply") for call in CALLS},
    )
    _fill(schema, chance)
    _update(schema, chance)
    for body in schema.bodies.values():
        _number(body, chance)
    return schema


def _states(chance: random.Random) -> Choice:
    prefix = chance.choice(("STATE_", "INSTANCE_STATE_", "", "State"))
    first = [] if chance.random() < 0.2 else ["unspecified"]
    words = [*first, *STATES]
    chance.shuffle(words)
    if first:
        words.sort(key=lambda word: word != "unspecified")
    named = [
        (prefix + (word.title() if prefix == "State" else word.upper()), word) for word in words
    ]
    values = [(name, n, word if word in STATES else "") for n, (name, word) in enumerate(named)]
    return Choice(name=chance.choice(("State", "InstanceState", "Status")), values=values)


def _fill(schema: Schema, chance: random.Random) -> None:
    """Put the fields into every message but Update's answer."""

    def named(means: str, kind: str, *, repeated: bool = False) -> Field:
        name = chance.choice(SYNONYMS.get(means, (means,)))
        return Field(name=name, kind=kind, means=means, repeated=repeated)

    def put(key: str, *fields: Field) -> None:
        schema.bodies[key].fields.extend(fields)

    connector = [
        Field(name=chance.choice(SYNONYMS.get(means, (name,))), kind=kind, means=means)
        for name, kind, means in _CONNECTOR
    ]
    put("InitRequest", named("config", chance.choice(("bytes", "string"))))
    put("InitReply", Field(name="id", kind="string", means="id"), named("max_size", "int64"))
    put("InitReply", named("version", "string"), named("build_info", "string"))
    put(
        "InitReply",
        Field(name="capabilities", kind="string", means="capabilities", repeated=True),
    )
    number = chance.choice(("int64", "int32", "uint32"))
    put("IncreaseRequest", named("count", number))
    put("IncreaseReply", named("accepted_count", number))
    put("DecreaseRequest", named("ids", "string", repeated=True))
    put("DecreaseReply", named("accepted_ids", "string", repeated=True))
    for key in ("ConnectInfoRequest", "HeartbeatRequest"):
        name = chance.choice(("id", "instance_id", "instance"))
        put(key, Field(name=name, kind="string", means="id"))
    put("ConnectInfoReply", Field(name="id", kind="string", means="id"))
    put("ConnectInfoReply", named("external", "string"), named("internal", "string"))
    put("ConnectInfoReply", named("expires", "google.protobuf.Timestamp"))
    if chance.random() < 0.3:
        put("InitRequest", *map(_copy, connector))
        put("ConnectInfoReply", *map(_copy, connector))
        return
    name = chance.choice(("Connector", "ConnectorConfig", "ConnectionConfig"))
    schema.bodies["Connector"] = Body(name=name, fields=connector)
    field_name = chance.choice(("connector", "connector_config", "settings"))
    put("InitRequest", Field(name=field_name, kind="Connector"))
    put("ConnectInfoReply", Field(name=field_name, kind="Connector"))


def _copy(one: Field) -> Field:
    return Field(name=one.name, kind=one.kind, means=one.means)


def _update(schema: Schema, chance: random.Random) -> None:
    """Put instances into Update's answer in one of the usual ways."""
    reply = schema.bodies["UpdateReply"].fields
    state = chance.choice(("State", "State", "State", "string"))
    entry = [
        Field(name=chance.choice(("id", "instance_id")), kind="string", means="id"),
        Field(name=chance.choice(("state", "instance_state")), kind=state, means="state"),
    ]
    way = chance.choice(("stream", "stream of lists", "list", "map"))
    schema.rpcs["Update"].streams = way.startswith("stream")
    if way == "stream":
        reply.extend(entry)
    elif way == "map":
        reply.append(Field(name="instances", kind=state, means="states", key="string"))
    else:
        schema.bodies["Entry"] = Body(name=chance.choice(("Instance", "Machine")), fields=entry)
        reply.append(Field(name="instances", kind="Entry", means="entries", repeated=True))


def _number(body: Body, chance: random.Random) -> None:
    """Give numbers in an order of their own."""
    numbers = chance.sample(range(1, 4 * len(body.fields) + 2), len(body.fields))
    for one, number in zip(body.fields, numbers, strict=True):
        one.number = number
    chance.shuffle(body.fields)
