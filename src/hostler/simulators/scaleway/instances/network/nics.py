"""Servers' cards in private networks, as `/instance/v1/…/private_nics` does it."""

from functools import partial

from hostler.simulators.scaleway.api.bodies import nic_body
from hostler.simulators.scaleway.api.checks import id_of, ids_of, tags_of
from hostler.simulators.scaleway.api.pages import INSTANCE
from hostler.simulators.scaleway.api.resource import Resource, routes
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.inventory import Cloud, touch
from hostler.simulators.scaleway.state.network_records import Holder
from hostler.simulators.scaleway.state.records import Nic, Server, State
from hostler.simulators.scaleway.vpc import private_ips
from hostler.simulators.scaleway.vpc.networks import network_of

PATH = "/instance/v1/zones/*/servers/*/private_nics"
MOST = 8
RESOURCE = "instance_private_nic"


NICS: Resource[Nic] = Resource(
    stored=lambda cloud: cloud.nics,
    name=RESOURCE,
    body=nic_body,
    style=INSTANCE.of("private_nics"),
    key="private_nic",
)


def create(cloud: Cloud, call: Call) -> Answer:
    """Give a server a card in a private network."""
    ids = ids_of(call.body, "ipam_ip_ids") or ids_of(call.body, "ip_ids")
    nic = joined(cloud, call, cloud.server(call), ids)
    return Answer(201, {"private_nic": nic_body(cloud, nic)}, subject=nic)


def joined(cloud: Cloud, call: Call, server: Server, ids: list[str]) -> Nic:
    """Give a server the card that a body asks for, with these booked addresses if there are any."""
    network = id_of(call.body, "private_network_id")
    if not network:
        raise errors.invalid(("private_network_id", "required", "required key not provided"))
    tags = tags_of(call.body)
    network_of(cloud, server.owner, network)
    if len(server.nics) >= MOST:
        raise errors.quota(cloud.generation(), "private_nics", MOST, MOST, server.organization)
    if any(nic.network_id == network for nic in server.nics.values()):
        words = "the server has a card in this private network"
        raise errors.invalid(("private_network_id", "constraint", words))
    nic = new_nic(cloud, server, network, ids)
    nic.tags = tags
    server.nics[nic.id] = nic
    touch(cloud, server)
    return nic


def new_nic(cloud: Cloud, server: Server, network_id: str, ids: list[str]) -> Nic:
    """Make a card; that of a server at rest is available at once."""
    network = network_of(cloud, server.owner, network_id)
    booked = private_ips.booked_ones(cloud, network, server.organization, ids)
    mac = cloud.networks.card("02:00:00")
    nic = Nic(**cloud.born(server.owner), name="", server=server, network_id=network_id, mac=mac)
    holder = Holder(kind=RESOURCE, id=nic.id, mac=mac, of=server)
    nic.ips = private_ips.take(cloud, server.owner, network, holder, booked)
    lag = cloud.dice.uniform(0.0, cloud.options.ipam_lag)
    for ip in nic.ips:
        ip.listed_from = cloud.now + lag
    if server.state != State.STOPPED:
        nic.available = False
        cloud.after(cloud.lasts("nic.attach"), partial(attached, cloud, nic))
    cloud.nics.put(nic)
    cloud.ledger.open("private_nic", nic, 0.0, cloud.now)
    return nic


def attached(cloud: Cloud, nic: Nic) -> None:
    """End the attaching of a card that is still there."""
    if nic.ended is None:
        nic.available = True
        touch(cloud, nic.server)


def find(cloud: Cloud, call: Call) -> Nic:
    """Return the card that a path names."""
    nic = cloud.server(call).nics.get(call.names[1])
    if nic is None:
        raise errors.not_found(RESOURCE, call.names[1])
    return nic


def list_all(cloud: Cloud, call: Call) -> Answer:
    """List the cards of a server; all of the tags must be there."""
    tags = [tag for tag in call.text("tags").split(",") if tag]
    nics = cloud.server(call).nics.values()
    return NICS.page(cloud, call, [nic for nic in nics if all(tag in nic.tags for tag in tags)])


def get(cloud: Cloud, call: Call) -> Answer:
    """Show a card."""
    return NICS.answer(cloud, find(cloud, call))


def retag(cloud: Cloud, call: Call, nic: Nic) -> None:
    """Change the tags of a card."""
    if call.body.get("tags") is not None:
        nic.tags = tags_of(call.body)
    nic.modified = cloud.now
    touch(cloud, nic.server)


def update(cloud: Cloud, call: Call) -> Answer:
    """Change the tags of a card."""
    nic = find(cloud, call)
    retag(cloud, call, nic)
    return NICS.answer(cloud, nic)


def remove(cloud: Cloud, nic: Nic) -> None:
    """Take a card from its server, and give its addresses back."""
    nic.server.nics.pop(nic.id, None)
    private_ips.give_back(cloud, nic.ips)
    touch(cloud, nic.server)
    cloud.nics.drop(nic, cloud.now)


def delete(cloud: Cloud, call: Call) -> Answer:
    """Take a card from its server."""
    nic = find(cloud, call)
    remove(cloud, nic)
    return Answer(204, subject=nic)


ROUTES = routes("nic", PATH, list=list_all, create=create, get=get, update=update, delete=delete)
