"""Reading: status, story and leaks, told from the records."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from hostler.config.values import Config
from hostler.controllers.plan import observe_once
from hostler.domain.fleets.reclaim import orphan_report
from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.snapshot import Orphan, OrphanClass
from hostler.domain.reporting.history import Line, tell
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.format import clock_time, parse_time, span
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.null_metrics import NullMetrics
from hostler.frontends.cli.console.options import About, File, find_host, find_machine
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Outside, Purpose
from hostler.frontends.cli.render import as_json, tables
from hostler.frontends.cli.views.coverage import unseen, whole
from hostler.frontends.cli.views.events import newest, of_host, of_machine
from hostler.frontends.cli.views.fleet_status import Standing
from hostler.ports.store import Store

_LATEST = 20


@dataclass(frozen=True, slots=True)
class Reading:
    """The commands that read."""

    outside: Outside
    guard: Guard

    def status(
        self,
        file: File,
        /,
        *,
        at: Annotated[
            str | None,
            Parameter(help="show the fleet as of a time: 2026-03-01T14:30, or 10m for ago"),
        ] = None,
        about: About | None = None,
    ) -> int:
        """Show how each fleet and each of its machines stands."""
        asked = about or About()
        return self.guard(asked.json, lambda screen: self._status(file, at, asked, screen))

    async def _status(self, file: File, at: str | None, asked: About, screen: Screen) -> int:
        config = self.outside.load(file)
        now = self.outside.clock().now()
        time = parse_time(at, now) if at else None
        async with self.outside.store(config, Purpose.READ) as store:
            fleets = config.chosen(asked.fleet)
            seen = [await standing_of(self.outside, store, config, fleet, time) for fleet in fleets]
            forgotten = await store.forgotten()
        value = {
            "at": time or now,
            "whole": time is None or forgotten is None or time >= forgotten,
            "fleets": [as_json.standing(entry) for entry in seen],
        }
        screen.show(tables.status(seen), value)
        if forgotten is not None and not value["whole"]:
            screen.note(
                f"machines may be missing: what was over before {clock_time(forgotten, now)} is "
                "forgotten (see `remember`)"
            )
        return Exit.OK

    def history(
        self,
        file: File,
        machine: Annotated[
            str | None,
            Parameter(
                help="a machine's or a host's id, or its beginning; or a host's whole name; left "
                "out: the fleet's latest events"
            ),
        ] = None,
        /,
        *,
        last: Annotated[
            int, Parameter(help="how many events of a fleet to show", validator=Number(gte=1))
        ] = _LATEST,
        about: About | None = None,
    ) -> int:
        """Tell what happened to a machine or a host, from its first day, or to a fleet of late."""
        asked = about or About()
        if machine is None:
            return self.guard(asked.json, lambda screen: self._lately(file, last, asked, screen))
        return self.guard(asked.json, lambda screen: self._life(file, machine, asked, screen))

    async def _life(self, file: File, machine: str, asked: About, screen: Screen) -> int:
        config = self.outside.load(file)
        async with self.outside.store(config, Purpose.READ) as store:
            host = await find_host(store, machine)
            if host is not None:
                found = await of_host(store, host.id)
            else:
                found = await of_machine(store, await self._machine(store, config, asked, machine))
        self._tell(tuple(tell(kept.event) for kept in found), screen, names=host is not None)
        return Exit.OK

    @staticmethod
    async def _machine(store: Store, config: Config, asked: About, machine: str) -> MachineId:
        """Return the machine of that very id, living or gone, or the living one that begins so."""
        name = MachineId(machine)
        if await store.machine(name) is None:
            name = (await find_machine(store, config, asked.fleet, machine))[1].id
        return name

    async def _lately(self, file: File, last: int, asked: About, screen: Screen) -> int:
        config = self.outside.load(file)
        fleet = config.fleet(asked.fleet)
        async with self.outside.store(config, Purpose.READ) as store:
            lines = tuple(tell(kept.event) for kept in await newest(store, fleet.name, last))
        self._tell(lines, screen, names=True)
        return Exit.OK

    def _tell(self, lines: tuple[Line, ...], screen: Screen, *, names: bool) -> None:
        now = self.outside.clock().now()
        if not lines and not screen.json:
            screen.note("nothing has happened yet")
            return
        value = {"events": [as_json.line(line) for line in lines]}
        screen.show(tables.history(lines, now, names=names), value)

    def orphans(
        self,
        file: File,
        /,
        *,
        observe: Annotated[
            bool,
            Parameter(negative=(), help="look at the provider now, not only into the ledger"),
        ] = False,
        about: About | None = None,
    ) -> int:
        """List the parts that no record explains, and what they cost; exit 3 if any is amiss."""
        asked = about or About()
        return self.guard(
            asked.json, lambda screen: self._orphans(file, asked, screen, observe=observe)
        )

    async def _orphans(self, file: File, asked: About, screen: Screen, *, observe: bool) -> int:
        config = self.outside.load(file)
        fleets = config.chosen(asked.fleet)
        async with self.outside.store(config, Purpose.READ) as store:
            names = {fleet.name for fleet in fleets}
            found = {s.resource: s for s in await store.orphans() if s.fleet in names}
            hidden: dict[str, str] = {}
            if observe:
                with screen.waiting("looking at the provider"):
                    found, hidden = await self._observed(config, store, fleets)
        for place, error in hidden.items():
            screen.note(f"could not look at {place}, so nothing is said of it: {error}")
        note = self._as_of(config, observe=observe)
        now = self.outside.clock().now()
        orphans = tuple(found.values())
        value = {
            "at": now,
            "observed": observe,
            "note": note,
            "incomplete": hidden,
            "orphans": [as_json.orphan(entry, now) for entry in orphans],
            "price": sum(entry.price for entry in orphans),
            "cost": sum(as_json.cost_of(entry, now) for entry in orphans),
        }
        screen.show(tables.orphans(orphans, now, note), value)
        return Exit.ORPHANS if any(is_amiss(entry) for entry in orphans) else Exit.OK

    async def _observed(
        self, config: Config, store: Store, fleets: tuple[Fleet, ...]
    ) -> tuple[dict[str, Orphan], dict[str, str]]:
        """Return what a look at the provider shows now, and what it does not show, with why.

        Nothing is written down. Raises ProviderError where an account shows nothing at all.
        """
        found, hidden = dict[str, Orphan](), dict[str, str]()
        async with self.outside.accounts(config, store) as accounts:
            ports = self.outside.ports(store, NullMetrics())
            for account in accounts:
                for fleet in account.fleets:
                    if fleet in fleets:
                        seen = await observe_once(ports, account, fleet, config.settings)
                        whole(seen)
                        hidden |= unseen(seen.inventory)
                        kept = orphan_report(seen)
                        current = {
                            s.resource: s for s in seen.orphans if s.resource not in kept.cleared
                        }
                        found |= current | {s.resource: s for s in kept.orphans}
        return {str(resource): orphan for resource, orphan in found.items()}, hidden

    def _as_of(self, config: Config, *, observe: bool) -> str:
        """Return a sentence that says how old this answer is."""
        if observe:
            return "as of a look just now"
        if self.outside.engine_runs(config):
            quiet = span(config.settings.quiet)
            return (
                f"from the orphan report of the running engine, which looks at least every {quiet}"
            )
        return "as the last engine left it; none is running (--observe asks the provider now)"


_TOLD = frozenset({OrphanClass.PENDING_FRESH, OrphanClass.SCHEDULED})
"""The classes of what takes its course: it is told, and nobody has to do anything."""


def is_amiss(orphan: Orphan) -> bool:
    """Tell whether a suspect is more than told."""
    return orphan.cls not in _TOLD


async def standing_of(
    outside: Outside, store: Store, config: Config, fleet: Fleet, at: datetime | None = None
) -> Standing:
    """Return how a fleet stands now, or stood at a time."""
    if at is not None:
        machines = await store.images(fleet.name, at)
        return Standing(fleet=fleet, row=None, machines=machines, at=at, past=True)
    rows = {row.name: row for row in await store.fleets()}
    machines = await store.machines(fleet.name)
    has_hosts = any(machine.host for machine in machines)
    return Standing(
        fleet=fleet,
        row=rows.get(fleet.name),
        machines=machines,
        at=outside.clock().now(),
        orphans=tuple(s for s in await store.orphans() if s.fleet == fleet.name),
        requests=tuple(w for w in await store.requests() if w.fleet == fleet.name),
        runs=outside.engine_runs(config),
        hosts={host.id: host for host in await store.hosts()} if has_hosts else {},
    )
