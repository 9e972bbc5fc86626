"""Listing: what exists in an account, scope by scope; a scope that failed says so."""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime

from hostler.domain.ids import FleetName, ResourceId, Zone
from hostler.domain.model.resource import Observation, ObservedScope, Resource, Scope
from hostler.ports.clock import Clock
from hostler.providers.scaleway.common.catalogue import Catalogue
from hostler.providers.scaleway.common.endpoints import Api
from hostler.providers.scaleway.common.owner_tags import from_tags, pool_of
from hostler.providers.scaleway.common.pages import Listing
from hostler.providers.scaleway.common.wire import Ip, Server

from . import scan
from .lost_tags import Roots
from .read import Kin, Reader, kin_of, shared_id
from .scan import Cards
from .statuses import strange

Sight = tuple[ObservedScope, tuple[Resource, ...]]


class Observer:
    """Observes an account. Remembers, zone by zone, the tagged servers and their volumes.

    That memory only tells which unmarked volumes and addresses hang on a server of ours; where it
    is missing, servers are listed first.
    """

    def __init__(
        self,
        api: Api,
        clock: Clock,
        catalogue: Catalogue,
        pools: Mapping[FleetName, str],
        *,
        networks: bool = False,
    ) -> None:
        """Observation with the tags of fleets' pools; `networks`: private addresses matter too."""
        self._api, self._clock, self._catalogue, self._pools = api, clock, catalogue, pools
        self._kin = dict[Zone, dict[ResourceId, Kin]]()
        self._cards, self._networks = Cards(api, clock), networks
        self._roots = Roots()

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        """Observe these scopes: zones side by side, and in each the servers first."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._zone(zone, [s for s in scopes if s.zone == zone]))
                for zone in dict.fromkeys(scope.zone for scope in scopes)
            ]
        sights = [sight for task in tasks for sight in task.result()]
        resources = {resource.id: resource for _, seen in sights for resource in seen}
        words = (strange(resource.slot.kind, resource.status) for resource in resources.values())
        return Observation(
            observed=tuple(observed for observed, _ in sights),
            resources=tuple(resources.values()),
            strange=tuple(word for word in words if word),
        )

    async def _zone(self, zone: Zone, scopes: list[Scope]) -> list[Sight]:
        if any(scope.kind == "server" and scope.machine is None for scope in scopes):
            await self._catalogue.refresh(zone)
        sights = await self._together(s for s in scopes if s.kind == "server")
        others = await self._together(s for s in scopes if s.kind != "server")
        return [self._completed(sight) for sight in sights] + others

    def _completed(self, sight: Sight) -> Sight:
        """Return a whole listing of servers with those that only their root volumes tell of."""
        observed, resources = sight
        zone, seen = observed.scope.zone, {resource.id for resource in resources}
        if observed.scope.machine is not None:
            return sight
        claimed = self._roots.claimed(zone)
        fresh = {resource: found for resource, found in claimed.items() if resource not in seen}
        reader = self._reader(zone)
        late = (reader.server(s, claim) for s, claim in fresh.values() if self._ours(s.project))
        kin = {resource: kin_of(server, claim) for resource, (server, claim) in fresh.items()}
        self._kin.setdefault(zone, {}).update(
            {resource: one for resource, one in kin.items() if one}
        )
        return observed, (*resources, *late)

    async def _together(self, scopes: Iterable[Scope]) -> list[Sight]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._scope(scope)) for scope in scopes]
        return [task.result() for task in tasks]

    async def _scope(self, scope: Scope) -> Sight:
        begun = self._clock.now()
        match scope.kind:
            case "server":
                return await self._servers(scope, begun)
            case "address":
                return await self._addresses(scope, begun)
            case "volume":
                return await self._volumes(scope, begun)
            case _:
                return _sight(scope, begun, (), f"there is no kind of resource called {scope.kind}")

    async def _servers(self, scope: Scope, begun: datetime) -> Sight:
        listing = await scan.servers(self._api, scope)
        self._remember(scope, listing)
        if self._networks:
            ours = [server for server in listing.found.values() if self._kin_of(scope.zone, server)]
            whole = scope.machine is None and not listing.error
            await self._cards.learn(scope.zone, ours, whole=whole)
        reader = self._reader(scope.zone)
        found = (server for server in listing.found.values() if self._ours(server.project))
        resources = (
            reader.server(server, self._roots.claim(scope.zone, server)) for server in found
        )
        return _sight(scope, begun, _wanted(scope, resources, frozenset()), listing.error)

    async def _addresses(self, scope: Scope, begun: datetime) -> Sight:
        owners, error = await self._owners(scope)
        listing = await scan.addresses(self._api, scope)
        listing.also(error)
        reader = self._reader(scope.zone)
        resources = (
            reader.address(ip)
            for ip in listing.found.values()
            if self._ours(ip.project) and not self._at_rest(ip)
        )
        return _sight(scope, begun, _wanted(scope, resources, owners), listing.error)

    async def _volumes(self, scope: Scope, begun: datetime) -> Sight:
        owners, error = await self._owners(scope)
        kin = self._kin.get(scope.zone, {})
        mine = sorted(owners) if scope.machine else []
        held = [volume for owner in mine for volume in kin[owner].volumes]
        disks = await scan.volumes(self._api, scope, mine, held)
        disks.local.also(error)
        listed = (*disks.local.found.values(), *disks.block.found.values())
        whole = scope.machine is None and not disks.error
        self._roots.see_volumes(scope.zone, listed, whole=whole)
        reader = self._reader(scope.zone)
        resources = [reader.volume(v) for v in disks.local.found.values() if self._ours(v.project)]
        blocks = disks.block.found.values()
        resources += [reader.block(v) for v in blocks if self._ours(v.project_id)]
        return _sight(scope, begun, _wanted(scope, resources, owners), disks.error)

    def _reader(self, zone: Zone) -> Reader:
        catalogue = self._catalogue
        types, kin = catalogue.types(zone), self._kin.get(zone, {})
        return Reader(zone, catalogue.prices, types, kin, self._cards.of(zone), self._pools)

    def _ours(self, project: str | None) -> bool:
        """Filter again on our side: a thing of another project is never a resource."""
        return project is None or project == self._api.project

    def _at_rest(self, ip: Ip) -> bool:
        """Tell whether an address is a pool's and no machine's: whatever it hangs on, not ours."""
        tags = ip.tags or []
        pool = pool_of(tags) or not set(self._pools.values()).isdisjoint(tags)
        return bool(pool) and from_tags(tags, "address") is None

    def _remember(self, scope: Scope, listing: Listing[Server]) -> None:
        """A whole listing replaces what was remembered of a zone; anything less only adds."""
        found, zone = listing.found.values(), scope.zone
        if scope.machine is None:
            self._roots.see_servers(zone, found)
        kin = {shared_id(server.id): one for server in found if (one := self._kin_of(zone, server))}
        if scope.machine is not None:
            if scope.zone in self._kin:
                self._kin[scope.zone].update(kin)
        elif listing.error:
            self._kin[scope.zone] = {**self._kin.get(scope.zone, {}), **kin}
        else:
            self._kin[scope.zone] = kin

    def _kin_of(self, zone: Zone, server: Server) -> Kin | None:
        return kin_of(server, self._roots.claim(zone, server))

    async def _owners(self, scope: Scope) -> tuple[frozenset[ResourceId], str]:
        """Return the servers whose unmarked resources belong in this scope, and what hid some."""
        error = ""
        if scope.zone not in self._kin:
            whole = Scope(scope.zone, "server")
            listing = await scan.servers(self._api, whole)
            error = f"servers: {listing.error}" if listing.error else ""
            if not error:
                self._remember(whole, listing)
        kin = self._kin.get(scope.zone, {})
        every = scope.machine is None
        return frozenset(
            s for s, one in kin.items() if every or one.machine == scope.machine
        ), error


def _wanted(
    scope: Scope, resources: Iterable[Resource], owners: frozenset[ResourceId]
) -> tuple[Resource, ...]:
    """Return the resources of a scope: tagged, if only in part, hanging on such, or known."""
    if scope.machine is None:
        return tuple(
            p
            for p in resources
            if p.owner_tag or p.partial_tag or p.owner in owners or p.id in scope.known
        )
    return tuple(
        p
        for p in resources
        if p.id in scope.known
        or (p.owner_tag.machine == scope.machine if p.owner_tag else p.owner in owners)
    )


def _sight(scope: Scope, begun: datetime, resources: tuple[Resource, ...], error: str) -> Sight:
    observed = ObservedScope(scope=scope, begun=begun, complete=not error, error=error)
    return observed, resources
