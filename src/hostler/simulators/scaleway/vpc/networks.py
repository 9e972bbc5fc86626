"""Private networks and their subnets: made, shown, changed, and deleted once they are empty.

An id that nobody made names a network that was there before, but for that of zeros alone.
"""

from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network

from hostler.simulators.scaleway.api.checks import (
    flag_of,
    id_of,
    labels_of,
    net_of,
    owner_of,
    tags_of,
    text_of,
    texts_of,
)
from hostler.simulators.scaleway.api.pages import NEWER, arranged, page_of
from hostler.simulators.scaleway.api.resource import Resource, Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call, checked_id
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.network_records import PrivateNetwork, Vpc
from hostler.simulators.scaleway.state.record import Owner

from .vpcs import REGION, default_vpc

PATH = f"{REGION}/private-networks"
RESOURCE = "private_network"
FIRST4 = int(IPv4Network("10.0.0.0/8").network_address)
FIRST6 = int(IPv6Network("fd5f:519c:6d46::/48").network_address)
LENGTHS = (20, 29)  # of the prefix of an IPv4 subnet


def network_of(cloud: Cloud, owner: Owner, network_id: str) -> PrivateNetwork:
    """Return the network that a card names; refuse one that was deleted, and that of zeros."""
    region = owner.zone.rsplit("-", 1)[0] if owner.zone[-1:].isdecimal() else owner.zone
    checked_id("private_network_id", network_id)
    found = cloud.private_networks.get(network_id)
    if found is None and network_id not in cloud.deleted_networks:
        found = old_network(cloud, Owner(region, owner.organization, owner.project), network_id)
    if found is None or (found.zone, found.organization) != (region, owner.organization):
        raise errors.not_found(RESOURCE, network_id)
    return found


def old_network(cloud: Cloud, owner: Owner, network_id: str) -> PrivateNetwork:
    """Let a network be known that was there before the world began."""
    network = new_network(cloud, default_vpc(cloud, owner), owner)
    network.id, network.name = network_id, f"network {network_id[:8]}"
    cloud.private_networks.put(network)
    return network


def new_network(cloud: Cloud, vpc: Vpc, owner: Owner) -> PrivateNetwork:
    """Return a network that is in no list yet, with subnets of its own."""
    number = cloud.networks.subnet()
    return PrivateNetwork(
        **cloud.born(owner),
        name="",
        vpc=vpc,
        net4=IPv4Network((FIRST4 + (number << 10), 22)),
        net6=IPv6Network((FIRST6 + (number << 64), 64)),
        subnets=(cloud.new_id(), cloud.new_id()),
    )


def body_of(cloud: Cloud, network: PrivateNetwork) -> dict[str, object]:
    """Return the body of a network."""
    return {
        "id": network.id,
        "name": network.name,
        "organization_id": network.organization,
        "project_id": network.project,
        "region": network.zone,
        "tags": network.tags,
        "created_at": cloud.zulu(network.created),
        "updated_at": cloud.zulu(network.modified),
        "subnets": subnets_of(cloud, network),
        "vpc_id": network.vpc.id,
        "dhcp_enabled": network.dhcp,
        "default_route_propagation_enabled": network.default_route,
        "has_s3_integration": False,
    }


def subnets_of(cloud: Cloud, network: PrivateNetwork) -> list[dict[str, object]]:
    """Return the bodies of a network's subnets, IPv4 first."""
    shared: dict[str, object] = {
        "created_at": cloud.zulu(network.created),
        "updated_at": cloud.zulu(network.modified),
        "project_id": network.project,
        "private_network_id": network.id,
        "vpc_id": network.vpc.id,
        "region": network.zone,
    }
    nets = (network.net4, network.net6)
    return [
        {"id": subnet, "subnet": str(net), **shared}
        for subnet, net in zip(network.subnets, nets, strict=True)
    ]


def filter_of(call: Call) -> Callable[[PrivateNetwork], bool]:
    """Return the filter that a query asks for; all of the tags must be there."""
    name, tags, ids = call.text("name"), call.texts("tags"), call.ids("private_network_ids")
    project, vpc, dhcp = call.id("project_id"), call.id("vpc_id"), call.flag("dhcp_enabled")
    organization, storage = call.id("organization_id"), call.flag("s3_integration_enabled")
    return lambda network: (
        name in network.name
        and all(tag in network.tags for tag in tags)
        and (not ids or network.id in ids)
        and project in ("", network.project)
        and organization in ("", network.organization)
        and vpc in ("", network.vpc.id)
        and dhcp in ("", "true" if network.dhcp else "false")
        and storage in ("", "false")
    )


