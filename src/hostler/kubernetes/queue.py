"""Work queue: workers wait here for keys; what holds of keys is in `schedule.py`."""

import asyncio
from datetime import timedelta
from typing import Generic

from hostler.ports.clock import Clock

from .schedule import K, Limits, Schedule

_LONGEST_WAIT = 60.0
"""Seconds after which the clock is asked again: it goes on through a suspend, the loop does not."""

_SHORTEST_WAIT = 0.001
"""A wait below what a loop can tell would end before its date, again and again."""


class ShutDown(Exception):
    """The queue takes no more keys, and has no more to give."""


class WorkQueue(Generic[K]):
    """Hands each key to one worker at a time."""

    def __init__(self, clock: Clock, limits: Limits | None = None) -> None:
        self._clock = clock
        self._schedule = Schedule[K](limits)
        self._changed = asyncio.Event()
        self._closed = False

    def add(self, key: K) -> None:
        """Want a key now; nothing after a shutdown, as in all that adds."""
        if not self._closed:
            self._schedule.add(key)
            self._changed.set()

    def add_after(self, key: K, delay: timedelta) -> None:
        """Want a key after a while, unless it is wanted before."""
        if not self._closed:
            self._schedule.add_after(key, delay, self._clock.boot())
            self._changed.set()

    def add_failed(self, key: K) -> timedelta:
        """Want a key again that failed, later each time; return the pause."""
        if self._closed:
            return timedelta(0)
        pause = self._schedule.add_failed(key, self._clock.boot())
        self._changed.set()
        return pause

    def forget(self, key: K) -> None:
        """Forget the failures of a key that went well."""
        self._schedule.forget(key)

    def failures(self, key: K) -> int:
        """Return how often in a row a key failed."""
        return self._schedule.failures(key)

    def __len__(self) -> int:
        """Return how many keys are wanted now."""
        return len(self._schedule)

    async def get(self) -> K:
        """Return the next key when there is one; its worker says `done`. ShutDown at the end."""
        while True:
            self._changed.clear()
            key = self._schedule.take(self._clock.boot())
            if key is not None:
                return key
            if self._closed and not len(self._schedule):
                raise ShutDown
            await self._wait()

    def done(self, key: K) -> None:
        """End the work on a key; if it was wanted meanwhile, it is handed out again."""
        self._schedule.done(key)
        self._changed.set()

    def shut_down(self) -> None:
        """Take no more keys, and drop those of later; what is wanted now is still handed out."""
        self._closed = True
        self._schedule.discard_waiting()
        self._changed.set()

    async def drained(self) -> None:
        """Return when nothing is wanted and nobody works, dates to come aside."""
        while not self._schedule.idle:
            self._changed.clear()
            await self._wait()

    async def _wait(self) -> None:
        due = self._schedule.next_due()
        seconds = _LONGEST_WAIT if due is None else due - self._clock.boot()
        try:
            async with asyncio.timeout(min(max(seconds, _SHORTEST_WAIT), _LONGEST_WAIT)):
                await self._changed.wait()
        except TimeoutError:
            return
