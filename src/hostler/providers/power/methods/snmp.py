"""SNMP: outlets of power strips, by the versions 1, 2c and 3.

Where a vendor has its outlets, `providers.power.snmp.models` says. A machine behind an outlet must
be set to start when its power comes back. Off and on again are two acts: there is no cycle.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, structs

from hostler.domain.errors import ConfigError
from hostler.ports.addresses import canonical
from hostler.ports.files import unreadable
from hostler.ports.kind import Lack, table_of
from hostler.ports.power import Power, PowerAction, PowerCapabilities, PowerOpening
from hostler.ports.secret import Secret, read_secret
from hostler.providers.power.addresses import faults_of
from hostler.providers.power.snmp.models import MODELS
from hostler.providers.power.switch import MethodTable, switch_of

_SECRETS = ("community", "password", "privacy_password")
_LEAST = 8
"""Characters that passwords of version 3 have at least (RFC 3414, section 11.2)."""


class SnmpTable(MethodTable, frozen=True, kw_only=True):
    """An outlet of a power strip that speaks SNMP."""

    address: Annotated[str, Meta(min_length=1, description="its address or name in the network")]
    outlet: Annotated[int, Meta(ge=1, le=999, description="which of its outlets, from 1 on")]
    unit: Annotated[
        int, Meta(ge=1, le=99, description="which strip of a chain, where the model counts them")
    ] = 1
    model: Annotated[
        str,
        Meta(
            description="the vendor's model, of [these](../guides/owned-machines.md#power-strips); "
            "`auto`: the strip is asked"
        ),
    ] = "auto"
    port: Annotated[int, Meta(ge=1, le=65535, description="the UDP port of its agent")] = 161
    version: Annotated[
        Literal["1", "2c", "3"], Meta(description="of SNMP; 3 alone protects what it sends")
    ] = "2c"
    community_env: Annotated[
        str | None,
        Meta(description="versions 1 and 2c: the environment variable that holds the community"),
    ] = None
    community_file: Annotated[
        str | None, Meta(description="or the file that does, seen from the fleet file")
    ] = None
    user: Annotated[str | None, Meta(description="version 3: the user")] = None
    authentication: Annotated[
        Literal["md5", "sha", "sha256", "sha512"],
        Meta(description="version 3: how the password proves who asks"),
    ] = "sha"
    password_env: Annotated[
        str | None,
        Meta(description="version 3: the environment variable that holds the user's password"),
    ] = None
    password_file: Annotated[
        str | None, Meta(description="or the file that does, seen from the fleet file")
    ] = None
    privacy: Annotated[
        Literal["des", "aes", "aes256"], Meta(description="version 3: how packets are encrypted")
    ] = "aes"
    privacy_password_env: Annotated[
        str | None,
        Meta(
            description="version 3: the environment variable that holds the password for that; "
            "without one nothing is encrypted"
        ),
    ] = None
    privacy_password_file: Annotated[
        str | None, Meta(description="or the file that does, seen from the fleet file")
    ] = None

    def places(self, name: str) -> tuple[str | None, str | None]:
        """Return the environment variable and the file that may hold a secret."""
        known: dict[str, tuple[str | None, str | None]] = {
            "community": (self.community_env, self.community_file),
            "password": (self.password_env, self.password_file),
            "privacy_password": (self.privacy_password_env, self.privacy_password_file),
        }
        return known[name]


class Snmp:
    """Implements `PowerMethod`."""

    settings = SnmpTable

    def capabilities(self, settings: object) -> PowerCapabilities:
        """Return that it gives power and takes it, and tells which."""
        table = table_of(SnmpTable, settings)
        return PowerCapabilities(
            actions=frozenset({PowerAction.ON, PowerAction.OFF_HARD}),
            query=True,
            feeds=True,
            settles=table.settles,
            deadline=table.deadline,
        )

    def endpoint(self, settings: object) -> str:
        """Return the strip, whichever outlet of it."""
        table = table_of(SnmpTable, settings)
        return f"snmp {canonical(table.address)}:{table.port}"

    def check(self, settings: object) -> tuple[str, ...]:
        """Return a model that nobody knows, and credentials that do not belong together."""
        return tuple(_faults(table_of(SnmpTable, settings)))

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return which secrets are not here."""
        return tuple(_lacks(table_of(SnmpTable, settings), folder, environment))

    def open(self, opening: PowerOpening) -> Power:
        """Return the way to one outlet."""
        from hostler.providers.power.snmp.agent import Agent, Place, User, session
        from hostler.providers.power.snmp.outlet import Outlet

        table = table_of(SnmpTable, opening.settings)
        community, password, privacy = (_secret(table, name, opening) for name in _SECRETS)
        user = User(
            name=table.user or "",
            authentication=table.authentication,
            secret=password,
            privacy=table.privacy,
            privacy_secret=privacy,
        )
        place = Place(address=table.address, port=table.port, longest=table.deadline)
        strip = structs.replace(table, outlet=1, unit=1, model="auto")
        spoken = opening.turn.shared(strip, lambda: session(place, table.version, community, user))
        agent = Agent(spoken, table.deadline.total_seconds())
        device = Outlet(agent, MODELS.get(table.model), table.outlet, table.unit)
        return switch_of(device, self.capabilities(table), opening)


def _faults(table: SnmpTable) -> Iterator[str]:
    yield from faults_of("address", table.address)
    if table.model not in {"auto", *MODELS}:
        yield f"model: expected one of auto, {', '.join(MODELS)}"
    known = MODELS.get(table.model)
    if table.unit != 1 and known is not None and not known.counts_units:
        yield f"unit: expected 1, as {table.model} does not count the strips of a chain"
    for name in _SECRETS:
        if all(table.places(name)):
            yield f"{name}_file: expected either this or {name}_env"
    named = {name for name in _SECRETS if any(table.places(name))}
    if table.version == "3":
        yield from _faults_of_user(table, named)
        return
    if "community" not in named:
        yield "community_env: expected where the community is, as version 1 and 2c need one"
    if table.user is not None or named - {"community"}:
        yield "version: expected 3, as a user or a password is given"


def _faults_of_user(table: SnmpTable, named: set[str]) -> Iterator[str]:
    if not table.user:
        yield "user: expected the user, as version 3 needs one"
    if "community" in named:
        yield "community_env: expected none with version 3, which has users"
    if "privacy_password" in named and "password" not in named:
        yield "password_env: expected where the password is, as what is encrypted needs one"


def _lacks(table: SnmpTable, folder: Path, environment: Mapping[str, str]) -> Iterator[Lack]:
    for name in _SECRETS:
        variable, file = table.places(name)
        if file is not None and (why := unreadable(folder / file)):
            yield Lack(key=f"{name}_file", text=f"{folder / file} cannot be read: {why}")
        if variable is not None and not environment.get(variable):
            text = f"{variable} is not set in this environment"
            yield Lack(key=f"{name}_env", text=text, environment=True)


def _secret(table: SnmpTable, name: str, opening: PowerOpening) -> Secret:
    variable, file = table.places(name)
    try:
        secret = read_secret(variable, opening.folder / file if file else None, opening.environment)
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from None
    if name != "community" and 0 < len(secret.reveal()) < _LEAST:
        raise ConfigError(f"{name}: expected {_LEAST} characters or more, as version 3 does")
    return secret
