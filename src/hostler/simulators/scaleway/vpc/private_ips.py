"""Addresses in private networks: taken by cards, booked beforehand, and given back."""

from ipaddress import IPv4Address, IPv6Address

from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.network_records import Holder, PrivateIp, PrivateNetwork
from hostler.simulators.scaleway.state.record import Owner

FIRST = 2  # in each subnet: below it are the network and its gateway


def free_address(network: PrivateNetwork, *, six: bool) -> str:
    """Return the next address of a subnet that nobody has; refuse where none is left."""
    net = network.net6 if six else network.net4
    base, size = int(net.network_address), min(net.num_addresses - FIRST - 1, 1 << 32)
    for _ in range(size):
        network.turn = network.turn % size + 1
        number = base + FIRST + network.turn % size
        found = str(IPv6Address(number) if six else IPv4Address(number))
        if found not in network.used:
            return found
    raise errors.precondition("2026", "resource_not_usable", "no address is left in the subnet")


def new_ip(
    cloud: Cloud, owner: Owner, network: PrivateNetwork, *, six: bool, address: str = ""
) -> PrivateIp:
    """Put an address into the world that nobody holds."""
    ip = PrivateIp(
        **cloud.born(Owner(network.zone, owner.organization, owner.project)),
        name="",
        network=network,
        address=address or free_address(network, six=six),
        six=six,
    )
    network.used.add(ip.address)
    cloud.private_ips.put(ip)
    return ip


def take(
    cloud: Cloud, owner: Owner, network: PrivateNetwork, holder: Holder, booked: list[PrivateIp]
) -> list[PrivateIp]:
    """Give a holder these booked addresses, or else one new address of each family, IPv4 first."""
    ips = booked or [new_ip(cloud, owner, network, six=six) for six in (False, True)]
    for ip in ips:
        ip.holder, ip.modified = holder, cloud.now
    return sorted(ips, key=lambda ip: ip.six)


def booked_ones(
    cloud: Cloud, network: PrivateNetwork, organization: str, ids: list[str]
) -> list[PrivateIp]:
    """Return booked addresses of a network by their ids; refuse others, and those in use."""
    found: list[PrivateIp] = []
    for one in dict.fromkeys(ids):
        ip = cloud.private_ips.get(one)
        if ip is None or ip.network is not network or ip.organization != organization:
            raise errors.not_found("ip", one)
        if ip.holder:
            raise errors.invalid(("ipam_ip_ids", "constraint", f"IP {one} is already attached"))
        found.append(ip)
    return found


def give_back(cloud: Cloud, ips: list[PrivateIp]) -> None:
    """Take addresses from their holder: booked ones stay, the others go."""
    for ip in ips:
        ip.holder, ip.modified = None, cloud.now
        if not ip.booked:
            remove(cloud, ip)


def remove(cloud: Cloud, ip: PrivateIp) -> None:
    """Take an address out of the world."""
    ip.network.used.discard(ip.address)
    cloud.private_ips.drop(ip, cloud.now)
