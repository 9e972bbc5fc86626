"""IPAM: every address of a region, private and public, and the private ones that are booked."""

from collections.abc import Callable
from functools import partial
from ipaddress import ip_address

from hostler.simulators.scaleway.api.checks import (
    card_of,
    flag_of,
    id_of,
    ids_of,
    object_of,
    objects_of,
    owner_of,
    tags_of,
    text_of,
)
from hostler.simulators.scaleway.api.pages import NEWER, Key, ordered, page_of
from hostler.simulators.scaleway.api.resource import Route
from hostler.simulators.scaleway.instances.network.addresses import is_ipv6
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Body, Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.network_records import Holder, PrivateIp, PrivateNetwork
from hostler.simulators.scaleway.state.records import Address

from . import private_ips
from .ipam_filters import Ip, filter_of, holder_of
from .networks import network_of

PATH = "/ipam/v1/regions/*/ips"
STYLE = NEWER.of("ips")


def body_of(cloud: Cloud, region: str, ip: Ip) -> dict[str, object]:
    """Return the body of an address; its source is a subnet if it is private, a zone if not."""
    own = public_part(ip) if isinstance(ip, Address) else private_part(ip)
    return {
        "id": ip.id,
        "project_id": ip.project,
        "created_at": cloud.zulu(ip.created),
        "updated_at": cloud.zulu(ip.modified),
        "tags": ip.tags,
        "region": region,
        **own,
    }


def private_part(ip: PrivateIp) -> dict[str, object]:
    """Return what only the body of a private address has."""
    return {
        "address": ip.prefixed,
        "is_ipv6": ip.six,
        "source": {"subnet_id": ip.network.subnets[ip.six]},
        "resource": ip.holder and ip.holder.body(),
        "reverses": ip.reverses,
        "zone": None,
    }


def public_part(ip: Address) -> dict[str, object]:
    """Return what only the body of a flexible address has."""
    six = is_ipv6(ip)
    holder = ip.server and Holder(kind="instance_server", id=ip.server.id, mac=None)
    reverse = {"hostname": ip.reverse, "address": None if six else ip.ip}
    return {
        "address": f"{ip.ip}/{64 if six else 32}",
        "is_ipv6": six,
        "source": {"zonal": ip.zone},
        "resource": holder and holder.body(),
        "reverses": [reverse] if ip.reverse else [],
        "zone": ip.zone,
    }


def all_of(cloud: Cloud, call: Call) -> list[Ip]:
    """Return every address that a call may see, in the order of creation."""
    private = [
        ip
        for ip in cloud.private_ips.within(call.place)
        if ip.organization == call.organization and ip.listed_from <= cloud.now
    ]
    public = [
        ip
        for ip in cloud.addresses
        if ip.zone.startswith(call.place + "-") and ip.organization == call.organization
    ]
    return sorted((*private, *public), key=lambda ip: ip.created)


def number_of(ip: Ip) -> tuple[int, int]:
    """Return an address as a number, those of IPv4 before those of IPv6."""
    found = ip_address(ip.ip if isinstance(ip, Address) else ip.address)
    return found.version, int(found)


def mac_of(ip: Ip) -> str:
    """Return the hardware address of what has an address, or nothing."""
    holder = holder_of(ip)
    return (holder and holder.mac) or ""


ORDERS: dict[str, Callable[[Ip], Key]] = {
    "attached_at": lambda ip: ip.modified if holder_of(ip) else 0.0,
    "ip_address": number_of,
    "mac_address": mac_of,
}


def list_all(cloud: Cloud, call: Call) -> Answer:
    """List addresses, the newest first unless asked otherwise: then IPv6 comes before IPv4."""
    keep = filter_of(call)
    items = [ip for ip in all_of(cloud, call) if keep(ip)]
    items = ordered(call, items, ORDERS) if call.choice("order_by") else items[::-1]
    return page_of(cloud, call, items, partial(body_of, cloud, call.place), STYLE)


def find(cloud: Cloud, call: Call) -> Ip:
    """Return the address that a path names."""
    ip = cloud.peek(cloud.private_ips, call, call.names[0]) or cloud.addresses.get(call.names[0])
    there = ip is not None and ip.zone.startswith(call.place)
    if ip is None or not there or ip.organization != call.organization:
        raise errors.not_found("ip", call.names[0])
    return ip


def private(cloud: Cloud, call: Call) -> PrivateIp:
    """Return the private address that a path names; flexible ones are changed elsewhere."""
    ip = find(cloud, call)
    if isinstance(ip, Address):
        raise errors.invalid(("ip_id", "constraint", "not a private IP"))
    return ip


def answer(cloud: Cloud, call: Call, ip: Ip) -> Answer:
    """Answer with an address."""
    return Answer(200, body_of(cloud, call.place, ip), subject=ip)


def get(cloud: Cloud, call: Call) -> Answer:
    """Show an address."""
    return answer(cloud, call, find(cloud, call))


def create(cloud: Cloud, call: Call) -> Answer:
    """Book an address in a network; a resource that is named has it from now on."""
    body = call.body
    source = object_of(body, "source")
    network_id = id_of(source, "private_network_id") or network_of_subnet(cloud, call, source)
    if not network_id:
        raise errors.invalid(("source", "required", "private_network_id"))
    owner = owner_of(call)
    network = network_of(cloud, owner, network_id)
    six = flag_of(body, "is_ipv6", default=False)
    address = chosen_address(network, text_of(body, "address"), six=six)
    holder, tags = custom_holder(cloud, object_of(body, "resource")), tags_of(body)
    ip = private_ips.new_ip(cloud, owner, network, six=six, address=address)
    ip.booked, ip.tags, ip.holder = True, tags, holder
    return answer(cloud, call, ip)


