"""Certainty: what the record, the definite answers and the observations say together.

An observation begun before a definite answer plus that delay says nothing against it. An open
*once* call is unsure until the consistency delay has passed and an observation begun after that,
complete for its slot, shows nothing.
"""

from collections.abc import Collection, Iterator
from datetime import datetime

from msgspec.structs import replace

from hostler.domain.ids import ResourceId
from hostler.domain.model.calls import Call
from hostler.domain.model.host import host_of
from hostler.domain.model.inventory import Inventory, Sighting
from hostler.domain.model.machine import UNANSWERED_REST, Asked, CallState, Known, Machine, Place
from hostler.domain.model.resource import Resource
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.policy.clock_jumps import CaughtUp, caught_up

from .absence import missed
from .binding import bind, by_id, is_at_home
from .effects import call_state_of, is_unanswered, steady
from .ownership import is_unissued


def present(machine: Machine, now: datetime) -> Machine:
    """Bring times that lie in the future back to now: the clock jumped back since they were set."""
    past = caught_up(_times(machine), now)
    if past is None:
        return machine
    health = machine.health
    doubt = replace(health.doubt, since=past(health.doubt.since)) if health.doubt else None
    return replace(
        machine.with_health(doubt=doubt, was_ready=past(health.was_ready)),
        since=past(machine.since),
        unknown_since=past(machine.unknown_since),
        retry_at=past.end(machine.retry_at, machine.retry_since),
        retry_since=past(machine.retry_since),
        asked=tuple(replace(a, at=past(a.at), closed=past(a.closed)) for a in machine.asked),
        facts=tuple(replace(fact, at=past(fact.at)) for fact in machine.facts),
        places=tuple(
            replace(place, known=tuple(_known_by(known, past) for known in place.known))
            for place in machine.places
        ),
    )


def _times(machine: Machine) -> Iterator[datetime | None]:
    yield machine.since
    yield machine.unknown_since
    yield machine.retry_since
    yield machine.health.was_ready
    if machine.health.doubt is not None:
        yield machine.health.doubt.since
    for asked in machine.asked:
        yield asked.at
        yield asked.closed
    for fact in machine.facts:
        yield fact.at
    for place in machine.places:
        for known in place.known:
            yield known.since
            yield known.absent
            yield known.removed


def _known_by(known: Known, past: CaughtUp) -> Known:
    return replace(
        known,
        since=past(known.since),
        absent=past(known.absent),
        removed=past(known.removed),
    )


Survey = tuple[Machine, tuple[Resource, ...], tuple[Resource, ...]]
"""What is certain of a machine: its record brought up to date, its resources, and beside them those
that carry its owner tag with attempts that it never made."""


def survey(machine: Machine, snapshot: Snapshot) -> Survey:
    """Return what is certain of a machine; one at rest skips most questions.

    It promises what `reconcile`, then `resources_of`, and `unissued_of` return, sooner.
    """
    at_rest = _at_rest(machine, snapshot)
    if at_rest is not None:
        return at_rest
    known = reconcile(machine, snapshot)
    return known, resources_of(known, snapshot), unissued_of(machine, snapshot)


def _at_rest(machine: Machine, snapshot: Snapshot) -> Survey | None:
    """Return what a record says with which all observations agree: one living id a slot."""
    now, retried = snapshot.now, machine.retry_since
    if (
        machine.unknown_since is not None
        or machine.health.doubt is not None
        or machine.since > now
        or (retried is not None and retried > now)
    ):
        return None
    for asked in machine.asked:
        if not _is_closed(asked, now):
            return None
    resources: list[Resource] = []  # asked so often that `list[Resource]()` would be felt
    ids: list[ResourceId] = []
    for place in machine.places:
        sighting = _only_living(place, snapshot)
        if sighting is None:
            return None
        resource = sighting.resource
        resources.append(replace(resource, surplus=False) if resource.surplus else resource)
        ids.append(place.known[0].id)
    if not _strange(machine, ids, snapshot):
        return machine, tuple(resources), ()
    if any(resource not in ids for resource in _tagged(machine, snapshot)):
        return None
    return machine, tuple(resources), unissued_of(machine, snapshot)


