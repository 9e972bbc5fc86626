"""Which bought hosts a fleet gives up beside a pool: what the pool serves was never bought."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.hosts.purchasing import Bought, buy
from hostler.domain.ids import HostId, machine_id
from hostler.domain.model.fleet import Sized
from hostler.domain.model.host import Free, Host, HostCondition, HostOrigin
from hostler.domain.model.machine import Machine
from hostler.domain.model.transition import Transition
from hostler.domain.policy.purchasing import Limits
from hostler.testing.scenes.builders import BEGIN, OFFER, WEB
from hostler.testing.scenes.hosts import BOX, box, fleet_snapshot, on_host, record

H = timedelta(hours=1)
D = timedelta(days=1)
MONDAY = BEGIN - timedelta(days=BEGIN.weekday(), hours=BEGIN.hour, minutes=BEGIN.minute)
NOW = MONDAY + 10 * D + 8 * H


def workdays(night: int) -> Iterator[Sized]:
    """Yield sizes: three machines from nine to six, fewer at other times."""
    for day in range(11):
        for hour, size in ((0, night), (9, 3), (18, night)):
            if (at := MONDAY + day * D + hour * H) <= NOW:
                yield Sized(at=at, size=size)


def pooled(number: int) -> Machine:
    return on_host(machine=machine_id(number), serial=number, host=HostId(f"pool-{number}"))


def ordered(host: HostId, condition: HostCondition) -> Host:
    """Return a host that we bought, and whose window is over."""
    return record(
        id=host,
        origin=HostOrigin.ORDERED,
        fleet=WEB,
        condition=condition,
        delivered=NOW - 30 * H,
        paid_until=NOW - 6 * H,
        since=NOW - 9 * H,
    )


def bought(machines: tuple[Machine, ...], *others: Host, free: int = 0, night: int = 2) -> Bought:
    """Return what is decided with these machines, free hosts in the pool, and a free one of ours.

    The fleet has the size that it has, and the window of our host is over.
    """
    ours = ordered(BOX, HostCondition.FREE)
    mine = Free(resource=box(), offer=OFFER, record=ours)
    frees = (mine, *(free_host("spare-1"),) * free)
    snapshot = fleet_snapshot(machines, now=NOW, hosts=(ours, *others), free=frees)
    row = replace(snapshot.row, size=len(machines), sizes=tuple(workdays(night)))
    transitions = tuple(Transition(before=m, machine=m, resources=()) for m in machines)
    return buy(transitions, row, replace(snapshot, limits=Limits()))


def free_host(name: str) -> Free:
    return Free(resource=box(host=HostId(name)), offer=OFFER)


def given_up(found: Bought) -> list[HostId]:
    hosts: list[Host] = [keep.host for keep in found.keeps]
    return [host.id for host in hosts if host.condition is HostCondition.RETIRING]


def test_a_host_whose_window_is_over_is_kept_for_what_the_pool_cannot_serve_soon() -> None:
    assert given_up(bought((pooled(1), pooled(2)))) == []


@pytest.mark.parametrize(("machines", "free"), [(2, 1), (3, 0)])
def test_a_host_is_given_up_where_the_pool_serves_what_is_to_come(machines: int, free: int) -> None:
    at_work = tuple(pooled(n) for n in range(1, machines + 1))
    assert given_up(bought(at_work, free=free)) == [BOX]


def test_a_machine_on_a_host_that_was_bought_is_not_served_by_the_pool() -> None:
    other = HostId("host-2")
    at_work = (pooled(1), on_host(machine=machine_id(2), serial=2, host=other))
    held = ordered(other, HostCondition.ALLOCATED)
    assert given_up(bought(at_work, held, night=1)) == []


def test_where_hosts_may_be_ordered_the_demand_is_remembered() -> None:
    assert bought(tuple(pooled(n) for n in (1, 2, 3))).row.sizes[-1] == Sized(at=NOW, size=3)
