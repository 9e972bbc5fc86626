"""Idle hosts: what hosts of pools cost while no machine has them, which no other bill has."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, field

from hostler.domain.ids import AccountName, HostId
from hostler.domain.model.host import Host, HostCondition, HostGoal, HostOrigin
from hostler.domain.model.resource import Stage
from hostler.domain.policy.billing import cost_between
from hostler.domain.reporting.hosts import OUTSIDE, HostStatus, observed_hosts
from hostler.domain.reporting.usage import Image, cost_since, lives
from hostler.ports.store import Store

from .history import fleet_images_now
from .hosts import recorded_hosts
from .providers import Providers, incomplete


class IdleHosts(Struct, frozen=True, kw_only=True):
    """The hosts of an account that no machine has and that are nobody else's.

    `price` is what those that have one cost an hour now, `leaving` those of them that are being
    given up; `unpriced` are those without, or off.
    `month` is what those on record cost since `since` while no machine had them; a host that is
    switched on and off is not in it, for nobody knows when it was on.
    """

    count: int
    unpriced: int
    price: float
    leaving: float
    month: float


class KnownHosts(Struct, frozen=True, kw_only=True):
    """The hosts of some accounts; `observed` those that a provider was asked for just now.

    `unseen` are scopes that could not be observed in full, with the error.
    """

    hosts: Mapping[AccountName, tuple[HostStatus, ...]]
    observed: bool = False
    unseen: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def any(self) -> bool:
        """Whether there is any host at all."""
        return any(self.hosts.values())


async def hosts_on_record(store: Store, accounts: Iterable[AccountName]) -> KnownHosts:
    """Return the hosts on record: none that no machine ever had, where a name has to say first."""
    return KnownHosts(hosts={name: await recorded_hosts(store, (name,)) for name in accounts})


async def hosts_as_observed(
    providers: Providers, store: Store, accounts: Iterable[AccountName]
) -> KnownHosts:
    """Observe now, and return all hosts of these accounts, on record or not."""
    known = await hosts_on_record(store, accounts)
    hosts, unseen = dict(known.hosts), dict[str, str]()
    async for account, snapshot in providers.host_snapshots():
        if account.name in hosts:
            hosts[account.name] = observed_hosts(snapshot)
            unseen |= incomplete(snapshot.inventory)
    return KnownHosts(hosts=hosts, observed=True, unseen=unseen)


async def idle_hosts(
    store: Store, hosts: Sequence[HostStatus], since: datetime, now: datetime
) -> IdleHosts:
    """Return what the idle ones of these hosts cost now, and cost since then; machines do not."""
    idle = [host for host in hosts if _is_idle(host)]
    priced = [host for host in idle if _price(host) > 0]
    leaving = (host for host in priced if host.record is not None and is_leaving(host.record))
    since = max(since, await store.forgotten() or since)
    pooled = [host for host in hosts if _is_pooled(host)]
    tenants = await _tenants(store, now) if pooled else {}
    return IdleHosts(
        count=len(priced),
        unpriced=len(idle) - len(priced),
        price=sum(map(_price, priced)),
        leaving=sum(map(_price, leaving)),
        month=sum(_idle_cost(host, tenants.get(host.id, ()), since, now) for host in pooled),
    )


def is_leaving(host: Host) -> bool:
    """Tell whether a host is being given up."""
    return bool(host.purchase.scheduled) or host.goal is HostGoal.RETIRED


def _is_pooled(host: HostStatus) -> bool:
    """Tell whether a host is on record whose time between machines is in no other bill."""
    record = host.record
    if record is None or record.purchase.origin is HostOrigin.ORDERED:
        return False
    return record.power.on is None


def _is_idle(host: HostStatus) -> bool:
    """Tell whether a host is there for machines, and none has it."""
    record, stage = host.record, host.facts.stage
    if host.binding is not None or (record is None and stage is not Stage.POOL):
        return False
    if host.resource is not None and stage in {Stage.FOREIGN, *OUTSIDE}:
        return False
    ordered = record is not None and record.purchase.origin is HostOrigin.ORDERED
    absent = record is not None and record.condition is HostCondition.ABSENT
    return not (ordered or absent)


def _price(host: HostStatus) -> float:
    """Return what a host costs an hour; one that was last seen off costs nothing."""
    if host.resource is not None:
        return host.resource.price
    off = host.record is not None and host.record.power.on is False
    return 0.0 if off else host.price


async def _tenants(store: Store, now: datetime) -> dict[HostId, list[Image]]:
    """Return the images of all machines that had a host, by the host."""
    found = dict[HostId, list[Image]]()
    for row in await store.fleets():
        for life in lives(await fleet_images_now(store, row.name, now)).values():
            host = next((machine.host for _, machine in reversed(life) if machine.host), None)
            if host is not None:
                found.setdefault(host, []).extend(life)
    return found


def _idle_cost(host: HostStatus, tenants: Sequence[Image], since: datetime, now: datetime) -> float:
    """Return what a host cost since then beyond what its machines are billed."""
    record = host.record
    if record is None or record.billing.billed_from is None:
        return 0.0
    begin, end = max(since, record.billing.billed_from), now
    if record.condition is HostCondition.ABSENT and record.since is not None:
        end = min(record.since, now)
    whole = cost_between(record.billing.price, begin, end)
    return max(0.0, whole - cost_since(tenants, begin, now))
