"""Next calls: which of them may be made at this moment, and what the others wait for."""

from dataclasses import dataclass
from datetime import datetime

from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.machine import CallState, Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.provider import Planner
from hostler.domain.model.resource import Resource
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.observation.blockers import world_is_right
from hostler.domain.observation.certainty import unsure
from hostler.domain.observation.effects import certain_from
from hostler.domain.observation.outcomes import LONGEST_PAUSE


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """Calls that may be made now; or none, with what is waited for and until when if known."""

    calls: tuple[Call, ...] = ()
    waits: str = ""
    at: datetime | None = None


def allowed(
    machine: Machine,
    goal: Goal,
    resources: tuple[Resource, ...],
    snapshot: Snapshot,
    planner: Planner,
) -> Ready:
    """Return the calls to be made now for this machine."""
    if (waiting := _waits(machine, snapshot)) is not None:
        return waiting
    calls = planner.next_calls(goal, machine, resources, snapshot.now)
    if any(call.effect is Effect.MAKE for call in calls) and (wrong := world_is_right(snapshot)):
        calls = tuple(call for call in calls if call.effect is not Effect.MAKE)
        if not calls:
            return Ready(waits=wrong)
    stale = tuple(call for call in calls if _was_done(machine, call, snapshot))
    if stale and len(stale) == len(calls):
        return Ready(waits="an observation of what was done")
    calls = tuple(call for call in calls if call not in stale)
    sure = tuple(call for call in calls if not unsure(machine, call))
    if calls and not sure:
        return Ready(
            waits=f"settling: whether {calls[0].kind} had its effect",
            at=_in_doubt_until(machine, snapshot),
        )
    return Ready(calls=sure)


def _waits(machine: Machine, snapshot: Snapshot) -> Ready | None:
    """Return what the machine waits for whatever comes next for it, or None."""
    if (
        machine.retry_at is not None
        and snapshot.now < machine.retry_at <= snapshot.now + LONGEST_PAUSE
    ):
        return Ready(
            waits=f"another try: {machine.error}" if machine.error else "another try",
            at=machine.retry_at,
        )
    if machine.unknown_since is not None and not _observed_since(
        machine, machine.unknown_since, snapshot
    ):
        return Ready(waits="an observation: the outcome of the last call is unknown")
    if machine.host in snapshot.usurped:
        return Ready(waits="somebody else may use its host: its name tells of an unknown tenant")
    return None


def _observed_since(machine: Machine, since: datetime, snapshot: Snapshot) -> bool:
    covered = snapshot.inventory.covered(
        machine.offer.zone, snapshot.capabilities.main.kind, machine.id
    )
    return covered is not None and covered > since


def _was_done(machine: Machine, call: Call, snapshot: Snapshot) -> bool:
    """Tell whether a call on a host was answered well since the newest observation of it began.

    What a host is asked for follows from its name; an older observation shows the one that it had
    before.
    """
    asked = (
        machine.last_asked(call.slot, call.kind)
        if snapshot.capabilities.hosts and call.once
        else None
    )
    if asked is None or asked.call_state is not CallState.DONE or asked.closed is None:
        return False
    return not _observed_since(machine, asked.closed, snapshot)


def _in_doubt_until(machine: Machine, snapshot: Snapshot) -> datetime | None:
    opened = [certain_from(a, snapshot) for a in machine.asked if a.call_state == "open"]
    return max(opened, default=None)


def cleans(calls: tuple[Call, ...]) -> bool:
    """Tell whether these calls only destroy: then one that fails does not stop the others."""
    return all(call.effect is Effect.DESTROY for call in calls)
