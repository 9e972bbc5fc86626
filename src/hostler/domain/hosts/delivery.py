"""Delivery: what is ordered, which host is the one, and what becomes of it until it is taken?"""

import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec.structs import replace

from hostler.domain.ids import HostId, MachineId, evolve, machine_id
from hostler.domain.model.fleet import FleetRow, Order
from hostler.domain.model.host import AWAY, Host, HostCondition, HostGoal, HostOrigin
from hostler.domain.model.resource import Condition, Resource, Stage
from hostler.domain.model.snapshot import AccountSnapshot, Snapshot
from hostler.domain.observation.blockers import zone_is_known

LONGEST = timedelta(hours=3)
"""How long a host that was ordered may take to be delivered, by our guess."""

_SKEW = timedelta(minutes=5)
"""How far apart the provider's clock and ours may be."""


def placed(many: int, row: FleetRow, snapshot: Snapshot) -> tuple[Order, ...]:
    """Return that many orders of the first offer whose zone is known and that is not sold out."""
    for offer in snapshot.fleet.offers:
        setback = row.setback(offer)
        blocked = setback is not None and snapshot.now < setback.until
        if zone_is_known(snapshot, offer) and not blocked:
            return tuple(
                Order(id=_order_id(snapshot, number), offer=offer, at=snapshot.now)
                for number in range(many)
            )
    return ()


