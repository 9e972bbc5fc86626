"""Tables: fleets, machines, orphans and histories for people. Pure: values in, renderables out."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct
from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import OrphanClass
from hostler.domain.reporting.history import Line
from hostler.frontends.cli.console.format import clean
from hostler.queries.fleets import FleetStatus
from hostler.queries.machines import problem
from hostler.queries.orphans import OrphanReport, orphan_cost
from hostler.queries.wording import clock_time, count, euros, rounded

STYLES: Mapping[str, str] = {
    Phase.PENDING: "dim",
    Phase.STARTING: "yellow",
    Phase.READY: "green",
    Phase.DRAINING: "cyan",
    Phase.STOPPING: "magenta",
    Phase.STANDBY: "blue",
    Phase.FAILED: "red bold",
    Phase.DELETED: "dim",
}


_WIDE = 100
"""Columns from which on all of a machine is shown."""

_NARROW = 80
"""Columns below which no table fits: one thing is told below the other."""

_ADDRESS = len("255.255.255.255")

_COPIED = frozenset({"machine", "phase", "since", "observed", "address", "cost"})
"""Columns that stay on one line: what is copied from them, and what is short anyway."""


def ink(content: str, style: str = "") -> Text:
    """Return a text in a style; what came from outside can neither style nor steer."""
    return Text(clean(content), style)


def table(*columns: str, title: str = "") -> Table:
    """Return an empty table, styled as all of ours are.

    On a narrow screen other columns are folded before those that people copy from.
    """
    made = Table(
        box=box.SIMPLE_HEAD,
        title=title or None,
        title_justify="left",
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for column in columns:
        made.add_column(column, overflow="fold", no_wrap=column in _COPIED)
    return made


def headline(status: FleetStatus) -> Text:
    """Return a fleet in a line: what is asked for, what there is, and what is unusual.

    What was asked for at an earlier time is not on record.
    """
    good = status.past or (status.ready == status.desired and not status.orphans)
    ready = f"{status.ready} ready" if status.past else f"{status.ready} of {status.desired} ready"
    if not status.known:
        good, ready = False, f"{status.desired} asked for; not known: no engine has it on record"
    text = Text.assemble(
        (str(status.fleet.name), "bold"), "  ", (ready, "green" if good else "yellow")
    )
    others = {phase: n for phase, n in status.counts.items() if phase != Phase.READY}
    for phase, number in sorted(others.items()):
        text.append(f", {number} {phase}", STYLES[phase])
    if status.machines or status.cost:
        text.append(f"  {euros(status.cost)} so far", "dim")
    for remark in _remarks(status):
        text.append(f"\n  {remark}", "yellow")
    return text


def _remarks(status: FleetStatus) -> Iterable[str]:
    if status.pause:
        yield status.pause
    elif status.row is not None and status.row.condition and not status.past:
        yield status.row.condition
    if status.doubts:
        yield f"{status.doubts}: to be confirmed"
    if status.outdated and not status.fleet.replace_outdated:
        outdated = f"{count(len(status.outdated), 'machine')} outdated, and not replaced for that"
        yield f"{outdated}: `hostler delete` them, or set replace_outdated = true"
    if status.orphans:
        price = sum(orphan.price for orphan in status.orphans)
        orphans = count(len(status.orphans), "orphan")
        yield f"{orphans}, {euros(price)} an hour: see hostler orphans"
    if status.requests:
        yield f"{count(len(status.requests), 'request')} not taken yet"
    if not status.runs and not status.past:
        yield "no engine is running: start one with hostler run"


def status(statuses: Iterable[FleetStatus]) -> RenderableType:
    """Return fleets, one after the other."""
    return Group(*(line for status in statuses for line in _fleet(status)))


def _fleet(status: FleetStatus) -> Iterable[RenderableType]:
    yield headline(status)
    if status.machines:
        yield _Machines(status)


class _Machines(Struct, frozen=True):
    """A fleet's machines as a table; offer and cost are left out where there is no room for them.

    What comes next is read first, and it needs the room; `explain` and `--json` say the rest.
    """

    status: FleetStatus

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        del console
        status = self.status
        left_out = set[str]() if options.max_width >= _WIDE else {"offer", "cost"}
        left_out |= set[str]() if status.hosts else {"host"}
        rows = [_cells(entry, status) for entry in status.machines]
        if options.max_width < _NARROW:
            for row in rows:
                yield from _block(row)
            return
        columns = [name for name in rows[0] if name not in left_out] if rows else []
        made = table(*columns)
        for row in rows:
            made.add_row(*(row[name] for name in columns))
        yield made


def _block(row: Mapping[str, Text | str]) -> Iterable[RenderableType]:
    """Return what the table says of one machine, in lines that hardly need any room."""
    yield Text("  ").join(Text.assemble(row[name]) for name in ("machine", "phase", "since"))
    for name in ("address", "next"):
        if text := Text.assemble(row[name]):
            yield Padding(text, (0, 0, 0, 2))


def _cells(entry: Machine, status: FleetStatus) -> Mapping[str, Text | str]:
    """Return what the table of machines says of one, by column."""
    return {
        "machine": ink(entry.id),
        "host": ink(_short(entry.host or "")),
        "phase": ink(entry.phase, STYLES[entry.phase]),
        "since": rounded(status.at - entry.since),
        "observed": ink(entry.observed),
        "offer": ink(str(entry.offer)),
        "address": ink(entry.address),
        "cost": euros(entry.billing.cost(status.at)),
        "next": _next(entry, status),
    }


def _short(host: str) -> str:
    """Return an id as a table has room for it: what is no longer than an address stays whole."""
    return host if len(host) <= _ADDRESS else host[:8]


def _next(entry: Machine, status: FleetStatus) -> Text:
    text = ink(status.next_step(entry))
    wrong = problem(entry)
    if wrong:
        text.append("; " if text else "")
        text.append(wrong, "red" if entry.phase is Phase.FAILED or entry.health.stuck else "yellow")
    return text


def orphans(report: OrphanReport, now: datetime, note: str, *, whole: bool) -> RenderableType:
    """Return the orphan report, the most expensive first, with what they cost together.

    Where it is not `whole`, there may be orphans although it has none.
    """
    if not report.orphans:
        none = ink("no orphans", "green") if whole else ink("no orphans are known", "yellow")
        return Group(none, ink(note, "dim"))
    made = table(
        "resource", "kind", "zone", "fleet", "class", "age", "owner", "€/h", "so far", "blocked by"
    )
    for entry in sorted(report.orphans, key=lambda o: (-orphan_cost(o, now), o.resource)):
        made.add_row(
            ink(entry.resource),
            entry.kind,
            entry.zone,
            ink(entry.fleet),
            ink(entry.cls, "red" if entry.cls is OrphanClass.UNRECORDED else "yellow"),
            rounded(now - (entry.created or entry.first)),
            ink(entry.owner),
            euros(entry.price),
            euros(orphan_cost(entry, now)),
            ink(entry.blocked or "nothing: reclaimed next"),
        )
    price, so_far = euros(report.price), euros(report.cost(now))
    total = f"{count(len(report.orphans), 'orphan')}: {price} an hour, {so_far} so far"
    return Group(made, ink(total, "bold"), ink(note, "dim"))


def history(lines: Iterable[Line], now: datetime, *, names: bool) -> RenderableType:
    """Return events as sentences; with names where the history is a fleet's."""
    return _History(tuple(lines), now, names)


class _History(Struct, frozen=True):
    """Events as a table; where it is narrow, each sentence stands below its time and name."""

    lines: tuple[Line, ...]
    now: datetime
    names: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        del console
        if options.max_width < _NARROW:
            for entry in self.lines:
                yield Text("  ").join(self._heads(entry))
                yield Padding(ink(entry.text), (0, 0, 0, 2))
            return
        made = Table.grid(padding=(0, 2))
        for _ in range(1 + self.names):
            made.add_column(no_wrap=True)
        for entry in self.lines:
            cycle = [ink(entry.cycle, "dim")] if options.max_width >= _WIDE else []
            made.add_row(*self._heads(entry), ink(entry.text), *cycle)
        yield made

    def _heads(self, entry: Line) -> list[Text]:
        name = [ink(entry.machine or entry.host or "", "bold")] if self.names else []
        return [ink(clock_time(entry.at, self.now), "dim"), *name]


def facts(pairs: Iterable[tuple[str, str]]) -> Table:
    """Return names and values, a line each; empty values are left out."""
    made = Table.grid(padding=(0, 2))
    for name, value in pairs:
        if value:
            made.add_row(ink(name, "dim"), ink(value))
    return made
