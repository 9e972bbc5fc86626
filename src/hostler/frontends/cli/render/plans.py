"""Plans, rendered: the calls that would be made now, each with its effect. Pure."""

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.text import Text

from hostler.controllers.host_plan import HostPlanned
from hostler.controllers.plan import Plan, Planned
from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.phases import sentence
from hostler.queries.wording import count, plural

from .tables import ink

_SIGNS = {Effect.MAKE: ("+", "green"), Effect.CHANGE: ("~", "yellow"), Effect.DESTROY: ("-", "red")}


def plans(fleets: Iterable[Plan], hosts: Iterable[HostPlanned]) -> RenderableType:
    """Return what would be done now for fleets, and for hosts that no machine holds."""
    return Group(*(line for made in fleets for line in _fleet(made)), *_hosts(tuple(hosts)))


def _fleet(made: Plan) -> Iterable[RenderableType]:
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
        yield from _machine(entry)


def _machine(entry: Planned) -> Iterable[Text]:
    name = str(entry.machine) if entry.machine else "a new machine"
    yield Text.assemble("  ", (name, "bold"), f"  {entry.offer}: {sentence(entry.reason)}")
    yield from _calls(entry.calls, entry.waits)


def _hosts(planned: tuple[HostPlanned, ...]) -> Iterable[Text]:
    if planned:
        calls = sum(len(entry.calls) for entry in planned)
        yield Text.assemble(("hosts", "bold"), f"  {count(calls, 'call')} now")
    for entry in planned:
        goal = entry.goal or "passed on"
        yield Text.assemble("  ", (str(entry.host), "bold"), f"  {goal}: {sentence(entry.reason)}")
        yield from _calls(entry.calls, entry.waits)


def _calls(calls: Iterable[Call], waits: str) -> Iterable[Text]:
    yield from map(_call, calls)
    if waits:
        yield ink(f"    … {waits}", "dim")


def _call(call: Call) -> Text:
    sign, style = _SIGNS[call.effect]
    args = ", ".join(f"{key}={_value(value)}" for key, value in call.args)
    return ink(f"    {sign} {call}  {args}".rstrip(), style)


def _value(value: object) -> str:
    text = ",".join(value) if isinstance(value, tuple) else str(value)  # pyright: ignore[reportUnknownArgumentType] - an Argument's tuple is of texts
    return text if len(text) <= 48 else f"{text[:48]}…"
