"""ThreadedGroup: the group's engine in a thread of its own, so that no cycle delays an answer.

A cycle over a thousand machines keeps its thread busy for a tenth of a second; gRPC is answered
meanwhile by the other. Update reads the group's live records directly; every other call is handed
over. The group is made in its thread too: what it imports takes half a second.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Protocol, TypeVar

from hostler.frontends.fleeting.contract import (
    ConnectInfo,
    Connector,
    Group,
    Instance,
    ProviderInfo,
    Refused,
    State,
)

Spawn = Callable[[Coroutine[object, object, None]], asyncio.Task[None]]
"""Starts a task of the group's: a TaskGroup's `create_task`."""

AnswerT = TypeVar("AnswerT")

_JOIN = 1.0
"""Seconds to wait for the thread at the end: a host kills after two."""


class Reporting(Group, Protocol):
    """A group whose instances can be listed from any thread."""

    def report(self) -> Sequence[Instance]:
        """Return what Update answers, without waiting."""
        ...


class ThreadedGroup:
    """The group of `make`, made and run in a thread that starts with `warm`, or with Init."""

    def __init__(self, make: Callable[[Spawn], Reporting]) -> None:
        self._make = make
        self._group: Reporting | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._up = threading.Event()
        self._lock = threading.Lock()

    def warm(self) -> None:
        """Start the thread, and with it the making, unless it runs."""
        with self._lock:
            over = self._up.is_set() and self._group is None
            if self._thread is None or over:
                self._up.clear()
                self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
                self._thread.start()

    async def init(
        self, config: bytes, connector: Connector, states: frozenset[State]
    ) -> ProviderInfo:
        """Begin, once the group is made."""
        self.warm()
        await asyncio.to_thread(self._up.wait)
        return await self._there(lambda group: group.init(config, connector, states))

    async def update(self) -> Sequence[Instance]:
        """Return every instance, from memory."""
        return self._alive().report()

    async def increase(self, count: int) -> int:
        """Hand over."""
        return await self._there(lambda group: group.increase(count))

    async def decrease(self, ids: Sequence[str]) -> Sequence[str]:
        """Hand over."""
        return await self._there(lambda group: group.decrease(ids))

    async def connect_info(self, instance: str) -> ConnectInfo:
        """Hand over."""
        return await self._there(lambda group: group.connect_info(instance))

    async def heartbeat(self, instance: str) -> None:
        """Hand over."""
        return await self._there(lambda group: group.heartbeat(instance))

    async def suspend(self, ids: Sequence[str]) -> Sequence[str]:
        """Hand over."""
        return await self._there(lambda group: group.suspend(ids))

    async def resume(self, ids: Sequence[str]) -> Sequence[str]:
        """Hand over."""
        return await self._there(lambda group: group.resume(ids))

    async def shutdown(self) -> None:
        """End the group, and its thread; repeating it does nothing."""
        if self._group is not None:
            await self._there(lambda group: group.shutdown())
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Let the thread end without a word to the group: records and instances stay."""
        loop, stop, thread = self._loop, self._stop, self._thread
        if loop is None or stop is None or thread is None or not thread.is_alive():
            return
        loop.call_soon_threadsafe(stop.set)
        thread.join(_JOIN)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:  # what is raised here is nobody's but the thread's hook's
            self._group = None
            self._up.set()

    async def _serve(self) -> None:
        """Keep the group until the end; what it has spawned is cancelled with it."""
        self._stop, self._loop = asyncio.Event(), asyncio.get_running_loop()
        async with asyncio.TaskGroup() as tasks:
            spawned = list[asyncio.Task[None]]()

            def spawn(work: Coroutine[object, object, None]) -> asyncio.Task[None]:
                spawned.append(tasks.create_task(work))
                return spawned[-1]

            self._group = self._make(spawn)
            self._up.set()
            await self._stop.wait()
            for task in spawned:
                task.cancel()

    def _alive(self) -> Reporting:
        if self._group is None:
            raise Refused("the group is not open: Init was not called, or it failed, or it is over")
        return self._group

    async def _there(
        self, call: Callable[[Reporting], Coroutine[object, object, AnswerT]]
    ) -> AnswerT:
        """Run one call in the group's thread, and wait for its answer here."""
        group, loop = self._alive(), self._loop
        if loop is None or loop.is_closed():
            raise Refused("the group has ended")
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call(group), loop))
