"""Sending: the one way by which a call leaves: paid from the budget, gated, sent, and counted.

Nothing is sent anywhere else. The gate comes last, after the budget's wait: what it judges is the
moment of sending.
"""

from collections.abc import Callable
from datetime import timedelta

import structlog
from msgspec import Struct

from hostler.controllers.runtime.rate_limit import Budget, Priority
from hostler.controllers.runtime.settings import Ports
from hostler.controllers.runtime.state import AccountState
from hostler.domain.model.calls import Call, Done, Outcome, Refusal, Refused, Unknown
from hostler.domain.policy.gate import Barred, Evidence, pass_gate
from hostler.ports.metrics import Count

_GATE_PAUSE = timedelta(seconds=5)

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.calls")


class Sent(Struct, frozen=True):
    """How a call went; `barred` are the refusals of our own gate: then it was not sent."""

    outcome: Outcome
    barred: tuple[Barred, ...] = ()

    @property
    def checks(self) -> str:
        """The checks of the gate that refused, as people read them."""
        return ",".join(bar.check for bar in self.barred)


class Sender:
    """Sends the calls of one account."""

    def __init__(self, ports: Ports, state: AccountState, budget: Budget) -> None:
        self._ports, self._state, self._budget = ports, state, budget
        self._provider = state.account.provider

    async def wait(self, call: Call, priority: Priority) -> None:
        """Wait until the account's budget has room for this call."""
        await self._budget.take(priority, self._provider.cost(call))

    async def send(self, call: Call, evidence: Callable[[], Evidence], name: str = "") -> Sent:
        """Gate a call and send it; `name` is what it is counted as, where not as its kind."""
        barred = self.gate(evidence())
        if barred:
            text = "gate: " + "; ".join(f"{bar.check} {bar.text}" for bar in barred)
            log.info("gate refused", call=str(call), why=text)
            return Sent(Refused(why=Refusal.NOT_SENT, text=text, after=_GATE_PAUSE), barred)
        outcome = await self._provider.do(call)
        self._count(name or call.kind, outcome)
        return Sent(outcome)

    def gate(self, evidence: Evidence) -> tuple[Barred, ...]:
        """Ask the gate, and count what it refuses."""
        barred = pass_gate(evidence)
        for bar in barred:
            self._ports.metrics.count(Count.GATE_REFUSALS, bar.check)
        return barred

    def _count(self, name: str, outcome: Outcome) -> None:
        word = f"refused_{outcome.why}" if isinstance(outcome, Refused) else _WORDS[type(outcome)]
        self._ports.metrics.count(Count.CALLS, self._state.account.name, name, word)
        if isinstance(outcome, Refused) and outcome.why is Refusal.RATE:
            self._budget.refused(outcome.after)
        else:
            self._budget.accepted()


_WORDS = {Done: "done", Unknown: "unknown"}
