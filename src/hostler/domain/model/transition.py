"""Transition: one machine on its way through a decision, gathering changes, events, a verdict."""

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import evolve

from .commands import Event, Next, Verdict
from .machine import Machine
from .phases import Goal, Phase, Reason, legal, sentence
from .resource import Resource, Scope
from .snapshot import Snapshot


class IllegalMove(Exception):
    """A move that the table of phases does not know; the cycle reports it and goes on."""


class Transition(Struct, frozen=True, gc=False, kw_only=True):
    """One machine in one decision: its record as it will be saved, and what is to be done.

    `unissued` carry its owner tag with attempts that it never made: another store made them.
    `tried` is when its calls were last tried, where they make something again: that is counted;
    `starts` says that one of them switches its host on.
    """

    before: Machine
    machine: Machine
    resources: tuple[Resource, ...]
    unissued: tuple[Resource, ...] = ()
    events: tuple[Event, ...] = ()
    goal: Goal | None = None
    probe: bool = False
    ask: bool = False
    close: tuple[Scope, ...] = ()
    blocker: str = ""
    next: Next = Next(kind="nothing")
    lost: bool = False
    failed: bool = False
    tried: datetime | None = None
    starts: bool = False

    def main(self, snapshot: Snapshot) -> Resource | None:
        """Return the resource that must be up: the bound one of the main slot, as last seen."""
        bound = self.machine.bound(snapshot.capabilities.main)
        for resource in self.resources:
            if resource.id == bound:
                return resource
        return None

    def verdict(self) -> Verdict:
        """Return what is to be said of this machine."""
        return Verdict(
            machine=self.machine.id,
            reason=self.machine.reason,
            blocker=self.blocker,
            next=self.next,
        )


_GOALS = {Phase.PENDING: Goal.PRESENT, Phase.STOPPING: Goal.ABSENT, Phase.DELETED: Goal.ABSENT}


def event(
    kind: str, machine: Machine, snapshot: Snapshot, reason: str = "", detail: str = ""
) -> Event:
    """Return an event about a machine in this cycle."""
    return Event(
        kind=kind,
        at=snapshot.now,
        fleet=machine.fleet,
        cycle=snapshot.cycle,
        machine=machine.id,
        host=machine.host,
        reason=reason,
        detail=detail,
    )


def move(
    transition: Transition, phase: Phase, reason: Reason, snapshot: Snapshot, detail: str = ""
) -> Transition:
    """Return the step with its machine in another phase; raise IllegalMove if none leads there.

    What is deleted costs no more, however it ended.
    """
    before = transition.machine
    if not legal(before.phase, phase):
        raise IllegalMove(f"{before.id}: {before.phase} to {phase} ({reason})")
    now_ready = snapshot.now if phase is Phase.READY else None
    health = evolve(
        before.health, doubt=None, was_ready=before.health.was_ready or now_ready, stuck=False
    )
    billing = before.billing
    machine = replace(
        before,
        billing=billing.repriced(0.0, snapshot.now) if phase is Phase.DELETED else billing,
        health=health,
        phase=phase,
        since=snapshot.now,
        reason=str(reason),
        goal=_GOALS.get(phase, before.goal),
        retry_at=None if phase is Phase.READY else before.retry_at,
        retry_since=None if phase is Phase.READY else before.retry_since,
    )
    moved = event(
        "moved",
        machine,
        snapshot,
        str(reason),
        f"{before.phase}>{phase}: {detail or sentence(reason)}",
    )
    return replace(transition, machine=machine, events=(*transition.events, moved))


def wait(
    transition: Transition, what: str, detail: str = "", at: datetime | None = None
) -> Transition:
    """Return the step with what it waits for said."""
    return replace(transition, next=Next(kind=what, detail=detail, at=at))
