"""Custom kinds: what a CustomResourceDefinition says beside a schema. Pure."""

import hashlib
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from .schema import Fields, Schema

GROUP, VERSION = "hostler.dev", "v1alpha1"
DIGEST = "hostler.dev/definition"
"""The annotation by which an engine sees that a definition is of another version of hostler."""

LONGEST_MESSAGE = 32_768
"""How many letters the message of a condition may have, as for Kubernetes' own kinds."""

LABELS: Mapping[str, str] = {"app.kubernetes.io/part-of": "hostler"}


class Names(Struct, frozen=True, kw_only=True):
    """What a kind is called."""

    kind: str
    plural: str
    short: tuple[str, ...] = ()

    @property
    def singular(self) -> str:
        """Return the name of one."""
        return self.kind.lower()


class Column(Struct, frozen=True, kw_only=True):
    """A column of `kubectl get`; those with a higher priority are shown by `-o wide` only."""

    name: str
    path: str
    type: str = "string"
    description: str = ""
    priority: int = 0

    def entry(self) -> dict[str, object]:
        """Return it as a definition has it."""
        made: dict[str, object] = {"name": self.name, "type": self.type, "jsonPath": self.path}
        if self.description:
            made["description"] = self.description
        return made | ({"priority": self.priority} if self.priority else {})


class Rule(Struct, frozen=True, kw_only=True):
    """What Kubernetes itself refuses: an expression in CEL that must hold, and what was expected.

    `at` is the path that the refusal names, seen from the object that the rule is about.
    """

    holds: str
    expected: str
    at: str = ""

    def entry(self) -> dict[str, object]:
        """Return it as a schema has it."""
        made: dict[str, object] = {"rule": self.holds, "message": f"expected {self.expected}"}
        return made | ({"fieldPath": self.at} if self.at else {})


class CustomKind(Struct, frozen=True, kw_only=True):
    """One kind of ours: its fields, and how kubectl shows and scales it."""

    names: Names
    about: str
    spec: Fields
    status: Fields
    columns: tuple[Column, ...]
    rules: tuple[Rule, ...] = ()
    name_rules: tuple[Rule, ...] = ()
    scale: Mapping[str, str] | None = None
    selectable: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """Return the name of its definition."""
        return f"{self.names.plural}.{GROUP}"

    def manifest(self) -> dict[str, object]:
        """Return the definition, as it is applied to a cluster."""
        spec = self._spec()
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": self.full_name,
                "labels": dict(LABELS),
                "annotations": {DIGEST: digest_of(spec)},
            },
            "spec": spec,
        }

    def _spec(self) -> dict[str, object]:
        names: dict[str, object] = {
            "kind": self.names.kind,
            "listKind": f"{self.names.kind}List",
            "plural": self.names.plural,
            "singular": self.names.singular,
            "categories": ["hostler"],
        }
        if self.names.short:
            names["shortNames"] = list(self.names.short)
        return {
            "group": GROUP,
            "names": names,
            "scope": "Namespaced",
            "versions": [self._version()],
        }

    def _version(self) -> dict[str, object]:
        subresources: dict[str, object] = {"status": {}}
        if self.scale is not None:
            subresources["scale"] = dict(self.scale)
        made: dict[str, object] = {
            "name": VERSION,
            "served": True,
            "storage": True,
            "subresources": subresources,
            "additionalPrinterColumns": [column.entry() for column in self.columns],
            "schema": {"openAPIV3Schema": self._schema()},
        }
        if self.selectable:
            made["selectableFields"] = [{"jsonPath": path} for path in self.selectable]
        return made

    def _schema(self) -> dict[str, object]:
        text = {"type": "string"}
        spec = self.spec.schema(f"What is wanted of this {self.names.singular}.")
        made: dict[str, object] = {
            "type": "object",
            "description": self.about,
            "properties": {
                "apiVersion": text,
                "kind": text,
                "metadata": {"type": "object"},
                "spec": spec | _rules(self.rules),
                "status": self.status.schema(f"How this {self.names.singular} stands."),
            },
            "required": ["spec"],
        }
        return made | _rules(self.name_rules)


def digest_of(spec: Mapping[str, object]) -> str:
    """Return what tells one content of a definition from another."""
    return hashlib.sha256(msgspec.json.encode(spec, order="deterministic")).hexdigest()[:16]


def _rules(rules: Sequence[Rule]) -> dict[str, object]:
    return {"x-kubernetes-validations": [rule.entry() for rule in rules]} if rules else {}


# ---------------------------------------------------------------- what statuses have


def text(description: str, *values: str) -> Schema:
    """Return a text, or one of these words."""
    made: dict[str, object] = {"type": "string", "description": description}
    return made | ({"enum": list(values)} if values else {})


def count(description: str) -> Schema:
    """Return a number of things."""
    return {"type": "integer", "minimum": 0, "description": description}


def date(description: str) -> Schema:
    """Return a date."""
    return {"type": "string", "format": "date-time", "description": description}


def conditions(about: str) -> Schema:
    """Return conditions of which several managers may each own some."""
    fields = {
        "type": {"type": "string", "maxLength": 316},
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "reason": {"type": "string", "minLength": 1, "maxLength": 1024},
        "message": {"type": "string", "maxLength": LONGEST_MESSAGE},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
    }
    return {
        "type": "array",
        "description": about,
        "items": {
            "type": "object",
            "properties": fields,
            "required": ["type", "status", "reason", "message", "lastTransitionTime"],
        },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    }


def within(message: str) -> str:
    """Return a condition's message as the server takes it; one about hundreds of hosts is cut."""
    if len(message) <= LONGEST_MESSAGE:
        return message
    return f"{message[: LONGEST_MESSAGE - 2]} …"


OBSERVED: Schema = {
    "type": "integer",
    "format": "int64",
    "minimum": 0,
    "description": "The generation of the object that this status is about.",
}


def condition_column(name: str, kind: str, priority: int = 0) -> Column:
    """Return the column that shows whether a condition holds."""
    path = f'.status.conditions[?(@.type=="{kind}")].status'
    return Column(name=name, path=path, priority=priority)


AGE = Column(name="Age", type="date", path=".metadata.creationTimestamp")
