"""Structural schemas: what is filled in, and what is dropped, before an object is judged."""

from typing import Any

from hostler.simulators.kubernetes.state.body import (
    Body,
    copied,
    is_list,
    is_mapping,
    mapping,
)

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
_OWN = ("apiVersion", "kind", "metadata")


def defaulted(value: Any, schema: Body, *, nulls: bool = False) -> Any:
    """Return a value with its schema's defaults where nothing stands.

    Null where it is not allowed and has no default is dropped, unless `nulls` are to be judged.
    """
    if is_mapping(value):
        result = dict(value)
        properties = mapping(schema.get("properties"))
        for name, below in properties.items():
            if name not in result and "default" in mapping(below):
                result[name] = copied(below["default"])
            elif result.get(name, 0) is None and not mapping(below).get("nullable"):
                if "default" in mapping(below):
                    result[name] = copied(below["default"])
                elif not nulls:
                    del result[name]
        others = mapping(schema.get("additionalProperties"))
        if others and not others.get("nullable") and not nulls:
            result = {name: each for name, each in result.items() if each is not None}
        return {
            name: defaulted(each, mapping(properties.get(name, others)), nulls=nulls)
            for name, each in result.items()
        }
    if is_list(value):
        return [defaulted(each, mapping(schema.get("items")), nulls=nulls) for each in value]
    return value


def pruned(value: Any, schema: Body, *, root: bool = False) -> Any:
    """Return a value without the fields that its schema does not know."""
    if is_list(value):
        return [pruned(each, mapping(schema.get("items"))) for each in value]
    if not is_mapping(value):
        return value
    properties = mapping(schema.get("properties"))
    others = schema.get("additionalProperties")
    preserved = schema.get(PRESERVE) is True
    whole = root or schema.get(EMBEDDED) is True
    result: Body = {}
    for name, each in value.items():
        if whole and name in _OWN:
            result[name] = each
        elif name in properties:
            result[name] = pruned(each, mapping(properties[name]))
        elif is_mapping(others):
            result[name] = pruned(each, others)
        elif preserved or others is True:
            result[name] = each
    return result


def unknown_fields(value: Any, schema: Body, path: str = "", *, root: bool = False) -> list[str]:
    """Return the paths that pruning would drop, for a strict reader."""
    if is_list(value):
        items = mapping(schema.get("items"))
        found = [unknown_fields(each, items, f"{path}[{n}]") for n, each in enumerate(value)]
        return [one for each in found for one in each]
    if not is_mapping(value):
        return []
    remaining = pruned(value, schema, root=root)
    result = [f"{path}.{name}".lstrip(".") for name in value if name not in remaining]
    properties = mapping(schema.get("properties"))
    others = mapping(schema.get("additionalProperties"))
    own = _OWN if root or schema.get(EMBEDDED) is True else frozenset[str]()
    for name, each in value.items():
        if name in remaining and name not in own and (name in properties or others):
            below = mapping(properties.get(name, others))
            result += unknown_fields(each, below, f"{path}.{name}".lstrip("."))
    return result
