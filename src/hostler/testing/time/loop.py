"""SimLoop: an event loop whose time is simulated: it never waits, it goes to the next timer.

There are no sockets and no threads, so the same program does the same things in the same order,
as often as it is run. Each simulated process has a *Life*: what it planned on the loop stands still
while it is stopped, and what it planned before a suspend comes later by as much.
"""

import asyncio
import contextvars
import heapq
from collections import deque
from collections.abc import Callable
from typing import Any

LIFE: contextvars.ContextVar["Life | None"] = contextvars.ContextVar("life", default=None)
"""Whose work is running; tasks inherit it from whoever started them."""

_MOST_AT_ONCE = 1_000_000


class Deadlock(Exception):
    """Nothing is planned any more, and the main task is not done: it would wait for ever."""


class Spinning(Exception):
    """Very much was done without any time going by."""


class Tick(asyncio.TimerHandle):
    """One callback on the loop, and whose it is."""

    __slots__ = ("asleep", "due", "life")

    def __init__(
        self,
        when: float,
        work: tuple[Callable[..., object], tuple[object, ...]],
        loop: "SimLoop",
        context: contextvars.Context | None,
    ) -> None:
        super().__init__(when, work[0], work[1], loop, context)
        self.due = when
        self.life = LIFE.get() if context is None else context.get(LIFE)
        self.asleep = self.life.asleep if self.life is not None else 0.0

    def run(self) -> None:
        """Call what was planned; failures go to the loop's handler."""
        self._run()


class Life:
    """One simulated process, as the loop sees it: it runs, or it is stopped."""

    __slots__ = ("asleep", "parked", "stopped")

    def __init__(self) -> None:
        self.stopped = False
        self.asleep = 0.0
        self.parked = deque[Tick]()


class SimLoop(asyncio.BaseEventLoop):
    """Runs callbacks in order; time is what the timers say."""

    def __init__(self) -> None:
        super().__init__()
        self._moment = 0.0
        self._count = 0
        self._timers = list[tuple[float, int, Tick]]()
        self._queue = deque[Tick]()
        self._spun = 0
        self._halt = False
        self.failures = list[str]()

    def time(self) -> float:
        """Return the simulated time in seconds."""
        return self._moment

    def call_soon(
        self,
        callback: Callable[..., object],
        *args: object,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        """Plan a callback for now."""
        tick = Tick(0.0, (callback, args), self, context)
        self._queue.append(tick)
        return tick

    def call_at(
        self,
        when: float,
        callback: Callable[..., object],
        *args: object,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Plan a callback for a time."""
        tick = Tick(when, (callback, args), self, context)
        self._plan(when, tick)
        return tick

    def _plan(self, when: float, tick: Tick) -> None:
        self._count += 1
        heapq.heappush(self._timers, (when, self._count, tick))

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep what went wrong where nobody was listening."""
        error = context.get("exception")
        self.failures.append(f"{context.get('message')}: {error!r}")

    def stop_life(self, life: Life) -> None:
        """Let nothing of this process run until it is resumed."""
        life.stopped = True

    def resume_life(self, life: Life, slept: float = 0.0) -> None:
        """Let a process go on; after a suspend its timers come later by what it slept."""
        life.stopped = False
        life.asleep += slept
        self._queue.extend(life.parked)
        life.parked.clear()

    def run_until(self, main: "asyncio.Future[None]") -> None:
        """Run until this is done; raise what it raised."""
        self.run_until_complete(main)

    def _run_once(self) -> None:
        queue = self._queue
        if not queue:
            self._go_on()
        for _ in range(len(queue)):
            tick = queue.popleft()
            if tick.cancelled():
                continue
            life = tick.life
            if life is not None and life.stopped:
                life.parked.append(tick)
            elif life is not None and tick.when() and life.asleep > tick.asleep:
                tick.due += life.asleep - tick.asleep
                tick.asleep = life.asleep
                self._plan(max(self._moment, tick.due), tick)
            else:
                tick.run()
        self._spun += 1
        if self._spun > _MOST_AT_ONCE:
            raise Spinning(f"no time goes by at {self._moment:.3f} s")

    def _go_on(self) -> None:
        """Go to the next timer, and make what is due then ready, in the order of planning."""
        timers = self._timers
        while timers and timers[0][2].cancelled():
            heapq.heappop(timers)
        if not timers:
            raise Deadlock(f"nothing is planned at {self._moment:.3f} s")
        self._moment = max(self._moment, timers[0][0])
        self._spun = 0
        while timers and timers[0][0] <= self._moment:
            self._queue.append(heapq.heappop(timers)[2])

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Nothing to count: cancelled timers are dropped when their time comes."""

    def _process_events(self, event_list: object) -> None:
        """There are no events from outside."""
