"""Next calls: which calls for a machine may be made now, and what the others wait for."""

from datetime import datetime

from msgspec.structs import replace

from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.machine import CallState, Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.provider import Planner
from hostler.domain.model.resource import Resource
from hostler.domain.model.snapshot import Snapshot, why_on
from hostler.domain.observation.blockers import protected_until, world_is_right
from hostler.domain.observation.certainty import unsure
from hostler.domain.observation.effects import certain_from
from hostler.domain.observation.ready import Observed, Ready, pausing, ready, settling

from .drift import mendable

_NOTHING = Ready(named=())
"""What most machines come to: the provider was asked, and named no call."""


def allowed(
    machine: Machine,
    goal: Goal,
    resources: tuple[Resource, ...],
    snapshot: Snapshot,
    planner: Planner,
) -> Ready:
    """Return the calls to be made now for this machine, and beside them what drifted."""
    observed_at = snapshot.inventory.covered(
        machine.offer.zone, snapshot.capabilities.main.kind, machine.id
    )
    if (waiting := pausing(machine, observed_at, snapshot.now)) is not None:
        return waiting
    if machine.host in snapshot.usurped:
        return Ready(waits="somebody else may use its host: its name tells of an unknown tenant")
    named = planner.next_calls(goal, machine, resources, snapshot.now)
    if not named:
        return _NOTHING
    calls, unmended = mendable(machine, named, snapshot)
    if not calls:
        return Ready(waits=unmended, named=named)
    return replace(_ready(machine, calls, observed_at, snapshot), named=named)


def _ready(
    machine: Machine, calls: tuple[Call, ...], observed_at: datetime | None, snapshot: Snapshot
) -> Ready:
    """Return which of these calls may be made in the world as it is."""
    if any(call.effect is Effect.MAKE for call in calls) and (wrong := world_is_right(snapshot)):
        calls = tuple(call for call in calls if call.effect is not Effect.MAKE)
        if not calls:
            return Ready(waits=wrong)

    def in_doubt(call: Call) -> str:
        if barred := _barred(call, machine, snapshot):
            return barred
        return settling(call.kind) if unsure(machine, call) else ""

    observed = Observed(observed_at, snapshot.capabilities.consistency_delay_of)
    return ready(machine, calls, observed, in_doubt, _in_doubt_until(machine, snapshot))


def _barred(call: Call, machine: Machine, snapshot: Snapshot) -> str:
    """Return why a call may not interrupt what runs on the machine's host, or an empty string.

    Its Node may never be ended; or somebody protects a machine that would be rebooted.
    """
    if not call.interrupts or machine.host is None:
        return ""
    held = protected_until(machine, snapshot.now) if call.reboots else ""
    return held or why_on(snapshot.guarded, machine.host)


def _in_doubt_until(machine: Machine, snapshot: Snapshot) -> datetime | None:
    opened = [certain_from(a, snapshot) for a in machine.asked if a.call_state is CallState.OPEN]
    return max(opened, default=None)


def cleans(calls: tuple[Call, ...]) -> bool:
    """Tell whether these calls only destroy: then one that fails does not stop the others."""
    return all(call.effect is Effect.DESTROY for call in calls)
