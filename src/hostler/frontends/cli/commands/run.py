"""Run: the engine in the foreground, its events on standard output, until it is stopped."""

import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import structlog
from cyclopts import Parameter

from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.logs import log_to
from hostler.frontends.cli.console.options import File, Json
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Purpose, Services
from hostler.frontends.cli.engine_process import EngineProcess, Signals

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
        """Run the engine for every fleet of the file until Ctrl-C; machines stay as they are.

        SIGHUP, or `hostler reload`, makes it read the file again.
        """
        log_to(sys.stdout, json=json or not sys.stdout.isatty(), level=log_level)
        return self.guard(json, lambda screen: self._run(file, screen))

    async def _run(self, file: Path, screen: Screen) -> int:
        signals = Signals()
        with signals.heard(signal.SIGHUP):
            config = self.services.load(file)
            async with (
                self.services.store(config, Purpose.ENGINE) as store,
                self.services.metrics(config) as metrics,
                self.services.frontends(config) as frontends,
            ):
                process = EngineProcess(self.services, store, metrics, frontends, signals)
                await process.run(config)
        log.info("engine stopped", machines="stay as they are")
        screen.note("stopped; machines stay as they are, and stay on the bill")
        return Exit.OK