def _order_id(snapshot: Snapshot, number: int) -> MachineId:
    """Return an id that only this cycle gives: deciding once more gives the same."""
    when = f"{snapshot.cycle} {snapshot.now.timestamp()} {number}"
    text = f"{snapshot.ours[0]} {snapshot.fleet.name} {when}"
    return machine_id(int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big"))


def coming(row: FleetRow, snapshot: Snapshot) -> Iterator[datetime]:
    """Yield when each order was placed that is under way."""
    return (order.at for order in row.orders if _is_coming(order, snapshot))


def _is_coming(order: Order, snapshot: Snapshot) -> bool:
    """Tell whether an order is under way: its host is not delivered, or may still show up.

    Until two complete observations, a gap apart, lack what they had to show, it may.
    """
    for host in snapshot.hosts.values():
        if host.purchase.order == order.id:
            return host.condition is HostCondition.COMING
    whole = _shown_at(order, snapshot)
    if order.missing is None or whole is None:
        return True
    since = max(order.missing, snapshot.jumped or order.missing)
    return whole - since < max(
        snapshot.fleet.timers.absence_gap, snapshot.capabilities.consistency_delay
    )


def observed_for(order: Order, snapshot: Snapshot) -> Order:
    """Return the order with since when observations lack its host; one that is seen is not missing.

    Its record is made by the hosts' own cycle, which comes after ours.
    """
    observed_at = any(
        resource.host.stage is Stage.ORDERED and resource.host.holder == order.id
        for resource in (sighting.resource for sighting in snapshot.inventory.sightings.values())
    )
    whole = _shown_at(order, snapshot)
    if observed_at or any(host.purchase.order == order.id for host in snapshot.hosts.values()):
        return evolve(order, missing=None)
    late = whole is not None and whole - order.at >= 2 * snapshot.capabilities.consistency_delay
    return evolve(order, missing=order.missing or whole) if late else order


def _shown_at(order: Order, snapshot: Snapshot) -> datetime | None:
    """Return when the newest complete observation of an order's zone began."""
    return snapshot.inventory.whole.get((order.offer.zone, snapshot.capabilities.host_kind))


def came(account: AccountSnapshot) -> Iterator[Resource]:
    """Yield every host that bears the name of an order, was not ours, and is what was ordered."""
    return (resource for resource in _named(account) if _is_ordered(resource, account))


def copies(account: AccountSnapshot) -> Iterator[Resource]:
    """Yield every host that bears the name of an order, was not ours, and was not ordered.

    A person gave it that name. It is nothing that may be wiped or given up.
    """
    return (resource for resource in _named(account) if not _is_ordered(resource, account))


def _named(account: AccountSnapshot) -> Iterator[Resource]:
    kind = account.capabilities.host_kind
    for sighting in account.inventory.sightings.values():
        resource = sighting.resource
        record = account.hosts.get(HostId(resource.id))
        known = record is not None and record.was_ours
        if resource.slot.kind == kind and not known and resource.host.stage is Stage.ORDERED:
            yield resource


def _is_ordered(resource: Resource, account: AccountSnapshot) -> bool:
    """Tell whether a host came to be by the order that its name tells of.

    Our provider may have doubled an order: both hosts are younger than it, and the second one came
    to be with the first, within the consistency delay. One that came later was bought by somebody.
    Clocks may be apart, but not where another host of that order is younger by the same clock.
    Where the order is on no row any more, an id that we issued is the proof, as long as one host
    alone ever bore it.
    """
    order = resource.host.holder
    at = account.orders.get(order) if order is not None else None
    known = any(host.purchase.order == order for host in account.hosts.values())
    bearers = [
        other
        for other in (sighting.resource for sighting in account.inventory.sightings.values())
        if other.host.stage is Stage.ORDERED and other.host.holder == order
    ]
    if at is None or resource.created is None:
        alone = all(other.id == resource.id for other in bearers)
        return not known and alone and (at is not None or order in account.issued)
    if known:
        return at <= resource.created <= at + account.capabilities.consistency_delay
    younger = any(other.created is not None and other.created >= at for other in bearers)
    return resource.created >= (at if younger else at - _SKEW)


def delivered(host: Host, resource: Resource, snapshot: AccountSnapshot) -> Host:
    """Return the record of a host that is on its way, as an observation shows it.

    It is free when it is delivered, for nobody ever used it, if its order is on record and its name
    is what we ordered it by: any other is wiped first. One that is handed over in error is paid
    for: it is wiped, which mends it; so is one that stays locked, busy, or in a status that nobody
    knows, once that ends. One that never comes is given up. Another may be ordered in the place of
    each.
    """
    now, overdue = snapshot.now, _is_overdue(host, snapshot.now, snapshot.jumped)
    if not resource.host.delivered:
        return _given_up(host, now) if overdue else host
    barred = overdue and resource.condition is not Condition.UP
    if resource.condition is Condition.FAILED or barred:
        mended = replace(host.with_purchase(delivered=now), goal=HostGoal.CLEAN)
        why = "in error" if resource.condition is Condition.FAILED else "and nobody may use it yet"
        return mended.now(HostCondition.DIRTY, now, f"delivered {why}")
    if resource.condition is not Condition.UP:
        return host
    if resource.host.stage is not Stage.ORDERED or host.purchase.order not in snapshot.orders:
        there = host.with_purchase(delivered=now)
        return there.now(HostCondition.DIRTY, now, "delivered, and perhaps used since")
    fresh = host.with_cleaning(wiped=now, witness=resource.host.witness).with_purchase(
        delivered=now
    )
    return fresh.now(HostCondition.FREE, now, "delivered")


def delivered_late(host: Host, resource: Resource | None, now: datetime) -> Host:
    """Return the record of a host that was given up, or kept instead, before it was delivered.

    It is paid for from when it is: whatever became of it since, it is on no way to us any more.
    """
    bought = host.purchase.origin is HostOrigin.ORDERED and host.purchase.delivered is None
    came = resource is not None and resource.host.delivered and host.condition not in AWAY
    return host.with_purchase(delivered=now) if bought and came else host


def _is_overdue(host: Host, now: datetime, jumped: datetime | None) -> bool:
    since = max(host.since or now, jumped or host.since or now)
    return now - since >= LONGEST


def _given_up(host: Host, now: datetime) -> Host:
    given_up = replace(host, goal=HostGoal.RETIRED)
    return given_up.now(HostCondition.RETIRING, now, "never delivered")
