"""Plans, rendered: the calls that would be made now, each with its effect. Pure."""

from collections.abc import Iterable
from datetime import datetime

from rich.console import Group, RenderableType
from rich.text import Text

from hostler.controllers.plan import Plan, Planned
from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.phases import host_sentence, sentence
from hostler.queries.wording import count, plural, until

from .tables import ink

_SIGNS = {Effect.MAKE: ("+", "green"), Effect.CHANGE: ("~", "yellow"), Effect.DESTROY: ("-", "red")}


def plans(fleets: Iterable[Plan], hosts: Iterable[Planned], now: datetime) -> RenderableType:
    """Return what would be done now for fleets, and for hosts that no machine holds."""
    lines = (line for made in fleets for line in _fleet(made, now))
    return Group(*lines, *_hosts(tuple(hosts), now))


def _fleet(made: Plan, now: datetime) -> Iterable[RenderableType]:
    calls = sum(len(entry.calls) for entry in made.machines)
    name = str(made.snapshot.fleet.name)
    if not made.machines:
        yield Text.assemble((name, "bold"), "  nothing to do")
    else:
        yield Text.assemble((name, "bold"), f"  {count(calls, 'call')} now")
    if made.decision.condition:
        yield ink(f"  {made.decision.condition}", "yellow")
    for (zone, kind), observed in sorted(made.snapshot.inventory.failed.items()):
        yield ink(f"  could not observe {plural(kind)} in {zone}: {observed.error}", "red")
    for entry in made.machines:
        yield from _machine(entry, now)


def _machine(entry: Planned, now: datetime) -> Iterable[Text]:
    name = str(entry.subject or "a new machine")
    yield from _planned(name, f"{entry.name}: {sentence(entry.reason)}", entry, now)


def _hosts(planned: tuple[Planned, ...], now: datetime) -> Iterable[Text]:
    if planned:
        calls = sum(len(entry.calls) for entry in planned)
        yield Text.assemble(("hosts", "bold"), f"  {count(calls, 'call')} now")
    for entry in planned:
        why = f"{entry.stands or 'stays as it is'}: {host_sentence(entry.reason)}"
        yield from _planned(str(entry.subject), why, entry, now)


def _planned(name: str, why: str, entry: Planned, now: datetime) -> Iterable[Text]:
    yield Text.assemble("  ", (name, "bold"), f"  {why}")
    yield from map(_call, entry.calls)
    if entry.ready.waits:
        due = f", {until(entry.ready.at, now)}" if entry.ready.at else ""
        yield ink(f"    … {entry.ready.waits}{due}", "dim")


def _call(call: Call) -> Text:
    sign, style = _SIGNS[call.effect]
    args = ", ".join(f"{key}={_value(value)}" for key, value in call.args)
    return ink(f"    {sign} {call}  {args}".rstrip(), style)


def _value(value: object) -> str:
    text = ",".join(value) if isinstance(value, tuple) else str(value)  # pyright: ignore[reportUnknownArgumentType] - an Argument's tuple is of texts
    return text if len(text) <= 48 else f"{text[:48]}…"
