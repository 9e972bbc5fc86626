"""Servers of the simulated world, as the world has them, and what somebody does by hand."""

import json
from collections.abc import Sequence
from typing import Any

from hostler.lab.scenes.servers import SECRET, ZONE, Rig
from hostler.ports.http import HttpRequest
from hostler.simulators.scaleway.state.records import Server


def guest(rig: Rig) -> Server:
    """Return the only server of the world, as the world has it."""
    (server,) = rig.servers()
    return _there(rig, server.id)


def ask(rig: Rig, method: str, path: str, body: dict[str, object]) -> dict[str, Any]:
    """Ask the API as a person does, with our project's own key."""
    token = (("X-Auth-Token", SECRET.reveal()), ("Content-Type", "application/json"))
    content = json.dumps(body).encode()
    request = HttpRequest(method=method, path=path, headers=token, body=content)
    response = rig.world.handle(request).response
    assert response is not None
    assert response.status < 300, response.body
    return json.loads(response.body)


def made_by_hand(rig: Rig, tags: Sequence[str] = ()) -> Server:
    """Return a server that somebody made in our project, with these tags."""
    body: dict[str, object] = {
        "name": "by hand",
        "commercial_type": "DEV1-S",
        "image": "ubuntu_noble",
        "project": rig.world.options.project,
        "dynamic_ip_required": False,
        "tags": list(tags),
    }
    made = ask(rig, "POST", f"/instance/v1/zones/{ZONE}/servers", body)
    return _there(rig, made["server"]["id"])


def _there(rig: Rig, server: str) -> Server:
    there = rig.world.cloud.servers.get(server)
    assert there is not None
    return there
