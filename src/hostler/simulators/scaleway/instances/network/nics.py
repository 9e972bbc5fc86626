"""Private networks, servers' cards in them, and addresses in IPAM, which come a little later."""

from collections.abc import Callable
from functools import partial

from hostler.simulators.scaleway.api.bodies import nic_body
from hostler.simulators.scaleway.api.checks import tags_of, text_of
from hostler.simulators.scaleway.api.pages import INSTANCE, NEWER, page_of
from hostler.simulators.scaleway.api.resource import Resource, Route, routes
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.inventory import Cloud, touch
from hostler.simulators.scaleway.state.mac_records import Attachment
from hostler.simulators.scaleway.state.records import Nic, Server

PATH = "/instance/v1/zones/*/servers/*/private_nics"
MOST = 8
MAC_NIC = "apple_silicon_private_nic"
Make = Callable[[], dict[str, object]]
NOWHERE = "00000000-0000-0000-0000-000000000000"
"""Networks are not made here: each id names one, but for this one."""


NICS: Resource[Nic] = Resource(
    stored=lambda cloud: cloud.nics,
    name="instance_private_nic",
    body=nic_body,
    style=INSTANCE.of("private_nics"),
    key="private_nic",
)


def create(cloud: Cloud, call: Call) -> Answer:
    """Give a server a card in a private network; it is available at once."""
    server, network = cloud.server(call), text_of(call.body, "private_network_id")
    if not network:
        raise errors.invalid(("private_network_id", "required", ""))
    check_network(network)
    if len(server.nics) >= MOST:
        raise errors.quota(cloud.generation(), "private_nics", MOST, MOST, server.organization)
    if any(nic.network_id == network for nic in server.nics.values()):
        words = "the server has a card in this private network"
        raise errors.invalid(("private_network_id", "constraint", words))
    nic = new_nic(cloud, server, network)
    nic.tags = tags_of(call.body)
    server.nics[nic.id] = nic
    touch(cloud, server)
    return Answer(201, {"private_nic": nic_body(cloud, nic)}, subject=nic)


def check_network(network: str) -> None:
    """Refuse a network that is not there."""
    if network == NOWHERE:
        raise errors.not_found("private_network", network)


def new_nic(cloud: Cloud, server: Server, network: str) -> Nic:
    """Make a card."""
    mac = cloud.networks.card("02:00:00")
    lag = cloud.dice.uniform(0.0, cloud.options.ipam_lag)
    nic = Nic(
        **cloud.born(server.owner),
        name="",
        server=server,
        network_id=network,
        mac=mac,
        ipam_from=cloud.now + lag,
        ipam_ids=(cloud.new_id(), cloud.new_id()),
        addresses=cloud.networks.private(),
    )
    cloud.nics.put(nic)
    cloud.ledger.open("private_nic", nic, 0.0, cloud.now)
    return nic


def find(cloud: Cloud, call: Call) -> Nic:
    """Return the card that a path names."""
    nic = cloud.server(call).nics.get(call.names[1])
    if nic is None:
        raise errors.not_found("instance_private_nic", call.names[1])
    return nic


def list_all(cloud: Cloud, call: Call) -> Answer:
    """List the cards of a server."""
    return NICS.page(cloud, call, list(cloud.server(call).nics.values()))


def get(cloud: Cloud, call: Call) -> Answer:
    """Show a card."""
    return NICS.answer(cloud, find(cloud, call))


def update(cloud: Cloud, call: Call) -> Answer:
    """Change the tags of a card."""
    nic = find(cloud, call)
    if call.body.get("tags") is not None:
        nic.tags = tags_of(call.body)
    touch(cloud, nic.server)
    return NICS.answer(cloud, nic)


def delete(cloud: Cloud, call: Call) -> Answer:
    """Take a card from its server."""
    nic = find(cloud, call)
    del nic.server.nics[nic.id]
    touch(cloud, nic.server)
    return NICS.drop(cloud, nic)


