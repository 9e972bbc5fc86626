"""Definitions: the rules that a CustomResourceDefinition must keep to be stored."""

from collections.abc import Iterator

from hostler.simulators.kubernetes.schema.rules import wrong_rules
from hostler.simulators.kubernetes.state.body import Body, is_mapping, mapping, sequence, text_at
from hostler.simulators.kubernetes.state.refusals import Cause

from .fields import INVALID, required


def wrong_definition(item: Body) -> Iterator[Cause]:
    """Return what is wrong with a definition."""
    spec = mapping(item.get("spec"))
    group, plural = text_at(spec, "group"), text_at(spec, "names", "plural")
    if not text_at(spec, "names", "kind"):
        yield required("spec.names.kind")
    if text_at(item, "metadata", "name") != f"{plural}.{group}":
        text = f'Invalid value: "{text_at(item, "metadata", "name")}": must be spec.names.plural'
        yield Cause("metadata.name", INVALID, f'{text}+"."+spec.group')
    if spec.get("scope") not in {"Cluster", "Namespaced"}:
        yield required("spec.scope")
    versions = sequence(spec.get("versions"))
    if sum(bool(one.get("storage")) for one in versions) != 1:
        text = "Invalid value: must have exactly one version marked as storage version"
        yield Cause("spec.versions", INVALID, text)
    for number, version in enumerate(versions):
        schema = mapping(version.get("schema")).get("openAPIV3Schema")
        place = f"spec.versions[{number}].schema.openAPIV3Schema"
        if len(versions) == 1:  # the server speaks of one schema as the older API did
            place = "spec.validation.openAPIV3Schema"
        if schema is None:
            yield Cause(place, "FieldValueRequired", "Required value: schemas are required")
        else:
            yield from _unstructural(mapping(schema), place)
            yield from wrong_rules(mapping(schema), place)


def _unstructural(schema: Body, place: str, where: str = "at the root") -> Iterator[Cause]:
    free = schema.get("x-kubernetes-int-or-string")
    free = free or schema.get("x-kubernetes-preserve-unknown-fields")
    inner = "for specified object fields"
    for name, below in mapping(schema.get("properties")).items():
        yield from _unstructural(mapping(below), f"{place}.properties[{name}]", inner)
    for name in ("items", "additionalProperties"):
        below = schema.get(name)
        if is_mapping(below):
            yield from _unstructural(below, f"{place}.{name}", inner)
    if not schema.get("type") and not free:
        text = f"Required value: must not be empty {where}"
        yield Cause(f"{place}.type", "FieldValueRequired", text)
