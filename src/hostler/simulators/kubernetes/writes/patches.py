"""Patches: what a body of changes makes of an object, by its content type."""

import re
from typing import Any

from hostler.simulators.kubernetes.apply.fields import item_step
from hostler.simulators.kubernetes.apply.structure import Structure
from hostler.simulators.kubernetes.state.body import (
    Body,
    copied,
    is_list,
    is_mapping,
    mapping,
    same,
)
from hostler.simulators.kubernetes.state.refusals import Refusal, bad_request

MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


def merge(live: Any, patch: Any) -> Any:
    """Return what a merge patch (RFC 7396) makes of a value."""
    if not is_mapping(patch):
        return _without_nulls(patch)
    result = dict(mapping(live))
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge(result.get(name), value)
    return result


def _without_nulls(value: Any) -> Any:
    """Return a list without the nulls of its objects: Kubernetes drops those too."""
    if is_mapping(value):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    if is_list(value):
        return [_without_nulls(each) for each in value]
    return value


def strategic(live: Any, patch: Any, structure: Structure) -> Any:
    """Return what a strategic merge patch makes of a value: lists with keys are merged by them."""
    if is_list(patch):
        return _strategic_list(live if is_list(live) else [], patch, structure)
    if not is_mapping(patch):
        return patch
    if patch.get("$patch") == "replace":
        return {name: value for name, value in patch.items() if name != "$patch"}
    result = dict(mapping(live))
    for name, value in patch.items():
        if name.startswith("$"):
            continue
        if value is None:
            result.pop(name, None)
        else:
            result[name] = strategic(result.get(name), value, structure.child(name))
    return result


def _strategic_list(live: list[Any], patch: list[Any], structure: Structure) -> list[Any]:
    if not structure.granular_list:
        return patch
    found = {item_step(item, structure, index): item for index, item in enumerate(live)}
    for index, item in enumerate(patch):
        step = item_step(item, structure, index)
        if is_mapping(item) and item.get("$patch") == "delete":
            found.pop(step, None)
        else:
            found[step] = strategic(found.get(step), item, structure.items())
    return list(found.values())


class _Unfit(Exception):
    """An operation that cannot be done on this object."""


def json_patch(live: Body, operations: Any) -> Body:
    """Return what a JSON patch (RFC 6902) makes of an object; all of it or a Refusal."""
    if not is_list(operations):
        raise bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    result: Any = copied(live)
    for operation in operations:
        try:
            result = _done(result, mapping(operation))
        except (_Unfit, LookupError, ValueError):
            text = "the server rejected our request due to an error in our request"
            raise Refusal(422, "Invalid", text) from None
    return mapping(result)


def _done(root: Any, operation: Body) -> Any:
    path = _pointer(operation["path"])
    match operation.get("op"):
        case "test":
            if not same(_found(root, path), operation.get("value")):
                raise _Unfit
        case "add":
            return _put(root, path, copied(operation["value"]), inserts=True)
        case "replace":
            _found(root, path)
            return _put(root, path, copied(operation["value"]))
        case "remove":
            return _removed(root, path)
        case "copy":
            value = copied(_found(root, _pointer(operation["from"])))
            return _put(root, path, value, inserts=True)
        case "move":
            origin = _pointer(operation["from"])
            value = _found(root, origin)
            return _put(_removed(root, origin), path, value, inserts=True)
        case other:
            raise bad_request(f"Unexpected kind: {other}")
    return root


def _pointer(text: Any) -> list[str]:
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise _Unfit
    return [re.sub("~0", "~", part.replace("~1", "/")) for part in text.split("/")[1:]]


def _found(value: Any, path: list[str]) -> Any:
    for part in path:
        if is_list(value):
            value = value[int(part)]
        elif is_mapping(value):
            value = value[part]
        else:
            raise _Unfit
    return value


def _put(root: Any, path: list[str], value: Any, *, inserts: bool = False) -> Any:
    if not path:
        return value
    holder, last = _found(root, path[:-1]), path[-1]
    if is_list(holder):
        index = len(holder) if last == "-" else int(last)
        if index > len(holder):
            raise _Unfit
        if inserts:
            holder.insert(index, value)
        else:
            holder[index] = value
    elif is_mapping(holder):
        holder[last] = value
    else:
        raise _Unfit
    return root


def _removed(root: Any, path: list[str]) -> Any:
    holder, last = _found(root, path[:-1]), path[-1]
    if is_list(holder):
        del holder[int(last)]
    elif is_mapping(holder):
        del holder[last]
    else:
        raise _Unfit
    return root
