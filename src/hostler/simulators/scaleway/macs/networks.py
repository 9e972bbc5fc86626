"""Macs in private networks: attached at once, with a VLAN that is known only a few looks later."""

from functools import partial

from hostler.simulators.scaleway.api.checks import id_of, ids_of, object_of
from hostler.simulators.scaleway.api.pages import NEWER, listing, order_of, page_of
from hostler.simulators.scaleway.api.resource import Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call, checked_id
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.mac_records import Attachment, Mac
from hostler.simulators.scaleway.state.network_records import Holder, PrivateIp
from hostler.simulators.scaleway.vpc import private_ips
from hostler.simulators.scaleway.vpc.networks import network_of

from .bodies import attachment_body, mac_of
from .images import ZONE

RESOURCE = "server_private_network"
MAC_NIC = "apple_silicon_private_nic"
PATH = ZONE + "/servers/*/private-networks"


def attach(cloud: Cloud, call: Call) -> Answer:
    """Attach a Mac to a network."""
    mac, network = mac_of(cloud, call), id_of(call.body, "private_network_id")
    if not network:
        raise errors.invalid(("private_network_id", "required", "required key not provided"))
    check_vpc(mac)
    if network in mac.attachments:
        raise errors.invalid(("private_network_id", "constraint", "already attached"))
    attachment = new_attachment(cloud, call, mac, network, ids_of(call.body, "ipam_ip_ids"))
    return Answer(200, attachment_body(cloud, attachment), subject=attachment)


def check_vpc(mac: Mac) -> None:
    """Refuse a Mac that may not be in private networks."""
    if mac.vpc != "vpc_enabled":
        raise errors.precondition("2026", "attribute_must_be_set", "enable_vpc must be set")


def new_attachment(cloud: Cloud, call: Call, mac: Mac, network: str, ids: list[str]) -> Attachment:
    """Begin to attach a Mac to a network: it has its addresses at once."""
    inside = network_of(cloud, mac.owner, network)
    booked = private_ips.booked_ones(cloud, inside, mac.organization, ids)
    most = cloud.options.macs.vlan_polls
    more = 1 + int(call.struck["mac_vlan_late"]) if call.takes("mac_vlan_late") else 0
    card = cloud.networks.card("3c:a6:f6")
    attachment = Attachment(
        **cloud.born(mac.owner),
        name="",
        mac=mac,
        network_id=network,
        vlan=cloud.dice.randint(100, 4000),
        card=card,
        polls=cloud.dice.randint(min(1, most), most) + more,
    )
    attachment.ips = private_ips.take(cloud, mac.owner, inside, holder_of(attachment), booked)
    mac.attachments[network] = attachment
    cloud.attachments.put(attachment)
    end = failed if call.takes("mac_attach_fails") else attached
    cloud.after(cloud.lasts("mac.attach"), partial(end, cloud, attachment))
    return attachment


def attached(cloud: Cloud, attachment: Attachment) -> None:
    """End an attachment that is still wanted."""
    if attachment.status == "attaching":
        attachment.status, attachment.modified = "attached", cloud.now


def failed(cloud: Cloud, attachment: Attachment) -> None:
    """End an attachment in error: it has no VLAN, and stays until it is taken out."""
    if attachment.status == "attaching":
        attachment.status, attachment.modified = "error", cloud.now


def replace(cloud: Cloud, call: Call) -> Answer:
    """Let a Mac be in these networks and in no other."""
    mac = mac_of(cloud, call)
    addresses = object_of(call.body, "per_private_network_ipam_ip_ids")
    requested = {
        checked_id("private_network_id", network): ids_of(addresses, network)
        for network in addresses
    }
    check_vpc(mac)
    for network, ids in requested.items():
        new_ones(cloud, mac, network, ids)
    for network in [one for one in mac.attachments if one not in requested]:
        begin_detach(cloud, mac.attachments[network])
    for there in [mac.attachments[one] for one in requested if one in mac.attachments]:
        if there.status == "detaching":
            detached(cloud, there)
    for network, ids in requested.items():
        readdress(cloud, call, mac, network, ids)
    found = [attachment_body(cloud, mac.attachments[network]) for network in requested]
    return Answer(200, {"server_private_networks": found})


