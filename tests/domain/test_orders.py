"""When hosts are ordered, and how long an order keeps the next one away."""

from dataclasses import replace
from datetime import datetime, timedelta

from hostler.domain.hosts.purchasing import Bought, buy
from hostler.domain.ids import machine_id
from hostler.domain.model.fleet import Order
from hostler.domain.model.host import Free, Host, HostCondition, HostOrigin
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Part
from hostler.domain.model.snapshot import Seen
from hostler.domain.model.transition import Step
from hostler.domain.policy.purchasing import Limits
from hostler.testing.scenes.builders import BEGIN, FLEET, OFFER
from hostler.testing.scenes.hosts import SETTLE, box, fleet_seen, on_host, record

ORDER = Order(id=machine_id(9), offer=OFFER, at=BEGIN)
LATER = BEGIN + timedelta(minutes=1)


def seen(
    *parts: Part,
    now: datetime = LATER,
    looked: datetime | None = None,
    hosts: tuple[Host, ...] = (),
    free: tuple[Free, ...] = (),
) -> Seen:
    """Return what a fleet of one, that may order hosts, sees."""
    found = fleet_seen((waiting(),), parts, now=looked or now, hosts=hosts, free=free)
    return replace(found, now=now, limits=Limits())


def waiting() -> Machine:
    return on_host(Phase.WANTED, host=None, places=(), was_ready=None, since=LATER)


def bought(of: Seen, *orders: Order) -> Bought:
    row = replace(of.row, orders=orders, size=1)
    return buy((), row, of)


def many(of: Seen, *orders: Order) -> int:
    found = bought(of, *orders).order
    return len(found.orders) if found else 0


def test_a_host_is_ordered_where_none_is_free_or_coming() -> None:
    assert many(seen()) == 1
    free = Free(part=box(), offer=OFFER)
    assert many(seen(box(), free=(free,))) == 0
    coming = record(order=ORDER.id, condition=HostCondition.COMING, origin=HostOrigin.ORDERED)
    assert many(seen(box("ordered"), hosts=(coming,)), ORDER) == 0


def after(at: datetime, order: Order, *parts: Part) -> tuple[int, Order]:
    """Return how many are ordered after a look that began then, and the order as it is kept."""
    found = bought(seen(*parts, now=at, looked=at), order)
    return (len(found.order.orders) if found.order else 0), found.row.orders[0]


def test_an_order_counts_until_two_looks_lack_what_they_had_to_show() -> None:
    """One list may lack everything: no other host is bought in its place for that."""
    second = timedelta(seconds=1)
    gap = max(SETTLE, FLEET.timers.absence_gap)
    first = BEGIN + 2 * SETTLE
    assert after(first - second, ORDER) == (0, ORDER), "it may not be shown yet"
    many, order = after(first, ORDER)
    assert (many, order.missing) == (0, first)
    assert after(first + gap - second, order) == (0, order)
    assert after(first + gap, order)[0] == 1
    shown = box("ordered", holder=ORDER.id)
    assert after(first + gap, order, shown) == (0, ORDER), "it came after all"


def test_steps_are_as_they_were_where_nothing_is_given_up() -> None:
    machine = waiting()
    step = Step(before=machine, machine=machine, parts=())
    assert buy((step,), seen().row, seen()).steps == (step,)
