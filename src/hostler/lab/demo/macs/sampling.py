"""Sampling: watch the week sample by sample, and keep what is counted and drawn of it.

What became of hosts is read from the simulated world, past hostler's own code; what became of
machines from its events.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hostler.domain.hosts.orphans import ACTIONABLE
from hostler.domain.ids import HostId
from hostler.domain.model.commands import Event
from hostler.domain.model.host import HostCondition
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Orphan
from hostler.lab.macs.names import parse_name
from hostler.queries.wording import euros
from hostler.simulators.scaleway.state.mac_records import Mac, MacStatus

from .bill import Bill
from .engines import FLEETS, POOL, Engines
from .lanes import DESCRIPTIONS, SAMPLE, Lane, State, state_of
from .timeline import LENT, Announce

_AT_WORK = frozenset(
    {
        HostCondition.COMING,
        HostCondition.FREE,
        HostCondition.WIPING,
        HostCondition.QUARANTINED,
        HostCondition.RETIRING,
    }
)
"""The conditions that explain a name of ours on a host that no machine holds."""
ANNOUNCED_EVENTS = frozenset({"refused", "unknown", "condition", "barred", "order_refused"})


@dataclass(slots=True)
class Sampler:
    """What was seen so far. `announce` tells what becomes of hosts, `tell` a machine's event."""

    engines: Engines
    announce: Announce
    bill: Bill = field(default_factory=Bill)
    lanes: dict[str, Lane] = field(default_factory=dict[str, Lane])
    events: list[Event] = field(default_factory=list[Event])
    stranded: set[str] = field(default_factory=set[str])
    reclaimed: set[str] = field(default_factory=set[str])
    orphans: tuple[Orphan, ...] = ()
    orphan_cost: float = 0.0
    sizes: dict[str, tuple[int, int, int]] = field(default_factory=dict[str, tuple[int, int, int]])
    _last_event: int = 0

    @property
    def sample(self) -> int:
        """The number of the present sample."""
        return int(self.engines.loop.time() / SAMPLE)

    @property
    def now(self) -> datetime:
        """The simulated date."""
        return self.engines.clock.now()

    async def watch(self) -> None:
        """Take one sample."""
        self.engines.world.advance()
        self._read_orphans(await self.engines.store.orphans())
        orphan = {str(s.resource) for s in self.orphans if s.cls in ACTIONABLE}
        self.stranded |= orphan
        for mac in self.macs():
            self._note(mac, orphan=mac.id in orphan)
        await self._count()
        await self._hear()

    def _read_orphans(self, orphans: tuple[Orphan, ...]) -> None:
        """Read the orphan report, and tell what is new in it."""
        known = {(orphan.resource, orphan.cls) for orphan in self.orphans}
        self.orphans = orphans
        if orphans:
            self.orphan_cost = sum(s.price * _hours(self.now - s.first) for s in orphans)
        for orphan in orphans:
            if (orphan.resource, orphan.cls) not in known:
                price = f"{euros(orphan.price)} an hour"
                why = orphan.blocked or "it is taken back now"
                self.announce(f"orphan: {orphan.cls}, once of {orphan.owner}, {price}; {why}")

    def macs(self) -> Iterator[Mac]:
        """Yield every host that ever was, the oldest first."""
        for entry in self.engines.world.cloud.ledger.entries():
            if isinstance(entry.record, Mac):
                yield entry.record

    def _note(self, mac: Mac, *, orphan: bool) -> None:
        lane = self.lanes.get(mac.id)
        if lane is None:
            own = mac.name.startswith(POOL)
            number = 1 + sum(other.own == own for other in self.lanes.values())
            lane = self.lanes[mac.id] = Lane(mac.id, f"{'pool' if own else 'order'} {number}", own)
        state = State.GONE if mac.ended is not None else state_of(mac, orphan=orphan)
        if lane.note(self.sample, state) and (len(lane.runs) > 1 or not lane.own):
            self.announce(f"{lane.label}  {DESCRIPTIONS[state]}")

    async def _count(self) -> None:
        """Count machines, and what of the demand the pool could not have served."""
        ready, hosts = 0, {host.id: host for host in await self.engines.store.hosts()}
        desired = {row.name: row.size for row in await self.engines.store.fleets()}
        for fleet in FLEETS:
            machines = await self.engines.store.machines(fleet.name)
            up = sum(machine.phase is Phase.READY for machine in machines)
            parked = sum(machine.phase is Phase.STANDBY for machine in machines)
            size = desired.get(fleet.name)
            self.sizes[fleet.name] = (up, fleet.size if size is None else size, parked)
            ready += up
        there = [mac for mac in self.macs() if mac.ended is None and self.lanes[mac.id].own]
        pooled = sum(mac.name != LENT for mac in there)
        self.bill.note(self.now, max(0, ready - pooled))
        for host in self.stranded - self.reclaimed:
            record = hosts.get(HostId(host))
            if record is not None and record.condition is HostCondition.FREE:
                self.reclaimed.add(host)

    async def _hear(self) -> None:
        recorded = await self.engines.store.events(after=self._last_event, limit=10_000)
        self._last_event = recorded[-1].number if recorded else self._last_event
        self.events += [entry.event for entry in recorded]

    def ordered(self) -> list[Mac]:
        """Return the hosts that hostler ordered."""
        return [mac for mac in self.macs() if mac.id in self.lanes and not self.lanes[mac.id].own]

    async def leaks(self) -> list[Mac]:
        """Return the hosts under our names that no record explains."""
        store = self.engines.store
        records = {host.id: host for host in await store.hosts()}
        bindings = dict(await store.bindings())
        left = list[Mac]()
        for mac in self.macs():
            if mac.ended is not None or parse_name(mac.name) is None:
                continue
            record = records.get(HostId(mac.id))
            binding = bindings.get(HostId(mac.id))
            held = binding is not None and await store.machine(binding) is not None
            if not held and (record is None or record.condition not in _AT_WORK):
                left.append(mac)
        return left

    async def rests(self) -> bool:
        """Tell whether nothing is left to be done: no machine, all hosts pooled or given up."""
        store = self.engines.store
        machines = [m for fleet in FLEETS for m in await store.machines(fleet.name)]
        if machines or await store.requests() or await store.orphans():
            return False
        return all(_rests(mac) for mac in self.macs() if mac.ended is None)


def _rests(mac: Mac) -> bool:
    if mac.deletion_scheduled:
        return True
    return mac.name.startswith(POOL) and mac.status is MacStatus.READY


def _hours(span: timedelta) -> float:
    return span / timedelta(hours=1)
