"""VPCs: made, listed, changed and deleted; their routing, and the rules of their traffic."""

from collections.abc import Callable

from hostler.simulators.scaleway.api.checks import (
    choice_of,
    flag_of,
    labels_of,
    net_of,
    objects_of,
    owner_of,
    size_of,
    tags_of,
    text_of,
)
from hostler.simulators.scaleway.api.pages import NEWER
from hostler.simulators.scaleway.api.resource import Resource, Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Body, Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.network_records import Vpc
from hostler.simulators.scaleway.state.record import Owner

REGION = "/vpc/v2/regions/*"
PATH = f"{REGION}/vpcs"
ACTIONS = ("accept", "drop")
PROTOCOLS = ("ANY", "TCP", "UDP", "ICMP")
PORTS = ("src_port_low", "src_port_high", "dst_port_low", "dst_port_high")


def body_of(cloud: Cloud, vpc: Vpc) -> dict[str, object]:
    """Return the body of a VPC."""
    return {
        "id": vpc.id,
        "name": vpc.name,
        "organization_id": vpc.organization,
        "project_id": vpc.project,
        "region": vpc.zone,
        "tags": vpc.tags,
        "created_at": cloud.zulu(vpc.created),
        "updated_at": cloud.zulu(vpc.modified),
        "is_default": vpc.default,
        "private_network_count": sum(one.vpc is vpc for one in cloud.private_networks),
        "routing_enabled": vpc.routing,
        "custom_routes_propagation_enabled": vpc.custom_routes,
        "transitivity_enabled": vpc.transitive,
        "s3_integration_enabled": False,
    }


def filter_of(call: Call) -> Callable[[Vpc], bool]:
    """Return the filter that a query asks for; all of the tags must be there."""
    name, tags, default = call.text("name"), call.texts("tags"), call.flag("is_default")
    project, organization = call.id("project_id"), call.id("organization_id")
    routing, storage = call.flag("routing_enabled"), call.flag("s3_integration_enabled")
    return lambda vpc: (
        name in vpc.name
        and all(tag in vpc.tags for tag in tags)
        and default in ("", "true" if vpc.default else "false")
        and project in ("", vpc.project)
        and organization in ("", vpc.organization)
        and routing in ("", "true" if vpc.routing else "false")
        and storage in ("", "false")
    )


VPCS: Resource[Vpc] = Resource(
    stored=lambda cloud: cloud.vpcs,
    name="vpc",
    body=body_of,
    style=NEWER.of("vpcs"),
    keep=filter_of,
)


def default_vpc(cloud: Cloud, owner: Owner) -> Vpc:
    """Return the default VPC of a project in a region, which is made when first needed."""
    for vpc in cloud.vpcs.within(owner.zone):
        if vpc.default and vpc.owner == owner:
            return vpc
    vpc = Vpc(**cloud.born(owner), name="default", default=True)
    cloud.vpcs.put(vpc)
    return vpc


def list_all(cloud: Cloud, call: Call) -> Answer:
    """List VPCs; the project that asks has at least its default one."""
    default_vpc(cloud, Owner(call.place, call.organization, call.project))
    return VPCS.list_all(cloud, call)


def create(cloud: Cloud, call: Call) -> Answer:
    """Make a VPC."""
    owner = owner_of(call)
    vpc = Vpc(
        **cloud.born(owner),
        name="",
        transitive=flag_of(call.body, "enable_transitivity", default=False),
    )
    vpc.name = text_of(call.body, "name") or f"vpc-{vpc.id[:8]}"
    vpc.tags = tags_of(call.body)
    cloud.vpcs.put(vpc)
    cloud.ledger.open("vpc", vpc, 0.0, cloud.now)
    return VPCS.answer(cloud, vpc)


def update(cloud: Cloud, call: Call) -> Answer:
    """Change a VPC."""
    vpc = VPCS.find(cloud, call)
    vpc.name, vpc.tags = labels_of(call.body, vpc)
    vpc.modified = cloud.now
    return VPCS.answer(cloud, vpc)


def delete(cloud: Cloud, call: Call) -> Answer:
    """Delete a VPC that has no network and is not the default one."""
    vpc = VPCS.find(cloud, call)
    if vpc.default or any(one.vpc is vpc for one in cloud.private_networks):
        words = "VPC must be empty to be deleted"
        raise errors.still_in_use(words)
    return VPCS.drop(cloud, vpc)


def route(cloud: Cloud, call: Call) -> Answer:
    """Let the networks of a VPC reach each other."""
    vpc = VPCS.find(cloud, call)
    vpc.routing = True
    return VPCS.answer(cloud, vpc)


def propagate(cloud: Cloud, call: Call) -> Answer:
    """Let the routes of a VPC be told to all of its networks."""
    vpc = VPCS.find(cloud, call)
    vpc.custom_routes = True
    return VPCS.answer(cloud, vpc)


def rules_body(vpc: Vpc, *, six: bool) -> dict[str, object]:
    """Return the rules of one family; everything is let through where there are none."""
    policy, rules = vpc.rules.get(six, (ACTIONS[0], []))
    return {"rules": rules, "default_policy": policy}


def rules_get(cloud: Cloud, call: Call) -> Answer:
    """Show the rules of one family."""
    vpc = VPCS.find(cloud, call)
    return Answer(200, rules_body(vpc, six=call.flag("is_ipv6") == "true"), subject=vpc)


def rules_set(cloud: Cloud, call: Call) -> Answer:
    """Replace the rules of one family."""
    vpc, body = VPCS.find(cloud, call), call.body
    six = flag_of(body, "is_ipv6", default=False)
    rules = [rule_of(rule) for rule in objects_of(body, "rules")]
    vpc.rules[six] = (choice_of(body, "default_policy", *ACTIONS) or ACTIONS[0], rules)
    return Answer(200, rules_body(vpc, six=six), subject=vpc)


def rule_of(rule: Body) -> dict[str, object]:
    """Return a rule as it is shown."""
    ports: dict[str, object] = {name: size_of(rule, name) for name in PORTS}
    return {
        "protocol": choice_of(rule, "protocol", *PROTOCOLS) or PROTOCOLS[0],
        "source": network_text(rule, "source"),
        "destination": network_text(rule, "destination"),
        **ports,
        "action": choice_of(rule, "action", *ACTIONS) or ACTIONS[0],
        "description": text_of(rule, "description"),
    }


def network_text(body: Body, name: str) -> str:
    """Return a range of addresses of a body; refuse what is none."""
    return str(net_of(name, text_of(body, name)))


ROUTES = (
    *VPCS.routes("vpc", PATH, list=list_all, create=create, update=update, delete=delete),
    Route("vpc.enable_routing", "POST", f"{PATH}/*/enable-routing", route),
    Route("vpc.propagate", "POST", f"{PATH}/*/enable-custom-routes-propagation", propagate),
    Route("vpc.rules", "GET", f"{PATH}/*/acl-rules", rules_get),
    Route("vpc.set_rules", "PUT", f"{PATH}/*/acl-rules", rules_set),
)
