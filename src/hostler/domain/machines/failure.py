"""Loss: when a machine that should be up is believed not to be, and when it is not.

One look is nothing: a loss is doubted from its first look on, and believed when a look at least
an absence gap later still shows it. In a wave of losses each one needs a look of its own.
"""

from dataclasses import replace
from datetime import datetime

from hostler.domain.hosts.allocation import HAD
from hostler.domain.model.calls import Refusal, Shows
from hostler.domain.model.host import AT_HOME
from hostler.domain.model.machine import Doubt, Fate, Machine
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.resource import DOWN, Condition, Part, Scope, Slot
from hostler.domain.model.snapshot import Seen
from hostler.domain.model.transition import Step
from hostler.domain.observation import effects

_WORDS = {
    Condition.OFF: Reason.STOPPED,
    Condition.STANDBY: Reason.STANDBY,
    Condition.LOCKED: Reason.LOCKED,
    Condition.WIPING: Reason.WIPED,
    Condition.FAILED: Reason.FAILED,
}

REFUSALS = {
    Refusal.STOCK: Reason.OUT_OF_STOCK,
    Refusal.QUOTA: Reason.QUOTA,
    Refusal.INVALID: Reason.REFUSED,
    Refusal.DENIED: Reason.REFUSED,
}


def switched_on(machine: Machine, seen: Seen) -> bool:
    """Tell whether the main part was switched on long enough ago for looks to show it."""
    bound = machine.bound(seen.traits.main)
    sighting = seen.view.sightings.get(bound) if bound else None
    if sighting is None:
        return False
    if machine.woken:
        return False
    powered = [asked for asked in machine.asked if asked.shows is Shows.POWER]
    if not powered or powered[-1].fate is not Fate.DONE:
        return machine.was_ready is not None
    done = powered[-1].closed or powered[-1].at
    if machine.was_ready is None and seen.jumped is not None:
        done = max(done, seen.jumped)
    return seen.view.shown(sighting) >= done + seen.traits.settle_of(powered[-1].kind)


def suspected(step: Step, seen: Seen) -> Reason | None:
    """Return which loss the newest looks suggest, whether or not it is believed yet."""
    machine = step.machine
    main = seen.traits.main
    if (slot := _missing(machine)) is not None:
        return Reason.VANISHED if slot == main else Reason.PART_VANISHED
    part = step.main(seen)
    if part is not None and part.condition in DOWN and _counts(machine, part, seen):
        return _WORDS[part.condition]
    return _taken(machine, part, seen) if part is not None and seen.traits.hosts else None


def _taken(machine: Machine, part: Part, seen: Seen) -> Reason | None:
    """Return why a host that is up is no longer its machine's: its disk is, or may be, another one.

    It was wiped while nobody looked; or it is in the pool by a person's hand after another
    installation had it, or while its machine is at rest, so that anybody may have used it since.
    """
    sighting = seen.view.sightings.get(part.id)
    if sighting is not None and effects.was_wiped(machine, part, seen.view.shown(sighting)):
        return Reason.WIPED
    used = machine.woken or machine.fact(HAD) is not None
    pooled = part.mark is None and part.note("stage") in AT_HOME
    return Reason.HOST_USED if used and pooled else None


def is_missing(machine: Machine) -> bool:
    """Tell whether the newest looks lack one of its bound parts."""
    return _missing(machine) is not None


def _missing(machine: Machine) -> Slot | None:
    for place in machine.places:
        if any(known.absent and known.id == place.bound for known in place.known):
            return place.slot
    return None


def _counts(machine: Machine, part: Part, seen: Seen) -> bool:
    if machine.phase is Phase.RESTING:
        return part.condition is not Condition.STANDBY
    return part.condition is Condition.LOCKED or switched_on(machine, seen)


def doubted(step: Step, seen: Seen) -> tuple[Step, Reason | None]:
    """Write the doubt into the record, and return the loss once it is believed."""
    reason = suspected(step, seen)
    machine = step.machine
    if reason is None and machine.doubt is None:
        return step, None
    looked = _last_look(step, seen)
    if reason is None:
        if machine.doubt is None or looked is None or looked <= machine.doubt.since:
            return step, None
        return replace(step, machine=replace(machine, doubt=None)), None
    if machine.doubt is None or machine.doubt.what != reason:
        doubt = Doubt(what=str(reason), since=looked or seen.now)
        doubtful = replace(step, machine=replace(machine, doubt=doubt))
        return look_close(doubtful, reason, seen), None
    if _believed(step, reason, machine.doubt, seen):
        return step, reason
    return look_close(step, reason, seen), None


def _last_look(step: Step, seen: Seen) -> datetime | None:
    machine = step.machine
    return seen.view.covered(machine.offer.zone, seen.traits.main.kind, machine.id)


def _believed(step: Step, reason: Reason, doubt: Doubt, seen: Seen) -> bool:
    machine = step.machine
    gap = seen.fleet.timers.absence_gap
    if reason in {Reason.VANISHED, Reason.PART_VANISHED}:
        return any(
            known.gone
            for place in machine.places
            for known in place.known
            if known.id == place.bound
        )
    looked = _last_look(step, seen)
    return looked is not None and looked - max(doubt.since, seen.jumped or doubt.since) >= gap


def look_close(step: Step, reason: Reason, seen: Seen) -> Step:
    """Ask for looks at the parts in doubt alone: the second sighting, and the id's own answer.

    They are asked for once the absence gap has passed, because no earlier look can settle it.
    """
    machine, doubt = step.machine, step.machine.doubt
    due = (doubt.since if doubt else seen.now) + seen.fleet.timers.absence_gap
    scopes = tuple(
        Scope(known.zone, place.slot.kind, machine.id, (known.id,))
        for place in machine.places
        for known in place.known
        if known.id == place.bound and (known.absent is not None or place.slot == seen.traits.main)
    )
    detail = f"whether it really {reason}".replace("_", " ")
    said = replace(step, close=scopes if seen.now >= due else (), lost=True)
    at = due if seen.now < due else None
    return replace(said, next=replace(said.next, step="look", detail=detail, at=at))


def proved(step: Step, reason: Reason, seen: Seen) -> bool:
    """Tell whether a loss was shown by a look at this machine alone since it was first doubted."""
    machine, doubt = step.machine, step.machine.doubt
    if reason in {Reason.VANISHED, Reason.PART_VANISHED}:
        return True
    close = seen.view.close.get((machine.id, seen.traits.main.kind))
    return doubt is not None and close is not None and close > doubt.since
