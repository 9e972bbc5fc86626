"""Outcomes: how the answer to a call changes the record that it was made for, and the resources."""

from datetime import datetime

from msgspec.structs import replace

from hostler.domain.ids import FleetName, InstallationId, MachineId, ResourceId
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Shows, Unknown
from hostler.domain.model.host import TENANT
from hostler.domain.model.machine import Asked, CallState, Known, Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, OwnerTag, Resource
from hostler.domain.model.subject import SubjectT

from .backoff import after_refusal, after_unknown, retry_at

_FATAL = frozenset(
    {Refusal.STOCK, Refusal.QUOTA, Refusal.INVALID, Refusal.DENIED, Refusal.BOOTSTRAP}
)


def apply_outcome(subject: SubjectT, call: Call, outcome: Outcome, now: datetime) -> SubjectT:
    """Return the record after the outcome of a call: ids bound, facts dated, next try set."""
    match outcome:
        case Done():
            return _done(subject, call, outcome, now)
        case Refused():
            return _refused(subject, call, outcome, now)
        case Unknown():
            return _unknown(subject, call, outcome, now)


def _done(subject: SubjectT, call: Call, done: Done, now: datetime) -> SubjectT:
    after = _closed(subject, call, proof(call), now)
    after = replace(after, tries=0, retry_at=None, retry_since=None, unknown_since=None, error="")
    return _with_resources(after, call, done, now) if isinstance(after, Machine) else after


def _with_resources(machine: Machine, call: Call, done: Done, now: datetime) -> Machine:
    """Write down what an answer says of a machine's resources; a host is its own resource."""
    after = _removed(machine, done, now)
    made = {resource.id for resource in done.resources if resource.slot == call.slot}
    for resource in done.resources:
        after = _keep(after, resource, call, now, held=resource.owner in made)
    return after.with_fact(call.fact, now) if call.fact else after


def _removed(machine: Machine, done: Done, now: datetime) -> Machine:
    """Write down the definite answer that these ids are no more."""
    if not done.absent:
        return machine
    places = tuple(
        replace(
            place,
            known=tuple(
                _no_more(known, now, missing=done.missing) if known.id in done.absent else known
                for known in place.known
            ),
        )
        for place in machine.places
    )
    return replace(machine, places=places)


def _no_more(known: Known, now: datetime, *, missing: bool) -> Known:
    """Date the answer; what was removed before, and then is not found, stays removed."""
    return replace(known, removed=now, missing=missing and not known.was_removed)


def _keep(
    machine: Machine, resource: Resource, call: Call, now: datetime, *, held: bool
) -> Machine:
    """Write down a resource that an answer named; bind it where it was made now for a free slot.

    What was made with another resource that is bound now, and is `held` by it, takes the place of
    what an earlier attempt left behind.
    """
    place = machine.place(resource.slot)
    if any(known.id == resource.id for known in place.known):
        return machine
    known = Known(id=resource.id, zone=resource.zone, since=now, attempt=call.attempt)
    bound = place.bound
    if call.effect is Effect.MAKE and (bound is None or held):
        bound = resource.id
    return machine.with_place(replace(place, bound=bound, known=(*place.known, known)))


def _refused(subject: SubjectT, call: Call, refused: Refused, now: datetime) -> SubjectT:
    tries = subject.tries + 1
    pause = after_refusal(refused, tries)
    after = replace(
        _closed(subject, call, CallState.REFUSED, now),
        tries=tries,
        retry_at=retry_at(subject.id, call, tries, pause, now),
        retry_since=now,
        error=f"{call.kind}: {refused.text}",
    )
    vital = call.effect is not Effect.DESTROY and not call.drift
    if isinstance(after, Machine) and refused.why in _FATAL and vital and _starts(after):
        return after.with_health(refused=refused.why)
    return after


def _starts(machine: Machine) -> bool:
    """Tell whether a call can be one that a start needs: standby, for one, is asked for again."""
    return machine.phase in {Phase.PENDING, Phase.STARTING}


def _unknown(subject: SubjectT, call: Call, unknown: Unknown, now: datetime) -> SubjectT:
    """The consistency delay counts from now: until the answer was given up it was under way."""
    tries = subject.tries + 1
    return replace(
        _closed(subject, call, CallState.OPEN, now),
        tries=tries,
        retry_at=retry_at(subject.id, call, tries, after_unknown(tries), now),
        retry_since=now,
        unknown_since=now,
        error=f"{call.kind}: {unknown.text}",
    )


def proof(call: Call) -> CallState:
    """Return how a call stands after a good answer; that a wipe began, it cannot prove."""
    return CallState.OPEN if call.shows is Shows.WIPE else CallState.DONE


def _closed(subject: SubjectT, call: Call, call_state: CallState, now: datetime) -> SubjectT:
    asked = subject.last_call(call)
    return subject if asked is None else subject.with_asked(answered(asked, call_state, now))


def answered(asked: Asked, call_state: CallState, now: datetime) -> Asked:
    """Return a call as its answer leaves it; one that is still open counts from then."""
    if call_state is CallState.OPEN:
        return replace(asked, at=now)
    return replace(asked, call_state=call_state, closed=now)


def with_failures(subject: SubjectT, failed: list[SubjectT]) -> SubjectT:
    """Return the record with every failure of a clean-up, after calls that went well or not.

    `failed` is the record as each failure left it: the longest pause stands, and all errors.
    """
    if not failed:
        return subject
    longest = max(failed, key=lambda one: (one.retry_at is not None, one.retry_at))
    return replace(
        subject,
        tries=max(one.tries for one in failed),
        retry_at=longest.retry_at,
        retry_since=longest.retry_since,
        unknown_since=max((one.unknown_since for one in failed if one.unknown_since), default=None),
        error="; ".join(dict.fromkeys(one.error for one in failed)),
    )


def apply_to_resources(resources: tuple[Resource, ...], outcome: Outcome) -> tuple[Resource, ...]:
    """Return the resources as a definite answer leaves them; other outcomes change nothing."""
    if not isinstance(outcome, Done):
        return resources
    news = {resource.id: resource for resource in outcome.resources}
    present = [
        news.pop(resource.id, resource)
        for resource in resources
        if resource.id not in outcome.absent
    ]
    return (*present, *news.values())


def planned(call: Call, number: int, resources: tuple[Resource, ...]) -> Done:
    """Return the answer that a plan assumes: a made resource appears under a placeholder's name.

    A change that names a server hangs its target on that server; a host that is tagged shows that
    owner tag, unless the owner tag ends the allocation.
    """
    tagged = tuple(_tagged(resource, call) for resource in resources if resource.id == call.target)
    if call.shows is Shows.OWNER_TAG and call.aim in TENANT and tagged:
        return Done(resources=tagged)
    if call.effect is Effect.DESTROY and call.target is not None:
        return Done(absent=(call.target,))
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
    owner_tag = resource.owner_tag or OwnerTag(
        installation=InstallationId("<ours>"),
        fleet=FleetName(str(call.arg("fleet") or "")),
        machine=MachineId(str(call.arg("machine") or "")),
        attempt=0,
    )
    return replace(resource, owner_tag=owner_tag, host=replace(resource.host, stage=call.aim))
