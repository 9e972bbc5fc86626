"""Outcomes: how the outcome of a call changes the record and the resources. Pure."""

from dataclasses import replace
from datetime import datetime, timedelta

from hostler.domain.ids import FleetName, InstallationId, MachineId, ResourceId, jitter
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Shows, Unknown
from hostler.domain.model.host import TENANT
from hostler.domain.model.machine import Asked, CallState, Known, Machine
from hostler.domain.model.resource import Condition, OwnerTag, Resource

_SECOND = timedelta(seconds=1)
_HALF = timedelta(milliseconds=500)
_BLIND = (1 * _SECOND, 2 * _SECOND, 5 * _SECOND, 15 * _SECOND)
_NEVER = frozenset({Refusal.STOCK, Refusal.QUOTA, Refusal.INVALID, Refusal.DENIED})


def apply_outcome(machine: Machine, call: Call, outcome: Outcome, now: datetime) -> Machine:
    """Return the record after the outcome of a call: ids bound, facts dated, next try set."""
    match outcome:
        case Done():
            return _done(machine, call, outcome, now)
        case Refused():
            return _refused(machine, call, outcome, now)
        case Unknown():
            return _unknown(machine, call, outcome, now)


def _done(machine: Machine, call: Call, done: Done, now: datetime) -> Machine:
    after = _removed(_closed(machine, call, proof(call), now), done, now)
    for resource in done.resources:
        after = _keep(after, resource, call, now)
    if call.fact:
        after = after.with_fact(call.fact, now)
    return replace(after, tries=0, retry_at=None, unknown_since=None, error="")


def _removed(machine: Machine, done: Done, now: datetime) -> Machine:
    """Write down the definite answer that these ids are no more."""
    if not done.gone:
        return machine
    places = tuple(
        replace(
            place,
            known=tuple(
                _no_more(known, now, missing=done.missing) if known.id in done.gone else known
                for known in place.known
            ),
        )
        for place in machine.places
    )
    return replace(machine, places=places)


def _no_more(known: Known, now: datetime, *, missing: bool) -> Known:
    """Date the answer; what was removed before, and then is not found, stays removed."""
    return replace(known, removed=now, missing=missing and not known.was_removed)


def _keep(machine: Machine, resource: Resource, call: Call, now: datetime) -> Machine:
    """Write down a resource that an answer named; bind it where it was made now for a free slot."""
    place = machine.place(resource.slot)
    if any(known.id == resource.id for known in place.known):
        return machine
    known = Known(id=resource.id, zone=resource.zone, since=now, attempt=call.attempt)
    bound = place.bound
    if bound is None and call.effect is Effect.MAKE:
        bound = resource.id
    return machine.with_place(replace(place, bound=bound, known=(*place.known, known)))


def _refused(machine: Machine, call: Call, refused: Refused, now: datetime) -> Machine:
    after = _closed(machine, call, CallState.REFUSED, now)
    tries = after.tries + 1
    pause = refused.after or _pause(refused.why, tries)
    retry_at = now + pause + jitter(f"{machine.id} {call.kind} {tries} {now.timestamp()}", _HALF)
    fatal = refused.why in _NEVER and call.effect is not Effect.DESTROY
    return replace(
        after,
        tries=tries,
        retry_at=retry_at,
        refused=refused.why if fatal else after.refused,
        error=f"{call.kind}: {refused.text}",
    )


