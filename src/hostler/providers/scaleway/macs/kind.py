"""Kind: how the fleet file's tables become an account with Macs."""

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from msgspec.structs import replace

from hostler.domain.ids import FleetName
from hostler.ports.kind import Blueprint, Lack, Opening, Timing, table_of
from hostler.ports.provider import Provider
from hostler.providers.scaleway.common.opening import (
    account_id_of,
    account_of,
    client_of,
    endpoint_faults,
    endpoint_warnings,
    missing_of,
    offers_of,
    organization_of,
    timing_of,
    zones_of,
)

from .api.images import is_family
from .settings import PRICES, MacAccountTable, MacSite, MacTable, MacTemplate

START, STOP = timedelta(minutes=45), timedelta(minutes=45)
"""A claim may have to wipe first, and a wipe takes 5 to 20 minutes (reference: section 7.2)."""
_DAY = timedelta(days=1)


class MacKind:
    """Scaleway Apple silicon."""

    settings = MacAccountTable
    template = MacTable

    def blueprint(self, settings: object, template: object, folder: Path) -> Blueprint:
        """Return the offers, type by type and zone by zone; the digest is of the networks."""
        del folder
        table = table_of(MacTable, template)
        if not is_family(table.os):
            raise ValueError(
                f'os: expected a family, such as "Tahoe"; {table.os!r} names one image, which may '
                "be retired any day"
            )
        if table.order is not None and not timedelta(0) <= table.order.patience <= _DAY:
            raise ValueError("order.patience: expected at most 24h, what a host is paid for")
        if table.order is not None and table.order.spend_per_day is not None:
            prices = _prices(table_of(MacAccountTable, settings))
            _all_priced(table, prices)
            _affordable(table, table.order.spend_per_day, prices)
        made = ",".join(table.private_networks)
        return Blueprint(
            offers=offers_of(table, table.os),
            digest=hashlib.sha256(made.encode()).hexdigest()[:16],
            timers={"start": START, "stop": STOP},
        )

    def warnings(self, settings: object, template: object) -> tuple[str, ...]:
        """Return that hosts cannot be released where no pool is named."""
        fleet, account = table_of(MacTable, template), table_of(MacAccountTable, settings)
        if fleet.pool_prefix or account.pool_prefix:
            return ()
        warning = (
            "pool_prefix: there is none, so no host is ever claimed from a pool, and none that a "
            "machine had is released: it stays as it is, billed, in the orphan report"
        )
        return (warning,)

    def timing(self, settings: object) -> Timing:
        """Return how long calls may take, and be late."""
        return timing_of(settings)

    def check(self, settings: object) -> tuple[str, ...]:
        """Return what cannot be an endpoint."""
        return endpoint_faults(settings)

    def warnings_of(self, settings: object) -> tuple[str, ...]:
        """Return that the secret key goes unencrypted."""
        return endpoint_warnings(settings)

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return which files, secrets and ids are not here."""
        return missing_of(settings, folder, environment)

    def account_id(self, settings: object, environment: Mapping[str, str]) -> str:
        """Return the account's project."""
        return account_id_of(settings, environment)

    def open(self, opening: Opening) -> Provider:
        """Return the account, with the secret from its file or the environment."""
        from .provider import Macs  # noqa: PLC0415 - reading a fleet file must be quick

        table = table_of(MacAccountTable, opening.settings)
        path = f"provider.{opening.name}"
        organization = organization_of(table.organization, opening.environment, path)
        account = replace(account_of(opening), organization=organization)
        macs = {name: table_of(MacTable, entry) for name, entry in opening.templates.items()}
        return Macs(
            client_of(opening, account),
            opening.clock,
            installation=opening.installation,
            zones=zones_of(macs.values()),
            templates={name: template_of(one, table) for name, one in macs.items()},
            site=site_of(table, macs),
            consistency_delay=table.consistency_delay,
        )


def template_of(table: MacTable, account: MacAccountTable) -> MacTemplate:
    """Return a fleet's template; the account's pool serves where it names none."""
    pool = table.pool_prefix or account.pool_prefix or ""
    limits = table.order.limits() if table.order is not None else None
    if limits is not None:
        prices = _prices(account)
        limits = replace(limits, price=max(prices.get(kind, 0.0) for kind in table.types))
    return MacTemplate(pool=pool, networks=table.private_networks, limits=limits)


def _prices(account: MacAccountTable) -> dict[str, float]:
    return {**PRICES, **account.prices}


def _all_priced(table: MacTable, prices: dict[str, float]) -> None:
    """Raise ValueError where a type has no price, so that nobody knew what an order commits to."""
    lacking = [kind for kind in table.types if prices.get(kind, 0.0) <= 0]
    if lacking:
        raise ValueError(
            f"order.spend_per_day: expected a price of {', '.join(lacking)} among `prices` of the "
            "account: no API tells it"
        )


def _affordable(table: MacTable, limit: float, prices: dict[str, float]) -> None:
    """Raise ValueError where not one host could be ordered: each is committed for a day."""
    least = 24 * min(prices[kind] for kind in table.types)
    if limit < least:
        raise ValueError(
            f"order.spend_per_day: expected at least {least:.2f}, what one host costs in the day "
            "that it is committed for; or no `order`"
        )


def site_of(account: MacAccountTable, fleets: dict[FleetName, MacTable]) -> MacSite:
    """Return what hosts are read with: the pools of the account and of all its fleets."""
    named = (account.pool_prefix, *(table.pool_prefix for table in fleets.values()))
    pools = tuple(dict.fromkeys(prefix for prefix in named if prefix))
    return MacSite(pools=pools, default=account.pool_prefix or "", prices=_prices(account))
