"""Outside: what the command line needs from the rest of the program, handed to it by app."""

from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from hostler.config.values import Config
from hostler.controllers.runtime.settings import Account, Ports
from hostler.ports.clock import Clock
from hostler.ports.metrics import Metrics
from hostler.ports.store import Store


class Purpose(StrEnum):
    """What a store is opened for."""

    READ = "read"
    """Records are read; where there is no store yet, an empty one that is not kept is given."""
    REQUEST = "request"
    """Wishes are written, beside a running engine or before the first."""
    ENGINE = "engine"
    """This process is the engine; StoreHeld where another one is."""


class Turning(Protocol):
    """An engine, as far as a door has to do with it."""

    async def run(self) -> None:
        """Run until cancelled; leases are given back on the way out."""
        ...


class Outside(Protocol):
    """Everything that has a real adapter."""

    def load(self, path: Path) -> Config:
        """Return the fleet file's values; ConfigError has all that is wrong with it."""
        ...

    def clock(self) -> Clock:
        """Return the clock."""
        ...

    def actor(self) -> str:
        """Return who sits at this command line, for the records."""
        ...

    def store(self, config: Config, purpose: Purpose) -> AbstractAsyncContextManager[Store]:
        """Open the store and close it at the end; StoreError says why it cannot be used."""
        ...

    def engine_runs(self, config: Config) -> bool:
        """Tell whether an engine holds the store now; it is not disturbed."""
        ...

    def store_exists(self, config: Config) -> bool:
        """Tell whether there is a store yet."""
        ...

    def accounts(
        self, config: Config, store: Store
    ) -> AbstractAsyncContextManager[tuple[Account, ...]]:
        """Open every account, and close it at the end; ConfigError names a missing secret."""
        ...

    def metrics(self, config: Config) -> AbstractAsyncContextManager[Metrics]:
        """Give meters, and serve them where the file says, until the end."""
        ...

    def engine(self, config: Config, ports: Ports, accounts: tuple[Account, ...]) -> Turning:
        """Return the engine, not yet running."""
        ...

    def ports(self, store: Store, metrics: Metrics) -> Ports:
        """Return what controllers share, with the real clock and prober."""
        ...