def _pause(why: Refusal, tries: int) -> timedelta:
    """Return how long to leave a refused call alone: 1 s while it is busy, later longer."""
    if why in {Refusal.BUSY, Refusal.RATE, Refusal.NOT_SENT}:
        return _SECOND * min(1 + tries // 8, 15)
    return _SECOND * min(2**tries, 60)


def _unknown(machine: Machine, call: Call, unknown: Unknown, now: datetime) -> Machine:
    tries = machine.tries + 1
    pause = _BLIND[min(tries, len(_BLIND)) - 1]
    return replace(
        _given_up(machine, call, now),
        tries=tries,
        retry_at=now + pause + jitter(f"{machine.id} {call.kind} {tries}", _HALF),
        unknown_since=now,
        error=f"{call.kind}: {unknown.text}",
    )


def _given_up(machine: Machine, call: Call, now: datetime) -> Machine:
    """Let the consistency delay count from when the answer was given up; it was open before."""
    asked = machine.last_asked(call.slot, call.kind) if call.once else None
    return machine if asked is None else machine.with_asked(replace(asked, at=now))


def proof(call: Call) -> CallState:
    """Return how a call stands after a good answer; that a wipe began, it cannot prove."""
    return CallState.OPEN if call.shows is Shows.WIPE else CallState.DONE


def _closed(machine: Machine, call: Call, call_state: CallState, now: datetime) -> Machine:
    if not call.once:
        return machine
    asked = machine.last_asked(call.slot, call.kind)
    if asked is None:
        return machine
    return machine.with_asked(answered(asked, call_state, now))


def answered(asked: Asked, call_state: CallState, now: datetime) -> Asked:
    """Return a call as its answer leaves it; one that is still open counts from then."""
    if call_state is CallState.OPEN:
        return replace(asked, at=now)
    return replace(asked, call_state=call_state, closed=now)


def with_failures(machine: Machine, failed: list[Machine]) -> Machine:
    """Return the record with every failure of a clean-up, after calls that went well or not.

    `failed` is the record as each failure left it: the longest pause stands, and all errors.
    """
    if not failed:
        return machine
    return replace(
        machine,
        tries=max(one.tries for one in failed),
        retry_at=max((one.retry_at for one in failed if one.retry_at), default=None),
        unknown_since=max((one.unknown_since for one in failed if one.unknown_since), default=None),
        error="; ".join(dict.fromkeys(one.error for one in failed)),
    )


def apply_to_resources(resources: tuple[Resource, ...], outcome: Outcome) -> tuple[Resource, ...]:
    """Return the resources as a definite answer leaves them; other outcomes change nothing."""
    if not isinstance(outcome, Done):
        return resources
    news = {resource.id: resource for resource in outcome.resources}
    kept = [
        news.pop(resource.id, resource) for resource in resources if resource.id not in outcome.gone
    ]
    return (*kept, *news.values())


def planned(call: Call, number: int, resources: tuple[Resource, ...]) -> Done:
    """Return the answer that a plan assumes: a made resource appears under a placeholder's name.

    A change that names a server hangs its target on that server; a host that is tagged shows that
    owner tag, unless the owner tag ends the allocation.
    """
    tagged = tuple(_tagged(resource, call) for resource in resources if resource.id == call.target)
    if call.shows is Shows.OWNER_TAG and call.aim in TENANT and tagged:
        return Done(resources=tagged)
    if call.effect is Effect.DESTROY and call.target is not None:
        return Done(gone=(call.target,))
    if call.effect is Effect.MAKE:
        resource = Resource(
            id=ResourceId(f"<{call.slot} {number}>" if number else f"<{call.slot}>"),
            slot=call.slot,
            zone=call.zone,
            status="planned",
            condition=Condition.OFF if call.slot.kind == "server" else Condition.FREE,
        )
        return Done(resources=(resource,))
    server = call.arg("server")
    if isinstance(server, str):
        hung = (resource for resource in resources if resource.id == call.target)
        busy = Condition.BUSY
        return Done(
            resources=tuple(replace(p, owner=ResourceId(server), condition=busy) for p in hung)
        )
    return Done()


def _tagged(resource: Resource, call: Call) -> Resource:
    notes = (note for note in resource.notes if note[0] != "stage")
    owner_tag = resource.owner_tag or OwnerTag(
        installation=InstallationId("<ours>"),
        fleet=FleetName(str(call.arg("fleet") or "")),
        machine=MachineId(str(call.arg("machine") or "")),
        attempt=0,
    )
    return replace(resource, owner_tag=owner_tag, notes=(*notes, ("stage", call.aim)))


LONGEST_PAUSE = timedelta(minutes=10)
"""A pause that ends later than this was set before the clock jumped back."""
