"""Opening: what both products need to open an account: its client, its secret, its offers."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from hostler.domain.errors import ConfigError
from hostler.domain.ids import Zone
from hostler.domain.model.machine import Offer
from hostler.ports.files import read_text, unreadable, why_not_read
from hostler.ports.http import Endpoint
from hostler.ports.kind import Lack, Opening, Timing, table_of
from hostler.ports.loopback import is_loopback
from hostler.ports.secret import Secret

from .config_tables import UUID, AccountTable
from .settings import DEADLINE, Account

if TYPE_CHECKING:
    from .client import Client

REAL = "scaleway.com"
PROJECTS = ("SCW_DEFAULT_PROJECT_ID", "SCW_PROJECT_ID")
ORGANIZATIONS = ("SCW_DEFAULT_ORGANIZATION_ID", "SCW_ORGANIZATION_ID")


class Offered(Protocol):
    """A fleet's table: types and zones in order of preference."""

    @property
    def types(self) -> tuple[str, ...]: ...

    @property
    def zones(self) -> tuple[str, ...]: ...


def offers_of(table: Offered, image: str) -> tuple[Offer, ...]:
    """Return the offers, type by type and zone by zone."""
    return tuple(
        Offer(type=kind, zone=Zone(zone), image=image)
        for kind in dict.fromkeys(table.types)
        for zone in dict.fromkeys(table.zones)
    )


def timing_of(settings: object) -> Timing:
    """Return how long calls of an account may take, and be late."""
    table = table_of(AccountTable, settings)
    return Timing(deadline=DEADLINE, consistency_delay=table.consistency_delay)


def endpoint_faults(settings: object) -> tuple[str, ...]:
    """Return what cannot be an endpoint, or must not be one: a secret goes there."""
    endpoint = table_of(AccountTable, settings).endpoint
    try:
        parts = urlsplit(endpoint)
        _ = parts.port
    except ValueError as error:
        return (f"endpoint: expected an address whose port is one ({error})",)
    host = parts.hostname or ""
    if parts.scheme == "http" and (host == REAL or host.endswith(f".{REAL}")):
        return ("endpoint: expected https://, for the secret key would go unencrypted",)
    return ()


def endpoint_warnings(settings: object) -> tuple[str, ...]:
    """Return that the secret key goes over a network as it is."""
    parts = urlsplit(table_of(AccountTable, settings).endpoint)
    if parts.scheme != "http" or is_loopback(parts.hostname or ""):
        return ()
    return ("endpoint: the secret key goes there unencrypted: write https://",)


def missing_of(settings: object, folder: Path, environment: Mapping[str, str]) -> tuple[Lack, ...]:
    """Return which files of an account are not to be read here, or what the environment lacks."""
    table = table_of(AccountTable, settings)
    named = {"secret_key_file": table.secret_key_file, "ca_file": table.ca_file}
    found = [
        Lack(key=key, text=f"{folder / file} cannot be read: {why}")
        for key, file in named.items()
        if file is not None and (why := unreadable(folder / file))
    ]
    if table.secret_key_file is None and not environment.get(table.secret_key_env):
        text = f"{table.secret_key_env} is not set in this environment"
        found.append(Lack(key="secret_key_env", text=text, environment=True))
    if table.project is None and not any(environment.get(name) for name in PROJECTS):
        found.append(Lack(key="project", text=_set(PROJECTS), environment=True))
    return tuple(found)


def zones_of(tables: Iterable[Offered]) -> tuple[Zone, ...]:
    """Return all zones that some fleets may be in."""
    return tuple(sorted({Zone(zone) for table in tables for zone in table.zones}))


def client_of(opening: Opening, account: Account) -> "Client":
    """Return the client of an account; ConfigError where the file of certificates is not there."""
    from .client import Client  # noqa: PLC0415 - reading a fleet file must be quick

    table = table_of(AccountTable, opening.settings)
    authorities = opening.folder / table.ca_file if table.ca_file else None
    if authorities is not None and not authorities.is_file():
        raise ConfigError(f"provider.{opening.name}.ca_file: there is no file {authorities}")
    endpoint = Endpoint(base=account.endpoint, authorities=authorities)
    return Client(opening.connect(endpoint), account, opening.clock)


def account_of(opening: Opening) -> Account:
    """Return whose money it is; ConfigError says which secret or project is missing."""
    table, path = table_of(AccountTable, opening.settings), f"provider.{opening.name}"
    project = _id(table.project, PROJECTS, opening.environment, f"{path}.project")
    if not project:
        raise ConfigError(f"{path}.project is missing: {_set(PROJECTS)}")
    return Account(
        project=project,
        secret_key=_secret(table, opening, path),
        endpoint=table.endpoint.rstrip("/"),
    )


def account_id_of(settings: object, environment: Mapping[str, str]) -> str:
    """Return the project that everything of an account is in; empty where nothing names one."""
    project = _named(table_of(AccountTable, settings).project, PROJECTS, environment)
    return f"project {project.lower()}" if project else ""


def organization_of(setting: str | None, environment: Mapping[str, str], path: str) -> str:
    """Return whose quotas are read, or an empty string; ConfigError where that is no UUID."""
    return _id(setting, ORGANIZATIONS, environment, f"{path}.organization")


def _id(
    setting: str | None, names: tuple[str, ...], environment: Mapping[str, str], path: str
) -> str:
    """Return an id of the file or the environment, or an empty string."""
    text = _named(setting, names, environment)
    if text and not UUID.fullmatch(text):
        raise ConfigError(f"{path} is no UUID: {_set(names)}")
    return text


def _named(setting: str | None, names: tuple[str, ...], environment: Mapping[str, str]) -> str:
    """Return what the file says, else the first of these variables that does; else nothing."""
    found = (environment.get(name, "") for name in names)
    return setting or next((text for text in found if text), "")


def _set(names: tuple[str, ...]) -> str:
    return f"set it in the file, or {' or '.join(names)}"


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
            text = read_text(place)
        except (OSError, ValueError) as error:
            where = f"in {place.parent.absolute()} (relative names begin at the fleet file)"
            raise ConfigError(
                f"{source} cannot be read {where}: {why_not_read(error)}; {cure}"
            ) from None
    if not UUID.fullmatch(text.strip()):
        wrong = "is not set" if not text.strip() else "holds no secret key (a UUID)"
        raise ConfigError(f"{source} {wrong}: {cure}")
    return Secret(text.strip())
