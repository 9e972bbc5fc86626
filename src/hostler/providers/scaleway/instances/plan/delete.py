"""Delete: from the resources that exist to none, or to a server in standby. Pure.

Never a fixed sequence: an address goes at once (that stops its cost), a server by `terminate` where
the API allows that and by deletion when it is off, a volume once nothing holds it. Whatever is on
its way somewhere is waited for. Standby is `stop_in_place` at Scaleway: the server is on the bill
as before, and comes back in seconds (reference/scaleway-instances.md, actions and timings).
"""

from collections.abc import Iterable

from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.machine import CallState, Machine
from hostler.domain.model.resource import Condition, Resource, taken_id
from hostler.providers.scaleway.common.owner_tags import pooled

from .calls import (
    DELETE_ADDRESS,
    DELETE_SERVER,
    DELETE_VOLUME,
    NOTE_VOLUMES,
    RELEASE_ADDRESS,
    SERVER,
    STAND_BY,
    TERMINATE,
    UNPROTECT,
    Arguments,
    whose,
)


def stand_by(machine: Machine, resources: tuple[Resource, ...]) -> tuple[Call, ...]:
    """Return the call that sends the machine's server to standby, once, while it is up."""
    bound = machine.bound(SERVER)
    server = next((resource for resource in resources if resource.id == bound), None)
    if server is None or server.condition is not Condition.UP:
        return ()
    asked = machine.last_asked(SERVER, STAND_BY)
    if (
        asked is not None
        and asked.at >= machine.since
        and asked.call_state in {CallState.DONE, CallState.OPEN}
    ):
        return ()
    if "stop_in_place" not in server.allowed:
        return ()
    return (
        Call(
            kind=STAND_BY,
            slot=SERVER,
            zone=server.zone,
            effect=Effect.CHANGE,
            target=server.id,
            attempt=machine.place(SERVER).attempt,
            once=True,
            shows=Shows.REST,
            args=whose(machine),
        ),
    )


def clear(
    machine: Machine, resources: Iterable[Resource], servers: Iterable[Resource], *, unprotect: bool
) -> tuple[Call, ...]:
    """Return the calls that remove these resources, as far as they may be made now.

    `servers` are all servers of the machine: a volume that one of them holds is waited for.
    `unprotect` says that a server's protection is ours to lift.
    """
    holders = {server.id for server in servers}
    ordered = sorted(
        resources, key=lambda resource: (_ORDER[resource.slot.kind], resource.slot, resource.id)
    )
    calls = list[Call | None](_unnoted(machine, ordered))
    for resource in ordered:
        match resource.slot.kind:
            case "address":
                calls.append(_address(machine, resource))
            case "server":
                calls.append(_server(machine, resource, unprotect=unprotect))
            case _:
                calls.append(_volume(machine, resource, held=resource.owner in holders))
    return tuple(call for call in calls if call is not None)


def _address(machine: Machine, address: Resource) -> Call | None:
    """Return the call that gives an address back, or deletes it; none for one that lost its tags.

    By the machine's own record that one was taken from a pool: somebody else keeps it. Where it
    still says that it is ours, that alone is taken away.
    """
    if pooled(address.id):
        lost = address.owner_tag is None and address.status != "promised"
        return None if lost else _call(machine, address, RELEASE_ADDRESS)
    taken = taken_id(address.id, machine.id)
    if any(known.id == taken for known in machine.place(address.slot).known):
        return _change(machine, address, RELEASE_ADDRESS)
    return _call(machine, address, DELETE_ADDRESS)


def _unnoted(machine: Machine, resources: list[Resource]) -> tuple[Call, ...]:
    """Return calls that write down the volumes of servers, where the record has them not yet.

    Once a server is gone nothing tells any more which unmarked volumes it had. A machine that has
    no record, as in a reclaim, has nowhere to write them down. The record of one that was ready has
    all that is its own: somebody hung on it what it lacks.
    """
    if machine.health.was_ready is not None:
        return ()
    known = {str(resource.id) for resource in resources}
    known |= {str(entry.id) for place in machine.places for entry in place.known}
    calls = list[Call]()
    for server in (
        resource for resource in resources if resource.slot.kind == "server" and machine.version
    ):
        fact = f"volumes of {server.id} noted"
        held = [entry for entry in server.note("volumes").split(",") if entry]
        new = tuple(entry for entry in held if entry.split(":")[1] not in known)
        if new and machine.fact(fact) is None:
            calls.append(_change(machine, server, NOTE_VOLUMES, (("volumes", new),), fact))
    return tuple(calls)


_ORDER = {"address": 0, "server": 1, "volume": 2}


def _server(machine: Machine, server: Resource, *, unprotect: bool) -> Call | None:
    if server.protected:
        # Somebody protected it by hand: that is a word to us. It shows as stuck, not as removed.
        return _change(machine, server, UNPROTECT) if unprotect else None
    if "terminate" in server.allowed:
        return _call(machine, server, TERMINATE)
    if server.condition is Condition.OFF and (server.allowed or server.status == "planned"):
        return _call(machine, server, DELETE_SERVER)
    return None


def _volume(machine: Machine, volume: Resource, *, held: bool) -> Call | None:
    if held or volume.condition is not Condition.FREE:
        return None
    return _call(machine, volume, DELETE_VOLUME)


def _call(machine: Machine, resource: Resource, kind: str) -> Call:
    type_ = resource.type
    return Call(
        kind=kind,
        slot=resource.slot,
        zone=resource.zone,
        effect=Effect.DESTROY,
        target=resource.id,
        attempt=resource.owner_tag.attempt if resource.owner_tag else 0,
        args=(*whose(machine), *((("type", type_),) if type_ else ())),
    )


def _change(
    machine: Machine, resource: Resource, kind: str, args: Arguments = (), fact: str = ""
) -> Call:
    return Call(
        kind=kind,
        fact=fact,
        slot=resource.slot,
        zone=resource.zone,
        effect=Effect.CHANGE,
        target=resource.id,
        attempt=resource.owner_tag.attempt if resource.owner_tag else 0,
        args=(*whose(machine), *args),
    )
