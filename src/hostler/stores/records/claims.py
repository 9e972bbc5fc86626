"""Claims: the ids that a living machine has and no other may have."""

from hostler.domain.ids import ResourceId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase


def claims(machine: Machine) -> tuple[ResourceId, ...]:
    """Return the ids that no other living machine may have; what is deleted claims nothing."""
    if machine.phase is Phase.DELETED:
        return ()
    deleted = {known.id for place in machine.places for known in place.known if known.deleted}
    bound = (place.bound for place in machine.places if place.bound is not None)
    ids = (*machine.ids(), *(resource for resource in bound if resource not in deleted))
    return tuple(dict.fromkeys(ids))
