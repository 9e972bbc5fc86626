"""The same cards as the second version of the API shows them, flat and without a zone."""

from collections.abc import Callable

from hostler.simulators.scaleway.api.checks import id_of, ids_of
from hostler.simulators.scaleway.api.pages import TOKENS
from hostler.simulators.scaleway.api.resource import Resource
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.records import Nic

from .nics import RESOURCE, joined, remove, retag

PATH = "/instance/v2alpha1/zones/*/private-network-interfaces"


def body_of(cloud: Cloud, nic: Nic) -> dict[str, object]:
    """Return the body of a card."""
    return {
        **within_server(nic),
        "project_id": nic.project,
        "server_id": nic.server.id,
        "tags": nic.tags,
        "created_at": cloud.zulu(nic.created),
        "updated_at": cloud.zulu(nic.modified),
    }


def within_server(nic: Nic) -> dict[str, object]:
    """Return how a server shows one of its cards."""
    return {
        "id": nic.id,
        "private_network_id": nic.network_id,
        "mac_address": nic.mac,
        "status": "available" if nic.available else "attaching",
        "ip_ids": [ip.id for ip in nic.ips],
        "security_group_id": "",
    }


def filter_of(call: Call) -> Callable[[Nic], bool]:
    """Return the filter that a query asks for; all of the tags must be there."""
    servers, networks = call.ids("server_ids"), call.ids("private_network_ids")
    macs, tags = call.texts("mac_addresses"), call.texts("tags")
    project = call.id("project_id")
    return lambda nic: (
        (not servers or nic.server.id in servers)
        and (not networks or nic.network_id in networks)
        and (not macs or nic.mac in macs)
        and all(tag in nic.tags for tag in tags)
        and project in ("", nic.project)
    )


INTERFACES: Resource[Nic] = Resource(
    stored=lambda cloud: cloud.nics,
    name=RESOURCE,
    body=body_of,
    style=TOKENS.of("private_network_interfaces"),
    keep=filter_of,
    newest_first=True,
)


def create(cloud: Cloud, call: Call) -> Answer:
    """Give a server a card."""
    server_id = id_of(call.body, "server_id")
    if not server_id:
        raise errors.invalid(("server_id", "required", "required key not provided"))
    ids = ids_of(call.body, "ip_ids")
    return INTERFACES.answer(cloud, joined(cloud, call, cloud.server(call, server_id), ids))


def update(cloud: Cloud, call: Call) -> Answer:
    """Change the tags of a card."""
    nic = INTERFACES.find(cloud, call)
    retag(cloud, call, nic)
    return INTERFACES.answer(cloud, nic)


def delete(cloud: Cloud, call: Call) -> Answer:
    """Take a card from its server."""
    nic = INTERFACES.find(cloud, call)
    remove(cloud, nic)
    return Answer(204, subject=nic)


ROUTES = INTERFACES.routes("interface", PATH, create=create, update=update, delete=delete)
