"""Drift: what of a ready machine's server, addresses, volumes and cards is not as recorded. Pure.

What hangs on nothing is attached again, what lost its tags is tagged again, and what is to be
protected is: all are done twice without harm, and nothing that runs is stopped for them. For the
rest there is a sentence.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.resource import Condition, Resource, Slot
from hostler.providers.scaleway.common.owner_tags import pooled

from .calls import (
    ATTACH_ADDRESS,
    ATTACH_NETWORK,
    LOOK_AT,
    PROTECT,
    SERVER,
    TAG_ADDRESS,
    TAG_SERVER,
    TAG_VOLUME,
)
from .site import GROUP, NETWORK, Site

UNTAGGED = "untagged"
"""The note on what carries no owner tag, and is known to be ours all the same."""


def drifts(site: Site, server: Resource) -> tuple[Call, ...]:
    """Return the calls that mend what differs, and those that only a person can make."""
    found = [*_of_server(site, server), *_networks(site, server)]
    for slot, resource in site.resources.items():
        if resource.status == "promised":  # an answer told of it, and nothing has shown it yet
            continue
        if slot.kind == "address":
            found += _of_address(site, resource, server)
        elif slot.kind == "volume":
            found += _of_volume(site, resource, server)
    return tuple(found)


def _of_server(site: Site, server: Resource) -> Iterator[Call]:
    bought = site.machine.offer.type
    if server.type and bought and server.type != bought:
        yield _person(site, server, f"the server is a {server.type}, and was made as a {bought}")
    groups = [name for name in site.facts if name.startswith(GROUP)]
    group = server.note("security_group")
    if groups and group and GROUP + group not in groups:
        yield _person(
            site, server, f"the server is in security group {group}, and was made in another"
        )
    if server.owner_tag is None or server.note(UNTAGGED):
        yield _mend(site, server, TAG_SERVER, "the server's owner tag is gone")
    elif name := _former(site, server):
        yield _mend(site, server, TAG_SERVER, f"the server's owner tag names fleet {name}")
    if site.template.protected and not server.protected:
        yield _mend(site, server, PROTECT, "the server is not protected")


def _networks(site: Site, server: Resource) -> Iterator[Call]:
    """Join again the networks that this very server was seen to be joined to by us, and left."""
    joined = server.note("nics").split(",")
    for fact in site.facts:
        network = fact.removeprefix(NETWORK)
        if fact.startswith(NETWORK) and network not in joined and site.done(fact):
            what = f"the server is not in private network {network} any more"
            yield replace(
                _mend(site, server, ATTACH_NETWORK, what, ("network", network)),
                fact=f"mended: network {network}",
            )


def _of_address(site: Site, address: Resource, server: Resource) -> Iterator[Call]:
    if address.owner is None and address.condition is Condition.FREE:
        what = f"{address.slot} is not attached any more"
        yield _mend(site, address, ATTACH_ADDRESS, what, ("server", str(server.id)))
    elif address.owner not in {None, server.id}:
        yield _person(site, address, f"{address.slot} is attached to server {address.owner}")
    if address.owner_tag is None:
        yield _tag_again(site, address, f"the owner tag of {address.slot} is gone")
    elif name := _former(site, address):
        yield _tag_again(site, address, f"the owner tag of {address.slot} names fleet {name}")


def _tag_again(site: Site, address: Resource, what: str) -> Call:
    """Return the call that tags an address: one of a pool, so that it is found there again."""
    pool = site.template.pool if pooled(address.id) else ""
    return _mend(site, address, TAG_ADDRESS, what, *((("pool", pool),) if pool else ()))


def _of_volume(site: Site, volume: Resource, server: Resource) -> Iterator[Call]:
    if volume.owner is None and volume.condition is Condition.FREE:
        yield _person(site, volume, f"{volume.slot} is not attached any more")
    elif volume.owner not in {None, server.id}:
        yield _person(site, volume, f"{volume.slot} is attached to server {volume.owner}")
    name = _former(site, volume)
    lacking = volume.owner_tag is None or volume.note(UNTAGGED)
    if (lacking or name) and volume.owner == server.id:
        disks, index = site.template.volumes, volume.slot.index
        rate = disks[index].iops if index < len(disks) else 0
        what = f"the owner tag of {volume.slot} " + (f"names fleet {name}" if name else "is gone")
        call = _mend(site, volume, TAG_VOLUME, what, ("type", volume.type))
        yield replace(call, args=(*call.args, ("iops", rate)))


def _former(site: Site, resource: Resource) -> str:
    """Return the fleet that an owner tag names where it is not the machine's: it had that name."""
    tag = resource.owner_tag
    return str(tag.fleet) if tag is not None and tag.fleet != site.machine.fleet else ""


def _mend(site: Site, resource: Resource, kind: str, what: str, *args: tuple[str, str]) -> Call:
    """Return a repeatable call on what differs."""
    call = site.call(kind, _slot(resource), Effect.CHANGE, args)
    attempt = next((k.attempt for k in site.machine.place(_slot(resource)).known), 0)
    fact = f"mended: {kind} {_slot(resource)}"
    return replace(call, target=resource.id, attempt=attempt, fact=fact, drift=what)


def _person(site: Site, resource: Resource, what: str) -> Call:
    """Return what nobody but a person can mend without harm to what runs there."""
    machine = site.machine
    remedy = (
        "put it back in the provider's console, or have the machine replaced with "
        f"`hostler delete FILE {machine.id}`"
    )
    call = site.call(LOOK_AT, _slot(resource), Effect.NONE, ())
    return replace(call, target=resource.id, drift=what, remedy=remedy)


def _slot(resource: Resource) -> Slot:
    return SERVER if resource.slot.kind == "server" else resource.slot
