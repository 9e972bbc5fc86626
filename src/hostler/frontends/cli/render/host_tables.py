"""Pooling pictures: hosts as a table for people, and as objects for programs. Pure."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from rich.console import Group, RenderableType
from rich.text import Text

from hostler.frontends.cli.console.format import ago, euros
from hostler.frontends.cli.views.host_status import OTHERS, Stall

from .as_json import Json
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
_COLUMNS = ("host", "name", "what", "state", "machine", "wiped", "paid for", "€/h", "note")


def listed(found: Sequence[Stall], now: datetime, *, observed: bool) -> RenderableType:
    """Return hosts as a table, and how many there are of each state."""
    note = (
        "as of a look just now"
        if observed
        else "those of which records are kept; --online shows the others of the account as well"
    )
    if not found:
        return Group(ink("no hosts"), ink(note, "dim"))
    made = table(*_COLUMNS)
    for stall in found:
        made.add_row(*_cells(stall, now))
    counts = Counter(stall.state for stall in found)
    total = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
    return Group(made, ink(total, "bold"), ink(note, "dim"))


def _cells(stall: Stall, now: datetime) -> tuple[Text, ...]:
    left = ago(stall.paid_left(now)) if stall.paid_until else ""
    return (
        ink(stall.id),
        ink(short(stall.name)),
        ink(f"{stall.type} in {stall.zone}"),
        ink(
            stall.state,
            _STYLES.get(stall.state, "red" if stall.state.startswith("unrecorded") else ""),
        ),
        ink(f"{stall.machine or ''} {stall.fleet}".strip()),
        ink(ago(now - wiped) + " ago" if (wiped := wiped_at(stall)) else ""),
        ink(left),
        ink(euros(stall.price) if stall.price else "not known"),
        ink("; ".join((*oddities(stall, now), *_errors(stall)))),
    )


def short(name: str) -> str:
    """Return a name as a table has room for it: of ours, the stage that it tells."""
    words = name.split(".")
    return f"hostler.{words[1]}.…" if words[0] == "hostler" and len(words) > 1 else name


def wiped_at(stall: Stall) -> datetime | None:
    """Return when the wipe was seen finished that proves a host clean, or None."""
    return stall.record.wiped if stall.record else None


def oddities(stall: Stall, now: datetime) -> tuple[str, ...]:
    """Return what is odd about a host, a clause each."""
    said = list[str]()
    if (until := stall.quarantined(now)) is not None:
        said.append(f"quarantined until {until:%Y-%m-%d %H:%M} UTC")
    if stall.record is not None and stall.record.strikes:
        strikes = stall.record.strikes
        said.append("1 strike" if strikes == 1 else f"{strikes} strikes")
    if stall.scheduled is not None:
        said.append(f"deleted at {stall.scheduled:%Y-%m-%d %H:%M} UTC")
    if stall.note("commitment"):
        said.append("its commitment renews")
    if stall.binding is not None and stall.note("stage") in OTHERS:
        said.append("somebody gave it this name")
    if stall.status not in {"", "ready"}:
        said.append(stall.status)
    return tuple(said)


def _errors(stall: Stall) -> tuple[str, ...]:
    return (stall.record.error,) if stall.record is not None and stall.record.error else ()


def as_rows(found: Sequence[Stall], now: datetime) -> list[Json]:
    """Return hosts as the objects that programs read; keys are a promise."""
    return [as_row(stall, now) for stall in found]


def as_row(stall: Stall, now: datetime) -> Json:
    """Return one host."""
    record = stall.record
    return {
        "id": stall.id,
        "account": stall.account,
        "name": stall.name,
        "type": stall.type,
        "zone": stall.zone,
        "state": stall.state,
        "status": stall.status,
        "recorded": record is not None,
        "machine": stall.machine,
        "fleet": stall.fleet,
        "pool": stall.note("pool") or (record.pool if record else ""),
        "origin": record.origin if record else None,
        "strikes": record.strikes if record else 0,
        "quarantined_until": stall.quarantined(now),
        "wiped": wiped_at(stall),
        "paid_until": stall.paid_until,
        "scheduled": stall.scheduled,
        "commitment": stall.note("commitment") or (record.commitment if record else ""),
        "price": stall.price,
        "reason": record.reason if record else "",
        "error": record.error if record else "",
    }
