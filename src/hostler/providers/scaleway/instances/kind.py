"""Kind: how the fleet file's tables become an account at Scaleway."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import msgspec

from hostler.domain.errors import ConfigError
from hostler.domain.ids import Zone
from hostler.domain.model.machine import Offer
from hostler.ports.kind import Blueprint, Opening
from hostler.ports.provider import Provider
from hostler.providers.scaleway.common.config_tables import UUID, AccountTable, MachineTable
from hostler.providers.scaleway.common.settings import Account, Secret, Template

LARGEST = 1_000_000
LARGEST_USER_DATA = 127_998
"""Bytes of user data at most: the bound of the official Terraform provider (instance/server.go)."""
_PROJECTS = ("SCW_DEFAULT_PROJECT_ID", "SCW_PROJECT_ID")


class ScalewayKind:
    """Scaleway Instances."""

    settings = AccountTable
    template = MachineTable

    def blueprint(self, settings: object, template: object, folder: Path) -> Blueprint:
        """Return the offers, type by type and zone by zone, and the digest of all the rest."""
        del settings
        table = _machines(template)
        made = asdict(_template(table, folder))
        digest = hashlib.sha256(msgspec.json.encode(made, order="deterministic")).hexdigest()
        return Blueprint(
            offers=tuple(
                Offer(type=kind, zone=Zone(zone), image=table.image)
                for kind in dict.fromkeys(table.types)
                for zone in dict.fromkeys(table.zones)
            ),
            digest=digest[:16],
        )

    def open(self, opening: Opening) -> Provider:
        """Return the account, with the secret from its file or the environment."""
        # Only who opens an account pays for the HTTP client: checking a file must be quick.
        from hostler.providers.scaleway.common.client import Client  # noqa: PLC0415
        from hostler.providers.scaleway.common.transport import AiohttpTransport  # noqa: PLC0415

        from .provider import Instances  # noqa: PLC0415

        account, table = account_of(opening), _account_table(opening)
        authorities = opening.folder / table.ca_file if table.ca_file else None
        if authorities is not None and not authorities.is_file():
            raise ConfigError(f"provider.{opening.name}.ca_file: there is no file {authorities}")
        machines = {name: _machines(template) for name, template in opening.templates.items()}
        return Instances(
            Client(AiohttpTransport(account.endpoint, authorities), account, opening.clock),
            opening.clock,
            installation=opening.installation,
            zones=tuple(sorted({Zone(z) for table in machines.values() for z in table.zones})),
            templates={name: _template(t, opening.folder) for name, t in machines.items()},
            consistency_delay=table.consistency_delay,
        )


def account_of(opening: Opening) -> Account:
    """Return whose money it is; ConfigError says which secret or project is missing."""
    table, path = _account_table(opening), f"provider.{opening.name}"
    return Account(
        project=_project(table, opening.environment, path),
        secret_key=_secret(table, opening, path),
        endpoint=table.endpoint.rstrip("/"),
    )


def _account_table(opening: Opening) -> AccountTable:
    table = opening.settings
    if not isinstance(table, AccountTable):
        raise TypeError(type(table))
    return table


def _machines(template: object) -> MachineTable:
    if not isinstance(template, MachineTable):
        raise TypeError(type(template))
    return template


def _template(table: MachineTable, folder: Path) -> Template:
    if table.cloud_init is not None and table.cloud_init_file is not None:
        raise ValueError("cloud_init: expected it, or cloud_init_file, not both")
    if table.cloud_init_file is None:
        return table.template(_fitting("cloud_init", table.cloud_init or ""))
    try:
        text = _read(folder / table.cloud_init_file)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"cloud_init_file: expected a readable text file: {_why(error)}"
        ) from error
    return table.template(_fitting("cloud_init_file", text))


def _fitting(key: str, text: str) -> str:
    size = len(text.encode())
    if size > LARGEST_USER_DATA:
        raise ValueError(
            f"{key}: expected at most {LARGEST_USER_DATA:,} bytes of user data; there are {size:,}"
        )
    return text


def _read(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError("it is too large")
    return content.decode()


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)


def _project(table: AccountTable, environment: Mapping[str, str], path: str) -> str:
    found = (environment.get(name, "") for name in _PROJECTS)
    project = table.project or next((text for text in found if text), "")
    if not UUID.fullmatch(project):
        wrong = "is missing" if not project else "is no UUID"
        raise ConfigError(
            f"{path}.project {wrong}: set it in the file, or {' or '.join(_PROJECTS)}"
        )
    return project


def _secret(table: AccountTable, opening: Opening, path: str) -> Secret:
    """Return the secret key; no message of this function holds any part of it."""
    if table.secret_key_file is None:
        text = opening.environment.get(table.secret_key_env, "")
        source = f"the environment variable {table.secret_key_env}"
        cure = f"set {table.secret_key_env}, or name a file in {path}.secret_key_file"
    else:
        source = f"the file of {path}.secret_key_file"
        cure = "it holds the secret key of an API key, a UUID, and nothing else"
        place = opening.folder / table.secret_key_file
        try:
            text = _read(place)
        except (OSError, ValueError) as error:
            where = f"in {place.parent} (relative names begin at the fleet file)"
            raise ConfigError(f"{source} cannot be read {where}: {_why(error)}; {cure}") from None
    if not UUID.fullmatch(text.strip()):
        wrong = "is not set" if not text.strip() else "holds no secret key (a UUID)"
        raise ConfigError(f"{source} {wrong}: {cure}")
    return Secret(text.strip())
