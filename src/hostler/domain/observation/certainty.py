"""Sure and unsure: what the record, the definite answers and the looks say together.

A look begun before a definite answer plus settle says nothing against it. An open *once* call is
unsure until settle has passed and a look begun after that, complete for its slot, shows nothing.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from hostler.domain.ids import PartId
from hostler.domain.model.calls import Call
from hostler.domain.model.host import host_of
from hostler.domain.model.inventory import Sighting, View
from hostler.domain.model.machine import Asked, Fate, Known, Machine, Place
from hostler.domain.model.resource import Part
from hostler.domain.model.snapshot import Seen

from .effects import fate_of, steady


def present(machine: Machine, now: datetime) -> Machine:
    """Bring times that lie in the future back to now: the clock jumped back since they were set."""
    if not any(at is not None and at > now for at in _times(machine)):
        return machine
    doubt = machine.doubt
    return replace(
        machine,
        since=min(machine.since, now),
        blind=_no_later(machine.blind, now),
        doubt=replace(doubt, since=min(doubt.since, now)) if doubt else None,
        asked=tuple(
            replace(a, at=min(a.at, now), closed=_no_later(a.closed, now)) for a in machine.asked
        ),
        places=tuple(
            replace(place, known=tuple(_known_by(known, now) for known in place.known))
            for place in machine.places
        ),
    )


def _times(machine: Machine) -> Iterator[datetime | None]:
    yield machine.since
    yield machine.blind
    if machine.doubt is not None:
        yield machine.doubt.since
    for asked in machine.asked:
        yield asked.at
        yield asked.closed
    for place in machine.places:
        for known in place.known:
            yield known.since
            yield known.absent
            yield known.removed


def _known_by(known: Known, now: datetime) -> Known:
    return replace(
        known,
        since=min(known.since, now),
        absent=_no_later(known.absent, now),
        removed=_no_later(known.removed, now),
    )


def _no_later(at: datetime | None, now: datetime) -> datetime | None:
    return None if at is None else min(at, now)


def survey(machine: Machine, seen: Seen) -> tuple[Machine, tuple[Part, ...]]:
    """Return the reconciled record and its parts; for one at rest, without asking every question.

    It promises what `reconcile` and then `parts_of` return, sooner.
    """
    parts = _at_rest(machine, seen)
    if parts is not None:
        return machine, parts
    known = reconcile(machine, seen)
    return known, parts_of(known, seen)


def _at_rest(machine: Machine, seen: Seen) -> tuple[Part, ...] | None:
    """Return the parts of a record with which every look agrees: one living id a slot, no more."""
    if machine.blind is not None or machine.doubt is not None or machine.since > seen.now:
        return None
    for asked in machine.asked:
        if not _is_closed(asked, seen.now):
            return None
    parts, ids = list[Part](), list[PartId]()
    for place in machine.places:
        sighting = _only_living(place, seen)
        if sighting is None:
            return None
        parts.append(_judged(machine, sighting.part))
        ids.append(place.known[0].id)
    for part in _marked(machine, seen):
        if part not in ids:
            return None
    return tuple(parts)


def _is_closed(asked: Asked, now: datetime) -> bool:
    closed = asked.closed
    return asked.fate is not Fate.OPEN and asked.at <= now and (closed is None or closed <= now)


def _only_living(place: Place, seen: Seen) -> Sighting | None:
    """Return the sighting of a slot's bound id, if it has no other and nothing is against it."""
    if len(place.known) != 1:
        return None
    known = place.known[0]
    sighting = seen.view.sightings.get(known.id)
    if sighting is None or place.bound != known.id or known.since > seen.now:
        return None
    if known.absent is not None or known.gone or known.removed is not None:
        return None
    slot = sighting.part.slot
    return sighting if slot is place.slot or slot == place.slot else None


