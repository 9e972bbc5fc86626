"""Advice: why a service is not served, and the lines of an override file that would settle it."""

from collections.abc import Sequence

from .mapping.mapping import ServiceMap
from .mapping.proposals import proposals, tables

INSPECT = "hostler fleeting inspect"


def refusal(found: ServiceMap, path: str, *, several: bool, origin: str = "RUNNER") -> str:
    """Return the whole reason why a service is not served, and what the operator can do.

    Pasted into the override file at `path`, the lines settle it, but where a person must choose;
    `origin` is the file that the schema was found in.
    """
    report = [f"hostler does not serve {found.name}: its schema is not understood as a whole."]
    report += [f"  - {fault}" for fault in (*found.faults, *found.refused())]
    report.append(look(origin))
    lines = override_lines(found, several=several)
    if lines:
        report += ["", to_paste(path, lines)]
    return "\n".join(report)


def look(origin: str) -> str:
    """Return how to see the whole schema, and what is made of it."""
    return f"Look at the whole of it with: {INSPECT} {origin}"


def override_lines(found: ServiceMap, *, several: bool) -> tuple[str, ...]:
    """Return the lines; `several`: under the name of the service, as there are others."""
    return tuple(tables(proposals(found), found.name if several else ""))


def to_paste(path: str, lines: Sequence[str]) -> str:
    """Return the lines, behind what to do with them."""
    how = [
        "Only somebody who knows what these fields mean can settle it: a wrong line is obeyed.",
        f"Put these lines into {path} and start the runner again:",
    ]
    if any(line.startswith("# ") for line in lines):
        how.append(
            "(the lines that begin with # are questions: take the # off those that are true)"
        )
    return "\n".join((*how, "", *lines))
