"""Purchasing: which hosts does a fleet buy, and which of those that it bought are given up?

Never on the way of a claim: what was ordered is claimed as any other host, once it is there. The
policy is that of buying.py, and the orders are on the fleet's row before one is sent.
"""

import itertools
from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import HostId, ResourceId, evolve
from hostler.domain.model.commands import RESIZE, OrderHosts, SaveHost
from hostler.domain.model.fleet import FleetRow, Sized
from hostler.domain.model.host import (
    AT_HOME,
    AWAY,
    GIVEN_BACK,
    OTHERS,
    TENANT,
    Host,
    HostCondition,
    HostGoal,
    HostOrigin,
    ReleasePolicy,
    host_of,
    may_come_back,
)
from hostler.domain.model.machine import CallState, Deletion, Offer
from hostler.domain.model.phases import Goal, Phase, Reason
from hostler.domain.model.resource import Condition, Resource, Stage
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition
from hostler.domain.observation.blockers import paused, world_is_right
from hostler.domain.policy.demand import demand_of
from hostler.domain.policy.purchasing import Ended, Leased, Limits, Purchase, Situation, default

from . import delivery
from .overdue import is_overdue
from .parking import wakes

ORDER_COUNTS = timedelta(days=1)
"""For so long a fleet's row remembers an order: within it its host may still come."""
_REMEMBERED = timedelta(days=15)
_MOST = 2000
_ENDED = frozenset({HostCondition.FREE, HostCondition.QUARANTINED})


class Bought(Struct, frozen=True, kw_only=True):
    """What ordering comes to: the row with its orders, machines and hosts that go, the order.

    `limit` says why hosts that are missing are not ordered; empty where they are, or none is.
    """

    row: FleetRow
    transitions: tuple[Transition, ...]
    keeps: tuple[SaveHost, ...] = ()
    order: OrderHosts | None = None
    due: datetime | None = None
    limit: str = ""

    def condition(self, condition: str) -> str:
        """Return the fleet's condition; where it lacks hosts, with why no more are ordered."""
        if not self.limit or not condition.startswith(Reason.NO_AVAILABLE_HOST):
            return condition
        return f"{condition}; no more are ordered: {self.limit}"


def buy(
    transitions: tuple[Transition, ...],
    row: FleetRow,
    snapshot: Snapshot,
    inserts: tuple[Offer, ...] = (),
) -> Bought:
    """Return what is ordered and given up now, where hosts may be ordered, or were.

    What the machines that are made now will take (`inserts` are their offers) is not given up.
    Nothing is ordered for a setup script that is at fault, nor where another installation uses
    the fleet's name (G8): what we bought and nobody wants is given up all the same.
    """
    if snapshot.limits is not None:
        row = _remembered(row, snapshot)
    elif not any(_leased(transitions, snapshot)):
        return Bought(row=row, transitions=transitions)
    if paused(row, snapshot.now) or snapshot.fleet.protected:
        return Bought(row=row, transitions=transitions)
    purchase = default(_situation(transitions, row, snapshot))
    taken = _taken(inserts, snapshot)
    ends = {end.host: end for end in purchase.ends if end.host not in taken}
    given_up = tuple(_given_up(transition, ends, snapshot) for transition in transitions)
    keeps = tuple(
        _retired(snapshot.hosts[host], end, snapshot) for host, end in _untied(ends, snapshot)
    )
    ended = sum(
        after is not transition for after, transition in zip(given_up, transitions, strict=True)
    )
    staying = len(ends) - ended - len(keeps)  # what cannot be ended yet is not bought again
    barred = snapshot.revision.broken is not None or bool(world_is_right(snapshot))
    orders = () if barred else delivery.placed(max(0, purchase.order - staying), row, snapshot)
    return Bought(
        row=evolve(row, orders=(*row.orders, *orders)),
        transitions=given_up,
        keeps=keeps,
        order=OrderHosts(orders=orders) if orders else None,
        due=purchase.due,
        limit="" if orders else _in_the_way(purchase, staying, row, transitions, snapshot),
    )


