"""Merge of an apply: what is applied goes in, what is applied no more comes out."""

from collections.abc import Sequence
from typing import Any

from hostler.simulators.kubernetes.state.body import (
    Body,
    is_list,
    is_mapping,
    mapping,
    metadata_of,
)
from hostler.simulators.kubernetes.state.refusals import Refusal

from .fields import Path, Paths, changed, item_step, paths_of
from .managers import APPLY, Manager, Managers, managers_of, own, with_applied, without
from .structure import Structure


def merged(live: Any, config: Any, structure: Structure) -> Any:
    """Return an object with a configuration put over it."""
    if is_mapping(live) and is_mapping(config) and not structure.atomic:
        result = dict(live)
        for name, value in config.items():
            result[name] = (
                merged(live[name], value, structure.child(name)) if name in live else value
            )
        return result
    if is_list(live) and is_list(config) and structure.granular_list:
        return _merged_list(live, config, structure)
    return config


def _merged_list(live: list[Any], config: list[Any], structure: Structure) -> list[Any]:
    found = {item_step(item, structure, index): item for index, item in enumerate(live)}
    for index, item in enumerate(config):
        step = item_step(item, structure, index)
        found[step] = merged(found[step], item, structure.items()) if step in found else item
    return list(found.values())


def without_paths(value: Any, paths: Paths, structure: Structure, path: Path = ()) -> Any:
    """Return an object without some paths; what was made empty by that stays."""
    if is_mapping(value) and not structure.atomic:
        return {
            name: without_paths(each, paths, structure.child(name), (*path, f"f:{name}"))
            for name, each in value.items()
            if (*path, f"f:{name}") not in paths
        }
    if is_list(value) and structure.granular_list:
        steps = [item_step(item, structure, index) for index, item in enumerate(value)]
        return [
            without_paths(item, paths, structure.items(), (*path, step))
            for item, step in zip(value, steps, strict=True)
            if (*path, step) not in paths
        ]
    return value


def applied(
    live: Body, config: Body, structure: Structure, writer: Manager, *, force: bool
) -> tuple[Body, Managers]:
    """Return the object and its managers after an apply, or the Refusal of a conflict."""
    managers = managers_of(live)
    wanted = paths_of(config, structure)
    clean = {**config, "metadata": _without(metadata_of(config), "managedFields")}
    result = merged(live, clean, structure)
    written, _ = changed(live, result, structure)
    rivals = [
        (each, each.paths & written)
        for each in managers
        if each.identity != writer.identity and each.paths & written
    ]
    if rivals and not force:
        raise _conflicts(rivals)
    managers = without(managers, written, writer)
    before = own(managers, writer)
    dropped = (before.paths if before else frozenset[Path]()) - wanted
    orphaned = frozenset(path for path in dropped if not _owned(path, managers, writer, wanted))
    result = mapping(without_paths(result, orphaned, structure))
    entry = Manager(
        name=writer.name,
        operation=APPLY,
        api_version=writer.api_version,
        subresource=writer.subresource,
        time=writer.time,
        paths=wanted,
    )
    return result, with_applied(managers, entry)


def _owned(path: Path, managers: Managers, writer: Manager, wanted: Paths) -> bool:
    """Tell whether a path, or something below it, is owned by another, or still wanted."""
    others = [each.paths for each in managers if each.identity != writer.identity]
    return any(other[: len(path)] == path for paths in (*others, wanted) for other in paths)


def _without(body: Body, *names: str) -> Body:
    return {name: value for name, value in body.items() if name not in names}


def _conflicts(rivals: Sequence[tuple[Manager, Paths]]) -> Refusal:
    causes: list[Body] = []
    texts: list[str] = []
    for rival, paths in rivals:
        who = f'conflict with "{rival.name}"'
        if rival.subresource:
            who += f' with subresource "{rival.subresource}"'
        if rival.operation != APPLY:
            who += f" using {rival.api_version}"
        fields = ["".join(_displayed(step) for step in path) for path in sorted(paths)]
        texts.append(f"{who}: {', '.join(fields)}")
        causes += [
            {"reason": "FieldManagerConflict", "message": who, "field": field} for field in fields
        ]
    number = len(causes)
    plural = "conflict" if number == 1 else "conflicts"
    text = f"Apply failed with {number} {plural}: {'; '.join(texts)}"
    return Refusal(409, "Conflict", text, {"causes": causes})


def _displayed(step: str) -> str:
    if step.startswith("f:"):
        return f".{step[2:]}"
    return f"[{step[2:]}]" if step.startswith("k:") else f"[={step[2:]}]"
