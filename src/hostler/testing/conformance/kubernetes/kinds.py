"""Kinds: the definition that the checks install, with something of everything that we use."""

from .peer import GROUP, Body

_CONDITION: Body = {
    "type": "object",
    "required": ["type", "status"],
    "properties": {
        "type": {"type": "string"},
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "reason": {"type": "string"},
        "since": {"type": "string", "format": "date-time"},
    },
}
_PART: Body = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "size": {"type": "integer"},
        "side": {"type": "string", "default": "left"},
    },
}
_POSITIVE: Body = {
    "x-kubernetes-validations": [
        {"rule": "self.all(port, port > 0) && !self.exists(port, port % 7 == 0)"},
    ]
}
_SPEC: Body = {
    "type": "object",
    "x-kubernetes-validations": [
        {
            "rule": "!has(self.mode) || self.mode == 'off' || self.size <= 50",
            "messageExpression": "'too big for ' + self.pool",
            "fieldPath": ".size",
        },
        {"rule": "!has(self.code) || self.code in ['abc', 'abd'] || self.code.startsWith('x')"},
        {
            "rule": "has(self.share) == has(oldSelf.share) || self.size > oldSelf.size",
            "message": "the share comes and goes with growth",
            "reason": "FieldValueForbidden",
        },
    ],
    "required": ["pool"],
    "properties": {
        "pool": {
            "type": "string",
            "maxLength": 12,
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "never moves"}],
        },
        "size": {"type": "integer", "minimum": 0, "maximum": 100, "default": 1},
        "mode": {"type": "string", "enum": ["on", "off"]},
        "code": {"type": "string", "maxLength": 9, "pattern": "^[a-z]+$"},
        "share": {"x-kubernetes-int-or-string": True},
        "note": {"type": "string", "nullable": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "sizes": {"type": "object", "additionalProperties": {"type": "integer"}},
        "ports": {"type": "array", "maxItems": 3, "items": {"type": "integer"}, **_POSITIVE},
        "tags": {
            "type": "array",
            "x-kubernetes-list-type": "set",
            "items": {"type": "string"},
        },
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": _PART,
        },
    },
}
_STATUS: Body = {
    "type": "object",
    "properties": {
        "size": {"type": "integer"},
        "note": {"type": "string"},
        "selector": {"type": "string"},
        "conditions": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "items": _CONDITION,
        },
    },
}


def definition(plural: str = "boxes", kind: str = "Box") -> Body:
    """Return the definition of a kind with status, scale, selectable fields and a whole schema."""
    version: Body = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "metadata": {"type": "object"},
                    "spec": _SPEC,
                    "status": _STATUS,
                },
                "x-kubernetes-validations": [
                    {"rule": "self.metadata.name.size() <= 30", "message": "a long name"}
                ],
            }
        },
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.size",
                "statusReplicasPath": ".status.size",
                "labelSelectorPath": ".status.selector",
            },
        },
        "selectableFields": [{"jsonPath": ".spec.pool"}],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "singular": kind.lower()},
            "versions": [version],
        },
    }
