"""Host tables: hosts as a table for people. Pure."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from rich.console import Group, RenderableType
from rich.text import Text

from hostler.domain.reporting.hosts import OUTSIDE, HostStatus
from hostler.queries.wording import count, euros, rounded, utc

from .tables import ink, table

_STYLES = {
    "free": "green",
    "in the pool": "green",
    "allocated": "cyan",
    "wiping": "yellow",
    "dirty": "yellow",
    "retiring": "magenta",
    "quarantined": "red",
}
_COLUMNS = ("host", "name", "type", "state", "machine", "clean for", "paid for", "€/h", "remarks")


def host_table(hosts: Sequence[HostStatus], now: datetime, *, observed: bool) -> RenderableType:
    """Return hosts as a table, and how many there are in each state."""
    note = (
        "as observed just now"
        if observed
        else "hosts on record; --online shows the account's other hosts as well"
    )
    if not hosts:
        return Group(ink("no hosts"), ink(note, "dim"))
    made = table(*_COLUMNS)
    for host in hosts:
        made.add_row(*_cells(host, now))
    counts = Counter(host.state for host in hosts)
    total = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
    return Group(made, ink(total, "bold"), ink(note, "dim"))


def _cells(host: HostStatus, now: datetime) -> tuple[Text, ...]:
    clean = host.record.cleaning.wiped if host.record else None
    return (
        ink(host.id),
        ink(short(host.name)),
        ink(f"{host.type} in {host.zone}"),
        ink(host.state, _STYLES.get(host.state, _other_style(host.state))),
        ink(f"{host.machine or ''} {host.fleet}".strip()),
        ink(rounded(now - clean) if clean else ""),
        ink(rounded(host.paid_left(now)) if host.paid_until else ""),
        ink(euros(host.price) if host.price else "not known"),
        ink("; ".join((*remarks(host, now), *_errors(host)))),
    )


def _other_style(state: str) -> str:
    return "red" if state.startswith("unrecorded") else ""


def short(name: str) -> str:
    """Return a name as a table has room for it: of ours, only the stage that it says."""
    words = name.split(".")
    return f"hostler.{words[1]}.…" if words[0] == "hostler" and len(words) > 1 else name


def remarks(host: HostStatus, now: datetime) -> tuple[str, ...]:
    """Return what is unusual about a host, a clause each."""
    found = list[str]()
    if (quarantine := host.quarantined(now)) is not None:
        found.append(f"quarantined until {utc(quarantine)}")
    if host.record is not None and (hold := host.record.held(now)) is not None:
        found.append(str(hold))
    if host.record is not None and host.record.health.strikes:
        found.append(count(host.record.health.strikes, "strike"))
    if host.scheduled is not None:
        found.append(f"deleted at {utc(host.scheduled)}")
    if host.facts.renews:
        found.append("its commitment renews")
    if host.binding is not None and host.facts.stage in OUTSIDE:
        found.append("somebody gave it this name")
    if host.status not in {"", "ready"}:
        found.append(host.status)
    return tuple(found)


def _errors(host: HostStatus) -> tuple[str, ...]:
    return (host.record.error,) if host.record is not None and host.record.error else ()
