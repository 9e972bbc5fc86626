"""Drift: what a ready machine's record binds, and the newest observations show otherwise.

The provider says what differs, and the call that mends it (`Call.drift`), when it is asked for the
next calls of a ready machine. Here it is decided when to believe that: a listing lags, so what was
seen once is mended only after an observation that was begun a consistency delay later shows it too.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec.structs import replace

from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.commands import Event
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Scope
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition, event
from hostler.domain.observation.blockers import paused, protected_until
from hostler.domain.observation.effects import steady

SEEN = "drift: "
"""How the fact begins that says since when something differs; what differs follows."""


def mendable(
    machine: Machine, calls: tuple[Call, ...], snapshot: Snapshot
) -> tuple[tuple[Call, ...], str]:
    """Return the calls that may be made, and what the first of the others waits for.

    A call that mends nothing passes; one that only a person can make never does.
    """
    waits = {call: _waits(machine, call, snapshot) for call in calls if call.drift}
    allowed = tuple(call for call in calls if not waits.get(call))
    return allowed, next(filter(None, waits.values()), "")


def _waits(machine: Machine, call: Call, snapshot: Snapshot) -> str:
    """Return why this mending call may not be made now, or an empty string."""
    if call.effect is Effect.NONE:
        return f"a person: {call.remedy}"
    if held := protected_until(machine, snapshot.now) or paused(snapshot.row, snapshot.now):
        return held
    sure = _sure_from(machine, call, snapshot)
    observed = snapshot.inventory.covered(call.zone, call.slot.kind, machine.id)
    if sure is None or observed is None or observed < sure:
        return f"an observation that shows it for sure: {call.drift}"
    return ""


def _sure_from(machine: Machine, call: Call, snapshot: Snapshot) -> datetime | None:
    """Return from when on an observation proves the drift: since its sight, and the last mending.

    None where the drift is not in the record yet.
    """
    seen, mended = machine.fact(SEEN + call.drift), machine.fact(call.fact)
    if seen is None:
        return None
    since = steady(max(seen, mended or seen), snapshot)
    return since + snapshot.capabilities.consistency_delay_of(call.kind)


def noted(transition: Transition, calls: tuple[Call, ...] | None, snapshot: Snapshot) -> Transition:
    """Return the step with each drift in its record, told once when it begins and when it ends.

    `calls` are all that the provider named, those that may not be made now included; None where it
    was not asked: then the record says what differs.
    """
    if not calls and not transition.machine.facts:
        return transition
    known = {fact.name for fact in transition.machine.facts if fact.name.startswith(SEEN)}
    if calls is None:
        words = noticed(transition.machine)
        return replace(transition, blocker=transition.blocker or words) if words else transition
    drifts = {
        c.drift: c
        for c in calls
        if c.drift and (SEEN + c.drift in known or _has_settled(transition.machine, c, snapshot))
    }
    if not drifts and not known:
        return transition
    machine = _dated(transition.machine, drifts.values(), snapshot.now)
    for name in sorted(known - {SEEN + what for what in drifts}):
        machine = machine.without_fact(name)
    return replace(
        transition,
        machine=machine,
        events=(*transition.events, *_events(transition.machine, drifts, known, snapshot)),
        close=(*transition.close, *_scopes(machine, drifts.values(), snapshot)),
        blocker=transition.blocker or "; ".join(drifts),
    )


def noticed(machine: Machine) -> str:
    """Return what the record says differs, or an empty string."""
    names = sorted(fact.name for fact in machine.facts if fact.name.startswith(SEEN))
    return "; ".join(name.removeprefix(SEEN) for name in names)


def _has_settled(machine: Machine, call: Call, snapshot: Snapshot) -> bool:
    """Tell whether the observation shows more than the last of what made the machine ready."""
    observed = snapshot.inventory.covered(call.zone, call.slot.kind, machine.id)
    settled = steady(machine.since, snapshot) + snapshot.capabilities.consistency_delay
    return observed is not None and observed >= settled


def _dated(machine: Machine, calls: Iterable[Call], now: datetime) -> Machine:
    """Date the drifts that are new, and again those that a jump of the clock left in the future."""
    for call in calls:
        name = SEEN + call.drift
        at, mended = machine.fact(name), machine.fact(call.fact)
        if at is None or at > now:
            machine = machine.with_fact(name, now)
        if mended is not None and mended > now:
            machine = machine.with_fact(call.fact, now)
    return machine


def _events(
    machine: Machine, drifts: dict[str, Call], known: set[str], snapshot: Snapshot
) -> Iterator[Event]:
    for what, call in drifts.items():
        if SEEN + what not in known:
            remedy = call.remedy or f"{call.kind} mends it once that is sure"
            yield event("drift", machine, snapshot, what, remedy)
    for name in sorted(known):
        if name.removeprefix(SEEN) not in drifts:
            yield event("drift_over", machine, snapshot, name.removeprefix(SEEN))


def _scopes(machine: Machine, calls: Iterable[Call], snapshot: Snapshot) -> Iterator[Scope]:
    """Yield the focused observations that make a drift sure, once one can."""
    for call in calls:
        sure = _sure_from(machine, call, snapshot)
        if call.effect is Effect.NONE or call.target is None or sure is None:
            continue
        observed = snapshot.inventory.covered(call.zone, call.slot.kind, machine.id)
        if snapshot.now >= sure and (observed is None or observed < sure):
            yield Scope(call.zone, call.slot.kind, machine.id, (call.target,))


def may_drift(machine: Machine) -> bool:
    """Tell whether what differs is drift: before a machine is ready, it is only not done yet."""
    return machine.phase is Phase.READY and machine.deletion is None
