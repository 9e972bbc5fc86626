"""Engine process: runs the engine of a fleet file, and of the file anew when it is read again.

A file that is read again is taken whole or refused whole. It is opened beside the engine that runs;
only then that engine ends, in order, and the next one goes on from the records, as after a restart.
"""

import asyncio
import signal
from collections.abc import Callable, Generator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

import structlog
from msgspec import Struct
from msgspec.structs import replace

from hostler.config.digests import differing, digests
from hostler.config.named_files import digest_of_files
from hostler.config.values import Config
from hostler.controllers.runtime.measurements import forget_account, forget_fleet
from hostler.controllers.runtime.settings import Account, Ports
from hostler.domain.errors import (
    ConfigError,
    HostlerError,
    StoreError,
    StoreUnusable,
)
from hostler.ports.engine_record import EngineRecord, KeepsEngineRecord
from hostler.ports.metrics import Metrics
from hostler.ports.store import Store
from hostler.queries.removed import removed_fleets

from .context import Frontends, Runnable, Services

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler")

_FIXED = ("store", "metrics", "frontend")
"""What a process is started with, and keeps."""

_AGAIN = timedelta(seconds=2)
"""How long after the store did not answer the next engine tries to begin."""


@dataclass(slots=True)
class Signals:
    """What this process was asked for: to stop, or to read again what is run, and its file too.

    `reads` says that it is being read again, or that the engine of it is about to begin, and is not
    on record yet.
    """

    stop: bool = False
    reload: bool = False
    file: bool = False
    reads: bool = False
    came: asyncio.Event = field(default_factory=asyncio.Event)

    @contextmanager
    def heard(self, *numbers: signal.Signals) -> Generator[None]:
        """Hear these signals in the block; a second one that stops ends the process at once.

        Ctrl-C is kept away from what a script started beside itself; who runs an engine hears it.
        """
        loop = asyncio.get_running_loop()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
        for number in numbers:
            loop.add_signal_handler(number, self._hear, number)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    @property
    def is_reloading(self) -> bool:
        """Whether what runs may be about to end for another configuration."""
        return self.reload or self.reads

    def ask_to_reload(self) -> None:
        """Have what is run be read again, but for its file."""
        self.reload = True
        self.came.set()

    def _hear(self, number: signal.Signals) -> None:
        if number is signal.SIGHUP:
            self.reload = self.file = True
        else:
            log.info("stopping", hint="a second signal ends at once")
            self.stop = True
            asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
            asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)
        self.came.set()


class _Opened(Struct, frozen=True, kw_only=True):
    """A fleet file with its accounts, open, and what the `files` held that it names."""

    config: Config
    files: str
    accounts: tuple[Account, ...]
    stack: AsyncExitStack


class Reads(Protocol):
    """Where a configuration is read that is more than a file."""

    async def read(self, *, file: bool) -> Config:
        """Return what is to be run; with `file` its file is read anew first.

        ConfigError: the file is refused whole, and all is as it was.
        """
        ...

    def refuse(self) -> None:
        """Hear that the file that was read last is not run: what was before it counts again."""
        ...

    async def began(self, config: Config) -> None:
        """Hear that an engine of this begins, and that none runs anything else any more."""
        ...

    def objects(self) -> tuple[str, ...]:
        """Return the paths of the tables that no file has."""
        ...

    def home(self) -> str:
        """Return the namespace whose objects have their own names."""
        ...


