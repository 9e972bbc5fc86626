"""Host calls: which of a host's next calls may be made now, and what their answers change. Pure."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

from hostler.domain.ids import jitter
from hostler.domain.machines.next_calls import LONGEST_PAUSE
from hostler.domain.model.calls import Call, Done, Outcome, Refused, Unknown
from hostler.domain.model.host import Host, HostGoal
from hostler.domain.model.machine import Fate
from hostler.domain.model.resource import Part
from hostler.domain.observation.outcomes import answered, proof

_HALF = timedelta(milliseconds=500)
_LONGEST = timedelta(minutes=5)


class HostWays(Protocol):
    """How a host gets to a goal of its own."""

    def host_calls(self, goal: HostGoal, host: Host, part: Part, now: datetime) -> tuple[Call, ...]:
        """Return the calls that may be made now; empty means wait, or nothing to do. Pure."""
        ...


def host_allowed(  # noqa: PLR0913, PLR0917 - all that makes a call possible
    goal: HostGoal, host: Host, part: Part, shown: datetime, now: datetime, ways: HostWays
) -> tuple[Call, ...]:
    """Return the calls to be made now.

    None in a pause, after an unknown outcome without a look, or while it is unsure whether an
    earlier call may still have its effect; and none that was done since the newest look began.
    """
    if host.again is not None and now < host.again <= now + LONGEST_PAUSE:
        return ()
    if host.blind is not None and shown <= host.blind:
        return ()
    if any(asked.fate is Fate.OPEN for asked in host.asked):
        return ()
    calls = ways.host_calls(goal, host, part, now)
    return tuple(call for call in calls if not _was_done(host, call, shown))


def _was_done(host: Host, call: Call, shown: datetime) -> bool:
    """Tell whether a call was answered well since the look that asks for it."""
    asked = host.last_asked(call.kind)
    if asked is None or asked.fate is not Fate.DONE:
        return False
    return asked.closed is not None and shown <= asked.closed


def fold_host(host: Host, call: Call, outcome: Outcome, now: datetime) -> Host:
    """Return the record after the outcome of a call on the host."""
    match outcome:
        case Done():
            done = _answered(host, call, proof(call), now)
            return replace(done, tries=0, again=None, blind=None, error="")
        case Refused():
            refused = _answered(host, call, Fate.REFUSED, now)
            tries = host.tries + 1
            pause = outcome.after or min(timedelta(seconds=min(2**tries, 300)), _LONGEST)
            spread = jitter(f"{host.id} {call.kind} {tries} {now.timestamp()}", _HALF)
            told = f"{call.kind}: {outcome.text}"
            return replace(refused, tries=tries, again=now + pause + spread, error=told)
        case Unknown():
            unknown = _answered(host, call, Fate.OPEN, now)
            told = f"{call.kind}: {outcome.text}"
            return replace(unknown, tries=host.tries + 1, blind=now, error=told)


def _answered(host: Host, call: Call, fate: Fate, now: datetime) -> Host:
    asked = host.last_asked(call.kind) if call.once else None
    return host if asked is None else host.with_asked(answered(asked, fate, now))


def host_part(part: Part, outcome: Outcome) -> Part | None:
    """Return the host as a definite answer leaves it; None where it is no more."""
    if not isinstance(outcome, Done):
        return part
    if part.id in outcome.gone:
        return None
    return next((found for found in outcome.parts if found.id == part.id), part)
