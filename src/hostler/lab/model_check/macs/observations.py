"""Smalleyes: what one installation sees: its looks, and what a turn knows by them.

It is gathered as the controllers gather it, out of the least that must be remembered.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from hostler.controllers.observe.observer import due_scopes
from hostler.controllers.runtime.settings import Settings
from hostler.domain.hosts.claims import free_hosts
from hostler.domain.hosts.orphans import strays
from hostler.domain.ids import (
    AccountName,
    FleetName,
    HostId,
    InstallationId,
    MachineId,
    PartId,
    TurnId,
)
from hostler.domain.model.fleet import Caps, Fleet, Timers
from hostler.domain.model.host import Host, host_of
from hostler.domain.model.inventory import View, merge
from hostler.domain.model.machine import Machine
from hostler.domain.model.resource import Look, Looked, Part, Scope
from hostler.domain.model.snapshot import HostsSeen, Seen
from hostler.domain.observation.ownership import bound_in, sort_out

from .calls import HOSTS, OFFER, PLACE, Shown, provider_of, reader_of
from .installation import MINE, NOW, TICK, Saw, Side, saw_of, tied_to, view_of

_NEVER = timedelta(days=3000)
_MANY = 10**6
_ALWAYS = Settings(quiet=timedelta(0), rare=timedelta(0), busy_first=timedelta(0))
ACCOUNT = AccountName("main")


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Who a side is: its installation, its fleet, and the ids that its machines get in order."""

    installation: InstallationId
    fleet: FleetName
    ids: tuple[MachineId, ...]
    size: int
    settle: int

    @property
    def longest(self) -> int:
        """The longest time in ticks that any question asks for, and one more."""
        return self.settle


class Eyes:
    """Looks at the world for one installation, and gathers what its turns see."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.provider = provider_of(home.installation, home.fleet, home.settle * TICK)
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
                look_limit=home.settle * TICK,
                tries=(TICK,),
            ),
            caps=Caps(per_sweep=_MANY, per_hour=_MANY, share=float(_MANY), creates=_MANY),
        )
        self._reader = reader_of(home.installation)

    def looked(self, side: Side, shown: tuple[Shown, ...]) -> Side:
        """Return the side after a listing of the zone, and looks at the ids that are in doubt."""
        view = self.view(side.saw)
        scopes = due_scopes(
            provider=self.provider,
            zones=(PLACE,),
            machines={self.home.fleet: side.machines},
            view=view,
            now=NOW,
            settings=_ALWAYS,
            asked=side.asked,
        )
        looked = tuple(Looked(scope=s, begun=NOW, complete=True) for s in scopes)
        seen = merge(view, Look(looked=looked, parts=self._parts(scopes, shown)))
        return replace(side, saw=saw_of(seen, NOW), asked=(), looked=True)

    def _parts(self, scopes: tuple[Scope, ...], shown: tuple[Shown, ...]) -> tuple[Part, ...]:
        """Return what the provider's look makes of the Macs: hosts, tenancies, renamed ones."""
        kind, parts = self.provider.traits.main.kind, dict[PartId, Part]()
        known = {part for scope in scopes if scope.kind == kind for part in scope.known}
        for host, box in zip(HOSTS, shown, strict=False):
            mac = box.mac(host)
            found = [self._reader.host(mac)]
            for part in sorted(known):
                if host_of(part) == host:
                    renamed = self._reader.renamed(mac, MachineId(part.partition("#")[2]))
                    found += [renamed] if renamed is not None else []
            named = self._reader.tenancy(mac)
            found += [named] if named is not None else []
            parts |= {part.id: part for part in found}
        return tuple(parts.values())

    def view(self, saw: Saw) -> View:
        """Return what was seen as the program remembers it."""
        return view_of(saw, self.provider.traits.kinds, PLACE)

    def moving(self, side: Side) -> tuple[frozenset[MachineId], frozenset[HostId]]:
        """Return the machines and the hosts with calls in flight."""
        machines = frozenset(t.holder.id for t in side.tasks if isinstance(t.holder, Machine))
        hosts = frozenset(t.holder.id for t in side.tasks if isinstance(t.holder, Host))
        return machines, hosts

    def seen(self, side: Side) -> Seen:
        """Return what a turn sees, gathered as the controllers gather it."""
        view, hosts = self.view(side.saw), {host.id: host for host in side.hosts}
        moving, busy = self.moving(side)
        home, fleet, ties = self.home, self.fleet, dict(side.ties)
        living = {machine.id: machine for machine in side.machines}
        past = {machine.id: machine for machine in side.history}
        found = sort_out(
            view,
            fleet.name,
            {*living, *moving},
            lambda: bound_in(side.machines),
            (home.installation,),
        )
        kind = self.provider.traits.hosts
        fits = partial(self.provider.fits, fleet.name)
        return Seen(
            turn=TurnId("turn"),
            now=NOW,
            fleet=fleet,
            row=side.row,
            machines=side.machines,
            view=view,
            traits=self.provider.traits,
            epoch=MINE,
            took=side.took,
            steady=side.took,
            ours=(home.installation,),
            foreign=found.foreign,
            unexplained=tuple(strays(view, kind, hosts, ties, living, past)),
            moving=moving,
            hosts=hosts,
            ties=tied_to(side),
            free=free_hosts(fleet, view, kind, hosts, {*ties, *busy}, fits, NOW),
        )

    def hosts_seen(self, side: Side) -> HostsSeen:
        """Return what a turn of the hosts sees."""
        return HostsSeen(
            turn=TurnId("turn"),
            now=NOW,
            account=ACCOUNT,
            hosts={host.id: host for host in side.hosts},
            ties=dict(side.ties),
            machines={machine.id: machine for machine in side.machines},
            past={machine.id: machine for machine in side.history},
            view=self.view(side.saw),
            traits=self.provider.traits,
            epoch=MINE,
            took=side.took,
            absence_gap=TICK,
            moving=self.moving(side)[1],
        )
