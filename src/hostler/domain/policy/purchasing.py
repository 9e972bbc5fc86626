"""Purchasing: how many hosts to order, and which to end, as one pure function of what is known now.

A host is paid for a whole floor (24 hours by Apple's licence) and then for as long as it stands. So
a free host is kept while its window runs, and demand takes it before anything is bought; the one
question is for how long to keep a free host whose window is over. That is ski rental with a memory:
on days like this one, how soon was it wanted again, and what does another one cost (forecast.py)?
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from msgspec import Struct

from hostler.domain.ids import HostId

from .demand import Demand
from .forecast import Outlook, likely, lost, worth_keeping

_MIN = timedelta(minutes=1)
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)


class Leased(Struct, frozen=True, kw_only=True):
    """A host that may be ended: paid until when, and from when on it is free (None: at work).

    A `useless` one can be no machine's as it is: it is no supply, and never worth keeping.
    """

    id: HostId
    delivered: datetime
    paid_until: datetime
    free_from: datetime | None = None
    useless: bool = False

    @property
    def busy(self) -> bool:
        """Whether a machine is on it."""
        return self.free_from is None


class Limits(Struct, frozen=True, kw_only=True):
    """What may be bought at most; None: no limit.

    `batch` is how many hosts are ordered at once, `most` how many there may be in all (the quota):
    those that are given up count until they are gone;
    `stock` how many the provider has, `cap` the euros that may be committed in 24 hours; `price` is
    what an hour of one host may come to, for as long as none stands; 0: it is not known. Nothing is
    bought for a machine that waits for less than the `patience`: a host may come free for it.
    """

    batch: int = 10
    most: int | None = None
    stock: int | None = None
    cap: float | None = None
    price: float = 0.0
    patience: timedelta = timedelta(0)


class Lead(Struct, frozen=True, kw_only=True):
    """How long things take: a host to be delivered, a wipe; and the least that is paid."""

    delivery: timedelta = 15 * _MIN
    wipe: timedelta = 20 * _MIN
    floor: timedelta = _DAY


class Situation(Struct, frozen=True, kw_only=True):
    """Everything that a purchase may know.

    `coming` are the times at which ordered hosts are expected; `waiting` says of each machine that
    has no host yet since when it waits, a time to come being as good as one long ago;
    `past` is the recorded demand up to now; `ordered` are the times of the orders of the last 24
    hours; `price` is euros per hour of one host; `beside` are hosts that are neither, and count.
    """

    now: datetime
    hosts: tuple[Leased, ...]
    past: Demand
    coming: tuple[datetime, ...] = ()
    waiting: tuple[datetime, ...] = ()
    ordered: tuple[datetime, ...] = ()
    price: float = 0.0
    lead: Lead = Lead()
    limits: Limits = Limits()
    beside: int = 0


class Ended(Struct, frozen=True, kw_only=True):
    """A host that is to be ended, and why."""

    host: HostId
    why: str


class Purchase(Struct, frozen=True, kw_only=True):
    """What to do now: how many hosts to order, which to end, and when to ask again at the latest.

    `short` is how many more would have been ordered without `limit`, which says what is in the way.
    """

    order: int = 0
    ends: tuple[Ended, ...] = ()
    short: int = 0
    limit: str = ""
    due: datetime | None = None


Policy = Callable[[Situation], Purchase]


# ---------------------------------------------------------------- which host


def taken_first(hosts: Iterable[Leased]) -> list[Leased]:
    """Return free hosts in the order in which demand takes them: the longest paid first."""
    return sorted(hosts, key=lambda host: (-host.paid_until.timestamp(), host.id))


def let_go_first(hosts: Iterable[Leased]) -> list[Leased]:
    """Return hosts at work in the order in which they are let go: the one due first, first."""
    return sorted(hosts, key=lambda host: (host.paid_until, host.id))


# ---------------------------------------------------------------- policies


def default(situation: Situation, outlook: Outlook | None = None) -> Purchase:
    """Order what waits; end what is free and paid no longer, unless keeping it costs less."""
    due = windows_over(situation)
    over = [host for host in due if not host.useless]
    spared = _spared(situation, len(over), outlook or Outlook()) if over else 0
    useless = (Ended(host=host.id, why=_USELESS) for host in due if host.useless)
    ends = (*useless, *(Ended(host=host.id, why=_WHY) for host in over[spared:]))
    return purchase(situation, ends, (situation.now + _AGAIN,) if spared else ())


_WHY = "its window is over, and to buy another one later costs less than to keep it"
_USELESS = "its window is over, and no machine can have it"
_AGAIN = 10 * _MIN


def _spared(situation: Situation, free: int, outlook: Outlook) -> int:
    """Return how many of the free hosts whose window is over are kept."""
    now, past = situation.now, situation.past
    at_work = len(situation.waiting) + sum(host.busy for host in situation.hosts)
    courses = likely(past, now, at_work, outlook)
    if not courses:
        return 0
    there = sum(not host.useless for host in situation.hosts)
    others = there + len(situation.coming) - free
    saves = outlook.saved * (lost(past, now, situation.lead.floor, outlook) / outlook.step)
    return worth_keeping(courses, others, free, saves)


def windows_over(situation: Situation) -> list[Leased]:
    """Return the hosts whose window is over and on which nobody is, those free first, first."""
    found = [
        (host.free_from, host.id, host)
        for host in situation.hosts
        if host.free_from is not None and host.paid_until <= situation.now
    ]
    return [host for *_, host in sorted(found, key=lambda entry: entry[:2])]


def purchase(situation: Situation, ends: tuple[Ended, ...], due: Iterable[datetime]) -> Purchase:
    """Return what is ended and ordered, and when a window is over next."""
    ended = {end.host for end in ends}
    remaining = [host for host in situation.hosts if host.id not in ended]
    patient = _patient(situation)
    missing = _missing(situation, remaining)
    wanted = max(0, missing - len(patient))
    order, limit = allowed(situation, wanted, len(situation.hosts))
    windows = (host.paid_until for host in remaining if not host.busy)
    times = [time for time in (*due, *windows, *patient) if time > situation.now]
    if order == wanted < missing:
        limit = f"a machine first waits {situation.limits.patience} for a host that comes free"
    return Purchase(
        order=order,
        ends=ends,
        short=missing - order,
        limit=limit,
        due=min(times, default=None),
    )


def _missing(situation: Situation, remaining: list[Leased]) -> int:
    """Return how many hosts are missing: those on the way, or free before a delivery, will do."""
    soon = situation.now + situation.lead.delivery
    useful = (host.free_from for host in remaining if not host.useless)
    free = sum(since is not None and since <= soon for since in useful)
    return max(0, len(situation.waiting) - free - len(situation.coming))


def _patient(situation: Situation) -> list[datetime]:
    """Return until when each machine waits before anything is bought for it.

    A time to come was written before a clock jumped back: whoever waits since then waits no more.
    """
    now, patience = situation.now, situation.limits.patience
    return [since + patience for since in situation.waiting if now - patience < since <= now]


def allowed(situation: Situation, wanted: int, hosts: int) -> tuple[int, str]:
    """Return how many of the wanted hosts may be ordered now, and what is in the way of more."""
    limits, price = situation.limits, situation.price
    rooms = [(wanted, ""), (limits.batch, f"{limits.batch} at once at most")]
    if limits.stock is not None:
        rooms.append((limits.stock, "the provider has no more"))
    if limits.most is not None:
        there = hosts + len(situation.coming) + situation.beside
        rooms.append(
            (limits.most - there, f"{limits.most} hosts at most, and {there} stand or are coming")
        )
    if limits.cap is not None and price <= 0:
        rooms.append((0, f"€{limits.cap:g} a day at most, and no price is known"))
    elif limits.cap is not None:
        each = price * (situation.lead.floor / _HOUR)
        spent = each * sum(at > situation.now - _DAY for at in situation.ordered)
        room = int((limits.cap - spent) / each + 1e-9)
        rooms.append((room, f"€{limits.cap:g} a day at most"))
    least = min(max(0, room) for room, _ in rooms)
    return least, next(why for room, why in rooms if max(0, room) == least)