NETWORKS: Resource[PrivateNetwork] = Resource(
    stored=lambda cloud: cloud.private_networks,
    name=RESOURCE,
    body=body_of,
    style=NEWER.of("private_networks"),
    keep=filter_of,
)


def asked_network(cloud: Cloud, call: Call) -> PrivateNetwork:
    """Return the network that a path names."""
    owner = Owner(call.place, call.organization, call.project)
    return network_of(cloud, owner, call.names[0])


def create(cloud: Cloud, call: Call) -> Answer:
    """Make a network with two subnets, whichever were asked for."""
    body, owner = call.body, owner_of(call)
    vpc_id = id_of(body, "vpc_id")
    vpc = cloud.find(cloud.vpcs, call, vpc_id, "vpc") if vpc_id else default_vpc(cloud, owner)
    asked = [subnet_of(text) for text in texts_of(body, "subnets")]
    if len({net.version for net in asked}) < len(asked):
        raise errors.invalid(("subnets", "constraint", "there is one subnet of each family"))
    network = new_network(cloud, vpc, owner)
    for net in asked:
        if isinstance(net, IPv4Network):
            network.net4 = net
        else:
            network.net6 = net
    network.name = text_of(body, "name") or f"pn-{network.id[:8]}"
    network.tags = tags_of(body)
    network.default_route = flag_of(body, "default_route_propagation_enabled", default=False)
    cloud.private_networks.put(network)
    cloud.ledger.open(RESOURCE, network, 0.0, cloud.now)
    return NETWORKS.answer(cloud, network)


def subnet_of(text: str) -> IPv4Network | IPv6Network:
    """Read a subnet; refuse what is none, and sizes that there are not."""
    net = net_of("subnets", text)
    least, most = LENGTHS if net.version == 4 else (64, 64)
    if not least <= net.prefixlen <= most:
        words = f"the prefix must have a length from {least} to {most}"
        raise errors.invalid(("subnets", "constraint", words))
    return net


def get(cloud: Cloud, call: Call) -> Answer:
    """Show a network."""
    return NETWORKS.answer(cloud, asked_network(cloud, call))


def update(cloud: Cloud, call: Call) -> Answer:
    """Change a network."""
    network, body = asked_network(cloud, call), call.body
    route = flag_of(body, "default_route_propagation_enabled", default=network.default_route)
    network.name, network.tags = labels_of(body, network)
    network.default_route, network.modified = route, cloud.now
    return NETWORKS.answer(cloud, network)


def enable_dhcp(cloud: Cloud, call: Call) -> Answer:
    """Let a network hand out addresses; all do already."""
    return NETWORKS.answer(cloud, asked_network(cloud, call))


def delete(cloud: Cloud, call: Call) -> Answer:
    """Delete a network that nothing is in, and in which nothing is booked."""
    network = asked_network(cloud, call)
    if any(ip.network is network for ip in cloud.private_ips):
        raise errors.still_in_use("Private Network must be empty to be deleted")
    cloud.deleted_networks.add(network.id)
    return NETWORKS.drop(cloud, network)


def subnet_list(cloud: Cloud, call: Call) -> Answer:
    """List the subnets of a region."""
    ids, vpc = call.ids("subnet_ids"), call.id("vpc_id")
    project, organization = call.id("project_id"), call.id("organization_id")
    found = [
        subnet
        for network in cloud.private_networks.within(call.place)
        if network.organization == call.organization and vpc in ("", network.vpc.id)
        if project in ("", network.project) and organization in ("", network.organization)
        for subnet in subnets_of(cloud, network)
        if not ids or subnet["id"] in ids
    ]
    found = arranged(call, found, {"created_at": lambda subnet: str(subnet["created_at"])})
    return page_of(cloud, call, found, lambda subnet: subnet, NEWER.of("subnets"))


ROUTES = (
    *NETWORKS.routes("network", PATH, create=create, get=get, update=update, delete=delete),
    Route("network.enable_dhcp", "POST", f"{PATH}/*/enable-dhcp", enable_dhcp),
    Route("subnet.list", "GET", f"{REGION}/subnets", subnet_list),
)
