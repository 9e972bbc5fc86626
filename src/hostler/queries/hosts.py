"""Hosts: whose a host is, what happens to it next, and which fleets may take it."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct

from hostler.controllers.plan import Planned, planned_hosts
from hostler.controllers.runtime.settings import Account
from hostler.domain.hosts.delivery import LONGEST
from hostler.domain.hosts.purchasing import is_paid
from hostler.domain.ids import AccountName, Zone
from hostler.domain.machines import rollout
from hostler.domain.model.commands import Next
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.host import Host, HostCondition, ReleasePolicy
from hostler.domain.model.resource import Resource, Stage
from hostler.domain.model.snapshot import AccountSnapshot
from hostler.domain.policy.bootstrap import digest_of
from hostler.domain.reporting.hosts import (
    OUTSIDE,
    HostStatus,
    host_statuses,
    observed_hosts,
)
from hostler.ports.hosts import KeepsHosts, PoolsHosts
from hostler.ports.store import Store

from .lookup import Unseen
from .providers import Providers, unseen_hosts


async def recorded_hosts(store: Store, accounts: Iterable[AccountName]) -> tuple[HostStatus, ...]:
    """Return the hosts on record of these accounts, by account, zone and name."""
    records, bindings = await store.hosts(), dict(await store.bindings())
    return tuple(
        host
        for account in sorted(accounts)
        for host in host_statuses(
            account,
            {record.id: record for record in records if record.account == account},
            bindings,
        )
    )


def next_step(host: HostStatus, now: datetime) -> Next:
    """Return what comes next for a host to which nothing is being done."""
    record, quarantine = host.record, host.quarantined(now)
    if host.binding is not None:
        return Next(kind="machine", detail=f"what comes next for {host.binding}, which has it")
    if record is not None and record.condition is HostCondition.ABSENT:
        return Next(kind="nothing", detail="complete observations no longer show it")
    if quarantine is not None:
        return Next(kind="wait", detail=_QUARANTINE, at=quarantine)
    if record is not None and (hold := record.held(now)) is not None and hold.kind.bars_machines:
        return Next(kind="wait", detail=f"the end of its hold: it is {hold}", at=hold.until)
    if host.scheduled is not None:
        return Next(kind="wait", detail="its deletion by the provider", at=host.scheduled)
    return _idle(host)


_QUARANTINE = "the end of its quarantine: it failed too often"
_ORPHAN = "no record explains it: it is an orphan"


def _idle(host: HostStatus) -> Next:
    record, stage = host.record, host.facts.stage
    if record is not None and host.is_coming:
        return _coming(host, record)
    if host.unfit:
        return Next(kind="nothing", detail=f"no machine may have it: {host.unfit}")
    if host.is_available:
        return Next(kind="wait", detail=f"a machine that it fits, {_claimed(record)}")
    if stage is Stage.FOREIGN:
        return Next(kind="nothing", detail="it is left alone: another installation has it")
    if stage in OUTSIDE:
        return Next(kind="nothing", detail="it is left alone until it is added to the pool")
    unseen = Next(kind="observe", detail="until an observation shows it")
    return Next(kind="nothing", detail=_ORPHAN) if host.resource else unseen


def _coming(host: HostStatus, record: Host) -> Next:
    """Return for what a host waits that was ordered, and until when."""
    though = f", though {host.unfit}" if host.unfit else ""
    if host.facts.delivered:
        return Next(kind="wait", detail=f"it to be up: it is delivered{though}")
    at = record.since + LONGEST if record.since is not None else None
    return Next(kind="wait", detail=f"its delivery{though}; without one it is given up", at=at)


def _claimed(record: Host | None) -> str:
    """Return how a machine would claim a host that is available."""
    if record is None or not record.cleaning.wiped:
        return "which claims it and wipes it first"
    free = record.condition is HostCondition.FREE
    return "which claims it as it is: it is proved clean" if free else "once it is free again"


def owner(host: HostStatus) -> str:
    """Return whose a host is."""
    if host.binding is not None:
        return f"machine {host.binding}, by our records"
    if host.claimant:
        return f"{host.claimant}, as it looks"
    if host.facts.stage is Stage.FOREIGN:
        return f"installation {host.facts.installation or 'unknown: its name does not say'}"
    if host.facts.stage is Stage.POOL:
        stands = f"unfit ({host.unfit})" if host.unfit else "free"
        return f"nobody: it is {stands}, in the pool {host.facts.pool}"
    if host.machine is not None:
        return f"ours by its name, which mentions {host.machine}"
    return "nobody of ours" if host.resource else ""


def on_release(host: HostStatus) -> str:
    """Return what becomes of a host when its machine releases it, if it is ours at all."""
    record = host.record
    if record is None or (host.binding is None and host.facts.stage in OUTSIDE):
        return ""
    if host.facts.stage in OUTSIDE:
        return "it is left as it is for as long as it has this name"
    if record.retires:
        requested = record.purchase.policy is ReleasePolicy.TERMINATE
        return "it is retired: " + ("that was requested" if requested else "we ordered it")
    return (
        f"it is wiped and returns to the pool {record.ownership.pool}"
        if record.ownership.pool
        else ""
    )


# ---------------------------------------------------------------- explained


_NO_FLEET = "no machine claims it for now: the reason is given for each fleet"


class HostExplanation(Struct, frozen=True, kw_only=True):
    """One host, what would be done to it now, and for each fleet why it may not take it.

    `stays` says why a host that was ordered is still paid for; empty for any other.
    """

    host: HostStatus
    planned: Planned | None
    fits: Mapping[str, str]
    stays: str = ""

    def next(self, now: datetime) -> Next:
        """Return what happens next to the host, as for a machine."""
        planned, record = self.planned, self.host.record
        if planned is None and record is not None and record.held(now) is not None:
            return next_step(self.host, now)
        if planned is None and self.host.is_available and self.fits and all(self.fits.values()):
            return Next(kind="nothing", detail=_NO_FLEET)
        if planned is None:
            return next_step(self.host, now)
        return planned.next


async def explain_hosts(
    providers: Providers, rows: Iterable[FleetRow]
) -> tuple[tuple[HostExplanation, ...], Unseen]:
    """Observe once, and return every host with what would be done to it now.

    And where not all of them could be observed.
    """
    known, explained = tuple(rows), list[HostExplanation]()
    unseen = dict[tuple[AccountName, Zone], str]()
    async for account, snapshot in providers.host_snapshots():
        explained += explained_hosts(account, snapshot, faulty_scripts(account, known))
        unseen |= unseen_hosts(snapshot)
    return tuple(explained), unseen


def explained_hosts(
    account: Account, snapshot: AccountSnapshot, blocked: Mapping[str, str]
) -> Iterable[HostExplanation]:
    """Yield every host of an account with what would be done to it now.

    `blocked` are fleets that take no host, whichever it is, with the reason.
    """
    provider = account.provider
    has_hosts = isinstance(provider, KeepsHosts)
    planned = {one.subject: one for one in (planned_hosts(snapshot, provider) if has_hosts else ())}
    hosts = observed_hosts(snapshot)
    relief = tuple(_pool_fits(hosts, account))
    for host in hosts:
        fits = misfits(account, host.resource) if host.binding is None else {}
        orphan = _ORPHAN if host.is_unexplained else ""
        fits = {fleet: why or orphan or blocked.get(fleet, "") for fleet, why in fits.items()}
        stays = why_paid(host, snapshot.now, pooled=host.fleet in relief)
        yield HostExplanation(host=host, planned=planned.get(host.id), fits=fits, stays=stays)


def why_paid(host: HostStatus, now: datetime, *, pooled: bool) -> str:
    """Return why a host that was ordered stays; `pooled`: its machine could have one of the pool.

    Empty where it was not ordered, or is being given up.
    """
    record = host.record
    if record is None or not is_paid(record) or record.condition is HostCondition.RETIRING:
        return ""
    if record.purchase.policy is ReleasePolicy.KEEP:
        return "a person keeps it: `hostler pool FILE retire` gives it up"
    if host.paid_until is not None and host.paid_until > now:
        return "it is paid for until its window is over, whether it is used or not"
    if host.binding is None:
        return "its window is over, and to buy another one later costs more than to keep it"
    if pooled:
        return "its machine moves to a host of the pool, and may go when that one is ready"
    return "its window is over, and its machine needs it: no host of the pool is free for it"


def _pool_fits(hosts: Iterable[HostStatus], account: Account) -> Iterable[str]:
    """Yield the fleets whose machines could have a host of the pool now."""
    for host in hosts:
        ordered = host.record is not None and is_paid(host.record)
        if host.binding is None and host.is_available and not ordered:
            yield from (name for name, why in misfits(account, host.resource).items() if not why)


def faulty_scripts(account: Account, rows: Iterable[FleetRow]) -> dict[str, str]:
    """Return each fleet whose setup script is at fault, so that it takes no host, with the reason.

    Also for a fleet without machines, where nothing else would say so.
    """
    digests = {fleet.name: digest_of(fleet.probe.commands) for fleet in account.fleets}
    revisions = {row.name: row.revision for row in rows}
    found = {
        str(name): rollout.condition(revisions[name])
        for name, digest in digests.items()
        if name in revisions and revisions[name].digest == digest
    }
    return {fleet: why for fleet, why in found.items() if why}


def misfits(account: Account, resource: Resource | None) -> dict[str, str]:
    """Return for each fleet of an account why it may not take a host; empty where it may."""
    provider = account.provider
    if resource is None or not isinstance(provider, KeepsHosts):
        return {}
    return {
        str(fleet.name): _unless_any_fits(
            [provider.fits(fleet.name, offer, resource) for offer in fleet.offers]
        )
        for fleet in account.fleets
    }


def _unless_any_fits(reasons: list[str]) -> str:
    return "" if "" in reasons else "; ".join(dict.fromkeys(reasons))


def pool_of(account: Account, fleet: Fleet) -> str:
    """Return how the names in a fleet's pool begin; empty where it has none."""
    provider = account.provider
    return provider.pool_of(fleet.name) if isinstance(provider, PoolsHosts) else ""
