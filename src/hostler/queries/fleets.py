"""Fleets: how a fleet stands, or stood at an earlier time, read from its records."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field

from hostler.domain.fleets.losses import doubts_of, in_words
from hostler.domain.ids import HostId
from hostler.domain.machines.rollout import keeps
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Orphan, Request
from hostler.domain.reporting.usage import deleted_since
from hostler.ports.store import Store

from .history import fleet_images
from .machines import next_step, outdated
from .wording import clock_time


class FleetStatus(Struct, frozen=True, kw_only=True):
    """One fleet as its records have it at a time; `row` is None before the first engine.

    `runs` says whether an engine runs; `past` that this is how it stood at an earlier time, of
    which only the machines are on record.
    """

    fleet: Fleet
    row: FleetRow | None
    machines: tuple[Machine, ...]
    at: datetime
    orphans: tuple[Orphan, ...] = ()
    requests: tuple[Request, ...] = ()
    runs: bool = False
    past: bool = False
    hosts: Mapping[HostId, Host] = field(default_factory=dict[HostId, Host])
    spent: float = 0.0

    @property
    def known(self) -> bool:
        """Whether an engine has this fleet on record, or it is how it stood at another time."""
        return self.past or self.row is not None

    @property
    def desired(self) -> int:
        """The size in force."""
        return self.row.desired(self.fleet) if self.row else self.fleet.size

    @property
    def counts(self) -> Counter[str]:
        """How many machines are in which phase."""
        return Counter(str(machine.phase) for machine in self.machines)

    @property
    def ready(self) -> int:
        """How many are up and usable."""
        return self.counts[Phase.READY]

    @property
    def in_doubt(self) -> int:
        """How many seem lost and are not believed to be yet; most of them count as ready."""
        return len(doubts_of(self.machines))

    @property
    def outdated(self) -> tuple[Machine, ...]:
        """The machines in use that would be made otherwise now; not known of an earlier time."""
        if self.past:
            return ()
        return tuple(machine for machine in self.machines if outdated(machine, self.fleet))

    @property
    def doubts(self) -> str:
        """What is not seen, or not up, since when; empty where all is, or the condition says so."""
        doubts = doubts_of(self.machines)
        if not doubts or self.past:
            return ""
        words = in_words(doubts)
        return "" if self.row is not None and " since " in self.row.condition else words

    @property
    def cost(self) -> float:
        """What its machines have cost so far, in euros, the deleted ones too: it never falls."""
        return self.spent + sum(machine.billing.cost(self.at) for machine in self.machines)

    def host(self, machine: Machine) -> Host | None:
        """Return the record of a machine's host, where it has one that outlives it."""
        return self.hosts.get(machine.host) if machine.host else None

    def next_step(self, machine: Machine) -> str:
        """Return what comes next for one of the machines, as far as the records say."""
        step = next_step(machine, self.fleet, self.at, self._held_until(machine), self.row)
        also = "" if self.past else outdated(machine, self.fleet)
        return "; ".join(words for words in (step, also) if words)

    def _held_until(self, machine: Machine) -> datetime | None:
        """Return until when a starting machine is kept because its setup script is at fault."""
        host, row = self.host(machine), self.row
        if host is None or row is None or machine.phase is not Phase.STARTING:
            return None
        broken = row.revision.broken
        if broken is None or not keeps(host, row.revision):
            return None
        return broken + self.fleet.timers.longest_protection

    @property
    def pause(self) -> str:
        """Why the fleet is not looked after as its file says; empty where it is."""
        if self.fleet.removed:
            return "not in the file: " + ("ends" if self.row and self.row.ends else "kept as it is")
        return self.paused

    @property
    def paused(self) -> str:
        """Who paused the fleet, why and until when; empty where nobody did."""
        pause = self.row.pause if self.row else None
        if pause is None or pause.until <= self.at:
            return ""
        why = f": {pause.why}" if pause.why else ""
        return f"paused by {pause.actor} until {clock_time(pause.until, self.at)}{why}"


async def fleet_status(store: Store, fleet: Fleet, now: datetime, *, runs: bool) -> FleetStatus:
    """Return how a fleet stands now; `runs` says whether an engine holds the store."""
    rows = {row.name: row for row in await store.fleets()}
    machines = await store.machines(fleet.name)
    has_hosts = any(machine.host for machine in machines)
    return FleetStatus(
        fleet=fleet,
        row=rows.get(fleet.name),
        machines=machines,
        at=now,
        orphans=tuple(o for o in await store.orphans() if o.fleet == fleet.name),
        requests=tuple(r for r in await store.requests() if r.fleet == fleet.name),
        runs=runs,
        hosts={host.id: host for host in await store.hosts()} if has_hosts else {},
        spent=await store.spent(fleet.name),
    )


async def past_fleet_status(store: Store, fleet: Fleet, at: datetime) -> FleetStatus:
    """Return how a fleet stood at an earlier time, as far as it is remembered."""
    machines = await store.images(fleet.name, at)
    since = deleted_since(await fleet_images(store, fleet.name), at)
    spent = await store.spent(fleet.name) - sum(one.billing.spent for one in since)
    return FleetStatus(fleet=fleet, row=None, machines=machines, at=at, past=True, spent=spent)


async def is_remembered(store: Store, at: datetime) -> bool:
    """Tell whether nothing that existed at this time has been forgotten since."""
    forgotten = await store.forgotten()
    return forgotten is None or at >= forgotten
