"""What becomes of a host that was ordered: taken, mended, or given up."""

from datetime import timedelta

from hostler.domain.deliveries import LONGEST, delivered
from hostler.domain.host import HostCondition, HostGoal, HostOrigin
from hostler.domain.hosting import decide_hosts
from hostler.domain.ordering import is_paid
from hostler.domain.parts import Condition
from hostler.testing.hostscene import box, hosts_seen, record
from hostler.testing.pieces import BEGIN

COMING = record(condition=HostCondition.COMING, origin=HostOrigin.ORDERED)
MINUTE = timedelta(minutes=1)


def test_a_host_that_was_ordered_is_free_and_clean_when_it_is_delivered() -> None:
    host = delivered(COMING, box("ordered", delivered="yes"), BEGIN + MINUTE, None)
    assert host.condition is HostCondition.FREE
    assert (host.wiped, host.delivered) == (BEGIN + MINUTE, BEGIN + MINUTE)


def test_one_that_is_handed_over_in_error_is_paid_for_and_wiped() -> None:
    failed = box("ordered", Condition.FAILED, delivered="yes")
    host = delivered(COMING, failed, BEGIN + MINUTE, None)
    assert (host.condition, host.goal) == (HostCondition.DIRTY, HostGoal.WIPED)
    assert host.delivered == BEGIN + MINUTE
    assert host.wiped is None


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


def test_one_that_is_delivered_and_busy_is_waited_for_whatever_the_time() -> None:
    busy = box("ordered", Condition.BUSY, delivered="yes")
    assert delivered(COMING, busy, BEGIN + 9 * LONGEST, None) == COMING


def test_one_that_came_when_it_was_given_up_is_paid_for_until_it_is_gone() -> None:
    """The provider counts it too: nothing is ordered beyond what may stand."""
    given_up = record(
        condition=HostCondition.RETIRING, goal=HostGoal.RETIRED, origin=HostOrigin.ORDERED
    )
    assert not is_paid(given_up)
    (waits,) = decide_hosts(hosts_seen(given_up, box("retiring")))
    assert not is_paid(waits.host)
    (came,) = decide_hosts(hosts_seen(given_up, box("retiring", delivered="yes")))
    assert (came.host.delivered, came.host.condition) == (BEGIN, HostCondition.RETIRING)
    assert is_paid(came.host)
