"""Retry: which machines may try once more to be made, so that an hour's attempts are bounded?

The first attempt of a machine is counted as it begins. What is refused, lost or never sent is tried
again under the same record: each of these counts as well, or one machine alone would use up any
number (invariant S4). Where there is no room, a machine waits; whoever waited longest is first.
"""

from datetime import datetime

from msgspec.structs import replace

from hostler.domain.model.calls import Call, Effect, Refusal
from hostler.domain.model.fleet import Fleet, FleetRow, creations_left, next_creation
from hostler.domain.model.machine import LEFT, CallState, Machine, Offer, Origin
from hostler.domain.model.phases import Reason
from hostler.domain.model.resource import Slot
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition, wait


def last_try(
    transition: Transition, calls: tuple[Call, ...], snapshot: Snapshot
) -> datetime | None:
    """Return when this start last asked for what these calls make again; None for a first attempt.

    A step whose offer was changed just now is counted with that change.
    """
    makes = {call.slot for call in calls if call.effect is Effect.MAKE}
    if not makes or transition.before.offer != transition.machine.offer:
        return None
    return _tried(transition.machine, makes | {snapshot.capabilities.main})


def bounded(
    transitions: tuple[Transition, ...], row: FleetRow, begun: int, snapshot: Snapshot
) -> tuple[tuple[Transition, ...], FleetRow]:
    """Return the steps of which those without room wait, and the row that counts the others.

    `begun` creations were granted in this decision, and are counted apart.
    """
    changed = list(transitions)
    retried = (
        (transition.tried, place)
        for place, transition in enumerate(transitions)
        if transition.tried is not None
    )
    for _, place in sorted(retried):
        counted = (*row.creations, *(snapshot.now,) * begun)
        at = next_creation(snapshot.fleet, replace(row, creations=counted), snapshot.now)
        if at > snapshot.now:
            held = replace(transitions[place], goal=None)
            changed[place] = wait(held, "wait", "room under the bound on creations in an hour", at)
        else:
            row = replace(row, creations=(*row.creations, snapshot.now))
    return tuple(changed), row


def _tried(machine: Machine, slots: set[Slot]) -> datetime | None:
    """Return when this start last asked for one of these, or let go of a host for another one."""
    asked = [asked.at for asked in machine.asked if asked.slot in slots]
    left = [fact.at for fact in machine.facts if fact.name.startswith(f"{LEFT} ")]
    return max((at for at in (*asked, *left) if at >= machine.since), default=None)


def may_retry(
    machine: Machine, fleet: Fleet, now: datetime, jumped: datetime | None = None
) -> bool:
    """Tell whether a machine will be started once more under its id when nothing of it is left."""
    if fleet.renews or machine.health.was_ready is not None or machine.deletion is not None:
        return False
    if machine.origin is not Origin.MADE or machine.reason == Reason.APPEARED_LATE:
        return False
    if machine.health.stuck:  # its place was given to others
        return False
    if machine.health.refused is Refusal.BOOTSTRAP:  # whoever asked for it hears that at once
        return False
    return now < start_deadline(machine, fleet, jumped)


def elsewhere(machine: Machine, snapshot: Snapshot) -> Offer | None:
    """Return an offer in the same zone that a start may go on with, where its own is sold out.

    Nothing has to be undone for that as long as no server was ever made, or may have been.
    """
    server = machine.place(snapshot.capabilities.main)
    fresh = all(known.deleted for known in server.known)
    unsure = any(asked.call_state is CallState.OPEN for asked in machine.asked)
    if not may_retry(machine, snapshot.fleet, snapshot.now, snapshot.jumped) or not fresh or unsure:
        return None
    if creations_left(snapshot.fleet, snapshot.row, snapshot.now) == 0:
        return None
    for offer in snapshot.fleet.offers:
        setback = snapshot.row.setback(offer)
        blocked = setback is not None and snapshot.now < setback.until
        other = offer.zone == machine.offer.zone and offer != machine.offer
        if other and machine.spec.accepts(offer) and not blocked:
            return offer
    return None


def retry(machine: Machine) -> Machine:
    """Return the record as for a first start, but for the ids and attempts that were used up."""
    return replace(
        machine.with_health(refused=None).with_billing(price=0.0),
        places=tuple(replace(place, bound=None) for place in machine.places),
        facts=(),
        tries=0,
        retry_at=None,
        retry_since=None,
        unknown_since=None,
        observed="",
        address="",
    )


def start_deadline(machine: Machine, fleet: Fleet, jumped: datetime | None) -> datetime:
    """Return until when another start may begin."""
    return max(machine.created, jumped or machine.created) + fleet.timers.start
