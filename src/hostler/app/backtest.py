"""Backtest: the cost command, with the laboratory that replays demands against policies."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from hostler.domain.policy.demand import Demand
from hostler.frontends.cli.commands.cost import CostCommand
from hostler.frontends.cli.console.guard import guarded
from hostler.queries.cost import PolicyOutcome

from .compose import Composed


def cost() -> Mapping[str, Callable[..., int]]:
    """Return the command by name."""
    return {"cost": CostCommand(Composed(), guarded, LabBacktests()).cost}


class LabBacktests:
    """Replays demands through the functions that buy hosts for real."""

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the policies, the default first."""
        from hostler.lab.backtest.policies import POLICIES

        return tuple(POLICIES)

    def generated(self, days: int, seed: int, now: datetime) -> Demand:
        """Return the demand of a made-up team, from a Monday on, and over before now."""
        from hostler.lab.backtest.workload import generated

        first = now - timedelta(days=now.weekday() + 7 * -(-days // 7))
        return generated(days, seed, first.replace(hour=0, minute=0, second=0, microsecond=0))

    def outcome(self, policy: str, demand: Demand, price: float) -> PolicyOutcome:
        """Return what a policy comes to for a demand."""
        from hostler.lab.backtest.backtest import Backtest, Rules
        from hostler.lab.backtest.optimum import optimal_paid_hours
        from hostler.lab.backtest.policies import POLICIES

        played = Backtest(demand, POLICIES[policy], Rules(price=price)).play()
        waits = sorted(played.waits) or [timedelta(0)]
        return PolicyOutcome(
            policy=policy,
            hosts=len(played.lives),
            paid_hours=played.paid_hours,
            used_hours=played.used_hours,
            optimal_hours=optimal_paid_hours(played.served, delivery=timedelta(0)),
            euros=price * played.paid_hours,
            mean_wait=sum(waits, timedelta(0)) / len(waits),
            p95_wait=waits[len(waits) * 95 // 100],
            longest_wait=waits[-1],
        )
