"""Compose: the one place where adapters are chosen; each is imported where it is needed."""

import getpass
import os
import secrets
import signal
import socket
from collections import ChainMap
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from hostler.config import laws
from hostler.config.errors import Faults
from hostler.config.load import load
from hostler.config.values import AccountConfig, Config, WrongFile
from hostler.controllers.runtime.settings import Account, Ports
from hostler.domain.errors import ConfigError, RequestRefused, StoreError, StoreTooOld
from hostler.domain.ids import AccountName, FleetName, InstallationId, machine_id
from hostler.frontends.cli.context import ClusterOptions, Frontends, Purpose, Runnable
from hostler.ports.bootstrap import NoBootstraps, ReadsBootstraps
from hostler.ports.clock import Clock
from hostler.ports.engine_record import engine_record_of
from hostler.ports.http import Endpoint, Transport
from hostler.ports.kind import ChecksAccounts, Lack, Opening, Timing
from hostler.ports.metrics import Metrics
from hostler.ports.store import Store

from .addresses import is_address, values_at
from .clock import SystemClock
from .collector import collect_left, collect_seldom
from .lending import Own, own_of
from .nodes import Nodes, at_work, managed, problem
from .probe_lacks import probe_lacks
from .provider_registry import KINDS
from .store_registry import STORES


def _quiet() -> None:
    """Let adapters that log tell only of errors, unless a command chose otherwise."""
    import structlog

    from hostler.frontends.cli.console.logs import log_nothing_below

    if not structlog.is_configured():
        log_nothing_below("error")


def _check_calls(config: Config, account: Account) -> None:
    """Raise where leases are too short for the calls of a provider, as it was opened."""
    capabilities, faults = account.provider.capabilities, Faults()
    timing = Timing(
        deadline=capabilities.deadline, consistency_delay=capabilities.consistency_delay
    )
    timed = laws.Timed(of=config.settings, timing=timing)
    laws.apply(laws.ENGINE_AND_CALLS, timed, "engine", faults)
    if faults.found:
        raise WrongFile(config.path, tuple(faults.found))


