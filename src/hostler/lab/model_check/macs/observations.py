"""Observations: what one installation sees, and what a cycle knows by it.

It is gathered as the controllers gather it, out of the least that must be remembered.
"""

from datetime import timedelta
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from hostler.controllers.observe.due import Load, due_scopes
from hostler.controllers.runtime.settings import Settings
from hostler.domain.hosts.free import free_hosts
from hostler.domain.hosts.orphans import orphans
from hostler.domain.ids import (
    AccountName,
    CycleId,
    FleetName,
    HostId,
    InstallationId,
    MachineId,
    ResourceId,
)
from hostler.domain.model.fleet import Caps, Fleet, Timers
from hostler.domain.model.host import Host, host_of
from hostler.domain.model.inventory import Inventory, merge
from hostler.domain.model.machine import Machine
from hostler.domain.model.resource import Observation, ObservedScope, Resource, Scope
from hostler.domain.model.snapshot import AccountSnapshot, Snapshot
from hostler.domain.observation.ownership import bound_in, sort_out

from .calls import HOSTS, OFFER, PLACE, Sighting, provider_of, reader_of
from .installation import MINE, NOW, TICK, Saw, Side, inventory_of, saw_of, tied_to

_NEVER = timedelta(days=3000)
_MANY = 10**6
_ALWAYS = Settings(quiet=timedelta(0), rare=timedelta(0), busy_first=timedelta(0))
_IDLE = Load(rate=1.0, crowded=False)
ACCOUNT = AccountName("main")


class Home(Struct, frozen=True, kw_only=True):
    """Who a side is: its installation, its fleet, and the ids that its machines get in order."""

    installation: InstallationId
    fleet: FleetName
    ids: tuple[MachineId, ...]
    size: int
    consistency_delay: int

    @property
    def longest(self) -> int:
        """The longest time in ticks that any question asks for, and one more."""
        return self.consistency_delay


class Observer:
    """Observes the world for one installation, and gathers what its cycles see."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.provider = provider_of(home.installation, home.fleet, home.consistency_delay * TICK)
        self.fleet = Fleet(
            name=home.fleet,
            account=ACCOUNT,
            size=home.size,
            maximum=home.size + 1,
            offers=(OFFER,),
            timers=Timers(
                admit=_NEVER,
                start=_NEVER,
                stop=_NEVER,
                absence_gap=TICK,
                observation_limit=home.consistency_delay * TICK,
                tries=(TICK,),
            ),
            caps=Caps(per_reclaim=_MANY, per_hour=_MANY, share=float(_MANY), creates=_MANY),
        )
        self._reader = reader_of(home.installation)

    def observed(self, side: Side, sightings: tuple[Sighting, ...]) -> Side:
        """Return the side after a listing of the zone, and looks at the ids that are in doubt."""
        inventory = self.inventory(side.saw)
        due = due_scopes(
            provider=self.provider,
            zones=(PLACE,),
            machines={self.home.fleet: side.machines},
            inventory=inventory,
            now=NOW,
            settings=_ALWAYS,
            load=_IDLE,
        )
        scopes = tuple(dict.fromkeys((*due, *side.asked)))
        observed = tuple(ObservedScope(scope=s, begun=NOW, complete=True) for s in scopes)
        snapshot = merge(
            inventory,
            Observation(observed=observed, resources=self._resources(scopes, sightings)),
        )
        return replace(side, saw=saw_of(snapshot, NOW), asked=(), observed=True)

    def _resources(
        self, scopes: tuple[Scope, ...], sightings: tuple[Sighting, ...]
    ) -> tuple[Resource, ...]:
        """Return what the provider makes of the Macs: hosts, allocations, renamed ones."""
        kind, resources = self.provider.capabilities.main.kind, dict[ResourceId, Resource]()
        known = {resource for scope in scopes if scope.kind == kind for resource in scope.known}
        for host, box in zip(HOSTS, sightings, strict=False):
            mac = box.mac(host)
            found = [self._reader.host(mac)]
            for resource in sorted(known):
                if host_of(resource) == host:
                    renamed = self._reader.renamed(mac, MachineId(resource.partition("#")[2]))
                    found += [renamed] if renamed is not None else []
            named = self._reader.allocation_of(mac)
            found += [named] if named is not None else []
            resources |= {resource.id: resource for resource in found}
        return tuple(resources.values())

    def inventory(self, saw: Saw) -> Inventory:
        """Return what was seen as the program remembers it."""
        return inventory_of(saw, self.provider.capabilities.kinds, PLACE)

    def moving(self, side: Side) -> tuple[frozenset[MachineId], frozenset[HostId]]:
        """Return the machines and the hosts with calls in flight."""
        machines = frozenset(t.holder.id for t in side.tasks if isinstance(t.holder, Machine))
        hosts = frozenset(t.holder.id for t in side.tasks if isinstance(t.holder, Host))
        return machines, hosts

    def snapshot(self, side: Side) -> Snapshot:
        """Return what a cycle sees, gathered as the controllers gather it."""
        account, (moving, _) = self.hosts_snapshot(side), self.moving(side)
        home, fleet = self.home, self.fleet
        found = sort_out(
            account.inventory,
            frozenset({fleet.name}),
            {*account.machines, *moving},
            lambda: bound_in(side.machines),
            (home.installation,),
        )
        fits = partial(self.provider.fits, fleet.name)
        return Snapshot(
            cycle=CycleId("turn"),
            now=NOW,
            fleet=fleet,
            row=side.row,
            machines=side.machines,
            inventory=account.inventory,
            capabilities=self.provider.capabilities,
            epoch=MINE,
            took=side.took,
            steady=side.took,
            ours=(home.installation,),
            foreign=found.foreign,
            unexplained=tuple(orphans(account)),
            moving=moving,
            hosts=account.hosts,
            bindings=tied_to(side),
            free=free_hosts(account, fleet, fits),
        )

    def hosts_snapshot(self, side: Side) -> AccountSnapshot:
        """Return what a cycle of the hosts sees."""
        return AccountSnapshot(
            cycle=CycleId("turn"),
            now=NOW,
            account=ACCOUNT,
            hosts={host.id: host for host in side.hosts},
            bindings=dict(side.bindings),
            machines={machine.id: machine for machine in side.machines},
            past={machine.id: machine for machine in side.history},
            issued=frozenset(),
            inventory=self.inventory(side.saw),
            fleets=(self.fleet,),
            capabilities=self.provider.capabilities,
            epoch=MINE,
            took=side.took,
            steady=side.took,
            absence_gap=TICK,
            moving_hosts=self.moving(side)[1],
        )
