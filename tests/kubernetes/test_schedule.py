"""The laws of the queue: pure over any sequence of steps, and with workers in simulated time."""

import asyncio
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostler.kubernetes.backoff import Backoff
from hostler.kubernetes.queue import ShutDown, WorkQueue
from hostler.kubernetes.schedule import Limits, Schedule
from hostler.testing.time.clock import SimClock

KEYS = st.sampled_from("abc")
STEPS = st.one_of(
    st.tuples(st.just("add"), KEYS, st.just(0)),
    st.tuples(st.just("after"), KEYS, st.integers(0, 50)),
    st.tuples(st.just("failed"), KEYS, st.just(0)),
    st.tuples(st.just("take"), st.just(""), st.just(0)),
    st.tuples(st.just("done"), KEYS, st.just(0)),
    st.tuples(st.just("pass"), st.just(""), st.integers(1, 40)),
)


@given(st.lists(STEPS, max_size=60))
def test_no_key_is_lost_doubled_or_active_twice(steps: list[tuple[str, str, int]]) -> None:
    schedule, now = Schedule[str](), 0.0
    active, wanted = set[str](), set[str]()
    for step, key, number in steps:
        if step == "add":
            schedule.add(key)
            wanted.add(key)
        elif step == "after":
            schedule.add_after(key, timedelta(seconds=number), now)
            wanted.add(key)
        elif step == "failed":
            schedule.add_failed(key, now)
            wanted.add(key)
        elif step == "done" and key in active:
            schedule.done(key)
            active.discard(key)
        elif step == "pass":
            now += number
        elif step == "take" and (taken := schedule.take(now)) is not None:
            assert taken not in active
            assert taken in wanted
            active.add(taken)
            wanted.discard(taken)
    for key in active:
        schedule.done(key)
    drained = list[str]()
    while (taken := schedule.take(now + 10_000)) is not None:
        drained.append(taken)
        schedule.done(taken)
    assert sorted(drained) == sorted(wanted)
    assert schedule.idle


@given(st.lists(st.integers(1, 100), min_size=1, max_size=10))
def test_the_earliest_of_several_dates_holds(delays: list[int]) -> None:
    schedule = Schedule[str]()
    for delay in delays:
        schedule.add_after("a", timedelta(seconds=delay), 0.0)
    assert schedule.next_due() == min(delays)
    assert schedule.take(min(delays) - 0.5) is None
    assert schedule.take(min(delays)) == "a"


def test_failures_are_paced_up_to_a_cap_and_forgotten() -> None:
    backoff = Backoff(first=timedelta(seconds=1), longest=timedelta(seconds=10))
    schedule = Schedule[str](Limits(backoff=backoff))
    pauses = [schedule.add_failed("a", 0.0).total_seconds() for _ in range(6)]
    assert pauses == [1, 2, 4, 8, 10, 10]
    schedule.forget("a")
    assert schedule.failures("a") == 0
    assert schedule.add_failed("a", 0.0).total_seconds() == 1


def test_many_failures_share_a_bucket() -> None:
    limits = Limits(backoff=Backoff(first=timedelta(0)), per_second=10, burst=5)
    schedule = Schedule[int](limits)
    pauses = [schedule.add_failed(key, 100.0).total_seconds() for key in range(8)]
    assert pauses == pytest.approx([0, 0, 0, 0, 0, 0.1, 0.2, 0.3])


def test_only_who_works_can_be_done() -> None:
    with pytest.raises(ValueError, match="not being worked on"):
        Schedule[str]().done("a")


@pytest.mark.looptime
async def test_a_worker_waits_until_a_key_is_due() -> None:
    clock = SimClock(asyncio.get_running_loop())
    queue = WorkQueue[str](clock)
    queue.add_after("late", timedelta(minutes=5))
    queue.add_after("soon", timedelta(seconds=3))
    assert await queue.get() == "soon"
    assert clock.boot() == pytest.approx(3, abs=0.01)
    assert await queue.get() == "late"
    assert clock.boot() == pytest.approx(300, abs=0.01)


@pytest.mark.looptime
async def test_a_shutdown_hands_out_what_is_wanted_and_then_ends() -> None:
    queue = WorkQueue[str](SimClock(asyncio.get_running_loop()))
    done = list[str]()

    async def work() -> None:
        while True:
            try:
                key = await queue.get()
            except ShutDown:
                return
            await asyncio.sleep(1)
            if not done:
                queue.add("a")
                queue.shut_down()
            done.append(key)
            queue.done(key)

    queue.add("a")
    queue.add_after("never", timedelta(hours=1))
    async with asyncio.TaskGroup() as group:
        group.create_task(work())
        group.create_task(work())
    await queue.drained()
    queue.add("too late")
    assert done == ["a", "a"]
    assert len(queue) == 0


@pytest.mark.looptime
async def test_after_a_shutdown_a_worker_waits_for_a_key_that_another_still_holds() -> None:
    queue = WorkQueue[str](SimClock(asyncio.get_running_loop()))
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    queue.shut_down()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(queue.get())
        await asyncio.sleep(1)
        assert not waiting.done()
        queue.done("a")
    assert waiting.result() == "a"
    queue.done("a")
    with pytest.raises(ShutDown):
        await queue.get()