def parts_of(machine: Machine, seen: Seen) -> tuple[Part, ...]:
    """Return the machine's parts: what looks show, and what definite answers promised.

    A promised part that no look has had time to show appears with condition *unknown*. Every id
    that is not the bound one of its slot is marked surplus.
    """
    found = dict[PartId, Part]()
    for place in machine.places:
        for known in place.known:
            part = _part(machine, place, known, seen)
            if part is not None:
                found[part.id] = part
    written = {known.id for place in machine.places for known in place.known}
    for part_id in _marked(machine, seen):
        if part_id not in written:
            found[part_id] = seen.view.sightings[part_id].part
    ordered = sorted(found.values(), key=lambda part: (part.slot, part.id))
    return tuple(_judged(machine, part) for part in ordered)


def _marked(machine: Machine, seen: Seen) -> tuple[PartId, ...]:
    """Return the parts that carry the machine's mark.

    Another host under its name is none of its parts: the sweep tells of that.
    """
    marked = seen.view.marked.get(machine.id, ())
    if not seen.traits.hosts:
        return marked
    return tuple(part for part in marked if host_of(part) == machine.host)


def _judged(machine: Machine, part: Part) -> Part:
    bound = machine.bound(part.slot)
    surplus = bound is not None and part.id != bound
    return part if part.surplus == surplus else replace(part, surplus=surplus)


def _part(machine: Machine, place: Place, known: Known, seen: Seen) -> Part | None:
    sighting = seen.view.sightings.get(known.id)
    if known.removed is not None and not _outlived(known, sighting, seen):
        return None
    if sighting is not None:
        part = sighting.part
        return part if part.slot == place.slot else replace(part, slot=place.slot)
    if known.gone or known.absent is not None:
        return None
    return Part(
        id=known.id, slot=place.slot, zone=known.zone, status="promised", name=str(machine.id)
    )


def _outlived(known: Known, sighting: Sighting | None, seen: Seen) -> bool:
    """Tell whether a look that had to know better still shows what was answered to be no more."""
    if sighting is None or known.removed is None:
        return False
    return seen.view.shown(sighting) >= steady(known.removed, seen) + seen.traits.settle


def reconcile(machine: Machine, seen: Seen) -> Machine:
    """Return the record with everything that the looks prove written into it; no phase moves."""
    after = _learn(present(machine, seen.now), seen)
    after = _miss(after, seen)
    after = _close(after, seen)
    return _bind(after, seen)


def _learn(machine: Machine, seen: Seen) -> Machine:
    """Write down every id that carries the machine's mark; take back absences of what is seen."""
    after = machine
    for part_id in _marked(machine, seen):
        sighting = seen.view.sightings[part_id]
        slot = sighting.part.slot
        place = after.place(slot)
        if all(known.id != part_id for known in place.known):
            after = after.with_place(_with_known(place, sighting, seen.view))
    for place in after.places:
        changed = tuple(_seen_again(known, seen) for known in place.known)
        if changed != place.known:
            after = after.with_place(replace(place, known=changed))
    return after


def _with_known(place: Place, sighting: Sighting, view: View) -> Place:
    part = sighting.part
    attempt = part.mark.attempt if part.mark else 0
    known = Known(id=part.id, zone=part.zone, since=view.shown(sighting), attempt=attempt)
    return replace(
        place, attempt=max(place.attempt, attempt), known=tuple(_by_id((*place.known, known)))
    )


def _by_id(known: tuple[Known, ...]) -> list[Known]:
    return sorted(known, key=lambda entry: (entry.attempt, entry.id))


def _seen_again(known: Known, seen: Seen) -> Known:
    sighting = seen.view.sightings.get(known.id)
    if sighting is None:
        return known
    outlived = _outlived(known, sighting, seen)
    if known.absent is None and not known.gone and not outlived:
        return known
    after = replace(known, absent=None, gone=False)
    return replace(after, removed=None, missing=False) if outlived else after


