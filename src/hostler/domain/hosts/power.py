"""Power: may a host be switched on or off now, where its power is ours to decide?

Switching wears a host, and many at a time blow a fuse: how long it stays as it is, and how many may
start together, are capabilities of its provider.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime, timedelta
from math import inf

from msgspec.structs import replace

from hostler.domain.ids import MachineId, ResourceId, Zone
from hostler.domain.model.calls import Shows
from hostler.domain.model.capabilities import PowerLimits, Preference
from hostler.domain.model.host import Free, Host, HostPower
from hostler.domain.model.machine import Asked, CallState, Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, Resource
from hostler.domain.model.snapshot import AccountSnapshot, Snapshot
from hostler.domain.model.transition import Transition, wait

_ON = {
    Condition.STARTING: True,
    Condition.UP: True,
    Condition.OFF: False,
    Condition.STANDBY: False,
}
"""Whether a box has power: one that starts has it, though it may never be seen up."""

_UNTOLD = frozenset({Condition.FAILED, Condition.LOCKED, Condition.UNKNOWN})
"""What does not tell whether a box has power, nor whether it stays as it was."""

_NEVER_ON = frozenset({Phase.PENDING, Phase.STOPPING, Phase.FAILED, Phase.DELETED})
"""The phases in which no machine's host is switched on."""


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
    """Return a host's power after a machine that had it: its starts still count for the gap."""
    started = (one.closed or one.at for one in machine.asked if one.shows is Shows.POWER)
    times = [at for at in (host.power.started, *started) if at is not None]
    return replace(host.power, started=max(times, default=None))


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


def startable(
    free: Iterable[Free], machines: Iterable[Machine], snapshot: Snapshot
) -> tuple[Free, ...]:
    """Return the free hosts that may begin now: only so many of those that are off, in each zone.

    A machine on its way up counts, and so does one that began less than the gap ago; those of other
    fleets of the account too, but for one that starts for longer than a start of this fleet may
    take: it may be paused, and counts for the gap alone.
    """
    limits = snapshot.capabilities.power
    if limits is None:
        return tuple(free)
    known = [*machines, *snapshot.neighbours]
    found = list[Free]()
    bound = frozenset(snapshot.bindings)
    newest = snapshot.now - snapshot.fleet.timers.start
    stuck = frozenset(one.id for one in snapshot.neighbours if one.since <= newest)
    begun = {zone: _begun(known, zone, bound, snapshot, stuck) for zone in _zones(snapshot)}
    for one in free:
        off = one.resource.condition is not Condition.UP
        if not off or begun.get(one.resource.zone, 0) < limits.parallel_starts:
            found.append(one)
            gap = limits.parallel_starts if limits.start_gap else 1
            begun[one.resource.zone] = begun.get(one.resource.zone, 0) + off * gap
    return tuple(found)


def starts_left(zone: Zone, snapshot: AccountSnapshot) -> int:
    """Return how many hosts of a zone may begin to start now, whichever fleet has its machines."""
    limits = snapshot.capabilities.power or PowerLimits()
    bound = frozenset(snapshot.bindings.values())
    begun = _begun([*snapshot.machines.values()], zone, bound, snapshot)
    return max(0, limits.parallel_starts - begun)


def is_turn(host: Host, snapshot: AccountSnapshot) -> bool:
    """Tell whether the gap is over since anything else of a host's zone was started.

    A machine on its way up that is being worked on may be switching its host on at this moment.
    """
    limits = snapshot.capabilities.power or PowerLimits()
    others = (one for one in snapshot.hosts.values() if one.id != host.id and one.zone == host.zone)
    machines = [one for one in snapshot.machines.values() if one.offer.zone == host.zone]
    if any(_is_being_started(one, snapshot) for one in machines):
        return False
    times = [at for one in others for at in _starts_of(one, snapshot)]
    times += [at for one in machines for at in _starts(one, snapshot)]
    commanded = _commanded(host.asked, host.power.begun or snapshot.now)
    return _turn_after(times, commanded, limits, snapshot.now) <= snapshot.now


def spaced(transitions: tuple[Transition, ...], snapshot: Snapshot) -> tuple[Transition, ...]:
    """Return the transitions of which no two switch on hosts of a zone within the gap.

    Who began first goes first, however late it comes to it; who is woken waits its turn as well.
    """
    limits, changed = snapshot.capabilities.power, list(transitions)
    if limits is None or not limits.start_gap or not any(one.starts for one in transitions):
        return transitions
    machines = [one.machine for one in transitions]
    started = {zone: list(_started(zone, machines, snapshot)) for zone in _zones(snapshot)}
    for place in sorted(range(len(changed)), key=lambda place: _turn(changed[place].machine)):
        machine = changed[place].machine
        at = _turn_of(machine, started.get(machine.offer.zone, ()), limits, snapshot.now)
        if not changed[place].starts:
            continue
        if at > snapshot.now:
            held = replace(changed[place], goal=None, starts=False)
            changed[place] = wait(held, "wait", "the gap between two starts", at)
        else:
            started.setdefault(machine.offer.zone, []).append((machine.id, snapshot.now))
    return tuple(changed)


