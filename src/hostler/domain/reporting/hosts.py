"""Host status: each host of an account, as its record and the newest observation show it.

A host without a record is one that no machine of ours ever had, or whose record was lost.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from hostler.domain.ids import AccountName, HostId, MachineId
from hostler.domain.model.host import AT_HOME, WAITING, Host, HostCondition
from hostler.domain.model.resource import HostFacts, Resource, Stage
from hostler.domain.model.snapshot import AccountSnapshot
from hostler.domain.model.unused import claimant, unfit

_WAITS = frozenset({HostCondition.COMING, HostCondition.FREE, HostCondition.DIRTY})

OUTSIDE = frozenset({Stage.OTHER, Stage.UNNAMED})
"""The stages of hosts that are in no pool, and nobody's."""

_NAMED = {
    Stage.POOL: "in the pool",
    Stage.FOREIGN: "another installation's",
    Stage.ORDERED: "ordered",
    Stage.UNNAMED: "unnamed",
    Stage.OTHER: "not in a pool",
}

UNRECORDED = "unrecorded: "
UNKNOWN = "unknown"
UNFIT = "unfit"
COMING_UNFIT = "coming unfit"
CLAIMED_LOOKING = "claimed-looking"

STATES: Mapping[str, str] = {
    HostCondition.COMING: "it was ordered, and is not delivered yet",
    COMING_UNFIT: "it is coming, and is in error, locked, of an unknown status, or its provider is "
    "going to delete it: it is waited for all the same, and given up if it is not delivered three "
    "hours after it was first seen",
    HostCondition.FREE: "it is proved clean: the next machine that it fits may have it",
    HostCondition.ALLOCATED: "a machine has it",
    HostCondition.DIRTY: "somebody's disk may still be on it: it is cleaned before it is used",
    HostCondition.WIPING: "it is being cleaned",
    HostCondition.QUARANTINED: "it failed too often and is left alone for a while, then wiped",
    HostCondition.RETIRING: "it is being given up; it goes when the provider lets it go",
    HostCondition.ABSENT: "it is on record, and not there any more",
    _NAMED[Stage.POOL]: "its name is the pool's, and no more is known: it is wiped before it is "
    "used, unless its disk is kept (`pool add --keep-disk`)",
    _NAMED[Stage.FOREIGN]: "another installation's name is on it: it is left alone",
    _NAMED[Stage.ORDERED]: "it bears the name of an order of ours, and no record of ours has it",
    _NAMED[Stage.UNNAMED]: "it has no name: it is nobody's, and left alone",
    _NAMED[Stage.OTHER]: "its name is in no pool: it is left alone until `pool add`",
    f"{UNRECORDED}{Stage.PENDING}": "its name says that a machine is claiming it; no record does",
    f"{UNRECORDED}{Stage.CLAIMED}": "its name says that a machine has it; no record does",
    f"{UNRECORDED}{Stage.STANDBY}": "its name says that its machine goes into standby; no record "
    "does",
    f"{UNRECORDED}{Stage.RESTED}": "its name says that its machine is in standby; no record does",
    f"{UNRECORDED}{Stage.RELEASING}": "its name says that its machine gives it back; no record "
    "does",
    f"{UNRECORDED}{Stage.WIPING}": "its name says that we are cleaning it; no record does",
    f"{UNRECORDED}{Stage.PARKED}": "its name says that it was cleaned and is kept; no record does",
    f"{UNRECORDED}{Stage.QUARANTINED}": "its name says that it is left alone; no record does",
    f"{UNRECORDED}{Stage.RETIRING}": "its name says that it is being given up; no record does",
    UNFIT: "it would be free, and is in error, locked, of an unknown status, or its provider is "
    "going to delete it: no machine may have it",
    CLAIMED_LOOKING: "its name looks like a claim of another system, or like a name of a hostler's "
    "that is damaged: it is left alone",
    UNKNOWN: "it is neither on record, nor does anything on it say what it is there for",
}
"""Every state of a host that is shown, with what it means; *unrecorded* ones are orphans."""


