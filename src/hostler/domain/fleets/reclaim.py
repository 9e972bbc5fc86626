"""Sweep: which parts does no record explain, what do they cost, and may one be removed?"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from hostler.domain.hosts.orphans import ACTIONABLE, CLASS, WHY_NOT
from hostler.domain.ids import HostId, MachineId, PartId
from hostler.domain.model.commands import KeepLedger, Reclaim
from hostler.domain.model.fleet import FleetRow, destructions_left
from hostler.domain.model.machine import Known, Machine, Offer, Place, cost_between
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.provider import Ways
from hostler.domain.model.resource import Part
from hostler.domain.model.snapshot import Seen, Suspect, SuspectClass
from hostler.domain.observation.blockers import paused

ENOUGH = 2
"""How many complete looks must have shown a suspect; more are not counted, or it never rests."""


def ledger(seen: Seen) -> KeepLedger:
    """Return the suspects of this turn: new and old ones as they stand, and those to take out."""
    older = {suspect.part: suspect for suspect in seen.suspects}
    parts = [(part, SuspectClass.FOREIGN) for part in seen.foreign]
    parts += [(part, _class(part, older.get(part.id), seen)) for part in seen.unexplained]
    parts += [(part, SuspectClass.SET_ASIDE) for part in seen.aside]
    now = tuple(_suspect(part, cls, older.get(part.id), seen) for part, cls in parts)
    current = {suspect.part for suspect in now}
    changed = tuple(suspect for suspect in now if _differs(suspect, older.get(suspect.part)))
    cleared = tuple(
        s.part
        for s in seen.suspects
        if s.part not in current and s.machine not in seen.moving and _is_over(s, seen)
    )
    return KeepLedger(suspects=changed, cleared=cleared)


def _class(part: Part, older: Suspect | None, seen: Seen) -> SuspectClass:
    """Return what a part is suspected to be; a claim that is young may still be under way."""
    cls = SuspectClass(part.note(CLASS) or SuspectClass.STRAY)
    first = older.first if older else seen.now
    if cls is SuspectClass.PENDING_STALE and seen.now - first < seen.fleet.timers.grace:
        return SuspectClass.PENDING_FRESH
    return cls


def _differs(suspect: Suspect, older: Suspect | None) -> bool:
    """Whether the ledger must be written: what only grows with time can be computed by readers."""
    if older is None:
        return True
    return replace(suspect, last=older.last, cost=older.cost) != older


def _is_over(suspect: Suspect, seen: Seen) -> bool:
    """A suspect leaves the ledger when it is explained, or a complete look does not show it."""
    sighting = seen.view.sightings.get(suspect.part)
    if sighting is not None:
        return True
    whole = seen.view.whole.get((suspect.zone, suspect.kind))
    return whole is not None and whole > suspect.last + seen.fleet.timers.absence_gap


def _suspect(part: Part, cls: SuspectClass, older: Suspect | None, seen: Seen) -> Suspect:
    looked = _looked(part, older, seen)
    first = older.first if older else seen.now
    created = part.created or first
    suspect = Suspect(
        part=part.id,
        kind=part.slot.kind,
        zone=part.zone,
        fleet=seen.fleet.name,
        cls=cls,
        first=first,
        last=seen.view.shown(seen.view.sightings[part.id]),
        sightings=_sightings(older, looked, seen),
        counted=_counted(older, looked, seen),
        tried=older.tried if older else None,
        created=part.created,
        owner=f"{part.mark.machine} of {part.mark.installation}" if part.mark else "",
        price=part.price,
        cost=cost_between(part.price, created, seen.now),
        installation=part.mark.installation if part.mark else None,
        machine=part.mark.machine if part.mark else None,
    )
    return replace(suspect, blocked=blocked(suspect, seen))


def _looked(part: Part, older: Suspect | None, seen: Seen) -> datetime:
    """Return when the newest complete look began that showed the part."""
    sighting = seen.view.shown(seen.view.sightings[part.id])
    whole = seen.view.whole.get((part.zone, part.slot.kind))
    if older is None or older.counted is None or sighting == whole:
        return sighting
    return older.counted


def _counted(older: Suspect | None, looked: datetime, seen: Seen) -> datetime:
    if older is None or older.counted is None:
        return looked
    if older.sightings >= ENOUGH:
        return older.counted
    gap = seen.fleet.timers.sighting_gap
    since = max(older.counted, seen.jumped or older.counted)
    return looked if looked - since >= gap else older.counted


def _sightings(older: Suspect | None, looked: datetime, seen: Seen) -> int:
    if older is None:
        return 1
    return older.sightings + (_counted(older, looked, seen) != older.counted)


def blocked(suspect: Suspect, seen: Seen) -> str:
    """Return what keeps this suspect from being reclaimed, or an empty string."""
    timers = seen.fleet.timers
    since = suspect.first if seen.traits.hosts else suspect.created or suspect.first
    since = max(since, seen.jumped or since)
    if suspect.cls is SuspectClass.FOREIGN:
        return "it carries the mark of another installation"
    if suspect.cls not in ACTIONABLE:
        return WHY_NOT[suspect.cls]
    if seen.traits.hosts and not _has_pool(suspect.part, seen):
        return "no pool is known that it could go back to: set `pool_prefix`"
    if seen.now - since < timers.grace:
        return f"younger than the grace period of {timers.grace}"
    if suspect.sightings < ENOUGH:
        return f"seen once; a second complete look at least {timers.sighting_gap} later is needed"
    return _forbidden(suspect, seen)


def _has_pool(part: PartId, seen: Seen) -> bool:
    sighting, host = seen.view.sightings.get(part), seen.hosts.get(HostId(part))
    named = sighting is not None and bool(sighting.part.note("pool"))
    return named or (host is not None and bool(host.pool))


def _forbidden(suspect: Suspect, seen: Seen) -> str:
    if seen.foreign:
        return "parts in this fleet's name carry the mark of another installation"
    if why := paused(seen.row, seen.now):
        return why
    if not seen.fleet.reclaim:
        return "report only: set `reclaim = true` for this fleet"
    if suspect.tried is not None and seen.now - suspect.tried < seen.fleet.timers.sighting_gap:
        return f"its removal was tried at {suspect.tried:%H:%M:%S} UTC"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What a sweep comes to: removals, the ledger that must be kept first, and how many are new."""

    reclaims: tuple[Reclaim, ...] = ()
    ledger: KeepLedger = KeepLedger()
    counted: int = 0


