"""Gate: the one table that every call passes, last thing before it is sent.

Each check answers with a sentence where it refuses. A destructive act that no check refuses has
proved its case; nothing destructive is sent anywhere else in the program.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct


class Act(StrEnum):
    """What kind of thing is about to be done."""

    CREATE = "create"
    CHANGE = "change"
    ROLLBACK = "rollback"
    DELETE = "delete"
    REPAIR = "repair"
    REPLACE = "replace"
    RECLAIM = "reclaim"


class Evidence(Struct, frozen=True, kw_only=True):
    """What is known at the moment of sending; times are the clock's, `boot` times boot seconds.

    `reread` says, for a reclaim, that the provider and then the records were read again just now
    and agree field by field with what was decided on. `proved` says that a loss was shown by an
    observation of this machine alone. `granted` says that the cap's counter was raised for this
    very act. `paid_until` is until when what the act would end is paid, None where nothing is paid
    ahead. No field has a default: whoever makes evidence says everything, and what is not known is
    None.
    """

    act: Act
    now: datetime
    boot: float
    lease_until: float
    deadline: timedelta
    ours: bool
    observed: datetime | None
    observation_limit: timedelta
    reread: bool
    age: timedelta | None
    grace: timedelta
    sightings: int | None
    protection: str
    granted: bool
    world: str
    paid_until: datetime | None
    reclaim: bool
    wave: bool
    proved: bool


class Check(Struct, frozen=True, kw_only=True):
    """One row of the table: what it asks, of which acts, and how."""

    id: str
    asks: str
    acts: frozenset[Act]
    refuses: Callable[[Evidence], str]


def _scope(e: Evidence) -> str:
    return (
        ""
        if e.ours
        else "the resource carries no owner tag of ours and is bound in no record of ours"
    )


def _fresh(e: Evidence) -> str:
    if e.act is Act.RECLAIM:
        return "" if e.reread else "provider and records were not both read again just before"
    if e.observed is None:
        return "it was never observed"
    age = e.now - e.observed
    return (
        "" if age <= e.observation_limit else f"its observation is {age.total_seconds():.0f} s old"
    )


def _age(e: Evidence) -> str:
    if e.age is None:
        return "it is not known how old it is"
    return "" if e.age >= e.grace else f"it is {e.age} old; the grace period is {e.grace}"


def _sightings(e: Evidence) -> str:
    seen = e.sightings or 0
    return "" if seen >= 2 else f"seen in {seen} complete observations; two are needed"


def _protection(e: Evidence) -> str:
    return e.protection


def _lease(e: Evidence) -> str:
    left = e.lease_until - e.boot
    if left > e.deadline.total_seconds():
        return ""
    return f"our lease ends in {left:.0f} s, before the call's deadline"


def _cap(e: Evidence) -> str:
    return "" if e.granted else "the cap on what nobody asked for has no room"


def _world(e: Evidence) -> str:
    return e.world


def _money(e: Evidence) -> str:
    if e.paid_until is None or e.now >= e.paid_until:
        return ""
    return f"it is paid for until {e.paid_until:%Y-%m-%d %H:%M} UTC"


def _mode(e: Evidence) -> str:
    return "" if e.reclaim else "report only: `reclaim = true` is not set for this fleet"


def _wave(e: Evidence) -> str:
    return "too many losses at once, and this one is not proved" if e.wave and not e.proved else ""


_DESTRUCTIVE = frozenset({Act.ROLLBACK, Act.DELETE, Act.REPAIR, Act.REPLACE, Act.RECLAIM})
_UNASKED = frozenset({Act.RECLAIM, Act.REPAIR, Act.REPLACE})

CHECKS: tuple[Check, ...] = (
    Check(
        id="G1",
        asks="scope: our owner tag with an id that we issued, or bound in our record",
        acts=_DESTRUCTIVE,
        refuses=_scope,
    ),
    Check(id="G2", asks="freshness of the observation", acts=_DESTRUCTIVE, refuses=_fresh),
    Check(id="G3", asks="age beyond the grace period", acts=frozenset({Act.RECLAIM}), refuses=_age),
    Check(id="G4", asks="two sightings", acts=frozenset({Act.RECLAIM}), refuses=_sightings),
    Check(
        id="G5",
        asks="protection, pauses, running jobs",
        acts=_DESTRUCTIVE - {Act.ROLLBACK},
        refuses=_protection,
    ),
    Check(id="G6", asks="our lease outlives the call", acts=frozenset(Act), refuses=_lease),
    Check(id="G7", asks="caps", acts=_UNASKED, refuses=_cap),
    Check(
        id="G8", asks="the right world", acts=frozenset({Act.CREATE, Act.RECLAIM}), refuses=_world
    ),
    Check(id="G9", asks="the paid window", acts=frozenset({Act.DELETE}), refuses=_money),
    Check(id="G10", asks="the mode of reclaims", acts=frozenset({Act.RECLAIM}), refuses=_mode),
    Check(
        id="G11",
        asks="loss wave",
        acts=frozenset({Act.REPAIR, Act.REPLACE}),
        refuses=_wave,
    ),
)
"""The table of checks × acts."""


class Barred(Struct, frozen=True, kw_only=True):
    """A refusal of the gate: which check, and its sentence."""

    check: str
    text: str


def pass_gate(evidence: Evidence) -> tuple[Barred, ...]:
    """Return every refusal, in the order of the table; an empty tuple lets the act pass."""
    return tuple(
        Barred(check=check.id, text=text)
        for check in CHECKS
        if evidence.act in check.acts and (text := check.refuses(evidence))
    )


def table() -> str:
    """Return the table as Markdown, for the docs."""
    head = "| check | asks | " + " | ".join(Act) + " |"
    rows = [head, "|---" * (2 + len(Act)) + "|"]
    for check in CHECKS:
        cells = ["×" if act in check.acts else "" for act in Act]
        rows.append(f"| {check.id} | {check.asks} | " + " | ".join(cells) + " |")
    return "\n".join(rows)
