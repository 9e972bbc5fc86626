"""Turns: how many hosts may start together, and whose turn is it to be told to go on?

Between two starts lies a gap. Who was told and stays dark is told again after two gaps, and two
more for each other one that stays dark, but twice in the time that a start may take: no dark host
keeps others from starting, and no others keep one dark whose command was lost.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import HostId, MachineId, ResourceId, Zone
from hostler.domain.model.capabilities import PowerLimits
from hostler.domain.model.host import Free, Host
from hostler.domain.model.machine import Asked, Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import SWITCHED_OFF, Condition
from hostler.domain.model.snapshot import AccountSnapshot, Snapshot
from hostler.domain.model.transition import Transition, wait

from . import starts

_COMES_UP = frozenset({Phase.STARTING, Phase.STANDBY})
"""The phases in which a machine's host is told again to go on, while it stays dark."""


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
    stuck = _stuck(snapshot)
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
    """Tell whether a host of nobody may be told to go on now, as one of all in its zone.

    A machine on its way up that is being worked on may be switching its host on at this moment.
    """
    others = (one for one in snapshot.hosts.values() if one.id != host.id and one.zone == host.zone)
    machines = [one for one in snapshot.machines.values() if one.offer.zone == host.zone]
    if any(starts.is_under_way(one, snapshot) for one in machines):
        return False
    times = [at for one in others for at in starts.of_host(one, snapshot)]
    times += [at for one in machines for at in starts.of_machine(one, snapshot)]
    return _line(host.zone, machines, snapshot).turn(host.id, times) <= snapshot.now


def spaced(transitions: tuple[Transition, ...], snapshot: Snapshot) -> tuple[Transition, ...]:
    """Return the transitions of which no two switch on hosts of a zone within the gap.

    Who was told longest ago goes first, or began to wait for that, however late it comes to it; who
    is woken waits its turn as well.
    """
    limits, changed = snapshot.capabilities.power, list(transitions)
    if limits is None or not limits.start_gap or not any(one.starts for one in transitions):
        return transitions
    machines = [one.machine for one in transitions]
    zones = _zones(snapshot) | {machine.offer.zone for machine in machines}
    started = {zone: list(starts.in_zone(zone, machines, snapshot)) for zone in zones}
    lines = {zone: _line_of_fleet(zone, machines, snapshot) for zone in zones}
    for place in sorted(range(len(changed)), key=lambda place: _order(changed[place].machine)):
        machine = changed[place].machine
        if not changed[place].starts:
            continue
        before = started[machine.offer.zone]
        at = lines[machine.offer.zone].turn(machine.id, _others(machine, before))
        if at > snapshot.now:
            held = replace(changed[place], goal=None, starts=False)
            changed[place] = wait(held, "wait", "the gap between two starts", at)
        else:
            before.append((machine.id, snapshot.now))
    return tuple(changed)


def told_again_from(machine: Machine, snapshot: Snapshot) -> datetime | None:
    """Return from when on it is a machine's turn to have its host told to go on once more.

    None where it was not told to since its start began, or does not stay dark, or no gap lies
    between two starts.
    """
    limits, zone = snapshot.capabilities.power, machine.offer.zone
    if limits is None or not limits.start_gap:
        return None
    line = _line_of_fleet(zone, snapshot.machines, snapshot)
    if machine.id not in line.dark:
        return None
    return line.turn(
        machine.id, _others(machine, starts.in_zone(zone, snapshot.machines, snapshot))
    )


class _Line(Struct, frozen=True):
    """The hosts of a zone that were told to go on and stay dark, and when each was told last.

    They are known by their machines' ids, or by their own where no machine has them. Those of which
    `counts` lacks the id start for longer than the `bound` of a start: they wait, and nobody waits
    for them.
    """

    gap: timedelta
    bound: timedelta
    dark: Mapping[str, datetime]
    counts: frozenset[str]
    now: datetime

    @property
    def again(self) -> timedelta:
        """How long after it was told a dark host is told again: half of all turns are others'.

        But it is told twice in the time that a start may take, however many there are.
        """
        return max(2 * self.gap, min(2 * self.gap * len(self.counts), self.bound / 2))

    @property
    def due(self) -> str | None:
        """Who is to be told again now: who was told longest ago; None where that is nobody."""
        dark = ((self.dark[one], one) for one in self.counts)
        due = [one for one in dark if one[0] + self.again <= self.now]
        return min(due)[1] if due else None

    def turn(self, who: str, others: Iterable[datetime]) -> datetime:
        """Return from when on somebody may be told to go on, where `others` were started then.

        All but the one who is due wait for a second gap: it may be kept from going, and is passed
        over then.
        """
        gap = self.gap if self.due in {None, who} else 2 * self.gap
        times = [at + gap for at in others]
        if (commanded := self.dark.get(who)) is not None:
            times.append(commanded + self.again)
        return max(times, default=self.now)


