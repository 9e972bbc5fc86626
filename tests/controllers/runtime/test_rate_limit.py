"""The budget: rate, burst, who goes first, what looks keep, and what *too many* means."""

import asyncio
from collections import Counter

import pytest

from hostler.controllers.runtime.rate_limit import OBSERVATIONS_SHARE, Budget, Priority
from hostler.testing.scenes.builders import S

pytestmark = pytest.mark.looptime


def now() -> float:
    return asyncio.get_running_loop().time()


async def emptied(rate: float = 10.0, burst: float = 20.0) -> Budget:
    """Return a budget whose burst is spent."""
    budget = Budget(rate, burst)
    for _ in range(int(burst * (1 - OBSERVATIONS_SHARE))):
        await budget.take(Priority.MAKE)
    for _ in range(int(burst * OBSERVATIONS_SHARE)):
        await budget.take(Priority.OBSERVE)
    return budget


async def timed(budget: Budget, *priorities: Priority) -> list[tuple[Priority, float]]:
    """Ask for all of these at once; return them as they were granted, with the seconds waited."""
    granted, begun = list[tuple[Priority, float]](), now()

    async def one(priority: Priority) -> None:
        await budget.take(priority)
        granted.append((priority, now() - begun))

    async with asyncio.TaskGroup() as group:
        for priority in priorities:
            group.create_task(one(priority))
    return granted


async def test_burst_goes_at_once() -> None:
    budget, begun = Budget(10.0, 20.0), now()
    await emptied()
    assert now() == begun
    await timed(budget, *[Priority.MAKE] * 16)
    assert now() == begun


async def test_rate_holds_beyond_the_burst() -> None:
    budget = await emptied()
    begun = now()
    await timed(budget, *[Priority.MAKE] * 80, *[Priority.OBSERVE] * 20)
    assert now() - begun == pytest.approx(10.0, abs=0.5)


async def test_no_stretch_of_a_crowded_time_has_more_than_the_rate_and_one_burst() -> None:
    budget, granted, pages = Budget(10.0, 20.0), list[tuple[float, int]](), 11

    async def demand(priority: Priority, cost: int, pause: float) -> None:
        while now() < 300:
            await budget.take(priority, cost)
            granted.append((now(), cost))
            await asyncio.sleep(pause)

    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(demand(Priority.GO_ON, 1, 0.5))
        group.create_task(demand(Priority.MAKE, 1, 0.1))
        group.create_task(demand(Priority.OBSERVE, pages, 7.0))
    assert sum(cost for _, cost in granted) > 0.98 * 10.0 * 300
    for place, (begun, _) in enumerate(granted):
        total = 0
        for at, cost in granted[place:]:
            total += cost
            assert total <= 10.0 * (at - begun) + 20.0 + pages


async def test_it_is_crowded_while_makers_wait_and_for_a_lull_after_that() -> None:
    budget, lull = await emptied(), 15 * S
    assert not budget.is_crowded(lull), "nobody ever waited when this was asked"
    async with asyncio.TaskGroup() as group:
        group.create_task(budget.take(Priority.MAKE))
        await asyncio.sleep(0)
        assert budget.is_crowded()
    assert not budget.is_crowded()
    await asyncio.sleep(14)
    assert budget.is_crowded(lull)
    await asyncio.sleep(1)
    assert not budget.is_crowded(lull)


async def test_it_is_not_crowded_once_something_that_removes_waits() -> None:
    budget = await emptied()
    async with asyncio.TaskGroup() as group:
        for priority in (Priority.MAKE, Priority.CLEAN):
            group.create_task(budget.take(priority))
        await asyncio.sleep(0)
        assert not budget.is_crowded(15 * S)
    assert not budget.is_crowded(15 * S)


async def test_idle_time_saves_up_one_burst_and_no_more() -> None:
    budget = await emptied()
    await asyncio.sleep(3600)
    granted = await timed(budget, *[Priority.MAKE] * 40)
    assert sum(waited == 0 for _, waited in granted) == 20


async def test_cleaning_goes_before_making() -> None:
    budget = await emptied()
    granted = await timed(budget, *[Priority.MAKE] * 5, *[Priority.CLEAN] * 5)
    assert [priority for priority, _ in granted] == [Priority.CLEAN] * 5 + [Priority.MAKE] * 5


