"""Ordering: which hosts does a fleet buy, and which of those that it bought are given up?

Never on the way of a claim: what was ordered is claimed as any other host, once it is there. The
policy is that of buying.py, and the orders are on the fleet's row before one is sent.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hostler.domain.ids import HostId, MachineId, PartId, evolve, machine_id
from hostler.domain.model.commands import RESIZE, KeepHost, OrderHosts
from hostler.domain.model.fleet import FleetRow, Order, Sized
from hostler.domain.model.host import (
    AT_HOME,
    OTHERS,
    Host,
    HostCondition,
    HostGoal,
    HostOrigin,
    ReleasePolicy,
    may_come_back,
)
from hostler.domain.model.machine import Ending, Fate
from hostler.domain.model.phases import Goal, Phase, Reason
from hostler.domain.model.resource import Condition, Part
from hostler.domain.model.snapshot import Seen
from hostler.domain.model.transition import Step
from hostler.domain.observation.blockers import paused, world_is_right, zone_is_known
from hostler.domain.policy.demand import demand_of
from hostler.domain.policy.purchasing import Ended, Leased, Limits, Purchase, Situation, default

from .parking import wakes
from .wiping import is_overdue

_DAY = timedelta(days=1)
_REMEMBERED = timedelta(days=15)
_MOST = 2000
_ENDED = frozenset({HostCondition.FREE, HostCondition.QUARANTINED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Bought:
    """What ordering comes to: the row with its orders, machines and hosts that go, the order.

    `limit` says why hosts that are missing are not ordered; empty where they are, or none is.
    """

    row: FleetRow
    steps: tuple[Step, ...]
    keeps: tuple[KeepHost, ...] = ()
    order: OrderHosts | None = None
    due: datetime | None = None
    limit: str = ""

    def told(self, condition: str) -> str:
        """Return the fleet's condition; where it lacks hosts, with why no more are ordered."""
        if not self.limit or not condition.startswith(Reason.NO_AVAILABLE_HOST):
            return condition
        return f"{condition}; no more are ordered: {self.limit}"


def buy(steps: tuple[Step, ...], row: FleetRow, seen: Seen) -> Bought:
    """Return what is ordered and given up now, where hosts may be ordered, or were.

    Nothing is ordered for a list of commands that is at fault, nor where another installation uses
    the fleet's name (G8): what we bought and nobody wants is given up all the same.
    """
    if seen.limits is not None:
        row = _remembered(row, seen)
    elif not any(_leased(steps, seen)):
        return Bought(row=row, steps=steps)
    if paused(row, seen.now) or seen.fleet.protected:
        return Bought(row=row, steps=steps)
    purchase = default(_situation(steps, row, seen))
    ends = {end.host: end for end in purchase.ends}
    given_up = tuple(_given_up(step, ends, seen) for step in steps)
    keeps = tuple(_retired(seen.hosts[host], end, seen) for host, end in _untied(ends, seen))
    ended = sum(after is not step for after, step in zip(given_up, steps, strict=True))
    kept = len(ends) - ended - len(keeps)  # what cannot be ended yet is not bought anew
    barred = seen.revision.broken is not None or bool(world_is_right(seen))
    orders = () if barred else _orders(max(0, purchase.order - kept), row, seen)
    return Bought(
        row=evolve(row, orders=(*row.orders, *orders)),
        steps=given_up,
        keeps=keeps,
        order=OrderHosts(orders=orders) if orders else None,
        due=purchase.due,
        limit="" if orders else _in_the_way(purchase, row, seen),
    )


def _in_the_way(purchase: Purchase, row: FleetRow, seen: Seen) -> str:
    """Return why nothing is ordered: a limit of ours, or what was answered to the last order."""
    if purchase.order == 0:
        return purchase.limit if purchase.short else ""
    setbacks = (row.setback(offer) for offer in seen.fleet.offers)
    told = dict.fromkeys(s.why for s in setbacks if s is not None and seen.now < s.until)
    return "; ".join(told)


def _remembered(row: FleetRow, seen: Seen) -> FleetRow:
    """Write down the demand, and forget orders and sizes that count no more."""
    wished = row.wished(seen.fleet)
    sizes = row.sizes
    if not sizes or sizes[-1].size != wished:
        sizes = (*sizes, Sized(at=seen.now, size=wished))
    young = tuple(s for s in sizes[:-1] if seen.now - s.at < _REMEMBERED)
    orders = tuple(_looked_for(order, seen) for order in row.orders if seen.now - order.at < _DAY)
    return evolve(row, sizes=(*young, sizes[-1])[-_MOST:], orders=orders)


def lapses(row: FleetRow) -> Iterator[datetime]:
    """Yield when each order and size on the row counts no more."""
    yield from (order.at + _DAY for order in row.orders)
    yield from (sized.at + _REMEMBERED for sized in row.sizes[:-1])


