"""Registering: a group's public key at its provider, for as long as the group has machines.

The key comes to machines by cloud-init too, so nothing fails where it cannot be registered.
"""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

import structlog

from hostler.ports.keys import RegistersKeys

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.fleeting")

_PATIENCE = timedelta(seconds=10)
_PARTING = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class GroupKey:
    """The public half of a group's key, and the name under which it is ours."""

    provider: object
    public: str
    name: str

    async def register(self) -> tuple[str, ...]:
        """Register it; return what is to be told of it where that went wrong."""
        if not isinstance(self.provider, RegistersKeys):
            return ()
        try:
            async with asyncio.timeout(_PATIENCE.total_seconds()):
                told = await self.provider.register_key(self.public, self.name)
        except TimeoutError:
            return (_told("was not registered in time"),)
        log.info("ssh key", state=told.text)
        return () if told.well else (_told(told.text),)

    async def release(self) -> None:
        """Take it out; for when no machine is left that would read it at its next boot."""
        if not isinstance(self.provider, RegistersKeys):
            return
        try:
            async with asyncio.timeout(_PARTING.total_seconds()):
                told = await self.provider.release_key(self.public, self.name)
        except TimeoutError:
            log.warning("ssh key", state="was not taken out in time; the next start finds it")
            return
        (log.info if told.well else log.warning)("ssh key", state=told.text)


def _told(text: str) -> str:
    return f"the group's SSH key {text}; instances get it by cloud-init all the same"
