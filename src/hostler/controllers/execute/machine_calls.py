"""Machine calls: one after the other, each recorded, gated, sent, and its outcome applied.

Nothing waits in here but the budget and the answer: a refusal or an unknown outcome ends the step,
and the record says when to observe again.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

import structlog

from hostler.controllers.runtime.leases import Leases, Tenure
from hostler.controllers.runtime.rate_limit import Budget, Priority
from hostler.controllers.runtime.settings import Ports
from hostler.controllers.runtime.state import AccountState
from hostler.domain.errors import StoreError
from hostler.domain.machines.next_calls import allowed, cleans
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.commands import Event
from hostler.domain.model.machine import Machine, ask
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Resource
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.observation.outcomes import apply_outcome, apply_to_resources, with_failures
from hostler.domain.policy.gate import Barred, pass_gate

from .evidence import Asking, evidence_for

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.advance")

_LONGEST_STEP = 64
"""More calls than this in one step mean that something answers without effect: observe again."""


@dataclass(slots=True)
class Work:
    """A machine in flight: its record, resources and unsaved events, as its calls are answered."""

    machine: Machine
    resources: tuple[Resource, ...]
    snapshot: Snapshot
    saved: Machine
    events: list[Event]

    def note(self, kind: str, reason: str, detail: str) -> None:
        """Keep an event for the next save."""
        machine = self.machine
        self.events.append(
            Event(
                kind=kind,
                at=self.snapshot.now,
                fleet=machine.fleet,
                cycle=self.snapshot.cycle,
                machine=machine.id,
                host=machine.host,
                reason=reason,
                detail=detail,
            )
        )


class Advancer:
    """Makes the calls of one account's machines."""

    def __init__(self, ports: Ports, state: AccountState, budget: Budget, leases: Leases) -> None:
        self._ports, self._state = ports, state
        self._budget, self._leases = budget, leases
        self._provider = state.account.provider

    async def advance(
        self,
        machine: Machine,
        resources: tuple[Resource, ...],
        goal: Goal,
        snapshot: Snapshot,
        tenure: Tenure,
    ) -> bool:
        """Make the calls that may be made now; tell whether any was made."""
        work = Work(
            machine=machine, resources=resources, snapshot=snapshot, saved=machine, events=[]
        )
        made = False
        try:
            for _ in range(_LONGEST_STEP):
                now = replace(
                    snapshot, now=self._ports.clock.now(), inventory=self._state.inventory
                )
                ready = allowed(work.machine, goal, work.resources, now, self._provider)
                if not ready.calls or not await self._round(work, ready.calls, tenure):
                    made = made or bool(ready.calls)
                    break
                made = True
            await self._save(work, tenure)
        except StoreError as error:
            log.warning(
                "record not saved", machine=machine.id, error=str(error), cycle=snapshot.cycle
            )
            self._state.stale.add(machine.fleet)
        return made

    async def _round(self, work: Work, calls: tuple[Call, ...], tenure: Tenure) -> bool:
        """Make these calls; tell whether the step goes on. Cleaning goes past a call that fails."""
        if not cleans(calls):
            return await self._one(work, calls[0], tenure)
        failed = list[Machine]()
        for call in calls:
            if not await self._one(work, call, tenure):
                failed.append(work.machine)
        work.machine = with_failures(work.machine, failed)
        return not failed

    async def _one(self, work: Work, call: Call, tenure: Tenure) -> bool:
        """Record, gate and make one call; tell whether its outcome was definite and good.

        The budget's wait comes first: what is recorded and judged is the moment of sending.
        """
        await self._budget.take(_priority(call, work.machine), self._provider.cost(call))
        if call.effect is not Effect.DESTROY and self._state.is_recalled(work.machine):
            return False
        if call.once:
            work.machine = ask(work.machine, call, self._ports.clock.now(), tenure.epoch)
            work.note("asked", call.kind, str(call))
            await self._save(work, tenure)
        elif call.effect is Effect.DESTROY:
            await self._save(work, tenure)
        barred = self._gate(work, call, tenure)
        if barred:
            self._bar(work, call, barred)
            return False
        outcome = await self._provider.do(call)
        self._take_in(work, call, outcome)
        return isinstance(outcome, Done)

    def _gate(self, work: Work, call: Call, tenure: Tenure) -> tuple[Barred, ...]:
        asking = Asking(
            call=call,
            machine=work.machine,
            snapshot=work.snapshot,
            lease_until=self._leases.until(tenure.lease.name),
        )
        return pass_gate(evidence_for(asking, self._state, self._ports.clock))

    def _bar(self, work: Work, call: Call, barred: tuple[Barred, ...]) -> None:
        """The gate refused: the call was certainly not sent."""
        text = "; ".join(f"{bar.check} {bar.text}" for bar in barred)
        for bar in barred:
            self._ports.metrics.barred(bar.check)
        log.info("gate refused", call=str(call), machine=work.machine.id, why=text)
        checks = ",".join(bar.check for bar in barred)
        said = f"gate {checks}: "
        if said not in work.machine.error:
            work.note("barred", checks, f"{call}: {text}")
        refused = Refused(why=Refusal.NOT_SENT, text=said + text, after=timedelta(seconds=5))
        work.machine = apply_outcome(work.machine, call, refused, self._ports.clock.now())

    def _take_in(self, work: Work, call: Call, outcome: Outcome) -> None:
        """Apply an outcome to the record and the resources, and note it."""
        now = self._ports.clock.now()
        self._count(call, outcome)
        work.machine = apply_outcome(work.machine, call, outcome, now)
        work.resources = apply_to_resources(work.resources, outcome)
        match outcome:
            case Done():
                kind = "resource_removed" if outcome.gone else "done"
                work.note(kind, call.kind, str(call))
            case Refused():
                work.note("refused", f"{call.kind} {outcome.why}", outcome.text)
            case Unknown():
                work.note("unknown", call.kind, outcome.text)

    def _count(self, call: Call, outcome: Outcome) -> None:
        word = f"refused_{outcome.why}" if isinstance(outcome, Refused) else _WORDS[type(outcome)]
        self._ports.metrics.called(self._state.account.name, call.kind, word)
        if isinstance(outcome, Refused) and outcome.why is Refusal.RATE:
            self._budget.refused(outcome.after)
        else:
            self._budget.accepted()

    async def _save(self, work: Work, tenure: Tenure) -> None:
        """Save what changed since the last save; the record goes on under its next version."""
        if work.machine == work.saved and not work.events:
            return
        events, work.events = tuple(work.events), []
        work.machine = await self._ports.store.save_machine(work.machine, events, tenure.fence)
        work.saved = work.machine
        self._state.keep(work.machine)


_WORDS = {Done: "done", Unknown: "unknown"}


def _priority(call: Call, machine: Machine) -> Priority:
    if call.effect is Effect.DESTROY:
        return Priority.CLEAN
    return Priority.GO_ON if machine.ids() else Priority.MAKE
