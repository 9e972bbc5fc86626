"""What happens to resources without a request: guests that power off, people with a console."""

from collections.abc import Callable
from functools import partial
from random import Random

from hostler.simulators.scaleway.instances import lifecycle
from hostler.simulators.scaleway.instances.network import addresses
from hostler.simulators.scaleway.macs import operator_actions as mac_actions
from hostler.simulators.scaleway.state.inventory import Estate, touch
from hostler.simulators.scaleway.state.records import Address, Record, Server, State

STRANGE = "hibernating"  # a state that no document knows
OperatorAction = Callable[[Estate, Record, float, Random], bool]


def guest_poweroff(estate: Estate, record: Record, _spell: float, _rng: Random) -> bool:
    """Let the guest of a running server power off: it is stopped in place, and still costs."""
    if not isinstance(record, Server) or record.state != State.RUNNING:
        return False
    lifecycle.in_place(estate, record)
    return True


def delete_server(estate: Estate, record: Record, _spell: float, _rng: Random) -> bool:
    """Delete a server whatever its state; its block volumes and addresses stay."""
    if not isinstance(record, Server) or record.ended is not None:
        return False
    lifecycle.terminated(estate, record)
    return True


def delete_address(estate: Estate, record: Record, _spell: float, _rng: Random) -> bool:
    """Delete an address, attached or not."""
    if not isinstance(record, Address) or record.ended is not None:
        return False
    addresses.remove(estate, record)
    return True


def edit_tags(estate: Estate, record: Record, _spell: float, rng: Random) -> bool:
    """Take all tags from one part of a server, or rename the part."""
    if not isinstance(record, Server) or record.ended is not None:
        return False
    parts: list[Record] = [record, *record.addresses, *record.volumes.values()]
    part = rng.choice(parts)
    if part.tags and rng.random() < 0.7:
        part.tags = []
    else:
        part.name = f"renamed by hand {rng.randrange(1000)}"
    part.modified = estate.now
    touch(estate, record)
    return True


def strange_status(estate: Estate, record: Record, spell: float, _rng: Random) -> bool:
    """Show a state that is not documented, for a spell."""
    if not isinstance(record, Server) or record.ended is not None:
        return False
    record.shown = STRANGE
    touch(estate, record)
    estate.after(spell, partial(usual_status, record))
    return True


def usual_status(server: Server) -> None:
    """Show the true state again."""
    server.shown, server.wire = "", None


def protect(estate: Estate, record: Record, spell: float, _rng: Random) -> bool:
    """Protect a server for a spell."""
    if not isinstance(record, Server) or record.protected or record.ended is not None:
        return False
    record.protected = True
    touch(estate, record)
    end = partial(unprotect, estate, record)
    estate.by_hand[record.id] = end
    estate.after(spell, end)
    return True


def unprotect(estate: Estate, server: Server) -> None:
    """End the protection that somebody gave by hand, once."""
    if estate.by_hand.pop(server.id, None) and server.ended is None:
        server.protected = False
        touch(estate, server)


def lock(estate: Estate, record: Record, spell: float, _rng: Random) -> bool:
    """Lock a server that is at rest, for a spell: it is down, and refuses whatever is asked."""
    back = BACK.get(record.state) if isinstance(record, Server) else None
    if not isinstance(record, Server) or back is None or record.ended is not None:
        return False
    lifecycle.enter(estate, record, State.LOCKED)
    end = partial(unlock, estate, record, back)
    estate.by_hand[locked(record)] = end
    estate.after(spell, end)
    return True


def unlock(estate: Estate, server: Server, back: lifecycle.Step) -> None:
    """Let a locked server be as it was before, once; one that ran boots anew."""
    if estate.by_hand.pop(locked(server), None) and server.ended is None:
        back(estate, server)


def locked(server: Server) -> str:
    """Return under which name the end of a server's lock is kept."""
    return f"{server.id} locked"


BACK: dict[str, lifecycle.Step] = {
    State.RUNNING: lifecycle.running,
    State.STOPPED: lifecycle.stopped,
    State.IN_PLACE: lifecycle.in_place,
}
"""The states in which a server can be locked, and what puts it back there."""

OPERATOR_ACTIONS: dict[str, OperatorAction] = {
    "guest_poweroff": guest_poweroff,
    "server_deleted_by_hand": delete_server,
    "address_deleted_by_hand": delete_address,
    "tag_edited": edit_tags,
    "unknown_status": strange_status,
    "protected_by_hand": protect,
    "server_locked": lock,
    **mac_actions.OPERATOR_ACTIONS,
}
