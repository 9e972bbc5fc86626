"""Step: one machine on its way through a decision, gathering changes, events and its verdict."""

from dataclasses import dataclass, replace
from datetime import datetime

from .commands import Event, Next, Verdict
from .machine import Machine
from .phases import Goal, Phase, Reason, legal, sentence
from .resource import Part, Scope
from .snapshot import Seen


class IllegalMove(Exception):
    """A move that the table of phases does not know; the turn reports it and goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One machine in one decision: its record as it will be saved, and what is to be done.

    `tried` is when its calls were last tried, where they make something again: that is counted.
    """

    before: Machine
    machine: Machine
    parts: tuple[Part, ...]
    events: tuple[Event, ...] = ()
    goal: Goal | None = None
    probe: bool = False
    ask: bool = False
    close: tuple[Scope, ...] = ()
    blocker: str = ""
    next: Next = Next(step="nothing")
    lost: bool = False
    failed: bool = False
    tried: datetime | None = None

    def main(self, seen: Seen) -> Part | None:
        """Return the part that must be up: the bound one of the main slot, as last seen."""
        bound = self.machine.bound(seen.traits.main)
        for part in self.parts:
            if part.id == bound:
                return part
        return None

    def verdict(self) -> Verdict:
        """Return what is to be said of this machine."""
        return Verdict(
            machine=self.machine.id,
            reason=self.machine.reason,
            blocker=self.blocker,
            next=self.next,
        )


_GOALS = {Phase.WANTED: Goal.PRESENT, Phase.STOPPING: Goal.ABSENT, Phase.GONE: Goal.ABSENT}


def event(kind: str, machine: Machine, seen: Seen, reason: str = "", detail: str = "") -> Event:
    """Return an event about a machine in this turn."""
    return Event(
        kind=kind,
        at=seen.now,
        fleet=machine.fleet,
        turn=seen.turn,
        machine=machine.id,
        host=machine.host,
        reason=reason,
        detail=detail,
    )


def move(step: Step, phase: Phase, reason: Reason, seen: Seen, detail: str = "") -> Step:
    """Return the step with its machine in another phase; raise IllegalMove if none leads there."""
    before = step.machine
    if not legal(before.phase, phase):
        raise IllegalMove(f"{before.id}: {before.phase} to {phase} ({reason})")
    machine = replace(
        before,
        phase=phase,
        since=seen.now,
        reason=str(reason),
        doubt=None,
        goal=_GOALS.get(phase, before.goal),
        was_ready=before.was_ready or (seen.now if phase is Phase.READY else None),
        stuck=False,
        again=None if phase is Phase.READY else before.again,
    )
    moved = event(
        "moved", machine, seen, str(reason), f"{before.phase}>{phase}: {detail or sentence(reason)}"
    )
    return replace(step, machine=machine, events=(*step.events, moved))


def wait(step: Step, what: str, detail: str = "", at: datetime | None = None) -> Step:
    """Return the step with what it waits for said."""
    return replace(step, next=Next(step=what, detail=detail, at=at))
