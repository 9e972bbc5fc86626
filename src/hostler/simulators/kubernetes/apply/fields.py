"""Field sets: the paths that somebody owns in an object, and how `managedFields` writes them."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from hostler.simulators.kubernetes.state.body import Body, is_list, is_mapping, mapping, same

from .structure import Structure

Step = str
"""A step of a path as `managedFields` writes it: `f:NAME`, `k:{…}` or `v:…`."""

Path = tuple[Step, ...]
Paths = frozenset[Path]
NOBODY: Paths = frozenset()
_JSON = msgspec.json.Encoder(order="sorted")
_UNOWNED = frozenset(
    {("f:apiVersion",), ("f:kind",), ("f:metadata",)}
    | {
        ("f:metadata", f"f:{name}")
        for name in (
            *("name", "namespace", "uid", "resourceVersion", "generation", "selfLink"),
            *("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"),
            *("managedFields", "generateName"),
        )
    }
)


def item_step(item: object, structure: Structure, index: int) -> Step:
    """Return how an item of a list is named: by its keys, or by its value."""
    if structure.keys:
        body = mapping(item)
        named = {key: body.get(key, structure.default(key)) for key in structure.keys}
        found = {key: value for key, value in named.items() if value is not None}
        return f"k:{_JSON.encode(found).decode()}"
    if structure.is_set:
        return f"v:{_JSON.encode(item).decode()}"
    return f"i:{index}"


def paths_of(item: Body, structure: Structure) -> Paths:
    """Return what an applied configuration owns."""
    return frozenset(path for path in _owned(item, structure, ()) if path not in _UNOWNED)


def _owned(value: Any, structure: Structure, path: Path) -> Iterator[Path]:
    if is_mapping(value) and not structure.atomic:
        for name, each in value.items():
            here = (*path, f"f:{name}")
            if here in _UNOWNED and here != ("f:metadata",):
                continue
            if each is None or (is_mapping(each) and not each) or not structure.declares(name):
                yield here
            yield from _owned(each, structure.child(name), here)
    elif is_list(value) and structure.granular_list:
        for index, each in enumerate(value):
            here = (*path, item_step(each, structure, index))
            yield here
            yield from _owned(each, structure.items(), here)
    else:
        yield path


def changed(before: Any, after: Any, structure: Structure, path: Path = ()) -> tuple[Paths, Paths]:
    """Return which paths were set to something new, and which were taken away."""
    written, removed = set[Path](), set[Path]()
    _compare(before, after, structure, path, (written, removed))
    return frozenset(written - _UNOWNED), frozenset(removed - _UNOWNED)


Found = tuple[set[Path], set[Path]]


def _compare(before: Any, after: Any, structure: Structure, path: Path, found: Found) -> None:
    if path in _UNOWNED and path != ("f:metadata",):
        return
    ours, theirs = _children(after, structure), _children(before, structure)
    if ours is None or theirs is None:
        if not same(before, after):
            found[0].update(_all(after, structure, path))
            found[1].update(_all(before, structure, path) - found[0])
        return
    for step in {**theirs, **ours}:
        here = (*path, step)
        below = _below(structure, step)
        if step not in ours:
            found[1].update(_all(theirs[step], below, here))
        elif step not in theirs:
            found[0].update(_all(ours[step], below, here))
        else:
            _compare(theirs[step], ours[step], below, here, found)


def _all(value: Any, structure: Structure, path: Path) -> set[Path]:
    """Return a path and all below it."""
    found = {path} if path else set[Path]()
    for step, each in (_children(value, structure) or {}).items():
        found |= _all(each, _below(structure, step), (*path, step))
    return found


def _children(value: Any, structure: Structure) -> dict[Step, Any] | None:
    """Return the parts of a value that are owned each by itself, or None where it is one."""
    if is_mapping(value) and not structure.atomic:
        return {f"f:{name}": each for name, each in value.items()}
    if is_list(value) and structure.granular_list:
        return {item_step(each, structure, index): each for index, each in enumerate(value)}
    return None


def _below(structure: Structure, step: Step) -> Structure:
    return structure.child(step[2:]) if step.startswith("f:") else structure.items()


def encoded(paths: Iterable[Path]) -> Body:
    """Return a set as `fieldsV1`."""
    root: Body = {}
    for path in sorted(paths):
        node = root
        for step in path:
            node = node.setdefault(step, {})
        node["."] = {}
    return mapping(_trimmed(root))


def _trimmed(node: Body) -> Body:
    """Leave out the dot of what has nothing else."""
    if set(node) == {"."}:
        return {}
    return {step: below if step == "." else _trimmed(below) for step, below in node.items()}


def decoded(fields: Body, path: Path = ()) -> Paths:
    """Return the set that `fieldsV1` is."""
    found = set[Path]()
    for step, below in fields.items():
        if step == ".":
            found.add(path)
        else:
            found |= decoded(below, (*path, step))
            if not below:
                found.add((*path, step))
    return frozenset(found)
