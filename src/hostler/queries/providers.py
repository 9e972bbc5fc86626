"""Providers: what a query observes at the provider now; nothing is changed or recorded."""

from collections.abc import AsyncIterator, Collection, Mapping

from msgspec import Struct

from hostler.controllers.plan import (
    Plan,
    Planned,
    observe_fleet,
    observe_once,
    plan,
    plan_hosts,
)
from hostler.controllers.runtime.settings import Account, Ports, Settings
from hostler.domain.errors import ProviderError, RequestRefused
from hostler.domain.ids import AccountName, Zone
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.inventory import Inventory
from hostler.domain.model.snapshot import AccountSnapshot, Snapshot
from hostler.domain.reporting.hosts import HostStatus, observed_hosts
from hostler.ports.hosts import KeepsHosts

from .lookup import Unseen
from .wording import plural

NO_HOSTS = "no provider of this file has hosts that outlive machines: there is no pool"


class ObservedHosts(Struct, frozen=True, kw_only=True):
    """The hosts of accounts; where not all were observed some are as on record, or lack."""

    hosts: Mapping[AccountName, tuple[HostStatus, ...]]
    unseen: Unseen


class Providers(Struct, frozen=True, kw_only=True):
    """The accounts of a fleet file, open, and what it takes to observe them.

    Every method may raise ProviderError: an account that shows nothing at all is an error, never
    an empty answer.
    """

    ports: Ports
    accounts: tuple[Account, ...]
    settings: Settings

    def account(self, fleet: Fleet) -> Account:
        """Return the account that a fleet lives in."""
        return next(account for account in self.accounts if fleet in account.fleets)

    async def snapshot(self, fleet: Fleet, beside: tuple[Zone, ...] = ()) -> Snapshot:
        """Return what a cycle of this fleet would see now, complete or not.

        `beside` are zones that are observed too, though nothing of the fleet is there.
        """
        return await observe_fleet(self.ports, self.account(fleet), fleet, self.settings, beside)

    async def host_snapshots(self) -> AsyncIterator[tuple[Account, AccountSnapshot]]:
        """Yield what a cycle would see now of each account that has hosts.

        A host that nobody can reach hides no other one: only where nothing is seen, that is said.
        """
        for account in self.accounts:
            provider = account.provider
            if isinstance(provider, KeepsHosts) and provider.capabilities.hosts:
                snapshot = await observe_once(self.ports, account, account.fleets, self.settings)
                if not snapshot.inventory.sightings:
                    require_observed(snapshot.inventory)
                yield account, snapshot

    async def hosts(self, accounts: Collection[AccountName]) -> ObservedHosts:
        """Return the hosts of those of these accounts that have any; RequestRefused: none has."""
        hosts = dict[AccountName, tuple[HostStatus, ...]]()
        unseen = dict[tuple[AccountName, Zone], str]()
        async for account, seen in self.host_snapshots():
            if account.name in accounts:
                hosts[account.name] = observed_hosts(seen)
                unseen |= unseen_hosts(seen)
        if not hosts:
            raise RequestRefused(NO_HOSTS)
        return ObservedHosts(hosts=hosts, unseen=unseen)

    async def plan(self, fleet: Fleet) -> Plan:
        """Return the very calls that one cycle of this fleet would make now."""
        return await plan(self.ports, self.account(fleet), fleet, self.settings)

    async def plan_hosts(self, account: Account) -> tuple[Planned, ...]:
        """Return the calls that would be made now on hosts that no machine holds."""
        return await plan_hosts(self.ports, account, self.settings)


def require_observed(inventory: Inventory) -> None:
    """Raise ProviderError where no scope could be observed: nothing can be said then.

    Each error is named once, with the zones in which it was met.
    """
    if inventory.failed and not inventory.whole:
        zones = dict[str, set[str]]()
        for (zone, _), found in inventory.failed.items():
            zones.setdefault(found.error, set()).add(zone)
        errors = (f"{', '.join(sorted(where))}: {error}" for error, where in zones.items())
        raise ProviderError("the provider could not be observed: " + "; ".join(errors))


def unseen_hosts(snapshot: AccountSnapshot) -> Unseen:
    """Return where the hosts of an account could not all be observed."""
    return {
        (snapshot.account, zone): observed.error
        for (zone, kind), observed in sorted(snapshot.inventory.failed.items())
        if kind == snapshot.capabilities.host_kind
    }


def incomplete(inventory: Inventory) -> dict[str, str]:
    """Return each scope that could not be observed in full, with the error."""
    return {
        f"{plural(kind)} in {zone}": observed.error
        for (zone, kind), observed in sorted(inventory.failed.items())
    }
