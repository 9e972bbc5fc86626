"""Advice: the lines of an override file that would settle what a mapping lacks."""

from collections.abc import Iterator, Mapping

from .mapping.mapping import ServiceMap
from .mapping.match import Match


def refusal(found: ServiceMap, path: str, *, several: bool) -> str:
    """Return the whole reason why a service is not served, and what the operator can do.

    Pasted into the override file at `path`, the lines settle it, but where a person must choose.
    """
    report = [f"hostler does not serve {found.name}: its schema is not understood as a whole."]
    report += [f"  - {fault}" for fault in (*found.faults, *found.refused())]
    lines = override_lines(found, several=several)
    if lines:
        report += ["", *_how(path, lines), "", *lines]
    return "\n".join(report)


def override_lines(found: ServiceMap, *, several: bool) -> tuple[str, ...]:
    """Return the lines; `several`: under the name of the service, as there are others."""
    start = f'"{found.name}".' if several else ""
    tables = dict[str, list[str]]()
    for call, side, one in found.matches():
        if one.refused:
            tables.setdefault(f"{call}.{side}", []).extend(_field(one))
    for state, value in (found.states.proposals if found.states else _NONE).items():
        tables.setdefault("states", []).extend(_state(str(state), value, found))
    return tuple(
        line for name, lines in tables.items() if lines for line in (f"[{start}{name}]", *lines)
    )


_NONE: Mapping[object, str | None] = {}


def _how(path: str, lines: tuple[str, ...]) -> Iterator[str]:
    yield "Only somebody who knows what these fields mean can settle it: a wrong line is obeyed."
    yield f"Put these lines into {path} and start the runner again:"
    if any(line.startswith("# ") for line in lines):
        yield "(of the lines that begin with #, take the # off the one that is meant)"


def _field(one: Match) -> Iterator[str]:
    """Go through the lines for one logical field."""
    name, likely = one.slot.name, one.likely
    if likely is not None:
        others = [c for c in one.candidates if c != likely]
        meaning = "there is none here" if not likely else f"{one.slot.kind}"
        more = f"; or: {', '.join(others)}" if others else ""
        yield f'{name} = "{likely}"   # {meaning}{more}'
        return
    for candidate in one.candidates:
        yield f'# {name} = "{candidate}"'
    for candidate in one.barred:
        yield f'# {name} = "{candidate}"   # its name says something else: hardly'


def _state(name: str, value: str | None, found: ServiceMap) -> Iterator[str]:
    if value is not None:
        yield f'{name} = "{value}"'
        return
    for other in found.states.others if found.states else ():
        yield f'# {name} = "{other}"'
