"""Listings: which processes know the count of what there is, by what the world answered them (S3).

Where a kind of thing in a zone was not listed whole to a process lately (its listings failed, were
cut short, or are old), that process does not know how many there are. Then no machine is begun
there, no host is ordered, and nothing is reclaimed: what is recorded is the upper bound that the
count is held at. All of it is the judge's own account: of answers, not of what a provider made of
them.

What counts is the moment of a decision, for that is when the count was used: a call which was
decided on while the count was known may be sent later, and its next attempts are of a machine that
the count has. No other slack is given: a whole listing begins, for the judge, when its first page
is sent, which is after the moment that the program dates it to.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hostler.domain.ids import HostId, MachineId, ResourceId, Zone
from hostler.domain.model.commands import Advance, Command, OrderHosts, Reclaim
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.host import Host, HostGoal
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.testing.invariants import Found, Violation

_FINE: Found = ()

Listed = Mapping[str, tuple[str, ...]]
"""The listings that together show all things of a kind."""

HIDING = ("list_shifted", "pages_shuffled", "truncated_page", "empty_list", "list_without_newest")
"""The faults by which a listing that looks whole lacks something."""


@dataclass(slots=True)
class Listings:
    """What each process was answered of what there is, and when.

    `whole` says when the newest whole listing of a kind in a zone began, `ended` when its last
    answer came; `read` when a thing was last read by its id, or by the tag of its machine.
    """

    whole: dict[tuple[str, Zone, str], float] = field(
        default_factory=dict[tuple[str, Zone, str], float]
    )
    ended: dict[tuple[str, Zone, str], float] = field(
        default_factory=dict[tuple[str, Zone, str], float]
    )
    read: dict[tuple[str, ResourceId], float] = field(
        default_factory=dict[tuple[str, ResourceId], float]
    )

    def got(self, process: str, zone: Zone, kind: str, begun: float, ended: float) -> None:
        """Note that a process was answered all of a whole listing, from then to then."""
        key = (process, zone, kind)
        self.whole[key] = max(begun, self.whole.get(key, begun))
        self.ended[key] = ended

    def doubt(self, process: str, zone: Zone, listings: Iterable[str], oldest: float) -> str:
        """Return why a process does not know what there is, or an empty string.

        `oldest` is when a listing may have begun at the earliest.
        """
        for listing in listings:
            begun = self.whole.get((process, zone, listing))
            if begun is None:
                return f"{listing} of {zone} were never listed whole to {process}"
            if begun < oldest:
                return f"{listing} of {zone} were not listed whole to {process} since {begun:.0f} s"
        return ""


@dataclass(slots=True)
class Counts:
    """S3: what is begun, ordered and reclaimed rests on counts that were known.

    `listed` is what must be listed for each kind: all kinds for a size, for a machine is made of
    things of every kind, and for a reclaim the kind of its thing. `begun` is the doubt, if any, in
    which each machine was begun or host ordered, `decided` the same while that is not saved, and
    `reclaimed` that in which a process decided to take a thing back.
    """

    listed: Listed
    listings: Listings = field(default_factory=Listings)
    begun: dict[MachineId, str] = field(default_factory=dict[MachineId, str])
    decided: dict[tuple[str, MachineId], str] = field(
        default_factory=dict[tuple[str, MachineId], str]
    )
    reclaimed: dict[tuple[str, ResourceId], str] = field(
        default_factory=dict[tuple[str, ResourceId], str]
    )

    def decides(
        self,
        process: str,
        fleet: Fleet,
        commands: Iterable[Command],
        machines: Mapping[MachineId, Machine],
        now: float,
    ) -> None:
        """Note what a process decides to begin and to take back, and whether it knew the count."""
        oldest = now - fleet.timers.observation_limit.total_seconds()

        def doubt(zone: Zone, *kinds: str) -> str:
            listings = [listing for kind in kinds or self.listed for listing in self.listed[kind]]
            return self.listings.doubt(process, zone, listings, oldest)

        for command in commands:
            match command:
                case Advance(machine=machine) if _begins(machine, machines):
                    self.decided[process, machine.id] = doubt(machine.offer.zone)
                case Reclaim(resources=resources):
                    for resource in resources:
                        kind = resource.slot.kind
                        self.reclaimed[process, resource.id] = doubt(resource.zone, kind)
                case OrderHosts(orders=orders):
                    self.begun |= {order.id: doubt(order.offer.zone) for order in orders}
                case _:
                    pass

    def saves(self, process: str, before: Machine | None, machine: Machine) -> None:
        """Note that a process saved a machine: the count at its decision is that of its begin.

        One that died while it saved may have begun it, unheard.
        """
        doubt = self.decided.pop((process, machine.id), None)
        if doubt is None or before is None or machine.version != before.version + 1:
            return
        if before.phase is Phase.PENDING and machine.phase is Phase.STARTING:
            self.begun[machine.id] = doubt

    def creates(self, machine: MachineId, what: str) -> Found:
        """Check something that is made, taken or ordered for a machine."""
        doubt = self.begun.get(machine)
        if not doubt:
            return _FINE
        text = f"{what} for {machine}, which was begun when {doubt}"
        return (Violation(invariant="S3", text=text, machine=machine),)

    def reclaims(self, process: str, thing: ResourceId | HostId, what: str) -> Found:
        """Check something that is done to a thing which no record explains."""
        doubt = self.reclaimed.get((process, ResourceId(thing)))
        if not doubt:
            return _FINE
        return (Violation(invariant="S3", text=f"{what}: reclaimed when {doubt}"),)

    def takes_back(self, process: str, before: Host | None, host: Host) -> Found:
        """Check a host's record by which an orphan is taken back, to be cleaned."""
        begins = host.goal is HostGoal.CLEAN and (before is None or before.goal is None)
        return self.reclaims(process, host.id, f"host {host.id}") if begins else _FINE


def _begins(machine: Machine, machines: Mapping[MachineId, Machine]) -> bool:
    """Tell whether a machine begins that only waited until now."""
    before = machines.get(machine.id)
    waited = before is not None and before.phase is Phase.PENDING
    return waited and machine.phase is Phase.STARTING
