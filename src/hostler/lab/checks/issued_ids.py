"""Issued ids: what a store never issued is never its own (S5); the judge's own account of it.

An id is on record before any call bears it. So what carries an installation's tag and an id, or an
attempt, that its store does not know to have issued was made from a newer store, or by a twin.
"""

from collections.abc import Iterable, Iterator

from hostler.domain.model.calls import Shows
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Orphan
from hostler.testing.invariants import Found, Thing, Violation

from .shadow_store import ShadowStore

AT_ONCE = 30.0
"""So long after it was first reported, what was decided before may still be carried out."""
_FINE: Found = ()


def is_unissued(shadow: ShadowStore, thing: Thing) -> bool:
    """Tell whether a thing carries a tag of ours with an id or attempt that was never issued."""
    tag = thing.owner_tag
    if tag is None or tag.installation not in shadow.ours:
        return False
    if tag.machine not in shadow.issued:
        return True
    record = shadow.machines.get(tag.machine)
    if record is None or tag.attempt == 0 or thing.id in record.ids():
        return False
    made = {asked.slot for asked in record.asked if asked.shows is Shows.RESOURCE}
    own = [place for place in record.places if place.slot == thing.slot]
    counted = own if thing.slot in made else record.places
    return all(place.attempt < tag.attempt for place in counted)


def changed(shadow: ShadowStore, thing: Thing, call: str) -> Found:
    """Check a request that changes a thing: never what was not issued."""
    if thing.owner_tag is None or not is_unissued(shadow, thing):
        return _FINE
    text = f"{call}: the store never issued the id of this {thing.kind}"
    return (Violation(invariant="S5", text=text, machine=thing.owner_tag.machine),)


def reported(shadow: ShadowStore, orphans: Iterable[Orphan], things: Iterable[Thing]) -> Found:
    """Check the orphan report: what was never issued is called so, and what was removed is not.

    The cycle that adopts a resource still tells of it, so what a record explains by now is passed
    over.
    """
    there = {thing.id: thing for thing in things}
    for orphan in orphans:
        thing = there.get(orphan.resource)
        tag = thing.owner_tag if thing is not None else None
        if thing is None or tag is None or tag.installation not in shadow.ours:
            continue
        unissued = is_unissued(shadow, thing)
        if unissued and orphan.cls is not OrphanClass.UNISSUED:
            return _misreported(orphan, "was never issued")
        record = shadow.machines.get(tag.machine)
        is_over = record is None or record.phase is Phase.DELETED
        if is_over and not unissued and orphan.cls is OrphanClass.UNISSUED:
            return _misreported(orphan, "was issued")
    return _FINE


def disowned(shadow: ShadowStore, orphans: Iterable[Orphan]) -> Found:
    """Check the report of hosts, whose names know no attempts: what was issued is called so."""
    for orphan in orphans:
        ours = orphan.installation in shadow.ours and orphan.machine in shadow.issued
        if ours and orphan.cls is OrphanClass.UNISSUED:
            return _misreported(orphan, "was issued")
    return _FINE


def _misreported(orphan: Orphan, truth: str) -> Found:
    text = f"{orphan.kind} {orphan.resource} is reported as {orphan.cls}, and its id {truth}"
    return (Violation(invariant="S5", text=text, machine=orphan.machine),)


def created_beside(shadow: ShadowStore, things: Iterable[Thing], now: float) -> Found:
    """Check an attempt to create: none while what was never issued, or has no record, is reported.

    It may do the work of a machine that would be made.
    """
    for thing in _standing(shadow, things, now):
        why = "was never issued" if is_unissued(shadow, thing) else "has no record"
        text = f"a server was asked for beside {thing.kind} {thing.id}, which {why}"
        return (Violation(invariant="S2", text=text),)
    return _FINE


def concealed(
    shadow: ShadowStore, row: FleetRow | None, things: Iterable[Thing], now: float
) -> Found:
    """Check a fleet's row: while what was never issued stands reported, its condition says so."""
    for thing in _standing(shadow, things, now):
        never = is_unissued(shadow, thing) and row is not None and not row.condition
        if never and thing.owner_tag and row and thing.owner_tag.fleet == row.name:
            text = f"{thing.kind} {thing.id} was never issued, and the fleet's condition is empty"
            return (Violation(invariant="S5", text=text, machine=thing.owner_tag.machine),)
    return _FINE


def _standing(shadow: ShadowStore, things: Iterable[Thing], now: float) -> Iterator[Thing]:
    """Yield what no record explains, and was reported long enough ago to be decided upon."""
    for thing in things:
        since, tag = shadow.reported.get(thing.id), thing.owner_tag
        if since is None or now - since <= AT_ONCE or tag is None:
            continue
        removed = tag.installation in shadow.ours and tag.machine in shadow.removed
        if removed or is_unissued(shadow, thing):
            yield thing