def new_ones(cloud: Cloud, mac: Mac, network: str, ids: list[str]) -> list[PrivateIp]:
    """Return those of the booked addresses that a Mac does not have yet; refuse wrong ones."""
    there = mac.attachments.get(network)
    held = {ip.id for ip in there.ips} if there else set[str]()
    inside = network_of(cloud, mac.owner, network)
    missing = [one for one in ids if one not in held]
    return private_ips.booked_ones(cloud, inside, mac.organization, missing)


def readdress(cloud: Cloud, call: Call, mac: Mac, network: str, ids: list[str]) -> None:
    """Let a Mac be in a network with these addresses; with none named, it keeps what it has."""
    there = mac.attachments.get(network)
    if there is None:
        new_attachment(cloud, call, mac, network, ids)
        return
    if not ids:
        return
    added = new_ones(cloud, mac, network, ids)
    private_ips.give_back(cloud, [ip for ip in there.ips if ip.id not in ids])
    inside = network_of(cloud, mac.owner, network)
    there.ips = [ip for ip in there.ips if ip.id in ids]
    if added:
        there.ips += private_ips.take(cloud, mac.owner, inside, holder_of(there), added)


def holder_of(attachment: Attachment) -> Holder:
    """Return what has the addresses of an attachment, as IPAM shows it."""
    mac = attachment.mac
    return Holder(kind=MAC_NIC, id=attachment.id, mac=attachment.card, of=mac)


def find(cloud: Cloud, call: Call) -> Attachment:
    """Return the attachment that a path names."""
    attachment = mac_of(cloud, call).attachments.get(call.names[1])
    if attachment is None:
        raise errors.not_found(RESOURCE, call.names[1])
    return attachment


def get(cloud: Cloud, call: Call) -> Answer:
    """Show an attachment."""
    attachment = find(cloud, call)
    return Answer(200, attachment_body(cloud, attachment), subject=attachment)


def detach(cloud: Cloud, call: Call) -> Answer:
    """Begin to take a Mac out of a network."""
    attachment = find(cloud, call)
    begin_detach(cloud, attachment)
    return Answer(204, subject=attachment)


def begin_detach(cloud: Cloud, attachment: Attachment) -> None:
    """Plan the end of an attachment; its addresses are given back at once."""
    attachment.status, attachment.modified = "detaching", cloud.now
    private_ips.give_back(cloud, attachment.ips)
    attachment.ips = []
    cloud.after(cloud.lasts("mac.attach"), partial(detached, cloud, attachment))


def detached(cloud: Cloud, attachment: Attachment) -> None:
    """Take an attachment out of the world, once."""
    if attachment.ended is None:
        attachment.mac.attachments.pop(attachment.network_id, None)
        cloud.attachments.drop(attachment, cloud.now)


def list_all(cloud: Cloud, call: Call) -> Answer:
    """List attachments, by server, network and project."""
    server, network = call.id("server_id"), call.id("private_network_id")
    project, addresses = call.id("project_id"), set(call.ids("ipam_ip_ids"))

    def keep(one: Attachment) -> bool:
        return (
            server in ("", one.mac.id)
            and network in ("", one.network_id)
            and project in ("", one.project)
            and (not addresses or not addresses.isdisjoint(ip.id for ip in one.ips))
        )

    order = order_of(call, "created_at", "updated_at")
    items = listing(cloud, call, cloud.attachments, keep)
    changed = order.field == "updated_at"
    items.sort(key=lambda one: one.modified if changed else one.created)
    if order.newest_first:
        items.reverse()
    wire = partial(attachment_body, cloud)
    return page_of(cloud, call, items, wire, NEWER.of("server_private_networks"))


ROUTES = (
    Route("mac_network.list", "GET", ZONE + "/server-private-networks", list_all),
    Route("mac_network.attach", "POST", PATH, attach),
    Route("mac_network.set", "PUT", PATH, replace),
    Route("mac_network.get", "GET", PATH + "/*", get),
    Route("mac_network.detach", "DELETE", PATH + "/*", detach),
)
