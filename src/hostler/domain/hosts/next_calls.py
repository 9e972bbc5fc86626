"""Next calls: which calls for a host that no machine has may be made now. Pure."""

from datetime import datetime
from typing import Protocol

from msgspec import Struct

from hostler.domain.ids import CycleId
from hostler.domain.model.calls import Call, Shows
from hostler.domain.model.commands import Event
from hostler.domain.model.host import Host, HostGoal
from hostler.domain.model.machine import CallState
from hostler.domain.model.resource import SWITCHED_OFF, Resource
from hostler.domain.observation.call_events import event_of
from hostler.domain.observation.ready import Observed, Ready, pausing, ready, settling


class Times(Struct, frozen=True):
    """What is observed of a host, the time now, and why it stays on, if it does.

    Whoever asks for it: nothing ends what its Node may not be without.
    """

    observed: Observed
    now: datetime
    stays_on: str = ""


class HostPlanner(Protocol):
    """How a host gets to a goal of its own."""

    def host_calls(
        self, goal: HostGoal, host: Host, resource: Resource, now: datetime
    ) -> tuple[Call, ...]:
        """Return the calls that may be made now; empty means wait, or nothing to do. Pure."""
        ...


def host_allowed(
    host: Host, goal: HostGoal, resource: Resource, times: Times, planner: HostPlanner
) -> Ready:
    """Return the calls to be made now for a host, as an observation begun then shows it."""
    if (waiting := pausing(host, times.observed.at, times.now)) is not None:
        return waiting
    if doubt := _doubt(host):
        return Ready(waits=doubt)
    calls = planner.host_calls(goal, host, resource, times.now)
    barred = times.stays_on if resource.condition not in SWITCHED_OFF else ""
    return ready(host, calls, times.observed, lambda call: barred if call.interrupts else "")


def _doubt(host: Host) -> str:
    """Return of which call it is not known whether it still has its effect: then none is made."""
    open_one = next((asked for asked in host.asked if asked.call_state is CallState.OPEN), None)
    if open_one is None:
        return ""
    wiping = open_one.shows is Shows.WIPE
    return "its cleaning to be seen" if wiping else settling(open_one.kind)


def moved_events(
    before: Host | None, after: Host, cycle: CycleId, at: datetime
) -> tuple[Event, ...]:
    """Return the event where a host stands otherwise than before, or is to be something else."""
    was = None if before is None else (before.condition, before.goal)
    if was == (after.condition, after.goal):
        return ()
    way = f"{before.condition if before else 'unknown'}>{after.condition}: {after.reason}"
    return (event_of(after, cycle, at, ("host_moved", str(after.goal or ""), way)),)
