"""Allowed: which of the next calls may be made at this moment, and what the others wait for."""

from dataclasses import dataclass
from datetime import datetime

from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.machine import Fate, Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.provider import Ways
from hostler.domain.model.resource import Part
from hostler.domain.model.snapshot import Seen
from hostler.domain.observation.blockers import world_is_right
from hostler.domain.observation.certainty import unsure
from hostler.domain.observation.effects import sure_from
from hostler.domain.observation.outcomes import LONGEST_PAUSE


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """Calls that may be made now; or none, with what is waited for and until when if known."""

    calls: tuple[Call, ...] = ()
    waits: str = ""
    at: datetime | None = None


def allowed(machine: Machine, goal: Goal, parts: tuple[Part, ...], seen: Seen, ways: Ways) -> Ready:
    """Return the calls to be made now for this machine."""
    if (waiting := _waits(machine, seen)) is not None:
        return waiting
    calls = ways.next_calls(goal, machine, parts, seen.now)
    if any(call.effect is Effect.MAKE for call in calls) and (wrong := world_is_right(seen)):
        calls = tuple(call for call in calls if call.effect is not Effect.MAKE)
        if not calls:
            return Ready(waits=wrong)
    stale = tuple(call for call in calls if _was_done(machine, call, seen))
    if stale and len(stale) == len(calls):
        return Ready(waits="a look at what was done")
    calls = tuple(call for call in calls if call not in stale)
    sure = tuple(call for call in calls if not unsure(machine, call))
    if calls and not sure:
        return Ready(
            waits=f"settling: whether {calls[0].kind} had its effect", at=_settles(machine, seen)
        )
    return Ready(calls=sure)


def _waits(machine: Machine, seen: Seen) -> Ready | None:
    """Return what the machine waits for whatever comes next for it, or None."""
    if machine.again is not None and seen.now < machine.again <= seen.now + LONGEST_PAUSE:
        return Ready(
            waits=f"another try: {machine.error}" if machine.error else "another try",
            at=machine.again,
        )
    if machine.blind is not None and not _looked_since(machine, machine.blind, seen):
        return Ready(waits="a look: the outcome of the last call is unknown")
    if machine.host in seen.usurped:
        return Ready(waits="somebody else may use its host: its name tells of an unknown tenant")
    return None


def _looked_since(machine: Machine, since: datetime, seen: Seen) -> bool:
    covered = seen.view.covered(machine.offer.zone, seen.traits.main.kind, machine.id)
    return covered is not None and covered > since


def _was_done(machine: Machine, call: Call, seen: Seen) -> bool:
    """Tell whether a call on a host was answered well since the newest look at it began.

    What a host is asked for follows from its name; an older look shows the one that it had before.
    """
    asked = machine.last_asked(call.slot, call.kind) if seen.traits.hosts and call.once else None
    if asked is None or asked.fate is not Fate.DONE or asked.closed is None:
        return False
    return not _looked_since(machine, asked.closed, seen)


def _settles(machine: Machine, seen: Seen) -> datetime | None:
    opened = [sure_from(a, seen) for a in machine.asked if a.fate == "open"]
    return max(opened, default=None)


def cleans(calls: tuple[Call, ...]) -> bool:
    """Tell whether these calls only destroy: then one that fails does not stop the others."""
    return all(call.effect is Effect.DESTROY for call in calls)
