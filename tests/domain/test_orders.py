"""When hosts are ordered, and how long an order keeps the next one away."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from hostler.domain.hosts.purchasing import Bought, buy
from hostler.domain.ids import machine_id
from hostler.domain.model.fleet import Order, Sized
from hostler.domain.model.host import Free, Host, HostCondition, HostOrigin
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Resource
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition
from hostler.domain.policy.purchasing import Limits
from hostler.testing.scenes.builders import BEGIN, FLEET, OFFER
from hostler.testing.scenes.hosts import CONSISTENCY_DELAY, box, fleet_snapshot, on_host, record

ORDER = Order(id=machine_id(9), offer=OFFER, at=BEGIN)
LATER = BEGIN + timedelta(minutes=1)


def snapshot(
    *resources: Resource,
    now: datetime = LATER,
    observed: datetime | None = None,
    hosts: tuple[Host, ...] = (),
    free: tuple[Free, ...] = (),
) -> Snapshot:
    """Return what a fleet of one, that may order hosts, sees."""
    found = fleet_snapshot((waiting(),), resources, now=observed or now, hosts=hosts, free=free)
    return replace(found, now=now, limits=Limits())


def waiting() -> Machine:
    return on_host(Phase.PENDING, host=None, places=(), was_ready=None, since=LATER)


def bought(of: Snapshot, *orders: Order) -> Bought:
    row = replace(of.row, orders=orders, size=1)
    return buy((), row, of)


def many(of: Snapshot, *orders: Order) -> int:
    found = bought(of, *orders).order
    return len(found.orders) if found else 0


def test_a_host_is_ordered_where_none_is_free_or_coming() -> None:
    assert many(snapshot()) == 1
    free = Free(resource=box(), offer=OFFER)
    assert many(snapshot(box(), free=(free,))) == 0
    coming = record(order=ORDER.id, condition=HostCondition.COMING, origin=HostOrigin.ORDERED)
    assert many(snapshot(box("ordered"), hosts=(coming,)), ORDER) == 0


def test_a_host_is_ordered_for_a_size_that_was_asked_for_long_enough_ago() -> None:
    """Machines 2 and 3 are asked for since the second size, the fourth since the last one."""
    minute = timedelta(minutes=1)
    sizes = tuple(
        Sized(at=LATER - before * minute, size=size)
        for before, size in ((60, 1), (20, 4), (15, 3), (5, 4))
    )
    of = snapshot()
    for patience, order, due in ((4, 4, None), (10, 3, 5), (30, 1, 10), (90, 0, 30)):
        limits = Limits(patience=patience * minute)
        row = replace(of.row, size=4, sizes=sizes)
        found = buy((), row, replace(of, limits=limits))
        assert len(found.order.orders if found.order else ()) == order
        assert found.due == (None if due is None else LATER + due * minute)
        assert bool(found.limit) == (order == 0)


def after(at: datetime, order: Order, *resources: Resource) -> tuple[int, Order]:
    """Return how many are ordered after a look that began then, and the order as it is kept."""
    found = bought(snapshot(*resources, now=at, observed=at), order)
    return (len(found.order.orders) if found.order else 0), found.row.orders[0]


def test_an_order_counts_until_two_observations_lack_what_they_had_to_show() -> None:
    """One list may lack everything: no other host is bought in its place for that."""
    second = timedelta(seconds=1)
    gap = max(CONSISTENCY_DELAY, FLEET.timers.absence_gap)
    first = BEGIN + 2 * CONSISTENCY_DELAY
    assert after(first - second, ORDER) == (0, ORDER), "it may not be shown yet"
    many, order = after(first, ORDER)
    assert (many, order.missing) == (0, first)
    assert after(first + gap - second, order) == (0, order)
    assert after(first + gap, order)[0] == 1
    observed_at = box("ordered", holder=ORDER.id)
    assert after(first + gap, order, observed_at) == (0, ORDER), "it came after all"


def test_steps_are_as_they_were_where_nothing_is_given_up() -> None:
    machine = waiting()
    transition = Transition(before=machine, machine=machine, resources=())
    assert buy((transition,), snapshot().row, snapshot()).transitions == (transition,)


def test_orders_on_the_row_stay_as_many_as_they_are() -> None:
    other = replace(ORDER, id=machine_id(8))
    assert bought(snapshot(), ORDER, other).row.orders == (ORDER, other)
