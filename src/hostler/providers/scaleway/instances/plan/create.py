"""Create: from the resources that exist to a server that is on, one call after the other. Pure.

The order: addresses, the server with its volumes, owner tags and rates of the volumes, user data
and networks while it is off, and then power, once. Whatever exists is taken as it is, so that going
on after a crash is the same as beginning.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from hostler.domain.ids import ResourceId
from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.machine import CallState, Known, Machine
from hostler.domain.model.resource import Condition, Resource, Slot
from hostler.providers.scaleway.common.owner_tags import server_name
from hostler.providers.scaleway.common.settings import Template

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
    whose,
)

FAMILIES = ("routed_ipv4", "routed_ipv6")


@dataclass(frozen=True, slots=True)
class Site:
    """What there is to build with: the record, the template, and the resource in each slot."""

    machine: Machine
    template: Template
    resources: Mapping[Slot, Resource]

    @property
    def addresses(self) -> tuple[Slot, ...]:
        """The address slots that the template asks for."""
        return tuple(Slot("address", index) for index in self.template.addresses)

    @property
    def server(self) -> Resource | None:
        """The machine's server, or None."""
        return self.resources.get(SERVER)

    @property
    def planned(self) -> bool:
        """Whether the server is a plan's placeholder: then everything hoped of it is so."""
        return self.server is not None and self.server.status == "planned"

    @property
    def known(self) -> Known | None:
        """What the record knows of the bound server, or None."""
        place = self.machine.place(SERVER)
        return next((known for known in place.known if known.id == place.bound), None)

    def open(self, slot: Slot) -> bool:
        """Tell whether a slot has no resource and none was ever bound to it: it may be filled."""
        return slot not in self.resources and self.machine.bound(slot) is None

    def done(self, fact: str) -> bool:
        """Tell whether a fact was recorded of the bound server, and not of one before it."""
        at = self.machine.fact(fact)
        return at is not None and self.known is not None and at >= self.known.since

    def volume(self, index: int) -> ResourceId | None:
        """Return the id of a volume, a plan's placeholder, or None where none is seen."""
        resource = self.resources.get(Slot("volume", index))
        if resource is not None:
            return resource.id
        return ResourceId(f"<volume {index}>") if self.planned else None

    def call(self, kind: str, slot: Slot, effect: Effect, args: Arguments) -> Call:
        """Return a repeatable call on nothing yet, for this machine."""
        return Call(
            kind=kind,
            slot=slot,
            zone=self.machine.offer.zone,
            effect=effect,
            attempt=self.known.attempt if self.known else 0,
            args=(*whose(self.machine), *args),
        )


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
    )
    call = site.call(MAKE_SERVER, SERVER, Effect.MAKE, args)
    return _once(call, site.machine.place(SERVER).attempt + 1, Shows.RESOURCE)


def _once(call: Call, attempt: int, shows: Shows) -> Call:
    return Call(
        kind=call.kind,
        slot=call.slot,
        zone=call.zone,
        effect=call.effect,
        target=call.target,
        attempt=attempt,
        once=True,
        shows=shows,
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
    """Attach the addresses that hang on nothing: they were given with the server's creation."""
    unbind = [
        site.resources[slot]
        for slot in site.addresses
        if site.resources[slot].condition is Condition.FREE
        and site.resources[slot].owner is None
        and not site.planned
    ]
    args: Arguments = (("server", str(server.id)),)
    return tuple(
        _on(site.call(ATTACH_ADDRESS, resource.slot, Effect.CHANGE, args), resource.id)
        for resource in unbind
    )


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
    if not site.template.cloud_init or site.done("user_data"):
        return ()
    args: Arguments = (("bytes", len(site.template.cloud_init.encode())),)
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
            f"network {network}",
        )
        for network in site.template.networks
        if network not in joined and not site.done(f"network {network}")
    )


def _power_on(site: Site, server: Resource) -> tuple[Call, ...]:
    """Switch on, once: a server that went off after that is not switched on again from here."""
    return _switch_on(site, server) if _whole(site) and not _was_on(site) else ()


def _switch_on(site: Site, server: Resource) -> tuple[Call, ...]:
    if not site.planned and "poweron" not in server.allowed:
        return ()
    call = _on(site.call(POWER_ON, SERVER, Effect.CHANGE, ()), server.id)
    return (_once(call, call.attempt, Shows.POWER),)


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