async def test_what_was_begun_goes_before_anything_new() -> None:
    budget = await emptied()
    granted = await timed(budget, *[Priority.MAKE] * 5, *[Priority.GO_ON] * 5)
    assert [priority for priority, _ in granted] == [Priority.GO_ON] * 5 + [Priority.MAKE] * 5


async def test_proofs_go_after_what_was_begun_and_before_anything_new() -> None:
    budget = await emptied()
    await budget.take(Priority.OBSERVE, 20)  # more than observations had put by
    some = [Priority.MAKE] * 5 + [Priority.PROVE] + [Priority.GO_ON] * 5
    granted = [priority for priority, _ in await timed(budget, *some)]
    assert granted == [*[Priority.GO_ON] * 5, Priority.PROVE, *[Priority.MAKE] * 5]


async def test_proofs_take_all_that_is_free_while_new_machines_wait() -> None:
    budget = await emptied()
    granted = await timed(budget, *[Priority.MAKE] * 50, *[Priority.PROVE] * 50)
    last = max(waited for priority, waited in granted if priority is Priority.PROVE)
    assert last == pytest.approx(5.0, abs=0.5)


async def test_first_come_of_one_priority_is_first_served() -> None:
    budget, order = await emptied(), list[int]()

    async def one(number: int) -> None:
        await budget.take(Priority.MAKE)
        order.append(number)

    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(one(number))
    assert order == list(range(20))


async def test_observations_keep_a_fifth_in_a_storm_of_calls() -> None:
    budget = await emptied()
    storm = [Priority.CLEAN] * 200 + [Priority.OBSERVE] * 40
    granted = await timed(budget, *storm)
    for limit in (5.0, 10.0, 15.0):
        kinds = Counter(priority for priority, waited in granted if waited <= limit)
        share = kinds[Priority.OBSERVE] / kinds.total()
        assert share == pytest.approx(OBSERVATIONS_SHARE, abs=0.03)


async def test_observations_take_what_nobody_else_wants() -> None:
    budget = await emptied()
    begun = now()
    await timed(budget, *[Priority.OBSERVE] * 50)
    assert now() - begun == pytest.approx(5.0, abs=0.5)


async def test_big_observation_leaves_a_debt_of_its_size() -> None:
    budget = await emptied()
    await asyncio.sleep(1)
    await budget.take(Priority.OBSERVE, 20)
    begun = now()
    await timed(budget, *[Priority.OBSERVE] * 200)
    assert now() - begun == pytest.approx((20 + 200 - 10) / 10.0, abs=0.6)


async def test_too_many_with_a_date_stops_everything_until_then() -> None:
    budget = Budget(10.0, 20.0)
    budget.refused(7 * S)
    granted = await timed(budget, Priority.CLEAN, Priority.MAKE, Priority.OBSERVE)
    assert all(waited == pytest.approx(7.0, abs=0.2) for _, waited in granted)


async def test_date_far_away_is_not_believed_for_longer_than_two_minutes() -> None:
    budget = Budget(10.0, 20.0)
    budget.refused(3600 * S)
    granted = await timed(budget, Priority.CLEAN)
    assert granted[0][1] == pytest.approx(120.0, abs=0.2)


async def test_too_many_without_a_date_stops_for_longer_each_time() -> None:
    budget, waits = Budget(10.0, 20.0), list[int]()
    for _ in range(7):
        budget.refused(None)
        granted = await timed(budget, Priority.MAKE)
        waits.append(round(granted[0][1]))
    assert waits == [1, 2, 4, 8, 16, 30, 30]
    budget.accepted()
    budget.refused(None)
    granted = await timed(budget, Priority.MAKE)
    assert round(granted[0][1]) == 1


async def test_answers_to_calls_sent_together_are_one_strike() -> None:
    budget = Budget(10.0, 20.0)
    for _ in range(20):
        budget.refused(None)
    granted = await timed(budget, Priority.MAKE)
    assert round(granted[0][1]) == 1


async def test_after_too_many_there_is_no_burst() -> None:
    budget = Budget(10.0, 20.0)
    budget.refused(None)
    granted = await timed(budget, *[Priority.MAKE] * 21)
    assert granted[-1][1] > 1.5


async def test_who_gave_up_waiting_takes_nothing() -> None:
    budget = await emptied(rate=1.0, burst=5.0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await budget.take(Priority.OBSERVE, 1000)
    begun = now()
    await timed(budget, Priority.OBSERVE)
    assert now() - begun < 6.0
