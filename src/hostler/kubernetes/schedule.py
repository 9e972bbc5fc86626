"""Schedule: which keys are to be worked on, when, and which are being worked on. Pure.

The laws: a key is handed out once however often it was added; never while it is being worked on;
and what was added meanwhile is handed out once more afterwards.
"""

import heapq
from collections import deque
from collections.abc import Hashable
from datetime import timedelta
from typing import Generic, TypeVar

from msgspec import Struct, field

from .backoff import Backoff

K = TypeVar("K", bound=Hashable)


class Limits(Struct, frozen=True, kw_only=True):
    """How failures are paced: each key by itself, and all together by a bucket of tokens."""

    backoff: Backoff = field(
        default=Backoff(first=timedelta(milliseconds=5), longest=timedelta(minutes=5))
    )
    per_second: float = 10.0
    burst: int = 100


class Schedule(Generic[K]):
    """Keys that wait, are ready, or are active; `now` is boot time, in seconds."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._ready: deque[K] = deque()
        self._wanted: set[K] = set()
        self._active: set[K] = set()
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._serial = 0
        self._failures: dict[K, int] = {}
        self._next_token = float("-inf")

    def add(self, key: K) -> None:
        """Want a key now; a later date of it is dropped, for it is worked on before."""
        self._due.pop(key, None)
        if key in self._wanted:
            return
        self._wanted.add(key)
        if key not in self._active:
            self._ready.append(key)

    def add_after(self, key: K, delay: timedelta, now: float) -> None:
        """Want a key after a while; the earliest of several dates holds."""
        if delay <= timedelta(0):
            self.add(key)
            return
        due = now + delay.total_seconds()
        if key in self._wanted or self._due.get(key, float("inf")) <= due:
            return
        self._due[key] = due
        self._serial += 1
        heapq.heappush(self._heap, (due, self._serial, key))

    def add_failed(self, key: K, now: float) -> timedelta:
        """Want a key again that failed, later each time; return the pause."""
        self._failures[key] = self._failures.get(key, 0) + 1
        own = self._limits.backoff.pause(self._failures[key])
        pause = max(own, timedelta(seconds=self._token(now)))
        self.add_after(key, pause, now)
        return pause

    def forget(self, key: K) -> None:
        """Forget the failures of a key that went well."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """Return how often in a row a key failed."""
        return self._failures.get(key, 0)

    def take(self, now: float) -> K | None:
        """Return a key that is ready, and active from now on; None where there is none."""
        self._ripen(now)
        if not self._ready:
            return None
        key = self._ready.popleft()
        self._wanted.discard(key)
        self._active.add(key)
        return key

    def done(self, key: K) -> None:
        """End the work on a key; ValueError where nobody works on it."""
        if key not in self._active:
            raise ValueError(f"{key!r} is not being worked on")
        self._active.discard(key)
        if key in self._wanted:
            self._ready.append(key)

    def next_due(self) -> float | None:
        """Return when the first key that waits is due; None where none waits."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def discard_waiting(self) -> None:
        """Drop what is due later only."""
        self._due.clear()
        self._heap.clear()

    @property
    def idle(self) -> bool:
        """Whether nothing is wanted and nothing is active; dates to come do not count."""
        return not self._wanted and not self._active

    def __len__(self) -> int:
        """Return how many keys are wanted now."""
        return len(self._wanted)

    def _ripen(self, now: float) -> None:
        while (due := self.next_due()) is not None and due <= now:
            self.add(heapq.heappop(self._heap)[2])

    def _token(self, now: float) -> float:
        """Take a token of the bucket; return after how many seconds it is there."""
        interval = 1 / self._limits.per_second
        self._next_token = max(self._next_token, now - self._limits.burst * interval) + interval
        return max(0.0, self._next_token - now)
