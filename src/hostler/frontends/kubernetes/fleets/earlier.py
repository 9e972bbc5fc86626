"""Earlier: what was in force before this process began, as records know it.

A fleet's row has the table that an engine ran. Of providers none is kept; the hosts on record say
which of their hosts must not lack.
"""

from collections.abc import Mapping

from hostler.config.decode import Raw
from hostler.config.definition import table_of
from hostler.domain.ids import AccountName
from hostler.domain.model.fleet import FleetRow
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.objects.assembly import PROVIDER, Place
from hostler.frontends.kubernetes.objects.host_entries import HostPlace
from hostler.frontends.kubernetes.objects.models import FLEETS, PROVIDERS
from hostler.ports.store import Store
from hostler.queries.hosts import recorded_hosts

from .following import Followed
from .hosts import is_absent
from .protected import run_tables
from .source import Source


async def earlier_tables(
    store: Store, followed: Followed, namespaces: Namespaces
) -> Mapping[Place, Raw]:
    """Return the tables that an engine last ran for the fleets that are objects now."""
    return run_tables(followed.of(FLEETS.kind), await store.fleets(), namespaces)


async def read_again(source: Source, followed: Followed, store: Store) -> None:
    """Read objects and records anew, where another process has run them since."""
    await followed.list_anew()
    earlier = await earlier_tables(store, followed, source.namespaces)
    await source.again(earlier, await recorded_places(store, followed, source.namespaces))


async def behind(source: Source, store: Store) -> str:
    """Return in what records are ahead of what was read here, in a sentence; empty where in none.

    An engine that lacks a host takes its machine for lost, and starts another beside it; one that
    has a fleet as it was before ends machines that are wanted by now. Tables of fleets compare from
    process to process: they name Secrets by files whose paths stay.
    """
    lists = source.lists()
    for host in await recorded_hosts(store, map(AccountName, lists)):
        if host.binding is not None and not lists[host.account] & {host.name, str(host.id)}:
            return f"machine {host.binding} is on host {host.id}, which was not read yet"
    fleets = {fleet.name: fleet for fleet in source.config().fleets}
    for row in await store.fleets():
        fleet = fleets.get(row.name)
        if fleet is not None and row.definition not in {"", fleet.definition}:
            return f"fleet {row.name} was run otherwise than it was read here"
    return ""


def provider_of(row: FleetRow) -> str:
    """Return the provider of a fleet by the table that an engine last ran; empty if unknown."""
    try:
        return str(table_of(row.definition).get(PROVIDER, ""))
    except ValueError:
        return ""


async def recorded_places(
    store: Store, followed: Followed, namespaces: Namespaces
) -> frozenset[HostPlace]:
    """Return the hosts that an engine knows of the providers that are objects now."""
    objects = followed.of(PROVIDERS.kind)
    providers = {AccountName(namespaces.name_of(one.metadata)) for one in objects}
    return frozenset(
        (str(host.account), name)
        for host in await recorded_hosts(store, providers)
        if host.binding is not None or host.record is None or not is_absent(host.record)
        for name in (host.name or str(host.id), str(host.id))
    )
