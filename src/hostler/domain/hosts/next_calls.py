"""Host calls: which of a host's next calls may be made now, and what their answers change. Pure."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

from hostler.domain.ids import CycleId, FleetName, jitter
from hostler.domain.model.calls import Call, Done, Outcome, Refused, Unknown
from hostler.domain.model.commands import Event
from hostler.domain.model.host import Host, HostGoal
from hostler.domain.model.machine import CallState
from hostler.domain.model.resource import Resource
from hostler.domain.observation.outcomes import LONGEST_PAUSE, answered, proof

_HALF = timedelta(milliseconds=500)
_LONGEST = timedelta(minutes=5)


class HostPlanner(Protocol):
    """How a host gets to a goal of its own."""

    def host_calls(
        self, goal: HostGoal, host: Host, resource: Resource, now: datetime
    ) -> tuple[Call, ...]:
        """Return the calls that may be made now; empty means wait, or nothing to do. Pure."""
        ...


def host_allowed(  # noqa: PLR0913, PLR0917 - all that makes a call possible
    goal: HostGoal,
    host: Host,
    resource: Resource,
    observed_at: datetime,
    now: datetime,
    planner: HostPlanner,
) -> tuple[Call, ...]:
    """Return the calls to be made now.

    None in a pause, after an unknown outcome without an observation, or while it is unsure whether
    an earlier call may still have its effect; and none that was done since the newest observation
    began.
    """
    if host.retry_at is not None and now < host.retry_at <= now + LONGEST_PAUSE:
        return ()
    if host.unknown_since is not None and observed_at <= host.unknown_since:
        return ()
    if any(asked.call_state is CallState.OPEN for asked in host.asked):
        return ()
    calls = planner.host_calls(goal, host, resource, now)
    return tuple(call for call in calls if not _was_done(host, call, observed_at))


def _was_done(host: Host, call: Call, observed_at: datetime) -> bool:
    """Tell whether a call was answered well since the observation that asks for it."""
    asked = host.last_asked(call.kind)
    if asked is None or asked.call_state is not CallState.DONE:
        return False
    return asked.closed is not None and observed_at <= asked.closed


def apply_to_host(host: Host, call: Call, outcome: Outcome, now: datetime) -> Host:
    """Return the record after the outcome of a call on the host."""
    match outcome:
        case Done():
            done = _answered(host, call, proof(call), now)
            return replace(done, tries=0, retry_at=None, unknown_since=None, error="")
        case Refused():
            refused = _answered(host, call, CallState.REFUSED, now)
            tries = host.tries + 1
            pause = outcome.after or min(timedelta(seconds=min(2**tries, 300)), _LONGEST)
            spread = jitter(f"{host.id} {call.kind} {tries} {now.timestamp()}", _HALF)
            told = f"{call.kind}: {outcome.text}"
            return replace(refused, tries=tries, retry_at=now + pause + spread, error=told)
        case Unknown():
            unknown = _answered(host, call, CallState.OPEN, now)
            told = f"{call.kind}: {outcome.text}"
            return replace(unknown, tries=host.tries + 1, unknown_since=now, error=told)


def _answered(host: Host, call: Call, call_state: CallState, now: datetime) -> Host:
    asked = host.last_asked(call.kind) if call.once else None
    return host if asked is None else host.with_asked(answered(asked, call_state, now))


def host_resource(resource: Resource, outcome: Outcome) -> Resource | None:
    """Return the host as a definite answer leaves it; None where it is no more."""
    if not isinstance(outcome, Done):
        return resource
    if resource.id in outcome.gone:
        return None
    return next((found for found in outcome.resources if found.id == resource.id), resource)


def moved_events(
    before: Host | None, after: Host, cycle: CycleId, at: datetime
) -> tuple[Event, ...]:
    """Return the event where a host stands otherwise than before, or is to be something else."""
    was = None if before is None else (before.condition, before.goal)
    if was == (after.condition, after.goal):
        return ()
    way = f"{before.condition if before else 'unknown'}>{after.condition}"
    return (
        _event("host_moved", after, cycle, at, str(after.goal or ""), f"{way}: {after.reason}"),
    )


def asked_events(host: Host, call: Call, cycle: CycleId, at: datetime) -> tuple[Event, ...]:
    """Return the event before a call that is made once."""
    return (_event("asked", host, cycle, at, call.kind, str(call)),)


def answered_events(
    host: Host, call: Call, outcome: Outcome, cycle: CycleId, at: datetime
) -> tuple[Event, ...]:
    """Return the event of an answer; `host` is the record before it.

    Of the refusals of one call in a row the first is an event; the newest is in the record.
    """
    match outcome:
        case Done():
            return (_event("done", host, cycle, at, call.kind, str(call)),)
        case Refused() if host.tries and host.error.startswith(f"{call.kind}: "):
            return ()
        case Refused():
            kind = f"{call.kind} {outcome.why}"
            return (_event("refused", host, cycle, at, kind, outcome.text),)
        case _:
            return (_event("unknown", host, cycle, at, call.kind, outcome.text),)


def _event(  # noqa: PLR0913, PLR0917 - all that an event says
    kind: str, host: Host, cycle: CycleId, at: datetime, reason: str, detail: str
) -> Event:
    return Event(
        kind=kind,
        at=at,
        fleet=host.fleet or FleetName(""),
        cycle=cycle,
        host=host.id,
        reason=reason,
        detail=detail,
    )
