"""Macs in private networks: attached at once, with a VLAN that is known only a few looks later."""

from functools import partial

from hostler.simulators.scaleway.api.checks import object_of, text_of, texts_of
from hostler.simulators.scaleway.api.pages import NEWER, listing, order_of, page_of
from hostler.simulators.scaleway.api.resource import Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.inventory import Estate
from hostler.simulators.scaleway.state.mac_records import Attachment, Mac

from .bodies import attachment_body, mac_of
from .images import ZONE

RESOURCE = "server_private_network"
PATH = ZONE + "/servers/*/private-networks"


def attach(estate: Estate, call: Call) -> Answer:
    """Attach a Mac to a network."""
    mac, network = mac_of(estate, call), text_of(call.body, "private_network_id")
    if not network:
        raise errors.invalid(("private_network_id", "required", ""))
    check_vpc(mac)
    if network in mac.attachments:
        raise errors.invalid(("private_network_id", "constraint", "already attached"))
    attachment = new_attachment(estate, call, mac, network)
    attachment.ipam_ids = texts_of(call.body, "ipam_ip_ids")
    return Answer(200, attachment_body(estate, attachment), subject=attachment)


def check_vpc(mac: Mac) -> None:
    """Refuse a Mac that may not be in private networks."""
    if mac.vpc != "vpc_enabled":
        raise errors.precondition("2026", "attribute_must_be_set", "enable_vpc must be set")


def new_attachment(estate: Estate, call: Call, mac: Mac, network: str) -> Attachment:
    """Begin to attach a Mac to a network."""
    most = estate.options.macs.vlan_polls
    more = int(call.struck["mac_vlan_late"]) if call.takes("mac_vlan_late") else 0
    card = estate.networks.card("3c:a6:f6")
    attachment = Attachment(
        **estate.born(mac.owner),
        name="",
        mac=mac,
        network_id=network,
        vlan=estate.dice.randint(100, 4000),
        card=card,
        address=estate.networks.private()[0],
        polls=estate.dice.randint(min(1, most), most) + more,
    )
    mac.attachments[network] = attachment
    estate.attachments.put(attachment)
    end = failed if call.takes("mac_attach_fails") else attached
    estate.after(estate.lasts("mac.attach"), partial(end, estate, attachment))
    return attachment


def attached(estate: Estate, attachment: Attachment) -> None:
    """End an attachment that is still wanted; it has an address now, the next one if need be."""
    if attachment.status == "attaching":
        attachment.status, attachment.modified = "attached", estate.now
        attachment.ipam_ids = attachment.ipam_ids or [estate.new_id()]


def failed(estate: Estate, attachment: Attachment) -> None:
    """End an attachment in error: it has no VLAN, and stays until it is taken out."""
    if attachment.status == "attaching":
        attachment.status, attachment.modified = "error", estate.now


def replace(estate: Estate, call: Call) -> Answer:
    """Let a Mac be in these networks and in no other."""
    mac = mac_of(estate, call)
    addresses = object_of(call.body, "per_private_network_ipam_ip_ids")
    wanted = {network: texts_of(addresses, network) for network in addresses}
    check_vpc(mac)
    for network in [one for one in mac.attachments if one not in wanted]:
        begin_detach(estate, mac.attachments[network])
    for network, ipam_ids in wanted.items():
        if network not in mac.attachments:
            new_attachment(estate, call, mac, network)
        mac.attachments[network].ipam_ids = ipam_ids or mac.attachments[network].ipam_ids
    found = [attachment_body(estate, mac.attachments[network]) for network in wanted]
    return Answer(200, {"server_private_networks": found})


def find(estate: Estate, call: Call) -> Attachment:
    """Return the attachment that a path names."""
    attachment = mac_of(estate, call).attachments.get(call.names[1])
    if attachment is None:
        raise errors.not_found(RESOURCE, call.names[1])
    return attachment


def get(estate: Estate, call: Call) -> Answer:
    """Show an attachment."""
    attachment = find(estate, call)
    return Answer(200, attachment_body(estate, attachment), subject=attachment)


def detach(estate: Estate, call: Call) -> Answer:
    """Begin to take a Mac out of a network."""
    attachment = find(estate, call)
    begin_detach(estate, attachment)
    return Answer(204, subject=attachment)


def begin_detach(estate: Estate, attachment: Attachment) -> None:
    """Plan the end of an attachment."""
    attachment.status, attachment.modified = "detaching", estate.now
    estate.after(estate.lasts("mac.attach"), partial(detached, estate, attachment))


def detached(estate: Estate, attachment: Attachment) -> None:
    """Take an attachment out of the world, once."""
    if attachment.ended is None:
        attachment.mac.attachments.pop(attachment.network_id, None)
        estate.attachments.drop(attachment, estate.now)


def list_all(estate: Estate, call: Call) -> Answer:
    """List attachments, by server, network and project."""
    server, network = call.text("server_id"), call.text("private_network_id")
    project, addresses = call.text("project_id"), set(call.texts("ipam_ip_ids"))

    def keep(one: Attachment) -> bool:
        return (
            server in ("", one.mac.id)
            and network in ("", one.network_id)
            and project in ("", one.project)
            and (not addresses or not addresses.isdisjoint(one.ipam_ids))
        )

    order = order_of(call, "created_at", "updated_at")
    items = listing(estate, call, estate.attachments, keep)
    changed = order.field == "updated_at"
    items.sort(key=lambda one: one.modified if changed else one.created)
    if order.newest_first:
        items.reverse()
    wire = partial(attachment_body, estate)
    return page_of(estate, call, items, wire, NEWER.of("server_private_networks"))


ROUTES = (
    Route("mac_network.list", "GET", ZONE + "/server-private-networks", list_all),
    Route("mac_network.attach", "POST", PATH, attach),
    Route("mac_network.set", "PUT", PATH, replace),
    Route("mac_network.get", "GET", PATH + "/*", get),
    Route("mac_network.detach", "DELETE", PATH + "/*", detach),
)
