"""Anew: which machines may try once more to be made, so that an hour's attempts are bounded?

The first attempt of a machine is counted as it begins. What is refused, lost or never sent is tried
again under the same record: each of these counts as well, or one machine alone would use up any
number (invariant S4). Where there is no room, a machine waits; whoever waited longest is first.
"""

from dataclasses import replace
from datetime import datetime

from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.fleet import Fleet, FleetRow, creations_left, next_creation
from hostler.domain.model.machine import LEFT, Fate, Machine, Offer, Origin
from hostler.domain.model.phases import Reason
from hostler.domain.model.resource import Slot
from hostler.domain.model.snapshot import Seen
from hostler.domain.model.transition import Step, wait


def last_try(step: Step, calls: tuple[Call, ...], seen: Seen) -> datetime | None:
    """Return when this start last asked for what these calls make again; None for a first attempt.

    A step whose offer was changed just now is counted with that change.
    """
    makes = {call.slot for call in calls if call.effect is Effect.MAKE}
    if not makes or step.before.offer != step.machine.offer:
        return None
    return _tried(step.machine, makes | {seen.traits.main})


def bounded(
    steps: tuple[Step, ...], row: FleetRow, begun: int, seen: Seen
) -> tuple[tuple[Step, ...], FleetRow]:
    """Return the steps of which those without room wait, and the row that counts the others.

    `begun` creations were granted in this decision, and are counted apart.
    """
    kept = list(steps)
    again = ((step.tried, place) for place, step in enumerate(steps) if step.tried is not None)
    for _, place in sorted(again):
        counted = (*row.creations, *(seen.now,) * begun)
        at = next_creation(seen.fleet, replace(row, creations=counted), seen.now)
        if at > seen.now:
            held = replace(steps[place], goal=None)
            kept[place] = wait(held, "wait", "room under the bound on creations in an hour", at)
        else:
            row = replace(row, creations=(*row.creations, seen.now))
    return tuple(kept), row


def _tried(machine: Machine, slots: set[Slot]) -> datetime | None:
    """Return when this start last asked for one of these, or let go of a host for another one."""
    asked = [asked.at for asked in machine.asked if asked.slot in slots]
    left = [fact.at for fact in machine.facts if fact.name.startswith(f"{LEFT} ")]
    return max((at for at in (*asked, *left) if at >= machine.since), default=None)


def again(machine: Machine, fleet: Fleet, now: datetime, jumped: datetime | None = None) -> bool:
    """Tell whether a machine will be started once more under its id when nothing of it is left."""
    if fleet.renews or machine.was_ready is not None or machine.ending is not None:
        return False
    if machine.origin is not Origin.MADE or machine.reason == Reason.TURNED_UP_LATE:
        return False
    if machine.stuck:  # its place was given to others
        return False
    return now < start_deadline(machine, fleet, jumped)


def elsewhere(machine: Machine, seen: Seen) -> Offer | None:
    """Return an offer in the same zone that a start may go on with, where its own is sold out.

    Nothing has to be undone for that as long as no server was ever made, or may have been.
    """
    server = machine.place(seen.traits.main)
    fresh = all(known.gone for known in server.known)
    unsure = any(asked.fate is Fate.OPEN for asked in machine.asked)
    if not again(machine, seen.fleet, seen.now, seen.jumped) or not fresh or unsure:
        return None
    if creations_left(seen.fleet, seen.row, seen.now) == 0:
        return None
    for offer in seen.fleet.offers:
        setback = seen.row.setback(offer)
        blocked = setback is not None and seen.now < setback.until
        if offer.zone == machine.offer.zone and offer != machine.offer and not blocked:
            return offer
    return None


def anew(machine: Machine) -> Machine:
    """Return the record as for a first start, but for the ids and attempts that were used up."""
    return replace(
        machine,
        places=tuple(replace(place, bound=None) for place in machine.places),
        facts=(),
        tries=0,
        again=None,
        blind=None,
        refused=None,
        observed="",
        address="",
        price=0.0,
    )


def start_deadline(machine: Machine, fleet: Fleet, jumped: datetime | None) -> datetime:
    """Return until when another start may begin."""
    return max(machine.created, jumped or machine.created) + fleet.timers.start
