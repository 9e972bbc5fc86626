"""Which addresses a list of IPAM asks for."""

from collections.abc import Callable

from hostler.simulators.scaleway.instances.network.addresses import is_ipv6
from hostler.simulators.scaleway.state.calls import Call
from hostler.simulators.scaleway.state.network_records import Holder, PrivateIp
from hostler.simulators.scaleway.state.records import Address

KINDS = (
    "custom",
    "instance_server",
    "instance_ip",
    "instance_private_nic",
    "lb_server",
    "fip_ip",
    "vpc_gateway",
    "vpc_gateway_network",
    "k8s_node",
    "k8s_cluster",
    "rdb_instance",
    "redis_cluster",
    "baremetal_server",
    "baremetal_private_nic",
    "llm_deployment",
    "mgdb_instance",
    "apple_silicon_server",
    "apple_silicon_private_nic",
    "serverless_container",
    "serverless_function",
    "vpn_gateway",
    "ddl_datalab",
    "kafka_cluster",
    "search_db",
)
Ip = PrivateIp | Address


def holder_of(ip: Ip) -> Holder | None:
    """Return what has an address."""
    if isinstance(ip, PrivateIp):
        return ip.holder
    server = ip.server
    return server and Holder(kind="instance_server", id=server.id, mac=None)


def filter_of(call: Call) -> Callable[[Ip], bool]:
    """Return the filter that a query asks for; all of the tags must be there."""
    tests: list[Callable[[Ip], bool]] = [*of_holder(call), *of_place(call)]
    six, tags, attached = call.flag("is_ipv6"), call.texts("tags"), call.flag("attached")
    project, organization = call.id("project_id"), call.id("organization_id")
    ids = call.ids("ip_ids")

    def keep(ip: Ip) -> bool:
        ipv6 = ip.six if isinstance(ip, PrivateIp) else is_ipv6(ip)
        return (
            six in ("", "true" if ipv6 else "false")
            and attached in ("", "true" if holder_of(ip) else "false")
            and all(tag in ip.tags for tag in tags)
            and project in ("", ip.project)
            and organization in ("", ip.organization)
            and (not ids or ip.id in ids)
            and all(test(ip) for test in tests)
        )

    return keep


def of_holder(call: Call) -> list[Callable[[Ip], bool]]:
    """Return the filters by what has an address."""
    ids = [*call.ids("resource_id"), *call.ids("resource_ids")]
    kinds = {call.choice("resource_type", *KINDS), *call.texts("resource_types")} - {""}
    name, mac = call.text("resource_name"), call.text("mac_address").lower()

    def keep(ip: Ip) -> bool:
        holder = holder_of(ip)
        if holder is None:
            return not (ids or kinds or name or mac)
        label = holder.body()["name"] or ""
        return (
            (not ids or holder.id in ids)
            and (not kinds or holder.kind in kinds)
            and name in str(label)
            and mac in ("", (holder.mac or "").lower())
        )

    return [keep]


def of_place(call: Call) -> list[Callable[[Ip], bool]]:
    """Return the filters by where an address comes from."""
    network, subnet = call.id("private_network_id"), call.id("subnet_id")
    vpc, zonal = call.id("vpc_id"), call.text("zonal")

    def keep(ip: Ip) -> bool:
        if isinstance(ip, Address):
            return not (network or subnet or vpc) and zonal in ("", ip.zone)
        return (
            not zonal
            and network in ("", ip.network.id)
            and subnet in ("", ip.network.subnets[ip.six])
            and vpc in ("", ip.network.vpc.id)
        )

    return [keep]
