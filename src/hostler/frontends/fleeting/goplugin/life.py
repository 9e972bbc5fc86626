"""Life: when the plugin ends: as the host asks, when the host is gone, or on SIGTERM at rest.

A service manager that stops the runner signals the plugin too (systemd's KillMode=control-group),
while the runner still needs it to give machines back; Ctrl-C reaches the whole group of processes.
So SIGINT and SIGQUIT (the runner's own graceful stop) are never obeyed, and SIGTERM only when no
call runs and none begins within a second. A host that died is noticed by its end of our stdout, or
by our parent being another: a wrapper between us may live on.
"""

import asyncio
import os
import select
import signal
from collections.abc import Callable

from msgspec import Struct

from .exchange import Calls
from .logging.hostlog import HostLog

_QUIET = 1.0
_WATCH = 1.0
_DEAF = select.POLLERR | select.POLLHUP | select.POLLNVAL
_IGNORED = (signal.SIGINT, signal.SIGQUIT)
_ENDING = (signal.SIGTERM, signal.SIGHUP)


class Host(Struct, frozen=True):
    """Who launched us: our parent's id, and the pipe that was our stdout."""

    parent: int
    pipe: int

    def has_exited(self) -> bool:
        """Tell whether the parent is another by now, or nobody reads the pipe any more."""
        if os.getppid() != self.parent:
            return True
        poll = select.poll()
        poll.register(self.pipe, 0)
        return any(event & _DEAF for _, event in poll.poll(0))


class Life:
    """Waits for the end, whose reason is told once."""

    def __init__(self, host: Host, calls: Calls, log: HostLog) -> None:
        self._host = host
        self._calls = calls
        self._log = log
        self._over = asyncio.Event()
        self._terminated = asyncio.Event()
        self.reason = ""

    def stop(self, reason: str) -> None:
        """Begin the end; the first reason counts."""
        self.reason = self.reason or reason
        self._over.set()

    async def lived(self) -> str:
        """Return the reason of the end, when it is there."""
        loop = asyncio.get_running_loop()
        for number in _IGNORED:
            loop.add_signal_handler(number, self._on_signal(number, lambda: None))
        for number in _ENDING:
            loop.add_signal_handler(number, self._on_signal(number, self._terminated.set))
        async with asyncio.TaskGroup() as tasks:
            watching = [tasks.create_task(self._watch_host()), tasks.create_task(self._obey())]
            await self._over.wait()
            for task in watching:
                task.cancel()
        return self.reason

    def _on_signal(self, number: signal.Signals, then: Callable[[], None]) -> Callable[[], None]:
        def received() -> None:
            self._log.event("debug", "a signal was received", signal=number.name)
            then()

        return received

    async def _watch_host(self) -> None:
        while not self._host.has_exited():  # noqa: ASYNC110 - no event tells of a parent's death
            await asyncio.sleep(_WATCH)
        self.stop("the host has exited")

    async def _obey(self) -> None:
        """Obey SIGTERM once it comes at rest; whatever call runs or begins takes it back."""
        while True:
            await self._terminated.wait()
            self._terminated.clear()
            begun = self._calls.begun
            if not self._calls.running:
                await asyncio.sleep(_QUIET)
            if self._calls.running or self._calls.begun != begun:
                self._log.event("info", "SIGTERM is ignored: the host still makes calls")
            else:
                self.stop("SIGTERM")
