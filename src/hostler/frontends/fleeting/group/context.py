"""Context: what a group is made of once its configuration is read; app/ puts it together."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from hostler.domain.ids import InstallationId, MachineId
from hostler.domain.model.fleet import Fleet
from hostler.frontends.fleeting.contract import Connector
from hostler.ports.clock import Clock
from hostler.ports.prober import Prober
from hostler.ports.store import Store
from hostler.queries.live import LiveRecords


class GroupEngine(Protocol):
    """The engine of a group, as far as the group has to do with it."""

    async def run(self) -> None:
        """Run until cancelled; raises StoreUnusable when the records go away."""
        ...

    def hear(self) -> None:
        """Read requests now: one was recorded."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupContext:
    """One group, ready to run: its fleet, the engine that keeps it, and what is handed to jobs.

    `live` is what that engine has on record; `fresh` makes new machine ids.
    `key` is the private key in OpenSSH form that machines accept for `user`; `adopt` are the
    installations whose machines the operator says are ours; `close` releases what is the plugin's
    own and lets go of the store; it takes the number of living machines.
    """

    fleet: Fleet
    engine: GroupEngine
    live: LiveRecords
    store: Store
    clock: Clock
    prober: Prober
    fresh: Callable[[], MachineId]
    version: str
    close: Callable[[int], Awaitable[None]]
    user: str = "root"
    key: bytes = field(default=b"", repr=False)
    os: str = "linux"
    adopt: tuple[InstallationId, ...] = ()
    notes: tuple[str, ...] = ()


class GroupOpener(Protocol):
    """Reads a group's configuration and opens what it names."""

    async def open(self, config: bytes, connector: Connector) -> GroupContext:
        """Return the group; Refused names every fault of the configuration at once."""
        ...
