"""Fates: how does each open call stand, by the looks since: done, without effect, or still open?"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from hostler.domain.ids import PartId
from hostler.domain.model.calls import Shows
from hostler.domain.model.machine import Asked, Fate, Machine, Place
from hostler.domain.model.resource import Condition
from hostler.domain.model.snapshot import Seen

from . import effects as shown


def sure_from(asked: Asked, seen: Seen) -> datetime:
    """Return from when on a look can prove that an open call had no effect.

    A call of an older epoch may have been begun as late as the take-over.
    """
    begun = asked.at if asked.epoch == seen.epoch else max(asked.at, seen.took)
    return steady(begun, seen) + seen.traits.settle_of(asked.kind)


def steady(at: datetime, seen: Seen) -> datetime:
    """Return a recorded time as it can be used: counted anew where the clock jumped since."""
    return max(at, seen.jumped) if seen.jumped else at


def fate_of(machine: Machine, asked: Asked, seen: Seen) -> Fate:
    """Return how a call of a machine's stands; one that no look has judged yet is open."""
    if asked.shows in shown.HOST_CALLS:
        return _host_fate(machine, asked, seen)
    place = machine.place(asked.slot)
    if asked.shows is not Shows.PART:
        return _power_fate(machine, place, asked, seen)
    if any(known.attempt == asked.attempt for known in place.known):
        return Fate.DONE
    return _lapsed_in_time(machine, asked, seen)


def _lapsed_in_time(machine: Machine, asked: Asked, seen: Seen) -> Fate:
    """Judge a call of which nothing is shown: it lapses by a complete look of after its settle."""
    covered = seen.view.covered(machine.offer.zone, asked.slot.kind, machine.id)
    return Fate.LAPSED if covered is not None and covered >= sure_from(asked, seen) else Fate.OPEN


def _host_fate(machine: Machine, asked: Asked, seen: Seen) -> Fate:
    """Judge a call on the machine's host by the host itself, which a look shows in any stage."""
    sighting = seen.view.sightings.get(PartId(machine.host or ""))
    if sighting is None:
        looked = seen.view.covered(machine.offer.zone, seen.traits.main.kind, machine.id)
        return shown.fate(asked, None, looked, sure_from(asked, seen))
    part = sighting.part
    if asked.shows is Shows.MARK and part.note("holder") != machine.id:
        part = replace(part, notes=())
    return shown.fate(asked, part, seen.view.shown(sighting), sure_from(asked, seen))


def _power_fate(machine: Machine, place: Place, asked: Asked, seen: Seen) -> Fate:
    bound = next((known for known in place.known if known.id == place.bound), None)
    if bound is None or bound.gone:
        return _lapsed_in_time(machine, asked, seen)
    sighting = seen.view.sightings.get(bound.id)
    if sighting is None or (shown := seen.view.shown(sighting)) < asked.at:
        return Fate.OPEN
    if sighting.part.condition in _EFFECTS[asked.shows]:
        return Fate.DONE
    if sighting.part.condition in _NO_EFFECT[asked.shows] and shown >= sure_from(asked, seen):
        return Fate.LAPSED
    return Fate.OPEN


_EFFECTS: Mapping[Shows, frozenset[Condition]] = {
    Shows.POWER: frozenset({Condition.STARTING, Condition.UP}),
    Shows.REST: frozenset({Condition.STOPPING, Condition.STANDBY, Condition.OFF}),
}
_NO_EFFECT: Mapping[Shows, frozenset[Condition]] = {
    Shows.POWER: frozenset({Condition.OFF, Condition.STANDBY}),
    Shows.REST: frozenset({Condition.UP}),
}
