"""Binding: which id of a slot is the machine's, and which are surplus and may go?"""

from collections.abc import Iterable

from msgspec.structs import replace

from hostler.domain.ids import ResourceId
from hostler.domain.model.host import host_of
from hostler.domain.model.machine import Known, Machine, Place
from hostler.domain.model.snapshot import Snapshot


def bind(machine: Machine, snapshot: Snapshot) -> Machine:
    """Bind each slot that has none to its lowest living id: the oldest attempt, the lowest id."""
    after = machine
    for place in machine.places:
        if place.bound is None:
            living = _living(machine, place, snapshot)
            if living:
                after = after.with_place(replace(place, bound=living[0].id))
    return _bind_held(after, snapshot)


def _living(machine: Machine, place: Place, snapshot: Snapshot) -> list[Known]:
    """Return the ids of a slot that nothing says are gone, the lowest first."""
    return by_id(
        known
        for known in place.known
        if not known.deleted and known.absent is None and is_at_home(machine, known, snapshot)
    )


def _bind_held(machine: Machine, snapshot: Snapshot) -> Machine:
    """Bind what the machine's main resource holds rather than what hangs on something else.

    A volume can outlive the server that it was made with, and be bound before the next server is
    made, with a volume of its own. Once the machine was ready, whatever is bound stays.
    """
    main = machine.bound(snapshot.capabilities.main)
    if main is None or machine.health.was_ready is not None:
        return machine
    after = machine
    for place in machine.places:
        if len(place.known) > 1 and not _holds(main, place.bound, snapshot):
            living = _living(machine, place, snapshot)
            held = next((known.id for known in living if _holds(main, known.id, snapshot)), None)
            if held is not None:
                after = after.with_place(replace(place, bound=held))
    return after


def _holds(main: ResourceId, resource: ResourceId | None, snapshot: Snapshot) -> bool:
    sighting = snapshot.inventory.sightings.get(resource) if resource is not None else None
    return sighting is not None and sighting.resource.owner == main


def is_at_home(machine: Machine, known: Known, snapshot: Snapshot) -> bool:
    """Tell whether an id is of the host that the machine has; one without any has no allocation."""
    return not snapshot.capabilities.hosts or host_of(known.id) == machine.host


def by_id(known: Iterable[Known]) -> list[Known]:
    """Return ids in their order: the oldest attempt first, and of one attempt the lowest id."""
    return sorted(known, key=lambda entry: (entry.attempt, entry.id))
