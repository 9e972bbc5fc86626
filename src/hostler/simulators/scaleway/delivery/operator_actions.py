"""What happens to resources without a request: guests that power off, people with a console."""

from functools import partial
from random import Random
from typing import Any

from hostler.simulators.scaleway.instances import lifecycle
from hostler.simulators.scaleway.instances.network import addresses
from hostler.simulators.scaleway.macs import operator_actions as mac_actions
from hostler.simulators.scaleway.state.inventory import Cloud, touch
from hostler.simulators.scaleway.state.operator_action import OperatorAction
from hostler.simulators.scaleway.state.record import Record
from hostler.simulators.scaleway.state.records import Address, Server, State

STRANGE = "hibernating"  # a state that no document knows


def guest_poweroff(cloud: Cloud, server: Server, _spell: float, _rng: Random) -> None:
    """Let the guest of a running server power off: it is stopped in place, and still costs."""
    lifecycle.in_place(cloud, server)


def is_running(server: Server) -> bool:
    """Tell if the guest of a server can power off."""
    return server.state == State.RUNNING


def is_unprotected(server: Server) -> bool:
    """Tell if a server can be protected."""
    return not server.protected


def is_lockable(server: Server) -> bool:
    """Tell if a server is in a state that it can be put back into."""
    return server.state in BACK


def delete_server(cloud: Cloud, server: Server, _spell: float, _rng: Random) -> None:
    """Delete a server whatever its state; its block volumes and addresses stay."""
    lifecycle.terminated(cloud, server)


def delete_address(cloud: Cloud, address: Address, _spell: float, _rng: Random) -> None:
    """Delete an address, attached or not."""
    addresses.remove(cloud, address)


def is_attached(address: Address) -> bool:
    """Tell if an address can be taken off a server."""
    return address.server is not None


def detach_address(cloud: Cloud, address: Address, _spell: float, _rng: Random) -> None:
    """Take an address off its server; it stays, and costs."""
    addresses.detach(cloud, address)


def edit_tags(cloud: Cloud, server: Server, _spell: float, rng: Random) -> None:
    """Take all tags from one part of a server, or rename the part."""
    parts: list[Record] = [server, *server.addresses, *server.volumes.values()]
    part = rng.choice(parts)
    if part.tags and rng.random() < 0.7:
        part.tags = []
    else:
        part.name = f"renamed by hand {rng.randrange(1000)}"
    part.modified = cloud.now
    touch(cloud, server)


def strange_status(cloud: Cloud, server: Server, spell: float, _rng: Random) -> None:
    """Show a state that is not documented, for a spell."""
    server.displayed = STRANGE
    touch(cloud, server)
    cloud.after(spell, partial(usual_status, server))


def usual_status(server: Server) -> None:
    """Show the true state again."""
    server.displayed, server.wire = "", None


def protect(cloud: Cloud, server: Server, spell: float, _rng: Random) -> None:
    """Protect a server for a spell."""
    server.protected = True
    touch(cloud, server)
    end = partial(unprotect, cloud, server)
    cloud.spell_ends[server.id] = end
    cloud.after(spell, end)


def unprotect(cloud: Cloud, server: Server) -> None:
    """End the protection that somebody gave by hand, once."""
    if cloud.spell_ends.pop(server.id, None) and server.ended is None:
        server.protected = False
        touch(cloud, server)


def lock(cloud: Cloud, server: Server, spell: float, _rng: Random) -> None:
    """Lock a server that is at rest, for a spell: it is down, and refuses whatever is asked."""
    end = partial(unlock, cloud, server, BACK[server.state])
    lifecycle.enter(cloud, server, State.LOCKED)
    cloud.spell_ends[locked(server)] = end
    cloud.after(spell, end)


def unlock(cloud: Cloud, server: Server, back: lifecycle.Step) -> None:
    """Let a locked server be as it was before, once; one that ran boots anew."""
    if cloud.spell_ends.pop(locked(server), None) and server.ended is None:
        back(cloud, server)


def locked(server: Server) -> str:
    """Return under which name the end of a server's lock is kept."""
    return f"{server.id} locked"


BACK: dict[str, lifecycle.Step] = {
    State.RUNNING: lifecycle.running,
    State.STOPPED: lifecycle.stopped,
    State.IN_PLACE: lifecycle.in_place,
}
"""The states in which a server can be locked, and what puts it back there."""

OPERATOR_ACTIONS: dict[str, OperatorAction[Any]] = {
    "guest_poweroff": OperatorAction(Server, guest_poweroff, is_running),
    "server_deleted_by_hand": OperatorAction(Server, delete_server),
    "address_deleted_by_hand": OperatorAction(Address, delete_address),
    "address_detached_by_hand": OperatorAction(Address, detach_address, is_attached),
    "tag_edited": OperatorAction(Server, edit_tags),
    "unknown_status": OperatorAction(Server, strange_status),
    "protected_by_hand": OperatorAction(Server, protect, is_unprotected),
    "server_locked": OperatorAction(Server, lock, is_lockable),
    **mac_actions.OPERATOR_ACTIONS,
}
