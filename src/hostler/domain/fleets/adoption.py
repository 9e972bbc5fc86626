"""Adopt: are the parts in this fleet's name ours, and which records would explain them?

The engine's first question: until foreign parts under a fleet's name are adopted, nothing is
created for it and nothing of theirs is touched.
"""

from collections.abc import Iterable
from dataclasses import replace

from hostler.domain.ids import InstallationId, MachineId
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import host_of
from hostler.domain.model.machine import Known, Machine, Offer, Origin, Place
from hostler.domain.model.phases import Goal, Phase, Reason
from hostler.domain.model.resource import Condition, Part
from hostler.domain.model.snapshot import Seen, WishKind


def adoptable(seen: Seen) -> tuple[Part, ...]:
    """Return the parts that the adoption wishes of this turn cover."""
    sources = _sources(seen)
    if sources is None:
        return ()
    foreign = tuple(p for p in seen.foreign if p.mark and _from(sources, p.mark.installation))
    return (*foreign, *seen.unexplained)


def _sources(seen: Seen) -> tuple[InstallationId, ...] | None:
    """Return the installations named by adoption wishes; None where nobody wished any."""
    wishes = [wish for wish in seen.wishes if wish.kind is WishKind.ADOPT]
    if not wishes:
        return None
    return tuple(wish.installation for wish in wishes if wish.installation)


def _from(sources: tuple[InstallationId, ...], installation: InstallationId) -> bool:
    return installation in sources


def adopted_installations(parts: Iterable[Part], seen: Seen) -> tuple[InstallationId, ...]:
    """Return the installations whose marks become ours with these parts, in order."""
    marks = {part.mark.installation for part in parts if part.mark is not None}
    return tuple(sorted(marks - set(seen.ours)))


def records_for(parts: tuple[Part, ...], row: FleetRow, seen: Seen) -> tuple[Machine, ...]:
    """Return one record for each machine that these parts name, with every id bound or known.

    A machine with a main part goes on as *starting*, and becomes ready as its server and probe
    say; one without has nothing to go on with, and is cleaned up.
    """
    groups = dict[MachineId, list[Part]]()
    for part in parts:
        if part.mark is not None and part.slot.kind != seen.traits.hosts:
            groups.setdefault(part.mark.machine, []).append(part)
    return tuple(
        _record(machine, tuple(group), row.serial + number, seen)
        for number, (machine, group) in enumerate(sorted(groups.items()), start=1)
    )


def _record(machine: MachineId, parts: tuple[Part, ...], serial: int, seen: Seen) -> Machine:
    main = next((part for part in parts if part.slot == seen.traits.main), None)
    record = Machine(
        id=machine,
        fleet=seen.fleet.name,
        serial=serial,
        created=seen.now,
        since=seen.now,
        phase=Phase.STARTING if main else Phase.STOPPING,
        goal=Goal.PRESENT if main else Goal.ABSENT,
        offer=_offer(main or parts[0], seen),
        reason=str(Reason.ADOPTED),
        template=seen.fleet.template,
        origin=Origin.ADOPTED,
        was_ready=seen.now if main is not None and main.condition is Condition.UP else None,
        host=host_of(main.id) if main is not None and seen.traits.hosts else None,
    )
    for part in sorted(parts, key=lambda part: part.id):
        record = record.with_place(_place(record.place(part.slot), part, seen))
    return record


def _place(place: Place, part: Part, seen: Seen) -> Place:
    attempt = part.mark.attempt if part.mark else 0
    known = Known(id=part.id, zone=part.zone, since=seen.now, attempt=attempt)
    return replace(
        place,
        attempt=max(place.attempt, attempt),
        bound=place.bound or part.id,
        known=(*place.known, known),
    )


def _offer(part: Part, seen: Seen) -> Offer:
    named = part.note("type")
    for offer in seen.fleet.offers:
        if offer.type == named and offer.zone == part.zone:
            return offer
    first = seen.fleet.offers[0]
    return Offer(type=named or first.type, zone=part.zone, image=first.image)
