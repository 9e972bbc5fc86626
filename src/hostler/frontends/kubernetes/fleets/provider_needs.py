"""Provider needs: what objects and records say that still needs a provider."""

from collections.abc import Collection, Mapping

from hostler.config.values import Config
from hostler.domain.ids import AccountName, FleetName
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.snapshot import Orphan
from hostler.frontends.kubernetes.objects.models import FLEETS, PROVIDERS, Written
from hostler.frontends.kubernetes.objects.reach import provider_key
from hostler.kubernetes.objects import key_of

from .earlier import provider_of
from .provider_ends import LEAVE_ORPHANS, Needs
from .reported import Reported


async def needs_of(
    of: Reported, one: Written, config: Config, rows: Mapping[FleetName, FleetRow]
) -> Needs:
    """Return what still needs a deleted provider. StoreError goes through.

    A fleet whose provider is not in force is not run, and nobody can say how it is to be looked
    after; its row tells whose it is.
    """
    name = of.name(one)
    fleets = [fleet for fleet in config.fleets if str(fleet.account) == name]
    removed = {fleet.name: "" for fleet in fleets if fleet.removed}
    whose = {fleet for fleet, row in rows.items() if provider_of(row) == name}
    unread = {fleet: why for fleet, why in config.unreadable.items() if fleet in whose}
    known = [(rows[fleet], why) for fleet, why in {**removed, **unread}.items() if fleet in rows]
    return Needs(
        provider=key_of(one),
        named={of.name(fleet): fleet.metadata.name for fleet in naming(of, one)},
        run=[str(fleet.name) for fleet in fleets if not fleet.removed],
        held=[(await of.held(row), why) for row, why in known],
        orphans=await _orphans(of, one, whose),
    )


async def _orphans(of: Reported, one: Written, fleets: Collection[FleetName]) -> tuple[Orphan, ...]:
    """Return the orphans of these fleets, unless whoever deleted their provider leaves them."""
    if (one.metadata.annotations or {}).get(LEAVE_ORPHANS) == "true":
        return ()
    return tuple(orphan for orphan in await of.store.orphans() if orphan.fleet in fleets)


def named_providers(of: Reported) -> set[AccountName]:
    """Return the Providers that stay and that Fleets name, in force or not."""
    found = (one for one in of.followed.of(PROVIDERS.kind) if not one.ends)
    return {AccountName(of.name(one)) for one in found if naming(of, one)}


def naming(of: Reported, one: Written) -> tuple[Written, ...]:
    """Return the Fleets that name a provider, in force or not."""
    fleets = of.followed.of(FLEETS.kind)
    return tuple(f for f in fleets if not f.ends and provider_key(f) == key_of(one))
