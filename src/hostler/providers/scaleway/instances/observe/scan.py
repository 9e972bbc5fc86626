"""Scan: everything of one kind in one zone, or everything of one machine, as the API shows it.

Nothing in here raises for what the outside does: a listing that is not whole says why.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

from hostler.domain.ids import ResourceId, Zone
from hostler.domain.model.resource import Scope
from hostler.ports.clock import Clock
from hostler.providers.scaleway.common.endpoints import Api
from hostler.providers.scaleway.common.errors import TROUBLE, Failed, is_missing
from hostler.providers.scaleway.common.owner_tags import address_id, machine_tag
from hostler.providers.scaleway.common.pages import Listing, Named
from hostler.providers.scaleway.common.wire import BlockVolume, Ip, Server, Volume

AGAIN = timedelta(minutes=1)
"""How long IPAM is left alone after it could not be read."""


class Cards:
    """What was learnt of cards' addresses, zone by zone."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api, self._clock = api, clock
        self._known = dict[Zone, dict[str, str]]()
        self._shut = 0.0

    def of(self, zone: Zone) -> Mapping[str, str]:
        """Return the private IPv4 address of each card, as far as they were learnt."""
        return self._known.get(zone, {})

    async def learn(self, zone: Zone, servers: Iterable[Server], *, whole: bool) -> None:
        """Learn the addresses of these servers' cards; a whole listing lets others be forgotten."""
        cards = {nic.id for server in servers for nic in server.private_nics or () if nic.id}
        known = self._known.get(zone, {})
        if whole and cards != known.keys():
            known = self._known[zone] = {card: ip for card, ip in known.items() if card in cards}
        if cards <= known.keys() or self._clock.boot() < self._shut:
            return
        listing = await self._api.private_addresses(zone)
        if listing.error:
            self._shut = self._clock.boot() + AGAIN.total_seconds()
        found = {
            ip.resource.id: ip.address.partition("/")[0]
            for ip in listing.found.values()
            if ip.resource is not None and ip.address
        }
        self._known[zone] = {**known, **{c: found[c] for c in cards if c in found}}


N = TypeVar("N", bound=Named)


@dataclass(slots=True)
class Answers(Generic[N]):
    """What asking for single ids came to: things, ids that are not there, and errors."""

    found: dict[str, N] = field(default_factory=dict[str, N])
    missing: set[str] = field(default_factory=set[str])
    errors: dict[str, str] = field(default_factory=dict[str, str])


async def ask_each(
    zone: Zone, ids: Iterable[str], read: Callable[[Zone, str], Awaitable[N]]
) -> Answers[N]:
    """Ask for each id by itself."""
    answers = Answers[N]()

    async def one(resource: str) -> None:
        try:
            answers.found[resource] = await read(zone, resource)
        except Failed as failed:
            if is_missing(failed.problem, resource):
                answers.missing.add(resource)
            else:
                answers.errors[resource] = str(failed)
        except TROUBLE as trouble:
            answers.errors[resource] = str(trouble)

    async with asyncio.TaskGroup() as group:
        for resource in ids:
            group.create_task(one(resource))
    return answers


async def servers(api: Api, scope: Scope) -> Listing[Server]:
    """Return the servers of a scope."""
    listing = Listing[Server]() if scope.alone else await api.servers(scope.zone, _tag(scope))
    return _joined(listing, await ask_each(scope.zone, scope.known, api.server))


async def addresses(api: Api, scope: Scope) -> Listing[Ip]:
    """Return the addresses of a scope."""
    listing = Listing[Ip]() if scope.alone else await api.addresses(scope.zone, _tag(scope))
    ids = dict.fromkeys(address_id(resource) for resource in scope.known)
    return _joined(listing, await ask_each(scope.zone, ids, api.address))


def _joined(listing: Listing[N], answers: Answers[N]) -> Listing[N]:
    """Return the listing with what was asked for by itself: that word is newer, also on absence."""
    listing.found.update(answers.found)
    for resource in answers.missing:
        listing.found.pop(resource, None)
    for resource, error in sorted(answers.errors.items()):
        listing.also(f"{resource}: {error}")
    return listing


@dataclass(slots=True)
class Disks:
    """The volumes of a scope: local ones, block ones, and why there may be more."""

    local: Listing[Volume]
    block: Listing[BlockVolume]

    @property
    def error(self) -> str:
        """Why the listing is not whole, or an empty string."""
        errors = dict.fromkeys((self.local.error, self.block.error))
        return "; ".join(error for error in errors if error)


async def volumes(
    api: Api, scope: Scope, owners: Iterable[ResourceId], held: Iterable[ResourceId]
) -> Disks:
    """Return the volumes of a scope, of both generations.

    For one machine: what carries its tag, what hangs on its servers (`owners`), what the bodies of
    its servers name (`held`), and what is known; or that alone, where it is asked for so. A volume
    that only its name tags, and that hangs on nothing, is found by the whole listing alone.
    """
    if scope.machine is None:
        local, block = await _both(api.volumes(scope.zone), api.blocks(scope.zone))
        disks = Disks(local, block)
    elif scope.alone:
        disks, held = Disks(Listing[Volume](), Listing[BlockVolume]()), ()
    else:
        disks = await _of_machine(api, scope, owners)
    listed = {*disks.local.found, *disks.block.found}
    ids = frozenset({*scope.known, *(resource for resource in held if resource not in listed)})
    await _ask_both(api, scope.zone, ids, disks)
    return disks


async def _of_machine(api: Api, scope: Scope, owners: Iterable[ResourceId]) -> Disks:
    tag = _tag(scope)
    local, block = await _both(
        api.volumes(scope.zone, tag), api.blocks(scope.zone, (("tags", tag),))
    )
    for owner in owners:
        hanging = await api.blocks(scope.zone, (("product_resource_id", owner),))
        block.take(hanging.found.values())
        block.also(hanging.error)
    return Disks(local, block)


async def _ask_both(api: Api, zone: Zone, ids: frozenset[ResourceId], disks: Disks) -> None:
    """Ask for volumes of which nobody knows the generation: block storage first."""
    blocks = await ask_each(zone, sorted(ids), api.block)
    _joined(disks.block, blocks)
    rest = sorted(resource for resource in ids if resource not in blocks.found)
    _joined(disks.local, await ask_each(zone, rest, api.volume))


async def _both(
    local: Awaitable[Listing[Volume]], block: Awaitable[Listing[BlockVolume]]
) -> tuple[Listing[Volume], Listing[BlockVolume]]:
    async def first() -> Listing[Volume]:
        return await local

    async def second() -> Listing[BlockVolume]:
        return await block

    async with asyncio.TaskGroup() as group:
        one, other = group.create_task(first()), group.create_task(second())
    return one.result(), other.result()


def _tag(scope: Scope) -> str:
    return machine_tag(scope.machine) if scope.machine else ""