class Composed:
    """The real adapters, as the command line asks for them."""

    def __init__(
        self,
        clock: Clock | None = None,
        environment: Mapping[str, str] | None = None,
        bootstraps: ReadsBootstraps | None = None,
    ) -> None:
        """Use the system's clock and this process's environment unless others are given.

        `bootstraps` reads what single machines are given at their first boot.
        """
        self._clock = clock or SystemClock()
        self._bootstraps = bootstraps or NoBootstraps()
        self._environment = os.environ if environment is None else environment
        self._fleets = list[FleetName]()
        self._nodes: Nodes | None = None
        self._composed = False
        self.cluster = ClusterOptions()
        self.own: Own | None = None
        self._words: Callable[[str], str] = str

    def load(self, path: Path, *, partial: bool = False) -> Config:
        """Return the fleet file's values, or those of no file for the address of objects."""
        if is_address(path):
            return values_at(path, partial=partial)
        return load(path, KINDS, STORES, partial=partial)

    @asynccontextmanager
    async def objects(self, config: Config, store: Store) -> AsyncGenerator[Config]:
        """Give the values with those of the objects that the engine of the store runs.

        Secrets that those name are this process's until the end.
        """
        record = await engine_record_of(store)
        if (record is None or record.objects is None) and not is_address(config.path):
            yield config
            return
        _quiet()
        from .kubernetes.reading import Reader, read_objects

        variables = dict[str, str]()
        before = self._environment, self.own, self.cluster, self._words
        with TemporaryDirectory(prefix="hostler-") as folder:
            reader = Reader(
                services=self,
                store=store,
                environment=self._environment,
                variables=variables,
                folder=Path(folder),
            )
            read = await read_objects(config, record, reader)
            self._environment = ChainMap(variables, dict(self._environment))
            self.own, self.cluster, self._words = read.own, read.cluster, read.places.worded
            try:
                yield read.config
            except ConfigError as error:
                if (text := self._words(str(error))) == str(error):
                    raise
                raise ConfigError(text, error.remedy) from error
            finally:
                self._environment, self.own, self.cluster, self._words = before

    def lacks(self, config: Config) -> Mapping[str, tuple[Lack, ...]]:
        """Return what an engine would not find on this computer, by the path of the table."""
        lacks = {
            f"provider.{account.name}": kind.missing(
                account.settings, config.folder, self._environment
            )
            for account in config.accounts
            if isinstance(kind := KINDS[account.kind](), ChecksAccounts)
        }
        for fleet in config.fleets:
            if found := tuple(probe_lacks(fleet, self._environment)):
                lacks[f"fleet.{fleet.name}"] = found
        if (fleets := managed(config)) and (why := problem(self._environment, self._clock)):
            lack = Lack(key="node.managed", text=why, environment=True)
            for name in fleets:
                lacks[f"fleet.{name}"] = (*lacks.get(f"fleet.{name}", ()), lack)
        return {
            path: tuple(replace(lack, text=self._words(lack.text)) for lack in found)
            for path, found in lacks.items()
        }

    async def store_problem(self, config: Config) -> str:
        """Return why an engine could not use the store; it is read, and not changed."""
        kind = STORES[config.store.scheme]
        if problem := kind.problem(config.store):
            return problem
        if not kind.exists(config.store):
            return ""
        try:
            async with self.store(config, Purpose.READ) as store:
                await store.fleets()
        except StoreTooOld:
            return ""
        except StoreError as error:
            return str(error)
        return ""

    def clock(self) -> Clock:
        """Return the clock."""
        return self._clock

    def actor(self) -> str:
        """Return the user and host of this process."""
        try:
            user = getpass.getuser()
        except (KeyError, OSError):
            user = f"user {os.getuid()}"
        return f"{user}@{socket.gethostname()}"

    async def with_removed(self, config: Config, store: Store) -> Config:
        """Return the file's values, with the fleets that the store holds and the file lacks."""
        from hostler.config.account_ids import identified
        from hostler.config.removed import with_removed
        from hostler.queries.removed import removed_fleets

        if removed := await removed_fleets(store, config, self._clock.now()):
            config = with_removed(config, (one.row for one in removed), KINDS)
        return identified(config, KINDS, self._environment)

    @asynccontextmanager
    async def store(self, config: Config, purpose: Purpose) -> AsyncGenerator[Store]:
        """Open the store, and close it at the end."""
        opened = STORES[config.store.scheme].open(config.store, purpose)
        try:
            yield opened
        finally:
            await opened.close()

    def back_up(self, config: Config, to: Path | None) -> Path:
        """Copy the store to a file."""
        kind = STORES[config.store.scheme]
        return kind.back_up(config.store, to, self._clock.now())

    def become(self, words: Sequence[str]) -> None:
        """Replace this process by a program of the PATH."""
        try:
            os.execvp(words[0], list(words))  # noqa: S606 - a person asked for it, without a shell
        except OSError as error:
            raise RequestRefused(f"{words[0]} cannot be run: {error.strerror}") from error

    def engine_runs(self, config: Config) -> bool:
        """Tell whether an engine holds the store now."""
        return STORES[config.store.scheme].is_held(config.store)

    def ask_to_reload(self, config: Config) -> None:
        """Send SIGHUP to the engine that holds the store."""
        kind = STORES[config.store.scheme]
        process = kind.holder(config.store)
        if process is None and kind.is_held(config.store):
            raise RequestRefused(
                f"the engine on {config.store} may be on another computer or in a container: send "
                "its process SIGHUP"
            )
        if process is None:
            raise RequestRefused(f"no engine runs on {config.store}: start one with hostler run")
        try:
            os.kill(process, signal.SIGHUP)
        except OSError as error:
            raise RequestRefused(
                f"the engine (process {process}) cannot be asked: {error.strerror}; ask as the "
                "user that it runs as, on its own computer"
            ) from error

    def store_exists(self, config: Config) -> bool:
        """Tell whether there is a store yet."""
        return STORES[config.store.scheme].exists(config.store)

    @asynccontextmanager
    async def accounts(self, config: Config, store: Store) -> AsyncGenerator[tuple[Account, ...]]:
        """Open every account that a fleet lives in, and close them at the end."""
        _quiet()
        from hostler.queries.left_accounts import refuse_left_accounts

        await refuse_left_accounts(store, config, self._clock.now())
        identity = await store.identity()
        async with AsyncExitStack() as stack:
            opened = list[Account]()
            for account in config.accounts:
                made = self._account(config, account, identity.own)
                stack.push_async_callback(made.provider.close)
                opened.append(made)
                _check_calls(config, made)
            yield tuple(account for account in opened if account.fleets)

    def _account(
        self, config: Config, account: AccountConfig, installation: InstallationId
    ) -> Account:
        from hostler.access.shell import SshShell

        fleets = tuple(fleet for fleet in config.fleets if fleet.account == account.name)
        opening = Opening(
            name=account.name,
            settings=account.settings,
            templates={fleet.name: config.templates[fleet.name] for fleet in fleets},
            installation=installation,
            folder=config.folder,
            environment=self._environment,
            clock=self._clock,
            shell=SshShell(lends=self.lends_to(account.name)),
            connect=_connect,
            bootstraps=self._bootstraps,
        )
        return Account(
            name=account.name,
            provider=KINDS[account.kind]().open(opening),
            fleets=fleets,
            rate=account.rate,
            burst=account.burst,
        )

    @asynccontextmanager
    async def metrics(self, config: Config) -> AsyncGenerator[Metrics]:
        """Give Prometheus metrics, served where the file says so; elsewhere nothing is counted."""
        if config.metrics is None:
            from .null_metrics import NullMetrics

            yield NullMetrics()
            return
        from hostler.frontends.metrics.metrics import PrometheusMetrics
        from hostler.frontends.metrics.serve import serving

        metrics = PrometheusMetrics(self._clock)
        self._fleets[:] = (fleet.name for fleet in config.fleets)
        async with serving(config.metrics, metrics, self._fleets):
            yield metrics

    @asynccontextmanager
    async def frontends(self, config: Config) -> AsyncGenerator[Frontends]:
        """Serve what the file asks for, and work at the Nodes of fleets that say so."""
        async with at_work(Nodes(self._environment, self._clock, self.cluster)) as self._nodes:
            if config.externalgrpc is None:
                yield self._nodes
                return
            from .frontends import frontends  # gRPC takes a while to import

            async with frontends(config, self._nodes.sizes) as self._nodes.others:
                yield self._nodes

    async def with_nodes(self, config: Config, ports: Ports) -> Ports:
        """Return the ports with what one look at the Nodes of machines shows, if they are any."""
        if not managed(config):
            return ports
        nodes = Nodes(self._environment, self._clock, self.cluster)
        await nodes.look(config, ports)
        return replace(ports, workloads=nodes)

    def engine(self, config: Config, ports: Ports, accounts: tuple[Account, ...]) -> Runnable:
        """Return the engine, under a name of its own."""
        from hostler.controllers.engine import Engine

        if self._composed:
            collect_left()
        self._composed = True
        collect_seldom()
        self._fleets[:] = (fleet.name for fleet in config.fleets)
        return Engine(ports, accounts, self.holder(), config.settings)

    async def run_in_cluster(self, options: ClusterOptions) -> None:
        """Run an engine for a cluster's objects until a signal stops it."""
        from hostler.frontends.kubernetes.clusterapi.bootstrap import BootstrapSecrets

        from .kubernetes.run import Process, run_in_cluster

        variables, bootstraps = dict[str, str](), BootstrapSecrets()
        services = self.for_objects(options, variables, bootstraps)
        process = Process(
            services=services,
            lend=services.lend,
            environment=self._environment,
            variables=variables,
            bootstraps=bootstraps,
            holder=self.holder(),
        )
        await run_in_cluster(options, process)

    def for_objects(
        self,
        options: ClusterOptions,
        variables: dict[str, str],
        bootstraps: ReadsBootstraps | None = None,
    ) -> "Composed":
        """Return adapters for objects of a cluster, which find these variables too.

        Whoever writes such objects is lent no private key of the engine's own. ConfigError where
        the file beside them cannot be read.
        """
        environment = ChainMap(variables, dict(self._environment))
        services = Composed(self._clock, environment, bootstraps)
        services.cluster, services.own = options, own_of(options.file)
        return services

    def lends_to(self, account: AccountName) -> bool:
        """Tell whether logins of an account may try what this computer's SSH agent and user have.

        All may in an engine of a file; beside objects, those of the file.
        """
        return self.own is None or account in self.own.accounts

    def lend(self, own: Own) -> None:
        """Take this for what stands in the file beside objects from now on."""
        self.own = own

    def holder(self) -> str:
        """Return a name for this engine alone: whose leases these are."""
        return f"{self.actor()}-{os.getpid()}-{secrets.token_hex(3)}"

    def ports(self, store: Store, metrics: Metrics | None = None) -> Ports:
        """Return what controllers share; without metrics nothing is counted."""
        from hostler.access.preparer import SshPreparer
        from hostler.access.prober import SystemProber
        from hostler.frontends.kubernetes.nodes.prober import NodeProber

        from .null_metrics import NullMetrics

        own, lends = self.own or Own(), self.own is None
        preparer, prober = SshPreparer(lends=lends), SystemProber(lends=lends)
        return Ports(
            store=store,
            clock=self._clock,
            prober=prober if self._nodes is None else NodeProber(prober, self._nodes),
            metrics=NullMetrics() if metrics is None else metrics,
            fresh=lambda: machine_id(secrets.randbits(50)),
            preparer=preparer,
            asker=preparer,
            workloads=self._nodes,
            bootstraps=self._bootstraps,
            lends=own.has,
        )


def _connect(endpoint: Endpoint) -> Transport:
    """Return what speaks HTTP; not everybody needs its import of a tenth of a second."""
    from hostler.access.http import AiohttpTransport

    return AiohttpTransport(endpoint)