def _taken(inserts: tuple[Offer, ...], snapshot: Snapshot) -> frozenset[HostId]:
    """Return the free hosts that new machines will take: the best ones of their offers."""
    found = set[HostId]()
    for offer in inserts:
        fitting = (f.id for f in snapshot.free if f.offer == offer and f.id not in found)
        found |= set(itertools.islice(fitting, 1))
    return frozenset(found)


def _in_the_way(
    purchase: Purchase,
    staying: int,
    row: FleetRow,
    transitions: tuple[Transition, ...],
    snapshot: Snapshot,
) -> str:
    """Return why nothing is ordered: a limit, hosts still to go, or the last order's answer."""
    if purchase.order == 0:
        return purchase.limit if purchase.short else _stranded(transitions, snapshot)
    if purchase.order <= staying:
        return f"{staying} past the end of the paid window must go first, and cannot go yet"
    setbacks = (row.setback(offer) for offer in snapshot.fleet.offers)
    reasons = dict.fromkeys(s.why for s in setbacks if s is not None and snapshot.now < s.until)
    return "; ".join(reasons)


def _stranded(transitions: tuple[Transition, ...], snapshot: Snapshot) -> str:
    """Return that hosts count which were ordered, and whose machines no record knows, if any do.

    None is ordered in their place: a person who adopts their machines would pay for all twice.
    """
    known = {transition.machine.host for transition in transitions}
    reported = {host_of(orphan.resource) for orphan in snapshot.orphans}
    hosts = (host.id for host in _leased(transitions, snapshot) if host.id in reported - known)
    many = sum(snapshot.hosts[host].condition is HostCondition.ALLOCATED for host in hosts)
    return f"bought before, of machines that no record knows: {many}" if many else ""


def _remembered(row: FleetRow, snapshot: Snapshot) -> FleetRow:
    """Write down the demand, and forget orders and sizes that count no more."""
    desired = row.desired(snapshot.fleet)
    sizes = row.sizes
    if not sizes or sizes[-1].size != desired:
        sizes = (*sizes, Sized(at=snapshot.now, size=desired))
    young = tuple(s for s in sizes[:-1] if snapshot.now - s.at < _REMEMBERED)
    orders = tuple(
        delivery.observed_for(order, snapshot)
        for order in row.orders
        if snapshot.now - order.at < ORDER_COUNTS
    )
    return evolve(row, sizes=(*young, sizes[-1])[-_MOST:], orders=orders)


def lapses(row: FleetRow) -> Iterator[datetime]:
    """Yield when each order and size on the row counts no more."""
    yield from (order.at + ORDER_COUNTS for order in row.orders)
    yield from (sized.at + _REMEMBERED for sized in row.sizes[:-1])


def windows(snapshot: Snapshot) -> Iterator[datetime]:
    """Yield when the window of each host is over that a machine has, and when each hold ends."""
    for host in snapshot.bindings.values():
        record = snapshot.hosts.get(host)
        until = record.purchase.paid_until if record is not None else None
        if until is not None and until > snapshot.now:
            yield until
    holds = (host.held(snapshot.now) for host in snapshot.hosts.values())
    yield from (hold.until for hold in holds if hold is not None)


def _situation(transitions: tuple[Transition, ...], row: FleetRow, snapshot: Snapshot) -> Situation:
    hosts = tuple(_leased(transitions, snapshot))
    pool = _in_pool(transitions, frozenset(host.id for host in hosts), snapshot)
    beyond = [(sized.at, max(0, sized.size - pool)) for sized in row.sizes]
    wanted = sum(transition.machine.wanted or wakes(transition) for transition in transitions)
    desired = row.desired(snapshot.fleet)
    missing = desired - wanted - len(snapshot.free)
    limits = snapshot.limits or Limits(batch=0)
    prices = [snapshot.hosts[host.id].billing.price for host in hosts]
    return Situation(
        now=snapshot.now,
        hosts=hosts,
        past=demand_of(beyond, snapshot.now),
        coming=(*delivery.coming(row, snapshot), *_called_back(snapshot)),
        waiting=_waiting(row.sizes or (Sized(at=snapshot.now, size=desired),), max(0, missing)),
        ordered=tuple(order.at for order in row.orders),
        price=max((limits.price, *prices)),
        limits=limits,
        beside=_beside(snapshot),
    )


