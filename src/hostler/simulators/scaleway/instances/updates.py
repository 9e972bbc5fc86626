"""How servers are changed, by PATCH and by PUT: all of a body is read before anything changes."""

from msgspec import Struct

from hostler.simulators.scaleway.api.checks import (
    choice_of,
    flag_of,
    ids_of,
    labels_of,
    object_of,
    text_of,
)
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.catalogue import GB, types_of
from hostler.simulators.scaleway.state.inventory import Cloud, touch
from hostler.simulators.scaleway.state.records import (
    Address,
    PlacementGroup,
    SecurityGroup,
    Server,
    State,
)

from .attachments import Seat, answer, requested_volumes, revolume
from .disks import local_total
from .network import addresses
from .placement import group_of

ADMIN_KEY = "admin_password_encryption_ssh_key_id"
BOOT_TYPES = ("local", "rescue", "bootscript")


class Change(Struct, frozen=True, kw_only=True):
    """What a server shall be after a change. None: its addresses, its volumes stay."""

    labels: tuple[str, list[str]]
    sort: str
    boot_type: str
    protected: bool
    dynamic: bool
    admin_key: str | None
    security: SecurityGroup
    placement: PlacementGroup | None
    ips: list[Address] | None
    volumes: dict[str, Seat] | None


def change_of(cloud: Cloud, call: Call, server: Server) -> Change:
    """Read a body; what it names must exist, or nothing is changed."""
    body = call.body
    return Change(
        labels=labels_of(body, server),
        sort=resized(call, server),
        boot_type=choice_of(body, "boot_type", *BOOT_TYPES) or server.boot_type,
        protected=flag_of(body, "protected", default=server.protected),
        dynamic=flag_of(body, "dynamic_ip_required", default=server.dynamic_ip_required),
        admin_key=text_of(body, ADMIN_KEY) or None if ADMIN_KEY in body else server.admin_key_id,
        security=secured(cloud, call, server),
        placement=group_of(cloud, call, text_of(body, "placement_group"))
        if "placement_group" in body
        else server.placement_group,
        ips=requested_addresses(cloud, call, server),
        volumes=requested_volumes(cloud, call, server),
    )


def update(cloud: Cloud, call: Call) -> Answer:
    """Change what a body names."""
    server = cloud.server(call)
    change = change_of(cloud, call, server)
    server.name, server.tags = change.labels
    server.boot_type, server.protected = change.boot_type, change.protected
    server.dynamic_ip_required, server.admin_key_id = change.dynamic, change.admin_key
    server.security_group, server.placement_group = change.security, change.placement
    recount(cloud, server, change.sort)
    readdress(cloud, server, change.ips)
    revolume(cloud, server, change.volumes)
    touch(cloud, server)
    return answer(cloud, server)


def secured(cloud: Cloud, call: Call, server: Server) -> SecurityGroup:
    """Return the security group that a server gets."""
    chosen = text_of(object_of(call.body, "security_group"), "id")
    if not chosen:
        return server.security_group
    return cloud.find(cloud.groups, call, chosen, "instance_security_group")


def resized(call: Call, server: Server) -> str:
    """Return the commercial type that a server gets; only a stopped one can change.

    Refuses a type of another architecture, and one with less local storage than is attached.
    """
    name = text_of(call.body, "commercial_type") or server.commercial_type
    if name == server.commercial_type:
        return name
    sort = types_of(call.place).get(name) if server.state == State.STOPPED else None
    if sort is None or sort.arch != server.arch or local_total(server) > sort.local * GB:
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
    addresses.check_room(server.name, [address.kind for address in found])
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


def replace(cloud: Cloud, call: Call) -> Answer:
    """Take a whole server body and change what may be changed of it."""
    return update(cloud, call)
