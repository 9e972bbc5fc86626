"""Services: what the command line needs from the rest of the program, handed to it by app."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from hostler.config.values import Config
from hostler.controllers.runtime.settings import Account, Ports
from hostler.domain.errors import ConfigError
from hostler.ports.clock import Clock
from hostler.ports.kind import Lack
from hostler.ports.metrics import Metrics
from hostler.ports.store import Store
from hostler.queries.providers import Providers
from hostler.queries.standing import Standing, standing

if TYPE_CHECKING:  # a screen draws with rich, which the runner's plugin does without
    from .console.screen import Screen


class Purpose(StrEnum):
    """What a store is opened for."""

    READ = "read"
    """Records are read; where there is no store yet, an empty one in memory is given."""
    CHECK = "check"
    """As to read; a store that nobody but its engine sees is an empty one, too."""
    REQUEST = "request"
    """Requests are recorded, beside a running engine or without one; only an engine makes it."""
    ENGINE = "engine"
    """This process is the engine; StoreHeld where another one is."""


class ClusterOptions(Struct, frozen=True, kw_only=True):
    """Which cluster's objects are run, beside a file or without one; what is left out: as usual.

    The first of `namespaces` is the home: Leases and, without a file, records are there.
    """

    file: Path | None = None
    kubeconfig: Path | None = None
    context: str | None = None
    namespaces: tuple[str, ...] = ()
    all_namespaces: bool = False
    state: Path | None = None


class Runnable(Protocol):
    """An engine, as far as a frontend has to do with it."""

    async def run(self) -> None:
        """Run until cancelled; leases are given back on the way out."""
        ...


class Frontends(Protocol):
    """What else is served beside an engine, and over its restarts."""

    async def attach(self, config: Config, ports: Ports, engine: object) -> None:
        """Answer from this engine's records from now on. Raises StoreError."""
        ...


class Services(Protocol):
    """Everything that has a real adapter."""

    def load(self, path: Path, *, partial: bool = False) -> Config:
        """Return the fleet file's values; ConfigError has all that is wrong with it.

        One that stands beside objects is `partial`: it may have no account and no fleet.
        """
        ...

    def objects(self, config: Config, store: Store) -> AbstractAsyncContextManager[Config]:
        """Give the file's values with those of the objects that its engine runs beside it, if any.

        They are read once. Where that fails the values say why; HostlerError without any file.
        """
        ...

    def lacks(self, config: Config) -> Mapping[str, tuple[Lack, ...]]:
        """Return what an engine would not find on this computer, by the path of the table."""
        ...

    async def store_problem(self, config: Config) -> str:
        """Return why an engine could not use the store; empty where it could."""
        ...

    def clock(self) -> Clock:
        """Return the clock."""
        ...

    def actor(self) -> str:
        """Return who uses this command line, for the records."""
        ...

    async def with_removed(self, config: Config, store: Store) -> Config:
        """Return the file's values, with the fleets that the store holds and the file lacks."""
        ...

    def store(self, config: Config, purpose: Purpose) -> AbstractAsyncContextManager[Store]:
        """Open the store and close it at the end; StoreError says why it cannot be used."""
        ...

    def back_up(self, config: Config, to: Path | None) -> Path:
        """Copy the store, beside its engine, to a new file (in a folder: named by the time).

        Returns the file. Raises StoreError, or RequestRefused for a store that is no file.
        """
        ...

    def become(self, words: Sequence[str]) -> None:
        """Go on as another program, which ends this one; RequestRefused where it cannot be run."""
        ...

    def engine_runs(self, config: Config) -> bool:
        """Tell whether an engine holds the store now; it is not disturbed."""
        ...

    def ask_to_reload(self, config: Config) -> None:
        """Ask the engine that holds the store to read its file again; RequestRefused: none can."""
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
        """Give metrics, and serve them where the file says so, until the end."""
        ...

    def frontends(self, config: Config) -> AbstractAsyncContextManager[Frontends]:
        """Serve what the file asks for until the end; ConfigError where it cannot be served."""
        ...

    def engine(self, config: Config, ports: Ports, accounts: tuple[Account, ...]) -> Runnable:
        """Return the engine, not yet running."""
        ...

    async def run_in_cluster(self, options: ClusterOptions) -> None:
        """Run an engine for a cluster's objects until a signal stops it; HostlerError else."""
        ...

    def ports(self, store: Store, metrics: Metrics | None = None) -> Ports:
        """Return what controllers share, with the real clock and prober; without metrics, none."""
        ...

    async def with_nodes(self, config: Config, ports: Ports) -> Ports:
        """Return the ports with what one look at the Nodes of machines shows, if they are any.

        Never raises for the outside: what cannot be looked at is not known.
        """
        ...


@asynccontextmanager
async def open_records(
    services: Services, file: Path, screen: "Screen"
) -> AsyncGenerator[tuple[Config, Store]]:
    """Read a fleet file and open its store to read, and say how the two stand to each other.

    Every command that reads opens its records here. The values have the fleets that only the store
    knows, too, and those that are objects of a cluster. A file that is alone has fleets.
    """
    config = services.load(file, partial=True)
    async with (
        services.store(config, Purpose.READ) as store,
        services.objects(config, store) as read,
    ):
        config = await services.with_removed(read, store)
        if read.objects is None and not read.fleets:
            services.load(file)
        if not config.fleets and not config.unread:
            raise ConfigError(f"{file}: no Fleet is in force there, and none is on record")
        screen.standing = await standing_of(services, config, store)
        yield config, store


async def standing_of(services: Services, config: Config, store: Store) -> Standing:
    """Return how a file stands to the store that it names."""
    exists, runs = services.store_exists(config), services.engine_runs(config)
    return await standing(config, store, services.clock().now(), exists=exists, runs=runs)


@asynccontextmanager
async def open_providers(
    services: Services, config: Config, store: Store
) -> AsyncGenerator[Providers]:
    """Open every account for queries, and close it at the end; ConfigError as `accounts` has it."""
    async with services.accounts(config, store) as accounts:
        ports = await services.with_nodes(config, services.ports(store))
        yield Providers(ports=ports, accounts=accounts, settings=config.settings)
