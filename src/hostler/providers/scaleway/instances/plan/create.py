"""Create: from the resources that exist to a server that is on, one call after the other. Pure.

The order: addresses, the server with its volumes, owner tags and rates of the volumes, user data
and networks while it is off, and then power, once. Whatever exists is taken as it is, so that going
on after a crash is the same as beginning.
"""

from datetime import datetime

from hostler.domain.ids import ResourceId
from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.machine import CallState
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, Resource, Slot
from hostler.providers.scaleway.common.owner_tags import server_name

from .calls import (
    ATTACH_ADDRESS,
    ATTACH_NETWORK,
    MAKE_ADDRESS,
    MAKE_SERVER,
    POWER_ON,
    SERVER,
    SET_USER_DATA,
    TAG_VOLUME,
    TAKE_ADDRESS,
    Arguments,
    bootstrap,
)
from .drift import drifts
from .site import GROUP, NETWORK, Site

FAMILIES = ("routed_ipv4", "routed_ipv6")


def build(site: Site) -> tuple[Call, ...]:
    """Return the calls that may be made now; empty means wait, or that all is done."""
    if any(site.open(slot) for slot in site.addresses):
        return tuple(_make_address(site, slot) for slot in site.addresses if site.open(slot))
    if any(slot not in site.resources for slot in site.addresses):
        return ()
    if site.open(SERVER):
        return (_make_server(site),)
    return () if site.server is None else _go_on(site, site.server)


def _go_on(site: Site, server: Resource) -> tuple[Call, ...]:
    """Return what is left to do with a server that exists."""
    if server.condition is Condition.STANDBY and site.machine.woken:
        return _switch_on(site, server)
    if server.condition is Condition.UP and site.machine.phase is Phase.READY:
        return drifts(site, server)
    if server.condition is Condition.UP and site.machine.phase is Phase.STARTING:
        return _attach(site, server)  # somebody took one off: nobody would ever reach it
    if server.condition is not Condition.OFF:
        return ()
    calls = (*_attach(site, server), *_owner_tag(site), *_tell(site, server), *_join(site, server))
    return calls or _power_on(site, server)


def _make_address(site: Site, slot: Slot) -> Call:
    kind, args = MAKE_ADDRESS, (("type", FAMILIES[slot.index]),)
    if site.template.pool and slot.index == 0:
        kind, args = TAKE_ADDRESS, (("pool", site.template.pool),)
    call = site.call(kind, slot, Effect.MAKE, args)
    return _once(call, site.machine.place(slot).attempt + 1, Shows.RESOURCE)


def _make_server(site: Site) -> Call:
    offer, template = site.machine.offer, site.template
    args: Arguments = (
        ("name", server_name(site.machine.fleet, site.machine.id)),
        ("type", offer.type),
        ("image", offer.image or template.image),
        ("addresses", tuple(str(site.resources[slot].id) for slot in site.addresses)),
        ("volumes", tuple(str(disk) for disk in template.volumes)),
        *bootstrap(site.machine),
    )
    call = site.call(MAKE_SERVER, SERVER, Effect.MAKE, args)
    fact = GROUP + template.security_group if template.security_group else ""
    return _once(call, site.machine.place(SERVER).attempt + 1, Shows.RESOURCE, fact)


def _once(call: Call, attempt: int, shows: Shows, fact: str = "") -> Call:
    return Call(
        kind=call.kind,
        slot=call.slot,
        zone=call.zone,
        effect=call.effect,
        target=call.target,
        attempt=attempt,
        once=True,
        shows=shows,
        fact=fact,
        args=call.args,
    )


def _on(call: Call, target: ResourceId, fact: str = "") -> Call:
    return Call(
        kind=call.kind,
        slot=call.slot,
        zone=call.zone,
        effect=call.effect,
        target=target,
        attempt=call.attempt,
        fact=fact,
        args=call.args,
    )


