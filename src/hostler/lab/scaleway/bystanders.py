"""Bystanders: others who have resources in the same project, and who delete them."""

from typing import Any

import msgspec

from hostler.domain.ids import FleetName, InstallationId
from hostler.domain.model.resource import OwnerTag, Slot
from hostler.lab.scenario.faults import FORGOTTEN
from hostler.ports.http import HttpRequest
from hostler.simulators.scaleway.world import World

from .owner_tags import Owned, tags_for

SECRET = "5c0ffee0-1234-4abc-8def-0123456789ab"  # noqa: S105 - the simulator takes any UUID
_IPS = "/instance/v1/zones/fr-par-1/ips"
_BLOCKS = "/block/v1/zones/fr-par-1/volumes"
_HEADERS = (("X-Auth-Token", SECRET),)


def crowd(world: World, many: int) -> None:
    """Let somebody have so many addresses and volumes: then lists have several pages."""
    project = world.options.project
    for number in range(many):
        tags = [f"n{number}"]
        _post(world, _IPS, {"project": project, "type": "routed_ipv4", "tags": tags})
        empty = {"size": 5_000_000_000}
        _post(world, _BLOCKS, {"name": tags[0], "project_id": project, "from_empty": empty})


def _post(world: World, path: str, body: object) -> None:
    content = msgspec.json.encode(body)
    world.handle(HttpRequest(method="POST", path=path, headers=_HEADERS, body=content), "somebody")


def ask(world: World, method: str, path: str, body: object) -> Any:
    """Let somebody ask for a change; return the answer's body, or None where it was refused."""
    content = msgspec.json.encode(body)
    request = HttpRequest(method=method, path=path, headers=_HEADERS, body=content)
    response = world.handle(request, "somebody").response
    if response is None or response.status >= 300:
        return None
    return msgspec.json.decode(response.body)


def leave_resource(world: World, installation: InstallationId) -> None:
    """Let an address with our tags lose its machine's record, as by a removal with force."""
    owner_tag = OwnerTag(
        installation=installation,
        fleet=FleetName("web"),
        machine=FORGOTTEN,
        attempt=1,
    )
    tags = list(tags_for(Owned(owner_tag, Slot("address"))))
    body = {"project": world.options.project, "type": "routed_ipv4", "tags": tags}
    _post(world, _IPS, body)


def remove_volume(world: World, volume: str, zone: str) -> None:
    """Let somebody delete a volume, of either generation, if it hangs on nothing."""
    for path in (f"/block/v1/zones/{zone}/volumes", f"/instance/v1/zones/{zone}/volumes"):
        request = HttpRequest(method="DELETE", path=f"{path}/{volume}", headers=_HEADERS)
        world.handle(request, "somebody")
