"""Servers and templates as the second version of the API shows them; its verbs are not served."""

from collections.abc import Callable

from hostler.simulators.scaleway.api.checks import (
    choice_of,
    id_of,
    ids_of,
    objects_of,
    size_of,
    text_of,
    texts_of,
)
from hostler.simulators.scaleway.api.pages import TOKENS
from hostler.simulators.scaleway.api.plain import Sort
from hostler.simulators.scaleway.api.resource import Resource, Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Body, Call
from hostler.simulators.scaleway.state.catalogue import types_of
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.network_records import Plain
from hostler.simulators.scaleway.state.records import Server, State

from .network.interfaces import within_server

ZONE = "/instance/v2alpha1/zones/*"
STATUSES: dict[str, str] = {
    State.STOPPED: "stopped",
    State.STARTING: "starting",
    State.RUNNING: "started",
    State.STOPPING: "stopping",
    State.IN_PLACE: "paused",
    State.LOCKED: "locked",
}
VOLUMES = ("sbs", "l_ssd", "scratch")


def short_body(cloud: Cloud, server: Server) -> dict[str, object]:
    """Return how a list shows a server."""
    group = server.placement_group
    return {
        "id": server.id,
        "project_id": server.project,
        "name": server.name,
        "tags": server.tags,
        "server_type": server.commercial_type,
        "status": STATUSES[server.state],
        "architecture": server.arch,
        "created_at": cloud.zulu(server.created),
        "updated_at": cloud.zulu(server.modified),
        "rescue_mode": server.boot_type == "rescue",
        **({"placement_group_id": group.id} if group else {}),
    }


def body_of(cloud: Cloud, server: Server) -> dict[str, object]:
    """Return the body of a server."""
    ips = [
        {"id": ip.id, "dynamic": ip.dynamic, "status": ip.state, "default": number == 0}
        for number, ip in enumerate(server.addresses)
    ]
    return {
        **short_body(cloud, server),
        "volumes": [
            {"id": one.id, "volume_type": "sbs" if one.kind == "sbs_volume" else one.kind}
            for one in server.volumes.values()
        ],
        "filesystems": [],
        "private_network_interfaces": [within_server(nic) for nic in server.nics.values()],
        "status_detail": server.detail,
        "public_network_interface": {
            "status": "available",
            "mac_address": server.mac,
            "security_group_id": server.security_group.id,
            "ips": ips,
            "dns": f"{server.id}.pub.instances.scw.cloud",
        },
        "zone": server.zone,
    }


def filter_of(call: Call) -> Callable[[Server], bool]:
    """Return the filter that a query asks for; all of the tags must be there."""
    name, tags, project = call.text("name"), call.texts("tags"), call.id("project_id")
    ids, macs, types = (
        call.ids("server_ids"),
        call.texts("mac_addresses"),
        [*call.texts("server_type"), *call.texts("server_types")],
    )
    networks = call.ids("private_network_ids")
    security, places = call.ids("security_group_ids"), call.ids("placement_group_ids")
    return lambda server: (
        name in server.name
        and all(tag in server.tags for tag in tags)
        and project in ("", server.project)
        and (not ids or server.id in ids)
        and (not types or server.commercial_type in types)
        and (not security or server.security_group.id in security)
        and (not places or (server.placement_group and server.placement_group.id) in places)
        and (not macs or server.mac in macs or any(n.mac in macs for n in server.nics.values()))
        and (not networks or any(n.network_id in networks for n in server.nics.values()))
    )


SERVERS: Resource[Server] = Resource(
    stored=lambda cloud: cloud.servers,
    name="instance_server",
    body=short_body,
    style=TOKENS.of("servers"),
    keep=filter_of,
    newest_first=True,
)


def get(cloud: Cloud, call: Call) -> Answer:
    """Show a server."""
    server = cloud.server(call)
    return Answer(200, body_of(cloud, server), subject=server)


def volumes_of(body: Body, name: str) -> list[dict[str, object]]:
    """Return the volumes of a template; what is not said of one is left out."""
    return [template_volume(one) for one in objects_of(body, name)]


def template_volume(body: Body) -> dict[str, object]:
    """Return one volume of a template."""
    optional: dict[str, object] = {
        "image_label": text_of(body, "image_label"),
        "base_snapshot_id": id_of(body, "base_snapshot_id"),
        "perf_iops": size_of(body, "perf_iops"),
    }
    return {
        "volume_type": choice_of(body, "volume_type", *VOLUMES) or VOLUMES[0],
        "name": text_of(body, "name"),
        "tags": texts_of(body, "tags"),
        "size": size_of(body),
        **{name: value for name, value in optional.items() if value},
    }


def networks_of(body: Body, name: str) -> list[dict[str, object]]:
    """Return the private networks of a template."""
    asked = objects_of(body, name)
    return [{"private_network_id": id_of(one, "private_network_id")} for one in asked]


def sold(_cloud: Cloud, call: Call) -> None:
    """Refuse a template of a type that its zone does not have."""
    name = text_of(call.body, "server_type")
    if name not in types_of(call.place):
        raise errors.invalid(("server_type", "constraint", "not a valid value"))


TEMPLATES = Sort(
    name="instance_template",
    key="templates",
    path=f"{ZONE}/templates",
    fields={
        "server_tags": texts_of,
        "server_type": text_of,
        "public_ip_v4_count": size_of,
        "public_ip_v6_count": size_of,
        "volumes": volumes_of,
        "private_networks": networks_of,
        "filesystem_ids": ids_of,
        "security_group_id": id_of,
        "placement_group_id": id_of,
    },
    fixed={},
    filters={},
    place="zone",
    check=sold,
)
OPTIONAL = ("security_group_id", "placement_group_id")


def template_body(cloud: Cloud, template: Plain) -> dict[str, object]:
    """Return the body of a template; ids that it does not have are left out."""
    body = TEMPLATES.body(cloud, template)
    return {
        key: value
        for key, value in body.items()
        if key != "organization_id" and (value or key not in OPTIONAL)
    }


TEMPLATE_RESOURCE: Resource[Plain] = Resource(
    stored=TEMPLATES.stored,
    name=TEMPLATES.name,
    body=template_body,
    style=TOKENS.of(TEMPLATES.key),
    keep=TEMPLATES.keep,
    newest_first=True,
)


def template_create(cloud: Cloud, call: Call) -> Answer:
    """Make a template."""
    answer = TEMPLATES.create(cloud, call)
    return as_template(cloud, answer)


def as_template(cloud: Cloud, answer: Answer) -> Answer:
    """Return the answer about a template as templates are shown."""
    if isinstance(answer.subject, Plain):
        answer.body = template_body(cloud, answer.subject)
    return answer


def template_update(cloud: Cloud, call: Call) -> Answer:
    """Change a template."""
    if call.body.get("server_type") is not None:
        sold(cloud, call)
    return as_template(cloud, TEMPLATES.update(cloud, call))


ROUTES = (
    Route("new_server.list", "GET", f"{ZONE}/servers", SERVERS.list_all),
    Route("new_server.get", "GET", f"{ZONE}/servers/*", get),
    *TEMPLATE_RESOURCE.routes(
        "template", TEMPLATES.path, create=template_create, update=template_update
    ),
)
