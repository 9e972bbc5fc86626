"""Money: what fleets and hosts cost, from the records; and what another policy would have cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Literal, Protocol

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Group, RenderableType

from hostler.domain.errors import RequestRefused
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.host import Host, HostCondition, HostGoal, HostOrigin
from hostler.domain.policy.billing import DAILY, HOURLY, MONTHLY, Terms, cost_so_far, paid
from hostler.domain.policy.demand import Demand
from hostler.domain.reporting.usage import Image, Usage, recorded, usage
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.format import euros, span
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.options import About, File
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Outside, Purpose
from hostler.frontends.cli.render import tables
from hostler.frontends.cli.render.tables import ink
from hostler.frontends.cli.views.events import of_fleet
from hostler.ports.store import Store

_HOUR = timedelta(hours=1)
_DAY, _MONTH = 24, 720
"""Hours of a forecast: a day, and thirty of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a policy makes of a demand; `optimal_hours` is the least that serves it as soon."""

    policy: str
    hosts: int
    paid_hours: float
    used_hours: float
    optimal_hours: float
    euros: float
    mean_wait: timedelta
    p95_wait: timedelta
    longest_wait: timedelta


class Trying(Protocol):
    """Plays demands against policies."""

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the policies, the default first."""
        ...

    def generated(self, days: int, seed: int, now: datetime) -> Demand:
        """Return the demand of a made-up team in the days before now."""
        ...

    def outcome(self, policy: str, demand: Demand, price: float) -> Outcome:
        """Return what a policy makes of a demand, at a price of euros an hour."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What a fleet, or the leased hosts of an account, came to.

    `leaving` is what those of them cost an hour now that are being given up: the rest of what is
    paid for them is in `used`, and they are in no forecast.
    """

    kind: str
    name: str
    used: Usage
    leaving: float = 0.0

    @property
    def ahead(self) -> float:
        """Euros an hour of what stays."""
        return self.used.price - self.leaving


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Against which policy what is played."""

    policy: str
    demand: str
    days: int
    seed: int
    price: float | None


@dataclass(frozen=True, slots=True)
class Cost:
    """The command that tells of money."""

    outside: Outside
    guard: Guard
    trying: Trying

    def cost(  # noqa: PLR0913 - options of one command
        self,
        file: File,
        /,
        *,
        policy: Annotated[
            str | None, Parameter(help="play a demand against this policy, beside the default")
        ] = None,
        demand: Annotated[
            Literal["recorded", "generated"], Parameter(help="which demand is played")
        ] = "recorded",
        days: Annotated[
            int, Parameter(help="of demand, the last ones", validator=Number(gte=1, lte=90))
        ] = 28,
        seed: Annotated[int, Parameter(help="of a generated demand")] = 1,
        price: Annotated[
            float | None,
            Parameter(
                help="euros an hour of one host; left out: as recorded, or 1",
                validator=Number(gt=0),
            ),
        ] = None,
        about: About | None = None,
    ) -> int:
        """Show hours paid and used, overhead and forecast; or try another policy."""
        asked = about or About()
        if policy is None:
            return self.guard(asked.json, lambda screen: self._bills(file, asked, screen))
        tried = Asked(policy=policy, demand=demand, days=days, seed=seed, price=price)
        return self.guard(asked.json, lambda screen: self._try(file, tried, asked, screen))

    # ------------------------------------------------------------ what it costs

    async def _bills(self, file: File, asked: About, screen: Screen) -> int:
        config, now = self.outside.load(file), self.outside.clock().now()
        async with self.outside.store(config, Purpose.READ) as store:
            fleets = config.chosen(asked.fleet)
            bills = [await bill_of(store, fleet, now) for fleet in fleets]
            accounts = {fleet.account for fleet in fleets}
            hosts = [host for host in await store.hosts() if host.account in accounts]
            forgotten = await store.forgotten()
        for name in sorted(accounts):
            own = [host for host in hosts if host.account == name and is_bought(host)]
            if own:
                used = hosts_usage(own, now)
                bills.append(Bill(kind="hosts of", name=name, used=used, leaving=leaving(own)))
        screen.show(picture(bills), {"at": now, "since": forgotten, **as_json(bills)})
        return Exit.OK

    # ------------------------------------------------------------ what it would cost

    async def _try(self, file: File, tried: Asked, asked: About, screen: Screen) -> int:
        if tried.policy not in self.trying.policies:
            names = ", ".join(self.trying.policies)
            raise RequestRefused(f"there is no policy {tried.policy!r}; there are {names}")
        demand, price = await self._demand(file, tried, asked)
        if not any(demand.wanted):
            raise RequestRefused("nothing was wanted in that time; try --demand generated")
        with screen.waiting("playing the demand"):
            names = dict.fromkeys((self.trying.policies[0], tried.policy))
            found = [self.trying.outcome(name, demand, price) for name in names]
        value = {
            "demand": tried.demand,
            "from": demand.start,
            "until": demand.until,
            "seed": tried.seed if tried.demand == "generated" else None,
            "price": price,
            "policies": [outcome_json(entry) for entry in found],
        }
        screen.show(outcomes(found, price), value)
        return Exit.OK

    async def _demand(self, file: File, tried: Asked, asked: About) -> tuple[Demand, float]:
        """Return the demand that is played, and the price of an hour."""
        config, now = self.outside.load(file), self.outside.clock().now()
        if tried.demand == "generated":
            return self.trying.generated(tried.days, tried.seed, now), tried.price or 1.0
        fleet = config.fleet(asked.fleet)
        async with self.outside.store(config, Purpose.READ) as store:
            images = await images_of(store, fleet)
        start = now - timedelta(days=tried.days)
        prices = [machine.price for _, machine in images if machine.price > 0]
        price = tried.price or (prices[-1] if prices else 1.0)
        return recorded(images, now).since(start), price


async def images_of(store: Store, fleet: Fleet) -> tuple[Image, ...]:
    """Return every image that is kept of a fleet's machines, in order."""
    kept = await of_fleet(store, fleet.name, 0)
    return tuple((entry.event.at, entry.image) for entry in kept if entry.image is not None)


