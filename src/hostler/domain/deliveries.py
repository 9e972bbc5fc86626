"""Deliveries: what becomes of a host that was ordered, until it can be taken."""

from dataclasses import replace
from datetime import datetime, timedelta

from .host import Host, HostCondition, HostGoal
from .parts import Condition, Part

LONGEST = timedelta(hours=3)
"""How long a host that was ordered may take to be delivered, by our guess."""


def delivered(host: Host, part: Part, now: datetime, jumped: datetime | None) -> Host:
    """Return the record of a host that is on its way, as a look shows it.

    It is free when it is delivered: nobody ever used it. One that is handed over in error is paid
    for: it is wiped, which mends it. One that never comes is given up, so that another may be
    ordered in its place.
    """
    if not part.note("delivered"):
        return _given_up(host, now) if _is_overdue(host, now, jumped) else host
    if part.condition is Condition.FAILED:
        mended = replace(host, delivered=now, goal=HostGoal.WIPED)
        return mended.now(HostCondition.DIRTY, now, "delivered in error")
    if part.condition is not Condition.UP:
        return host
    fresh = replace(host, wiped=now, delivered=now, witness=part.note("witness"))
    return fresh.now(HostCondition.FREE, now, "delivered")


def after_all(host: Host, part: Part, now: datetime) -> Host:
    """Return the record of a host that is given up, which is paid for if it was delivered late."""
    late = host.delivered is None and part.note("delivered")
    return replace(host, delivered=now) if late else host


def _is_overdue(host: Host, now: datetime, jumped: datetime | None) -> bool:
    since = max(host.since or now, jumped or host.since or now)
    return now - since >= LONGEST


def _given_up(host: Host, now: datetime) -> Host:
    given_up = replace(host, goal=HostGoal.RETIRED)
    return given_up.now(HostCondition.RETIRING, now, "never delivered")
