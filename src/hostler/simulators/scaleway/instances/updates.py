"""How servers are changed: PATCH, PUT, and the attaching and detaching of volumes."""

from hostler.simulators.scaleway.api.bodies import server_wire
from hostler.simulators.scaleway.api.checks import (
    choice_of,
    flag_of,
    ids_of,
    object_of,
    tags_of,
    text_of,
)
from hostler.simulators.scaleway.api.resource import Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Body, Call
from hostler.simulators.scaleway.state.catalogue import types_of
from hostler.simulators.scaleway.state.inventory import Cloud, touch
from hostler.simulators.scaleway.state.records import Address, LocalVolume, Server, State, Volume

from . import lifecycle
from .disks import free_volume, hot_attach
from .network import addresses
from .placement import group_of

PATH = "/instance/v1/zones/*/servers/*"
BOOT_TYPES = ("local", "rescue", "bootscript")


def answer(cloud: Cloud, server: Server) -> Answer:
    """Answer with the server as it is now."""
    return Answer(200, {"server": server_wire(cloud, server)}, subject=server)


def update(cloud: Cloud, call: Call) -> Answer:
    """Change what a body names; other resources that it names must exist, or nothing is changed."""
    server, body = cloud.server(call), call.body
    ips = requested_addresses(cloud, call, server)
    group = group_of(cloud, call, text_of(body, "placement_group"))
    sort = resized(call, server)
    boot_type = choice_of(body, "boot_type", *BOOT_TYPES) or server.boot_type
    security = object_of(body, "security_group").get("id")
    if isinstance(security, str):
        found = cloud.find(cloud.groups, call, security, "instance_security_group")
        server.security_group = found
    if "placement_group" in body:
        server.placement_group = group
    recount(cloud, server, sort)
    server.boot_type = boot_type
    plain(server, body)
    readdress(cloud, server, ips)
    if "volumes" in body:
        revolume(cloud, call, server)
    touch(cloud, server)
    return answer(cloud, server)


def plain(server: Server, body: Body) -> None:
    """Change what needs no look at anything else."""
    server.name = text_of(body, "name") or server.name
    if body.get("tags") is not None:
        server.tags = tags_of(body)
    server.protected = flag_of(body, "protected", default=server.protected)
    server.dynamic_ip_required = flag_of(
        body, "dynamic_ip_required", default=server.dynamic_ip_required
    )


def resized(call: Call, server: Server) -> str:
    """Return the commercial type that a server gets; only a stopped one can change."""
    name = text_of(call.body, "commercial_type") or server.commercial_type
    if name == server.commercial_type:
        return name
    if server.state != State.STOPPED or name not in types_of(call.place):
        raise errors.invalid(("commercial_type", "constraint", "not a valid value"))
    return name


def recount(cloud: Cloud, server: Server, sort: str) -> None:
    """Change the commercial type of a server, in the quotas, too."""
    cloud.count(server.organization, server.commercial_type, -1)
    cloud.count(server.organization, sort, 1)
    server.commercial_type = sort


def requested_addresses(cloud: Cloud, call: Call, server: Server) -> list[Address] | None:
    """Return the addresses that replace those of a server, or None where none are named."""
    if call.body.get("public_ips") is None:
        return None
    ids = ids_of(call.body, "public_ips")
    found = [cloud.find(cloud.addresses, call, one, "instance_ip") for one in ids]
    addresses.check_room(server, found)
    return found


def readdress(cloud: Cloud, server: Server, requested: list[Address] | None) -> None:
    """Replace the addresses of a server."""
    if requested is None:
        return
    for address in list(server.addresses):
        if address not in requested and not address.dynamic:
            addresses.detach(cloud, address)
    for address in requested:
        addresses.move(cloud, address, server)


def revolume(cloud: Cloud, call: Call, server: Server) -> None:
    """Replace the volumes of a server by those that a body names by id."""
    templates = object_of(call.body, "volumes")
    requested = {slot: text_of(object_of(templates, slot), "id") for slot in templates}
    for slot, volume in list(server.volumes.items()):
        if volume.id not in requested.values():
            take_out(cloud, server, slot, volume)
    held = {volume.id for volume in server.volumes.values()}
    for slot, volume_id in requested.items():
        if volume_id not in held:
            hot_attach(cloud, server, slot, free_volume(cloud, call, volume_id))


def replace(cloud: Cloud, call: Call) -> Answer:
    """Take a whole server body and change what may be changed of it."""
    return update(cloud, call)


def attach_volume(cloud: Cloud, call: Call) -> Answer:
    """Attach a free volume; one that is still being created is refused for now."""
    server = cloud.server(call)
    volume = free_volume(cloud, call, text_of(call.body, "volume_id"))
    if not isinstance(volume, LocalVolume) and volume.status != "available":
        raise errors.transient("volume", volume.id, volume.status)
    slot = next(str(number) for number in range(99) if str(number) not in server.volumes)
    server.boot_slots[slot] = flag_of(call.body, "boot", default=False)
    hot_attach(cloud, server, slot, volume)
    touch(cloud, server)
    return answer(cloud, server)


def detach_volume(cloud: Cloud, call: Call) -> Answer:
    """Detach a volume: the server has it no more at once, Block Storage may take a minute."""
    server, volume_id = cloud.server(call), text_of(call.body, "volume_id")
    for slot, volume in server.volumes.items():
        if volume.id == volume_id:
            take_out(cloud, server, slot, volume)
            return answer(cloud, server)
    words = f"Volume {volume_id} is not attached to this server"
    raise errors.invalid(("volume_id", "constraint", words))


def take_out(cloud: Cloud, server: Server, slot: str, volume: Volume) -> None:
    """Take a volume out of a slot."""
    if isinstance(volume, LocalVolume) and server.state != State.STOPPED:
        raise errors.precondition(
            cloud.generation(), "resource_not_usable", "server should be stopped"
        )
    lifecycle.free(cloud, volume, "now" if server.state == State.STOPPED else "detach.hot")
    del server.volumes[slot]
    touch(cloud, server)


ROUTES = (
    Route("server.attach_volume", "POST", PATH + "/attach-volume", attach_volume),
    Route("server.detach_volume", "POST", PATH + "/detach-volume", detach_volume),
)
