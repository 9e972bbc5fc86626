"""Kind: how the fleet file's tables become an account with Macs."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from hostler.domain.errors import ConfigError
from hostler.domain.ids import FleetName, Zone
from hostler.domain.model.machine import Offer
from hostler.ports.kind import Blueprint, Opening
from hostler.ports.provider import Provider
from hostler.providers.scaleway.common.config_tables import UUID
from hostler.providers.scaleway.instances.kind import account_of

from .api.images import is_family
from .settings import PRICES, MacAccountTable, MacSite, MacTable, MacTemplate

ORGANIZATIONS = ("SCW_DEFAULT_ORGANIZATION_ID", "SCW_ORGANIZATION_ID")
START, STOP = timedelta(minutes=45), timedelta(minutes=45)
"""A claim may have to wipe first, and a wipe takes 5 to 20 minutes (reference: section 7.2)."""


class MacKind:
    """Scaleway Apple silicon."""

    settings = MacAccountTable
    template = MacTable

    def blueprint(self, settings: object, template: object, folder: Path) -> Blueprint:
        """Return the offers, type by type and zone by zone; the digest is of the networks."""
        del folder
        table = _macs(template)
        if not is_family(table.os):
            raise ValueError(
                f'os: expected a family, such as "Tahoe"; {table.os!r} names one image, which may '
                "be retired any day"
            )
        if table.order is not None and table.order.spend_per_day is not None:
            _all_priced(table, _prices(_account(settings)))
        made = ",".join(table.private_networks)
        return Blueprint(
            offers=tuple(
                Offer(type=kind, zone=Zone(zone), image=table.os)
                for kind in dict.fromkeys(table.types)
                for zone in dict.fromkeys(table.zones)
            ),
            digest=hashlib.sha256(made.encode()).hexdigest()[:16],
            timers={"start": START, "stop": STOP},
        )

    def warnings(self, settings: object, template: object) -> tuple[str, ...]:
        """Return that hosts cannot be released where no pool is named."""
        if _macs(template).pool_prefix or _account(settings).pool_prefix:
            return ()
        said = (
            "pool_prefix: there is none, so no host is ever claimed from a pool, and none that a "
            "machine had is released: it stays as it is, billed, in the orphan report"
        )
        return (said,)

    def open(self, opening: Opening) -> Provider:
        """Return the account, with the secret from its file or the environment."""
        from hostler.providers.scaleway.common.client import Client  # noqa: PLC0415 - see scaleway/kind.py
        from hostler.providers.scaleway.common.transport import AiohttpTransport  # noqa: PLC0415

        from .provider import Macs  # noqa: PLC0415

        table = _account(opening.settings)
        whose = organization_of(table, opening.environment, f"provider.{opening.name}")
        account = replace(account_of(opening), organization=whose)
        authorities = opening.folder / table.ca_file if table.ca_file else None
        if authorities is not None and not authorities.is_file():
            raise ConfigError(f"provider.{opening.name}.ca_file: there is no file {authorities}")
        macs = {name: _macs(template) for name, template in opening.templates.items()}
        return Macs(
            Client(AiohttpTransport(account.endpoint, authorities), account, opening.clock),
            opening.clock,
            installation=opening.installation,
            zones=tuple(sorted({Zone(z) for one in macs.values() for z in one.zones})),
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


def organization_of(account: MacAccountTable, environment: Mapping[str, str], path: str) -> str:
    """Return whose quotas are read, or an empty string; ConfigError where that is no UUID."""
    found = (environment.get(name, "") for name in ORGANIZATIONS)
    organization = account.organization or next((text for text in found if text), "")
    if organization and not UUID.fullmatch(organization):
        raise ConfigError(
            f"{path}.organization is no UUID: set it in the file, or {' or '.join(ORGANIZATIONS)}"
        )
    return organization


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


def site_of(account: MacAccountTable, fleets: dict[FleetName, MacTable]) -> MacSite:
    """Return what hosts are read with: the pools of the account and of all its fleets."""
    named = (account.pool_prefix, *(table.pool_prefix for table in fleets.values()))
    pools = tuple(dict.fromkeys(prefix for prefix in named if prefix))
    return MacSite(pools=pools, default=account.pool_prefix or "", prices=_prices(account))


def _account(settings: object) -> MacAccountTable:
    if not isinstance(settings, MacAccountTable):
        raise TypeError(type(settings))
    return settings


def _macs(template: object) -> MacTable:
    if not isinstance(template, MacTable):
        raise TypeError(type(template))
    return template
