"""Inspect: what a runner's binary says and what we make of it, for programs and for persons."""

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .advice import override_lines
from .learn import Learnt
from .mapping.mapping import ServiceMap
from .mapping.match import Level

_COLOURS = {
    Level.EXACT: "green",
    Level.NEUTRAL: "yellow",
    Level.OVERRIDE: "cyan",
    Level.ABSENT: "dim",
    Level.REFUSED: "red",
}
Json = Mapping[str, object]


def as_json(learnt: Learnt) -> Json:
    """Return everything: the likeliest service at the top, and all of them under `services`."""
    several = len(learnt.services) > 1
    services = [_service(one, learnt, several=several) for one in learnt.services]
    none: Json = {
        "service": None,
        "methods": {},
        "mapping": {},
        "unmapped": [],
        "states": {},
        "override": list(learnt.proposed),
    }
    return {
        **(services[0] if services else none),
        "served": [one.name for one in learnt.served],
        "origin": learnt.origin,
        "build_id": learnt.build_id,
        "refusal": learnt.refusal,
        "warnings": [line.text for line in learnt.log if line.level == "warning"],
        "services": services,
    }


def _service(one: ServiceMap, learnt: Learnt, *, several: bool) -> dict[str, object]:
    """Return one service."""
    return {
        "service": one.name,
        "methods": {
            name: {
                "path": one.service.path(name),
                "request": method.input_type.full_name,
                "reply": method.output_type.full_name,
                "streams": method.server_streaming,
            }
            for name, method in one.service.methods.items()
        },
        "mapping": _mapping(one),
        "unmapped": [_fault(line) for line in (*one.faults, *one.refused())],
        "states": _states(one),
        "levels": _levels(one),
        "extra": {
            f"{call.name}.{side}": [leaf.name for leaf in others]
            for call in one.calls.values()
            for side, others in call.extra.items()
            if others
        },
        "other_methods": list(one.service.others),
        "used": one.service.used,
        "refused": learnt.refusals.get(one.name, ""),
        "override": list(override_lines(one, several=several)),
    }


def _mapping(one: ServiceMap) -> dict[str, object]:
    """Return every logical field that a field carries, or that is known to be absent."""
    return {
        f"{call}.{side}.{match.slot.name}": {
            "field": match.leaf.name if match.leaf else None,
            "number": match.leaf.numbers if match.leaf else None,
            "type": match.leaf.type if match.leaf else None,
            "level": str(match.level),
            "reason": match.reason,
        }
        for call, side, match in one.matches()
        if not match.refused
    }


def _fault(line: str) -> dict[str, str]:
    field, _, reason = line.partition(": ")
    return {"field": field, "reason": reason or line}


def _states(one: ServiceMap) -> dict[str, object]:
    if one.states is None:
        return {}
    spoken = one.states
    return {
        str(state): {
            "value": value,
            "name": spoken.names[state],
            "level": str(spoken.levels[state]),
        }
        for state, value in spoken.written.items()
    }


def _levels(one: ServiceMap) -> dict[str, int]:
    found = [match.level for _, _, match in one.matches()]
    return {str(level): found.count(level) for level in Level if level in found}


def picture(learnt: Learnt) -> RenderableType:
    """Return the same for a person."""
    parts = list[RenderableType]()
    if learnt.origin:
        parts.append(Text(f"from {learnt.origin}, build {learnt.build_id or 'unknown'}"))
    parts += [_table(one) for one in learnt.services]
    parts += [Text(f"! {line.text}", "yellow") for line in learnt.log if line.level == "warning"]
    parts += [Text(f"- {line.text}") for line in learnt.log if line.level == "info"]
    parts += [Text(line.text, "red") for line in learnt.log if line.level == "error"]
    return Group(*parts)


def _table(one: ServiceMap) -> Table:
    table = Table(title=one.name, title_justify="left", box=None, pad_edge=False)
    for heading in ("ours", "the schema's", "number", "type", "level"):
        table.add_column(heading, overflow="fold")
    for call, side, match in one.matches():
        leaf, name = match.leaf, f"{call}.{side}.{match.slot.name}"
        cells = (leaf.name, leaf.numbers, leaf.type) if leaf else ("-", "", "")
        table.add_row(name, *cells, Text(match.level, _COLOURS[match.level]))
    if one.states is not None:
        for state, value in one.states.written.items():
            level = one.states.levels[state]
            mapped = Text(level, _COLOURS[level])
            table.add_row(f"states.{state}", one.states.names[state], str(value), "", mapped)
    return table
