"""How Macs are ordered, one or several at once."""

from hostler.simulators.scaleway.api.checks import (
    choice_of,
    flag_of,
    id_of,
    objects_of,
    owner_of,
    size_of,
    text_of,
)
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Body, Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.mac_catalogue import (
    BANDWIDTH,
    BANDWIDTHS,
    DEFAULT_IMAGE,
    MONTHLY,
    MacType,
    mac_quota_name,
    types_of,
)
from hostler.simulators.scaleway.state.mac_records import Mac, OsImage
from hostler.simulators.scaleway.state.record import Owner

from . import lease, lifecycle, runners
from .bodies import mac_body
from .images import chosen_image, stock_of
from .lease import DAY


def create(cloud: Cloud, call: Call) -> Answer:
    """Order a Mac; its password can be read from now on."""
    (mac,) = order(cloud, call, [text_of(call.body, "name")])
    return Answer(200, mac_body(cloud, mac, sealed=True), subject=mac)


def batch(cloud: Cloud, call: Call) -> Answer:
    """Order several Macs: all of them, or none."""
    names = [text_of(one, "name") for one in objects_of(call.body, "requests")]
    if not names:
        raise errors.invalid(("requests", "required", "required key not provided"))
    macs = order(cloud, call, names)
    return Answer(200, {"servers": [mac_body(cloud, mac, sealed=True) for mac in macs]})


def order(cloud: Cloud, call: Call, names: list[str]) -> list[Mac]:
    """Make Macs that are being installed, one for each name."""
    sort = type_of(call)
    image = chosen_image(cloud, sort, id_of(call.body, "os_id"))
    commitment = choice_of(call.body, "commitment_type", DAY, MONTHLY) or DAY
    check_room(cloud, call, sort, len(names))
    owner = owner_of(call)
    macs = [new_mac(cloud, owner, name, sort, image) for name in names]
    for mac in macs:
        equip(mac, call)
        runners.apply(cloud, call, mac)
        mac.commitment = commitment
    for mac in macs:
        put(cloud, mac)
        lifecycle.deliver(cloud, mac, delivery_of(call, usual=image.name == DEFAULT_IMAGE))
    return macs


def delivery_of(call: Call, *, usual: bool) -> lifecycle.Delivery:
    """Return how the hosts of an order are delivered."""
    return lifecycle.Delivery(
        usual=usual,
        stuck=call.struck["mac_stuck_starting"] if call.takes("mac_stuck_starting") else 0.0,
        never=call.takes("mac_never_delivered"),
        fails=call.takes("mac_delivery_fails"),
    )


def type_of(call: Call) -> MacType:
    """Return the type that a body names, if its zone has it."""
    name = text_of(call.body, "type")
    sort = types_of(call.place).get(name)
    if sort is None:
        reason = "constraint" if name else "required"
        raise errors.invalid(("type", reason, f"not available in {call.place}"))
    return sort


def check_room(cloud: Cloud, call: Call, sort: MacType, requested: int) -> None:
    """Refuse what is not in stock or beyond a quota."""
    if stock_of(cloud, call.place, sort) == "no_stock":
        raise errors.out_of_stock(cloud.generation(), sort.name)
    limit, organization = cloud.options.quotas.get(sort.name), call.organization
    current = cloud.count(organization, sort.name)
    if limit is not None and current + requested > limit:
        name = mac_quota_name(sort.name)
        raise errors.quota(cloud.generation(), name, limit, current, organization)


def new_mac(cloud: Cloud, owner: Owner, name: str, sort: MacType, image: OsImage) -> Mac:
    """Return a Mac that is not in the world yet."""
    born = cloud.born(owner)
    return Mac(
        **born,
        name=name or f"apple-silicon-quiet-{born['id'][:8]}",
        listed_from=cloud.listed_from(),
        type_name=sort.name,
        os=image,
        ip=cloud.networks.ipv4(),
        password=lifecycle.password(cloud.dice),
        commitment=DAY,
        bandwidth=BANDWIDTH,
    )


def equip(mac: Mac, call: Call) -> None:
    """Give a new Mac what a body asks for."""
    body = call.body
    mac.vpc = "vpc_enabled" if flag_of(body, "enable_vpc", default=False) else "vpc_disabled"
    mac.bandwidth = bandwidth_of(body, BANDWIDTH)
    mac.kext = flag_of(body, "enable_kext", default=False)


def bandwidth_of(body: Body, usual: int) -> int:
    """Return the bandwidth that a body asks for; refuse more than is sold."""
    asked = size_of(body, "public_bandwidth_bps") or usual
    if asked not in BANDWIDTHS:
        words = f"must be one of {', '.join(str(one) for one in BANDWIDTHS)}"
        raise errors.invalid(("public_bandwidth_bps", "constraint", words))
    return asked


def put(cloud: Cloud, mac: Mac) -> None:
    """Let a new Mac exist; it is paid for from now on."""
    cloud.macs.put(mac)
    cloud.mac_at[mac.ip] = mac
    cloud.newborn.append(mac)
    cloud.count(mac.organization, mac.type_name, 1)
    cloud.ledger.open("mac", mac, 0.0, cloud.now)
    lease.begin(cloud, mac)
