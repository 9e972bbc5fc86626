"""Structure: which parts of an object are owned and merged by themselves, by its kind's schema."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hostler.simulators.kubernetes.state.body import Body, mapping

_BY_KEYS: Mapping[str, tuple[str, ...]] = {
    "conditions": ("type",),
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "imagePullSecrets": ("name",),
    "ownerReferences": ("uid",),
    "ports": ("containerPort", "protocol"),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}
_SETS = frozenset({"finalizers"})
_ATOMIC = frozenset({"selector", "matchLabels", "nodeSelector", "secretRef", "configMapKeyRef"})
_FREE = frozenset(
    {"labels", "annotations", "data", "stringData", "binaryData", "matchLabels", "nodeSelector"}
)
_METADATA: Body = {
    "type": "object",
    "properties": {
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
        "finalizers": {"type": "array", "x-kubernetes-list-type": "set"},
        "ownerReferences": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["uid"],
            "items": {"type": "object", "x-kubernetes-map-type": "atomic"},
        },
    },
}


class Structure(Struct, frozen=True):
    """A part of an object: of a definition's schema, or, where there is none, as its name says.

    Lists of the server's own kinds are merged by the keys that they have there; of a definition,
    by what it says.
    """

    schema: Body | None
    name: str = ""

    @property
    def atomic(self) -> bool:
        """Tell whether a map is owned as one."""
        if self.schema is not None:
            return self.schema.get("x-kubernetes-map-type") == "atomic"
        return self.name in _ATOMIC

    @property
    def keys(self) -> tuple[str, ...]:
        """Return by which keys the items of a list are known; none where they are not."""
        if self.schema is None:
            return _BY_KEYS.get(self.name, ())
        if self.schema.get("x-kubernetes-list-type") != "map":
            return ()
        return tuple(self.schema.get("x-kubernetes-list-map-keys") or ())

    @property
    def is_set(self) -> bool:
        """Tell whether a list is a set of scalars."""
        if self.schema is None:
            return self.name in _SETS
        return self.schema.get("x-kubernetes-list-type") == "set"

    @property
    def granular_list(self) -> bool:
        """Tell whether the items of a list are owned each by itself."""
        return bool(self.keys) or self.is_set

    def declares(self, name: str) -> bool:
        """Tell whether a field is one of the schema, and no key of a free map."""
        if self.schema is None:
            return self.name not in _FREE
        return name in mapping(self.schema.get("properties"))

    def default(self, key: str) -> Any:
        """Return the default of a key of this list's items."""
        if self.schema is None:
            return "TCP" if key == "protocol" else None
        items = mapping(self.schema.get("items"))
        return mapping(mapping(items.get("properties")).get(key)).get("default")

    def child(self, name: str) -> "Structure":
        """Return the structure of a field."""
        if self.schema is None:
            return Structure(None, name)
        properties = mapping(self.schema.get("properties"))
        if name in properties:
            return Structure(mapping(properties[name]))
        return Structure(mapping(self.schema.get("additionalProperties")))

    def items(self) -> "Structure":
        """Return the structure of a list's items."""
        if self.schema is None:
            return Structure(None)
        return Structure(mapping(self.schema.get("items")))


def structure_of(schema: Body | None) -> Structure:
    """Return the structure of a kind's objects."""
    if schema is None:
        return Structure(None)
    properties = {**mapping(schema.get("properties")), "metadata": _METADATA}
    for name in ("apiVersion", "kind"):
        properties.setdefault(name, {"type": "string"})
    return Structure({**schema, "properties": properties})
