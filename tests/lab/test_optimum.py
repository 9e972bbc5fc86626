"""The optimum against every plan there is, in small cases, and against plans that were replayed."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import combinations
from random import Random

import pytest

from hostler.domain.policy.demand import Demand, demand_of
from hostler.domain.policy.purchasing import Lead
from hostler.lab.backtest.backtest import paid_hours
from hostler.lab.backtest.optimum import best_stays, optimal_paid_hours
from hostler.lab.backtest.replay import replayed

T = datetime(2026, 1, 5, tzinfo=UTC)
H = timedelta(hours=1)
Host = tuple[int, int]
Hosts = tuple[Host, ...]
WORKS = -1


def hourly(wanted: tuple[int, ...]) -> Demand:
    return demand_of([(T + n * H, count) for n, count in enumerate(wanted)], T + len(wanted) * H)


def chosen(hosts: list[Host], places: list[int], count: int) -> Iterator[tuple[int, ...]]:
    """Return the ways to choose hosts that differ in more than in the name."""
    yield from {tuple(hosts[i] for i in c): c for c in combinations(places, count)}.values()


def moves(hosts: Hosts, change: int, wipe: int) -> Iterator[list[Host]]:
    """Return how machines may come and go: whom they leave, whom they take, what is bought."""
    now = list(hosts)
    if change < 0:
        places = [i for i, (_, state) in enumerate(now) if state == WORKS]
        for removed in chosen(now, places, -change):
            yield [(age, wipe if i in removed else s) for i, (age, s) in enumerate(now)]
        return
    free = [i for i, (_, state) in enumerate(now) if state == 0]
    for count in range(min(change, len(free)) + 1):
        for taken in chosen(now, free, count):
            rest = [(age, WORKS if i in taken else s) for i, (age, s) in enumerate(now)]
            yield rest + [(0, WORKS)] * (change - count)


def ends(hosts: list[Host], floor: int) -> Iterator[list[Host]]:
    """Return which hosts may be left; one more may be bought for later."""
    places = [i for i, (age, state) in enumerate(hosts) if state != WORKS and age >= floor]
    for count in range(len(places) + 1):
        for removed in chosen(hosts, places, count):
            remaining = [host for i, host in enumerate(hosts) if i not in removed]
            yield from (remaining, [*remaining, (0, 0)])


def all_plans(wanted: tuple[int, ...], floor: int, wipe: int) -> int:
    """Return the fewest hours that any plan pays, by trying all of them, hour by hour.

    A host is its age and how it stands: at work, free (0), or so many hours before it is wiped.
    """

    @cache
    def least(hour: int, hosts: Hosts) -> int:
        if hour == len(wanted):
            return sum(max(0, floor - age) for age, _ in hosts)
        change = wanted[hour] - (wanted[hour - 1] if hour else 0)
        found = list[int]()
        for moved in moves(hosts, change, wipe):
            for left in ends(moved, floor):
                later = sorted((min(floor, age + 1), max(s - 1, min(s, 0))) for age, s in left)
                found.append(len(left) + least(hour + 1, tuple(later)))
        return min(found)

    return least(0, ())


def small_cases(seed: int, count: int) -> Iterator[tuple[tuple[int, ...], int, int]]:
    dice = Random(seed)
    for _ in range(count):
        wanted, now = list[int](), 0
        for _ in range(dice.randint(3, 8)):
            now = dice.randint(0, 3) if dice.random() < 0.6 else now
            wanted.append(now)
        yield tuple(wanted), dice.choice((3, 4, 5)), dice.choice((0, 1))


@pytest.mark.parametrize("seed", range(4))
def test_no_plan_is_cheaper_than_the_optimum_and_one_is_as_cheap(seed: int) -> None:
    for wanted, floor, wipe in small_cases(seed, 20):
        best = optimal_paid_hours(hourly(wanted), delivery=0 * H, wipe=wipe * H, floor=floor * H)
        assert best == all_plans(wanted, floor, wipe), (wanted, floor, wipe)


def test_where_wipes_follow_closely_the_optimum_is_never_above_the_best_plan() -> None:
    """Hosts are counted, not told apart: then a plan may need more than the count, never less."""
    wanted, floor, wipe = (3, 3, 1, 2, 0, 1, 1, 1), 4, 2
    best = optimal_paid_hours(hourly(wanted), delivery=0 * H, wipe=wipe * H, floor=floor * H)
    assert best < all_plans(wanted, floor, wipe)
    lead = Lead(wipe=wipe * H, floor=floor * H)
    plan = replayed(best_stays(hourly(wanted), lead), hourly(wanted), lead)
    assert paid_hours(plan) >= all_plans(wanted, floor, wipe)


@pytest.mark.parametrize("seed", range(4))
def test_a_replayed_optimum_serves_all_of_the_demand_with_wipes_between(seed: int) -> None:
    for wanted, floor, wipe in small_cases(100 + seed, 20):
        demand, lead = hourly(wanted), Lead(wipe=wipe * H, floor=floor * H)
        plan = replayed(best_stays(demand, lead), demand, lead)
        for life in plan:
            assert life.ended - life.delivered >= lead.floor
            for (_, done), (begun, _) in zip(life.worked, life.worked[1:], strict=False):
                assert begun - done >= lead.wipe
            if life.worked:
                assert life.delivered <= life.worked[0][0]
                assert life.worked[-1][1] <= life.ended
        for hour, count in enumerate(wanted):
            time = T + hour * H
            assert count == sum(a <= time < b for life in plan for a, b in life.worked)


def test_two_days_of_work_are_cheaper_with_the_night_between_than_bought_twice() -> None:
    day = (0,) * 9 + (1,) * 9 + (0,) * 6
    assert optimal_paid_hours(hourly(day * 2), delivery=0 * H) == 33
    assert optimal_paid_hours(hourly(day * 4), delivery=0 * H) == 66
    assert optimal_paid_hours(hourly(day * 5), delivery=0 * H) == 90


def test_what_is_wanted_before_anything_can_be_delivered_is_not_served() -> None:
    demand = hourly((1, 1, 1, 2, 2))
    assert optimal_paid_hours(demand, delivery=4 * H, wipe=0 * H, floor=1 * H) == 2
    assert optimal_paid_hours(demand, delivery=9 * H, wipe=0 * H, floor=1 * H) == 0
