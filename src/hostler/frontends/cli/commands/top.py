"""Top: fleets live, from their records, beside whatever engine runs."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number
from msgspec import Struct
from rich.console import Group, RenderableType
from rich.live import Live

from hostler.config.digests import differing, digests_of_file
from hostler.config.values import Config
from hostler.domain.errors import ConfigError
from hostler.domain.reporting.history import Line
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.options import File, ReadOptions, Whole
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Services, open_records, standing_of
from hostler.frontends.cli.render import tables
from hostler.frontends.cli.render.fitting import Fitted
from hostler.frontends.cli.render.tables import ink
from hostler.ports.engine_record import engine_record_of
from hostler.ports.store import Store
from hostler.queries import documents
from hostler.queries.fleets import FleetStatus, fleet_status
from hostler.queries.history import newest_fleet_events, sentences

_EVENTS = 8


class TopCommand(Struct, frozen=True):
    """The command that stays on the screen."""

    services: Services
    guard: Guard

    def top(
        self,
        file: File,
        /,
        *,
        every: Annotated[
            float, Parameter(help="seconds between updates", validator=Number(gte=0.2))
        ] = 1.0,
        count: Annotated[
            Whole | None, Parameter(help="stop after this many updates", validator=Number(gte=1))
        ] = None,
        options: ReadOptions | None = None,
    ) -> int:
        """Watch fleets live until Ctrl-C; with --json, each update is one line."""
        chosen = options or ReadOptions()
        pace = timedelta(seconds=every)
        return self.guard(chosen.json, lambda screen: self._top(file, pace, count, chosen, screen))

    async def _top(
        self, file: Path, pace: timedelta, count: int | None, options: ReadOptions, screen: Screen
    ) -> int:
        # What is wrong with the file is told before the screen changes.
        self.services.load(file, partial=True)
        if not screen.live and not screen.json:
            count = count or 1
        with suppress(asyncio.CancelledError):
            if screen.live:
                with Live(console=screen.out, screen=True, auto_refresh=False) as live:
                    await self._repeat(file, pace, count, options, _Frames(screen, live))
            else:
                await self._repeat(file, pace, count, options, _Frames(screen, None))
        return Exit.OK

    async def _repeat(
        self,
        file: Path,
        pace: timedelta,
        count: int | None,
        options: ReadOptions,
        frames: "_Frames",
    ) -> None:
        """Show updates until there were enough.

        File and store are opened again once there is a store, or another file.
        """
        updates = 0
        while count is None or updates < count:
            async with open_records(self.services, file, frames.screen) as (config, store):
                exists, ran = self.services.store_exists(config), await _engine_since(store)
                while count is None or updates < count:
                    read = await self._read(store, config, options)
                    frames.screen.standing = await standing_of(self.services, config, store)
                    frames.show(*read)
                    updates += 1
                    if updates != count:
                        await self.services.clock().sleep(pace)
                    if not exists and self.services.store_exists(config):
                        break
                    if self._is_another(file, config) or await _engine_since(store) != ran:
                        break

    def _is_another(self, file: Path, config: Config) -> bool:
        """Tell whether the file has been changed; one that is wrong just now is not read again."""
        try:
            fresh = self.services.load(file, partial=True)
        except ConfigError:
            return False
        return bool(differing(digests_of_file(config), digests_of_file(fresh)))

    async def _read(
        self, store: Store, config: Config, options: ReadOptions
    ) -> tuple[list[FleetStatus], tuple[Line, ...]]:
        fleets, now = config.chosen(options.fleet), self.services.clock().now()
        runs = self.services.engine_runs(config)
        statuses = [await fleet_status(store, fleet, now, runs=runs) for fleet in fleets]
        events = [e for f in fleets for e in await newest_fleet_events(store, f.name, _EVENTS)]
        events.sort(key=lambda event: event.number)
        return statuses, sentences(events[-_EVENTS:])


async def _engine_since(store: Store) -> datetime | None:
    """Return since when the engine runs what it runs; objects that changed are no other file."""
    record = await engine_record_of(store)
    return record.since if record is not None else None


class _Frames(Struct, frozen=True):
    """Where updates go: a live screen, lines of JSON, or plain text."""

    screen: Screen
    live: Live | None

    def show(self, statuses: Sequence[FleetStatus], lines: Sequence[Line]) -> None:
        """Show one update."""
        if self.live is not None:
            notices = self.screen.standing.notices if self.screen.standing else ()
            self.live.update(fitted(statuses, lines, notices), refresh=True)
            return
        value = {
            "fleets": [documents.fleet(status) for status in statuses],
            "events": [documents.event(line) for line in lines],
        }
        self.screen.show(frame(statuses, lines), value)


def fitted(
    statuses: Sequence[FleetStatus], lines: Sequence[Line], notices: Sequence[str]
) -> RenderableType:
    """Return one update for a live screen: of the events, the latest that there is room for."""

    def picture(events: int) -> RenderableType:
        return Group(frame(statuses, lines[len(lines) - events :]), *map(ink, notices))

    return Fitted(picture, len(lines))


def frame(statuses: Sequence[FleetStatus], lines: Sequence[Line]) -> RenderableType:
    """Return one update: the fleets, and their latest events. Pure."""
    parts = [tables.status(statuses)]
    if lines:
        latest = tables.history(lines, statuses[0].at, names=True)
        parts += [ink("\nlatest events", "dim"), latest]
    return Group(*parts)
