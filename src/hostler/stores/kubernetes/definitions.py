"""Definitions: what Kubernetes is taught of the store's kinds, for whoever installs them. Pure."""

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from .kinds import GROUP, JOURNALS, PARTS, VERSION, Content

Manifest = Mapping[str, object]

_TEXT: Manifest = {"type": "string"}
_NUMBER: Manifest = {"type": "integer", "format": "int64", "minimum": 0}
_ENTRY: Manifest = {
    "type": "object",
    "description": "The changes of one save: lines of JSON, compressed by zlib, in base64.",
    "properties": {"sequence": _NUMBER, "data": {**_TEXT, "maxLength": 1_400_000}},
    "required": ["data"],
}
_CONTENT: Manifest = {**_TEXT, "enum": [content.value for content in Content]}

_JOURNAL: Manifest = {
    "type": "object",
    "description": "Every save of an installation, in order. Written by hostler alone.",
    "properties": {
        "installation": {**_TEXT, "description": "Whose records these are."},
        "format": {**_NUMBER, "description": "How the entries are written."},
        "sequence": {**_NUMBER, "description": "The number of the newest save."},
        "checkpoint": {**_NUMBER, "description": "The save whose records the parts hold."},
        "machines": {**_NUMBER, "description": "How many machines there are."},
        "engines": {
            "type": "array",
            "description": "The engines that hold leases, or held them when they ended.",
            "items": _TEXT,
        },
        "parts": {
            "type": "array",
            "description": "The parts that hold what the tail does not.",
            "items": {
                "type": "object",
                "properties": {
                    "name": _TEXT,
                    "content": _CONTENT,
                    **dict.fromkeys(("first", "last", "size", "count"), _NUMBER),
                },
                "required": ["name", "content"],
            },
        },
        "tail": {"type": "array", "description": "The newest saves.", "items": _ENTRY},
    },
    "required": ["installation", "format", "sequence", "checkpoint"],
}

_PART: Manifest = {
    "type": "object",
    "description": "A part of a journal. Written once, by hostler alone.",
    "properties": {"content": _CONTENT, "entries": {"type": "array", "items": _ENTRY}},
    "required": ["content"],
}


def definitions() -> tuple[Manifest, ...]:
    """Return the definitions of the store's kinds, as they are applied to a cluster."""
    journal = _definition(
        JOURNALS.kind,
        JOURNALS.plural,
        _JOURNAL,
        (
            _column("Installation", ".spec.installation"),
            _column("Machines", ".spec.machines", "integer"),
            _column("Engines", ".spec.engines"),
            _column("Saves", ".spec.sequence", "integer"),
            _column("Age", ".metadata.creationTimestamp", "date"),
        ),
    )
    part = _definition(
        PARTS.kind,
        PARTS.plural,
        _PART,
        (
            _column("Content", ".spec.content"),
            _column("Age", ".metadata.creationTimestamp", "date"),
        ),
    )
    return journal, part


def _definition(
    kind: str, plural: str, spec: Manifest, columns: Sequence[Manifest]
) -> dict[str, object]:
    schema = {
        "type": "object",
        "description": spec["description"],
        "properties": {
            "apiVersion": _TEXT,
            "kind": _TEXT,
            "metadata": {"type": "object"},
            "spec": spec,
        },
        "required": ["spec"],
    }
    names = {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": plural,
        "singular": kind.lower(),
    }
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": list(columns),
        "schema": {"openAPIV3Schema": schema},
    }
    content = {"group": GROUP, "names": names, "scope": "Namespaced", "versions": [version]}
    digest = hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()[:16]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{GROUP}",
            "labels": {"app.kubernetes.io/part-of": "hostler"},
            "annotations": {"hostler.dev/definition": digest},
        },
        "spec": content,
    }


def _column(name: str, path: str, kind: str = "string") -> Manifest:
    return {"name": name, "type": kind, "jsonPath": path}
