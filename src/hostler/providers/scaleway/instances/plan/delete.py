"""Delete: from the resources that exist to none, by what each resource allows now. Pure.

Never a fixed sequence: an address goes at once (that stops its cost), a server by `terminate` where
the API allows that and by deletion when it is off, a volume once nothing holds it. Whatever is on
its way somewhere is waited for.
"""

from collections.abc import Iterable

from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.machine import Machine
from hostler.domain.model.resource import Condition, Resource
from hostler.providers.scaleway.common.owner_tags import pooled

from .calls import (
    DELETE_ADDRESS,
    DELETE_SERVER,
    DELETE_VOLUME,
    NOTE_VOLUMES,
    RELEASE_ADDRESS,
    TERMINATE,
    UNPROTECT,
    Arguments,
    whose,
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
                kind = RELEASE_ADDRESS if pooled(resource.id) else DELETE_ADDRESS
                calls.append(_call(machine, resource, kind))
            case "server":
                calls.append(_server(machine, resource, unprotect=unprotect))
            case _:
                calls.append(_volume(machine, resource, held=resource.owner in holders))
    return tuple(call for call in calls if call is not None)


def _unnoted(machine: Machine, resources: list[Resource]) -> tuple[Call, ...]:
    """Return calls that write down the volumes of servers, where the record has them not yet.

    Once a server is gone nothing tells any more which unmarked volumes it had. A machine that has
    no record, as in a reclaim, has nowhere to write them down.
    """
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
    machine: Machine, server: Resource, kind: str, args: Arguments = (), fact: str = ""
) -> Call:
    return Call(
        kind=kind,
        fact=fact,
        slot=server.slot,
        zone=server.zone,
        effect=Effect.CHANGE,
        target=server.id,
        attempt=server.owner_tag.attempt if server.owner_tag else 0,
        args=(*whose(machine), *args),
    )
