"""Ownership: which resources in a fleet's name are ours, late, unexplained, unissued or foreign?

An id or an attempt is on record before any call bears it. What carries our owner tag with another
one was made by a store that is newer than ours, or its twin: it is somebody's, and healthy.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import FleetName, InstallationId, MachineId, ResourceId
from hostler.domain.model.calls import Shows
from hostler.domain.model.inventory import Inventory
from hostler.domain.model.machine import Machine
from hostler.domain.model.resource import OrphanClass, OwnerTag, Resource


class Sorted(Struct, frozen=True, kw_only=True):
    """The resources under a fleet's name that no living record of it explains.

    `strangers` carry our owner tag and the id of a machine that is not among the living: `explain`
    says by the history what they are.
    """

    foreign: tuple[Resource, ...] = ()
    strangers: tuple[Resource, ...] = ()


class Explained(Struct, frozen=True, kw_only=True):
    """What strangers are: `late` are the machines of the history that some of them belong to.

    `removing` are those no record explains and that calls under way remove; `ended` the machines of
    the history for which another store made some of the `unissued`.
    """

    late: tuple[Machine, ...] = ()
    unexplained: tuple[Resource, ...] = ()
    removing: tuple[Resource, ...] = ()
    unissued: tuple[Resource, ...] = ()
    ended: tuple[Machine, ...] = ()


def explain(
    strangers: Iterable[Resource],
    past: Mapping[MachineId, Machine],
    issued: Collection[MachineId],
    moving: Collection[MachineId] = (),
) -> Explained:
    """Return what strangers are, by the history and by the ids that our store once issued.

    Calls are in flight for those `moving`: a machine that just ended, or what is being removed.
    """
    late, unexplained, unissued = dict[MachineId, Machine](), list[Resource](), list[Resource]()
    removing, ended = list[Resource](), dict[MachineId, Machine]()
    for resource in strangers:
        if (tag := resource.owner_tag) is None:
            continue
        machine = past.get(tag.machine)
        if tag.machine in moving:
            if machine is None and tag.machine in issued:
                removing.append(resource)
        elif machine is None:
            (unexplained if tag.machine in issued else unissued).append(resource)
        elif is_unissued(machine, resource):
            unissued.append(resource)
            ended[machine.id] = machine
        else:
            late[machine.id] = machine
    return Explained(
        late=tuple(late.values()),
        unexplained=tuple(unexplained),
        removing=tuple(removing),
        unissued=tuple(unissued),
        ended=tuple(ended.values()),
    )


def is_unissued(machine: Machine, resource: Resource) -> bool:
    """Tell whether a resource bears a machine's id, and an attempt that its record never made.

    What comes along with another resource, as volumes with their server, bears that one's attempt.
    What was asked for by itself bears its own: an address may have been tried more often by then
    than a server.
    """
    if resource.owner_tag is None or resource.owner_tag.attempt == 0:
        return False
    attempt, slot = resource.owner_tag.attempt, resource.slot
    alone = any(a.slot == slot and a.shows is Shows.RESOURCE for a in machine.asked)
    places = (machine.place(slot),) if alone else machine.places
    if any(place.attempt >= attempt for place in places):
        return False
    return resource.id not in machine.ids()


def sort_out(
    inventory: Inventory,
    names: frozenset[FleetName],
    living: Collection[MachineId],
    bound: Callable[[], Collection[ResourceId]],
    ours: Collection[InstallationId],
) -> Sorted:
    """Return what in the inventory carries the fleet's name and is explained by no living record.

    `names` are its own, and those of the fleets that it took over. `bound` is asked for the ids in
    living records only where there is a resource to compare with them.
    """
    foreign, strangers = list[Resource](), list[Resource]()
    candidates = tuple(_tagged_for(inventory, names, living))
    explained = bound() if candidates else ()
    for resource in candidates:
        if resource.id in explained or resource.owner_tag is None:
            continue
        (strangers if resource.owner_tag.installation in ours else foreign).append(resource)
    key = _by_place
    return Sorted(
        foreign=tuple(sorted(foreign, key=key)), strangers=tuple(sorted(strangers, key=key))
    )


def fleetless(
    inventory: Inventory,
    names: Collection[FleetName],
    living: Mapping[MachineId, Machine],
    ours: Collection[InstallationId],
) -> Iterator[Resource]:
    """Yield what carries our owner tag, and names a fleet that is none of these.

    A store that was put back knows nothing of fleets that came later, nor does the file of fleets
    that left it; what they have is billed all the same.
    """
    for machine in inventory.tagged.keys() - living.keys():
        for resource_id in inventory.tagged[machine]:
            resource = _with_owners_tag(inventory, resource_id)
            tag = resource.owner_tag
            if tag is not None and tag.installation in ours and tag.fleet not in names:
                yield replace(resource, orphan=OrphanClass.NO_FLEET)


def partly_tagged(
    inventory: Inventory,
    machines: Iterable[Machine],
    ours: Collection[InstallationId],
) -> Iterator[Resource]:
    """Yield what carries a part of our owner tag, or hangs on what does, and is on no record.

    Nobody can say which machine's it is, and it is billed all the same. Its owner tag is as much as
    can be read: no machine, and mostly a fleet.
    """
    bound = bound_in(machines) if inventory.partial else frozenset[ResourceId]()
    for resource_id in inventory.partial:
        resource = inventory.sightings[resource_id].resource
        owner = inventory.resource(resource.owner) if resource.owner else None
        part = resource.partial_tag or (owner.partial_tag if owner else None)
        own = [one for one in part.installations if one in ours] if part else []
        if part is not None and own and resource_id not in bound:
            fleet = part.fleet or FleetName("")
            tag = OwnerTag(installation=own[0], fleet=fleet, machine=MachineId(""), attempt=0)
            yield replace(resource, owner_tag=tag, orphan=OrphanClass.PARTIAL_TAG)


def bound_in(machines: Iterable[Machine]) -> frozenset[ResourceId]:
    """Return every id that is or was some machine's and is not confirmed gone."""
    return frozenset(resource for machine in machines for resource in machine.ids())


class Owners:
    """Tells on which living machine's record a resource is; that is looked up when first asked."""

    def __init__(self, machines: Iterable[Machine]) -> None:
        self._machines = machines
        self._owners: dict[ResourceId, MachineId] | None = None

    def __call__(self, resource: ResourceId) -> MachineId | None:
        """Return its owner; None where it is on nobody's record."""
        if self._owners is None:
            self._owners = {id_: one.id for one in self._machines for id_ in one.ids()}
        return self._owners.get(resource)


def _by_place(resource: Resource) -> tuple[str, str]:
    return (str(resource.slot), resource.id)


def _tagged_for(
    inventory: Inventory, names: frozenset[FleetName], living: Collection[MachineId]
) -> Iterator[Resource]:
    for machine, ids in inventory.tagged.items():
        if machine in living:
            continue
        for resource_id in ids:
            resource = _with_owners_tag(inventory, resource_id)
            if resource.owner_tag is not None and resource.owner_tag.fleet in names:
                yield resource


def _with_owners_tag(inventory: Inventory, resource_id: ResourceId) -> Resource:
    resource = inventory.sightings[resource_id].resource
    if resource.owner_tag is not None or resource.owner is None:
        return resource
    owner = inventory.resource(resource.owner)
    owner_tag = owner.owner_tag if owner is not None else None
    return replace(resource, owner_tag=owner_tag)
