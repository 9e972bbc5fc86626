"""Cost: what fleets and hosts have cost, by the records, and what a purchasing policy would."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import AccountName
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.host import Host, HostCondition, HostOrigin
from hostler.domain.policy.billing import DAILY, HOURLY, MONTHLY, Terms, cost_so_far, paid
from hostler.domain.policy.demand import Demand
from hostler.domain.reporting.usage import Usage, cost_since, recorded, staying, usage
from hostler.ports.store import Store

from .history import fleet_images, fleet_images_now
from .idle_hosts import KnownHosts, idle_hosts, is_leaving

_HOUR = timedelta(hours=1)
_DAY, _MONTH = 24, 720
"""Hours of a forecast: a day, and thirty of them."""


FLEET, ORDERED, IDLE = "fleet", "hosts of", "idle hosts of"
"""Of what there are bills: machines, hosts that were ordered, and hosts that no machine has."""


class Bill(Struct, frozen=True, kw_only=True):
    """What a fleet, the leased hosts of an account, or its idle ones, have cost.

    `unpriced` are idle hosts beside those that are counted, of which no price is known, or which
    are off. `month` is what they cost since the first of this month, UTC. `leaving` is what those
    of them cost an hour that are being given up: what is left to pay for them is in `used`, and
    they are in no forecast.
    """

    kind: str
    name: str
    used: Usage
    month: float = 0.0
    leaving: float = 0.0
    unpriced: int = 0

    @property
    def _staying(self) -> float:
        """What those that stay cost an hour, in euros."""
        return self.used.price - self.leaving

    @property
    def forecast_day(self) -> float:
        """What those that stay cost in a day, in euros."""
        return self._staying * _DAY

    @property
    def forecast_30_days(self) -> float:
        """What those that stay cost in thirty days, in euros."""
        return self._staying * _MONTH


async def bills(
    store: Store, fleets: tuple[Fleet, ...], known: KnownHosts, now: datetime
) -> tuple[Bill, ...]:
    """Return what these fleets have cost, and of their accounts the hosts: ordered, and idle ones.

    What runs on a host that was ordered is in two of them; what is idle in one alone.
    """
    found = [await _bill_of_fleet(store, fleet, now) for fleet in fleets]
    hosts = [host for host in await store.hosts() if _is_ordered(host)]
    for account in sorted({fleet.account for fleet in fleets}):
        found += _bill_of_hosts(account, [host for host in hosts if host.account == account], now)
        found += await _bill_of_idle(store, account, known, now)
    return tuple(found)


async def _bill_of_fleet(store: Store, fleet: Fleet, now: datetime) -> Bill:
    """Return what the machines of a fleet have cost; hours are those that are remembered."""
    machines = await store.machines(fleet.name)
    images = await fleet_images_now(store, fleet.name, now)
    images = staying(images, {machine.id for machine in machines})
    living = sum(machine.billing.cost(now) for machine in machines)
    return Bill(
        kind=FLEET,
        name=fleet.name,
        used=replace(usage(images, now), cost=await store.spent(fleet.name) + living),
        month=cost_since(images, month_of(now), now),
    )


def month_of(now: datetime) -> datetime:
    """Return when the month began that a time is in, UTC."""
    return now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _bill_of_hosts(account: AccountName, hosts: list[Host], now: datetime) -> list[Bill]:
    if not hosts:
        return []
    there = (host for host in hosts if host.condition is not HostCondition.ABSENT)
    leaving = sum(host.billing.price for host in there if is_leaving(host))
    used = _hosts_usage(hosts, now)
    month = used.cost - _hosts_usage(hosts, month_of(now)).cost
    return [Bill(kind=ORDERED, name=account, used=used, month=month, leaving=leaving)]


async def _bill_of_idle(
    store: Store, account: AccountName, known: KnownHosts, now: datetime
) -> list[Bill]:
    idle = await idle_hosts(store, known.hosts.get(account, ()), month_of(now), now)
    if not (idle.price or idle.month):
        return []
    return [
        Bill(
            kind=IDLE,
            name=account,
            used=Usage(machines=idle.count, price=idle.price),
            month=idle.month,
            leaving=idle.leaving,
            unpriced=idle.unpriced,
        )
    ]


def _terms(host: Host) -> Terms:
    """Return how a host is billed: by the month where another one is going to be paid."""
    if host.purchase.renews:
        return MONTHLY
    return DAILY if host.purchase.paid_until is not None else HOURLY


def _is_ordered(host: Host) -> bool:
    """Tell whether hostler ordered a host, and it was delivered: others pay for all others."""
    return host.purchase.origin is HostOrigin.ORDERED and host.purchase.delivered is not None


def _hosts_usage(hosts: list[Host], now: datetime) -> Usage:
    """Return what leased hosts have cost, the current billing period in full.

    One that is gone was paid until then, and costs no more.
    """
    total = Usage()
    for host in hosts:
        if host.purchase.delivered is not None:
            terms, absent = _terms(host), host.condition is HostCondition.ABSENT
            end = min(host.since, now) if absent and host.since is not None else now
            total = total.plus(
                Usage(
                    machines=1,
                    paid_hours=paid(terms, host.purchase.delivered, end) / _HOUR,
                    cost=cost_so_far(terms, host.purchase.delivered, end, host.billing.price),
                    price=0.0 if absent else host.billing.price,
                )
            )
    return total


def bill_document(bill: Bill) -> Mapping[str, object]:
    """Return one bill as a JSON object."""
    used, idle = bill.used, bill.kind == IDLE
    return {
        "of": bill.kind,
        "name": bill.name,
        "count": used.machines,
        "unpriced": bill.unpriced,
        "paid_hours": None if idle else round(used.paid_hours, 4),
        "used_hours": round(used.used_hours, 4) if bill.kind == FLEET else None,
        "overhead": round(used.overhead, 4) if used.has_overhead else None,
        "cost": None if idle else round(used.cost, 6),
        "month": round(bill.month, 6),
        "price": used.price,
        "forecast_day": round(bill.forecast_day, 6),
        "forecast_30_days": round(bill.forecast_30_days, 6),
    }


# ---------------------------------------------------------------- what a policy would cost


class PolicyOutcome(Struct, frozen=True, kw_only=True):
    """What a purchasing policy comes to for a demand.

    `optimal_hours` is the least that serves the demand as soon.
    """

    policy: str
    hosts: int
    paid_hours: float
    used_hours: float
    optimal_hours: float
    euros: float
    mean_wait: timedelta
    p95_wait: timedelta
    longest_wait: timedelta

    @property
    def above_optimum(self) -> float | None:
        """By which fraction more is paid than the least that would do; None where that is zero."""
        return self.paid_hours / self.optimal_hours - 1 if self.optimal_hours else None


class Backtests(Protocol):
    """Replays demands against purchasing policies."""

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the policies, the default first."""
        ...

    def generated(self, days: int, seed: int, now: datetime) -> Demand:
        """Return the demand of a made-up team in the days before now."""
        ...

    def outcome(self, policy: str, demand: Demand, price: float) -> PolicyOutcome:
        """Return what a policy comes to for a demand, at a price in euros an hour."""
        ...


async def recorded_demand(
    store: Store, fleet: Fleet, days: int, now: datetime
) -> tuple[Demand, float | None]:
    """Return the demand of a fleet in the last days, and its last known price an hour, if any."""
    living = {machine.id for machine in await store.machines(fleet.name)}
    images = staying(await fleet_images(store, fleet.name), living)
    prices = [machine.billing.price for _, machine in images if machine.billing.price > 0]
    demand = recorded(images, now).since(now - timedelta(days=days))
    return demand, prices[-1] if prices else None


def outcome_document(outcome: PolicyOutcome) -> Mapping[str, object]:
    """Return one outcome as a JSON object."""
    above = outcome.above_optimum
    return {
        "policy": outcome.policy,
        "hosts": outcome.hosts,
        "paid_hours": round(outcome.paid_hours, 4),
        "used_hours": round(outcome.used_hours, 4),
        "optimal_paid_hours": round(outcome.optimal_hours, 4),
        "above_optimum": None if above is None else round(above, 6),
        "euros": round(outcome.euros, 6),
        "mean_wait_seconds": outcome.mean_wait.total_seconds(),
        "p95_wait_seconds": outcome.p95_wait.total_seconds(),
        "longest_wait_seconds": outcome.longest_wait.total_seconds(),
    }