def _strange(
    machine: Machine, ids: Collection[ResourceId], snapshot: Snapshot
) -> tuple[ResourceId, ...]:
    """Return what carries the machine's owner tag and is none of these ids: mostly nothing.

    What another machine has on record is none of it: somebody gave it the wrong tag. Nor is what
    somebody hung on it by hand.
    """
    tagged = snapshot.inventory.tagged.get(machine.id, ())
    found = [resource for resource in tagged if resource not in ids]
    if not found:  # as of most: what follows would be felt
        return ()
    owned = (r for r in found if snapshot.owner_of(r) in {None, machine.id})
    return tuple([r for r in owned if not _is_hung_by_hand(machine, r, snapshot)])


def _is_hung_by_hand(machine: Machine, resource: ResourceId, snapshot: Snapshot) -> bool:
    """Tell whether a resource that is on no record hangs on the machine without any owner tag.

    All that is made for a machine is on its record before that is switched on for the first time.
    """
    sighting = snapshot.inventory.sightings[resource]
    return sighting.resource.owner_tag is None and machine.health.was_ready is not None


def _is_closed(asked: Asked, now: datetime) -> bool:
    closed = asked.closed
    return (
        asked.call_state is not CallState.OPEN
        and asked.at <= now
        and (closed is None or closed <= now)
    )


def _only_living(place: Place, snapshot: Snapshot) -> Sighting | None:
    """Return the sighting of a slot's bound id, if it has no other and nothing is against it."""
    if len(place.known) != 1:
        return None
    known = place.known[0]
    sighting = snapshot.inventory.sightings.get(known.id)
    if sighting is None or place.bound != known.id or known.since > snapshot.now:
        return None
    if known.absent is not None or known.deleted or known.removed is not None:
        return None
    slot = sighting.resource.slot
    return sighting if slot is place.slot or slot == place.slot else None


def resources_of(machine: Machine, snapshot: Snapshot) -> tuple[Resource, ...]:
    """Return the machine's resources: what observations show, and what definite answers promised.

    A promised resource that no observation has had time to show appears with condition *unknown*.
    Every id that is not the bound one of its slot is marked surplus.
    """
    found = dict[ResourceId, Resource]()
    for place in machine.places:
        for known in place.known:
            resource = _resource(machine, place, known, snapshot)
            if resource is not None:
                found[resource.id] = resource
    written = {known.id for place in machine.places for known in place.known}
    for resource_id in _tagged(machine, snapshot):
        if resource_id not in written:
            found[resource_id] = snapshot.inventory.sightings[resource_id].resource
    ordered = sorted(found.values(), key=lambda resource: (resource.slot, resource.id))
    return tuple(_judged(machine, resource) for resource in ordered)


def _tagged(machine: Machine, snapshot: Snapshot) -> tuple[ResourceId, ...]:
    """Return the resources that carry the machine's owner tag, with an attempt that it made.

    Another host under its name is none of its resources: the reclaim tells of that.
    """
    tagged = snapshot.inventory.tagged.get(machine.id, ())
    if snapshot.capabilities.hosts:
        return tuple(resource for resource in tagged if host_of(resource) == machine.host)
    ids = machine.ids()
    if any(resource not in ids for resource in tagged):
        own = {*ids, *_strange(machine, ids, snapshot)}
        tagged = tuple(resource for resource in tagged if resource in own)
    if newer := unissued_of(machine, snapshot):
        ids = {resource.id for resource in newer}
        return tuple(resource for resource in tagged if resource not in ids)
    return tagged


def unissued_of(machine: Machine, snapshot: Snapshot) -> tuple[Resource, ...]:
    """Return the resources that carry the machine's owner tag, and attempts that it never made."""
    strange = _strange(machine, machine.ids(), snapshot)
    if not strange:
        return ()
    sightings = snapshot.inventory.sightings
    found = (sightings[resource].resource for resource in strange)
    return tuple(resource for resource in found if is_unissued(machine, resource))


def _judged(machine: Machine, resource: Resource) -> Resource:
    bound = machine.bound(resource.slot)
    surplus = bound is not None and resource.id != bound
    return resource if resource.surplus == surplus else replace(resource, surplus=surplus)


