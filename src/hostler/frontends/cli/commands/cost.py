"""Cost: what fleets and hosts cost, by the records; and what another policy would have cost."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number
from msgspec import Struct
from rich.console import Group, RenderableType

from hostler.config.units import format_duration
from hostler.domain.errors import RequestRefused
from hostler.domain.policy.demand import Demand
from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.options import File, ReadOptions, Whole
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Services, open_providers, open_records
from hostler.frontends.cli.render import tables
from hostler.frontends.cli.render.tables import ink
from hostler.queries.cost import (
    FLEET,
    IDLE,
    ORDERED,
    Backtests,
    Bill,
    PolicyOutcome,
    bill_document,
    bills,
    outcome_document,
    recorded_demand,
)
from hostler.queries.idle_hosts import KnownHosts, hosts_as_observed, hosts_on_record
from hostler.queries.wording import count, euros


class _Trial(Struct, frozen=True, kw_only=True):
    """Which demand is replayed against which policy."""

    policy: str
    demand: str
    days: int
    seed: int
    price: float | None


class CostCommand(Struct, frozen=True):
    """The command about cost."""

    services: Services
    guard: Guard
    backtests: Backtests

    def cost(  # noqa: PLR0913 - options of one command
        self,
        file: File,
        /,
        *,
        policy: Annotated[
            str | None,
            Parameter(help="replay past or generated demand against this policy and the default"),
        ] = None,
        demand: Annotated[
            Literal["recorded", "generated"], Parameter(help="which demand to replay")
        ] = "recorded",
        days: Annotated[
            Whole,
            Parameter(
                help="how many days of demand to replay, up to now", validator=Number(gte=1, lte=90)
            ),
        ] = 28,
        seed: Annotated[Whole, Parameter(help="the seed of generated demand")] = 1,
        price: Annotated[
            float | None,
            Parameter(
                help="euros per host and hour; default: as recorded, or 1",
                validator=Number(gt=0),
            ),
        ] = None,
        observe: Annotated[
            bool,
            Parameter(
                negative=(), help="observe the provider now: idle hosts that are on no record too"
            ),
        ] = False,
        options: ReadOptions | None = None,
    ) -> int:
        """Show hours paid and used, overhead and a forecast, or compare purchasing policies."""
        chosen = options or ReadOptions()
        if policy is None:
            return self.guard(
                chosen.json, lambda screen: self._bills(file, chosen, screen, observe=observe)
            )
        trial = _Trial(policy=policy, demand=demand, days=days, seed=seed, price=price)
        return self.guard(chosen.json, lambda screen: self._try(file, trial, chosen, screen))

    # ------------------------------------------------------------ what it costs

    async def _bills(
        self, file: Path, options: ReadOptions, screen: Screen, *, observe: bool
    ) -> int:
        async with open_records(self.services, file, screen) as (config, store):
            fleets = config.chosen(options.fleet)
            accounts = {fleet.account for fleet in fleets}
            known = await hosts_on_record(store, accounts)
            if observe:
                with screen.waiting("observing the provider"):
                    async with open_providers(self.services, config, store) as providers:
                        known = await hosts_as_observed(providers, store, accounts)
            now = self.services.clock().now()
            found = await bills(store, fleets, known, now)
            forgotten = await store.forgotten()
        for scope, error in known.unseen.items():
            screen.note(f"could not observe {scope}, so its idle hosts may be missing: {error}")
        documents = [bill_document(bill) for bill in found]
        notes = bill_notes(found, known)
        value = {"at": now, "since": forgotten, "bills": documents}
        value |= {"observed": known.observed, "incomplete": known.unseen, "notes": notes}
        screen.show(bill_table(found, notes), value)
        return Exit.OK

    # ------------------------------------------------------------ what it would cost

    async def _try(self, file: Path, trial: _Trial, options: ReadOptions, screen: Screen) -> int:
        if trial.policy not in self.backtests.policies:
            names = ", ".join(self.backtests.policies)
            raise RequestRefused(f"there is no policy {trial.policy!r}; the policies are {names}")
        demand, price = await self._demand(file, trial, options, screen)
        if not any(demand.wanted):
            raise RequestRefused("no machine was requested in that time; try --demand generated")
        with screen.waiting("replaying the demand"):
            names = dict.fromkeys((self.backtests.policies[0], trial.policy))
            found = [self.backtests.outcome(name, demand, price) for name in names]
        value = {
            "demand": trial.demand,
            "from": demand.start,
            "until": demand.until,
            "seed": trial.seed if trial.demand == "generated" else None,
            "price": price,
            "policies": [outcome_document(entry) for entry in found],
        }
        screen.show(outcome_table(found, price), value)
        return Exit.OK

    async def _demand(
        self, file: Path, trial: _Trial, options: ReadOptions, screen: Screen
    ) -> tuple[Demand, float]:
        """Return the demand that is replayed, and the price of an hour."""
        now = self.services.clock().now()
        if trial.demand == "generated":
            self.services.load(file, partial=True)
            return self.backtests.generated(trial.days, trial.seed, now), trial.price or 1.0
        async with open_records(self.services, file, screen) as (config, store):
            fleet = config.fleet(options.fleet)
            demand, known = await recorded_demand(store, fleet, trial.days, now)
        return demand, trial.price or known or 1.0


# ---------------------------------------------------------------- rendered


def bill_notes(found: Sequence[Bill], known: KnownHosts) -> list[str]:
    """Return what the bills have in common, and what is in none of them."""
    kinds, notes = {bill.kind for bill in found}, list[str]()
    if ORDERED in kinds:
        notes.append(
            "the time of a machine on a host that was ordered is in both rows: what is paid is the "
            "row of the hosts"
        )
    if unpriced := sum(bill.unpriced for bill in found):
        notes.append(f"{count(unpriced, 'more idle host')} without a known price, or off")
    if known.any and not known.observed:
        notes.append(
            "idle hosts are those on record: what others of the pool cost, which no machine ever "
            "had, is not known (--observe asks the provider)"
        )
    if IDLE in kinds:
        notes.append(
            "what idle hosts cost this month is known from when each is on record, and not of "
            "hosts that are switched"
        )
    notes.append("the last two columns assume that all stays as it is, but for hosts being retired")
    return notes


def bill_table(found: Sequence[Bill], notes: Sequence[str]) -> RenderableType:
    """Return the bills as a table, with what there is to say of them below it."""
    made = tables.table(
        *("of", "count", "paid h", "used h", "overhead"),
        *("so far", "this month", "€/h now", "a day", "30 days"),
    )
    for bill in found:
        used = bill.used
        made.add_row(
            ink(f"{bill.kind} {bill.name}"),
            str(used.machines),
            f"{used.paid_hours:,.1f}" if bill.kind != IDLE else "",
            f"{used.used_hours:,.1f}" if bill.kind == FLEET else "",
            f"{used.overhead:.0%}" if used.has_overhead else "",
            euros(used.cost) if bill.kind != IDLE else "",
            euros(bill.month),
            euros(used.price),
            euros(bill.forecast_day),
            euros(bill.forecast_30_days),
        )
    return Group(made, *(ink(note, "dim") for note in notes))


def outcome_table(found: Sequence[PolicyOutcome], price: float) -> RenderableType:
    """Return what policies come to, side by side."""
    made = tables.table(
        "policy", "hosts", "paid h", "used h", "best h", "above", "euros", "wait", "p95", "longest"
    )
    for entry in found:
        above = entry.above_optimum
        made.add_row(
            entry.policy,
            str(entry.hosts),
            f"{entry.paid_hours:,.0f}",
            f"{entry.used_hours:,.0f}",
            f"{entry.optimal_hours:,.0f}",
            f"{above:.1%}" if above is not None else "",
            euros(entry.euros),
            _seconds(entry.mean_wait),
            _seconds(entry.p95_wait),
            _seconds(entry.longest_wait),
        )
    note = (
        f"at {euros(price)} an hour; best: what it would take had all demand been known in advance"
    )
    return Group(made, ink(note, "dim"))


def _seconds(time: timedelta) -> str:
    """Return a time in whole seconds."""
    return format_duration(timedelta(seconds=round(time.total_seconds())))
