"""Budget: how many calls per second an account may make, and which of them go first.

Deletes and rollbacks go before creates, creates before looks; but looks keep a fifth for
themselves, so that a storm of calls never blinds us.
"""

import asyncio
import heapq
import itertools
from datetime import timedelta
from enum import IntEnum

LOOKS_SHARE = 0.2
"""What looks keep of the rate and of the burst."""

_FREEZES = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)


class Priority(IntEnum):
    """Who goes first when calls must wait; the lower, the earlier."""

    CLEAN = 0
    MAKE = 1
    LOOK = 2


class Budget:
    """A bucket of tokens, one for each request; times are the running loop's.

    Looks fill a bucket of their own first; what overflows goes to everybody.
    """

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._tokens = burst * (1 - LOOKS_SHARE)
        self._look_tokens = burst * LOOKS_SHARE
        self._filled: float | None = None
        self._frozen = 0.0
        self._strikes = 0
        self._numbers = itertools.count()
        self._waiting: list[tuple[Priority, int, float, asyncio.Future[None]]] = []
        self._timer: asyncio.TimerHandle | None = None

    async def take(self, priority: Priority, cost: float = 1.0) -> None:
        """Wait until this many requests may be made."""
        loop = asyncio.get_running_loop()
        granted = loop.create_future()
        heapq.heappush(self._waiting, (priority, next(self._numbers), cost, granted))
        self._pump()
        await granted

    def refused(self, after: timedelta | None) -> None:
        """The provider said *too many*: ask nothing for as long as it says, else ever longer."""
        now = asyncio.get_running_loop().time()
        if now < self._frozen and after is None:
            return  # the answer to a call sent before the pause: it says nothing new
        pause = after.total_seconds() if after else _FREEZES[min(self._strikes, 5)]
        self._strikes += 1
        self._frozen = max(self._frozen, now + min(pause, 120.0))
        self._tokens = min(self._tokens, 1.0)

    def accepted(self) -> None:
        """The provider answered otherwise: the next *too many* starts from the shortest pause."""
        self._strikes = 0

    def _fill(self, now: float) -> None:
        if self._filled is None:
            self._filled = now
        new = max(0.0, now - self._filled) * self._rate
        self._filled = now
        looks_most = max(self._burst * LOOKS_SHARE, 1.0)
        looks = min(new * LOOKS_SHARE, max(0.0, looks_most - self._look_tokens))
        self._look_tokens += looks
        self._tokens = min(self._tokens + new - looks, self._burst)

    def _pump(self) -> None:
        """Grant what the tokens allow, in order; come back when the next ones are there."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._fill(now)
        while self._waiting and now >= self._frozen and self._grant():
            pass
        if self._waiting and self._timer is None:
            pause = max(self._frozen - now, 1.0 / self._rate, 0.01)
            self._timer = loop.call_later(pause, self._again)

    def _again(self) -> None:
        self._timer = None
        self._pump()

    def _grant(self) -> bool:
        """Serve the first that can be: a look from its own bucket, others from the common one."""
        if self._serve(self._waiting[0], 0):
            return True
        for place, entry in enumerate(self._waiting):
            if entry[0] is Priority.LOOK and self._look_tokens > 0:
                return self._serve(entry, place)
        return False

    def _serve(self, entry: tuple[Priority, int, float, asyncio.Future[None]], place: int) -> bool:
        if entry[3].done():
            return self._let_go(place)
        if entry[0] is Priority.LOOK and self._look_tokens > 0:
            self._look_tokens -= entry[2]
            return self._let_go(place)
        if self._tokens >= min(entry[2], 1.0):
            self._tokens -= entry[2]
            return self._let_go(place)
        return False

    def _let_go(self, place: int) -> bool:
        granted = self._waiting[place][3]
        if place == 0:
            heapq.heappop(self._waiting)
        else:
            self._waiting[place] = self._waiting[-1]
            self._waiting.pop()
            heapq.heapify(self._waiting)
        if not granted.done():
            granted.set_result(None)
        return True
