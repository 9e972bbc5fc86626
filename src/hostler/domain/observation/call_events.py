"""Call events: what is written down of a call: that it is asked, and how it was answered."""

import re
from datetime import datetime

from hostler.domain.ids import CycleId, FleetName
from hostler.domain.model.calls import Call, Done, Outcome, Refused
from hostler.domain.model.commands import Event
from hostler.domain.model.machine import Machine
from hostler.domain.model.subject import Subject

_NUMBERED = re.compile(r"\S*\d\S*")


def event_of(subject: Subject, cycle: CycleId, at: datetime, words: tuple[str, str, str]) -> Event:
    """Return an event of a machine or a host: its kind, reason and detail."""
    kind, reason, detail = words
    machine = isinstance(subject, Machine)
    return Event(
        kind=kind,
        at=at,
        fleet=subject.fleet or FleetName(""),
        cycle=cycle,
        machine=subject.id if machine else None,
        host=subject.host if machine else subject.id,
        reason=reason,
        detail=detail,
    )


def answer_of(subject: Subject, call: Call, outcome: Outcome) -> tuple[str, str, str] | None:
    """Return the event of an answer; `subject` is the record before it.

    Of the same refusals of one call in a row the first is an event; the newest is in the record.
    """
    match outcome:
        case Done():
            return ("resource_removed" if outcome.absent else "done", call.kind, str(call))
        case Refused() if _is_same(subject.error, f"{call.kind}: {outcome.text}"):
            return None
        case Refused():
            return ("refused", f"{call.kind} {outcome.why}", outcome.text)
        case _:
            return ("unknown", call.kind, outcome.text)


def _is_same(before: str, after: str) -> bool:
    """Tell whether two errors say the same, whatever times, counts and ids they name."""
    return _NUMBERED.sub("", before) == _NUMBERED.sub("", after)
