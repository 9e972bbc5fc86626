"""Asking: plan and explain look, decide with the code that acts, and stop."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from cyclopts import Parameter
from rich.console import Group, RenderableType
from rich.text import Text

from hostler.config.values import Config
from hostler.controllers.host_plan import HostPlanned, hosts_once, plan_hosts
from hostler.controllers.plan import Plan, Planned, observe_once, plan
from hostler.controllers.runtime.settings import Account
from hostler.domain.decide import Explained, verdict_of
from hostler.domain.errors import ProviderError, RequestRefused
from hostler.domain.hosts.allocation import CLAIMED_TWICE
from hostler.domain.machines.bootstrap import start_due
from hostler.domain.machines.rollout import with_revision
from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import PHASES, Phase, sentence
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.observation.blockers import protected_until
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.format import clock_time, euros, span, until
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.null_metrics import NullMetrics
from hostler.frontends.cli.console.options import About, File, find_machine
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Outside, Purpose
from hostler.frontends.cli.render import as_json, tables
from hostler.frontends.cli.render.explain import (
    Reckoned,
    blocked_lists,
    host_facts,
    host_json,
    host_picture,
    reckoned_hosts,
    stall_of,
)
from hostler.frontends.cli.render.host_tables import as_row
from hostler.frontends.cli.render.tables import ink
from hostler.frontends.cli.views.coverage import whole, whole_hosts
from hostler.frontends.cli.views.fleet_status import bound_of, deletion_of
from hostler.frontends.cli.views.pool_checks import read_as
from hostler.ports.store import Store

_SIGNS = {Effect.MAKE: ("+", "green"), Effect.CHANGE: ("~", "yellow"), Effect.DESTROY: ("-", "red")}

_LONG = 80


@dataclass(frozen=True, slots=True)
class Asked:
    """The commands that ask what would be done, and why."""

    outside: Outside
    guard: Guard

    def plan(self, file: File, /, *, about: About | None = None) -> int:
        """Show the very calls that one turn would make now; nothing is changed anywhere."""
        asked = about or About()
        return self.guard(asked.json, lambda screen: self._plan(file, asked, screen))

    async def _plan(self, file: File, asked: About, screen: Screen) -> int:
        config = self.outside.load(file)
        plans, hosts = list[Plan](), list[HostPlanned]()
        async with (
            self.outside.store(config, Purpose.READ) as store,
            self.outside.accounts(config, store) as accounts,
        ):
            ports = self.outside.ports(store, NullMetrics())
            for fleet in config.chosen(asked.fleet):
                with screen.waiting(f"looking at {fleet.account}"):
                    account = _account(accounts, fleet)
                    plans.append(await plan(ports, account, fleet, config.settings))
            chosen = {made.snapshot.fleet.account for made in plans}
            for account in (account for account in accounts if account.name in chosen):
                hosts += await plan_hosts(ports, account, config.settings)
        for made in plans:
            whole(made.snapshot)
        screen.show(
            Group(
                *(resource for made in plans for resource in _pictured(made)),
                *_hosts_pictured(hosts),
            ),
            {"fleets": [_plan_json(made) for made in plans], "hosts": list(map(_host_json, hosts))},
        )
        return Exit.OK

    def explain(
        self,
        file: File,
        machine: Annotated[
            str,
            Parameter(help="a machine's or a host's id, or its beginning; or a host's whole name"),
        ],
        /,
        *,
        about: About | None = None,
    ) -> int:
        """Say why a machine, or a host, stands as it does, what blocks it, and what is next."""
        asked = about or About()
        return self.guard(asked.json, lambda screen: self._explain(file, machine, asked, screen))

    async def _explain(self, file: File, name: str, asked: About, screen: Screen) -> int:
        config = self.outside.load(file)
        async with self.outside.store(config, Purpose.READ) as store:
            try:
                fleet, machine = await find_machine(store, config, asked.fleet, name)
            except RequestRefused as refused:
                return await self._explain_host(config, store, name, screen, refused)
            async with self.outside.accounts(config, store) as accounts:
                ports = self.outside.ports(store, NullMetrics())
                with screen.waiting(f"looking at {fleet.account}"):
                    account = _account(accounts, fleet)
                    snapshot = await observe_once(ports, account, fleet, config.settings)
        explained = verdict_of(machine, snapshot, account.provider)
        if explained is None:
            raise ProviderError(f"{machine.id} changed while it was looked at; ask again")
        screen.show(explained_picture(explained, snapshot), explained_json(explained, snapshot))
        return Exit.OK

    async def _explain_host(
        self, config: Config, store: Store, name: str, screen: Screen, refused: RequestRefused
    ) -> int:
        """Explain the host of this id or name; raise `refused` where nothing has any hosts."""
        if name.startswith("m-"):
            raise refused
        reckoned, rows = list[Reckoned](), await store.fleets()
        async with self.outside.accounts(config, store) as accounts:
            ports = self.outside.ports(store, NullMetrics())
            for account in accounts:
                with screen.waiting(f"looking at {account.name}"):
                    snapshot = await hosts_once(ports, account, config.settings)
                if snapshot is not None:
                    blocked = blocked_lists(account, rows)
                    reckoned += reckoned_hosts(account, whole_hosts(snapshot), blocked)
        if not reckoned:
            raise refused
        stall = read_as(name, (found.stall for found in reckoned))
        found = next(found for found in reckoned if found.stall.id == stall.id)
        now = self.outside.clock().now()
        screen.show(host_picture(found, now), host_json(found, now))
        return Exit.OK


def _account(accounts: Iterable[Account], fleet: Fleet) -> Account:
    return next(account for account in accounts if fleet in account.fleets)


def _plan_json(made: Plan) -> Mapping[str, object]:
    return {
        "fleet": made.snapshot.fleet.name,
        "condition": made.decision.condition,
        "calls": sum(len(entry.calls) for entry in made.machines),
        "machines": [
            {
                "machine": entry.machine,
                "offer": entry.offer,
                "phase": entry.phase,
                "reason": entry.reason,
                "waits": entry.waits,
                "calls": [as_json.call(call) for call in entry.calls],
            }
            for entry in made.machines
        ],
        "incomplete": [
            {"zone": zone, "kind": kind, "error": observed.error}
            for (zone, kind), observed in sorted(made.snapshot.inventory.failed.items())
        ],
    }


def _pictured(made: Plan) -> Iterable[RenderableType]:
    calls = sum(len(entry.calls) for entry in made.machines)
    name = str(made.snapshot.fleet.name)
    if not made.machines:
        yield Text.assemble((name, "bold"), "  nothing to do")
    else:
        yield Text.assemble((name, "bold"), f"  {_calls(calls)} now")
    if made.decision.condition:
        yield ink(f"  {made.decision.condition}", "yellow")
    for (zone, kind), observed in sorted(made.snapshot.inventory.failed.items()):
        yield ink(f"  could not look at {kind}s in {zone}: {observed.error}", "red")
    for entry in made.machines:
        yield from _machine_plan(entry)


def _calls(number: int) -> str:
    return "1 call" if number == 1 else f"{number} calls"


def _machine_plan(entry: Planned) -> Iterable[Text]:
    who = str(entry.machine) if entry.machine else "a new machine"
    yield Text.assemble("  ", (who, "bold"), f"  {entry.offer}: {sentence(entry.reason)}")
    yield from map(_call_line, entry.calls)
    if entry.waits:
        yield ink(f"    … {entry.waits}", "dim")


def _hosts_pictured(hosts: Iterable[HostPlanned]) -> Iterable[Text]:
    """Yield what is planned for hosts that no machine holds."""
    planned = tuple(hosts)
    if planned:
        calls = sum(len(entry.calls) for entry in planned)
        yield Text.assemble(("hosts", "bold"), f"  {_calls(calls)} now")
    for entry in planned:
        yield Text.assemble(
            "  ",
            (str(entry.host), "bold"),
            f"  {entry.goal or 'passed on'}: {sentence(entry.reason)}",
        )
        yield from map(_call_line, entry.calls)
        if entry.waits:
            yield ink(f"    … {entry.waits}", "dim")


def _host_json(entry: HostPlanned) -> Mapping[str, object]:
    return {
        "host": entry.host,
        "name": entry.name,
        "goal": entry.goal,
        "reason": entry.reason,
        "waits": entry.waits,
        "calls": [as_json.call(call) for call in entry.calls],
    }


def _call_line(call: Call) -> Text:
    sign, style = _SIGNS[call.effect]
    args = ", ".join(f"{key}={_value(value)}" for key, value in call.args)
    return ink(f"    {sign} {call}  {args}".rstrip(), style)


def _value(value: object) -> str:
    text = ",".join(value) if isinstance(value, tuple) else str(value)  # pyright: ignore[reportUnknownArgumentType] - an Argument's tuple is of texts
    return text if len(text) <= 48 else f"{text[:48]}…"


def explained_picture(explained: Explained, snapshot: Snapshot) -> RenderableType:
    """Return why a machine stands as it does, as a person reads it."""
    machine, verdict = explained.machine, explained.verdict
    title = Text.assemble((machine.id, "bold"), "  ", (machine.phase, tables.STYLES[machine.phase]))
    bound, due_at = bound_of(machine, snapshot.fleet), due_of(machine, snapshot)
    due = f"until {clock_time(due_at, snapshot.now)}" if due_at else ""
    next_said = f"{verdict.next.kind}: {verdict.next.detail}".removesuffix(": ")
    last = "at the latest " if verdict.next.kind == "observe" else ""
    when = f", {last}{until(verdict.next.at, snapshot.now)}" if verdict.next.at else ""
    stall = stall_of(machine, snapshot)
    return Group(
        title,
        tables.facts(
            (
                ("because", sentence(verdict.reason)),
                ("since", clock_time(machine.since, snapshot.now)),
                ("bound", f"{PHASES[machine.phase].bound} {span(bound)}, {due}" if bound else ""),
                ("observed", (stall.status if stall else "") or machine.observed),
                ("offer", str(machine.offer)),
                ("price", f"{euros(machine.price)} an hour" if machine.price else ""),
                ("its end", deletion_of(machine, snapshot.now)),
                ("protected", protected_until(machine, snapshot.now).removeprefix("protected ")),
                ("blocked by", verdict.blocker),
                ("alarm", alarm_of(machine, snapshot)),
                ("next", f"{next_said}{when}"),
                ("last error", machine.error),
                *(host_facts(stall, snapshot.now) if stall else ()),
                ("the fleet", explained.condition),
            )
        ),
        ink("moves", "dim"),
        tables.facts((f"  {name}", said) for name, said in moves(explained, snapshot)),
    )


def due_of(machine: Machine, snapshot: Snapshot) -> datetime | None:
    """Return when a machine has been in its phase for too long, or None where it never has."""
    bound = bound_of(machine, snapshot.fleet)
    if bound is not None and machine.phase is Phase.STARTING:
        return start_due(machine, with_revision(snapshot))
    return machine.since + bound if bound else None


def moves(explained: Explained, snapshot: Snapshot) -> list[tuple[str, str]]:
    """Return every phase with whether the machine may move there, and why not."""
    machine = explained.machine
    open_now = PHASES[machine.phase].moves
    stop = explained.verdict.blocker or protected_until(machine, snapshot.now)
    if len(stop) > _LONG:  # it is told in full above
        stop = stop.partition(": ")[0]
    said = list[tuple[str, str]]()
    for phase in Phase:
        if phase is machine.phase:
            said.append((phase, "is here"))
        elif phase in open_now:
            said.append((phase, f"open; not now: {stop}" if stop else "open"))
        else:
            said.append((phase, f"no way leads there from {machine.phase}"))
    return said


def alarm_of(machine: Machine, snapshot: Snapshot) -> str:
    """Return since when somebody else may have the machine's host; empty where nobody may."""
    since = machine.fact(CLAIMED_TWICE)
    if since is None:
        return ""
    at = clock_time(since, snapshot.now)
    return f"somebody else may have its host too, since {at}: nothing is done to it meanwhile"


def explained_json(explained: Explained, snapshot: Snapshot) -> Mapping[str, object]:
    """Return the same for a program."""
    machine, verdict = explained.machine, explained.verdict
    return {
        "machine": machine.id,
        "fleet": machine.fleet,
        "phase": machine.phase,
        "since": machine.since,
        "bound": due_of(machine, snapshot),
        "observed": machine.observed,
        "reason": verdict.reason,
        "because": sentence(verdict.reason),
        "blocker": verdict.blocker,
        "ending": deletion_of(machine, snapshot.now),
        "alarm": alarm_of(machine, snapshot),
        "next": {
            "step": verdict.next.kind,
            "detail": verdict.next.detail,
            "at": verdict.next.at,
        },
        "error": machine.error,
        "host": as_row(stall, snapshot.now) if (stall := stall_of(machine, snapshot)) else None,
        "condition": explained.condition,
        "moves": dict(moves(explained, snapshot)),
    }
