"""What becomes of a host that was ordered: taken, mended, or given up."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.hosts import delivery
from hostler.domain.hosts.delivery import LONGEST, came, copies
from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.hosts.purchasing import is_paid
from hostler.domain.ids import HostId
from hostler.domain.model.host import Host, HostCondition, HostGoal, HostOrigin, ReleasePolicy
from hostler.domain.model.resource import Condition, Resource
from hostler.testing.scenes.builders import BEGIN
from hostler.testing.scenes.hosts import (
    BOX,
    HIS,
    MINE,
    account_snapshot,
    box,
    hosts_snapshot,
    record,
)

COMING = record(condition=HostCondition.COMING, origin=HostOrigin.ORDERED, order=MINE)
MINUTE = timedelta(minutes=1)
ORDERS = {MINE: BEGIN}
OLD = BEGIN - timedelta(days=7)


def delivered(host: Host, resource: Resource, now: datetime, jumped: datetime | None) -> Host:
    """Return the record once a look shows this, its order on record."""
    snapshot = hosts_snapshot(host, resource, now=now)
    return delivery.delivered(host, resource, replace(snapshot, jumped=jumped, orders=ORDERS))


def test_a_host_that_was_ordered_is_free_and_clean_when_it_is_delivered() -> None:
    host = delivered(COMING, box("ordered", delivered=True), BEGIN + MINUTE, None)
    assert host.condition is HostCondition.FREE
    assert (host.cleaning.wiped, host.purchase.delivered) == (BEGIN + MINUTE, BEGIN + MINUTE)


def test_one_that_is_handed_over_in_error_is_paid_for_and_wiped() -> None:
    failed = box("ordered", Condition.FAILED, delivered=True)
    host = delivered(COMING, failed, BEGIN + MINUTE, None)
    assert (host.condition, host.goal) == (HostCondition.DIRTY, HostGoal.CLEAN)
    assert host.purchase.delivered == BEGIN + MINUTE
    assert host.cleaning.wiped is None


@pytest.mark.parametrize("condition", [Condition.LOCKED, Condition.UNKNOWN, Condition.BUSY])
def test_one_that_is_delivered_and_barred_is_paid_for_and_no_order_any_more(
    condition: Condition,
) -> None:
    """It was on its way for ever: in no bill, and no other was ordered in its place."""
    barred = box("ordered", condition, delivered=True)
    assert delivered(COMING, barred, BEGIN + LONGEST - MINUTE, None) == COMING
    host = delivered(COMING, barred, BEGIN + LONGEST, None)
    assert (host.condition, host.goal) == (HostCondition.DIRTY, HostGoal.CLEAN)
    assert host.purchase.delivered == BEGIN + LONGEST
    now = BEGIN + 2 * LONGEST
    assert delivered(COMING, barred, now, now - MINUTE) == COMING, "a clock jumped"


def test_one_that_is_not_delivered_is_waited_for_a_while_and_then_given_up() -> None:
    starting = box("ordered", Condition.STARTING)
    assert delivered(COMING, starting, BEGIN + LONGEST - MINUTE, None) == COMING
    host = delivered(COMING, starting, BEGIN + LONGEST, None)
    assert (host.condition, host.goal) == (HostCondition.RETIRING, HostGoal.RETIRED)


def test_a_clock_that_jumped_gives_no_host_up() -> None:
    starting = box("ordered", Condition.STARTING)
    now = BEGIN + 2 * LONGEST
    assert delivered(COMING, starting, now, now - MINUTE) == COMING
    assert delivered(COMING, starting, now, now - LONGEST) != COMING


def test_one_that_is_given_up_is_paid_for_until_it_is_gone_whether_or_not_it_came() -> None:
    """It is paid for since it was ordered (seed 5033090), and the provider counts it too."""
    given_up = record(
        condition=HostCondition.RETIRING, goal=HostGoal.RETIRED, origin=HostOrigin.ORDERED
    )
    assert is_paid(given_up)
    assert not is_paid(replace(given_up, condition=HostCondition.COMING)), "it is an order still"
    assert not is_paid(replace(given_up, condition=HostCondition.ABSENT))
    (waits,) = decide_hosts(hosts_snapshot(given_up, box("retiring")))
    assert (waits.host.purchase.delivered, is_paid(waits.host)) == (None, True)
    (came,) = decide_hosts(hosts_snapshot(given_up, box("retiring", delivered=True)))
    assert (came.host.purchase.delivered, came.host.condition) == (BEGIN, HostCondition.RETIRING)
    assert is_paid(came.host)


def test_one_that_somebody_keeps_before_it_came_is_paid_for_from_when_it_does() -> None:
    """It was given up, and put into the pool by hand: on no bill, and no more counted (183000179).

    What is awaited is not told so: it becomes free when it is delivered.
    """
    pooled = record(
        condition=HostCondition.DIRTY, origin=HostOrigin.ORDERED, policy=ReleasePolicy.KEEP
    )
    assert is_paid(pooled)
    (waits,) = decide_hosts(hosts_snapshot(pooled, box("pool")))
    assert waits.host.purchase.delivered is None
    for held in (pooled, replace(pooled, condition=HostCondition.QUARANTINED)):
        (came,) = decide_hosts(hosts_snapshot(held, box("pool", delivered=True)))
        assert came.host.purchase.delivered == BEGIN
    (awaited,) = decide_hosts(
        hosts_snapshot(COMING, box("ordered", Condition.BUSY, delivered=True))
    )
    assert awaited.host.purchase.delivered is None


def named(host: HostId = BOX, created: datetime | None = BEGIN) -> Resource:
    """Return a host that bears the name of our order."""
    return replace(box("ordered", holder=MINE), id=host, created=created)


def sorted_out(
    *resources: Resource, hosts: tuple[Host, ...] = (), known: bool = True
) -> tuple[set[str], set[str]]:
    """Return which hosts without a record came by our order, and which bear its name beside."""
    account = account_snapshot(resources, hosts, orders=ORDERS if known else {})
    return {p.id for p in came(account)}, {p.id for p in copies(account)}


OTHER = HostId("other")


def test_a_host_that_is_older_than_the_order_whose_name_it_bears_was_not_ordered() -> None:
    """A person copied that name: what is given up later must never be a host of theirs."""
    assert sorted_out(named(), named(OTHER, OLD)) == ({BOX}, {OTHER})
    assert sorted_out(named(OTHER, OLD)) == (set(), {OTHER})
    clocks_apart = BEGIN - MINUTE
    assert sorted_out(named(created=clocks_apart)) == ({BOX}, set())


def test_a_host_that_was_bought_just_before_is_not_the_one_that_was_ordered() -> None:
    """Clocks may be apart, but not from one host to the next."""
    just_before = named(OTHER, BEGIN - MINUTE)
    assert sorted_out(just_before) == ({OTHER}, set()), "it may be ours, by a slow clock"
    assert sorted_out(named(), just_before) == ({BOX}, {OTHER})
    assert sorted_out(just_before, hosts=(COMING,)) == (set(), {OTHER})
    both = named(created=BEGIN - MINUTE), just_before
    assert sorted_out(*both) == ({BOX, OTHER}, set())


def test_a_host_of_the_pool_that_is_given_up_was_not_delivered() -> None:
    pooled = record(condition=HostCondition.RETIRING, goal=HostGoal.RETIRED)
    (step,) = decide_hosts(hosts_snapshot(pooled, box("retiring", delivered=True)))
    assert step.host.purchase.delivered is None


def test_a_host_that_was_bought_later_is_no_second_one_of_an_order_that_was_delivered() -> None:
    """A person copied that name: the provider doubles an order at once, or never."""
    later = named(OTHER, BEGIN + 60 * MINUTE)
    assert sorted_out(later, hosts=(COMING,)) == (set(), {OTHER})
    assert sorted_out(later) == ({OTHER}, set()), "it may be an order that came late"


def test_an_order_that_the_provider_doubled_is_two_hosts() -> None:
    assert sorted_out(named(), named(OTHER)) == ({BOX, OTHER}, set())
    assert sorted_out(named(OTHER), hosts=(COMING,)) == ({OTHER}, set())


@pytest.mark.parametrize("known", [True, False])
def test_without_the_order_or_an_age_a_name_is_proof_while_one_host_alone_ever_bore_it(
    *, known: bool
) -> None:
    created = None if known else BEGIN
    one, two = named(created=created), named(OTHER, created)
    assert sorted_out(one, known=known) == ({BOX}, set())
    assert sorted_out(one, two, known=known) == (set(), {BOX, OTHER})
    assert sorted_out(two, hosts=(COMING,), known=known) == (set(), {OTHER})


@pytest.mark.parametrize(("stage", "order"), [("pool", MINE), ("parked", MINE), ("ordered", HIS)])
def test_what_may_have_been_used_before_it_was_seen_delivered_is_not_clean(
    stage: str, order: str
) -> None:
    host = delivered(COMING.with_purchase(order=order), box(stage, delivered=True), BEGIN, None)
    assert (host.condition, host.cleaning.wiped) == (HostCondition.DIRTY, None)
    assert host.purchase.delivered == BEGIN