class EngineProcess:
    """Runs engines over one store, one after the other.

    `reads` is what it reads but a file; `yields` tells when another process is to run it.
    """

    def __init__(
        self,
        services: Services,
        store: Store,
        metrics: Metrics,
        frontends: Frontends,
        signals: Signals,
    ) -> None:
        self._services, self._store, self._metrics = services, store, metrics
        self._frontends, self._signals = frontends, signals
        self.reads: Reads | None = None
        self.yields: Callable[[], bool] | None = None
        self._next: _Opened | None = None
        self._runs: EngineRecord | None = None
        self._files = ""

    async def run(self, config: Config) -> None:
        """Run until SIGINT or SIGTERM; SIGHUP reads the file again. Leases are given back."""
        opened: _Opened | None = await self._open(config)
        with self._signals.heard(signal.SIGINT, signal.SIGTERM):
            while opened is not None:
                self._next = None
                async with opened.stack:
                    await self._run(opened)
                before, opened = opened, self._next
                if opened is not None:
                    self._forget_left(before, opened)

    def _forget_left(self, before: _Opened, now: _Opened) -> None:
        """Have what is run no more alert of nothing: the metrics outlive engines."""
        fleets = {fleet.name for fleet in before.config.fleets}
        for fleet in fleets - {fleet.name for fleet in now.config.fleets}:
            forget_fleet(self._metrics, fleet)
        accounts = {account.name for account in before.accounts}
        for account in accounts - {account.name for account in now.accounts}:
            forget_account(self._metrics, account)

    async def _open(self, config: Config) -> _Opened:
        config = await self._services.with_removed(config, self._store)
        files = digest_of_files(config)
        async with AsyncExitStack() as stack:
            accounts = await stack.enter_async_context(self._services.accounts(config, self._store))
            return _Opened(config=config, files=files, accounts=accounts, stack=stack.pop_all())

    async def _run(self, opened: _Opened) -> None:
        """Run one engine until it is to stop, or another is to take its place."""
        self._files = opened.files
        ports = self._services.ports(self._store, self._metrics)
        ports = replace(ports, yields=self.yields or ports.yields)
        engine = self._services.engine(opened.config, ports, opened.accounts)
        while not await self._began(opened.config, ports, engine):
            await self._services.clock().sleep(_AGAIN)
        self._signals.reads = False
        if self.reads is not None:
            await self.reads.began(opened.config)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(engine.run())
            group.create_task(self._end_when_asked(running, opened.config))

    async def _began(self, config: Config, ports: Ports, engine: Runnable) -> bool:
        """Attach what is served to an engine, and tell of it; false where that has to wait.

        Where one ran before, nobody looks after its machines if this process ends now.
        """
        try:
            await self._frontends.attach(config, ports, engine)
            identity = await self._store.identity()
            now = self._services.clock().now()
            removed = await removed_fleets(self._store, config, now)
        except StoreUnusable:
            raise
        except StoreError as error:
            if self._runs is None:
                raise
            log.warning("the next engine waits for the store", error=str(error))
            return self._signals.stop
        await self._record(config)
        log.info("engine started", **_about(config), installation=identity.own)
        for one in removed:
            log.warning(one.sentence(config.unreadable, now), fleet=one.row.name)
        return True

    async def _end_when_asked(self, running: asyncio.Task[None], config: Config) -> None:
        while not self._signals.stop and self._next is None:
            await self._signals.came.wait()
            self._signals.came.clear()
            if self._signals.reload and not self._signals.stop:
                self._signals.reload, self._signals.reads = False, True
                self._next = await self._read_again(config)
                self._signals.reads = self._next is not None
        running.cancel()

    async def _read_again(self, config: Config) -> _Opened | None:
        """Return the file as it is now, opened; None where it is refused, or says the same."""
        try:
            fresh = await self._fresh(config)
            changed = differing(digests(config), digests(fresh))
            if digest_of_files(fresh) != self._files:
                changed = (*changed, "files that it names")
            _check(changed)
            opened = await self._open(fresh) if changed else None
        except HostlerError as error:
            if self.reads is not None:
                self.reads.refuse()
            log.warning("file refused, the engine goes on with the old one", why=str(error))
            await self._refused(str(error))
            return None
        except Exception as error:
            if self.reads is not None:
                self.reads.refuse()
            log.exception("this is a bug in hostler; the engine goes on with the old file")
            await self._refused(f"a bug in hostler: {type(error).__name__}: {error}")
            return None
        log.info("file read again", changed=changed)
        if opened is None:
            await self._record(config)
        return opened

    async def _fresh(self, config: Config) -> Config:
        """Read what is to be run; the file beside objects only where somebody asked for that."""
        file, self._signals.file = self._signals.file, False
        if self.reads is None:
            return self._services.load(config.path)
        return await self.reads.read(file=file)

    async def _record(self, config: Config) -> None:
        """Write which file this process runs."""
        self._runs = EngineRecord(
            file=str(config.path.resolve()),
            since=self._services.clock().now(),
            tables=digests(config),
            objects=self.reads.objects() if self.reads is not None else None,
            home=self.reads.home() if self.reads is not None else "",
        )
        await self._save(self._runs)

    async def _refused(self, why: str) -> None:
        """Write why the file as it is now is not run."""
        if self._runs is not None:
            now = self._services.clock().now()
            await self._save(replace(self._runs, refused=why, refused_at=now))

    async def _save(self, record: EngineRecord) -> None:
        """Write it for those who read; an engine works on where they cannot be informed."""
        if not isinstance(self._store, KeepsEngineRecord):
            return
        try:
            await self._store.save_engine_record(record)
        except StoreUnusable:
            raise
        except StoreError as error:
            log.warning("not recorded which file runs", error=str(error))


def _check(changed: tuple[str, ...]) -> None:
    """Raise where a running process cannot take the file."""
    if fixed := [path for path in changed if path in _FIXED]:
        raise ConfigError(f"{' and '.join(fixed)} cannot change while it runs: restart it")


def _about(config: Config) -> dict[str, object]:
    return {
        "fleets": [str(fleet.name) for fleet in config.fleets if not fleet.removed],
        "store": str(config.store),
    }
