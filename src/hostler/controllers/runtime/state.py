"""State: what one process remembers of one account between cycles; nothing here is progress."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from operator import itemgetter

from hostler.domain.decision.cache import DecisionCache
from hostler.domain.decision.ripe import speaks_against
from hostler.domain.decision.view import HostTerms
from hostler.domain.ids import FleetName, MachineId, ResourceId, Zone
from hostler.domain.model.commands import Provable
from hostler.domain.model.fleet import FleetRow, renames
from hostler.domain.model.host import HostCondition, host_of
from hostler.domain.model.inventory import Inventory, merge
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Observation, Resource, Scope
from hostler.domain.model.snapshot import Answered, Orphan, Probed, Request, RequestKind
from hostler.domain.observation.blockers import paused_by
from hostler.ports.clock import Clock
from hostler.ports.hosts import BuysHosts, KeepsHosts, PoolsHosts

from .host_records import HostRecords
from .settings import Account

_ADOPTION_WAITS = timedelta(minutes=1)


@dataclass(slots=True)
class AccountState:
    """The newest inventory, caches of records, probes, and what is in flight.

    Losing all of it costs observations, never truth: every cycle could be the first. The records of
    `stale` fleets must be read again; `recalled` machines are in flight and wanted no longer;
    `taken` are numbers of requests that a reading under way may still bring, `answered` those of
    requests that could not be taken out when they were answered; `provable` is from when on
    listings prove that orphans are gone, as the fleets' last decisions have it. `recorded` are all
    fleets on record, of every account, as they were read last. `unread`: the orphan report must be
    read. `unseen` is how what machines have was seen last, while the newest observations lack it.
    `keeps` is the provider where its machines are allocations of hosts. With `reads_only`
    nothing is recorded, not even that a fleet exists: for plans.
    """

    account: Account
    host_records: HostRecords = field(init=False)
    keeps: KeepsHosts | None = field(init=False)
    pools: PoolsHosts | None = field(init=False)
    buys: BuysHosts | None = field(init=False)
    inventory: Inventory = field(default_factory=Inventory)
    unseen: Mapping[ResourceId, Resource] = field(default_factory=dict[ResourceId, Resource])
    rows: dict[FleetName, FleetRow] = field(default_factory=dict[FleetName, FleetRow])
    recorded: frozenset[FleetName] = frozenset()
    machines: dict[FleetName, dict[MachineId, Machine]] = field(
        default_factory=dict[FleetName, dict[MachineId, Machine]]
    )
    ordered: dict[FleetName, tuple[Machine, ...]] = field(
        default_factory=dict[FleetName, tuple[Machine, ...]]
    )
    cache: dict[FleetName, DecisionCache] = field(default_factory=dict[FleetName, DecisionCache])
    orphans: tuple[Orphan, ...] = ()
    requests: tuple[Request, ...] = ()
    probed: dict[MachineId, Probed] = field(default_factory=dict[MachineId, Probed])
    answers: dict[MachineId, Answered] = field(default_factory=dict[MachineId, Answered])
    asking: set[MachineId] = field(default_factory=set[MachineId])
    probing: set[MachineId] = field(default_factory=set[MachineId])
    moving: set[MachineId] = field(default_factory=set[MachineId])
    asked: tuple[Scope, ...] = ()
    world: dict[FleetName, str] = field(default_factory=dict[FleetName, str])
    wave: dict[FleetName, bool] = field(default_factory=dict[FleetName, bool])
    missing: dict[FleetName, int] = field(default_factory=dict[FleetName, int])
    pace: timedelta = timedelta(0)
    due: datetime | None = None
    expecting: bool = False
    has_observed: bool = False
    unread: bool = True
    reads_only: bool = False
    stale: set[FleetName] = field(default_factory=set[FleetName])
    recalled: set[MachineId] = field(default_factory=set[MachineId])
    provable: dict[FleetName, Provable] = field(default_factory=dict[FleetName, Provable])
    taken: frozenset[int] = frozenset()
    answered: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        provider = self.account.provider
        self.host_records = HostRecords(self.account.name)
        hosts = isinstance(provider, KeepsHosts) and bool(provider.capabilities.hosts)
        self.keeps = provider if hosts and isinstance(provider, KeepsHosts) else None
        self.pools = provider if isinstance(provider, PoolsHosts) else None
        self.buys = provider if isinstance(provider, BuysHosts) else None

    def quiet(self, shortest: timedelta) -> timedelta:
        """Return the pause between two observations when nothing is expected of machines.

        It is the provider's, unless a host is to be cleaned: what proves that is waited for.
        """
        longest = self.account.provider.capabilities.quiet
        hosts = self.host_records.hosts.values() if longest > shortest else ()
        dirty = any(one.condition is HostCondition.DIRTY and one.goal is not None for one in hosts)
        return shortest if dirty else max(shortest, longest)

    def terms(self, fleet: FleetName) -> HostTerms | None:
        """Return what the provider says of a fleet's hosts; None where machines take none."""
        if self.keeps is None:
            return None
        return HostTerms(
            fits=partial(self.keeps.fits, fleet),
            pool=self.pools.pool_of(fleet) if self.pools is not None else "",
            limits=self.buys.limits(fleet) if self.buys is not None else None,
        )

    def keep(self, machine: Machine) -> None:
        """Remember a record as it was stored; one that is deleted is forgotten."""
        self.ordered.pop(machine.fleet, None)
        records = self.machines.setdefault(machine.fleet, {})
        if machine.phase is Phase.DELETED:
            records.pop(machine.id, None)
        else:
            records[machine.id] = machine

    def living(self, fleet: FleetName) -> tuple[Machine, ...]:
        """Return the fleet's living machines, by serial: the same tuple until one changes."""
        if fleet not in self.ordered:
            records = self.machines.get(fleet, {}).values()
            self.ordered[fleet] = tuple(sorted(records, key=lambda m: (m.serial, m.id)))
        return self.ordered[fleet]

    def adopted(self) -> frozenset[FleetName]:
        """Return the fleets whose machines another one takes over: they decide nothing."""
        return frozenset(row.adopts for row in self.rows.values() if row.adopts is not None)

    def suspected(self) -> tuple[Zone, ...]:
        """Return the zones of orphans on record, without those of other accounts' fleets.

        Their zones may be none of this provider's: to list them would fail for ever. The orphan of
        a fleet that nobody knows may be this account's.
        """
        fleets = self.account.fleets
        own = {fleet.name for fleet in fleets} | renames(fleets, self.rows).keys()
        others = self.recorded - own
        return tuple({orphan.zone for orphan in self.orphans if orphan.fleet not in others})

    def orders(self) -> dict[MachineId, datetime]:
        """Return when each order was made that is on a row."""
        return {order.id: order.at for row in self.rows.values() for order in row.orders}

    def distrust(self) -> None:
        """Read all records again before the next cycle: a save failed, or another's won."""
        self.stale.update(fleet.name for fleet in self.account.fleets)
        self.host_records.distrust()
        self.unread = True

    def is_recalled(self, machine: Machine) -> bool:
        """Tell whether a machine in flight should get no further."""
        if machine.goal is not Goal.PRESENT:
            return False
        return machine.id in self.recalled or any(
            request.machine == machine.id and request.kind is RequestKind.DELETE
            for request in self.requests
        )

    def forget_gone(self) -> None:
        """Forget what was heard of machines that are gone, as soon as it is more than there are."""
        heard = (len(self.probed), len(self.answers), len(self.recalled))
        if max(heard) <= sum(map(len, self.machines.values())):
            return
        living = {machine for records in self.machines.values() for machine in records}
        for machine in self.probed.keys() - living:
            del self.probed[machine]
        for machine in self.answers.keys() - living:
            del self.answers[machine]
        self.recalled &= living

    def learn(self, observation: Observation) -> None:
        """Merge an observation into the inventory; remember what machines have that it lacks.

        But not of a host that it shows: what a machine had of that is over, and others may have it.
        """
        before, self.inventory = self.inventory.sightings, merge(self.inventory, observation)
        after = self.inventory.sightings
        if after is before:
            return
        lacking = {id_: one.resource for id_, one in before.items() if id_ not in after}
        if not lacking and not self.unseen:
            return
        records = chain.from_iterable(records.values() for records in self.machines.values())
        ours = frozenset(chain.from_iterable(machine.ids() for machine in records))
        unseen = {**self.unseen, **lacking}
        lacked = ours - {i for i in ours if i in after or ResourceId(host_of(i)) in after}
        self.unseen = {id_: one for id_, one in unseen.items() if id_ in lacked}

    def forget_observations(self) -> None:
        """Throw away everything that was seen: across a jump of the clock, or another's lease."""
        self.inventory, self.unseen, self.has_observed = Inventory(), {}, False
        self.probed.clear()
        self.answers.clear()

    def adoption(self, now: datetime) -> datetime | None:
        """Return when adoption was last asked for, where no whole observation is newer yet."""
        return max((r.at for r in self.requests if self.awaits_listing(r, now)), default=None)

    def awaits_listing(self, request: Request, now: datetime) -> bool:
        """Tell whether an adoption waits until everything was listed since it was asked for.

        It is about what exists then: what an older listing lacked would be left behind. Where a
        listing fails it is taken up all the same, after a minute, however often it is asked again.
        """
        at = request.at
        if request.kind is not RequestKind.ADOPT or not at <= now < at + _ADOPTION_WAITS:
            return False
        return min(self.inventory.whole.values(), default=at - _ADOPTION_WAITS) < at

    def doubtful(self, now: datetime) -> datetime | None:
        """Return when a change of power was last asked for against which the last sighting speaks.

        A retirement waits for the next listing as it comes: a new name has to be seen before it.
        """
        inventory, found = self.inventory, list[datetime]()
        for request in self.requests:
            sighting = inventory.sightings.get(ResourceId(request.host or ""))
            if sighting is None or request.kind is not RequestKind.CYCLE:
                continue
            if inventory.observed_at(sighting) <= request.at <= now:
                found += [request.at] if speaks_against(request.kind, sighting.resource) else []
        return max(found, default=None)

    def lacking(self, now: datetime) -> Provable:
        """Return from when on a listing can prove by now that orphans are gone which one lacked."""
        times = (each for found in self.provable.values() for each in found.items())
        return {place: at for place, at in sorted(times, key=itemgetter(1)) if at <= now}

    def protection(self, name: FleetName, now: datetime) -> str:
        """Return why nothing of a fleet may be destroyed: protected, or paused, or about to be."""
        fleet = next((one for one in self.account.fleets if one.name == name), None)
        if fleet is not None and fleet.protected:
            return "the fleet is protected: set `protected = false` to let its machines end"
        asked = (r for r in self.requests if r.fleet == name and r.kind is RequestKind.PAUSE)
        if (request := next(asked, None)) is not None:
            return f"the fleet is paused by {request.actor}"
        row = self.rows.get(name)
        return paused_by(row, now) if row is not None else ""

    def protected_by_request(self, machine: Machine) -> str:
        """Return the protection that was asked for and is not yet in the record, if any."""
        for request in self.requests:
            mine = request.machine == machine.id or (
                request.machine is None and request.fleet == machine.fleet
            )
            if mine and request.kind in {"protect", "pause"}:
                return f"{request.kind} by {request.actor}: {request.why}"
        return ""


class Steadiness:
    """Notices when the wall clock jumps against boot time."""

    def __init__(self, clock: Clock, jump: timedelta) -> None:
        self._clock, self._jump = clock, jump
        self._offset = self._now_offset()
        self.started = clock.now()
        self.jumped: datetime | None = None

    @property
    def steady(self) -> datetime:
        """Since when time can be trusted: our start, or the last jump."""
        return self.jumped or self.started

    def check(self) -> bool:
        """Tell whether the clock jumped since the last check, and remember it."""
        offset = self._now_offset()
        if abs(offset - self._offset) < self._jump.total_seconds():
            return False
        self._offset = offset
        self.jumped = self._clock.now()
        return True

    def _now_offset(self) -> float:
        return self._clock.now().timestamp() - self._clock.boot()
