"""Which machines rest on hosts that are paid for anyway, and which of them come back first."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.hosts.parking import (
    WORTH,
    is_overdue,
    is_paid,
    may_move,
    paid_left,
    wakes,
    woken,
)
from hostler.domain.ids import HostId, machine_id
from hostler.domain.model.host import Free, Host, HostOrigin, ReleasePolicy
from hostler.domain.model.machine import Deletion, Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition
from hostler.domain.policy.purchasing import Limits
from hostler.testing.scenes.builders import BEGIN, OFFER
from hostler.testing.scenes.hosts import box, fleet_snapshot, on_host, record

HOUR = timedelta(hours=1)
PAID = record(origin=HostOrigin.ORDERED, paid_until=BEGIN + WORTH)


LIMITS = Limits()


def snapshot(*hosts: Host, limits: Limits | None = LIMITS) -> Snapshot:
    return replace(fleet_snapshot((), hosts=hosts), limits=limits)


def transition(machine: Machine) -> Transition:
    return Transition(before=machine, machine=machine, resources=())


@pytest.mark.parametrize(
    ("host", "paid"),
    [
        (PAID, True),
        (PAID.with_purchase(paid_until=BEGIN + WORTH - timedelta(seconds=1)), False),
        (PAID.with_purchase(paid_until=None), False),
        (PAID.with_purchase(origin=HostOrigin.POOL), False),
        (PAID.with_purchase(policy=ReleasePolicy.TERMINATE), False),
        (PAID.with_purchase(policy=ReleasePolicy.KEEP), False),
    ],
)
def test_a_machine_rests_where_enough_of_its_window_is_left(host: Host, *, paid: bool) -> None:
    """Not where somebody said what becomes of the host, nor on one that costs us nothing."""
    assert is_paid(transition(on_host()), snapshot(host)) is paid
    assert not is_paid(transition(on_host(Phase.STARTING)), snapshot(host))


def test_nothing_is_parked_where_nobody_would_end_it() -> None:
    assert not is_paid(transition(on_host()), snapshot(PAID, limits=None))


def resting(number: int, left: timedelta) -> tuple[Transition, Host]:
    host = replace(PAID.with_purchase(paid_until=BEGIN + left), id=HostId(f"host-{number}"))
    machine = on_host(Phase.STANDBY, machine_id(number), host=host.id, goal=Goal.STANDBY)
    return transition(replace(machine, serial=number)), host


def test_what_is_due_goes_first_then_the_pools_then_what_is_paid_for_long() -> None:
    pool = PAID.with_purchase(origin=HostOrigin.POOL)
    hosts = [PAID.with_purchase(paid_until=BEGIN + left) for left in (-HOUR, HOUR, 9 * HOUR)]
    lefts = [
        paid_left(transition(on_host()), snapshot(host)) for host in (hosts[0], pool, *hosts[1:])
    ]
    assert lefts == [0.0, 1.0, 2.0, 10.0]
    assert sorted(lefts) == lefts


def test_as_many_come_back_as_are_missing_the_longest_paid_first() -> None:
    found = [resting(1, HOUR), resting(2, 9 * HOUR), resting(3, 5 * HOUR)]
    all_ = snapshot(*(host for _, host in found))
    transitions = tuple(entry for entry, _ in found)

    def back(missing: int, *of: Transition) -> list[int]:
        goes = woken(of or transitions, missing, all_)
        return [entry.machine.serial for entry in goes if entry.machine.goal is Goal.PRESENT]

    assert (back(0), back(1), back(2), back(9)) == ([], [2], [2, 3], [1, 2, 3])
    waking = replace(transitions[0], machine=replace(transitions[0].machine, goal=Goal.PRESENT))
    assert back(1, waking, *transitions[1:]) == [1], "one is on its way already"
    assert back(2, waking, *transitions[1:]) == [1, 2]


def test_one_that_is_to_end_comes_back_for_nobody() -> None:
    (entry, _) = resting(1, HOUR)
    back = replace(entry.machine, goal=Goal.PRESENT)
    assert wakes(transition(back))
    assert not wakes(entry)
    ends = replace(back, deletion=Deletion(at=BEGIN, actor="ann", why="x"))
    assert not wakes(transition(ends)), "another one is made at once, or it is said why not"


DUE = PAID.with_purchase(paid_until=BEGIN)
FREE = Free(resource=box(host=HostId("host-2")), offer=OFFER, clean=True)


@pytest.mark.parametrize(
    ("host", "overdue"),
    [
        (DUE, True),
        (PAID, False),
        (DUE.with_purchase(policy=ReleasePolicy.KEEP), False),
        (DUE.with_purchase(origin=HostOrigin.POOL), False),
    ],
)
def test_a_machine_moves_to_a_free_host_of_the_pool_once_its_window_is_over(
    host: Host, *, overdue: bool
) -> None:
    known = replace(snapshot(host), free=(FREE,))
    assert is_overdue(transition(on_host()), known) is overdue
    assert may_move(transition(on_host()), known) is overdue
    assert not may_move(transition(on_host()), replace(known, free=())), "it is needed"
    others = replace(known.fleet, renews=False)
    assert not may_move(transition(on_host()), replace(known, fleet=others))


def test_a_machine_does_not_move_to_another_host_that_was_ordered() -> None:
    bought = replace(FREE, record=replace(DUE, id=HostId("host-2")))
    assert not may_move(transition(on_host()), replace(snapshot(DUE), free=(bought, FREE)))


def test_it_goes_on_moving_while_its_successor_is_on_the_way() -> None:
    """Its successor took the free host: were that no reason any more, it would be shed again."""
    successor = on_host(Phase.STARTING, machine_id(2), host=HostId("host-2"))
    pooled = replace(record(), id=HostId("host-2"))
    known = replace(snapshot(DUE, pooled), machines=(on_host(), successor))
    assert may_move(transition(on_host()), known)


def test_a_machine_that_was_wanted_in_any_case_is_no_successor() -> None:
    """One more was made for it, and shed in the next cycle (Macs 115900033)."""
    other = on_host(Phase.STARTING, machine_id(2), host=HostId("host-2"))
    pooled = replace(record(), id=HostId("host-2"))
    known = replace(snapshot(DUE, pooled), machines=(on_host(), other))
    both = replace(known, fleet=replace(known.fleet, size=2))
    assert not may_move(transition(on_host()), both)
    assert may_move(transition(on_host()), replace(both, free=(FREE,)))


def test_it_goes_on_moving_when_a_host_is_delivered_before_its_successor_has_one() -> None:
    """Were only the first in line counted, the successor would be shed, and made anew (2321)."""
    bought = replace(FREE, record=replace(PAID, id=HostId("host-3")))
    waits = [replace(on_host(Phase.PENDING, machine_id(number)), host=None) for number in (2, 3)]
    known = replace(snapshot(DUE), machines=(on_host(), *waits), free=(bought, FREE))
    assert may_move(transition(on_host()), known)
    assert may_move(transition(on_host()), replace(known, machines=(on_host(), waits[0])))
    assert not may_move(transition(on_host()), replace(known, machines=(on_host(),)))
    assert not may_move(transition(on_host()), replace(known, free=(bought, bought)))
