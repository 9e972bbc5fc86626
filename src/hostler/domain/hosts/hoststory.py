"""Host story: what is told of a host that no machine has: how it stands, what it was asked for."""

from datetime import datetime

from hostler.domain.ids import FleetName, TurnId
from hostler.domain.model.calls import Call, Done, Outcome, Refused
from hostler.domain.model.commands import Event
from hostler.domain.model.host import Host


def moved(before: Host | None, after: Host, turn: TurnId, at: datetime) -> tuple[Event, ...]:
    """Return what is told where a host stands otherwise than before, or is to be something else."""
    was = None if before is None else (before.condition, before.goal)
    if was == (after.condition, after.goal):
        return ()
    way = f"{before.condition if before else 'unknown'}>{after.condition}"
    return (_event("host_moved", after, turn, at, str(after.goal or ""), f"{way}: {after.reason}"),)


def asked(host: Host, call: Call, turn: TurnId, at: datetime) -> tuple[Event, ...]:
    """Return what is told before a call that is made once."""
    return (_event("asked", host, turn, at, call.kind, str(call)),)


def answered(
    host: Host, call: Call, outcome: Outcome, turn: TurnId, at: datetime
) -> tuple[Event, ...]:
    """Return what is told of an answer; `host` is the record before it.

    Of the refusals of one call in a row the first is told; the newest is in the record.
    """
    match outcome:
        case Done():
            return (_event("done", host, turn, at, call.kind, str(call)),)
        case Refused() if host.tries and host.error.startswith(f"{call.kind}: "):
            return ()
        case Refused():
            kind = f"{call.kind} {outcome.why}"
            return (_event("refused", host, turn, at, kind, outcome.text),)
        case _:
            return (_event("unknown", host, turn, at, call.kind, outcome.text),)


def _event(  # noqa: PLR0913, PLR0917 - all that an event says
    kind: str, host: Host, turn: TurnId, at: datetime, reason: str, detail: str
) -> Event:
    return Event(
        kind=kind,
        at=at,
        fleet=host.fleet or FleetName(""),
        turn=turn,
        host=host.id,
        reason=reason,
        detail=detail,
    )
