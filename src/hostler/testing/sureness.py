"""Sureness: what is asked is recorded first, and asked again only when that is sure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from hostler.domain.ids import HostId, MachineId
from hostler.domain.model.calls import Call
from hostler.domain.model.host import host_of
from hostler.domain.model.machine import Asked, CallState, Machine, Offer, Origin
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.resource import OrphanClass, Slot
from hostler.domain.model.snapshot import Orphan, Snapshot

from .invariants import Found, Thing, Violation

_FINE: Found = ()


@dataclass(frozen=True, slots=True)
class Sent:
    """A *once* call that was sent: under which attempt, when, and what came of it (or nothing)."""

    kind: str
    attempt: int
    at: float
    outcome: str = ""
    call: Call | None = field(default=None, compare=False)


@dataclass(slots=True)
class Onces:
    """S2, DESIGN 1.1: a *once* call is recorded first, and tried again only when that is sure."""

    consistency_delay: float
    last: dict[tuple[MachineId, Slot], Sent] = field(
        default_factory=dict[tuple[MachineId, Slot], Sent]
    )

    def sending(self, call: Call, record: Machine | None, now: float, *, there: bool) -> Found:
        """Check a call that is about to be sent; `there`: its slot's resource truly exists."""
        if not call.once or record is None:
            return _FINE
        key = (record.id, call.slot)
        before, self.last[key] = self.last.get(key), Sent(call.kind, call.attempt, now, call=call)
        asked = record.last_asked(call.slot, call.kind)
        if asked is None or (asked.attempt, asked.call_state) != (call.attempt, CallState.OPEN):
            return _twice(record.id, f"{call} was sent, and no record holds it")
        if before is None or before.kind != call.kind or before.outcome == "refused":
            return _FINE
        if before.outcome == "done" and there:
            return _twice(record.id, f"{call} was sent again, and its resource is there")
        if before.outcome in {"", "unknown"} and now - before.at < self.consistency_delay - 1:
            waited = now - before.at
            return _twice(record.id, f"{call} was sent again after {waited:.0f} s, unsure")
        return _FINE

    def sent(self, machine: MachineId, call: Call, outcome: str) -> None:
        """Note what came of a call; one that hung since another was sent says nothing of that."""
        last = self.last.get((machine, call.slot))
        if call.once and last is not None and (last.call is call or not last.outcome):
            self.last[machine, call.slot] = replace(last, outcome=outcome)

    def proved(self, machine: MachineId, asked: Asked) -> None:
        """Note that an observation proved the effect of a call."""
        last = self.last.get((machine, asked.slot))
        if last is not None and last.kind == asked.kind:
            self.last[machine, asked.slot] = replace(last, outcome="done")

    def deleted(self, before: Phase | None, machine: Machine, now: float) -> Found:
        """S7: *deleted* needs every unsure call to be older than the consistency delay."""
        if machine.phase is not Phase.DELETED or before is Phase.DELETED:
            return _FINE
        for asked in machine.asked:
            last = self.last.get((machine.id, asked.slot))
            same = last is not None and last.kind == asked.kind
            young = last is not None and same and now - last.at < self.consistency_delay - 1
            unsure = asked.call_state is CallState.OPEN or (
                asked.call_state is CallState.LAPSED and young
            )
            if unsure:
                text = f"{machine.id} is gone while {asked.kind} is unsure"
                return (Violation(invariant="S7", text=text, machine=machine.id),)
        return _FINE


def _twice(machine: MachineId, text: str) -> Found:
    return (Violation(invariant="S2", text=text, machine=machine),)


_OF_SCRIPTS = frozenset({Reason.BOOTSTRAP_FAILED, Reason.BOOTSTRAP_REFUSED})


@dataclass(slots=True)
class Failures:
    """S4: after an offer failed, nothing is made of it until its pause is over."""

    pause: float
    last: dict[Offer, float] = field(default_factory=dict[Offer, float])

    def moved(self, before: Machine, after: Machine, decided: float) -> None:
        """Note a failure to start, and a success, which makes the offer's record clean again.

        The pause begins with the decision: a process may stand still before that is saved. A
        script that fails is no fault of what it runs on.
        """
        if before.phase is Phase.STARTING and after.phase is Phase.READY:
            self.last.pop(after.offer, None)
        failed = before.phase is Phase.STARTING and after.phase is Phase.FAILED
        if failed and after.deletion is None and after.reason not in _OF_SCRIPTS:
            self.last[after.offer] = decided

    def inserted(self, machines: Iterable[Machine], now: float) -> Found:
        """Check new machines."""
        for machine in machines:
            since = now - self.last.get(machine.offer, -self.pause)
            if since < self.pause:
                text = f"{machine.offer} was tried again {since:.0f} s after it had failed"
                return (Violation(invariant="S4", text=text, machine=machine.id),)
        return _FINE


def swept(thing: Thing, age: float, grace: float, observed: float | None) -> Found:
    """S5: what no record explains is removed only when it is old, and was just observed again."""
    if age < grace:
        text = f"{thing.kind} {thing.id} was reclaimed at the age of {age:.0f} s"
        return (Violation(invariant="S5", text=text),)
    if observed is None or observed > _JUST:
        text = f"{thing.kind} {thing.id} was reclaimed without observing it again"
        return (Violation(invariant="S5", text=text),)
    return _FINE


_JUST = 60.0


def suspected(
    orphans: Iterable[Orphan],
    machines: Mapping[MachineId, Machine],
    bindings: Mapping[HostId, MachineId],
) -> Found:
    """S5: nothing is suspected that a record explains, nor what a machine has of its own host."""
    for orphan in orphans:
        machine = machines.get(orphan.machine) if orphan.machine else None
        host = host_of(orphan.resource)
        has = host != orphan.resource and bindings.get(host) == orphan.machine
        unexplained = orphan.cls is OrphanClass.UNRECORDED or (
            has and orphan.cls is OrphanClass.UNISSUED
        )
        if machine is None or machine.origin is Origin.ADOPTED:
            continue  # the cycle that adopts a resource still tells of it
        if unexplained and machine.phase is not Phase.DELETED:
            text = f"{orphan.kind} {orphan.resource} is suspected, and {machine.id} explains it"
            return (Violation(invariant="S5", text=text, machine=machine.id),)
    return _FINE


@dataclass(slots=True)
class Records:
    """DESIGN 1: a decision sees every record that was saved before its observation was done."""

    saved: dict[MachineId, tuple[float, Machine]] = field(
        default_factory=dict[MachineId, tuple[float, Machine]]
    )

    def note(self, machine: Machine, now: float) -> None:
        """Note a save."""
        self.saved[machine.id] = (now, machine)

    def check(self, snapshot: Snapshot, observed: float) -> Found:
        """Check what a decision saw; its newest observation was done at `looked`."""
        versions = {machine.id: machine.version for machine in snapshot.machines}
        for at, machine in self.saved.values():
            if machine.id in snapshot.moving or machine.fleet != snapshot.fleet.name:
                continue
            known = versions.get(machine.id, 0)
            stale = known < machine.version and machine.phase is not Phase.DELETED
            if stale and at < observed:
                text = f"a decision saw {machine.id} as it was before its observation"
                return (Violation(invariant="look first", text=text, machine=machine.id),)
        return _FINE