async def bill_of(store: Store, fleet: Fleet, now: datetime) -> Bill:
    """Return what the machines of a fleet came to, as far as they are remembered."""
    return Bill(kind="fleet", name=fleet.name, used=usage(await images_of(store, fleet), now))


def terms_of(host: Host) -> Terms:
    """Return how a host is paid, by what its record says of its commitment."""
    if "month" in host.commitment:
        return MONTHLY
    return DAILY if host.paid_until is not None else HOURLY


def is_bought(host: Host) -> bool:
    """Tell whether a host was ordered by hostler, and delivered: all others somebody else pays."""
    return host.origin is HostOrigin.ORDERED and host.delivered is not None


def hosts_usage(hosts: list[Host], now: datetime) -> Usage:
    """Return what leased hosts came to, each with the whole of the window that is paid now.

    One that is gone is paid until then, and costs no more.
    """
    total = Usage()
    for host in hosts:
        if host.delivered is not None:
            terms, gone = terms_of(host), host.condition is HostCondition.GONE
            end = host.since if gone and host.since is not None else now
            total = total.plus(
                Usage(
                    machines=1,
                    paid_hours=paid(terms, host.delivered, end) / _HOUR,
                    cost=cost_so_far(terms, host.delivered, end, host.price),
                    price=0.0 if gone else host.price,
                )
            )
    return total


def leaving(hosts: list[Host]) -> float:
    """Return what hosts cost an hour that are still there, and are being given up."""
    there = (host for host in hosts if host.condition is not HostCondition.GONE)
    return sum(host.price for host in there if host.scheduled or host.goal is HostGoal.RETIRED)


# ---------------------------------------------------------------- shown


def picture(bills: list[Bill]) -> RenderableType:
    """Return the bills as a table."""
    made = tables.table(
        "of", "count", "paid h", "used h", "overhead", "so far", "€/h now", "a day", "30 days"
    )
    for bill in bills:
        used = bill.used
        made.add_row(
            ink(f"{bill.kind} {bill.name}"),
            str(used.machines),
            f"{used.paid_hours:,.1f}",
            f"{used.used_hours:,.1f}" if bill.kind == "fleet" else "",
            f"{used.overhead:.0%}" if used.used_hours else "",
            euros(used.cost),
            euros(used.price),
            euros(bill.ahead * _DAY),
            euros(bill.ahead * _MONTH),
        )
    return Group(made, ink("the last two: if all stays that is not being given up", "dim"))


def as_json(bills: list[Bill]) -> Mapping[str, object]:
    """Return the same for a program."""
    return {"bills": [bill_json(bill) for bill in bills]}


def bill_json(bill: Bill) -> Mapping[str, object]:
    """Return one bill."""
    used = bill.used
    return {
        "of": bill.kind,
        "name": bill.name,
        "count": used.machines,
        "paid_hours": round(used.paid_hours, 4),
        "used_hours": round(used.used_hours, 4) if bill.kind == "fleet" else None,
        "overhead": round(used.overhead, 4) if used.used_hours else None,
        "cost": round(used.cost, 6),
        "price": used.price,
        "forecast_day": round(bill.ahead * _DAY, 6),
        "forecast_30_days": round(bill.ahead * _MONTH, 6),
    }


def outcomes(found: list[Outcome], price: float) -> RenderableType:
    """Return what policies came to, side by side."""
    made = tables.table(
        "policy", "hosts", "paid h", "used h", "best h", "above", "euros", "wait", "p95", "longest"
    )
    for entry in found:
        made.add_row(
            entry.policy,
            str(entry.hosts),
            f"{entry.paid_hours:,.0f}",
            f"{entry.used_hours:,.0f}",
            f"{entry.optimal_hours:,.0f}",
            f"{more:.1%}" if (more := above(entry)) is not None else "",
            euros(entry.euros),
            whole(entry.mean_wait),
            whole(entry.p95_wait),
            whole(entry.longest_wait),
        )
    return Group(made, ink(f"at {euros(price)} an hour; best: all known beforehand", "dim"))


def whole(time: timedelta) -> str:
    """Return a time in whole seconds."""
    return span(timedelta(seconds=round(time.total_seconds())))


def above(entry: Outcome) -> float | None:
    """Return by which part more was paid than the least that would have done; None of nothing."""
    return entry.paid_hours / entry.optimal_hours - 1 if entry.optimal_hours else None


def outcome_json(entry: Outcome) -> Mapping[str, object]:
    """Return one outcome."""
    return {
        "policy": entry.policy,
        "hosts": entry.hosts,
        "paid_hours": round(entry.paid_hours, 4),
        "used_hours": round(entry.used_hours, 4),
        "optimal_paid_hours": round(entry.optimal_hours, 4),
        "above_optimum": None if (more := above(entry)) is None else round(more, 6),
        "euros": round(entry.euros, 6),
        "mean_wait_seconds": entry.mean_wait.total_seconds(),
        "p95_wait_seconds": entry.p95_wait.total_seconds(),
        "longest_wait_seconds": entry.longest_wait.total_seconds(),
    }