def _attach(site: Site, server: Resource) -> tuple[Call, ...]:
    """Attach the addresses that hang on nothing: they were given with the server's creation.

    One that the server shows is attached: the list of addresses is older than the server then.
    """
    unbind = [
        site.resources[slot]
        for slot in site.addresses
        if site.resources[slot].condition is Condition.FREE
        and site.resources[slot].owner is None
        and not _shows(server, site.resources[slot])
        and not site.planned
    ]
    args: Arguments = (("server", str(server.id)),)
    return tuple(
        _on(site.call(ATTACH_ADDRESS, resource.slot, Effect.CHANGE, args), resource.id)
        for resource in unbind
    )


def _shows(server: Resource, address: Resource) -> bool:
    return bool(address.address) and server.address == address.address


def _owner_tag(site: Site) -> tuple[Call, ...]:
    """Tag the volumes and set their rates; wait for those that no observation shows yet."""
    calls = list[Call]()
    for index, disk in enumerate(site.template.volumes):
        fact, volume = f"volume {index} tagged", site.volume(index)
        if volume is None or site.done(fact):
            continue
        args: Arguments = (("type", disk.type), ("iops", disk.iops))
        call = site.call(TAG_VOLUME, Slot("volume", index), Effect.CHANGE, args)
        calls.append(_on(call, volume, fact))
    return tuple(calls)


def _tell(site: Site, server: Resource) -> tuple[Call, ...]:
    """Write the user data, which only the first boot reads."""
    own, fleets = bootstrap(site.machine), site.template.cloud_init
    if not (own or fleets) or site.done("user_data"):
        return ()
    args: Arguments = (*((("bytes", len(fleets.encode())),) if fleets else ()), *own)
    call = site.call(SET_USER_DATA, SERVER, Effect.CHANGE, args)
    return (_on(call, server.id, "user_data"),)


def _join(site: Site, server: Resource) -> tuple[Call, ...]:
    """Join the private networks.

    Repeatable, although it makes a card: the server's own body tells which networks it is in, the
    API refuses a second card in the same network, and cards go with their server.
    """
    joined = server.note("nics").split(",")
    return tuple(
        _on(
            site.call(ATTACH_NETWORK, SERVER, Effect.CHANGE, (("network", network),)),
            server.id,
            NETWORK + network,
        )
        for network in site.template.networks
        if network not in joined and not site.done(NETWORK + network)
    )


def _power_on(site: Site, server: Resource) -> tuple[Call, ...]:
    """Switch on, once: a server that went off after that is not switched on again from here."""
    return _switch_on(site, server) if _whole(site) and not _was_on(site) else ()


def _switch_on(site: Site, server: Resource) -> tuple[Call, ...]:
    """Switch on, and note the security group, where the template left that to the project."""
    if not site.planned and "poweron" not in server.allowed:
        return ()
    call = _on(site.call(POWER_ON, SERVER, Effect.CHANGE, ()), server.id)
    group = server.note("security_group")
    known = any(site.done(fact) for fact in site.facts if fact.startswith(GROUP))
    fact = GROUP + group if group and not known else ""
    return (_once(call, call.attempt, Shows.POWER, fact),)


def _whole(site: Site) -> bool:
    """Tell whether every slot is bound, and everything is written that only a start would read."""
    volumes = range(0 if site.planned else len(site.template.volumes))
    slots = (SERVER, *site.addresses, *(Slot("volume", index) for index in volumes))
    facts = [f"volume {index} tagged" for index in range(len(site.template.volumes))]
    return all(site.machine.bound(slot) for slot in slots) and all(site.done(f) for f in facts)


def _was_on(site: Site) -> bool:
    asked = site.machine.last_asked(SERVER, POWER_ON)
    since: datetime | None = site.known.since if site.known else None
    return (
        asked is not None
        and asked.call_state is CallState.DONE
        and (since is None or asked.at >= since)
    )
