"""When hosts are ordered, and how long an order keeps the next one away."""

from dataclasses import replace
from datetime import datetime, timedelta

from hostler.domain.buying import Limits
from hostler.domain.fleet import Order
from hostler.domain.host import Free, Host, HostCondition, HostOrigin
from hostler.domain.ids import machine_id
from hostler.domain.machine import Machine
from hostler.domain.ordering import Bought, buy
from hostler.domain.parts import Part
from hostler.domain.phases import Phase
from hostler.domain.seen import Seen
from hostler.domain.step import Step
from hostler.testing.hostscene import SETTLE, box, fleet_seen, on_host, record
from hostler.testing.pieces import BEGIN, OFFER

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


def test_an_order_counts_until_looks_had_time_to_show_its_host() -> None:
    """One that no look shows twice settle after it is lost: another takes its place."""
    second = timedelta(seconds=1)
    lost = BEGIN + 2 * SETTLE
    assert many(seen(now=lost - second, looked=lost - second), ORDER) == 0
    assert many(seen(now=lost, looked=lost), ORDER) == 1
    shown = box("ordered", holder=ORDER.id)
    assert many(seen(shown, now=lost, looked=lost), ORDER) == 0


def test_steps_are_as_they_were_where_nothing_is_given_up() -> None:
    machine = waiting()
    step = Step(before=machine, machine=machine, parts=())
    assert buy((step,), seen().row, seen()).steps == (step,)
