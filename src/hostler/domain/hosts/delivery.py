"""Deliveries: which host is the one that was ordered, and what becomes of it until it is taken?"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from hostler.domain.ids import HostId, MachineId
from hostler.domain.model.host import Host, HostCondition, HostGoal, HostOrigin
from hostler.domain.model.inventory import View
from hostler.domain.model.resource import Condition, Part
from hostler.domain.model.snapshot import HostsSeen

LONGEST = timedelta(hours=3)
"""How long a host that was ordered may take to be delivered, by our guess."""

Orders = Mapping[MachineId, datetime]
"""When each host was ordered, by the id that its name bears."""

_SKEW = timedelta(minutes=5)
"""How far apart the provider's clock and ours may be."""


def came(view: View, kind: str, hosts: Mapping[HostId, Host], orders: Orders) -> Iterator[Part]:
    """Yield every host that bears the name of an order, has no record, and is what was ordered."""
    for part in _named(view, kind, hosts):
        if _is_ordered(part, view, hosts, orders):
            yield part


def copies(view: View, kind: str, hosts: Mapping[HostId, Host], orders: Orders) -> Iterator[Part]:
    """Yield every host that bears the name of an order, has no record, and was not ordered.

    A person gave it that name. It is nothing that may be wiped or given up.
    """
    for part in _named(view, kind, hosts):
        if not _is_ordered(part, view, hosts, orders):
            yield part


def _named(view: View, kind: str, hosts: Mapping[HostId, Host]) -> Iterator[Part]:
    for sighting in view.sightings.values():
        part = sighting.part
        known = part.slot.kind != kind or HostId(part.id) in hosts
        if not known and part.note("stage") == "ordered":
            yield part


def _is_ordered(part: Part, view: View, hosts: Mapping[HostId, Host], orders: Orders) -> bool:
    """Tell whether a host came to be by the order that its name tells of.

    Our provider may have doubled an order: both hosts are younger than it. Clocks may be apart, but
    not where another host of that order is younger by the same clock. Where the order is on no row
    any more, the name is the proof, as long as one host alone ever bore it.
    """
    order = MachineId(part.note("holder"))
    at = orders.get(order)
    known = any(host.order == order for host in hosts.values())
    bearers = [
        other
        for other in (sighting.part for sighting in view.sightings.values())
        if other.note("stage") == "ordered" and other.note("holder") == order
    ]
    if at is None or part.created is None:
        return not known and all(other.id == part.id for other in bearers)
    younger = any(other.created is not None and other.created >= at for other in bearers)
    return part.created >= (at if known or younger else at - _SKEW)


def delivered(host: Host, part: Part, seen: HostsSeen) -> Host:
    """Return the record of a host that is on its way, as a look shows it.

    It is free when it is delivered, for nobody ever used it, if its order is on record and its name
    is what we ordered it by: any other is wiped first. One that is handed over in error is paid
    for: it is wiped, which mends it. One that never comes is given up, so that another may be
    ordered in its place.
    """
    now = seen.now
    if not part.note("delivered"):
        return _given_up(host, now) if _is_overdue(host, now, seen.jumped) else host
    if part.condition is Condition.FAILED:
        mended = replace(host, delivered=now, goal=HostGoal.WIPED)
        return mended.now(HostCondition.DIRTY, now, "delivered in error")
    if part.condition is not Condition.UP:
        return host
    if part.note("stage") != "ordered" or host.order not in seen.orders:
        there = replace(host, delivered=now)
        return there.now(HostCondition.DIRTY, now, "delivered, and perhaps used since")
    fresh = replace(host, wiped=now, delivered=now, witness=part.note("witness"))
    return fresh.now(HostCondition.FREE, now, "delivered")


def after_all(host: Host, part: Part, now: datetime) -> Host:
    """Return the record of a host that is given up, which is paid for if it was delivered late."""
    bought = host.origin is HostOrigin.ORDERED and host.delivered is None
    return replace(host, delivered=now) if bought and part.note("delivered") else host


def _is_overdue(host: Host, now: datetime, jumped: datetime | None) -> bool:
    since = max(host.since or now, jumped or host.since or now)
    return now - since >= LONGEST


def _given_up(host: Host, now: datetime) -> Host:
    given_up = replace(host, goal=HostGoal.RETIRED)
    return given_up.now(HostCondition.RETIRING, now, "never delivered")
