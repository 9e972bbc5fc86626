"""Planner: the pure half: a machine's box is switched on, shut down, let go of.

A box may be asked to shut down, and given time for it, before its power is cut. What was accepted
and ignored is asked for once more, when its effect could not come any longer.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.capabilities import Cleaning
from hostler.domain.model.host import HOST, Host, HostGoal
from hostler.domain.model.machine import Asked, CallState, Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import SWITCHED_OFF, Condition, Resource, Slot
from hostler.ports.power import PowerAction

SERVER = Slot("server")
RELEASE = "box.release"
LastCall = Callable[[Call], Asked | None]


class PowerPlanner:
    """How a box gets to a goal of its machine, or to one of its own.

    `settles` bounds how late an accepted command may have its effect.
    """

    def __init__(self, cleaning: Cleaning, settles: timedelta, soft_wait: timedelta) -> None:
        self._cleaning, self._settles, self._soft_wait = cleaning, settles, soft_wait

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
            call = self._off(mine, machine.last_call, machine.since, now)
        elif mine.condition in SWITCHED_OFF and machine.phase is Phase.STARTING:
            call = self._open(_call(PowerAction.ON, mine), machine.last_call, now)
        else:
            call = None
        return (call,) if call is not None else ()

    def host_calls(
        self, goal: HostGoal, host: Host, resource: Resource, now: datetime
    ) -> tuple[Call, ...]:
        """Return the calls that may be made now for a box that no machine has."""
        if goal is HostGoal.ON:
            if resource.condition not in SWITCHED_OFF or PowerAction.ON not in resource.allowed:
                return ()
            call = self._open(_call(PowerAction.ON, resource), host.last_call, now)
            return (call,) if call is not None else ()
        cycles = goal is HostGoal.CLEAN and self._cleaning is Cleaning.POWER_CYCLE
        if goal is not HostGoal.OFF and not cycles:
            return ()
        call = self._off(resource, host.last_call, host.since, now)
        return (call,) if call is not None else ()

    def _off(
        self, box: Resource, last_call: LastCall, since: datetime | None, now: datetime
    ) -> Call | None:
        """Return how a box that is on is switched off: asked first, then cut."""
        if box.condition is not Condition.UP:
            return None
        soft, hard = _call(PowerAction.OFF_SOFT, box), _call(PowerAction.OFF_HARD, box)
        if PowerAction.OFF_SOFT in box.allowed:
            asked = last_call(soft)
            if asked is None or (since is not None and asked.at < since):
                return self._open(soft, last_call, now)
            refused = asked.call_state is CallState.REFUSED
            begun = since or asked.at if refused else asked.at
            if begun > now:  # the clock was set back since: nobody knows how long the box had
                return self._open(soft, last_call, now)
            if now - begun < self._soft_wait:
                return soft if refused else None
            if PowerAction.OFF_HARD not in box.allowed:
                return self._open(soft, last_call, now)
        return self._open(hard, last_call, now) if PowerAction.OFF_HARD in box.allowed else None

    def _open(self, call: Call, last_call: LastCall, now: datetime) -> Call | None:
        """Return the call, unless the same was accepted a moment ago, and may still have effect."""
        asked = last_call(call)
        if asked is None or asked.call_state is not CallState.DONE:
            return call
        waits = timedelta(0) <= now - (asked.closed or asked.at) < self._settles
        return None if waits else call


def _call(action: PowerAction, resource: Resource) -> Call:
    """Return the call that switches a box: a machine's, or one that nobody has."""
    mine = resource.slot == SERVER
    owner = resource.owner_tag.machine if resource.owner_tag is not None else ""
    return Call(
        kind=f"{'box' if mine else 'host'}.{action}",
        slot=SERVER if mine else HOST,
        zone=resource.zone,
        effect=Effect.CHANGE,
        target=resource.id,
        once=True,
        shows=Shows.POWER if action is PowerAction.ON else Shows.REST,
        args=(("machine", str(owner)),) if mine else (),
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
