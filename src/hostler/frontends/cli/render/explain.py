"""Explaining hosts: whose one is, what is known of it, and what happens to it next. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from rich.console import Group, RenderableType
from rich.text import Text

from hostler.controllers.host_plan import HostPlanned, planned_hosts
from hostler.controllers.runtime.settings import Account
from hostler.domain.ids import ResourceId
from hostler.domain.machines import rollout
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import ReleasePolicy
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import sentence
from hostler.domain.model.resource import Resource
from hostler.domain.model.snapshot import HostsSnapshot, Snapshot
from hostler.domain.policy.bootstrap import digest_of
from hostler.frontends.cli.console.format import ago, clock_time, euros
from hostler.frontends.cli.views.host_status import OTHERS, Stall, outlook, stalls, stalls_of
from hostler.ports.hosts import KeepsHosts

from . import as_json
from .host_tables import as_row, oddities, wiped_at
from .tables import facts, ink


@dataclass(frozen=True, slots=True, kw_only=True)
class Reckoned:
    """One host, what would be done for it now, and for each fleet why it is not its to take."""

    stall: Stall
    planned: HostPlanned | None
    fits: Mapping[str, str]


def stall_of(machine: Machine, snapshot: Snapshot) -> Stall | None:
    """Return the host of a machine, or None where it has none that outlives it."""
    if machine.host is None:
        return None
    resource = snapshot.inventory.resource(ResourceId(machine.host))
    record = {machine.host: snapshot.hosts[machine.host]} if machine.host in snapshot.hosts else {}
    bindings = {host: holder for holder, host in snapshot.bindings.items()}
    resources = (resource,) if resource else ()
    return next(iter(stalls(snapshot.fleet.account, record, bindings, resources)), None)


def blocked_lists(account: Account, rows: Iterable[FleetRow]) -> dict[str, str]:
    """Return for each fleet whose list of commands is at fault that it takes no host, and why.

    Also for a fleet without machines, which has nothing else to say it of.
    """
    fleets = {fleet.name: digest_of(fleet.probe.commands) for fleet in account.fleets}
    known = {row.name: row.revision for row in rows}
    found = {
        str(name): rollout.condition(known[name])
        for name, digest in fleets.items()
        if name in known and known[name].digest == digest
    }
    return {fleet: why for fleet, why in found.items() if why}


def reckoned_hosts(
    account: Account, snapshot: HostsSnapshot, blocked: Mapping[str, str]
) -> Iterable[Reckoned]:
    """Yield every host of an account with what would be done for it now.

    `blocked` are fleets that take no host, whichever it is, with why.
    """
    provider = account.provider
    keeps = isinstance(provider, KeepsHosts)
    planned = {one.host: one for one in (planned_hosts(snapshot, provider) if keeps else ())}
    for stall in stalls_of(snapshot):
        fits = unfit(account, stall.resource) if stall.binding is None else {}
        fits = {fleet: why or blocked.get(fleet, "") for fleet, why in fits.items()}
        yield Reckoned(stall=stall, planned=planned.get(stall.id), fits=fits)


def unfit(account: Account, resource: Resource | None) -> dict[str, str]:
    """Return for each fleet of an account why a host is not its to take; empty where it is."""
    provider = account.provider
    if resource is None or not isinstance(provider, KeepsHosts):
        return {}
    return {
        str(fleet.name): _why_not([provider.fits(fleet.name, o, resource) for o in fleet.offers])
        for fleet in account.fleets
    }


def _why_not(said: list[str]) -> str:
    return "" if "" in said else "; ".join(dict.fromkeys(said))


def host_facts(stall: Stall, now: datetime) -> Iterable[tuple[str, str]]:
    """Yield what is known of a host, by name."""
    record, wiped = stall.record, wiped_at(stall)
    yield "host", f"{stall.id} ({stall.type} in {stall.zone})"
    yield "named", stall.name
    yield "stands", f"{stall.state}{_since(stall, now)}"
    yield "wiped", f"proved at {clock_time(wiped, now)}" if wiped else ""
    until = stall.paid_until
    left = f", {ago(stall.paid_left(now))} left" if until and until > now else ""
    yield "paid until", f"{clock_time(until, now)}{left}" if until else ""
    yield "besides", "; ".join(oddities(stall, now))
    yield "its last error", record.error if record else ""


def _since(stall: Stall, now: datetime) -> str:
    """Return since when a host stands as it does, and why where no machine says so."""
    record = stall.record
    if record is None or record.since is None or str(record.condition) != stall.state:
        return ""
    why = f": {sentence(record.reason)}" if record.reason and stall.binding is None else ""
    return f" since {clock_time(record.since, now)}{why}"


def host_picture(found: Reckoned, now: datetime) -> RenderableType:
    """Return why a host stands as it does, as a person reads it."""
    stall, planned = found.stall, found.planned
    title = Text.assemble((str(stall.id), "bold"), "  ", stall.state)
    return Group(
        title,
        facts(
            (
                ("whose", whose(stall)),
                *((name, said) for name, said in host_facts(stall, now) if name != "host"),
                ("what it is", f"{stall.type} in {stall.zone}"),
                ("costs", f"{euros(stall.price)} an hour" if stall.price else ""),
                ("observed", stall.status),
                ("at its end", at_its_end(stall)),
                ("next", next_of(found, now)),
                *((f"for {fleet}", why or "it fits") for fleet, why in found.fits.items()),
            )
        ),
        *([ink("calls now", "dim")] if planned and planned.calls else []),
        *(ink(f"  {call}") for call in (planned.calls if planned else ())),
    )


def whose(stall: Stall) -> str:
    """Return whose a host is."""
    if stall.binding is not None:
        return f"machine {stall.binding}'s, by our records"
    if stall.note("stage") == "foreign":
        return f"the installation {stall.note('installation') or 'that its name does not tell'}'s"
    if stall.note("stage") == "pool":
        return f"free, in the pool {stall.note('pool')}"
    if stall.machine is not None:
        return f"ours by its name, which tells of {stall.machine}"
    return "nobody's of us" if stall.resource else ""


def at_its_end(stall: Stall) -> str:
    """Return what becomes of a host when its machine lets go of it, if it is ours at all."""
    record = stall.record
    if record is None or (stall.binding is None and stall.note("stage") in OTHERS):
        return ""
    if stall.note("stage") in OTHERS:
        return "it is left as it is, as long as it has this name"
    if record.retires:
        said = record.policy is ReleasePolicy.TERMINATE
        return "it is given up: " + ("somebody asked so" if said else "we ordered it")
    return f"it is wiped and goes back to the pool {record.pool}" if record.pool else ""


def next_of(found: Reckoned, now: datetime) -> str:
    """Return what happens next to a host."""
    planned = found.planned
    if planned is None and found.stall.pooled and found.fits and all(found.fits.values()):
        return "no machine takes it for now: what is in the way is said for each fleet"
    if planned is None:
        return outlook(found.stall, now)
    if planned.calls:
        return f"call {planned.calls[0]}"
    return f"wait: {planned.waits}"


def host_json(found: Reckoned, now: datetime) -> dict[str, object]:
    """Return the same for a program."""
    planned = found.planned
    return {
        "host": as_row(found.stall, now),
        "whose": whose(found.stall),
        "at_its_end": at_its_end(found.stall),
        "next": next_of(found, now),
        "calls": [as_json.call(call) for call in planned.calls] if planned else [],
        "waits": planned.waits if planned else "",
        "fits": dict(found.fits),
    }
