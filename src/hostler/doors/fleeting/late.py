"""LateGroup: a group that is made when it is first needed, for its making takes half a second.

A host waits for the handshake and its first answer; what the engine needs is imported meanwhile.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from .logical import ConnectInfo, Connector, Group, Instance, ProviderInfo, State


class Closing(Group, Protocol):
    """A group that can also end without a word."""

    def close(self) -> None:
        """Let go of everything; records and instances stay."""
        ...


class LateGroup:
    """The group of `make`, which is called once, in whatever thread comes first."""

    def __init__(self, make: Callable[[], Closing]) -> None:
        self._make = make
        self._made: Closing | None = None
        self._lock = threading.Lock()

    def warm(self) -> None:
        """Make the group now."""
        self._group()

    def close(self) -> None:
        """End the group, if there is one."""
        if self._made is not None:
            self._made.close()

    def _group(self) -> Closing:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    async def _there(self) -> Closing:
        """Return the group; the loop goes on while it is being made."""
        return self._made or await asyncio.to_thread(self._group)

    async def init(
        self, config: bytes, connector: Connector, states: frozenset[State]
    ) -> ProviderInfo:
        """Begin."""
        return await (await self._there()).init(config, connector, states)

    async def update(self) -> Sequence[Instance]:
        """Return every instance."""
        return await (await self._there()).update()

    async def increase(self, count: int) -> int:
        """Accept new instances."""
        return await (await self._there()).increase(count)

    async def decrease(self, ids: Sequence[str]) -> Sequence[str]:
        """Accept the end of these."""
        return await (await self._there()).decrease(ids)

    async def connect_info(self, instance: str) -> ConnectInfo:
        """Return how to reach an instance."""
        return await (await self._there()).connect_info(instance)

    async def heartbeat(self, instance: str) -> None:
        """Return if the instance is well."""
        await (await self._there()).heartbeat(instance)

    async def suspend(self, ids: Sequence[str]) -> Sequence[str]:
        """Accept that these go to standby."""
        return await (await self._there()).suspend(ids)

    async def resume(self, ids: Sequence[str]) -> Sequence[str]:
        """Accept that these come back."""
        return await (await self._there()).resume(ids)

    async def shutdown(self) -> None:
        """End."""
        await (await self._there()).shutdown()