def _situation(steps: tuple[Step, ...], row: FleetRow, seen: Seen) -> Situation:
    hosts = tuple(_leased(steps, seen))
    pool = _in_pool(steps, frozenset(host.id for host in hosts), seen)
    beyond = [(sized.at, max(0, sized.size - pool)) for sized in row.sizes]
    wanted = sum(step.machine.wanted or wakes(step) for step in steps)
    waiting = row.wished(seen.fleet) - wanted
    limits = seen.limits or Limits(batch=0)
    prices = [seen.hosts[host.id].price for host in hosts]
    return Situation(
        now=seen.now,
        hosts=hosts,
        past=demand_of(beyond, seen.now),
        coming=(*_coming(row, seen), *_called_back(seen)),
        waiting=max(0, waiting - len(seen.free)),
        ordered=tuple(order.at for order in row.orders),
        price=max((limits.price, *prices)),
        limits=limits,
        beside=_beside(seen),
    )


def _in_pool(steps: tuple[Step, ...], leased: frozenset[HostId], seen: Seen) -> int:
    """Return for how many machines the pool has hosts: what was wanted of those was never bought.

    It is the pool as it is now: how many hosts it had earlier is not on record.
    """
    served = [step for step in steps if step.machine.wanted or wakes(step)]
    at_work = sum(step.machine.host not in leased for step in served)
    return at_work + sum(free.id not in leased for free in seen.free)


def _beside(seen: Seen) -> int:
    """Return how many more hosts this fleet bought than it has, or fewer where it has others'.

    Fleets of one pool take each other's free hosts before anything is bought. What is given up
    counts until it is gone: until then it is paid for, and the provider counts it too.
    """
    mine, hosts = seen.fleet.name, seen.hosts.values()
    counted = sum((_may_go(h) and h.fleet == mine) or _comes_back(h, seen) for h in hosts)
    return sum((h.buyer or h.fleet) == mine for h in hosts if is_paid(h)) - counted


def _comes_back(host: Host, seen: Seen) -> bool:
    """Tell whether a host of this fleet, or that it bought, can be called back from its end."""
    return seen.fleet.name in {host.fleet, host.buyer} and may_come_back(host, seen.now)


def is_paid(host: Host) -> bool:
    """Tell whether a host that was ordered is there, whatever becomes of it."""
    ordered = host.origin is HostOrigin.ORDERED and host.delivered is not None
    return ordered and host.condition is not HostCondition.GONE


def _may_go(host: Host) -> bool:
    """Tell whether a host that was ordered is there, not given up, and not kept by a person."""
    stands = is_paid(host) and host.condition is not HostCondition.RETIRING
    return stands and host.policy is not ReleasePolicy.KEEP


def _coming(row: FleetRow, seen: Seen) -> Iterator[datetime]:
    return (order.at for order in row.orders if _is_coming(order, seen))


def _called_back(seen: Seen) -> Iterator[datetime]:
    """Yield a time for each host whose end is only scheduled: none is bought in its place."""
    for host in seen.hosts.values():
        if _comes_back(host, seen):
            yield seen.now


def _leased(steps: tuple[Step, ...], seen: Seen) -> Iterator[Leased]:
    """Yield the hosts that this fleet ordered and may give up, with since when each is free."""
    holders = {step.machine.host: step for step in steps if step.machine.host}
    for host in seen.hosts.values():
        if host.fleet != seen.fleet.name or not _may_go(host) or host.delivered is None:
            continue
        paid_until = host.paid_until or host.delivered + seen.traits.floor
        step = holders.get(host.id)
        free = _free_from(host, paid_until, seen) if step is None else _rests_from(step)
        yield Leased(
            id=host.id,
            delivered=host.delivered,
            paid_until=paid_until,
            free_from=free,
            useless=step is None and _is_of_no_use(host, seen),
        )


def _is_of_no_use(host: Host, seen: Seen) -> bool:
    """Tell whether no machine can have a host: it failed too often, or is in error in the pool.

    Under our own name an error is wiped away; there nobody mends it.
    """
    part = seen.view.part(PartId(host.id))
    if part is not None and part.condition is Condition.FAILED and _is_pooled(host, seen):
        return True
    return host.quarantined(seen.now) or is_overdue(host, seen.now, seen.steady)


def _rests_from(step: Step) -> datetime | None:
    """Return since when a machine rests on its host, None where it does not, or wakes."""
    rests = step.machine.phase is Phase.RESTING and not wakes(step)
    return step.machine.since if rests else None


