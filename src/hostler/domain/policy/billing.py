"""Billing: what anything has cost, and for hosts the time paid already and what an end would waste.

A host that we ordered is paid from its delivery: for a floor (24 hours, Apple's licence), then as
long as it stands. A commitment makes windows of a month that renew until it is cancelled; a cloud
server has no floor. Sums are in the currency of the price, which is by the hour.
"""

from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

_HOUR = timedelta(hours=1)
FLOOR = timedelta(hours=24)
MONTH = timedelta(days=30)


def cost_between(price: float, start: datetime | None, end: datetime) -> float:
    """Return what `price` euros per hour come to between two times; nothing before a start."""
    if start is None or end <= start:
        return 0.0
    return price * ((end - start) / _HOUR)


class Billing(Struct, frozen=True, gc=False, kw_only=True):
    """What something costs: `price` is euros per hour, `spent` euros up to `billed_from`."""

    price: float = 0.0
    spent: float = 0.0
    billed_from: datetime | None = None

    def cost(self, now: datetime) -> float:
        """Return what it has cost up to now."""
        return self.spent + cost_between(self.price, self.billed_from, now)

    def repriced(self, price: float, now: datetime) -> "Billing":
        """Return it with what was spent written down, and a new price from now on."""
        if abs(price - self.price) < 1e-9:
            return self
        return replace(self, spent=self.cost(now), price=price, billed_from=now)


class Terms(Struct, frozen=True, kw_only=True):
    """How a host is paid: at least `floor`; in whole periods, where `renews`, until `cancelled`.

    `cancelled` is when the renewal was cancelled: the window that ran then is the last one.
    """

    floor: timedelta = timedelta(0)
    renews: timedelta | None = None
    cancelled: datetime | None = None


HOURLY = Terms()
DAILY = Terms(floor=FLOOR)
MONTHLY = Terms(floor=FLOOR, renews=MONTH)


def paid_until(terms: Terms, delivered: datetime, now: datetime) -> datetime:
    """Return until when a host is paid if it is ended now: never before now, once delivered."""
    if now < delivered:
        return delivered
    committed = delivered + terms.floor
    if terms.renews is not None:
        committed = max(committed, _renewed_until(terms.renews, terms.cancelled, delivered, now))
    return max(committed, now)


def _renewed_until(
    period: timedelta, cancelled: datetime | None, delivered: datetime, now: datetime
) -> datetime:
    """Return the end of the last window that a commitment began; one begins when another ends."""
    last = now if cancelled is None else max(delivered, min(cancelled, now))
    return delivered + period * ((last - delivered) // period + 1)


def remaining(terms: Terms, delivered: datetime, now: datetime) -> timedelta:
    """Return what is left of the time that is paid already."""
    return paid_until(terms, delivered, now) - max(now, delivered)


def paid(terms: Terms, delivered: datetime, now: datetime) -> timedelta:
    """Return for how long a host is paid in all if it is ended now; nothing before its delivery."""
    return paid_until(terms, delivered, now) - delivered


def cost_so_far(terms: Terms, delivered: datetime, now: datetime, price: float) -> float:
    """Return what a host has cost up to now, with the whole of the window that is paid now."""
    return price * (paid(terms, delivered, now) / _HOUR)


def waste(terms: Terms, delivered: datetime, now: datetime, price: float) -> float:
    """Return what would be paid for nothing if the host were ended now."""
    return price * (remaining(terms, delivered, now) / _HOUR)
