"""Servers: made, listed, shown and deleted, as `/instance/v1/…/servers` does it."""

from collections.abc import Callable
from functools import partial

from hostler.simulators.scaleway.api.bodies import server_wire
from hostler.simulators.scaleway.api.checks import (
    check_quota,
    choice_of,
    flag_of,
    id_of,
    ids_of,
    owner_of,
    tags_of,
    text_of,
)
from hostler.simulators.scaleway.api.pages import INSTANCE, listing, matching, page_of
from hostler.simulators.scaleway.api.resource import Route, location
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.catalogue import ServerType, types_of
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.records import Address, Image, Server, State

from . import lifecycle
from .disks import disks_of, furnish
from .images import resolve
from .network import addresses
from .network.groups import default_group
from .placement import group_of
from .updates import BOOT_TYPES, replace, update

PATH = "/instance/v1/zones/*/servers"
ORDERS = tuple(
    f"{field}_{way}" for field in ("creation_date", "modification_date") for way in ("desc", "asc")
)
REQUIRED = ("commercial_type", "image", "volumes")


def create(cloud: Cloud, call: Call) -> Answer:
    """Make a server: it is stopped, its volumes and addresses are attached, its guest is empty."""
    check_required(call)
    sort = type_of(call)
    image = resolve(cloud, call, sort)
    disks = disks_of(cloud, call, image, sort)
    ips = addresses_of(cloud, call)
    organization = owner_of(call).organization
    check_stock(cloud, call, sort)
    check_quota(cloud, organization, sort.name, cloud.options.quotas.get(sort.name))
    server = new_server(cloud, call, sort, image)
    cloud.servers.put(server)
    cloud.newborn.append(server)
    cloud.count(organization, sort.name, 1)
    cloud.ledger.open("server", server, 0.0, cloud.now)
    furnish(cloud, server, disks)
    for address in ips:
        addresses.attach(cloud, address, server)
    body = {"server": server_wire(cloud, server)}
    return Answer(201, body, location(call, server.id), subject=server)


def check_required(call: Call) -> None:
    """Refuse a body that says neither which type nor what to boot from."""
    missing = [name for name in REQUIRED if not call.body.get(name)]
    if "commercial_type" in missing or {"image", "volumes"} <= set(missing):
        raise errors.invalid(*((name, "required", "required key not provided") for name in missing))


def type_of(call: Call) -> ServerType:
    """Return the commercial type that a body names, if its zone has it."""
    name = text_of(call.body, "commercial_type")
    sort = types_of(call.place).get(name)
    if sort is None:
        words = f"commercial type {name} is not available in {call.place}"
        raise errors.invalid(("commercial_type", "constraint", words))
    return sort


def addresses_of(cloud: Cloud, call: Call) -> list[Address]:
    """Return the addresses that a body names; each must be free."""
    ids = ids_of(call.body, "public_ips")
    if old := id_of(call.body, "public_ip"):
        ids = [*ids, old]
    if len(set(ids)) < len(ids):
        raise errors.invalid(("public_ips", "constraint", "an IP is named twice"))
    found = [cloud.find(cloud.addresses, call, one, "instance_ip") for one in ids]
    if any(address.server for address in found):
        raise errors.invalid(("public_ips", "constraint", "an IP is attached to another server"))
    addresses.check_room(text_of(call.body, "name"), [address.kind for address in found])
    return found


def check_stock(cloud: Cloud, call: Call, sort: ServerType) -> None:
    """Refuse a type of which there is none left, where that is said at creation."""
    short = cloud.availability(call.place, sort.name) == "shortage"
    if short and cloud.options.shortage == "create":
        raise errors.out_of_stock(cloud.generation(), sort.name)