def network_get(cloud: Cloud, call: Call) -> Answer:
    """Show a network, as far as a client must be able to read it."""
    (network,) = call.names
    check_network(network)
    body: dict[str, object] = {
        "id": network,
        "name": f"network {network[:8]}",
        "organization_id": call.organization,
        "project_id": call.project,
        "region": call.place,
        "tags": [],
        "created_at": cloud.zulu(0.0),
        "updated_at": cloud.zulu(0.0),
        "subnets": [],
        "vpc_id": NOWHERE,
        "dhcp_enabled": True,
        "default_route_propagation_enabled": False,
    }
    return Answer(200, body)


def ipam_list(cloud: Cloud, call: Call) -> Answer:
    """List the private addresses of a region, without those that are too new to be known."""
    requested, kind = call.text("resource_id"), call.choice("resource_type")
    network, ipv6 = call.text("private_network_id"), call.text("is_ipv6").lower()
    cards = [
        nic
        for nic in cloud.nics
        if nic.zone.startswith(call.place + "-")
        and nic.organization == call.organization
        and nic.ipam_from <= cloud.now
        and requested in ("", nic.id)
        and kind in ("", "instance_private_nic")
        and network in ("", nic.network_id)
    ]
    items = [
        partial(ipam_body, cloud, call.place, nic, six)
        for nic in cards
        for six in (0, 1)
        if ipv6 in ("", ("false", "true")[six])
    ]
    return page_of(cloud, call, [*items, *of_macs(cloud, call)], made, NEWER.of("ips"))


def of_macs(cloud: Cloud, call: Call) -> list[Make]:
    """Return the private addresses of Macs that a list asks for; they are all IPv4."""
    requested, kind = call.text("resource_id"), call.choice("resource_type")
    network, ipv6 = call.text("private_network_id"), call.text("is_ipv6").lower()
    if kind not in ("", MAC_NIC) or ipv6 == "true":
        return []
    return [
        partial(ipam_body_of_mac, cloud, call.place, one, ipam_id)
        for one in cloud.attachments
        if one.zone.startswith(call.place + "-")
        and one.organization == call.organization
        and requested in ("", one.id)
        and network in ("", one.network_id)
        for ipam_id in (one.ipam_ids if one.status == "attached" else ())
    ]


def made(make: Make) -> dict[str, object]:
    """Return a body, which is made only for the page that is sent."""
    return make()


def ipam_body_of_mac(
    cloud: Cloud, region: str, attachment: Attachment, ipam_id: str
) -> dict[str, object]:
    """Return the body of a Mac's private address."""
    resource = {
        "type": MAC_NIC,
        "id": attachment.id,
        "mac_address": attachment.card,
        "name": attachment.mac.name,
    }
    own = {"id": ipam_id, "address": attachment.address, "is_ipv6": False}
    return {**own, "tags": [], **ipam_shared(cloud, region, attachment, resource)}


def ipam_body(cloud: Cloud, region: str, nic: Nic, six: int) -> dict[str, object]:
    """Return the body of a server's private address: a CIDR string."""
    resource = {
        "type": "instance_private_nic",
        "id": nic.id,
        "mac_address": nic.mac,
        "name": nic.server.name,
    }
    own = {"id": nic.ipam_ids[six], "address": nic.addresses[six], "is_ipv6": bool(six)}
    return {**own, "tags": nic.tags, **ipam_shared(cloud, region, nic, resource)}


def ipam_shared(
    cloud: Cloud, region: str, card: Nic | Attachment, resource: dict[str, str]
) -> dict[str, object]:
    """Return what the body of every private address has; `resource` is what has the address."""
    return {
        "project_id": card.project,
        "created_at": cloud.zulu(card.created),
        "updated_at": cloud.zulu(card.modified),
        "source": {"private_network_id": card.network_id},
        "resource": resource,
        "reverses": [],
        "region": region,
        "zone": None,
    }


ROUTES = (
    *routes("nic", PATH, list=list_all, create=create, get=get, update=update, delete=delete),
    Route("network.get", "GET", "/vpc/v2/regions/*/private-networks/*", network_get),
    Route("ipam.list", "GET", "/ipam/v1/regions/*/ips", ipam_list),
)
