"""Sweep: which parts does no record explain, what do they cost, and may one be removed?"""

from dataclasses import replace
from datetime import datetime

from .caps import destructions_left
from .commands import KeepLedger, Reclaim
from .fleet import FleetRow
from .ids import MachineId
from .machine import Known, Machine, Offer, Place
from .money import cost_between
from .parts import Part
from .phases import Goal, Phase
from .seen import Seen, Suspect, SuspectClass


def ledger(seen: Seen) -> KeepLedger:
    """Return the suspects of this turn: new and old ones as they stand, and those to take out."""
    older = {suspect.part: suspect for suspect in seen.suspects}
    parts = [(part, SuspectClass.FOREIGN) for part in seen.foreign]
    parts += [(part, SuspectClass.STRAY) for part in seen.unexplained]
    now = tuple(_suspect(part, cls, older.get(part.id), seen) for part, cls in parts)
    current = {suspect.part for suspect in now}
    changed = tuple(suspect for suspect in now if _differs(suspect, older.get(suspect.part)))
    cleared = tuple(s.part for s in seen.suspects if s.part not in current and _is_over(s, seen))
    return KeepLedger(suspects=changed, cleared=cleared)


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
    looked = seen.view.sightings[part.id].seen
    first = older.first if older else seen.now
    created = part.created or first
    suspect = Suspect(
        part=part.id,
        kind=part.slot.kind,
        zone=part.zone,
        fleet=seen.fleet.name,
        cls=cls,
        first=first,
        last=looked,
        sightings=_sightings(older, looked, seen),
        counted=_counted(older, looked, seen),
        created=part.created,
        owner=f"{part.mark.machine} of {part.mark.installation}" if part.mark else "",
        price=part.price,
        cost=cost_between(part.price, created, seen.now),
        installation=part.mark.installation if part.mark else None,
        machine=part.mark.machine if part.mark else None,
    )
    return replace(suspect, blocked=blocked(suspect, seen))


def _counted(older: Suspect | None, looked: datetime, seen: Seen) -> datetime:
    if older is None or older.counted is None:
        return looked
    gap = seen.fleet.timers.sighting_gap
    return looked if looked - older.counted >= gap else older.counted


def _sightings(older: Suspect | None, looked: datetime, seen: Seen) -> int:
    if older is None:
        return 1
    return older.sightings + (_counted(older, looked, seen) != older.counted)


def blocked(suspect: Suspect, seen: Seen) -> str:
    """Return what keeps this suspect from being reclaimed, or an empty string."""
    timers = seen.fleet.timers
    since = suspect.created or suspect.first
    if suspect.cls is SuspectClass.FOREIGN:
        return "it carries the mark of another installation"
    if seen.now - since < timers.grace:
        return f"younger than the grace period of {timers.grace}"
    if suspect.sightings < 2:
        return f"seen once; a second complete look at least {timers.sighting_gap} later is needed"
    if not seen.fleet.reclaim:
        return "report only: set `reclaim = true` for this fleet"
    return ""


def reclaims(keep: KeepLedger, row: FleetRow, seen: Seen) -> tuple[Reclaim, ...]:
    """Return what may be removed now within the caps, grouped by the machine that marks name."""
    current = {s.part: s for s in (*seen.suspects, *keep.suspects)}
    groups = dict[MachineId, list[Part]]()
    left = destructions_left(seen.fleet, row, seen.now)
    for part in seen.unexplained:
        suspect = current.get(part.id)
        if suspect is None or blocked(suspect, seen) or part.mark is None or left == 0:
            continue
        left -= 1
        groups.setdefault(part.mark.machine, []).append(part)
    return tuple(
        Reclaim(
            ghost=ghost(machine, tuple(parts), seen),
            parts=tuple(parts),
            suspects=tuple(current[part.id] for part in parts),
        )
        for machine, parts in groups.items()
    )


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
