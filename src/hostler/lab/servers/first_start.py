"""First start: what holds of a server when it is switched on for the first time.

What its first boot reads can be said to it before that alone; and a volume that no record has by
then is one that nobody finds again, should the server and its owner tags go.
"""

from collections.abc import Container

from hostler.domain.model.machine import Machine
from hostler.ports.http import HttpRequest
from hostler.simulators.scaleway.state.records import Server
from hostler.simulators.scaleway.world import World
from hostler.testing.invariants import Found, Violation

from .address_pool import bare
from .as_asked import CLOUD_INIT, NETWORK

_ACTION = "/action"


def first_start(world: World, request: HttpRequest, owner: Machine | None, *, joins: bool) -> Found:
    """Return what is missing of a server of ours that this request switches on at first.

    `owner` is the machine whose record binds it; `joins`, whether servers join a network.
    """
    if not request.path.endswith(_ACTION) or b'"poweron"' not in request.body or owner is None:
        return ()
    server = world.cloud.servers.get(request.path.removesuffix(_ACTION).rpartition("/")[2])
    if server is None or server.turn:
        return ()
    known = {bare(entry.id) for place in owner.places for entry in place.known}
    unrecorded, unsaid = _unrecorded(server, known), _unsaid(server, joins=joins)
    text = f"{server.id} of {owner.id} is switched on, and {unrecorded or unsaid}"
    law = "S1" if unrecorded else "L1" if unsaid else ""
    return (Violation(invariant=law, text=text, machine=owner.id),) if law else ()


def _unrecorded(server: Server, known: Container[str]) -> str:
    lost = [volume.id for volume in server.volumes.values() if volume.id not in known]
    return f"no record has its volume {lost[0]}" if lost else ""


def _unsaid(server: Server, *, joins: bool) -> str:
    if server.user_data.get("cloud-init", b"").decode() != CLOUD_INIT:
        return "was told nothing for its first boot"
    if joins and not any(nic.network_id == NETWORK for nic in server.nics.values()):
        return "is in no private network"
    return ""
