"""Observe: every Mac of a zone in one listing, or single ones by their ids."""

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import MachineId, ResourceId, Zone
from hostler.domain.model.host import HOST, host_of
from hostler.domain.model.resource import Observation, ObservedScope, Resource, Scope
from hostler.ports.clock import Clock
from hostler.providers.scaleway.common.errors import Failed
from hostler.providers.scaleway.instances.observe.scan import ask_each

from .api.endpoints import MacApi
from .api.networks import Attached, Networks
from .api.wire import Mac
from .plan.read import SERVER, MacReader
from .plan.statuses import strange

FORBIDDEN = 403
DELETED = "read server"
"""What is denied of a Mac that was deleted, as recorded; any other 403 may be a rate limit in
disguise, and proves nothing."""
Sight = tuple[tuple[ObservedScope, ...], tuple[Resource, ...]]


class Read(Struct, frozen=True):
    """A Mac as it was shown last, and the resources that it was read as."""

    mac: Mac
    attached: tuple[Attached, ...] | None
    host: Resource
    allocation_of: Resource | None


class MacObserver:
    """Observes an account's Macs. One listing of a zone serves hosts and allocations."""

    def __init__(
        self,
        api: MacApi,
        clock: Clock,
        reader: Callable[[Zone], MacReader],
        networks: Networks | None = None,
    ) -> None:
        """Observation with what `networks` knows too, where any fleet asks for private networks."""
        self._api, self._clock, self._reader = api, clock, reader
        self._networks = networks
        self._read_before = dict[str, Read]()

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        """Observe these scopes, zones and single hosts side by side."""
        if self._networks is not None:
            for zone in dict.fromkeys(scope.zone for scope in scopes):
                await self._networks.learn(zone)
        whole = [scope for scope in scopes if scope.machine is None]
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._zone(zone, [s for s in whole if s.zone == zone]))
                for zone in dict.fromkeys(scope.zone for scope in whole)
            ]
            tasks += [group.create_task(self._close(s)) for s in scopes if s.machine is not None]
        sights = [task.result() for task in tasks]
        resources = {resource.id: resource for _, listed in sights for resource in listed}
        words = (
            strange(resource.status) for resource in resources.values() if resource.slot == HOST
        )
        return Observation(
            observed=tuple(observed for scopes_seen, _ in sights for observed in scopes_seen),
            resources=tuple(resources.values()),
            strange=tuple(word for word in words if word),
        )

    async def _zone(self, zone: Zone, scopes: list[Scope]) -> Sight:
        begun = self._clock.now()
        listing = await self._api.macs(zone)
        known = {resource for s in scopes for resource in s.known if s.kind == SERVER.kind}
        kinds = {scope.kind for scope in scopes}
        if kinds == {SERVER.kind}:  # it shows all hosts as well, and they are that new by now
            scopes = [*scopes, Scope(zone, HOST.kind)]
        scopes_seen = tuple(_observed(scope, begun, listing.error) for scope in scopes)
        macs = (mac for mac in listing.found.values() if self._is_ours(mac))
        return scopes_seen, self._resources(zone, macs, known)

    async def _close(self, scope: Scope) -> Sight:
        """Ask for the known hosts one by one; where none is known, look for the machine's name."""
        begun = self._clock.now()
        if not scope.known:
            return await self._by_name(scope)
        ids = dict.fromkeys(host_of(resource) for resource in scope.known)
        answers = await ask_each(scope.zone, ids, self._read)
        error = "; ".join(f"{mac}: {why}" for mac, why in sorted(answers.errors.items()))
        macs = (mac for mac in answers.found.values() if self._is_ours(mac))
        resources = self._resources(scope.zone, macs, set(scope.known))
        return (_observed(scope, begun, error),), resources

    async def _by_name(self, scope: Scope) -> Sight:
        begun = self._clock.now()
        listing = await self._api.macs(scope.zone)
        reader = self._reader(scope.zone)
        named = (
            mac
            for mac in listing.found.values()
            if self._is_ours(mac) and reader.host(mac).host.holder == scope.machine
        )
        resources = self._resources(scope.zone, named, set())
        return (_observed(scope, begun, listing.error),), resources

    async def _read(self, zone: Zone, mac: str) -> Mac:
        """Read one host. One that was deleted is forbidden, and a whole listing lacks it then."""
        try:
            return await self._api.mac(zone, mac)
        except Failed as failed:
            if failed.problem.status != FORBIDDEN:
                raise
            listing = await self._api.macs(zone)
            if mac in listing.found:
                return listing.found[mac]
            if listing.error or failed.problem.denied != DELETED:
                raise
            not_found = replace(failed.problem, type="not_found", resource_id=mac)
            raise Failed(not_found) from failed

    def _resources(
        self, zone: Zone, macs: Iterable[Mac], known: set[ResourceId]
    ) -> tuple[Resource, ...]:
        reader, resources = self._reader(zone), list[Resource]()
        wanted = dict[str, list[MachineId]]()
        for resource in known:
            wanted.setdefault(host_of(resource), []).append(MachineId(resource.partition("#")[2]))
        for mac in macs:
            host, named = self._known(reader, mac)
            resources.append(host)
            others = (reader.renamed(mac, machine) for machine in wanted.get(mac.id, ()))
            found = {resource.id: resource for resource in (*others, named) if resource is not None}
            resources.extend(found.values())
        return tuple(resources)

    def _known(self, reader: MacReader, mac: Mac) -> tuple[Resource, Resource | None]:
        """Return the resources of a Mac: the same objects as long as it is shown the same."""
        attached = reader.within(mac)
        read = self._read_before.get(mac.id)
        if read is None or read.mac != mac or read.attached != attached:
            read = Read(mac, attached, reader.host(mac), reader.allocation_of(mac))
            self._read_before[mac.id] = read
        return read.host, read.allocation_of

    def _is_ours(self, mac: Mac) -> bool:
        """Filter again on our side: a Mac of another project is never a resource."""
        return mac.project_id is None or mac.project_id == self._api.project


def _observed(scope: Scope, begun: datetime, error: str) -> ObservedScope:
    return ObservedScope(scope=scope, begun=begun, complete=not error, error=error)
