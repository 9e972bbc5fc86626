"""Group: a runner's group put together: its configuration, store, account and engine."""

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path

import structlog
from msgspec import Struct
from msgspec.structs import replace

from hostler.access.prober import SystemProber
from hostler.app.clock import SystemClock
from hostler.app.collector import collect_seldom
from hostler.app.compose import Composed
from hostler.app.provider_registry import KINDS
from hostler.app.store_registry import STORES
from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Account
from hostler.domain.errors import ConfigError, StoreError, StoreHeld
from hostler.frontends.cli.context import Purpose
from hostler.frontends.fleeting.config.holder import host_lives, write_holder
from hostler.frontends.fleeting.config.load import FolderHeld, LoadContext, load_group
from hostler.frontends.fleeting.config.values import GroupConfig
from hostler.frontends.fleeting.contract import Connector, Refused
from hostler.frontends.fleeting.group.context import GroupContext
from hostler.ports.clock import Clock
from hostler.ports.keys import RegistersKeys
from hostler.ports.online import ChecksOnline, Finding
from hostler.ports.store import Store
from hostler.queries.live import EngineRecords
from hostler.stores.sqlite.file import is_held

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.fleeting")


_PATIENCE = timedelta(seconds=10)


_PARTING = timedelta(seconds=5)


class GroupKey(Struct, frozen=True):
    """The public half of a group's key, and the name under which it is ours."""

    provider: object
    public: str
    name: str

    async def register(self) -> tuple[str, ...]:
        """Register it; return what to say where that went wrong."""
        if not isinstance(self.provider, RegistersKeys):
            return ()
        try:
            async with asyncio.timeout(_PATIENCE.total_seconds()):
                finding = await self.provider.register_key(self.public, self.name)
        except TimeoutError:
            return (_note("was not registered in time"),)
        log.info("ssh key", state=finding.text)
        return () if finding.well else (_note(finding.text),)

    async def release(self) -> None:
        """Take it out; for when no machine is left that would read it at its next boot."""
        if not isinstance(self.provider, RegistersKeys):
            return
        try:
            async with asyncio.timeout(_PARTING.total_seconds()):
                finding = await self.provider.release_key(self.public, self.name)
        except TimeoutError:
            log.warning("ssh key", state="was not taken out in time; the next start finds it")
            return
        (log.info if finding.well else log.warning)("ssh key", state=finding.text)


def _note(text: str) -> str:
    return f"the group's SSH key {text}; instances get it by cloud-init all the same"


_HELD = timedelta(seconds=15)
"""How long to wait for a plugin whose host is gone to let go of the group's records."""
_HELD_BY_LIVING = timedelta(seconds=1.5)
"""How long to wait where its host lives: it may be just about to end, and else it stays."""
_AGAIN = timedelta(milliseconds=250)
_ASKING = timedelta(seconds=15)
"""How long the provider may take to say whether all is in order; Init has a minute at most."""


class GroupOpener:
    """Opens the group that `plugin_config` asks for."""

    def __init__(
        self,
        environment: Mapping[str, str],
        folder: Path,
        clock: Clock | None = None,
        living: Callable[[Path], bool] = host_lives,
    ) -> None:
        """Read relative paths from `folder`, and credentials from `environment` too.

        `living` tells whether the host of the plugin that has a group's folder is still there.
        """
        self._environment, self._folder = environment, folder
        self._clock, self._host_lives = clock or SystemClock(), living

    async def open(self, config: bytes, connector: Connector) -> GroupContext:
        """Return the group, its account asked whether all is in order."""
        try:
            async with AsyncExitStack() as stack:
                return await self._open(config, connector, stack)
        except (ConfigError, StoreError) as error:
            raise Refused(str(error)) from error

    async def _open(
        self, content: bytes, connector: Connector, stack: AsyncExitStack
    ) -> GroupContext:
        group, store = await self._let_in(content, connector)
        stack.push_async_callback(store.close)
        composed = Composed(self._clock, group.environment)
        (account,) = await stack.enter_async_context(composed.accounts(group.config, store))
        key = GroupKey(account.provider, group.key.public, await _key_name(group, store))
        notes = (*await _in_order(account), *await key.register())
        metrics = await stack.enter_async_context(composed.metrics(group.config))
        prober = SystemProber((group.key.private,))
        ports = replace(composed.ports(store, metrics), prober=prober)
        collect_seldom()
        engine = Engine(ports, (account,), composed.holder(), group.config.settings)
        keep = stack.pop_all()

        async def close(living: int) -> None:
            if not living:
                await key.release()
            await keep.aclose()

        return GroupContext(
            fleet=group.fleet,
            engine=engine,
            live=EngineRecords(engine.loops[0], group.fleet.name),
            store=store,
            clock=ports.clock,
            prober=prober,
            fresh=ports.fresh,
            version=version("hostler"),
            close=close,
            user=group.user,
            key=group.key.private,
            adopt=group.adopt,
            notes=(*group.warnings, *notes),
        )

    async def _let_in(self, content: bytes, connector: Connector) -> tuple[GroupConfig, Store]:
        """Read the group and take its store; who held it may be just about to end."""
        context = LoadContext(
            environment=self._environment,
            folder=self._folder,
            root=os.geteuid() == 0,
            kinds=KINDS,
            stores=STORES,
            held=is_held,
        )
        begun = self._clock.boot()
        while True:
            try:
                group = load_group(content, connector, context)
                url = group.config.store
                store = STORES[url.scheme].open(url, Purpose.ENGINE)
            except StoreHeld as held:
                if self._clock.boot() - begun >= self._patience(held).total_seconds():
                    raise
            else:
                write_holder(group.state, os.getpid(), os.getppid())
                return group, store
            await self._clock.sleep(_AGAIN)

    def _patience(self, held: StoreHeld) -> timedelta:
        living = isinstance(held, FolderHeld) and self._host_lives(held.folder)
        return _HELD_BY_LIVING if living else _HELD


async def _key_name(group: GroupConfig, store: Store) -> str:
    """Return the name that says whose the key is: no other installation has it."""
    return f"hostler-{(await store.identity()).own}-{group.name}"


async def _in_order(account: Account) -> tuple[str, ...]:
    """Return what is not in order and may heal; ConfigError for all that will not by waiting."""
    provider = account.provider
    if not isinstance(provider, ChecksOnline):
        return ()
    offers = {fleet.name: fleet.offers for fleet in account.fleets}
    try:
        async with asyncio.timeout(_ASKING.total_seconds()):
            found = await provider.check_online(offers)
    except TimeoutError:
        return ("the provider did not answer in time; instances wait until it does",)
    if wrong := [finding for finding in found if finding.lasting]:
        raise ConfigError("\n".join(_line_of(finding) for finding in wrong))
    return tuple(_line_of(finding) for finding in found if not finding.well)


def _line_of(finding: Finding) -> str:
    return f"{finding.about}: {finding.text}"
