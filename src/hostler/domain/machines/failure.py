"""Failure: when a machine that should be up is believed not to be, and when it is not.

One observation is nothing: a loss is doubted from its first observation on, and believed when a
observation at least an absence gap later still shows it. In a wave of losses each one needs an
observation of its own.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec.structs import replace

from hostler.domain.hosts import turns
from hostler.domain.hosts.allocation import HAD
from hostler.domain.model.calls import Refusal, Shows
from hostler.domain.model.fleet import FleetRow, in_wave
from hostler.domain.model.host import AT_HOME
from hostler.domain.model.machine import CallState, Doubt, Machine
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.resource import DOWN, Condition, Resource, Scope, Slot
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition
from hostler.domain.observation import absence, effects

_WORDS = {
    Condition.OFF: Reason.STOPPED,
    Condition.STANDBY: Reason.STOPPED_IN_PLACE,
    Condition.LOCKED: Reason.LOCKED,
    Condition.WIPING: Reason.WIPED,
    Condition.FAILED: Reason.FAILED,
}

_SEEN_UP = frozenset({Phase.READY, Phase.DRAINING})

REFUSALS = {
    Refusal.STOCK: Reason.OUT_OF_STOCK,
    Refusal.QUOTA: Reason.QUOTA,
    Refusal.INVALID: Reason.REFUSED,
    Refusal.DENIED: Reason.REFUSED,
    Refusal.BOOTSTRAP: Reason.BOOTSTRAP_REFUSED,
}


def switched_on(machine: Machine, snapshot: Snapshot) -> bool:
    """Tell whether the main resource was switched on long enough ago to be observed."""
    bound = machine.bound(snapshot.capabilities.main)
    sighting = snapshot.inventory.sightings.get(bound) if bound else None
    if sighting is None:
        return False
    if machine.woken and machine.phase not in _SEEN_UP:
        return False  # it was left off; in these phases somebody switched it on by hand
    powered = [asked for asked in machine.asked if asked.shows is Shows.POWER]
    if not powered or powered[-1].call_state is not CallState.DONE:
        waking = bool(powered) and machine.phase is Phase.STARTING
        return machine.health.was_ready is not None and not waking
    observed = snapshot.inventory.observed_at(sighting)
    done = powered[-1].closed or powered[-1].at
    if machine.phase is Phase.STARTING:  # it may have heard nothing of the first time
        done = max(done, turns.told_again_from(machine, snapshot) or done)
    if machine.health.was_ready is None and snapshot.jumped is not None:
        done = max(done, snapshot.jumped)
    return observed >= done + snapshot.capabilities.consistency_delay_of(powered[-1].kind)


def loses_many(machines: Iterable[Machine], row: FleetRow, snapshot: Snapshot) -> bool:
    """Tell whether so many are lost, or in doubt, that no loss is believed without its proof."""
    doubted = sum(machine.health.doubt is not None for machine in machines)
    return in_wave(snapshot.fleet, row, doubted, snapshot.now)


def suspected(transition: Transition, snapshot: Snapshot) -> Reason | None:
    """Return which loss the newest observations suggest, whether or not it is believed yet."""
    machine = transition.machine
    main = snapshot.capabilities.main
    if (slot := _missing(machine)) is not None:
        return Reason.VANISHED if slot == main else Reason.RESOURCE_VANISHED
    resource = transition.main(snapshot)
    if resource is not None and resource.condition in DOWN and _counts(machine, resource, snapshot):
        return _WORDS[resource.condition]
    return (
        _taken(machine, resource, snapshot)
        if resource is not None and snapshot.capabilities.hosts
        else None
    )


def _taken(machine: Machine, resource: Resource, snapshot: Snapshot) -> Reason | None:
    """Return why a host that is up is no longer its machine's: its disk is, or may be, another one.

    It was wiped while nobody observed it; or it is in the pool by a person's hand after another
    installation had it, or while its machine is in standby, so that anybody may have used it since.
    """
    sighting = snapshot.inventory.sightings.get(resource.id)
    if sighting is not None and effects.was_wiped(
        machine, resource, snapshot.inventory.observed_at(sighting)
    ):
        return Reason.WIPED
    used = machine.woken or machine.fact(HAD) is not None
    pooled = resource.owner_tag is None and resource.host.stage in AT_HOME
    return Reason.HOST_USED if used and pooled else None


def is_missing(machine: Machine) -> bool:
    """Tell whether the newest observations lack one of its bound resources."""
    return _missing(machine) is not None


def _missing(machine: Machine) -> Slot | None:
    for place in machine.places:  # asked so often that a generator would be felt
        for known in place.known:
            if known.absent and known.id == place.bound:
                return place.slot
    return None


def _counts(machine: Machine, resource: Resource, snapshot: Snapshot) -> bool:
    if machine.phase is Phase.STANDBY:
        return resource.condition is not Condition.STANDBY
    return resource.condition is Condition.LOCKED or switched_on(machine, snapshot)


def doubted(transition: Transition, snapshot: Snapshot) -> tuple[Transition, Reason | None]:
    """Write the doubt into the record, and return the loss once it is believed."""
    reason = suspected(transition, snapshot)
    machine = transition.machine
    if reason is None and machine.health.doubt is None:
        return transition, None
    observed = _last_observation(transition, snapshot)
    if reason is None:
        if (
            machine.health.doubt is None
            or observed is None
            or observed <= machine.health.doubt.since
        ):
            return transition, None
        return replace(transition, machine=machine.with_health(doubt=None)), None
    if machine.health.doubt is None or machine.health.doubt.what != reason:
        doubt = Doubt(what=str(reason), since=observed or snapshot.now)
        doubtful = replace(transition, machine=machine.with_health(doubt=doubt))
        return observe_focused(doubtful, reason, snapshot), None
    if _believed(transition, reason, machine.health.doubt, snapshot):
        return transition, reason
    return observe_focused(transition, reason, snapshot), None


def _last_observation(transition: Transition, snapshot: Snapshot) -> datetime | None:
    machine = transition.machine
    return snapshot.inventory.covered(
        machine.offer.zone, snapshot.capabilities.main.kind, machine.id
    )


def _believed(transition: Transition, reason: Reason, doubt: Doubt, snapshot: Snapshot) -> bool:
    machine = transition.machine
    gap = snapshot.fleet.timers.absence_gap
    if reason in {Reason.VANISHED, Reason.RESOURCE_VANISHED}:
        return any(
            known.deleted
            for place in machine.places
            for known in place.known
            if known.id == place.bound
        )
    observed = _last_observation(transition, snapshot)
    return (
        observed is not None and observed - max(doubt.since, snapshot.jumped or doubt.since) >= gap
    )


def observe_focused(transition: Transition, reason: Reason, snapshot: Snapshot) -> Transition:
    """Ask for observations of the resources in doubt: a second sighting, and the id's own answer.

    What is missing is asked for by its id at once, and once more when the absence gap has passed;
    what is there and down only then, because no earlier observation can decide it.
    """
    questions = tuple(_questions(transition.machine, snapshot))
    scopes = tuple(scope for scope, at in questions if at <= snapshot.now)
    detail = f"whether it really {reason}".replace("_", " ")
    waiting = replace(transition, close=scopes, lost=True)
    at = None if scopes else min((at for _, at in questions), default=None)
    return replace(waiting, next=replace(waiting.next, kind="observe", detail=detail, at=at))


def _questions(machine: Machine, snapshot: Snapshot) -> Iterator[tuple[Scope, datetime]]:
    """Yield the observations that can decide a doubt, each with the time from which on it may.

    Hosts outlive what they have, and are asked for by their ids anyhow.
    """
    doubt, main = machine.health.doubt, snapshot.capabilities.main
    since = doubt.since if doubt else snapshot.now
    for place in machine.places:
        for known in place.known:
            scope = Scope(known.zone, place.slot.kind, machine.id, (known.id,))
            if known.id != place.bound:
                continue
            if known.absent is not None:
                alone = snapshot.capabilities.hosts is None
                yield replace(scope, alone=alone), absence.next_question(known, snapshot)
            elif place.slot == main:
                yield scope, since + snapshot.fleet.timers.absence_gap


def proved(transition: Transition, reason: Reason, snapshot: Snapshot) -> bool:
    """Tell whether a loss was shown by observing this machine alone since the first doubt."""
    machine, doubt = transition.machine, transition.machine.health.doubt
    if reason in {Reason.VANISHED, Reason.RESOURCE_VANISHED}:
        return True
    close = snapshot.inventory.close.get((machine.id, snapshot.capabilities.main.kind))
    return doubt is not None and close is not None and close > doubt.since
