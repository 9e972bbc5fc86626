import asyncio
import contextvars
from collections.abc import Coroutine

import pytest

from hostler.testing.time.clock import BEGINNING, SimClock
from hostler.testing.time.loop import LIFE, Deadlock, Life, SimLoop


def played(loop: SimLoop, work: Coroutine[None, None, None]) -> float:
    try:
        loop.run_until_complete(work)
    finally:
        loop.close()
    return loop.time()


async def sleeps(times: list[float], loop: SimLoop) -> None:
    for _ in range(3):
        await asyncio.sleep(10)
        times.append(loop.time())


def test_time_goes_by_without_waiting():
    loop = SimLoop()
    assert played(loop, asyncio.sleep(1e6)) == 1e6


def test_nothing_planned_is_a_deadlock():
    loop = SimLoop()

    async def waits() -> None:
        await loop.create_future()

    with pytest.raises(Deadlock):
        loop.run_until_complete(waits())
    loop.close()


def test_a_stopped_life_stands_still_and_then_catches_up():
    loop, life, times = SimLoop(), Life(), list[float]()
    context = contextvars.copy_context()
    context.run(LIFE.set, life)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(sleeps(times, loop), context=context)
            await asyncio.sleep(5)
            loop.stop_life(life)
            await asyncio.sleep(30)
            loop.resume_life(life)

    played(loop, main())
    assert times == [35, 45, 55]


def test_a_suspend_lets_timers_come_later_by_its_length():
    loop, life, times = SimLoop(), Life(), list[float]()
    context = contextvars.copy_context()
    context.run(LIFE.set, life)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(sleeps(times, loop), context=context)
            await asyncio.sleep(5)
            loop.stop_life(life)
            await asyncio.sleep(2)
            loop.resume_life(life, slept=2)

    played(loop, main())
    assert times == [12, 22, 32]


def test_a_timer_that_came_due_in_a_suspend_has_left_what_it_had_left_before():
    loop, life, times = SimLoop(), Life(), list[float]()
    context = contextvars.copy_context()
    context.run(LIFE.set, life)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(sleeps(times, loop), context=context)
            await asyncio.sleep(6)
            for _ in range(2):
                loop.stop_life(life)
                await asyncio.sleep(300)
                loop.resume_life(life, slept=300)
                await asyncio.sleep(1)

    played(loop, main())
    assert times == [610, 620, 630]


def test_a_jump_moves_the_wall_and_not_the_time_since_boot():
    loop = SimLoop()
    clock = SimClock(loop, boot=100.0, wall=1.0)
    before = clock.boot()
    clock.jump(BEGINNING - clock.now())
    assert clock.now() == BEGINNING
    assert clock.boot() == before
    loop.close()