class HostStatus(Struct, frozen=True, kw_only=True):
    """One host: its record, what was observed of it, and the machine that it is bound to."""

    id: HostId
    account: AccountName
    record: Host | None = None
    resource: Resource | None = None
    binding: MachineId | None = None

    @property
    def facts(self) -> HostFacts:
        """What the newest observation says of it; nothing at all where none shows it."""
        return self.resource.host if self.resource else HostFacts()

    @property
    def name(self) -> str:
        """Its name as last observed."""
        return (
            self.resource.name
            if self.resource
            else self.record.ownership.name
            if self.record
            else ""
        )

    @property
    def type(self) -> str:
        """Its commercial type."""
        type_ = self.resource.type if self.resource else ""
        return type_ or (self.record.type if self.record else "")

    @property
    def zone(self) -> str:
        """Where it is."""
        return self.resource.zone if self.resource else self.record.zone if self.record else ""

    @property
    def status(self) -> str:
        """The provider's word for how it is."""
        return (
            self.resource.status if self.resource else self.record.observed if self.record else ""
        )

    @property
    def state(self) -> str:
        """Its condition by its record, or what its name says where there is no record."""
        stage, record = self.facts.stage, self.record
        if self.binding is not None:
            return str(HostCondition.ALLOCATED)
        if self.unfit:
            return COMING_UNFIT if self.is_coming else UNFIT
        if record is not None and (record.goal is not None or not self._only_name_known):
            return _NAMED[Stage.POOL] if self._was_put_in_pool else str(record.condition)
        if stage in _NAMED:
            return CLAIMED_LOOKING if self.claimant else _NAMED[stage]
        return f"{UNRECORDED}{stage}" if stage else UNKNOWN

    @property
    def unfit(self) -> str:
        """Why no machine may have it, where it would be free, or is coming; else empty."""
        record = self.record
        idle = record is None or (record.goal is None and record.condition in _WAITS)
        waits = self.binding is None and (self.facts.stage in AT_HOME or self.is_coming) and idle
        return unfit(self.resource) if waits and self.resource else ""

    @property
    def is_coming(self) -> bool:
        """Whether it was ordered, and no machine may have it before it is delivered and up."""
        return self.record is not None and self.record.condition is HostCondition.COMING

    @property
    def claimant(self) -> str:
        """Who seems to have claimed it, by a name that tells of no machine of a hostler's."""
        return claimant(self.resource) if self.resource else ""

    @property
    def _only_name_known(self) -> bool:
        """Whether its record says no more than its name: nothing is proved about its disk."""
        dirty = self.record is not None and self.record.condition is HostCondition.DIRTY
        return dirty and self.facts.stage in _NAMED

    @property
    def _was_put_in_pool(self) -> bool:
        """Whether its record says that it was put into a pool, and nothing about its disk."""
        record = self.record
        if self.resource is not None or record is None or record.goal is not None:
            return False
        named = bool(record.ownership.pool) and record.ownership.name.startswith(
            record.ownership.pool
        )
        return named and record.condition is HostCondition.DIRTY

    @property
    def is_idle(self) -> bool:
        """Whether its name is a pool's or nobody's: nothing is being done to it."""
        return self.facts.stage in {Stage.POOL, *OUTSIDE}

    @property
    def is_available(self) -> bool:
        """Whether the next machine that it fits may claim it."""
        waits = self.facts.stage in AT_HOME and not self.is_coming
        return waits and not self.unfit and not self.is_unexplained

    @property
    def is_unexplained(self) -> bool:
        """Whether it seems to wait for a machine by a name of ours alone, which proves nothing."""
        return self.facts.stage in WAITING and self.record is None and self.binding is None

    @property
    def machine(self) -> MachineId | None:
        """The machine that has it, or that its name mentions."""
        return self.binding or self.facts.holder

    @property
    def fleet(self) -> str:
        """The fleet of that machine, or the last one that had it."""
        fleet = self.facts.fleet or (self.record.fleet if self.record else None)
        return str(fleet or "")

    @property
    def paid_until(self) -> datetime | None:
        """Until when it is paid for, whether it is used or not."""
        if self.facts.paid_until is not None:
            return self.facts.paid_until
        return self.record.purchase.paid_until if self.record else None

    @property
    def scheduled(self) -> datetime | None:
        """When the provider will delete it, where that was requested."""
        if self.facts.scheduled:
            return self.paid_until
        return self.record.purchase.scheduled if self.record else None

    @property
    def price(self) -> float:
        """Euros per hour, of one that is switched off while it is on; 0 where that is not known."""
        observed = self.resource.price if self.resource else 0.0
        return observed or (self.record.billing.price if self.record else 0.0)

    def quarantined(self, now: datetime) -> datetime | None:
        """Return when its quarantine ends, or None where it is in none."""
        record = self.record
        return record.health.quarantined_until if record and record.quarantined(now) else None

    def paid_left(self, now: datetime) -> timedelta:
        """Return how much of the paid period is left."""
        until = self.paid_until
        return max(until - now, timedelta(0)) if until else timedelta(0)


def host_statuses(
    account: AccountName,
    hosts: Mapping[HostId, Host],
    bindings: Mapping[HostId, MachineId],
    resources: Iterable[Resource] = (),
) -> tuple[HostStatus, ...]:
    """Return every host that is recorded or was observed, by zone and name."""
    observed = {HostId(resource.id): resource for resource in resources}
    found = (
        HostStatus(
            id=host,
            account=account,
            record=hosts.get(host),
            resource=observed.get(host),
            binding=bindings.get(host),
        )
        for host in {**hosts, **observed}
    )
    return tuple(sorted(found, key=lambda host: (host.zone, host.name, host.id)))


def observed_hosts(snapshot: AccountSnapshot) -> tuple[HostStatus, ...]:
    """Return the hosts of a snapshot."""
    sightings = snapshot.inventory.sightings.values()
    resources = (
        s.resource for s in sightings if s.resource.slot.kind == snapshot.capabilities.host_kind
    )
    return host_statuses(snapshot.account, snapshot.hosts, snapshot.bindings, resources)
