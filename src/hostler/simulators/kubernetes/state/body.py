"""JSON as the API speaks it; objects are never changed in place once they are stored."""

from collections.abc import Mapping
from typing import Any, TypeGuard

Body = dict[str, Any]


def is_mapping(value: object) -> TypeGuard[Body]:
    """Tell whether a value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Tell whether a value is a JSON array."""
    return isinstance(value, list)


def mapping(value: object) -> Body:
    """Return a JSON object, or an empty one for anything else."""
    return value if is_mapping(value) else {}


def sequence(value: object) -> list[Any]:
    """Return a JSON array, or an empty one for anything else."""
    return value if is_list(value) else []


def copied(value: Any) -> Any:
    """Return a copy, all the way down."""
    if is_mapping(value):
        return {name: copied(each) for name, each in value.items()}
    if is_list(value):
        return [copied(each) for each in value]
    return value


def at(value: object, *path: str) -> Any:
    """Return what stands at a path of names, or None."""
    for name in path:
        if not is_mapping(value):
            return None
        value = value.get(name)
    return value


def text_at(value: object, *path: str) -> str:
    """Return the text at a path; numbers and booleans as Kubernetes writes them; else nothing."""
    found = at(value, *path)
    if isinstance(found, bool):
        return "true" if found else "false"
    return str(found) if isinstance(found, str | int | float) else ""


def metadata_of(item: Mapping[str, Any]) -> Body:
    """Return an object's metadata, or an empty one."""
    return mapping(item.get("metadata"))


def with_metadata(item: Body, **changes: object) -> Body:
    """Return an object with other metadata; None removes a field."""
    metadata = {**metadata_of(item), **changes}
    removed = {name for name, value in changes.items() if value is None}
    left = {name: value for name, value in metadata.items() if name not in removed}
    return {**item, "metadata": left}


def same(one: object, other: object) -> bool:
    """Tell whether two values are equal as JSON: 1 is not true."""
    if is_mapping(one) and is_mapping(other):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if is_list(one) and is_list(other):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other
