"""What truly exists in the world, and who owns it by its tags or its name."""

from hostler.domain.ids import ResourceId, Zone
from hostler.domain.model.machine import Machine
from hostler.domain.model.resource import OwnerTag, Slot
from hostler.lab.scaleway.owner_tags import Owned, owned_by
from hostler.simulators.scaleway.state.records import Address, Server, State
from hostler.simulators.scaleway.world import World
from hostler.testing.invariants import Thing

from .address_pool import AddressPool, bare, recorded_id


def things_in(world: World, pool: AddressPool | None = None) -> list[tuple[Thing, Zone]]:
    """Return every billable thing that truly exists, with its zone; `pool` is one that is kept."""
    cloud = world.cloud
    found = list[tuple[Thing, Zone]]()
    owner_tags = dict[str, OwnerTag | None]()
    for server in cloud.servers:
        claim = claim_on(server)
        owner_tags[server.id] = claim.owner_tag if claim else None
        thing = Thing(
            id=ResourceId(server.id),
            kind="server",
            created=server.created,
            owner_tag=owner_tags[server.id],
            slot=claim.slot if claim else None,
        )
        found.append((thing, Zone(server.zone)))
    for kind, shelf in (
        ("address", cloud.addresses),
        ("volume", cloud.volumes),
        ("volume", cloud.locals),
    ):
        for item in shelf:
            owner = item.server.id if item.server is not None else None
            claim = owned_by(tuple(item.tags), item.name, kind)
            address = item if isinstance(item, Address) else None
            tag = claim.owner_tag if claim else owner_tags.get(owner or "")
            pooled = pool is not None and item.id in pool.stands
            id_ = recorded_id(address, tag, pooled=pooled) if address else ResourceId(item.id)
            thing = Thing(
                id=id_,
                kind=kind,
                created=pool.since(address) if pool and address else item.created,
                owner_tag=tag,
                slot=claim.slot if claim else None,
                owner=ResourceId(owner) if owner else None,
            )
            found.append((thing, Zone(item.zone)))
    return found


def claim_on(server: Server) -> Owned | None:
    """Return whose a server is: by its tags, or where somebody took them away, by its names."""
    return owned_by(tuple(server.tags), server.name, "server") or _by_root(server)


def _by_root(server: Server) -> Owned | None:
    """Return what a server's root volume says, where the server's own name says the same."""
    root = server.volumes.get("0")
    claim = owned_by((), root.name, "volume") if root is not None else None
    if claim is None or server.name != f"{claim.owner_tag.fleet}-{claim.owner_tag.machine}":
        return None
    return Owned(claim.owner_tag, Slot("server"))


def is_of(thing: Thing, machine: Machine) -> bool:
    """Tell whether a thing belongs to a machine, by its tag or by the record."""
    bound = any(known.id == thing.id for place in machine.places for known in place.known)
    return bound or (thing.owner_tag is not None and thing.owner_tag.machine == machine.id)


def is_healthy(world: World, machine: Machine) -> bool:
    """Tell whether everything that the record binds is there, and its server is up."""
    cloud = world.cloud
    bound = {bare(place.bound): place.slot.kind for place in machine.places if place.bound}
    servers = [cloud.servers.get(resource) for resource, kind in bound.items() if kind == "server"]
    shelves = (cloud.servers, cloud.addresses, cloud.volumes, cloud.locals)
    there = all(any(shelf.get(resource) for shelf in shelves) for resource in bound)
    return (
        there
        and _has_taken(world, machine)
        and bool(servers)
        and all(s is not None and _up(s) for s in servers)
    )


def _has_taken(world: World, machine: Machine) -> bool:
    """Tell whether each address that was taken from a pool is still this machine's by its tags."""
    taken = (place.bound for place in machine.places if place.bound and "@" in place.bound)
    found = (world.cloud.addresses.get(bare(resource)) for resource in taken)
    owners = [owned_by(tuple(a.tags), "", "address") if a is not None else None for a in found]
    return all(one is not None and one.owner_tag.machine == machine.id for one in owners)


def _up(server: Server) -> bool:
    return server.state == State.RUNNING and server.guest_up