def _resource(machine: Machine, place: Place, known: Known, snapshot: Snapshot) -> Resource | None:
    sighting = snapshot.inventory.sightings.get(known.id)
    if known.removed is not None and not _outlived(known, sighting, snapshot):
        return None
    if sighting is not None:
        resource = sighting.resource
        return resource if resource.slot == place.slot else replace(resource, slot=place.slot)
    if known.deleted or known.absent is not None:
        return None
    return Resource(
        id=known.id, slot=place.slot, zone=known.zone, status="promised", name=str(machine.id)
    )


def _outlived(known: Known, sighting: Sighting | None, snapshot: Snapshot) -> bool:
    """Tell whether an observation that had to know better shows what was answered as absent."""
    if sighting is None or known.removed is None:
        return False
    return (
        snapshot.inventory.observed_at(sighting)
        >= steady(known.removed, snapshot) + snapshot.capabilities.consistency_delay
    )


def reconcile(machine: Machine, snapshot: Snapshot) -> Machine:
    """Return the record with all that the observations prove written into it; no phase moves."""
    after = _learn(present(machine, snapshot.now), snapshot)
    after = missed(after, snapshot)
    after = _close(after, snapshot)
    return bind(after, snapshot)


def _learn(machine: Machine, snapshot: Snapshot) -> Machine:
    """Write down each id with the machine's owner tag; take back absences of what is seen."""
    after = machine
    for resource_id in _tagged(machine, snapshot):
        sighting = snapshot.inventory.sightings[resource_id]
        slot = sighting.resource.slot
        place = after.place(slot)
        if all(known.id != resource_id for known in place.known):
            after = after.with_place(_with_known(place, sighting, snapshot.inventory))
    for place in after.places:
        changed = tuple(_seen_again(known, snapshot) for known in place.known)
        if changed != place.known:
            after = after.with_place(replace(place, known=changed))
    return after


def _with_known(place: Place, sighting: Sighting, inventory: Inventory) -> Place:
    resource = sighting.resource
    attempt = resource.owner_tag.attempt if resource.owner_tag else 0
    known = Known(
        id=resource.id, zone=resource.zone, since=inventory.observed_at(sighting), attempt=attempt
    )
    return replace(
        place, attempt=max(place.attempt, attempt), known=tuple(by_id((*place.known, known)))
    )


def _seen_again(known: Known, snapshot: Snapshot) -> Known:
    sighting = snapshot.inventory.sightings.get(known.id)
    if sighting is None:
        return known
    outlived = _outlived(known, sighting, snapshot)
    if known.absent is None and not known.deleted and not outlived:
        return known
    after = replace(known, absent=None, deleted=False)
    return replace(after, removed=None, missing=False) if outlived else after


def _close(machine: Machine, snapshot: Snapshot) -> Machine:
    """Close the open *once* calls that an observation proves done, or without effect."""
    after = machine
    for asked in machine.asked:
        if asked.call_state is CallState.OPEN:
            call_state = call_state_of(after, asked, snapshot)
            if call_state is not CallState.OPEN:
                after = after.with_asked(replace(asked, call_state=call_state, closed=snapshot.now))
                if is_unanswered(asked, snapshot):
                    after = after.with_fact(UNANSWERED_REST, asked.at)
    return after


def unsure(machine: Machine, call: Call) -> bool:
    """Tell whether a *once* call must wait: an earlier one for its slot is still open."""
    return call.once and any(
        asked.call_state is CallState.OPEN and asked.slot == call.slot for asked in machine.asked
    )


def all_gone(machine: Machine, snapshot: Snapshot) -> bool:
    """Tell whether nothing of the allocation is left: every id confirmed absent, no call unsure.

    An open call is closed only by a complete observation after its consistency delay, so that
    *deleted* waits for it; tagged resources that an observation still shows speak against it.
    """
    if _tagged(machine, snapshot) or any(a.call_state is CallState.OPEN for a in machine.asked):
        return False
    ids = (known for place in machine.places for known in place.known)
    return all(known.deleted for known in ids if is_at_home(machine, known, snapshot))
