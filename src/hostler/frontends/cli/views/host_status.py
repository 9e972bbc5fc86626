"""Stalls: each host of an account as our records and, where there was one, a look tell of it. Pure.

A host without a record is one that no machine of ours ever had, or whose record was lost.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from hostler.domain.ids import AccountName, HostId, MachineId
from hostler.domain.model.host import AT_HOME, Host, HostCondition
from hostler.domain.model.resource import Resource
from hostler.domain.model.snapshot import HostsSnapshot

POOL, FOREIGN, OTHERS = "pool", "foreign", frozenset({"other", "unnamed"})
"""What a name tells: it is in a pool, another hostler's, or nobody's."""

_NAMED = {
    POOL: "in the pool",
    FOREIGN: "another installation's",
    "ordered": "ordered",
    "unnamed": "unnamed",
    "other": "not in a pool",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """One host: its record, what a look shows of it, and the machine that it is tied to."""

    id: HostId
    account: AccountName
    record: Host | None = None
    resource: Resource | None = None
    binding: MachineId | None = None

    def note(self, name: str) -> str:
        """Return what the look notes of it, or an empty string."""
        return self.resource.note(name) if self.resource else ""

    @property
    def name(self) -> str:
        """Its name as last seen."""
        return self.resource.name if self.resource else self.record.name if self.record else ""

    @property
    def type(self) -> str:
        """What it is."""
        return self.note("type") or (self.record.type if self.record else "")

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
        """How it stands: its record's word, or what its name tells where there is no record."""
        stage, record = self.note("stage"), self.record
        if self.binding is not None:
            return str(HostCondition.ALLOCATED)
        if record is not None and (record.goal is not None or not self._is_at_large):
            return _NAMED[POOL] if self._is_put else str(record.condition)
        if stage in _NAMED:
            return _NAMED[stage]
        return f"stray: {stage}" if stage else "unknown"

    @property
    def _is_at_large(self) -> bool:
        """Whether its record says no more than its name: nobody proved anything of it."""
        dirty = self.record is not None and self.record.condition is HostCondition.DIRTY
        return dirty and self.note("stage") in _NAMED

    @property
    def _is_put(self) -> bool:
        """Whether its record has it in a pool, with a disk that is anybody's."""
        record = self.record
        if self.resource is not None or record is None or record.goal is not None:
            return False
        named = bool(record.pool) and record.name.startswith(record.pool)
        return named and record.condition is HostCondition.DIRTY

    @property
    def at_large(self) -> bool:
        """Whether its name is a pool's or nobody's: nothing is under way on it."""
        return self.note("stage") in {POOL, *OTHERS}

    @property
    def pooled(self) -> bool:
        """Whether it may be taken out of a pool by whoever wants a machine."""
        return self.note("stage") in AT_HOME

    @property
    def machine(self) -> MachineId | None:
        """The machine that has it, or that its name tells of."""
        named = self.binding or self.note("holder")
        return MachineId(named) if named else None

    @property
    def fleet(self) -> str:
        """The fleet of that machine, or the one whose it was last."""
        return self.note("fleet") or str((self.record.fleet if self.record else None) or "")

    @property
    def paid_until(self) -> datetime | None:
        """Until when it is paid for, whether it is used or not."""
        told = self.note("deletable")
        if told:
            return datetime.fromisoformat(told)
        return self.record.paid_until if self.record else None

    @property
    def scheduled(self) -> datetime | None:
        """When the provider will delete it, where that is asked for."""
        if self.note("scheduled"):
            return self.paid_until
        return self.record.scheduled if self.record else None

    @property
    def price(self) -> float:
        """Euros per hour."""
        return self.resource.price if self.resource else self.record.price if self.record else 0.0

    def quarantined(self, now: datetime) -> datetime | None:
        """Return until when it is left alone because it failed too often, or None."""
        record = self.record
        return record.quarantined_until if record and record.quarantined(now) else None

    def paid_left(self, now: datetime) -> timedelta:
        """Return how much of what is paid for is left."""
        until = self.paid_until
        return max(until - now, timedelta(0)) if until else timedelta(0)


def stalls(
    account: AccountName,
    hosts: Mapping[HostId, Host],
    bindings: Mapping[HostId, MachineId],
    resources: Iterable[Resource] = (),
) -> tuple[Stall, ...]:
    """Return every host that is recorded or was seen, by zone and name."""
    shown = {HostId(resource.id): resource for resource in resources}
    found = (
        Stall(
            id=host, account=account, record=hosts.get(host), resource=shown.get(host),
            binding=bindings.get(host),
        )
        for host in {**hosts, **shown}
    )  # fmt: skip
    return tuple(sorted(found, key=lambda stall: (stall.zone, stall.name, stall.id)))


def stalls_of(snapshot: HostsSnapshot) -> tuple[Stall, ...]:
    """Return the hosts of a look."""
    sightings = snapshot.inventory.sightings.values()
    resources = (
        s.resource for s in sightings if s.resource.slot.kind == snapshot.capabilities.hosts
    )
    return stalls(snapshot.account, snapshot.hosts, snapshot.bindings, resources)


def outlook(stall: Stall, now: datetime) -> str:
    """Return what is next for a host for which nothing is under way."""
    record, until = stall.record, stall.quarantined(now)
    if stall.binding is not None:
        return f"its machine decides: hostler explain FILE {stall.binding}"
    if record is not None and record.condition is HostCondition.GONE:
        return "nothing: complete looks do not show it any more"
    if until is not None:
        return f"it is left alone until {until:%Y-%m-%d %H:%M} UTC: it failed too often"
    if stall.scheduled is not None:
        return f"the provider deletes it at {stall.scheduled:%Y-%m-%d %H:%M} UTC"
    return _at_large(stall)


def _at_large(stall: Stall) -> str:
    record, stage = stall.record, stall.note("stage")
    if stall.pooled:
        proved = record is not None and record.condition is HostCondition.FREE and record.wiped
        wipe = "as it is, for its wipe is proved" if proved else "and wipes it first"
        return f"the next machine that it fits takes it, {wipe}"
    if stage == FOREIGN:
        return "it is left alone: another installation has it"
    if stage in OTHERS:
        return "it is left alone; `hostler pool FILE add` puts it into the pool"
    return (
        "no record explains it: see hostler orphans" if stall.resource else "it was not looked at"
    )
