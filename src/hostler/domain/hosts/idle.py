"""Idle: is a host that nobody uses to be on or off, by its provider's limits and a person's word?

What goes on for its own sake takes its turn with the machines: no more start at a time than may.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import HostId, ResourceId, Zone
from hostler.domain.model.calls import Shows
from hostler.domain.model.capabilities import PowerLimits
from hostler.domain.model.hold import HoldKind
from hostler.domain.model.host import Host, HostCondition, HostGoal
from hostler.domain.model.resource import SWITCHED_OFF, Condition, Resource
from hostler.domain.model.snapshot import AccountSnapshot
from hostler.domain.observation.ready import is_paused
from hostler.domain.policy.remediation import LADDER, pause_after, quarantined_for

from . import power, turns

_AS_IT_IS = frozenset({HoldKind.RESERVED, HoldKind.MAINTENANCE})


class Idle(Struct, frozen=True):
    """Which free hosts are to be switched, and to what; `waits` are those whose turn it is not."""

    goals: Mapping[HostId, HostGoal]
    waits: frozenset[HostId] = frozenset()


NOTHING = Idle({})


def goals(snapshot: AccountSnapshot, blocked: Collection[HostId] = ()) -> Idle:
    """Return which free hosts are to be switched now, and to what; the others stay as they are.

    Those that are `blocked` do not begin, whatever they are to: they take no other's turn.
    """
    limits = snapshot.capabilities.power
    return _Goals(snapshot, limits, blocked).all() if limits is not None else NOTHING


def course(host: Host, goal: HostGoal | None) -> HostGoal | None:
    """Return what a host is on its way to: one that is cycled is on its way until it is seen up."""
    return HostGoal.ON if comes_up(host) else goal


def comes_up(host: Host) -> bool:
    """Tell whether a free host that is switched off and on is on again, and was not seen up yet."""
    again = host.power.cycle is HostGoal.ON and bool(host.power.on)
    return again and host.condition is HostCondition.FREE


def followed(host: Host, resource: Resource) -> Host:
    """Return a free host that is switched off and on, as an observation shows how far it is."""
    if host.power.cycle is HostGoal.OFF and resource.condition in SWITCHED_OFF:
        return replace(host, power=replace(host.power, cycle=HostGoal.ON))
    if host.power.cycle is HostGoal.ON and resource.condition is Condition.UP:
        return replace(host, power=replace(host.power, cycle=None))
    return host


def pursued(host: Host, goal: HostGoal | None, snapshot: AccountSnapshot) -> Host:
    """Return the record with since when it is to go on; a strike once that takes too long."""
    limits, begun = snapshot.capabilities.power, host.power.begun
    if limits is None or goal is not HostGoal.ON or host.condition is not HostCondition.FREE:
        return host if begun is None else replace(host, power=replace(host.power, begun=None))
    if begun is None:
        now = snapshot.now
        exercised = now if _is_due(host, limits, now) else host.power.exercised
        return replace(host, power=replace(host.power, begun=now, exercised=exercised))
    sighting = snapshot.inventory.sightings.get(ResourceId(host.id))
    seen = snapshot.inventory.observed_at(sighting) if sighting is not None else begun
    if seen - begun < limits.start:  # as it stood then: what nobody sees is no fault of its own
        return host
    return _struck(host, snapshot)


def _struck(host: Host, snapshot: AccountSnapshot) -> Host:
    """A host that does not go on counts a strike: it is tried again later, or left alone.

    It may never have been switched on: what came of the last command is said where that failed.
    """
    up = "up" if comes_up(host) else "on"
    why, strikes = f"it was not seen {up} after it was to go on", host.health.strikes + 1
    if host.error and not host.error.startswith(why):
        why = f"{why}: {host.error}"
    struck = replace(
        host.with_health(strikes=strikes),
        power=replace(host.power, begun=None, cycle=None),
        error=why,
    )
    if strikes < LADDER.strikes:
        until = snapshot.now + pause_after(strikes, LADDER.pauses)
        return replace(struck, retry_at=until, retry_since=snapshot.now)
    until = snapshot.now + quarantined_for(strikes, LADDER)
    left = struck.with_health(quarantined_until=until)
    return left.now(HostCondition.QUARANTINED, snapshot.now, f"{why}: strike {strikes}")


@dataclass
class _Goals:
    """The goals of one cycle, and how many hosts of each zone may still begin in it."""

    snapshot: AccountSnapshot
    limits: PowerLimits
    blocked: Collection[HostId]
    found: dict[HostId, HostGoal] = field(default_factory=dict[HostId, HostGoal])
    room: dict[Zone, int] = field(default_factory=dict[Zone, int])

    def all(self) -> Idle:
        unused = [host for host in self.snapshot.hosts.values() if self._is_unused(host)]
        free = {host.id: host for host in unused if host.condition is HostCondition.FREE}
        stays = frozenset(self._stays(free.values()))
        for host in unused:
            if host.id not in stays and self._goes_off(host):
                self.found[host.id] = HostGoal.OFF
        for host in free.values():
            if host.power.cycle is HostGoal.ON or host.held_as(self.snapshot.now) is HoldKind.ON:
                self._start(host)
        for id_ in sorted(stays):
            self._start(free[id_])
        for host in free.values():
            if _is_due(host, self.limits, self.snapshot.now) and not host.is_barred(
                self.snapshot.now
            ):
                self._start(host)
        return Idle(self.found, frozenset(self._waiting()))

    def _waiting(self) -> Iterator[HostId]:
        """Yield the hosts that are to go on and are not told so yet: who was told last waits."""
        hosts = self.snapshot.hosts
        goals = {id_: goal for id_, goal in self.found.items() if id_ not in self.blocked}
        starts = [hosts[id_] for id_, goal in goals.items() if goal is HostGoal.ON]
        begun = set[Zone]()
        for host in sorted(starts, key=_newest_ask) if self.limits.start_gap else ():
            if host.zone not in begun and turns.is_turn(host, self.snapshot):
                begun.add(host.zone)
            else:
                yield host.id

    def _is_unused(self, host: Host) -> bool:
        """Tell whether nobody has a host, and nothing but its power is to change.

        What failed too often is cleaned when its quarantine ends: until then it can only go off.
        One that showed a stranger's key, so that it may be anybody's, a person alone switches off.
        """
        resource = self.snapshot.inventory.resource(ResourceId(host.id))
        free = host.condition is HostCondition.FREE and host.goal is None
        known = not host.health.stranger or host.held_as(self.snapshot.now) is HoldKind.OFF
        idle = free or (host.condition is HostCondition.QUARANTINED and known)
        ours = resource is not None and not resource.host.left_alone
        return ours and idle and host.id not in self.snapshot.bindings

    def _goes_off(self, host: Host) -> bool:
        """Tell whether a host is to go off: nobody wants it on, and it was on for long enough.

        One that is to be switched off and on is so once it is free, so that it can go on again.
        """
        kind, now = host.held_as(self.snapshot.now), self.snapshot.now
        if not host.power.on or kind in _AS_IT_IS:
            return False
        cycles = host.power.cycle is HostGoal.OFF and host.condition is HostCondition.FREE
        if kind is HoldKind.OFF or cycles:
            return True
        if kind is HoldKind.ON or comes_up(host):
            return False
        least = self.limits.least_on
        since, exercised = host.power.since or now, host.power.exercised
        if exercised is not None and exercised <= since:
            least = max(least, self.limits.exercise_time)
        return now - since >= least

    def _stays(self, free: Collection[Host]) -> Iterator[HostId]:
        """Yield the hosts that stay on, those first that are; one in flight is about to be."""
        groups = defaultdict[tuple[str, str], list[Host]](list)
        for host in free if self.limits.stay_on else ():
            bars = host.is_barred(self.snapshot.now) or host.power.cycle is not None
            if not bars and (self._is_on(host) or host.id not in self.blocked):
                groups[host.zone, host.type].append(host)
        for group in groups.values():
            group.sort(key=lambda host: (not self._is_on(host), host.health.strikes, host.id))
            yield from (host.id for host in group[: self.limits.stay_on])

    def _is_on(self, host: Host) -> bool:
        return bool(host.power.on) or host.power.begun is not None

    def _start(self, host: Host) -> None:
        """Let a host go on, if it is off for long enough, and its zone has room for a start."""
        resource = self.snapshot.inventory.resource(ResourceId(host.id))
        if resource is None or resource.condition not in SWITCHED_OFF or host.power.on is not False:
            return
        if host.id in self.found or not self._may_begin(host):
            return
        if host.id in self.blocked:
            self.found[host.id] = HostGoal.ON
            return
        if host.zone not in self.room:
            self.room[host.zone] = turns.starts_left(host.zone, self.snapshot)
        begun = host.power.begun is not None
        if not begun and self.room[host.zone] <= 0:
            return
        if not begun:
            self.room[host.zone] -= self.limits.parallel_starts if self.limits.start_gap else 1
        self.found[host.id] = HostGoal.ON

    def _may_begin(self, host: Host) -> bool:
        """Tell whether a host is off for long enough; a person's word does not wait for that.

        Every command for its power must be over, and so must the pause after a failure.
        """
        if host.power.begun is not None:
            return True
        now, inventory = self.snapshot.now, self.snapshot.inventory
        at = inventory.observed_at(inventory.sightings[ResourceId(host.id)])
        settled = power.is_settled(host, at, self.snapshot.capabilities.consistency_delay)
        if not settled or is_paused(host, now):
            return False
        asked = host.power.cycle is HostGoal.ON or host.held_as(self.snapshot.now) is HoldKind.ON
        since = host.power.since
        long = since is not None and now - since >= self.limits.least_off
        return asked or long


def _newest_ask(host: Host) -> tuple[float, HostId]:
    """Return when a host was told to go on last; never is long ago."""
    times = (one.at.timestamp() for one in host.asked if one.shows is Shows.POWER)
    return max(times, default=0.0), host.id


def _is_due(host: Host, limits: PowerLimits, now: datetime) -> bool:
    """Tell whether a host was off for so long that it is to show that it still goes on."""
    since = host.power.since
    if limits.exercise is None or host.power.on is not False or since is None:
        return False
    return now - since >= limits.exercise
