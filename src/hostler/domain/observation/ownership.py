"""Ownership: which resources in a fleet's name are ours, late, unexplained, or foreign?"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from hostler.domain.ids import FleetName, InstallationId, MachineId, ResourceId
from hostler.domain.model.inventory import Inventory
from hostler.domain.model.machine import Machine
from hostler.domain.model.resource import Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """The resources under a fleet's name that no living record of it explains.

    `strangers` carry our owner tag and the id of a machine that is not among the living: the caller
    asks the history which of them are `late`, and which are unexplained.
    """

    foreign: tuple[Resource, ...] = ()
    strangers: tuple[Resource, ...] = ()

    def machines(self) -> tuple[MachineId, ...]:
        """Return the machines that strangers name, in order."""
        return tuple(
            sorted(
                {resource.owner_tag.machine for resource in self.strangers if resource.owner_tag}
            )
        )


def sort_out(
    inventory: Inventory,
    fleet: FleetName,
    living: Collection[MachineId],
    bound: Callable[[], Collection[ResourceId]],
    ours: Collection[InstallationId],
) -> Sorted:
    """Return what in the inventory carries this fleet's name and is explained by no living record.

    `bound` is asked for the ids in living records only where there is a resource to compare with
    them.
    """
    foreign, strangers = list[Resource](), list[Resource]()
    candidates = tuple(_tagged_for(inventory, fleet, living))
    explained = bound() if candidates else ()
    for resource in candidates:
        if resource.id in explained or resource.owner_tag is None:
            continue
        (strangers if resource.owner_tag.installation in ours else foreign).append(resource)
    key = _by_place
    return Sorted(
        foreign=tuple(sorted(foreign, key=key)), strangers=tuple(sorted(strangers, key=key))
    )


def bound_in(machines: Iterable[Machine]) -> frozenset[ResourceId]:
    """Return every id that is or was some machine's and is not confirmed gone."""
    return frozenset(resource for machine in machines for resource in machine.ids())


def _by_place(resource: Resource) -> tuple[str, str]:
    return (str(resource.slot), resource.id)


def _tagged_for(
    inventory: Inventory, fleet: FleetName, living: Collection[MachineId]
) -> Iterator[Resource]:
    for machine, ids in inventory.tagged.items():
        if machine in living:
            continue
        for resource_id in ids:
            resource = _with_owners_tag(inventory, resource_id)
            if resource.owner_tag is not None and resource.owner_tag.fleet == fleet:
                yield resource


def _with_owners_tag(inventory: Inventory, resource_id: ResourceId) -> Resource:
    resource = inventory.sightings[resource_id].resource
    if resource.owner_tag is not None or resource.owner is None:
        return resource
    owner = inventory.resource(resource.owner)
    owner_tag = owner.owner_tag if owner is not None else None
    return replace(resource, owner_tag=owner_tag)
