"""Conditions: a list of them with one changed, so that nothing is written that says nothing. Pure.

Core looks at an object again whenever it is written, so that times and texts stand still as long as
what they say does.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from hostler.frontends.kubernetes.definitions.custom import within

from .objects import Condition

READY = "Ready"
PAUSED = "Paused"
AVAILABLE = "Available"


def condition(type_: str, reason: str, message: str = "", *, holds: bool) -> Condition:
    """Return a condition without its time."""
    status = "True" if holds else "False"
    return Condition(type=type_, status=status, reason=reason, message=within(message))


def paused(*, holds: bool) -> Condition:
    """Return the condition that says whether an object is left alone."""
    return condition(PAUSED, "Paused" if holds else "NotPaused", holds=holds)


def merged(
    before: Iterable[Condition], changes: Iterable[Condition], now: datetime
) -> tuple[Condition, ...]:
    """Return the conditions with these in place of their like, by type.

    A condition's time is that of its last change from one status to another.
    """
    known = {each.type: each for each in before}
    for change in changes:
        older = known.get(change.type)
        same = older is not None and older.status == change.status and older.last_transition_time
        time = older.last_transition_time if older is not None and same else written(now)
        known[change.type] = Condition(
            type=change.type,
            status=change.status,
            reason=change.reason,
            message=change.message,
            last_transition_time=time,
        )
    return tuple(known[name] for name in sorted(known))


def written(time: datetime) -> str:
    """Return a date as Kubernetes' Time: in UTC, in whole seconds."""
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
