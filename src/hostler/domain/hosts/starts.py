"""Starts: when was a host switched on last, by all that is on record of it and of its machine?

A start counts from its answer, and is one of just now while it is under way: a box may hear of it
late, and says nothing before it is seen on.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from hostler.domain.ids import ResourceId, Zone
from hostler.domain.model.calls import Shows
from hostler.domain.model.host import Host, HostCondition
from hostler.domain.model.machine import Asked, CallState, Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.domain.model.snapshot import AccountSnapshot, Snapshot

_NEVER_ON = frozenset({Phase.PENDING, Phase.STOPPING, Phase.FAILED, Phase.DELETED})
"""The phases in which no machine's host is switched on."""


def in_zone(
    zone: Zone, machines: Iterable[Machine], snapshot: Snapshot
) -> Iterator[tuple[str, datetime]]:
    """Yield when a host of a zone was switched on, by machine or host; in flight is just now.

    What was asked of a host before a machine took it counts as that machine's.
    """
    here = [machine for machine in machines if machine.offer.zone == zone]
    beside = [machine for machine in snapshot.neighbours if machine.offer.zone == zone]
    for machine in (*here, *beside):
        yield from ((machine.id, at) for at in of_machine(machine, snapshot))
        if is_under_way(machine, snapshot):
            yield machine.id, snapshot.now
    taken = {machine.host: machine.id for machine in (*here, *beside)}
    for host in snapshot.hosts.values():
        if host.zone == zone and host.id in taken:
            yield from ((taken[host.id], at) for at in asked_of(host))
        elif host.zone == zone:
            yield from ((host.id, at) for at in of_host(host, snapshot))


def is_under_way(machine: Machine, snapshot: Snapshot | AccountSnapshot) -> bool:
    """Tell whether a machine's host may be being switched on just now, once more perhaps.

    What is done about a machine is on its record a moment later; what is seen up is not started.
    """
    if machine.id not in snapshot.moving or machine.phase in _NEVER_ON:
        return False
    seen = snapshot.inventory.resource(ResourceId(machine.host)) if machine.host else None
    return seen is None or seen.condition is not Condition.UP


def of_machine(machine: Machine, snapshot: Snapshot | AccountSnapshot) -> Iterator[datetime]:
    """Yield when a machine's host may have been switched on last: now, while it is being asked.

    A call may arrive long after it was recorded, where its process stood still between.
    """
    for one in machine.asked:
        if one.shows is Shows.POWER:
            under_way = one.closed is None and machine.id in snapshot.moving
            yield snapshot.now if under_way else one.closed or one.at


def commanded(asked: Iterable[Asked], since: datetime) -> Iterator[datetime]:
    """Yield when a host was told to go on since then; what refused that was told nothing."""
    for one in asked:
        if one.shows is Shows.POWER and one.at >= since and one.call_state is not CallState.REFUSED:
            yield one.closed or one.at


def asked_of(host: Host) -> Iterator[datetime]:
    """Yield when a host was asked to go on, for itself or for the machine that had it last."""
    if host.power.started:
        yield host.power.started
    yield from (one.closed or one.at for one in host.asked if one.shows is Shows.POWER)


def is_alone(host: Host) -> bool:
    """Tell whether a host is on its way up for no machine; one that was taken away no longer is."""
    begun = host.power.begun is not None and not host.power.on
    return begun and host.condition is not HostCondition.ABSENT


def of_host(host: Host, snapshot: Snapshot | AccountSnapshot) -> Iterator[datetime]:
    """Yield since when a host is seen on, and when that was asked for: by whoever had it last."""
    yield from asked_of(host)
    if host.power.on and host.power.since:
        yield host.power.since
    if host.id in snapshot.moving_hosts and host.power.begun is not None:
        yield snapshot.now
