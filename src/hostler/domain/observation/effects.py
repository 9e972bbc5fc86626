"""Shown: what a look proves of a call on a host that outlives its machines.

A name that tells the stage which was asked for, a wipe that is seen: that is proof. A newer date is
none, nor is an answer to a reinstallation.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime

from hostler.domain.ids import MachineId, PartId
from hostler.domain.model.calls import Shows
from hostler.domain.model.host import TENANT
from hostler.domain.model.machine import LEFT, Asked, Fate, Machine, Place
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, Part
from hostler.domain.model.snapshot import Seen

HOST_CALLS = frozenset({Shows.MARK, Shows.WIPE, Shows.NOTHING})

_LEAVING = frozenset({"wiping", "retiring"})
"""The aims of the last name that a machine gives its host: from then on it is the host's own."""


def fate(asked: Asked, part: Part | None, shown: datetime | None, sure: datetime) -> Fate:
    """Return how an open call on a host stands, given the host as a look begun at `shown` saw it.

    `part` is None where that look was complete and the host not there; `sure` is from when on a
    look proves that the call had no effect.
    """
    if shown is None or shown <= asked.at:
        return Fate.OPEN
    if part is not None and _has_effect(asked, part) and not _landed_late(asked, part, sure):
        return Fate.DONE
    return Fate.LAPSED if shown >= sure else Fate.OPEN


def _has_effect(asked: Asked, part: Part) -> bool:
    match asked.shows:
        case Shows.MARK:
            return part.note("stage") == asked.aim
        case Shows.WIPE:
            return part.condition is Condition.WIPING or _another(asked.witness, part)
        case _:
            return False


def _landed_late(asked: Asked, part: Part, sure: datetime) -> bool:
    """Tell whether a claim had its effect after it could be believed, by the host's own last date.

    That date proves nothing else: here it can only speak against a claim.
    """
    updated = part.note("updated")
    return bool(updated) and asked.aim == "pending" and datetime.fromisoformat(updated) > sure


def _another(witness: str, part: Part) -> bool:
    """Tell whether what a wipe changes is another than before the call; unknown is no proof."""
    return bool(witness) and bool(part.note("witness")) and part.note("witness") != witness


def witness_of(machine: Machine) -> str:
    """Return what its host showed, that a wipe changes, when it was last marked to use or to rest.

    Empty where that is unknown, or the machine asked for a wipe since.
    """
    mark = _kept_as(machine)
    if mark is None or any(a.shows is Shows.WIPE and a.at > mark.at for a in machine.asked):
        return ""
    return mark.witness


def was_wiped(machine: Machine, part: Part, at: datetime) -> bool:
    """Tell whether a look begun then shows that somebody wiped the host of a machine in use."""
    mark = _kept_as(machine)
    after = mark is not None and at > (mark.closed or mark.at)
    return after and machine.was_ready is not None and _another(witness_of(machine), part)


def witnessed(machine: Machine, part: Part, at: datetime) -> Machine:
    """Return the record with what its host shows while that was sealed at its last mark."""
    mark, witness = _kept_as(machine), part.note("witness")
    if mark is None or mark.witness or not witness or at <= (mark.closed or mark.at):
        return machine
    mine = part.mark is not None and part.note("stage") == mark.aim
    wiped = any(a.shows is Shows.WIPE and a.at > mark.at for a in machine.asked)
    if not mine or wiped or mark.fate is not Fate.DONE:
        return machine
    return machine.with_asked(replace(mark, witness=witness))


def _kept_as(machine: Machine) -> Asked | None:
    """Return the newest call that marked the host as in use or at rest."""
    marks = (a for a in machine.asked if a.shows is Shows.MARK and a.aim in {"claimed", "rested"})
    return max(marks, key=lambda asked: asked.at, default=None)


def came_late(machine: Machine, stage: str) -> bool:
    """Tell whether a host shows a claim that was given up as without effect, or was refused since.

    Its effect came beyond settle: somebody else may have claimed the host meanwhile, and use it.
    """
    claims = (asked for asked in machine.asked if asked.aim == stage == "pending")
    return any(asked.fate in {Fate.LAPSED, Fate.REFUSED} for asked in claims)


def claimed_late(machine: Machine, part: Part) -> bool:
    """Tell whether a host shows a claim of this machine that came late, also once it let go of it.

    Somebody else may have claimed the host meanwhile, and may use it.
    """
    if part.note("stage") != "pending":
        return _came_back(machine, part)
    return came_late(machine, "pending") or machine.fact(f"{LEFT} {part.id}") is not None


def _came_back(machine: Machine, part: Part) -> bool:
    """Tell whether a host bears a tenant's name again of a machine that had given it another since.

    That machine is gone, and its host was wiped and put back: an old rename had its effect now.
    """
    given = any(asked.aim in _LEAVING and asked.fate is Fate.DONE for asked in machine.asked)
    return machine.phase is Phase.GONE and given and part.note("stage") in TENANT


def is_unknown(part: Part, known: Collection[MachineId]) -> bool:
    """Tell whether a host bears the name of a tenant of ours that is not among those known."""
    holder = MachineId(part.note("holder"))
    return bool(holder) and part.note("stage") in TENANT and holder not in known


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
    if asked.shows in HOST_CALLS:
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
        return fate(asked, None, looked, sure_from(asked, seen))
    part = sighting.part
    if asked.shows is Shows.MARK and part.note("holder") != machine.id:
        part = replace(part, notes=())
    return fate(asked, part, seen.view.shown(sighting), sure_from(asked, seen))


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
