"""Waiting for an event, and no longer than a while."""

import asyncio
from datetime import timedelta

import pytest

from hostler.controllers.runtime.waiting import until

pytestmark = pytest.mark.looptime

WHILE = timedelta(seconds=10)


async def test_an_event_that_never_comes_is_waited_for_no_longer_than_that(
    looptime: float,
) -> None:
    event = asyncio.Event()
    await until(event, WHILE)
    assert looptime == WHILE.total_seconds()
    assert event.is_set()


async def test_an_event_that_comes_ends_the_waiting_at_once(looptime: float) -> None:
    event = asyncio.Event()
    asyncio.get_running_loop().call_later(3, event.set)
    await until(event, WHILE)
    assert looptime == 3


async def test_what_ended_early_sets_nothing_later() -> None:
    event = asyncio.Event()
    event.set()
    await until(event, WHILE)
    event.clear()
    await asyncio.sleep(2 * WHILE.total_seconds())
    assert not event.is_set()


async def test_who_is_cancelled_leaves_no_timer() -> None:
    event = asyncio.Event()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await until(event, WHILE)
    await asyncio.sleep(2 * WHILE.total_seconds())
    assert not event.is_set()
