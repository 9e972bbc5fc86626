"""What is for sale, as the API tells it: types, their availability, quotas; and the dashboard."""

from functools import partial

from hostler.simulators.scaleway.api.pages import NEWER, arranged, dict_page, page_of
from hostler.simulators.scaleway.api.resource import Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.catalogue import (
    GB,
    GIB,
    HOURS_IN_MONTH,
    ServerType,
    quota_name,
    types_of,
)
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.mac_catalogue import TYPES, mac_quota_name
from hostler.simulators.scaleway.state.records import Server, State

ZONE = "/instance/v1/zones/*"


def type_body(sort: ServerType) -> dict[str, object]:
    """Return the body of a type."""
    local = sort.local * GB
    return {
        "alt_names": [],
        "arch": sort.arch,
        "ncpus": sort.cores,
        "ram": sort.memory * GIB,
        "gpu": sort.gpus,
        "gpu_info": gpu_info(sort) if sort.gpus else None,
        "mig_profile": None,
        "volumes_constraint": {"min_size": 0, "max_size": local},
        "per_volume_constraint": {"l_ssd": {"min_size": GB if local else 0, "max_size": local}},
        "scratch_storage_max_size": 0,
        "scratch_storage_max_volumes_count": 0,
        "monthly_price": round(sort.price * HOURS_IN_MONTH, 4),
        "hourly_price": sort.price,
        "capabilities": {
            "boot_types": ["local", "rescue"],
            "placement_groups": True,
            "block_storage": True,
            "hot_snapshots_local_volume": True,
            "private_network": 8,
            "max_file_systems": 0,
        },
        "network": {
            "interfaces": [
                {"internal_bandwidth": None, "internet_bandwidth": 200_000_000},
                {"internal_bandwidth": 200_000_000, "internet_bandwidth": None},
            ],
            "sum_internal_bandwidth": 200_000_000,
            "sum_internet_bandwidth": 200_000_000,
            "ipv6_support": True,
        },
        "block_bandwidth": 41_943_040,
        "end_of_service": False,
    }


def gpu_info(sort: ServerType) -> dict[str, object]:
    """Return what a type says of its GPU."""
    return {
        "gpu_manufacturer": "NVIDIA",
        "gpu_name": sort.name.split("-", maxsplit=1)[0],
        "gpu_memory": 24 * GIB,
    }


def type_list(_cloud: Cloud, call: Call) -> Answer:
    """List the types of a zone."""
    return dict_page(
        call,
        "servers",
        ((sort.name, type_body(sort)) for _, sort in sorted(types_of(call.place).items())),
    )


def availability(cloud: Cloud, call: Call) -> Answer:
    """List how much there is of the types of a zone."""
    found = partial(cloud.availability, call.place)
    entries = ((name, {"availability": found(name)}) for name in sorted(types_of(call.place)))
    return dict_page(call, "servers", entries)


def compatible(cloud: Cloud, call: Call) -> Answer:
    """List the types that a server could be changed to."""
    server = cloud.server(call)
    names = [sort.name for sort in types_of(call.place).values() if sort.arch == server.arch]
    return Answer(200, {"compatible_types": names}, subject=server)


def dashboard(cloud: Cloud, call: Call) -> Answer:
    """Count what an organisation has in a zone."""
    own = call.organization
    servers = [found for found in cloud.servers.within(call.place) if found.organization == own]
    ips = [found for found in cloud.addresses.within(call.place) if found.organization == own]
    locals_ = [found for found in cloud.locals.within(call.place) if found.organization == own]
    count = {
        "volumes_count": len(locals_),
        "running_servers_count": sum(server.state == State.RUNNING for server in servers),
        "servers_by_types": by_type(servers),
        "images_count": 0,
        "snapshots_count": len(list(cloud.snapshots.within(call.place))),
        "servers_count": len(servers),
        "ips_count": len(ips),
        "security_groups_count": len(list(cloud.groups.within(call.place))),
        "ips_unused": sum(address.server is None for address in ips),
        "volumes_l_ssd_count": sum(volume.kind == "l_ssd" for volume in locals_),
        "volumes_b_ssd_count": 0,
        "volumes_l_ssd_total_size": sum(v.size for v in locals_ if v.kind == "l_ssd"),
        "volumes_b_ssd_total_size": 0,
        "private_nics_count": len(list(cloud.nics.within(call.place))),
        "placement_groups_count": len(list(cloud.placements.within(call.place))),
        "volumes_scratch_count": sum(volume.kind == "scratch" for volume in locals_),
    }
    return Answer(200, {"dashboard": count})


def by_type(servers: list[Server]) -> dict[str, int]:
    """Count servers by their type."""
    counts: dict[str, int] = {}
    for server in servers:
        counts[server.commercial_type] = counts.get(server.commercial_type, 0) + 1
    return counts


def quota_list(cloud: Cloud, call: Call) -> Answer:
    """List the quotas of the key's organisation."""
    organization = call.id("organization_id")
    if not organization:
        raise errors.invalid(("organization_id", "required", "required key not provided"))
    if organization != call.organization:
        raise errors.forbidden("read", "organization")
    quotas = sorted(cloud.options.quotas.items())
    quotas = arranged(call, quotas, {"name": lambda quotum: quotum[0]})
    return page_of(cloud, call, quotas, quotum_body, NEWER.of("quota"))


def quotum_body(quotum: tuple[str, int]) -> dict[str, object]:
    """Return the body of a quota: a limit of the whole organisation, as it is counted here."""
    key, limit = quotum
    return {
        "name": mac_quota_name(key) if key in TYPES else quota_name(key),
        "limit": limit,
        "locality_type": "global",
        "limits": [{"global": True, "limit": limit}],
    }


VOLUMES: dict[str, object] = {
    "l_ssd": {
        "display_name": "Local SSD",
        "capabilities": {"snapshot": True},
        "constraints": {"min": GB, "max": 800 * GB},
    },
    "scratch": {
        "display_name": "Scratch",
        "capabilities": {"snapshot": False},
        "constraints": {"min": GB, "max": 60_000 * GB},
    },
}


def volume_types(_cloud: Cloud, call: Call) -> Answer:
    """List the types of local volumes."""
    return dict_page(call, "volumes", VOLUMES.items())


ROUTES = (
    Route("local_volume_type.list", "GET", ZONE + "/products/volumes", volume_types),
    Route("quota.list", "GET", "/iam/v1alpha1/quota", quota_list),
    Route("type.list", "GET", ZONE + "/products/servers", type_list),
    Route("type.availability", "GET", ZONE + "/products/servers/availability", availability),
    Route("type.compatible", "GET", ZONE + "/servers/*/compatible-types", compatible),
    Route("dashboard.get", "GET", ZONE + "/dashboard", dashboard),
)
