"""SimLoop: an event loop whose time is simulated: it never waits, it goes to the next timer.

There are no sockets but pipes inside the loop, and no threads, so the same program does the same
things in the same order, as often as it is run. Each simulated process has a *Life*: what it
planned on the loop stands still while it is stopped, and what it planned before a suspend comes
later by as much.
"""

import asyncio
import contextvars
import errno
import heapq
import socket
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from .pipes import Factory, Pipe, connect

T = TypeVar("T")
Address = tuple[str, int]

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
        # What TimerHandle and Handle set, in one place: a day has a million ticks.
        if context is None:
            context = contextvars.copy_context()
        self._callback, self._args = work
        self._loop, self._context = loop, context
        self._cancelled = self._scheduled = False
        self._source_traceback = self._repr = None
        self._when = self.due = when
        self.life = context.get(LIFE)
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
        self.listeners = dict[Address, Factory]()
        self._led = dict[int, Address]()

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

    def run_in_executor(
        self, executor: object, func: Callable[..., T], *args: object
    ) -> "asyncio.Future[T]":
        """Call what would be called in a thread, here and at once."""
        del executor
        future = asyncio.Future[T](loop=self)
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - whoever awaits it gets what it raised
            future.set_exception(error)
        return future

    async def sock_connect(self, sock: socket.socket, address: object) -> None:
        """Note where a socket is to lead; ConnectionRefusedError where nothing in the loop listens.

        The real socket is never connected.
        """
        place = next((place for place in self.listeners if place == address), None)
        if place is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, f"nothing listens at {address}")
        self._led[sock.fileno()] = place

    async def create_connection(  # pyright: ignore[reportIncompatibleMethodOverride] - only with a socket
        self, protocol_factory: Factory, *args: object, sock: socket.socket, **options: object
    ) -> tuple[Pipe, asyncio.BaseProtocol]:
        """Connect to what listens in the loop where the socket was to lead."""
        del args, options
        server = self.listeners[self._led.pop(sock.fileno())]
        sock.close()
        near = connect(self, protocol_factory, server)
        await asyncio.sleep(0)  # both ends begin before anybody may write
        return near, near.get_protocol()

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
