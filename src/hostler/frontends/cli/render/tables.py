"""Pictures: records as tables that people like to read. Pure: values in, renderables out."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hostler.domain.model.machine import Machine, cost
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Orphan, OrphanClass
from hostler.domain.reporting.history import Line
from hostler.frontends.cli.console.format import ago, clean, clock_time, euros
from hostler.frontends.cli.views.fleet_status import Standing, outlook, trouble

from .as_json import cost_of

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


def ink(content: str, style: str = "") -> Text:
    """Return a text in a style; what came from outside can neither style nor steer."""
    return Text(clean(content), style)


def table(*columns: str, title: str = "") -> Table:
    """Return an empty table in the house's look."""
    made = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def headline(seen: Standing) -> Text:
    """Return a fleet in a line: what is asked for, what is there, and what is odd.

    What was asked for at an earlier time is not kept.
    """
    good = seen.past or (seen.ready == seen.desired and not seen.orphans)
    how_many = f"{seen.ready} ready" if seen.past else f"{seen.ready} of {seen.desired} ready"
    text = Text.assemble(
        (str(seen.fleet.name), "bold"),
        "  ",
        (how_many, "green" if good else "yellow"),
    )
    others = {phase: n for phase, n in seen.counts.items() if phase != Phase.READY}
    for phase, number in sorted(others.items()):
        text.append(f", {number} {phase}", STYLES[phase])
    if seen.machines:
        text.append(f"  {euros(seen.cost)} so far", "dim")
    for odd in _oddities(seen):
        text.append(f"\n  {odd}", "yellow")
    return text


def _oddities(seen: Standing) -> Iterable[str]:
    if seen.pause:
        yield seen.pause
    elif seen.row is not None and seen.row.condition and not seen.past:
        yield seen.row.condition
    if seen.orphans:
        price = sum(orphan.price for orphan in seen.orphans)
        yield f"{_many(len(seen.orphans), 'orphan')}, {euros(price)} an hour: see hostler orphans"
    if seen.requests:
        yield f"{_many(len(seen.requests), 'request')} not taken yet"
    if not seen.runs and not seen.past:
        yield "no engine is running: start one with hostler run"


def _many(number: int, one: str, more: str = "") -> str:
    return f"{number} {one if number == 1 else more or one + 's'}"


def status(standings: Iterable[Standing]) -> RenderableType:
    """Return fleets, one after the other."""
    return Group(*(resource for seen in standings for resource in _fleet(seen)))


def _fleet(seen: Standing) -> Iterable[RenderableType]:
    yield headline(seen)
    if seen.machines:
        yield machines(seen)


def machines(seen: Standing) -> Table:
    """Return a fleet's machines as a table."""
    with_hosts = ["host"] if seen.hosts else []
    made = table(
        "machine", *with_hosts, "phase", "since", "observed", "offer", "address", "cost", "next"
    )
    for entry in seen.machines:
        made.add_row(
            ink(entry.id),
            *(ink((entry.host or "")[:8]) for _ in with_hosts),
            ink(entry.phase, STYLES[entry.phase]),
            ago(seen.at - entry.since),
            ink(entry.observed),
            ink(str(entry.offer)),
            ink(entry.address),
            euros(cost(entry, seen.at)),
            _next(entry, seen),
        )
    return made


def _next(entry: Machine, seen: Standing) -> Text:
    said = ink(outlook(entry, seen.fleet, seen.at, seen.kept_until(entry)))
    wrong = trouble(entry)
    if wrong:
        said.append("; " if said else "")
        said.append(wrong, "red" if entry.phase is Phase.FAILED or entry.stuck else "yellow")
    return said


def orphans(found: tuple[Orphan, ...], now: datetime, note: str) -> RenderableType:
    """Return the orphan report, dearest first, with what they come to."""
    if not found:
        return Group(ink("no orphans", "green"), ink(note, "dim"))
    made = table(
        "resource", "kind", "zone", "fleet", "class", "age", "owner", "€/h", "so far", "blocked"
    )
    for entry in sorted(found, key=lambda s: (-cost_of(s, now), s.resource)):
        made.add_row(
            ink(entry.resource),
            entry.kind,
            entry.zone,
            ink(entry.fleet),
            ink(entry.cls, "red" if entry.cls is OrphanClass.UNRECORDED else "yellow"),
            ago(now - (entry.created or entry.first)),
            ink(entry.owner),
            euros(entry.price),
            euros(cost_of(entry, now)),
            ink(entry.blocked or "nothing: it goes next"),
        )
    price = sum(orphan.price for orphan in found)
    so_far = sum(cost_of(orphan, now) for orphan in found)
    total = f"{_many(len(found), 'orphan')}: {euros(price)} an hour, {euros(so_far)} so far"
    return Group(made, ink(total, "bold"), ink(note, "dim"))


def history(lines: Iterable[Line], now: datetime, *, names: bool) -> RenderableType:
    """Return events as sentences; the machines' names where the history is a fleet's."""
    made = Table.grid(padding=(0, 2))
    for entry in lines:
        cells = [ink(clock_time(entry.at, now), "dim")]
        cells += [ink(entry.machine or entry.host or "", "bold")] if names else []
        made.add_row(*cells, ink(entry.text), ink(entry.cycle, "dim"))
    return made


def facts(pairs: Iterable[tuple[str, str]]) -> Table:
    """Return names and values, a line each; empty values are left out."""
    made = Table.grid(padding=(0, 2))
    for name, value in pairs:
        if value:
            made.add_row(ink(name, "dim"), ink(value))
    return made
