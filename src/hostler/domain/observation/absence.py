"""Absence: when what observations lack is missing, when it is gone, and when to ask for it.

One listing is nothing: a bound id is gone when it was asked for by itself twice, and was not there,
the second time a gap after the first: what is not found for a moment only is there.
"""

from datetime import datetime

from msgspec.structs import replace

from hostler.domain.model.machine import Known, Machine, Place
from hostler.domain.model.snapshot import Snapshot

from .effects import steady


def missed(machine: Machine, snapshot: Snapshot) -> Machine:
    """Write down which known ids the newest complete observations lack, and which are gone."""
    after = machine
    for place in machine.places:
        changed = tuple(_missed(machine, place, known, snapshot) for known in place.known)
        if changed != place.known:
            after = after.with_place(replace(place, known=changed))
    return after


def _missed(machine: Machine, place: Place, known: Known, snapshot: Snapshot) -> Known:
    if known.deleted or known.id in snapshot.inventory.sightings:
        return known
    covered = _lacking_since(machine, place, known, snapshot)
    if covered is None or covered < _lacked_from(known, snapshot):
        return known
    if known.absent is None:
        return replace(known, absent=covered)
    if covered - steady(known.absent, snapshot) < snapshot.fleet.timers.absence_gap:
        return known
    if _needs_own_observations(place, known) and not _asked_alone(known, snapshot):
        return known
    return replace(known, deleted=True)


def _lacking_since(
    machine: Machine, place: Place, known: Known, snapshot: Snapshot
) -> datetime | None:
    """Return when the newest observation began that had to show an id, and does not."""
    covered = snapshot.inventory.covered(known.zone, place.slot.kind, machine.id)
    alone = snapshot.inventory.missing.get(known.id)
    return covered if alone is None or (covered is not None and covered > alone) else alone


def _lacked_from(known: Known, snapshot: Snapshot) -> datetime:
    """Return from when on an observation that lacks this id speaks against it."""
    if known.removed is not None:
        return known.removed
    return steady(known.since, snapshot) + snapshot.capabilities.consistency_delay


def _needs_own_observations(place: Place, known: Known) -> bool:
    """Tell whether listings alone prove nothing: of a bound id, and of one that a call missed."""
    return known.missing or (place.bound == known.id and not known.was_removed)


def _asked_alone(known: Known, snapshot: Snapshot) -> bool:
    """Tell whether an id was not found by itself, often enough to believe that it is gone.

    One answer is nothing here either: the last of several lies a gap after the first.
    """
    inventory = snapshot.inventory
    alone, since = inventory.missing.get(known.id), inventory.lacking.get(known.id)
    if alone is None or since is None or known.absent is None or since == alone:
        return False
    return alone - _first_missed(known, known.absent, snapshot) >= snapshot.fleet.timers.absence_gap


def _first_missed(known: Known, absent: datetime, snapshot: Snapshot) -> datetime:
    """Return since when an id was missing by the lists, and whenever it was asked for by itself."""
    since = snapshot.inventory.lacking.get(known.id, absent)
    return max(steady(absent, snapshot), since)


def next_question(known: Known, snapshot: Snapshot) -> datetime:
    """Return when an id that observations lack is next to be asked for by itself.

    At once, and once more when a gap has passed since then.
    """
    if known.absent is None:
        return snapshot.now
    alone = snapshot.inventory.missing.get(known.id)
    if alone is None or alone < known.absent:
        return snapshot.now
    first = _first_missed(known, known.absent, snapshot)
    return max(snapshot.now, first + snapshot.fleet.timers.absence_gap)