def _miss(machine: Machine, seen: Seen) -> Machine:
    """Write down which known ids the newest complete looks lack, and which are confirmed gone."""
    after = machine
    for place in machine.places:
        changed = tuple(_missed(machine, place, known, seen) for known in place.known)
        if changed != place.known:
            after = after.with_place(replace(place, known=changed))
    return after


def _missed(machine: Machine, place: Place, known: Known, seen: Seen) -> Known:
    if known.gone or known.id in seen.view.sightings:
        return known
    covered = seen.view.covered(known.zone, place.slot.kind, machine.id)
    if covered is None or covered < _lacked_from(known, seen):
        return known
    if known.absent is None:
        return replace(known, absent=covered)
    if covered - steady(known.absent, seen) < seen.fleet.timers.absence_gap:
        return known
    if _needs_own_looks(place, known) and not _asked_alone(known, seen):
        return known
    return replace(known, gone=True)


def _lacked_from(known: Known, seen: Seen) -> datetime:
    """Return from when on a look that lacks this id speaks against it."""
    if known.removed is not None:
        return known.removed
    return steady(known.since, seen) + seen.traits.settle


def _needs_own_looks(place: Place, known: Known) -> bool:
    """Tell whether listings alone prove nothing: of a bound id, and of one that a call missed."""
    return known.missing or (place.bound == known.id and not known.was_removed)


def _asked_alone(known: Known, seen: Seen) -> bool:
    """Tell whether looks at an id alone were answered so, often enough to believe that it is gone.

    One answer is nothing here either: the last of several lies a gap after it was first missed.
    """
    alone, since = seen.view.missing.get(known.id), seen.view.lacking.get(known.id)
    if alone is None or since is None or known.absent is None or since == alone:
        return False
    return alone - steady(known.absent, seen) >= seen.fleet.timers.absence_gap


def _close(machine: Machine, seen: Seen) -> Machine:
    """Close the open *once* calls that a look proves done, or proves to have had no effect."""
    after = machine
    for asked in machine.asked:
        if asked.fate is Fate.OPEN:
            fate = fate_of(after, asked, seen)
            if fate is not Fate.OPEN:
                after = after.with_asked(replace(asked, fate=fate, closed=seen.now))
    return after


def _bind(machine: Machine, seen: Seen) -> Machine:
    """Tie each slot that has none to its lowest living id: the oldest attempt, the lowest id."""
    after = machine
    for place in machine.places:
        if place.bound is None:
            living = [
                known
                for known in place.known
                if not known.gone and known.absent is None and _is_at_home(machine, known, seen)
            ]
            if living:
                after = after.with_place(replace(place, bound=_by_id(tuple(living))[0].id))
    return after


def _is_at_home(machine: Machine, known: Known, seen: Seen) -> bool:
    """Tell whether an id is of the host that the machine has; one without any has no tenancy."""
    return not seen.traits.hosts or host_of(known.id) == machine.host


def unsure(machine: Machine, call: Call) -> bool:
    """Tell whether a *once* call must wait: an earlier one for its slot is still open."""
    return call.once and any(
        asked.fate is Fate.OPEN and asked.slot == call.slot for asked in machine.asked
    )


def all_gone(machine: Machine, seen: Seen) -> bool:
    """Tell whether nothing of the tenancy is left: every id confirmed absent, no call unsure.

    An open call is closed only by a complete look after its settle, so that *gone* waits for it;
    marked parts that a look still shows speak against it.
    """
    if _marked(machine, seen) or any(a.fate is Fate.OPEN for a in machine.asked):
        return False
    ids = (known for place in machine.places for known in place.known)
    return all(known.gone for known in ids if _is_at_home(machine, known, seen))


def fresh_enough(at: datetime | None, seen: Seen, limit: timedelta) -> bool:
    """Tell whether a look's beginning is known and young enough."""
    return at is not None and seen.now - at <= limit