def _line(zone: Zone, machines: Iterable[Machine], snapshot: Snapshot | AccountSnapshot) -> _Line:
    """Return who was told to go on in a zone, and stays dark; `machines` are all that share it."""
    limits, now = snapshot.capabilities.power or PowerLimits(), snapshot.now
    bound = limits.start
    if isinstance(snapshot, Snapshot):
        bound = min(bound, snapshot.fleet.timers.start)
    dark, counts = dict[str, datetime](), set[str]()
    for who, host, since, asked in _on_their_way(zone, machines, snapshot):
        commanded = max(starts.commanded(asked, since), default=None)
        if commanded is None or not _is_off(host, snapshot):
            continue
        dark[who] = commanded
        if now - since < bound:
            counts.add(who)
    return _Line(limits.start_gap, bound, dark, frozenset(counts), now)


def _on_their_way(
    zone: Zone, machines: Iterable[Machine], snapshot: Snapshot | AccountSnapshot
) -> Iterator[tuple[str, HostId, datetime, tuple[Asked, ...]]]:
    """Yield who is to go on: by whose id, which host, since when, and what was asked of it."""
    limits = snapshot.capabilities.power
    if limits is None or not limits.start_gap:
        return
    for one in machines:
        if one.offer.zone == zone and one.phase in _COMES_UP and one.host is not None:
            yield one.id, one.host, one.since, one.asked
    for host in snapshot.hosts.values():
        if host.zone == zone and host.power.begun is not None:
            yield host.id, host.id, host.power.begun, host.asked


def _line_of_fleet(zone: Zone, machines: Iterable[Machine], snapshot: Snapshot) -> _Line:
    return _line(zone, (*machines, *snapshot.neighbours), snapshot)


def _is_off(host: HostId, snapshot: Snapshot | AccountSnapshot) -> bool:
    seen = snapshot.inventory.resource(ResourceId(host))
    return seen is not None and seen.condition in SWITCHED_OFF


def _stuck(snapshot: Snapshot) -> frozenset[MachineId]:
    """Return the machines of other fleets that start for too long: theirs may be paused."""
    newest = snapshot.now - snapshot.fleet.timers.start
    return frozenset(one.id for one in snapshot.neighbours if one.since <= newest)


def _order(machine: Machine) -> tuple[datetime, str]:
    return max(starts.commanded(machine.asked, machine.since), default=machine.since), machine.id


def _others(machine: Machine, started: Iterable[tuple[str, datetime]]) -> Iterator[datetime]:
    return (at for id_, at in started if id_ != machine.id)


def _zones(snapshot: Snapshot) -> frozenset[Zone]:
    return frozenset(offer.zone for offer in snapshot.fleet.offers)


def _begun(
    machines: list[Machine],
    zone: Zone,
    bound: frozenset[MachineId],
    snapshot: Snapshot | AccountSnapshot,
    stuck: Collection[MachineId] = (),
) -> int:
    """Return how many starts of a zone count now; as many as may be, while the gap is not over.

    The gap counts from a start that is over too: a box boots in less; and who is due to be told
    again goes first. A machine that was bound by a process which died then begins now; one that
    lost its box begins when it takes another.
    """
    limits = snapshot.capabilities.power or PowerLimits()
    line = _line(zone, machines, snapshot)
    here = [machine for machine in machines if machine.offer.zone == zone]
    without = [m for m in here if m.phase is Phase.STARTING and m.host is None]
    pending = [m for m in here if m.phase is Phase.PENDING]
    waiting = [m for m in (*pending, *without) if m.id in bound]
    starting = [m for m in here if m.phase is Phase.STARTING and m.host is not None]
    hosts = [host for host in snapshot.hosts.values() if host.zone == zone]
    mine = {machine.host for machine in starting}
    began = [snapshot.now] if waiting else []
    began += [machine.since for machine in starting]
    began += [at for machine in here for at in starts.of_machine(machine, snapshot)]
    began += [at for host in hosts for at in starts.of_host(host, snapshot)]
    began += [host.since for host in hosts if host.id in mine and host.since]
    if began and line.turn("", began) > snapshot.now:
        return limits.parallel_starts
    alone = sum(starts.is_alone(host) for host in hosts)
    counted = [machine for machine in (*starting, *waiting) if machine.id not in stuck]
    return len(counted) + alone