def new_server(cloud: Cloud, call: Call, sort: ServerType, image: Image | None) -> Server:
    """Return a stopped server with what its body says of itself."""
    body = call.body
    owner = owner_of(call)
    born = cloud.born(owner)
    name = text_of(body, "name") or f"srv-{born['id'][:8]}"
    chosen = text_of(body, "security_group")
    group = (
        cloud.find(cloud.groups, call, chosen, "instance_security_group")
        if chosen
        else default_group(cloud, owner)
    )
    return Server(
        **born,
        name=name,
        listed_from=cloud.listed_from(),
        tags=tags_of(body),
        commercial_type=sort.name,
        arch=sort.arch,
        image=image,
        hostname=name.replace(" ", "-").lower(),
        mac=cloud.networks.card(),
        security_group=group,
        placement_group=group_of(cloud, call, text_of(body, "placement_group")),
        boot_type=choice_of(body, "boot_type", *BOOT_TYPES) or "local",
        protected=flag_of(body, "protected", default=False),
        dynamic_ip_required=flag_of(body, "dynamic_ip_required", default=True),
        admin_key_id=text_of(body, "admin_password_encryption_ssh_key_id") or None,
    )


def get(cloud: Cloud, call: Call) -> Answer:
    """Show a server."""
    server = cloud.server(call)
    return Answer(200, {"server": server_wire(cloud, server)}, subject=server)


def list_all(cloud: Cloud, call: Call) -> Answer:
    """List servers, the newest first unless another order is asked for."""
    order = call.choice("order", *ORDERS) or ORDERS[0]
    keep = filter_of(call)
    newest = order.endswith("_desc")
    items = listing(cloud, call, cloud.servers, keep, newest_first=newest)
    if order.startswith("modification_date"):
        items.sort(key=lambda server: server.modified, reverse=newest)
    return page_of(cloud, call, items, partial(server_wire, cloud), INSTANCE.of("servers"))


def filter_of(call: Call) -> Callable[[Server], bool]:
    """Return the filter that a query asks for."""
    if not any(key not in ("order", "page", "per_page") for key, _ in call.request.query):
        return lambda _: True
    basics, tests = matching(call), special(call)

    def keep(server: Server) -> bool:
        return basics(server) and all(test(server) for test in tests)

    return keep


def special(call: Call) -> list[Callable[[Server], bool]]:
    """Return the filters that only servers have."""
    tests: list[Callable[[Server], bool]] = []
    if state := call.text("state"):
        tests.append(lambda server: server.state == state)
    if sort := call.text("commercial_type"):
        tests.append(lambda server: server.commercial_type == sort)
    if ids := call.ids("servers"):
        tests.append(lambda server: server.id in ids)
    if ip := call.text("with_ip"):
        tests.append(lambda server: any(address.ip == ip for address in server.addresses))
    if call.flag("without_ip") == "true":
        tests.append(lambda server: not server.addresses)
    if networks := call.ids("private_networks") or call.ids("private_network"):
        tests.append(partial(in_network, networks))
    if mac := call.text("private_nic_mac_address"):
        tests.append(lambda server: any(nic.mac == mac for nic in server.nics.values()))
    return tests


def in_network(networks: list[str], server: Server) -> bool:
    """Tell if a server has a card in one of the networks."""
    return any(nic.network_id in networks for nic in server.nics.values())


def delete(cloud: Cloud, call: Call) -> Answer:
    """Delete a stopped server at once, protected or not; any other is refused."""
    server = cloud.server(call)
    if server.state == State.LOCKED:
        raise errors.locked("instance_server", server.id)
    if server.state != State.STOPPED:
        words = "instance should be powered off"
        raise errors.precondition(cloud.generation(), "resource_still_in_use", words)
    lifecycle.delete(cloud, server)
    return Answer(204, subject=server)


ROUTES = (
    Route("server.list", "GET", PATH, list_all),
    Route("server.create", "POST", PATH, create),
    Route("server.get", "GET", PATH + "/*", get),
    Route("server.update", "PATCH", PATH + "/*", update),
    Route("server.replace", "PUT", PATH + "/*", replace),
    Route("server.delete", "DELETE", PATH + "/*", delete),
)
