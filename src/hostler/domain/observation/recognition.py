"""Recognition: what a machine took from a pool, once somebody took away the tags that say so.

A provider tells an allocation by its tags. Without them the record still knows it: the same thing
hangs on the machine that is on record to have taken it.
"""

from collections.abc import Callable

from msgspec.structs import replace

from hostler.domain.ids import MachineId, ResourceId
from hostler.domain.model.resource import Observation, Resource, taken_id

OwnerOf = Callable[[ResourceId], MachineId | None]
"""Tells on which living machine's record a resource is."""


def is_unnamed(resource: Resource) -> bool:
    """Tell whether a resource hangs on something, and says nothing of whose it is."""
    return resource.owner_tag is None and resource.owner is not None


def recognize(observation: Observation, owner_of: OwnerOf) -> Observation:
    """Return an observation in which a machine's allocations go by their ids, tagged or not."""
    found = tuple(_recognized(resource, owner_of) for resource in observation.resources)
    return replace(observation, resources=found)


def _recognized(resource: Resource, owner_of: OwnerOf) -> Resource:
    if resource.owner is None or not is_unnamed(resource):
        return resource
    machine = owner_of(resource.owner)
    if machine is None:
        return resource
    taken = taken_id(resource.id, machine)
    return replace(resource, id=taken) if owner_of(taken) == machine else resource
