"""Power: may a host be switched on or off now, where its power is ours to decide?

Switching wears a host: how long it stays as it is, is a capability of its provider. How many may
start together is for `turns`.
"""

from datetime import datetime, timedelta
from math import inf

from msgspec.structs import replace

from hostler.domain.ids import ResourceId
from hostler.domain.model.calls import Shows
from hostler.domain.model.capabilities import PowerLimits, Preference
from hostler.domain.model.host import Host, HostPower
from hostler.domain.model.machine import UNANSWERED_REST, CallState, Machine
from hostler.domain.model.resource import Condition, Resource
from hostler.domain.model.snapshot import AccountSnapshot

_ON = {
    Condition.STARTING: True,
    Condition.UP: True,
    Condition.OFF: False,
    Condition.STANDBY: False,
}
"""Whether a box has power: one that starts has it, though it may never be seen up."""

_UNTOLD = frozenset({Condition.FAILED, Condition.LOCKED, Condition.UNKNOWN})
"""What does not tell whether a box has power, nor whether it stays as it was."""


def observed(host: Host, resource: Resource, snapshot: AccountSnapshot) -> HostPower:
    """Return since when a host is seen on, or off.

    What is in error may be on by now, and off again before it is seen: times count anew after it.
    So they do after a start that was accepted: what is off then was on, and nobody saw it.
    """
    on, untold = _ON.get(resource.condition), resource.condition in _UNTOLD
    if snapshot.capabilities.power is None or (on is None and not untold):
        return host.power
    if on is host.power.on and not (on is False and _ran_unseen(host, snapshot)):
        return host.power
    since, went_on = snapshot.now if on is not None else None, bool(on) and host.power.on is False
    return replace(host.power, on=on, since=since, starts=host.power.starts + went_on)


def _ran_unseen(host: Host, snapshot: AccountSnapshot) -> bool:
    """Tell whether a start was accepted since a host was last seen off, and could show by now."""
    sighting, since = snapshot.inventory.sightings.get(ResourceId(host.id)), host.power.since
    if sighting is None or since is None:
        return False
    known = snapshot.inventory.observed_at(sighting) - snapshot.capabilities.consistency_delay
    machine = snapshot.machines.get(host.machine) if host.machine else None
    asked = (*host.asked, *(machine.asked if machine is not None else ()))
    starts = (a for a in asked if a.shows is Shows.POWER and a.call_state is CallState.DONE)
    times = (host.power.started, *(start.closed for start in starts))
    return any(at is not None and since < at <= known for at in times)


def passed_on(host: Host, machine: Machine) -> HostPower:
    """Return a host's power after a machine that had it: its starts still count for the gap.

    So does what may yet switch it off.
    """
    started = (one.closed or one.at for one in machine.asked if one.shows is Shows.POWER)
    times = [at for at in (host.power.started, *started) if at is not None]
    asked = (host.power.unanswered, machine.fact(UNANSWERED_REST))
    unanswered = max((at for at in asked if at is not None), default=None)
    return replace(host.power, started=max(times, default=None), unanswered=unanswered)


def may_start(
    record: Host | None, resource: Resource, limits: PowerLimits | None, now: datetime
) -> bool:
    """Tell whether a host may be taken: one that went off just now is not switched on again yet.

    What is off, and was on by its record, went off nobody knows when: its record says so first.
    """
    if limits is None or record is None or _ON.get(resource.condition) is not False:
        return True
    since = record.power.since
    return record.power.on is False and since is not None and now - since >= limits.least_off


def rank(record: Host | None, resource: Resource, limits: PowerLimits | None) -> tuple[float, ...]:
    """Return a free host's place in the order that its provider prefers; lower is taken first."""
    known, on = record.power if record is not None else HostPower(), _ON.get(resource.condition)
    since = known.since.timestamp() if known.since is not None else 0.0
    rested = inf if on else since
    places = {
        Preference.ON: float(not on),
        Preference.COST: resource.host.rate,
        Preference.LONGEST_OFF: rested,
        Preference.WEAR: float(known.starts),
    }
    return tuple(places[one] for one in limits.prefer) if limits is not None else ()


def is_settled(record: Host, observed_at: datetime, delay: timedelta) -> bool:
    """Tell whether an observation shows what became of every command for a host's power.

    What was accepted is obeyed as late as the consistency delay: until then a host that is still up
    may be about to go off.
    """
    commands = (a.closed or a.at for a in record.asked if a.shows in {Shows.POWER, Shows.REST})
    return all(observed_at > at + delay for at in commands)
