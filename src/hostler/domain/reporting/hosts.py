"""Host status: each host of an account, as its record and the newest observation show it.

A host without a record is one that no machine of ours ever had, or whose record was lost.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from hostler.domain.ids import AccountName, HostId, MachineId
from hostler.domain.model.host import AT_HOME, Host, HostCondition
from hostler.domain.model.resource import HostFacts, Resource, Stage
from hostler.domain.model.snapshot import AccountSnapshot

OUTSIDE = frozenset({Stage.OTHER, Stage.UNNAMED})
"""The stages of hosts that are in no pool, and nobody's."""

_NAMED = {
    Stage.POOL: "in the pool",
    Stage.FOREIGN: "another installation's",
    Stage.ORDERED: "ordered",
    Stage.UNNAMED: "unnamed",
    Stage.OTHER: "not in a pool",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostStatus:
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
        if record is not None and (record.goal is not None or not self._only_name_known):
            return _NAMED[Stage.POOL] if self._was_put_in_pool else str(record.condition)
        if stage in _NAMED:
            return _NAMED[stage]
        return f"unrecorded: {stage}" if stage else "unknown"

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
        return self.facts.stage in AT_HOME

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
        """Euros per hour."""
        return (
            self.resource.price
            if self.resource
            else self.record.billing.price
            if self.record
            else 0.0
        )

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
