"""Kind: how the fleet file's tables become an account at Scaleway."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import msgspec

from hostler.ports.files import read_text, why_not_read
from hostler.ports.kind import Blueprint, Lack, Opening, Timing, table_of
from hostler.ports.provider import Provider
from hostler.providers.scaleway.common.config_tables import AccountTable, MachineTable
from hostler.providers.scaleway.common.opening import (
    account_id_of,
    account_of,
    client_of,
    endpoint_faults,
    endpoint_warnings,
    missing_of,
    offers_of,
    timing_of,
    zones_of,
)
from hostler.providers.scaleway.common.settings import LARGEST_USER_DATA, Template


class ScalewayKind:
    """Scaleway Instances."""

    settings = AccountTable
    template = MachineTable

    def blueprint(self, settings: object, template: object, folder: Path) -> Blueprint:
        """Return the offers, type by type and zone by zone, and the digest of all the rest."""
        del settings
        table = table_of(MachineTable, template)
        made = asdict(_template(table, folder))
        digest = hashlib.sha256(msgspec.json.encode(made, order="deterministic")).hexdigest()
        return Blueprint(
            offers=offers_of(table, table.image),
            digest=digest[:16],
        )

    def warnings(self, settings: object, template: object) -> tuple[str, ...]:
        """Return that a pool is not used, or that a server could be reached by nobody."""
        del settings
        table = table_of(MachineTable, template)
        found = list[str]()
        if table.address_pool is not None and not table.public_ipv4:
            found.append("address_pool: it is not used, for public_ipv4 = false")
        if not (table.public_ipv4 or table.public_ipv6 or table.private_networks):
            found.append(
                "public_ipv4: without any address and private network nobody reaches a server, and "
                "no probe over the network passes"
            )
        return tuple(found)

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
        # Only who opens an account pays for the HTTP client: checking a file must be quick.
        from .provider import Instances  # noqa: PLC0415

        table = table_of(AccountTable, opening.settings)
        machines = {n: table_of(MachineTable, entry) for n, entry in opening.templates.items()}
        return Instances(
            client_of(opening, account_of(opening)),
            opening.clock,
            installation=opening.installation,
            zones=zones_of(machines.values()),
            templates={name: _template(t, opening.folder) for name, t in machines.items()},
            consistency_delay=table.consistency_delay,
            bootstraps=opening.bootstraps,
        )


def _template(table: MachineTable, folder: Path) -> Template:
    if table.cloud_init is not None and table.cloud_init_file is not None:
        raise ValueError("cloud_init: expected it, or cloud_init_file, not both")
    if table.cloud_init_file is None:
        return table.template(_fitting("cloud_init", table.cloud_init or ""))
    try:
        text = read_text(folder / table.cloud_init_file)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"cloud_init_file: expected a readable text file: {why_not_read(error)}"
        ) from error
    return table.template(_fitting("cloud_init_file", text))


def _fitting(key: str, text: str) -> str:
    size = len(text.encode())
    if size > LARGEST_USER_DATA:
        raise ValueError(
            f"{key}: expected at most {LARGEST_USER_DATA:,} bytes of user data; there are {size:,}"
        )
    return text
