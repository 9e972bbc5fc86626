"""Judging: what objects are judged by beside themselves, in an engine and where they are only read.

Which kinds may be listed, which accounts can be opened, and which fleets would be left by theirs.
"""

import structlog

from hostler.config.errors import Fault
from hostler.config.values import Config
from hostler.frontends.cli.context import Services
from hostler.frontends.kubernetes.connecting import Connected
from hostler.frontends.kubernetes.fleets.following import KINDS, Selections
from hostler.frontends.kubernetes.fleets.judging import Leaves, Opens
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.objects.models import HOSTS
from hostler.kubernetes.errors import Forbidden
from hostler.kubernetes.requests import Selection
from hostler.ports.store import Store
from hostler.queries.left_accounts import left_accounts

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.kubernetes")


async def readable(cluster: Connected, namespaces: Namespaces) -> Selections:
    """Return what is read of our kinds: all, but for Hosts where we may not.

    Raises KindNotServed, or Forbidden, where they cannot be; both name the cure, and the second
    the namespace that it is about.
    """
    found: dict[str, list[Selection]] = {kind: [] for kind in KINDS}
    for resource in KINDS.values():
        for selection in namespaces.selections:
            try:
                await cluster.client.list_all(resource, selection)
            except Forbidden as error:
                if resource is not HOSTS:
                    raise
                log.warning("kubernetes.no_hosts", why=str(error))
            else:
                found[resource.kind].append(selection)
    return found


def opener(services: Services, store: Store) -> Opens:
    """Return what opens accounts, and closes them at once."""

    async def opens(config: Config) -> None:
        async with services.accounts(config, store):
            return

    return opens


def leaver(services: Services, store: Store) -> Leaves:
    """Return what tells which fleets a configuration takes away, with or without objects."""

    async def leaves(config: Config) -> tuple[Fault, ...]:
        known = await services.with_removed(config, store)
        return await left_accounts(store, known, services.clock().now())

    return leaves
