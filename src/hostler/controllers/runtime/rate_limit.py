"""Rate limit: how many calls per second an account may make, and which of them go first.

Deletes and rollbacks go before creates, creates before observations; but observations keep a fifth
for themselves, so that a storm of calls never blinds us. What was begun is finished before anything
new is begun: so the first machine of a thousand is ready in a minute, and not together with the
last. Proofs of losses come between the two: they are few, two for each machine that is missing, and
what is proved is what is to be made anew. Beside their share of the fifth they take all that
deletes, and calls that go on with what was begun, leave.
"""

import asyncio
import heapq
import itertools
from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta
from enum import IntEnum

OBSERVATIONS_SHARE = 0.2
"""What observations keep of the rate and of the burst."""

_NONE = timedelta(0)
_FREEZES = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)


class Priority(IntEnum):
    """Who goes first when calls must wait; the lower, the earlier."""

    CLEAN = 0
    GO_ON = 1
    PROVE = 2
    MAKE = 3
    OBSERVE = 4

    @property
    def is_observation(self) -> bool:
        """Whether it is among those that a share of the rate is kept for."""
        return self in {Priority.PROVE, Priority.OBSERVE}


@dataclass(order=True, slots=True)
class _Waiting:
    """Somebody who waits: the lower the priority's number and then the number, the earlier."""

    priority: Priority
    number: int
    cost: float = field(compare=False)
    granted: "asyncio.Future[None]" = field(compare=False)


class Budget:
    """A bucket of tokens, one for each request; times are the running loop's.

    Observations fill a bucket of their own first; what overflows goes to everybody. What costs more
    than there is goes once there is something, and leaves a debt.
    """

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._tokens = burst * (1 - OBSERVATIONS_SHARE)
        self._observation_tokens = burst * OBSERVATIONS_SHARE
        self._filled: float | None = None
        self._frozen = 0.0
        self._strikes = 0
        self._numbers = itertools.count()
        self._calls = list[_Waiting]()
        self._observations = deque[_Waiting]()
        self._timer: asyncio.TimerHandle | None = None
        self._crowded: float | None = None

    async def take(self, priority: Priority, cost: float = 1.0) -> None:
        """Wait until this many requests may be made."""
        granted = asyncio.get_running_loop().create_future()
        entry = _Waiting(priority, next(self._numbers), cost, granted)
        if priority.is_observation:
            self._observations.append(entry)
        else:
            heapq.heappush(self._calls, entry)
        self._pump()
        await granted

    def is_crowded(self, lull: timedelta = _NONE) -> bool:
        """Tell whether calls that make machines wait for tokens, and none that removes any.

        `lull` is for how long none may have waited when this was asked.
        """
        now = asyncio.get_running_loop().time()
        waiting = [entry.priority for entry in self._calls if not entry.granted.done()]
        if waiting:
            self._crowded = None if Priority.CLEAN in waiting else now
            return self._crowded is not None
        return self._crowded is not None and now - self._crowded < lull.total_seconds()

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
        observations_most = max(self._burst * OBSERVATIONS_SHARE, 1.0)
        observations = min(
            new * OBSERVATIONS_SHARE, max(0.0, observations_most - self._observation_tokens)
        )
        self._observation_tokens += observations
        self._tokens = min(self._tokens + new - observations, self._burst)

    def _pump(self) -> None:
        """Grant what the tokens allow, in order; come back when the next ones are there."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._fill(now)
        while now >= self._frozen and self._grant():
            pass
        if (self._calls or self._observations) and self._timer is None:
            pause = max(self._frozen - now, 1.0 / self._rate, 0.01)
            self._timer = loop.call_later(pause, self._again)

    def _again(self) -> None:
        self._timer = None
        self._pump()

    def _grant(self) -> bool:
        """Serve one that can be: an observation from its own bucket, others from the common one."""
        while self._observations and self._observations[0].granted.done():
            self._observations.popleft()
        while self._calls and self._calls[0].granted.done():
            heapq.heappop(self._calls)
        if self._observations and self._observation_tokens > 0:
            entry = self._observations.popleft()
            self._observation_tokens -= entry.cost
        elif self._is_observations_turn() and self._tokens >= min(self._observations[0].cost, 1.0):
            entry = self._observations.popleft()
            self._tokens -= entry.cost
        elif self._calls and self._tokens >= min(self._calls[0].cost, 1.0):
            entry = heapq.heappop(self._calls)
            self._tokens -= entry.cost
        else:
            return False
        entry.granted.set_result(None)
        return True

    def _is_observations_turn(self) -> bool:
        """Tell whether the oldest observation goes before every call that waits."""
        if not self._observations:
            return False
        return not self._calls or self._observations[0].priority < self._calls[0].priority