def reclaims(keep: KeepLedger, row: FleetRow, seen: Seen, ways: Ways) -> Swept:
    """Return what may be removed now within the caps, grouped by the machine that marks name.

    Trying again what was counted once takes no more of the caps; what has no call now waits.
    """
    current = {s.part: s for s in (*seen.suspects, *keep.suspects)}
    left = destructions_left(seen.fleet, row, seen.now)
    found, tried, counted = list[Reclaim](), dict[PartId, Suspect](), 0
    for machine, parts in _groups(current, seen).items():
        record = ghost(machine, parts, seen)
        aims = _aims(record, parts, seen, ways)
        fresh = [part for part in aims if current[part.id].tried is None][: left - counted]
        may = [part for part in aims if current[part.id].tried is not None or part in fresh]
        if not may:
            continue
        counted += len(fresh)
        suspects = tuple(replace(current[part.id], tried=seen.now) for part in may)
        tried |= {suspect.part: suspect for suspect in suspects}
        found.append(Reclaim(ghost=record, parts=tuple(may), suspects=suspects))
    kept = {suspect.part: suspect for suspect in keep.suspects} | tried
    book = replace(keep, suspects=tuple(kept.values()))
    return Swept(reclaims=tuple(found), ledger=book, counted=counted)


def _aims(record: Machine, parts: tuple[Part, ...], seen: Seen, ways: Ways) -> list[Part]:
    """Return the parts that something can be done about now; a host is taken into a record."""
    if seen.traits.hosts:
        return list(parts)
    calls = ways.next_calls(Goal.ABSENT, record, parts, seen.now)
    return [part for part in parts if part.id in {call.target for call in calls}]


def _groups(current: Mapping[PartId, Suspect], seen: Seen) -> dict[MachineId, tuple[Part, ...]]:
    """Return the parts that nothing keeps from being reclaimed, by the machine they name."""
    groups = dict[MachineId, tuple[Part, ...]]()
    for part in seen.unexplained:
        suspect = current.get(part.id)
        if suspect is not None and part.mark is not None and not blocked(suspect, seen):
            groups[part.mark.machine] = (*groups.get(part.mark.machine, ()), part)
    return groups


def ghost(machine: MachineId, parts: tuple[Part, ...], seen: Seen) -> Machine:
    """Return a record that stands for a machine nobody recorded; it is never saved."""
    places = dict[str, Place]()
    for part in parts:
        place = places.get(str(part.slot), Place(slot=part.slot))
        known = Known(id=part.id, zone=part.zone, since=seen.now)
        places[str(part.slot)] = replace(
            place, bound=place.bound or part.id, known=(*place.known, known)
        )
    return Machine(
        id=machine,
        fleet=seen.fleet.name,
        serial=0,
        created=seen.now,
        since=seen.now,
        phase=Phase.STOPPING,
        goal=Goal.ABSENT,
        offer=Offer(type="", zone=parts[0].zone),
        places=tuple(places.values()),
    )
