"""Explanations, rendered: why a machine or a host stands as it does, line by line. Pure."""

from collections.abc import Iterable
from datetime import datetime

from rich.console import Group, RenderableType
from rich.text import Text

from hostler.config.units import format_duration
from hostler.domain.model.commands import Next
from hostler.domain.model.phases import PHASES, host_sentence, sentence
from hostler.domain.reporting.hosts import HostStatus
from hostler.queries.hosts import HostExplanation, on_release, owner
from hostler.queries.machines import KEEPS_OUTDATED, MachineExplanation
from hostler.queries.wording import clock_time, euros, rounded, until

from .host_tables import remarks
from .tables import STYLES, facts, ink


def machine_explanation(explained: MachineExplanation) -> RenderableType:
    """Return why a machine stands as it does."""
    machine, host, now = explained.machine, explained.host, explained.at
    observed = (host.status if host else "") or machine.observed
    return Group(
        Text.assemble((machine.id, "bold"), "  ", (machine.phase, STYLES[machine.phase])),
        facts(
            (
                ("because", sentence(explained.reason)),
                ("since", clock_time(machine.since, now)),
                ("time limit", _time_limit(explained)),
                ("observed", observed),
                ("offer", str(machine.offer)),
                (
                    "price",
                    f"{euros(machine.billing.price)} an hour" if machine.billing.price else "",
                ),
                ("deletion", explained.deletion),
                ("protected", explained.protection.removeprefix("protected ")),
                ("blocked by", explained.blocker),
                ("alarm", explained.alarm),
                ("outdated", _outdated(explained)),
                ("next", _next(explained.next, now)),
                ("last error", machine.error),
                *(_host_facts(host, now) if host else ()),
                ("fleet", explained.condition),
            )
        ),
        ink("moves", "dim"),
        facts((f"  {phase}", text) for phase, text in explained.moves),
    )


def _outdated(explained: MachineExplanation) -> str:
    """Return how the machine is outdated, and how a person has it replaced where nothing does."""
    words = explained.outdated.removeprefix("outdated: ")
    by_hand = f"; `hostler delete FILE {explained.machine.id}` makes room for another one"
    return words + by_hand if KEEPS_OUTDATED in words else words


def _time_limit(explained: MachineExplanation) -> str:
    limit, deadline = explained.time_limit, explained.deadline
    if limit is None:
        return ""
    timer = PHASES[explained.machine.phase].bound
    at = f", until {clock_time(deadline, explained.at)}" if deadline else ""
    return f"{timer} {format_duration(limit)}{at}"


def _next(step: Next, now: datetime) -> str:
    text = f"{step.kind}: {step.detail}".removesuffix(": ")
    if step.at is None:
        return text
    at_the_latest = "at the latest " if step.kind == "observe" else ""
    return f"{text}, {at_the_latest}{until(step.at, now)}"


def host_explanation(explained: HostExplanation, now: datetime) -> RenderableType:
    """Return why a host stands as it does."""
    host, planned = explained.host, explained.planned
    calls = planned.calls if planned else ()
    return Group(
        Text.assemble((str(host.id), "bold"), "  ", host.state),
        facts(
            (
                ("owner", owner(host)),
                *((name, text) for name, text in _host_facts(host, now) if name != "host"),
                ("type", f"{host.type} in {host.zone}"),
                ("price", f"{euros(host.price)} an hour" if host.price else ""),
                ("observed", host.status),
                ("on release", on_release(host)),
                ("paid for", explained.stays),
                ("next", _next(explained.next(now), now)),
                *((f"for {fleet}", why or "it fits") for fleet, why in explained.fits.items()),
            )
        ),
        *([ink("calls now", "dim")] if calls else []),
        *(ink(f"  {call}") for call in calls),
    )


def _host_facts(host: HostStatus, now: datetime) -> Iterable[tuple[str, str]]:
    """Yield what is known of a host, by name."""
    record, paid = host.record, host.paid_until
    yield "host", f"{host.id} ({host.type} in {host.zone})"
    yield "name", host.name
    yield "state", f"{host.state}{_since(host, now)}"
    yield (
        "clean",
        f"since {clock_time(record.cleaning.wiped, now)}"
        if record and record.cleaning.wiped
        else "",
    )
    left = f", {rounded(host.paid_left(now))} left" if paid and paid > now else ""
    yield "paid until", f"{clock_time(paid, now)}{left}" if paid else ""
    yield "remarks", "; ".join(remarks(host, now))
    yield "host's last error", record.error if record else ""


def _since(host: HostStatus, now: datetime) -> str:
    """Return since when a host stands as it does, and why where no machine says so."""
    record = host.record
    says_so = record is not None and (host.is_coming or str(record.condition) == host.state)
    if record is None or record.since is None or not says_so:
        return ""
    why = f": {host_sentence(record.reason)}" if record.reason and host.binding is None else ""
    return f" since {clock_time(record.since, now)}{why}"
