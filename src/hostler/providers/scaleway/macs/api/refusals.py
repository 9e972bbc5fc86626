"""Refusals: what one about a Mac says of its state: a wipe under way, or the date of its end."""

import re
from datetime import UTC, datetime

from hostler.providers.scaleway.common.errors import Problem

_UNTIL = re.compile(r"cannot be deleted before (\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)")
_STATE = re.compile(r"\(state: (\w+)\)")


def is_reinstalling(problem: Problem) -> bool:
    """Tell whether a wipe was refused because one is under way, and for no other transience."""
    state = _STATE.search(problem.message)
    return problem.type == "transient_state" and state is not None and state[1] == "reinstalling"


def is_floor(problem: Problem) -> bool:
    """Tell whether a deletion was refused until a date, in any of the shapes that were seen.

    412 with a type or without one, 400 and 403: the text is the same in all.
    """
    said = _UNTIL.search(f"{problem.message} {problem.precondition}") is not None
    typed = problem.status == 412 and problem.type in {"precondition_failed", ""}
    return typed or (said and problem.status in {400, 403, 409, 412})


def floor_date(problem: Problem) -> datetime | None:
    """Return from when on the host may be deleted, as the refusal says it (UTC)."""
    found = _UNTIL.search(problem.message)
    if found is None:
        return None
    return datetime.fromisoformat(f"{found[1]}T{found[2]}").replace(tzinfo=UTC)
