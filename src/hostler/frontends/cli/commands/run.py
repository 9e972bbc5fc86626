"""Run: the engine in the foreground, its events on standard output, until it is stopped."""

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
from hostler.frontends.cli.context import Purpose, Runnable, Services

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler")

Level = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class RunCommand:
    """The command that acts: all others record requests, or read."""

    services: Services
    guard: Guard

    def run(
        self,
        file: File,
        /,
        *,
        log_level: Annotated[
            Level, Parameter(name="--log", help="the lowest level of events to print")
        ] = "info",
        json: Json = False,
    ) -> int:
        """Run the engine for every fleet of the file until Ctrl-C; machines stay as they are."""
        log_to(sys.stdout, json=json or not sys.stdout.isatty(), level=log_level)
        return self.guard(json, lambda screen: self._run(file, screen))

    async def _run(self, file: Path, screen: Screen) -> int:
        config = self.services.load(file)
        services = self.services
        async with (
            services.store(config, Purpose.ENGINE) as store,
            services.accounts(config, store) as accounts,
            services.metrics(config) as metrics,
        ):
            engine = services.engine(config, services.ports(store, metrics), accounts)
            identity = await store.identity()
            log.info("engine started", **_about(config), installation=identity.own)
            await until_stopped(engine)
        log.info("engine stopped", machines="stay as they are")
        screen.note("stopped; machines stay as they are, and stay on the bill")
        return Exit.OK


def _about(config: Config) -> dict[str, object]:
    return {
        "fleets": [str(fleet.name) for fleet in config.fleets],
        "store": str(config.store),
    }


async def until_stopped(engine: Runnable) -> None:
    """Run until SIGINT or SIGTERM, then let the engine give back its leases.

    A second signal ends the process at once: nothing is lost by that, only leases stay.
    """
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _stop, stopping, loop)
    try:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(engine.run())
            group.create_task(_cancel_when(stopping, running))
    finally:
        _restore_signals(loop)


def _stop(stopping: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
    log.info("stopping", hint="a second signal ends at once")
    stopping.set()
    _restore_signals(loop)


def _restore_signals(loop: asyncio.AbstractEventLoop) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.remove_signal_handler(number)


async def _cancel_when(stopping: asyncio.Event, running: asyncio.Task[None]) -> None:
    await stopping.wait()
    running.cancel()