def _free_from(host: Host, paid_until: datetime, seen: Seen) -> datetime | None:
    """Return from when on a host without a machine can be taken; None where somebody else has it.

    One that fits no offer is of no use: it is given up at the end of its window. One that is tied
    to a machine which is over is not offered to any other in this turn, and is in the next.
    """
    since, part = host.since or seen.now, seen.view.part(PartId(host.id))
    if part is None:
        return since
    if part.note("stage") in OTHERS:
        return None
    offered = {*seen.ties.values(), *(free.id for free in seen.free)}
    useless = _is_at_hand(host, part) and host.id not in offered
    return paid_until if useless and paid_until > seen.now else since


def _is_at_hand(host: Host, part: Part) -> bool:
    """Tell whether nothing but what it is keeps a host from being taken."""
    unsure = any(asked.fate is Fate.OPEN for asked in host.asked)
    if host.condition is not HostCondition.FREE or unsure or part.note("scheduled"):
        return False
    return part.condition is Condition.UP and part.note("stage") in AT_HOME


def _is_coming(order: Order, seen: Seen) -> bool:
    """Tell whether an order is under way: its host is not delivered, or may still show up.

    Until two complete looks, a gap apart, lack what they had to show, it may.
    """
    for host in seen.hosts.values():
        if host.order == order.id:
            return host.condition is HostCondition.COMING
    whole = _shown_at(order, seen)
    if order.missing is None or whole is None:
        return True
    since = max(order.missing, seen.jumped or order.missing)
    return whole - since < max(seen.fleet.timers.absence_gap, seen.traits.settle)


def _looked_for(order: Order, seen: Seen) -> Order:
    """Return the order with since when looks lack its host; one that is seen is not missing.

    Its record is made by the hosts' own turn, which comes after ours.
    """
    shown = any(
        part.note("stage") == "ordered" and part.note("holder") == order.id
        for part in (sighting.part for sighting in seen.view.sightings.values())
    )
    whole = _shown_at(order, seen)
    if shown or any(host.order == order.id for host in seen.hosts.values()):
        return evolve(order, missing=None)
    late = whole is not None and whole - order.at >= 2 * seen.traits.settle
    return evolve(order, missing=order.missing or whole) if late else order


def _shown_at(order: Order, seen: Seen) -> datetime | None:
    """Return when the newest complete look at an order's zone began."""
    return seen.view.whole.get((order.offer.zone, seen.traits.hosts))


def _given_up(step: Step, ends: dict[HostId, Ended], seen: Seen) -> Step:
    """End a machine at rest whose host is given up."""
    machine = step.machine
    end = ends.get(machine.host) if machine.host else None
    if end is None or machine.phase is not Phase.RESTING or machine.goal is Goal.PRESENT:
        return step
    if machine.ending is not None or machine.held(seen.now) or machine.id in seen.moving:
        return step
    ending = Ending(at=seen.now, actor=RESIZE, why=end.why, now=True)
    return replace(step, machine=replace(machine, ending=ending))


def _untied(ends: dict[HostId, Ended], seen: Seen) -> Iterator[tuple[HostId, Ended]]:
    tied = frozenset(seen.ties.values())
    for host, end in ends.items():
        record = seen.hosts[host]
        idle = record.condition in _ENDED or _is_of_no_use(record, seen)
        if host not in tied and (idle or _waits_in_pool(record, seen)):
            yield host, end


def _waits_in_pool(host: Host, seen: Seen) -> bool:
    """Tell whether a host waits in the pool for a claim that wipes it: a person put it there."""
    return host.condition is HostCondition.DIRTY and _is_pooled(host, seen)


def _is_pooled(host: Host, seen: Seen) -> bool:
    """Tell whether a host bears a name of the pool, and nothing is done about it."""
    part = seen.view.part(PartId(host.id))
    return host.goal is None and part is not None and part.note("stage") == "pool"


def _retired(host: Host, end: Ended, seen: Seen) -> KeepHost:
    given_up = replace(host, goal=HostGoal.RETIRED)
    return KeepHost(host=given_up.now(HostCondition.RETIRING, seen.now, end.why))


def _orders(many: int, row: FleetRow, seen: Seen) -> tuple[Order, ...]:
    """Return that many orders of the first offer whose zone is known and that is not sold out."""
    for offer in seen.fleet.offers:
        setback = row.setback(offer)
        blocked = setback is not None and seen.now < setback.until
        if zone_is_known(seen, offer) and not blocked:
            return tuple(
                Order(id=_order_id(seen, number), offer=offer, at=seen.now)
                for number in range(many)
            )
    return ()


def _order_id(seen: Seen, number: int) -> MachineId:
    """Return an id that only this turn gives: deciding once more gives the same."""
    text = f"{seen.ours[0]} {seen.fleet.name} {seen.turn} {seen.now.timestamp()} {number}"
    return machine_id(int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big"))