def _waiting(sizes: tuple[Sized, ...], missing: int) -> tuple[datetime, ...]:
    """Return since when each of so many machines is wanted, by the sizes that were asked for."""
    least, since = sizes[-1].size, sizes[-1].at
    found = list[datetime]()
    for sized in reversed(sizes[:-1]):
        found += [since] * (least - sized.size)
        if len(found) >= missing:
            break
        least, since = min(least, sized.size), sized.at
    found += [since] * (missing - len(found))
    return tuple(found[:missing])


def _in_pool(
    transitions: tuple[Transition, ...], leased: frozenset[HostId], snapshot: Snapshot
) -> int:
    """Return for how many machines the pool has hosts: what was wanted of those was never bought.

    It is the pool as it is now: how many hosts it had earlier is not on record.
    """
    served = [
        transition for transition in transitions if transition.machine.wanted or wakes(transition)
    ]
    at_work = sum(transition.machine.host not in leased for transition in served)
    return at_work + sum(free.id not in leased for free in snapshot.free)


def _beside(snapshot: Snapshot) -> int:
    """Return how many more hosts this fleet bought than it has, or fewer where it has others'.

    Fleets of one pool take each other's free hosts before anything is bought. What is given up
    counts until it is gone: until then it is paid for, and the provider counts it too.
    """
    mine, hosts = snapshot.fleet.name, snapshot.hosts.values()
    counted = sum((_may_go(h) and h.fleet == mine) or _comes_back(h, snapshot) for h in hosts)
    return sum((h.purchase.buyer or h.fleet) == mine for h in hosts if is_paid(h)) - counted


def _comes_back(host: Host, snapshot: Snapshot) -> bool:
    """Tell whether a host of this fleet, or that it bought, can be called back from its end.

    Not one to which a person gave another name meanwhile: nothing is done to that.
    """
    resource = snapshot.inventory.resource(ResourceId(host.id))
    named = resource is not None and resource.host.stage in OTHERS
    ours = snapshot.fleet.name in {host.fleet, host.purchase.buyer} and not named
    return ours and may_come_back(host, snapshot.now)


def is_paid(host: Host) -> bool:
    """Tell whether a host that was ordered is there, whatever becomes of it.

    One that is on its way is an order still. One that never came stands until it is gone, whether
    it is given up or somebody keeps it.
    """
    return host.purchase.origin is HostOrigin.ORDERED and host.condition not in AWAY


def _may_go(host: Host) -> bool:
    """Tell whether a host that was ordered came, is not given up, and not kept by a person."""
    came = is_paid(host) and host.purchase.delivered is not None
    stays = host.purchase.policy is ReleasePolicy.KEEP
    return came and not stays and host.condition is not HostCondition.RETIRING


def _called_back(snapshot: Snapshot) -> Iterator[datetime]:
    """Yield a time for each host whose end is only scheduled: none is bought in its place."""
    for host in snapshot.hosts.values():
        if _comes_back(host, snapshot):
            yield snapshot.now


def _leased(transitions: tuple[Transition, ...], snapshot: Snapshot) -> Iterator[Leased]:
    """Yield the hosts that this fleet ordered and may give up, with since when each is free.

    What a person reserved, or works on, is as good as used until that ends.
    """
    if not snapshot.hosts:  # servers do not pay for what Macs have
        return
    holders = {
        transition.machine.host: transition for transition in transitions if transition.machine.host
    }
    for host in snapshot.hosts.values():
        if (
            host.fleet != snapshot.fleet.name
            or not _may_go(host)
            or host.purchase.delivered is None
        ):
            continue
        paid_until = host.purchase.paid_until or host.purchase.delivered + _paid_period(snapshot)
        transition = holders.get(host.id)
        free = _free_from(host, snapshot) if transition is None else _rests_from(transition)
        free = None if host.is_barred(snapshot.now) else free
        yield Leased(
            id=host.id,
            delivered=host.purchase.delivered,
            paid_until=paid_until,
            free_from=free,
            useless=transition is None and _is_of_no_use(host, snapshot),
        )


def _paid_period(snapshot: Snapshot) -> timedelta:
    """Return the least time that a host is paid for, once it was ordered."""
    hosts = snapshot.capabilities.hosts
    return (hosts.paid_period if hosts else None) or timedelta(0)


