"""Flexible IPs: made, attached, moved and given back, as `/instance/v1/…/ips` does it."""

from collections.abc import Callable
from functools import partial

from hostler.simulators.scaleway.api.checks import (
    check_quota,
    choice_of,
    owner_of,
    tags_of,
    text_of,
)
from hostler.simulators.scaleway.api.pages import INSTANCE, matching
from hostler.simulators.scaleway.api.resource import Resource
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.catalogue import IPV4_PER_HOUR
from hostler.simulators.scaleway.state.inventory import Cloud, touch
from hostler.simulators.scaleway.state.record import Owner
from hostler.simulators.scaleway.state.records import Address, Server, State

PATH = "/instance/v1/zones/*/ips"
KINDS = ("routed_ipv4", "routed_ipv6")
MOST = 5  # of each family on a server


def address_body(address: Address) -> dict[str, object]:
    """Return the body of an address: of IPv6 only the prefix is known here."""
    six = address.kind == "routed_ipv6"
    server = address.server
    return {
        "id": address.id,
        "address": None if six else address.ip,
        "prefix": f"{address.ip}/64" if six else None,
        "reverse": address.reverse,
        "server": {"id": server.id, "name": server.name} if server else None,
        "organization": address.organization,
        "project": address.project,
        "zone": address.zone,
        "type": address.kind,
        "state": address.state,
        "tags": address.tags,
        "ipam_id": address.id,
    }


def filter_of(call: Call) -> Callable[[Address], bool]:
    """Return the filter that a query asks for; `name` is a part of the address."""
    keep, part, kind = matching(call), call.text("name"), call.choice("type", *KINDS)
    return lambda address: (
        keep(address) and (not part or part in address.ip) and (not kind or address.kind == kind)
    )


ADDRESSES: Resource[Address] = Resource(
    stored=lambda cloud: cloud.addresses,
    name="instance_ip",
    body=lambda _, address: address_body(address),
    style=INSTANCE.of("ips"),
    key="ip",
    keep=filter_of,
    newest_first=True,
)


def create(cloud: Cloud, call: Call) -> Answer:
    """Make an address, attached if a server is named."""
    body = call.body
    kind = choice_of(body, "type", *KINDS) or "routed_ipv4"
    owner = owner_of(call)
    check_quota(cloud, owner.organization, "ips", cloud.options.quotas.get("ips"))
    server_id = text_of(body, "server")
    server = cloud.server(call, server_id) if server_id else None
    if server:
        check_room(server.name, [*(address.kind for address in server.addresses), kind])
    tags = tags_of(body)
    address = new_address(cloud, kind, owner)
    address.tags = tags
    cloud.addresses.put(address)
    cloud.newborn.append(address)
    cloud.count(owner.organization, "ips", 1)
    rate = IPV4_PER_HOUR / 3600 if kind == "routed_ipv4" else 0.0
    cloud.ledger.open("address", address, rate, cloud.now)
    if server:
        attach(cloud, address, server)
    return ADDRESSES.made(cloud, call, address)


def new_address(cloud: Cloud, kind: str, owner: Owner, *, dynamic: bool = False) -> Address:
    """Return a new address that nobody holds and no list shows yet."""
    nets, born = cloud.networks, cloud.born(owner)
    return Address(
        **born,
        name="",
        listed_from=cloud.listed_from(),
        kind=kind,
        ip=nets.prefix() if kind == "routed_ipv6" else nets.ipv4(),
        dynamic=dynamic,
    )


def find(cloud: Cloud, call: Call) -> Address:
    """Return the address that a path names, by its id or by the IPv4 address itself."""
    name = call.names[0]
    if "." not in name:
        return ADDRESSES.find(cloud, call)
    for address in cloud.addresses.within(call.place):
        if address.ip == name and address.organization == call.organization:
            return address
    raise errors.not_found("instance_ip", f"{name}/32")


def get(cloud: Cloud, call: Call) -> Answer:
    """Show an address."""
    return ADDRESSES.answer(cloud, find(cloud, call))


def update(cloud: Cloud, call: Call) -> Answer:
    """Attach, detach or move an address, and change its tags and its reverse name."""
    address, body = find(cloud, call), call.body
    tags = tags_of(body) if "tags" in body else address.tags
    reverse = text_of(body, "reverse") or None if "reverse" in body else address.reverse
    if "server" in body:
        server_id = text_of(body, "server")
        move(cloud, address, cloud.server(call, server_id) if server_id else None)
    address.tags, address.reverse = tags, reverse
    address.modified = cloud.now
    if address.server:
        touch(cloud, address.server)
    return ADDRESSES.answer(cloud, address)


def delete(cloud: Cloud, call: Call) -> Answer:
    """Give an address back, also one that is attached: its server shows it no more."""
    address = find(cloud, call)
    remove(cloud, address)
    return Answer(204, subject=address)


def remove(cloud: Cloud, address: Address) -> None:
    """Take an address out of the world."""
    detach(cloud, address)
    cloud.addresses.drop(address, cloud.now)
    cloud.count(address.organization, "ips", -1)
    cloud.networks.free(address.ip)


def move(cloud: Cloud, address: Address, server: Server | None) -> None:
    """Attach an address to another server, or to none."""
    if address.server is server:
        return
    if server:
        check_room(server.name, [one.kind for one in (*server.addresses, address)])
    detach(cloud, address)
    if server:
        attach(cloud, address, server)


def check_room(server: str, kinds: list[str]) -> None:
    """Refuse more addresses of one family, by their kinds, than a server of this name can have."""
    for kind in KINDS:
        if kinds.count(kind) > MOST:
            words = f"server {server} may have {MOST} addresses of {kind}"
            raise errors.invalid(("public_ips", "constraint", words))


def attach(cloud: Cloud, address: Address, server: Server) -> None:
    """Attach a free address; on a server that is up it is pending for a moment."""
    address.server = server
    server.addresses.append(address)
    server.addresses.sort(key=is_ipv6)
    address.state = "attached"
    if server.state in (State.RUNNING, State.STARTING):
        address.state = "pending"
        settle = partial(settled, cloud, address, server)
        cloud.after(cloud.lasts("address.attach"), settle)
    touch(cloud, server)
    announce(cloud, server)


def is_ipv6(address: Address) -> bool:
    """Tell of which family an address is; servers show IPv4 before IPv6."""
    return address.kind == "routed_ipv6"


def settled(cloud: Cloud, address: Address, server: Server) -> None:
    """End the pending state of an address that is still where it was."""
    if address.server is server and address.state == "pending":
        address.state = "attached"
        touch(cloud, server)


def detach(cloud: Cloud, address: Address) -> None:
    """Free an address."""
    server = address.server
    address.state, address.server = "detached", None
    if server:
        silence(cloud, server)
        server.addresses.remove(address)
        touch(cloud, server)
        announce(cloud, server)


def announce(cloud: Cloud, server: Server) -> None:
    """Let the guest of a server, if it is up, be heard at all IPv4 addresses of it."""
    if not server.guest_up:
        return
    for address in server.addresses:
        if address.kind == "routed_ipv4":
            cloud.guests[address.ip] = server.id
    cloud.guests_changed += 1


def silence(cloud: Cloud, server: Server) -> None:
    """Let nobody be heard at the addresses of a server."""
    for address in server.addresses:
        if cloud.guests.pop(address.ip, None):
            cloud.guests_changed += 1


ROUTES = ADDRESSES.routes("ip", PATH, create=create, get=get, update=update, delete=delete)
