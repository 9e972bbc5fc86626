"""Subject calls: a machine's or host's calls, each recorded, gated, sent, its outcome applied.

Nothing waits in here but the budget and the answer: a refusal or an unknown outcome ends the round,
and the record says when to observe again.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, Protocol

import structlog

from hostler.controllers.runtime.leases import Tenure
from hostler.controllers.runtime.rate_limit import Priority
from hostler.domain.errors import StoreError
from hostler.domain.ids import CycleId
from hostler.domain.machines.next_calls import cleans
from hostler.domain.model.calls import Call, Done, Effect
from hostler.domain.model.commands import Event
from hostler.domain.model.resource import Resource
from hostler.domain.model.subject import SubjectT, ask
from hostler.domain.observation.call_events import answer_of, event_of
from hostler.domain.observation.outcomes import apply_outcome, apply_to_resources, with_failures
from hostler.domain.policy.gate import Evidence
from hostler.ports.clock import Clock

from .sending import Sender, Sent

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.calls")

_MOST_CALLS = 64
"""More calls than this in one round mean that something answers without effect: observe again."""


@dataclass(slots=True)
class Work(Generic[SubjectT]):
    """A subject in flight: its record, resources and unsaved events, as its calls are answered."""

    subject: SubjectT
    resources: tuple[Resource, ...]
    cycle: CycleId
    tenure: Tenure
    saved: SubjectT = field(init=False)
    events: list[Event] = field(default_factory=list[Event])

    def __post_init__(self) -> None:
        self.saved = self.subject

    @property
    def has_unsaved_calls(self) -> bool:
        """Whether a *once* call, or the answer to one, is still to be saved."""
        return self.subject.asked != self.saved.asked

    def note(self, at: datetime, words: tuple[str, str, str]) -> None:
        """Keep an event for the next save: its kind, reason and detail."""
        self.events.append(event_of(self.subject, self.cycle, at, words))


class Pursuit(Protocol[SubjectT]):
    """What is wanted of a subject, and what differs between machines and hosts on the way."""

    def next_calls(self, work: Work[SubjectT]) -> tuple[Call, ...]:
        """Return the calls that may be made now; empty ends the round."""
        ...

    def goes_on(self, work: Work[SubjectT], call: Call) -> bool:
        """Tell whether a call is still to be made after the budget's wait."""
        ...

    def priority(self, work: Work[SubjectT], call: Call) -> Priority:
        """Return how urgent a call is to the account's budget."""
        ...

    def evidence(self, work: Work[SubjectT], call: Call) -> Evidence:
        """Return what is known at this moment, for the gate."""
        ...

    async def save(self, work: Work[SubjectT], events: tuple[Event, ...]) -> SubjectT:
        """Save the record with its events, and return it under its next version."""
        ...


class Caller:
    """Makes the calls of one account's machines and hosts."""

    def __init__(self, sender: Sender, clock: Clock) -> None:
        self._sender, self._clock = sender, clock

    async def advance(self, work: Work[SubjectT], pursuit: Pursuit[SubjectT]) -> bool:
        """Make the calls that may be made now; tell whether any was made.

        Raises StoreError where the record could not be saved: what was asked stands in it.
        """
        made = False
        for _ in range(_MOST_CALLS):
            calls = pursuit.next_calls(work)
            made = made or bool(calls)
            if not calls or not await self._round(work, pursuit, calls):
                break
        await self._save(work, pursuit)
        return made

    async def _round(
        self, work: Work[SubjectT], pursuit: Pursuit[SubjectT], calls: tuple[Call, ...]
    ) -> bool:
        """Make these calls; tell whether to go on. Cleaning goes past a call that fails."""
        if not cleans(calls):
            return await self._one(work, pursuit, calls[0])
        failed = list[SubjectT]()
        for call in calls:
            if not await self._one(work, pursuit, call):
                failed.append(work.subject)
        work.subject = with_failures(work.subject, failed)
        return not failed

    async def _one(self, work: Work[SubjectT], pursuit: Pursuit[SubjectT], call: Call) -> bool:
        """Record, gate and make one call; tell whether its outcome was definite and good.

        The budget's wait comes first: what is recorded and judged is the moment of sending.
        """
        await self._sender.wait(call, pursuit.priority(work, call))
        if not pursuit.goes_on(work, call):
            return False
        now = self._clock.now()
        if call.once:
            work.subject = ask(work.subject, call, now, work.tenure.epoch)
            work.note(now, ("asked", call.kind, str(call)))
        if work.has_unsaved_calls or call.effect is Effect.DESTROY:
            await self._save(work, pursuit)
        sent = await self._sender.send(call, lambda: pursuit.evidence(work, call))
        self._apply(work, call, sent)
        return isinstance(sent.outcome, Done)

    def _apply(self, work: Work[SubjectT], call: Call, sent: Sent) -> None:
        """Apply an outcome to the record and the resources, and note it."""
        now = self._clock.now()
        words = answer_of(work.subject, call, sent.outcome)
        if words is not None and sent.barred:
            words = ("barred", sent.checks, f"{call}: {words[2]}")
        if words is not None:
            work.note(now, words)
        work.subject = apply_outcome(work.subject, call, sent.outcome, now)
        work.resources = apply_to_resources(work.resources, sent.outcome)

    async def _save(self, work: Work[SubjectT], pursuit: Pursuit[SubjectT]) -> None:
        """Save what changed since the last save; the record goes on under its next version."""
        if work.subject == work.saved and not work.events:
            return
        events, work.events = tuple(work.events), []
        work.subject = work.saved = await pursuit.save(work, events)


def not_saved(error: StoreError, **what: object) -> None:
    """Log that a record was not saved: somebody was faster, so it is read again."""
    log.warning("record not saved", error=str(error), **what)
