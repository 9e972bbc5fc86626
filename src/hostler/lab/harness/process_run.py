"""One run of a simulated process, from its start to its death, as its environment sees it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from hostler.lab.checks.checker import Checker
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.ports.command import Asker
from hostler.ports.preparer import Preparer
from hostler.ports.provider import Provider
from hostler.testing.time.clock import SimClock

from .gates import Gate


class Link(Protocol):
    """A connection that ends where the network of its process is down."""

    down: bool

    async def close(self) -> None:
        """Give back what it holds."""
        ...


@dataclass(slots=True, kw_only=True)
class ProcessRun:
    """Whose run it is, and what it must pass.

    `name` is unique among all runs; `gate` stands before each call of a port; `shadow` is the store
    of its installation; `holds_lease` tells whether it may begin calls; `down` is its network.
    """

    name: str
    clock: SimClock
    gate: Gate
    checker: Checker
    shadow: ShadowStore
    holds_lease: Callable[[], bool]
    down: bool = False
    _links: list[Link] = field(default_factory=list[Link])

    def link(self, link: Link) -> None:
        """Let a connection go down with the network of this run, and come up with it."""
        link.down = self.down
        self._links.append(link)

    async def cut(self) -> None:
        """Close every connection, as a computer does for a process that is no more."""
        for link in self._links:
            await link.close()

    def set_network(self, *, down: bool) -> None:
        """Cut the network, or mend it."""
        self.down = down
        for link in self._links:
            link.down = down


class ProcessEnvironment(Protocol):
    """What a process needs of a provider's environment."""

    def provider(self, run: ProcessRun) -> Provider:
        """Return the real provider over the world.

        Each request passes the run's gate before and after it takes effect (port *http*), and gets
        no answer while the run is `down`.
        """
        ...

    def answers(self, address: str) -> bool:
        """Tell whether a guest answers at an address just now."""
        ...

    def preparer(self, run: ProcessRun) -> Preparer | None:
        """Return what logs in to hosts for one run of a process, where anything does."""
        ...

    def asker(self, run: ProcessRun) -> Asker | None:
        """Return what asks hosts whether they are busy, where anything does."""
        ...
