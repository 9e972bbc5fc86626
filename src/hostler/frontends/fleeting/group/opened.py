"""Opened: what a group is made of once its configuration is read; app/ puts it together."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Ports
from hostler.domain.ids import InstallationId
from hostler.domain.model.fleet import Fleet
from hostler.frontends.fleeting.contract import Connector


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """One group, ready to run: its fleet, the engine that keeps it, and what is handed to jobs.

    `key` is the private key in OpenSSH form that machines accept for `user`; `adopt` are the
    installations whose machines the operator says are ours; `close` releases what is the plugin's
    own and lets go of the store; it is told how many machines live.
    """

    fleet: Fleet
    engine: Engine
    ports: Ports
    version: str
    close: Callable[[int], Awaitable[None]]
    user: str = "root"
    key: bytes = field(default=b"", repr=False)
    os: str = "linux"
    adopt: tuple[InstallationId, ...] = ()
    notes: tuple[str, ...] = ()


class Opener(Protocol):
    """Reads a group's configuration and opens what it names."""

    async def open(self, config: bytes, connector: Connector) -> Opened:
        """Return the group; logical.Refused names every fault of the configuration at once."""
        ...
