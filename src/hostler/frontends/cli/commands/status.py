"""Status: how fleets stand, what happened, and which resources are orphans, by the records."""

import re
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number
from msgspec import Struct

from hostler.domain.errors import UsageError
from hostler.domain.ids import Zone
from hostler.domain.reporting.history import Line
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.format import parse_time
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.options import File, ReadOptions, Whole
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Services, open_providers, open_records
from hostler.frontends.cli.render import tables
from hostler.queries import documents
from hostler.queries.fleets import fleet_status, is_remembered, past_fleet_status
from hostler.queries.history import (
    host_events,
    machine_events,
    newest_fleet_events,
    sentences,
)
from hostler.queries.lookup import find_host, find_past_machine
from hostler.queries.orphans import (
    freshness,
    observed_orphans,
    recorded_orphans,
    unobserved_fleets,
)
from hostler.queries.wording import clock_time

_LATEST = 20


class StatusCommands(Struct, frozen=True):
    """The commands that read."""

    services: Services
    guard: Guard

    def status(
        self,
        file: File,
        /,
        *,
        at: Annotated[
            str | None,
            Parameter(
                help="show the fleet as it was: 2026-03-01T14:30, or 10m for ten minutes ago"
            ),
        ] = None,
        options: ReadOptions | None = None,
    ) -> int:
        """Show the state of each fleet and of its machines."""
        chosen = options or ReadOptions()
        return self.guard(chosen.json, lambda screen: self._status(file, at, chosen, screen))

    async def _status(
        self, file: Path, at: str | None, options: ReadOptions, screen: Screen
    ) -> int:
        async with open_records(self.services, file, screen) as (config, store):
            now, runs = self.services.clock().now(), self.services.engine_runs(config)
            time = parse_time(at, now) if at is not None else None
            statuses = [
                await past_fleet_status(store, fleet, time)
                if time
                else await fleet_status(store, fleet, now, runs=runs)
                for fleet in config.chosen(options.fleet)
            ]
            complete = time is None or await is_remembered(store, time)
            forgotten = await store.forgotten()
        value = {
            "at": time or now,
            "complete": complete,
            "fleets": [documents.fleet(status) for status in statuses],
        }
        screen.show(tables.status(statuses), value)
        if forgotten is not None and not complete:
            screen.note(
                "machines may be missing: what was deleted before "
                f"{clock_time(forgotten, now)} is forgotten (see `remember`)"
            )
        return Exit.OK

    def history(
        self,
        file: File,
        machine: Annotated[
            str | None,
            Parameter(
                help="the id of a machine or host, or how it begins; or a host's full name; "
                "default: the fleet's latest events"
            ),
        ] = None,
        /,
        *,
        last: Annotated[
            Whole, Parameter(help="how many events of a fleet to show", validator=Number(gte=1))
        ] = _LATEST,
        options: ReadOptions | None = None,
    ) -> int:
        """Show everything that happened to a machine or host, or a fleet's latest events."""
        chosen = options or ReadOptions()
        if machine is None:
            return self.guard(chosen.json, lambda screen: self._latest(file, last, chosen, screen))
        return self.guard(chosen.json, lambda screen: self._history(file, machine, chosen, screen))

    async def _history(self, file: Path, name: str, options: ReadOptions, screen: Screen) -> int:
        async with open_records(self.services, file, screen) as (config, store):
            host = await find_host(store, name)
            if host is not None:
                events = await host_events(store, host.id)
            else:
                fleets = config.chosen(options.fleet)
                events = await machine_events(store, await find_past_machine(store, fleets, name))
        self._show(sentences(events), screen, names=host is not None)
        return Exit.OK

    async def _latest(self, file: Path, last: int, options: ReadOptions, screen: Screen) -> int:
        async with open_records(self.services, file, screen) as (config, store):
            fleet = config.fleet(options.fleet)
            lines = sentences(await newest_fleet_events(store, fleet.name, last))
        self._show(lines, screen, names=True)
        return Exit.OK

    def _show(self, lines: tuple[Line, ...], screen: Screen, *, names: bool) -> None:
        now = self.services.clock().now()
        if not lines and not screen.json:
            notices = screen.standing.notices if screen.standing else ()
            screen.note("\n".join(notices) or "nothing has happened yet")
            return
        value = {"events": [documents.event(line) for line in lines]}
        screen.show(tables.history(lines, now, names=names), value)

    def orphans(
        self,
        file: File,
        /,
        *,
        observe: Annotated[
            bool,
            Parameter(negative=(), help="observe the provider now instead of reading the report"),
        ] = False,
        zone: Annotated[
            tuple[str, ...],
            Parameter(
                help="with --observe: search this zone too, which no fleet uses now; can be "
                "repeated",
                negative=(),
            ),
        ] = (),
        options: ReadOptions | None = None,
    ) -> int:
        """List what no record explains; exit 3 if any needs care, 7 if not all is observed.

        With their cost; what is known to need care comes first.
        """
        chosen = options or ReadOptions()
        return self.guard(
            chosen.json,
            lambda screen: self._orphans(file, chosen, screen, _searched(zone, observe=observe)),
        )

    async def _orphans(
        self, file: Path, options: ReadOptions, screen: Screen, beside: tuple[Zone, ...] | None
    ) -> int:
        observe = beside is not None
        async with open_records(self.services, file, screen) as (config, store):
            fleets = config.chosen(options.fleet)
            if beside is not None:
                with screen.waiting("observing the provider"):
                    async with open_providers(self.services, config, store) as providers:
                        report = await observed_orphans(providers, fleets, beside)
            else:
                report = await recorded_orphans(store, {fleet.name for fleet in fleets})
            if options.fleet is None:  # those of fleets that no table tells of any more, too
                report = report.plus(await recorded_orphans(store, config.unreadable.keys()))
            unseen = () if observe else await unobserved_fleets(store, fleets)
        for scope, error in report.incomplete.items():
            screen.note(f"could not observe {scope}, so its orphans are not known: {error}")
        runs = not observe and self.services.engine_runs(config)
        note = freshness(
            report, config.settings.quiet, runs=runs, exists=self.services.store_exists(config)
        )
        if not (report.observed or runs):
            note += " (--observe asks the provider now)"
        note = "; ".join((note, *(f"{name}: {why}" for name, why in unseen)))
        now = self.services.clock().now()
        value = {**documents.orphan_report(report, now), "note": note}
        whole = not (report.incomplete or unseen)
        screen.show(tables.orphans(report, now, note, whole=whole), value)
        if report.needs_attention:
            return Exit.ORPHANS
        return Exit.OK if whole else Exit.PROVIDER


_ZONE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


def _searched(zones: tuple[str, ...], *, observe: bool) -> tuple[Zone, ...] | None:
    """Return the zones to search beside those of the fleets; None where nothing is observed."""
    if zones and not observe:
        raise UsageError("--zone goes with --observe: no engine searches a zone that no fleet uses")
    for zone in zones:
        if not _ZONE.fullmatch(zone):
            raise UsageError(f"--zone {zone!r} is no zone: write it as in the file, as in fr-par-1")
    return tuple(map(Zone, zones)) if observe else None
