"""Wantdefects: famous wrong ways to order hosts, to attach networks and to prepare what is claimed.

Each takes a good function of the program and returns the wrong one.
"""

from dataclasses import replace
from typing import Any

from hostler.domain.model.calls import Outcome, Refusal, Refused, Unknown
from hostler.domain.model.host import HostCondition

from .mutations import Function


def coming_on_record(_: Function) -> Function:
    """Count an order only once a record of its host exists."""

    def is_coming(order: Any, seen: Any) -> bool:
        found = (host for host in seen.hosts.values() if host.order == order.id)
        return any(host.condition is HostCondition.COMING for host in found)

    return is_coming


def lost_is_refused(good: Function) -> Function:
    """Take an order whose answer was lost for one that was refused."""

    async def order(*args: Any) -> Outcome:
        outcome: Outcome = await good(*args)
        if isinstance(outcome, Unknown):
            return Refused(why=Refusal.STOCK, text=outcome.text)
        return outcome

    return order


def sent_unrecorded(good: Function) -> Function:
    """Send orders that are on no row."""

    def buy(steps: Any, row: Any, seen: Any) -> Any:
        bought = good(steps, row, seen)
        named = {order.id for order in bought.order.orders} if bought.order else set[str]()
        kept = tuple(order for order in bought.row.orders if order.id not in named)
        return replace(bought, row=replace(bought.row, orders=kept))

    return buy


def all_are_over(_: Function) -> Function:
    """End every host on which nobody is, whatever is paid for."""

    def over(situation: Any) -> list[Any]:
        return [host for host in situation.hosts if host.free_from is not None]

    return over


def given_up_is_gone(good: Function) -> Function:
    """Count no host that is given up, though it stands."""

    def is_paid(host: Any) -> bool:
        return bool(good(host)) and host.condition is not HostCondition.RETIRING

    return is_paid


def none_is_over(_: Function) -> Function:
    """Keep every host that was ever ordered."""

    def over(_: Any) -> list[Any]:
        return []

    return over


def nothing(_: Function) -> Function:
    """Find nothing to call."""

    def calls(*_: Any) -> tuple[Any, ...]:
        return ()

    return calls
