"""Servers of the simulated world, as the world has them, and those that somebody makes by hand."""

import json
from collections.abc import Sequence

from hostler.lab.scenes.servers import SECRET, ZONE, Rig
from hostler.ports.http import HttpRequest
from hostler.simulators.scaleway.state.records import Server


def guest(rig: Rig) -> Server:
    """Return the only server of the world, as the world has it."""
    (server,) = rig.servers()
    return _there(rig, server.id)


def made_by_hand(rig: Rig, tags: Sequence[str] = ()) -> Server:
    """Return a server that somebody made in our project, with these tags."""
    body = {
        "name": "by hand",
        "commercial_type": "DEV1-S",
        "image": "ubuntu_noble",
        "project": rig.world.options.project,
        "dynamic_ip_required": False,
        "tags": list(tags),
    }
    token = (("X-Auth-Token", SECRET.reveal()), ("Content-Type", "application/json"))
    path = f"/instance/v1/zones/{ZONE}/servers"
    made = rig.world.handle(
        HttpRequest(method="POST", path=path, headers=token, body=json.dumps(body).encode())
    ).response
    assert made is not None
    return _there(rig, json.loads(made.body)["server"]["id"])


def _there(rig: Rig, server: str) -> Server:
    there = rig.world.cloud.servers.get(server)
    assert there is not None
    return there
