"""Watching: top shows fleets live, from their records, beside whatever engine runs."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Group, RenderableType
from rich.live import Live

from hostler.config.values import Config
from hostler.domain.reporting.history import Line, tell
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.options import About, File
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Outside, Purpose
from hostler.frontends.cli.render import as_json, tables
from hostler.frontends.cli.render.tables import ink
from hostler.frontends.cli.views.events import newest
from hostler.frontends.cli.views.fleet_status import Standing
from hostler.ports.store import Store

from .status import standing_of

_EVENTS = 8


@dataclass(frozen=True, slots=True)
class Watching:
    """The command that stays."""

    outside: Outside
    guard: Guard

    def top(
        self,
        file: File,
        /,
        *,
        every: Annotated[
            float, Parameter(help="seconds between pictures", validator=Number(gte=0.2))
        ] = 1.0,
        count: Annotated[
            int | None, Parameter(help="end after so many pictures", validator=Number(gte=1))
        ] = None,
        about: About | None = None,
    ) -> int:
        """Watch fleets live; Ctrl-C ends it. With --json, an object a line for each picture."""
        asked = about or About()
        pace = timedelta(seconds=every)
        return self.guard(asked.json, lambda screen: self._top(file, pace, count, asked, screen))

    async def _top(
        self, file: Path, pace: timedelta, count: int | None, asked: About, screen: Screen
    ) -> int:
        config = self.outside.load(file)
        if not screen.live and not screen.json:
            count = count or 1
        with suppress(asyncio.CancelledError):
            if screen.live:
                with Live(console=screen.out, screen=True, auto_refresh=False) as live:
                    await self._repeat(config, pace, count, asked, _Frames(screen, live))
            else:
                await self._repeat(config, pace, count, asked, _Frames(screen, None))
        return Exit.OK

    async def _repeat(
        self, config: Config, pace: timedelta, count: int | None, asked: About, frames: "_Frames"
    ) -> None:
        """Show pictures until there were enough; the store is opened anew when one appears."""
        shown = 0
        while count is None or shown < count:
            async with self.outside.store(config, Purpose.READ) as store:
                exists = self.outside.store_exists(config)
                while count is None or shown < count:
                    frames.show(*await self._seen(store, config, asked))
                    shown += 1
                    if shown != count:
                        await self.outside.clock().sleep(pace)
                    if not exists and self.outside.store_exists(config):
                        break

    async def _seen(
        self, store: Store, config: Config, asked: About
    ) -> tuple[list[Standing], list[Line]]:
        fleets = config.chosen(asked.fleet)
        seen = [await standing_of(self.outside, store, config, fleet) for fleet in fleets]
        kept = [k for fleet in fleets for k in await newest(store, fleet.name, _EVENTS)]
        kept.sort(key=lambda k: k.number)
        return seen, [tell(k.event) for k in kept[-_EVENTS:]]


@dataclass(frozen=True, slots=True)
class _Frames:
    """Where pictures go: a live screen, lines of JSON, or plain text."""

    screen: Screen
    live: Live | None

    def show(self, seen: Sequence[Standing], lines: Sequence[Line]) -> None:
        """Show one picture."""
        if self.live is not None:
            self.live.update(frame(seen, lines), refresh=True)
            return
        value = {
            "fleets": [as_json.standing(entry) for entry in seen],
            "events": [as_json.line(line) for line in lines],
        }
        self.screen.show(frame(seen, lines), value)


def frame(seen: Sequence[Standing], lines: Sequence[Line]) -> RenderableType:
    """Return one picture: the fleets, and what happened of late. Pure."""
    resources = [tables.status(seen)]
    if lines:
        resources += [ink("\nof late", "dim"), tables.history(lines, seen[0].at, names=True)]
    return Group(*resources)
