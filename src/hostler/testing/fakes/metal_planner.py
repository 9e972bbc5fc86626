"""MetalPlanner: the pure half of fake metal: a machine's box is switched on, rested, let go of."""

from datetime import datetime, timedelta

from hostler.domain.ids import FleetName
from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.capabilities import Cleaning
from hostler.domain.model.host import HOST, Host, HostGoal
from hostler.domain.model.machine import Asked, CallState, Machine, Offer
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, Resource

from .planner import SERVER

SWITCH_ON = "box.on"
REST = "box.rest"
RELEASE = "box.release"
HOST_ON = "host.on"
HOST_OFF = "host.off"
CLEAN = "host.clean"

_ON = frozenset({Condition.STARTING, Condition.UP})
_OFF = frozenset({Condition.OFF, Condition.STANDBY})


class MetalPlanner:
    """How a box gets to a goal of its machine, or to one of its own.

    A controller may accept a command and ignore it: what stands as before `settles` after that is
    asked for once more. What stopped once it was up is not switched on again: it failed.
    """

    def __init__(self, cleaning: Cleaning, settles: timedelta) -> None:
        self._cleaning, self._settles = cleaning, settles

    def next_calls(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...], now: datetime
    ) -> tuple[Call, ...]:
        """Return the calls that may be made now; see the port."""
        if goal is Goal.ABSENT:
            return tuple(_release(resource) for resource in resources)
        mine = next((one for one in resources if one.id == machine.bound(SERVER)), None)
        if mine is None:
            return ()
        if goal is Goal.STANDBY:
            call = _of_machine(REST, mine, Shows.REST)
            due = mine.condition is Condition.UP
        else:
            call = _of_machine(SWITCH_ON, mine, Shows.POWER)
            due = mine.condition in _OFF and machine.phase is Phase.STARTING
        return (call,) if due and self._is_open(machine.last_call(call), now) else ()

    def host_calls(
        self, goal: HostGoal, host: Host, resource: Resource, now: datetime
    ) -> tuple[Call, ...]:
        """Return the calls that may be made now for a box that no machine has."""
        call = self._host_call(goal, resource)
        return (call,) if call and self._is_open(host.last_call(call), now) else ()

    def _host_call(self, goal: HostGoal, resource: Resource) -> Call | None:
        cycles = goal is HostGoal.CLEAN and self._cleaning is Cleaning.POWER_CYCLE
        if goal is HostGoal.OFF or cycles:
            on = resource.condition in _ON
            return _of_host(HOST_OFF, resource, Shows.REST) if on else None
        command = goal is HostGoal.CLEAN and self._cleaning is Cleaning.COMMAND
        if not command and goal is not HostGoal.ON:
            return None
        if resource.condition in _OFF:
            return _of_host(HOST_ON, resource, Shows.POWER)
        waits = not command or resource.host.cleaned or resource.condition is not Condition.UP
        return None if waits else _of_host(CLEAN, resource, Shows.NOTHING)

    def _is_open(self, asked: Asked | None, now: datetime) -> bool:
        """Tell whether a command may be given: none was accepted a moment ago."""
        if asked is None or asked.call_state is not CallState.DONE:
            return True
        return not timedelta(0) <= now - (asked.closed or asked.at) < self._settles

    def fits(self, fleet: FleetName, offer: Offer, resource: Resource) -> str:
        """Return why a box is none for an offer; empty where it is one."""
        del fleet
        if (resource.type, resource.zone) != (offer.type, offer.zone):
            return f"it is {resource.type} in {resource.zone}, not {offer}"
        return ""


def _of_machine(kind: str, resource: Resource, shows: Shows) -> Call:
    owner = resource.owner_tag.machine if resource.owner_tag else ""
    return Call(
        kind=kind,
        slot=SERVER,
        zone=resource.zone,
        effect=Effect.CHANGE,
        target=resource.id,
        once=True,
        shows=shows,
        args=(("machine", str(owner)),),
    )


def _release(resource: Resource) -> Call:
    """Return the call that lets go of a box: nothing happens to it, and our records say so."""
    return Call(
        kind=RELEASE,
        slot=SERVER,
        zone=resource.zone,
        effect=Effect.DESTROY,
        target=resource.id,
    )


def _of_host(kind: str, resource: Resource, shows: Shows) -> Call:
    return Call(
        kind=kind,
        slot=HOST,
        zone=resource.zone,
        effect=Effect.CHANGE,
        target=resource.id,
        once=True,
        shows=shows,
    )