def _is_of_no_use(host: Host, snapshot: Snapshot) -> bool:
    """Tell whether no machine can have a host: it failed too often, or is none for any offer.

    Or it is in error in the pool: under our own name an error is wiped away; there nobody mends it.
    """
    resource = snapshot.inventory.resource(ResourceId(host.id))
    if resource is not None:
        broken = resource.condition is Condition.FAILED and _is_pooled(host, snapshot)
        if broken or _fits_nothing(host, resource, snapshot):
            return True
    late = is_overdue(host, snapshot.now, snapshot.steady, snapshot.row)
    return late or host.quarantined(snapshot.now)


def _rests_from(transition: Transition) -> datetime | None:
    """Return since when a machine rests on its host, None where it does not, or wakes."""
    rests = transition.machine.phase is Phase.STANDBY and not wakes(transition)
    return transition.machine.since if rests else None


def _free_from(host: Host, snapshot: Snapshot) -> datetime | None:
    """Return from when on a host that no machine has is free; None where somebody else has it.

    Or may have it: what bears the name of a machine that has another host is reported, and left
    alone.
    """
    since, resource = host.since or snapshot.now, snapshot.inventory.resource(ResourceId(host.id))
    if resource is None:
        return since
    left_alone = host.condition is HostCondition.DIRTY and host.goal is None
    elsewhere = OTHERS | TENANT | GIVEN_BACK if left_alone else OTHERS
    return None if resource.host.stage in elsewhere else since


def _fits_nothing(host: Host, resource: Resource, snapshot: Snapshot) -> bool:
    """Tell whether a host could be taken, and is none for any offer of the fleet.

    One that is bound to a machine which is over is not offered to any other in this cycle, and is
    in the next; so is one with a call in flight, or that a request names.
    """
    requested = {request.host for request in snapshot.requests}
    tied = {*snapshot.bindings.values(), *snapshot.moving_hosts, *requested}
    offered = {free.id for free in snapshot.free}
    return _is_at_hand(host, resource) and host.id not in tied | offered


def _is_at_hand(host: Host, resource: Resource) -> bool:
    """Tell whether nothing but what it is keeps a host from being taken."""
    unsure = any(asked.call_state is CallState.OPEN for asked in host.asked)
    if host.condition is not HostCondition.FREE or unsure or resource.host.scheduled:
        return False
    return resource.condition is Condition.UP and resource.host.stage in AT_HOME


def _given_up(transition: Transition, ends: dict[HostId, Ended], snapshot: Snapshot) -> Transition:
    """End a machine in standby whose host is given up."""
    machine = transition.machine
    end = ends.get(machine.host) if machine.host else None
    if end is None or machine.phase is not Phase.STANDBY or machine.goal is Goal.PRESENT:
        return transition
    if (
        machine.deletion is not None
        or machine.is_protected(snapshot.now)
        or machine.id in snapshot.moving
    ):
        return transition
    deletion = Deletion(at=snapshot.now, actor=RESIZE, why=end.why, now=True)
    return replace(transition, machine=replace(machine, deletion=deletion))


def _untied(ends: dict[HostId, Ended], snapshot: Snapshot) -> Iterator[tuple[HostId, Ended]]:
    tied = frozenset(snapshot.bindings.values())
    for host, end in ends.items():
        record = snapshot.hosts[host]
        idle = record.condition in _ENDED or _is_of_no_use(record, snapshot)
        if host not in tied and (idle or _waits_in_pool(record, snapshot)):
            yield host, end


def _waits_in_pool(host: Host, snapshot: Snapshot) -> bool:
    """Tell whether a host waits in the pool for a claim that wipes it: a person put it there."""
    return host.condition is HostCondition.DIRTY and _is_pooled(host, snapshot)


def _is_pooled(host: Host, snapshot: Snapshot) -> bool:
    """Tell whether a host bears a name of the pool, and nothing is done about it."""
    resource = snapshot.inventory.resource(ResourceId(host.id))
    return host.goal is None and resource is not None and resource.host.stage is Stage.POOL


def _retired(host: Host, end: Ended, snapshot: Snapshot) -> SaveHost:
    given_up = replace(host, goal=HostGoal.RETIRED)
    return SaveHost(host=given_up.now(HostCondition.RETIRING, snapshot.now, end.why))
