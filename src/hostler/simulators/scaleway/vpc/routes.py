"""Routes of VPCs with what they lead to, connectors between VPCs, and rules of what may come in."""

from collections.abc import Callable
from ipaddress import ip_network

from hostler.simulators.scaleway.api.checks import flag_of, id_of, text_of
from hostler.simulators.scaleway.api.pages import NEWER, Key, arranged, page_of
from hostler.simulators.scaleway.api.plain import Sort
from hostler.simulators.scaleway.api.resource import Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Body, Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.network_records import Plain, PrivateNetwork

from .networks import subnets_of
from .vpcs import REGION, network_text


def id_or_none(body: Body, name: str) -> object:
    """Return an id of a body, or None."""
    return id_of(body, name) or None


def text_or_none(body: Body, name: str) -> object:
    """Return a text of a body, or None."""
    return text_of(body, name) or None


def flag(body: Body, name: str) -> object:
    """Return a boolean of a body."""
    return flag_of(body, name, default=False)


def length_of(network: object) -> int:
    """Return the length of the prefix of a range of addresses."""
    return ip_network(str(network)).prefixlen


def in_vpc(cloud: Cloud, call: Call) -> None:
    """Refuse what names a VPC that is not there."""
    for name in ("vpc_id", "target_vpc_id"):
        if name in call.body:
            cloud.find(cloud.vpcs, call, id_of(call.body, name), "vpc")
    if not call.body.get("vpc_id"):
        raise errors.invalid(("vpc_id", "required", "required key not provided"))


ROUTE = Sort(
    name="vpc_route",
    key="routes",
    path=f"{REGION}/routes",
    fields={
        "description": text_of,
        "vpc_id": id_of,
        "destination": network_text,
        "nexthop_resource_id": id_or_none,
        "nexthop_private_network_id": id_or_none,
        "nexthop_vpc_connector_id": id_or_none,
    },
    fixed={"is_read_only": False, "type": "custom"},
    filters={"vpc_id": "vpc_id"},
    place="region",
    check=in_vpc,
)
CONNECTOR = Sort(
    name="vpc_connector",
    key="vpc_connectors",
    path=f"{REGION}/vpc-connectors",
    fields={"vpc_id": id_of, "target_vpc_id": id_of},
    fixed={"status": "orphan", "peer_info": None},
    filters={"vpc_id": "vpc_id", "target_vpc_id": "target_vpc_id"},
    place="region",
    check=in_vpc,
)
INGRESS = Sort(
    name="ingress_rule",
    key="rules",
    path=f"{REGION}/ingress-rules",
    fields={
        "vpc_id": id_of,
        "is_ipv6": flag,
        "source": network_text,
        "nexthop_resource_ip": text_of,
        "nexthop_private_network_id": id_of,
        "description": text_or_none,
    },
    fixed={},
    filters={"vpc_id": "vpc_id"},
    place="region",
    check=in_vpc,
    orders={
        "source": lambda rule: str(rule.fields["source"]),
        "prefix_len": lambda rule: length_of(rule.fields["source"]),
    },
)
ORDERS: dict[str, Callable[[dict[str, object]], Key]] = {
    "created_at": lambda route: str(route["created_at"]),
    "destination": lambda route: str(route["destination"]),
    "prefix_len": lambda route: length_of(route["destination"]),
}
UNNAMED = ("name", "project_id", "organization_id")


def route_body(cloud: Cloud, route: Plain) -> dict[str, object]:
    """Return the body of a route, which has no name and no project."""
    return {key: value for key, value in ROUTE.body(cloud, route).items() if key not in UNNAMED}


def unnamed(cloud: Cloud, answer: Answer) -> Answer:
    """Return the answer about a route without what routes have not."""
    if isinstance(answer.subject, Plain):
        answer.body = route_body(cloud, answer.subject)
    return answer


def create(cloud: Cloud, call: Call) -> Answer:
    """Make a route."""
    return unnamed(cloud, ROUTE.create(cloud, call))


def update(cloud: Cloud, call: Call) -> Answer:
    """Change a route."""
    return unnamed(cloud, ROUTE.update(cloud, call))


def find(cloud: Cloud, call: Call) -> Plain:
    """Return the route that a path names; one that is not there is not named, as recorded."""
    route = cloud.peek(ROUTE.stored(cloud), call, call.names[0])
    if route is None:
        raise errors.not_found("unknown", "")
    return route


def get(cloud: Cloud, call: Call) -> Answer:
    """Show a route."""
    route = find(cloud, call)
    return Answer(200, route_body(cloud, route), subject=route)


def delete(cloud: Cloud, call: Call) -> Answer:
    """Delete a route."""
    return ROUTE.resource().drop(cloud, find(cloud, call))


def list_all(cloud: Cloud, call: Call) -> Answer:
    """List the routes of a VPC with what they lead to: one for each subnet, and those made."""
    vpc, tags = call.id("vpc_id"), call.texts("tags")
    networks = [
        network
        for network in cloud.private_networks.within(call.place)
        if network.organization == call.organization and vpc in ("", network.vpc.id)
    ]
    found = [body for network in networks for body in of_subnets(cloud, network)]
    keep = ROUTE.keep(call)
    own = [route_body(cloud, one) for one in ROUTE.stored(cloud).within(call.place) if keep(one)]
    everything: list[dict[str, object]] = [*([] if tags else found), *own]
    return page_of(cloud, call, arranged(call, everything, ORDERS), nexthop, NEWER.of("routes"))


def of_subnets(cloud: Cloud, network: PrivateNetwork) -> list[dict[str, object]]:
    """Return the routes that lead to the subnets of a network; nobody can change them."""
    return [
        {
            "id": "",
            "description": f"route to {network.name}",
            "tags": [],
            "vpc_id": network.vpc.id,
            "destination": subnet["subnet"],
            "nexthop_resource_id": None,
            "nexthop_private_network_id": network.id,
            "nexthop_vpc_connector_id": None,
            "created_at": subnet["created_at"],
            "updated_at": subnet["updated_at"],
            "is_read_only": True,
            "type": "subnet",
            "region": network.zone,
        }
        for subnet in subnets_of(cloud, network)
    ]


def nexthop(route: dict[str, object]) -> dict[str, object]:
    """Return a route with what it leads to, of which nothing more is known here."""
    own = {"nexthop_ip": None, "nexthop_name": None, "nexthop_resource_type": "unknown_type"}
    return {"route": route, **own}


PATH = f"{REGION}/routes"
ROUTES = (
    Route("vpc_route.list", "GET", f"{REGION}/routes-with-nexthop", list_all),
    Route("vpc_route.create", "POST", PATH, create),
    Route("vpc_route.get", "GET", f"{PATH}/*", get),
    Route("vpc_route.update", "PATCH", f"{PATH}/*", update),
    Route("vpc_route.delete", "DELETE", f"{PATH}/*", delete),
    *CONNECTOR.routes(),
    *INGRESS.routes(),
)
