"""Schemas: what the server checks of our kinds, and what `kubectl explain` says of them."""

from collections.abc import Iterable, Mapping

Schema = Mapping[str, object]


def text(description: str, longest: int, *, shortest: int = 0) -> Schema:
    """Return the schema of a text of at most so many characters."""
    bounds = {"maxLength": longest, **({"minLength": shortest} if shortest else {})}
    return {"type": "string", "description": description, **bounds}


def once(schema: Schema, why: str) -> Schema:
    """Return the schema of what is written once and not changed again."""
    rule = {"rule": "self == oldSelf", "message": why}
    return {**schema, "x-kubernetes-validations": [rule]}


def flag(description: str) -> Schema:
    """Return the schema of a yes or no."""
    return {"type": "boolean", "description": description}


def record(description: str, required: Iterable[str] = (), **properties: Schema) -> Schema:
    """Return the schema of an object with these properties."""
    needs = {"required": list(required)} if required else {}
    return {"type": "object", "description": description, "properties": properties, **needs}


def many(description: str, item: Schema, key: str, most: int) -> Schema:
    """Return the schema of a list whose items are told apart, and merged, by a key."""
    return {
        "type": "array",
        "description": description,
        "items": item,
        "maxItems": most,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": [key],
    }


_CONDITION = record(
    "one condition",
    ("type", "status", "reason", "lastTransitionTime"),
    type=text("what it is about", 316, shortest=1),
    status={
        "type": "string",
        "description": "True, False or Unknown",
        "enum": ["True", "False", "Unknown"],
    },
    reason=text("why, as one word", 1024, shortest=1),
    message=text("why, in a sentence", 32768),
    lastTransitionTime={
        "type": "string",
        "format": "date-time",
        "description": "since when it has this status",
    },
    observedGeneration={
        "type": "integer",
        "format": "int64",
        "minimum": 0,
        "description": "the generation that it was written for",
    },
)
CONDITIONS = many("how it stands", _CONDITION, "type", 32)


def initialization(name: str, description: str) -> Schema:
    """Return the schema of what happens once and for all."""
    return record("what happened once and for all", **{name: flag(description)})


ENDPOINT = record(
    "where the API server of the cluster is reached",
    host=text("its name or address", 512),
    port={
        "type": "integer",
        "format": "int32",
        "minimum": 0,
        "maximum": 65535,
        "description": "its port",
    },
)

FAILURE_DOMAINS = many(
    "the failure domains that machines may name: zones of the fleets",
    record(
        "one failure domain",
        ("name",),
        name=text("its name: a zone of a fleet", 256, shortest=1),
        controlPlane=flag("whether control-plane machines may be placed there"),
        attributes={
            "type": "object",
            "description": "anything else about it",
            "additionalProperties": {"type": "string"},
        },
    ),
    "name",
    100,
)

NODE_INFO = record(
    "what a node of this template will be",
    architecture={
        "type": "string",
        "description": "its processor",
        "enum": ["amd64", "arm64", "s390x", "ppc64le"],
    },
    operatingSystem=text("its operating system", 64),
)

CAPACITY: Schema = {
    "type": "object",
    "description": "what a node of this template will have, for scaling from zero",
    "additionalProperties": {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
        "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|"
        r"([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
    },
}

METADATA = record(
    "labels and annotations of what is made from it",
    labels={
        "type": "object",
        "description": "labels",
        "additionalProperties": {"type": "string"},
    },
    annotations={
        "type": "object",
        "description": "annotations",
        "additionalProperties": {"type": "string"},
    },
)