def network_of_subnet(cloud: Cloud, call: Call, source: Body) -> str:
    """Return the id of the network of a subnet that a body names."""
    subnet = id_of(source, "subnet_id")
    found = (one.id for one in cloud.private_networks.within(call.place) if subnet in one.subnets)
    return next(found, "") if subnet else ""


def chosen_address(network: PrivateNetwork, text: str, *, six: bool) -> str:
    """Return the address that is asked for, or nothing; refuse one that cannot be had."""
    if not text:
        return ""
    try:
        address = ip_address(text)
    except ValueError:
        raise errors.invalid(("address", "format", "must be an IP address")) from None
    net = network.net6 if six else network.net4
    if "%" in text or address not in net:
        raise errors.invalid(("address", "constraint", f"must be in {net}"))
    if address == net.network_address or (not six and address == net.broadcast_address):
        raise errors.invalid(("address", "constraint", "is reserved"))
    if str(address) in network.used:
        raise errors.invalid(("address", "constraint", "is in use"))
    return str(address)


def custom_holder(cloud: Cloud, body: Body) -> Holder | None:
    """Return the resource of one's own that a body names by its hardware address."""
    mac = card_of(body)
    if not mac:
        return None
    name = text_of(body, "name") or None
    return Holder(kind="custom", id=cloud.new_id(), mac=mac, name=name)


def update(cloud: Cloud, call: Call) -> Answer:
    """Change the tags and the reverse names of an address."""
    ip, body = find(cloud, call), call.body
    reverses: list[dict[str, object]] = [
        {"hostname": text_of(one, "hostname"), "address": text_of(one, "address") or None}
        for one in objects_of(body, "reverses")
    ]
    if body.get("tags") is not None:
        ip.tags = tags_of(body)
    if body.get("reverses") is not None and isinstance(ip, PrivateIp):
        ip.reverses = reverses
    elif body.get("reverses") is not None and isinstance(ip, Address):
        ip.reverse = str(reverses[0]["hostname"]) if reverses else None
    ip.modified = cloud.now
    return answer(cloud, call, ip)


def delete(cloud: Cloud, call: Call) -> Answer:
    """Give a booked address back that nothing has but a resource of one's own."""
    ip = private(cloud, call)
    check_releasable(ip)
    private_ips.remove(cloud, ip)
    return Answer(204, subject=ip)


def check_releasable(ip: PrivateIp) -> None:
    """Refuse to give back what a card has."""
    if ip.holder and ip.holder.kind != "custom":
        raise errors.still_in_use("IP must be detached to be released")


def release(cloud: Cloud, call: Call) -> Answer:
    """Give several booked addresses back: all of them, or none."""
    found: list[PrivateIp] = []
    for one in ids_of(call.body, "ip_ids"):
        ip = cloud.find(cloud.private_ips, call, one, "ip")
        check_releasable(ip)
        found.append(ip)
    for ip in found:
        private_ips.remove(cloud, ip)
    return Answer(204)


def attach(cloud: Cloud, call: Call) -> Answer:
    """Let a resource of one's own have a free address."""
    ip = private(cloud, call)
    if ip.holder:
        raise errors.invalid(("ip_id", "constraint", "IP is already attached"))
    holder = custom_holder(cloud, object_of(call.body, "resource"))
    if holder is None:
        raise errors.invalid(("resource.mac_address", "required", "required key not provided"))
    ip.holder, ip.modified = holder, cloud.now
    return answer(cloud, call, ip)


def leave(cloud: Cloud, ip: PrivateIp, resource: Body) -> None:
    """Take an address from the resource of one's own that has it; refuse any other."""
    mac = text_of(resource, "mac_address").lower()
    holder = ip.holder
    if holder is None or holder.kind != "custom" or (holder.mac or "").lower() != mac:
        raise errors.invalid(("resource", "constraint", "IP is not attached to this resource"))
    ip.holder, ip.modified = None, cloud.now


def detach(cloud: Cloud, call: Call) -> Answer:
    """Take an address from a resource of one's own."""
    ip = private(cloud, call)
    leave(cloud, ip, object_of(call.body, "resource"))
    return answer(cloud, call, ip)


def move(cloud: Cloud, call: Call) -> Answer:
    """Take an address from a resource of one's own, and give it to another if one is named."""
    ip = private(cloud, call)
    holder = custom_holder(cloud, object_of(call.body, "to_resource"))
    leave(cloud, ip, object_of(call.body, "from_resource"))
    ip.holder = holder
    return answer(cloud, call, ip)


ROUTES = (
    Route("ipam.list", "GET", PATH, list_all),
    Route("ipam.create", "POST", PATH, create),
    Route("ipam.get", "GET", f"{PATH}/*", get),
    Route("ipam.update", "PATCH", f"{PATH}/*", update),
    Route("ipam.delete", "DELETE", f"{PATH}/*", delete),
    Route("ipam.attach", "POST", f"{PATH}/*/attach", attach),
    Route("ipam.detach", "POST", f"{PATH}/*/detach", detach),
    Route("ipam.move", "POST", f"{PATH}/*/move", move),
    Route("ipam.release", "POST", "/ipam/v1/regions/*/ip-sets/release", release),
)