def told_again_from(machine: Machine, snapshot: Snapshot) -> datetime | None:
    """Return from when on it is a machine's turn to have its host told to go on once more.

    None where it was not told to since its start began, or no gap lies between two starts.
    """
    limits = snapshot.capabilities.power
    if limits is None or not limits.start_gap or not any(_commanded(machine.asked, machine.since)):
        return None
    started = _started(machine.offer.zone, snapshot.machines, snapshot)
    return _turn_of(machine, started, limits, snapshot.now)


def _turn_of(
    machine: Machine, started: Iterable[tuple[str, datetime]], limits: PowerLimits, now: datetime
) -> datetime:
    """Return from when on a machine's host may be told to go on; `started` is what was when."""
    others = (at for id_, at in started if id_ != machine.id)
    return _turn_after(others, _commanded(machine.asked, machine.since), limits, now)


def _turn_after(
    others: Iterable[datetime], commanded: Iterable[datetime], limits: PowerLimits, now: datetime
) -> datetime:
    """Return from when on a host may be told to go on, after others were started, and it was.

    One that stays dark is told again after a second gap: who was not told yet goes before it.
    """
    mine = [*commanded]
    quiet = limits.start_gap * (2 if mine else 1)
    return max([*others, *mine], default=now - quiet) + quiet


def _turn(machine: Machine) -> tuple[datetime, str]:
    return machine.since, machine.id


def _started(
    zone: str, machines: Iterable[Machine], snapshot: Snapshot
) -> Iterator[tuple[str, datetime]]:
    """Yield when a host of a zone was switched on, by machine or host; in flight is just now."""
    here = [machine for machine in machines if machine.offer.zone == zone]
    beside = [machine for machine in snapshot.neighbours if machine.offer.zone == zone]
    for machine in (*here, *beside):
        yield from ((machine.id, at) for at in _starts(machine, snapshot))
        if _is_being_started(machine, snapshot):
            yield machine.id, snapshot.now
    taken = {machine.host for machine in (*here, *beside)}
    for host in snapshot.hosts.values():
        if host.zone == zone and host.id not in taken:
            yield from ((host.id, at) for at in _starts_of(host, snapshot))


def _is_being_started(machine: Machine, snapshot: Snapshot | AccountSnapshot) -> bool:
    """Tell whether a machine's host may be being switched on just now, once more perhaps.

    What is done about a machine is on its record a moment later; what is seen up is not started.
    """
    if machine.id not in snapshot.moving or machine.phase in _NEVER_ON:
        return False
    seen = snapshot.inventory.resource(ResourceId(machine.host)) if machine.host else None
    return seen is None or seen.condition is not Condition.UP


def _starts(machine: Machine, snapshot: Snapshot | AccountSnapshot) -> Iterator[datetime]:
    """Yield when a machine's host may have been switched on last: now, while it is being asked.

    A call may arrive long after it was recorded, where its process stood still between.
    """
    for one in machine.asked:
        if one.shows is Shows.POWER:
            under_way = one.closed is None and machine.id in snapshot.moving
            yield snapshot.now if under_way else one.closed or one.at


def _commanded(asked: Iterable[Asked], since: datetime) -> Iterator[datetime]:
    """Yield when a host was told to go on since then; what refused that was told nothing."""
    for one in asked:
        if one.shows is Shows.POWER and one.at >= since and one.call_state is not CallState.REFUSED:
            yield one.closed or one.at


def _starts_of(host: Host, snapshot: Snapshot | AccountSnapshot) -> Iterator[datetime]:
    """Yield since when a host is seen on, and when that was asked for: by whoever had it last."""
    if host.power.on and host.power.since:
        yield host.power.since
    if host.power.started:
        yield host.power.started
    yield from (one.closed or one.at for one in host.asked if one.shows is Shows.POWER)
    if host.id in snapshot.moving_hosts and host.power.begun is not None:
        yield snapshot.now


def _zones(snapshot: Snapshot) -> frozenset[str]:
    return frozenset(offer.zone for offer in snapshot.fleet.offers)


def _begun(
    machines: list[Machine],
    zone: str,
    bound: frozenset[MachineId],
    snapshot: Snapshot | AccountSnapshot,
    stuck: Collection[MachineId] = (),
) -> int:
    """Return how many starts of a zone count now; as many as may be, while the gap is not over.

    The gap counts from a start that is over too: a box boots in less. A machine that was bound by a
    process which died then begins now; one that lost its box begins when it takes another.
    """
    limits = snapshot.capabilities.power or PowerLimits()
    here = [machine for machine in machines if machine.offer.zone == zone]
    without = [m for m in here if m.phase is Phase.STARTING and m.host is None]
    pending = [m for m in here if m.phase is Phase.PENDING]
    waiting = [m for m in (*pending, *without) if m.id in bound]
    starting = [m for m in here if m.phase is Phase.STARTING and m.host is not None]
    hosts = [host for host in snapshot.hosts.values() if host.zone == zone]
    mine = {machine.host for machine in starting}
    began = [snapshot.now] if waiting else []
    began += [machine.since for machine in starting]
    began += [at for machine in here for at in _starts(machine, snapshot)]
    began += [at for host in hosts for at in _starts_of(host, snapshot)]
    began += [host.since for host in hosts if host.id in mine and host.since]
    if began and snapshot.now - max(began) < limits.start_gap:
        return limits.parallel_starts
    alone = sum(host.power.begun is not None and not host.power.on for host in hosts)
    counted = [machine for machine in (*starting, *waiting) if machine.id not in stuck]
    return len(counted) + alone
