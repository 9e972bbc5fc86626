"""Running: the engine in the foreground, its events on standard output, until told to stop."""

import asyncio
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import structlog
from cyclopts import Parameter

from hostler.config.values import Config
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.logs import log_to
from hostler.frontends.cli.console.options import File, Json
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Outside, Purpose, Turning

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler")

Level = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Running:
    """The command that acts: all others write wishes, or read."""

    outside: Outside
    guard: Guard

    def run(
        self,
        file: File,
        /,
        *,
        log_level: Annotated[
            Level, Parameter(name="--log", help="the least grave events to print")
        ] = "info",
        json: Json = False,
    ) -> int:
        """Keep every fleet of the file as it is wished, until Ctrl-C; the machines stay then."""
        log_to(sys.stdout, json=json or not sys.stdout.isatty(), level=log_level)
        return self.guard(json, lambda screen: self._run(file, screen))

    async def _run(self, file: Path, screen: Screen) -> int:
        config = self.outside.load(file)
        outside = self.outside
        async with (
            outside.store(config, Purpose.ENGINE) as store,
            outside.accounts(config, store) as accounts,
            outside.metrics(config) as metrics,
        ):
            engine = outside.engine(config, outside.ports(store, metrics), accounts)
            identity = await store.identity()
            log.info("engine started", **_about(config), installation=identity.own)
            await until_stopped(engine)
        log.info("engine stopped", machines="stay as they are")
        screen.note("stopped; machines stay as they are, and cost what they cost")
        return Exit.OK


def _about(config: Config) -> dict[str, object]:
    return {
        "fleets": [str(fleet.name) for fleet in config.fleets],
        "store": str(config.store),
    }


async def until_stopped(engine: Turning) -> None:
    """Run until SIGINT or SIGTERM, then let the engine give back its leases.

    A second signal ends the process at once: nothing is lost by that, only leases stay.
    """
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _told, told, loop)
    try:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(engine.run())
            group.create_task(_cancel_when(told, running))
    finally:
        _as_before(loop)


def _told(told: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
    log.info("stopping", retry_at="a second signal ends at once")
    told.set()
    _as_before(loop)


def _as_before(loop: asyncio.AbstractEventLoop) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.remove_signal_handler(number)


async def _cancel_when(told: asyncio.Event, running: asyncio.Task[None]) -> None:
    await told.wait()
    running.cancel()
