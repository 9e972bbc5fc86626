"""Provisioner: fleeting's loop over a plugin: update, prune, remove, provision.

After reference/fleeting.md 3.2 and 3.3, which rest on one plugin author's reading of the source.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

from hostler.frontends.fleeting.contract import Group, Instance, Refused, State

from .workload import RunnerOptions

CALL_LIMIT = 60.0


T = TypeVar("T")


class Cause(StrEnum):
    """Why an instance is there, as the runner sees it."""

    PREEXISTED = "preexisted"
    REQUESTED = "requested"
    UNEXPECTED = "unexpected"


@dataclass(slots=True)
class Tracked:
    """One instance that counts in `max_instances`, whatever its state."""

    id: str
    cause: Cause
    state: State
    missing: int = 0
    removing: bool = False
    asked: float | None = None


class Listener(Protocol):
    """Who is told what becomes of instances."""

    async def running(self, tracked: Tracked) -> None:
        """Note that an instance runs, which it did not before."""
        ...

    def unusable(self, tracked: Tracked) -> None:
        """Note that an instance runs no more."""
        ...

    def left(self, tracked: Tracked, why: str) -> None:
        """Note that an instance is tracked no more."""
        ...


_LEAVING = frozenset({State.DELETED, State.TIMEOUT})


class Provisioner:
    """Tracks what a plugin reports, asks it for more, and for the end of what is not needed."""

    def __init__(self, group: Group, options: RunnerOptions, time: Callable[[], float]) -> None:
        self._group, self._options, self._time = group, options, time
        self.listener: Listener | None = None
        self.tracked = dict[str, Tracked]()
        self.requests = 0
        self.expecting = 0
        self._first = True
        self._poked = asyncio.Event()

    @property
    def count(self) -> int:
        """How many places are taken: everything tracked in any state, and what is on its way."""
        return len(self.tracked) + self.expecting

    def usable(self) -> list[Tracked]:
        """Return what runs, or will, and is not to be removed."""
        going = {State.DELETING, State.STOPPED, State.SUSPENDED, State.SUSPENDING}
        return [t for t in self.tracked.values() if not t.removing and t.state not in going]

    def request(self, count: int) -> None:
        """Ask for so many more, soon."""
        if count > 0:
            self.requests += count
            self._poked.set()

    def remove(self, instance: str) -> None:
        """Mark an instance for removal; this cannot be taken back."""
        tracked = self.tracked.get(instance)
        if tracked is not None and not tracked.removing:
            tracked.removing = True
            self._poked.set()

    async def run(self) -> None:
        """Go round for ever."""
        while True:
            await self.cycle()
            await self._rest()

    async def cycle(self) -> None:
        """Go round once; a failing Update skips all the rest."""
        try:
            async with asyncio.timeout(CALL_LIMIT):
                instances = await self._group.update()
        except (Refused, TimeoutError):
            return
        await self._reconcile(instances)
        self._prune({instance.id for instance in instances})
        await self._remove()
        await self._provision()

    async def _rest(self) -> None:
        options = self._options
        expecting = self.requests or self.expecting or self._changing()
        length = options.expecting_interval if expecting else options.update_interval
        try:
            async with asyncio.timeout(length):
                await self._poked.wait()
        except TimeoutError:
            pass
        else:
            await asyncio.sleep(options.expecting_interval)
        self._poked.clear()

    def _changing(self) -> bool:
        return any(t.removing or t.state is not State.RUNNING for t in self.tracked.values())

    async def _reconcile(self, instances: Iterable[Instance]) -> None:
        first, self._first = self._first, False
        for instance in instances:
            tracked = self.tracked.get(instance.id)
            if tracked is None:
                if instance.state in _LEAVING:
                    continue
                tracked = self._begin(instance, first=first)
                if instance.state is State.RUNNING:
                    await self._tell_running(tracked)
                continue
            tracked.missing = 0
            await self._changed(tracked, instance.state)

    def _begin(self, instance: Instance, *, first: bool) -> Tracked:
        if first:
            cause = Cause.PREEXISTED
        elif self.expecting:
            cause = Cause.REQUESTED
            self.expecting -= 1
        else:
            cause = Cause.UNEXPECTED
        tracked = Tracked(id=instance.id, cause=cause, state=instance.state)
        self.tracked[instance.id] = tracked
        return tracked

    async def _changed(self, tracked: Tracked, state: State) -> None:
        before, tracked.state = tracked.state, state
        if state in _LEAVING:
            self._drop(tracked, str(state))
        elif state is State.RUNNING and before is not State.RUNNING:
            await self._tell_running(tracked)
        elif before is State.RUNNING and state is not State.RUNNING and self.listener:
            self.listener.unusable(tracked)
        if state is State.STOPPED and self._options.removes_stopped:
            self.remove(tracked.id)

    async def _tell_running(self, tracked: Tracked) -> None:
        if self.listener is not None:
            await self.listener.running(tracked)

    def _drop(self, tracked: Tracked, why: str) -> None:
        self.tracked.pop(tracked.id, None)
        if self.listener is not None:
            self.listener.left(tracked, why)

    def _prune(self, reported: set[str]) -> None:
        for tracked in tuple(self.tracked.values()):
            if tracked.id not in reported:
                tracked.missing += 1
                if tracked.missing >= self._options.forgotten_after:
                    self._drop(tracked, "pruned")

    async def _remove(self) -> None:
        """Ask for the end of what is marked, and is not said to be going: again each minute."""
        now, interval = self._time(), self._options.deletion_retry
        due = [
            t
            for t in self.tracked.values()
            if t.removing and t.state is not State.DELETING
            if t.asked is None or now - t.asked >= interval
        ]
        if due:
            for tracked in due:
                tracked.asked = now
            await _called(self._group.decrease([t.id for t in due]))

    async def _provision(self) -> None:
        missing = min(self.requests, self._options.max_instances - self.count)
        if missing <= 0:
            return
        accepted = await _called(self._group.increase(missing))
        if accepted is not None:
            self.requests -= accepted
            self.expecting += accepted


async def _called(call: Awaitable[T]) -> T | None:
    """Return what a call answers, None where it fails: later cycles try again."""
    try:
        async with asyncio.timeout(CALL_LIMIT):
            return await call
    except (Refused, TimeoutError):
        return None
