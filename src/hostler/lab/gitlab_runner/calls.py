"""Calls: the runner's side of each call: into a plugin that may be dead, and watched."""

import asyncio
from collections.abc import Awaitable, Generator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from hostler.frontends.fleeting.contract import (
    ConnectInfo,
    Connector,
    Group,
    Instance,
    ProviderInfo,
    Refused,
    State,
)

from .checker import INSIDE, Checker
from .process import Plugin

T = TypeVar("T")


class Calls:
    """The group of a plugin process, as the runner reaches it; implements `Group`."""

    def __init__(self, plugin: Plugin, group: Group, checker: Checker) -> None:
        self._plugin, self._group, self._checker = plugin, group, checker

    async def init(
        self, config: bytes, connector: Connector, states: frozenset[State]
    ) -> ProviderInfo:
        """Begin."""
        return await self._made("init", self._group.init(config, connector, states))

    async def update(self) -> Sequence[Instance]:
        """List the instances, and hold the answer against the truth."""
        instances = await self._made("update", self._group.update())
        self._checker.updated(instances)
        return instances

    async def increase(self, count: int) -> int:
        """Ask for more; where the answer is lost, any of them may come."""
        checker = self._checker
        checker.unsure += count
        try:
            accepted = await self._made("increase", self._group.increase(count))
        except Refused:
            checker.unsure -= 0 if self._plugin.dead else count
            raise
        checker.unsure -= count
        checker.accepted += accepted
        checker.trace.note(f"increase {count}: {accepted}")
        return accepted

    async def decrease(self, ids: Sequence[str]) -> Sequence[str]:
        """Ask for the end of some."""
        self._checker.trace.note(f"decrease {' '.join(ids)}")
        accepted = await self._made("decrease", self._group.decrease(ids))
        self._checker.decreased(accepted)
        return accepted

    async def connect_info(self, instance: str) -> ConnectInfo:
        """Ask how to reach one."""
        return await self._made("", self._group.connect_info(instance))

    async def heartbeat(self, instance: str) -> None:
        """Ask whether one is well."""
        try:
            await self._made("", self._group.heartbeat(instance))
        except Refused as refused:
            if not self._plugin.dead:
                self._checker.heartbeat_refused(instance, str(refused))
            raise

    async def suspend(self, ids: Sequence[str]) -> Sequence[str]:
        """Ask that some go to standby."""
        return await self._made("suspend", self._group.suspend(ids))

    async def resume(self, ids: Sequence[str]) -> Sequence[str]:
        """Ask that some come back."""
        return await self._made("resume", self._group.resume(ids))

    async def shutdown(self) -> None:
        """End."""
        begun = self._checker.untouched()
        await self._made("shutdown", self._group.shutdown())
        self._checker.shut_down(begun)

    async def _made(self, call: str, work: Awaitable[T]) -> T:
        checker, time = self._checker, asyncio.get_running_loop().time
        begun = time()
        try:
            with _inside(call):
                return await _while_alive(self._plugin, work)
        except Refused as refused:
            if not self._plugin.dead:
                checker.refused(call, str(refused))
            raise
        finally:
            if call and not self._plugin.dead:
                checker.called(call, time() - begun)


async def _while_alive(plugin: Plugin, work: Awaitable[T]) -> T:
    """Return the answer; Refused where the plugin is dead, or dies meanwhile."""
    try:
        if plugin.dead:
            raise Refused("the plugin is dead")
        return await work
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if not plugin.dead or task is None or task.cancelling():
            raise
        raise Refused("the plugin died") from None
    finally:
        if asyncio.iscoroutine(work):
            work.close()


@contextmanager
def _inside(call: str) -> Generator[None]:
    token = INSIDE.set(call)
    try:
        yield
    finally:
        INSIDE.reset(token)
