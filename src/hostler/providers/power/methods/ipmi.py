"""IPMI: a management controller over the network, by python-ipmi or by the program ipmitool."""

import importlib.util
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from hostler.domain.errors import ConfigError
from hostler.ports.addresses import canonical
from hostler.ports.kind import Lack, table_of
from hostler.ports.power import Power, PowerAction, PowerCapabilities, PowerOpening
from hostler.providers.power.addresses import faults_of
from hostler.providers.power.ipmi.controller import SUITES, Client, Controller, Place
from hostler.providers.power.ipmi.program import NAME, Program
from hostler.providers.power.passwords import lacking, password_of
from hostler.providers.power.programs import PASSED
from hostler.providers.power.switch import MethodTable, switch_of

_CURE = "install it (`pip install python-ipmi`), or the program ipmitool"
_MESSAGES = 8
"""How many answers a call waits for at most: those of its session, and its own."""


class IpmiTable(MethodTable, frozen=True, kw_only=True):
    """A management controller that speaks IPMI 2.0 over the network."""

    address: Annotated[str, Meta(min_length=1, description="its address or name in the network")]
    port: Annotated[int, Meta(ge=1, le=65535, description="its UDP port")] = 623
    user: Annotated[str, Meta(min_length=1, max_length=16, description="who logs in")]
    password_env: Annotated[
        str | None, Meta(description="the environment variable that holds the password")
    ] = None
    password_file: Annotated[
        str | None, Meta(description="or the file that does, seen from the fleet file")
    ] = None
    privilege: Annotated[
        Literal["operator", "administrator"],
        Meta(description="the privilege of the session; to switch power an operator's is enough"),
    ] = "operator"
    cipher_suite: Annotated[
        Literal[3, 17] | None,
        Meta(
            description="the cipher suite; left out: 17, and 3 where the controller, or what "
            "speaks IPMI, lacks that"
        ),
    ] = None
    client: Annotated[
        Literal["auto", "python-ipmi", "ipmitool"],
        Meta(
            description="what speaks IPMI: the library python-ipmi, or the program; auto: the "
            "first one that is installed"
        ),
    ] = "auto"


class Ipmi:
    """Implements `PowerMethod`."""

    settings = IpmiTable

    def capabilities(self, settings: object) -> PowerCapabilities:
        """Return that it can do everything but tell a draw."""
        table = table_of(IpmiTable, settings)
        return PowerCapabilities(
            actions=frozenset(PowerAction),
            query=True,
            settles=table.settles,
            deadline=table.deadline,
        )

    def endpoint(self, settings: object) -> str:
        """Return the controller."""
        table = table_of(IpmiTable, settings)
        return f"ipmi {canonical(table.address)}:{table.port}"

    def check(self, settings: object) -> tuple[str, ...]:
        """Return what is no address, and whether one place holds the password."""
        return tuple(_faults(table_of(IpmiTable, settings)))

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return whether the password is here, and anything that speaks IPMI."""
        return tuple(_lacks(table_of(IpmiTable, settings), folder, environment))

    def open(self, opening: PowerOpening) -> Power:
        """Return the way to one controller; ConfigError where nothing here speaks IPMI."""
        table = table_of(IpmiTable, opening.settings)
        suites = SUITES if table.cipher_suite is None else (table.cipher_suite,)
        place = Place(
            address=table.address,
            port=table.port,
            user=table.user,
            password=password_of(table, opening),
            privilege=table.privilege,
            suites=suites,
            patience=table.deadline.total_seconds() / _MESSAGES,
        )
        device = Controller(_client(table, place, opening.environment), suites)
        return switch_of(device, self.capabilities(table), opening)


def _faults(table: IpmiTable) -> Iterator[str]:
    yield from faults_of("address", table.address)
    if table.password_env and table.password_file:
        yield "password_file: expected either this or password_env"
    if not (table.password_env or table.password_file):
        yield "password_env: expected where the password is"


def _lacks(table: IpmiTable, folder: Path, environment: Mapping[str, str]) -> Iterator[Lack]:
    yield from lacking(table, folder, environment)
    if not _speaker(table, environment):
        yield Lack(key="client", text=_not_here(table))


def _speaker(table: IpmiTable, environment: Mapping[str, str]) -> str:
    """Return what speaks IPMI here; empty where nothing does that the table allows.

    Who insists on suite 17 gets the program first: python-ipmi may not speak that.
    """
    here = {
        "python-ipmi": importlib.util.find_spec("pyipmi") is not None,
        NAME: shutil.which(NAME, path=environment.get("PATH")) is not None,
    }
    order = reversed(here) if table.cipher_suite == SUITES[0] else here
    return next((name for name in order if here[name] and table.client in {"auto", name}), "")


def _not_here(table: IpmiTable) -> str:
    what = "neither python-ipmi nor ipmitool is" if table.client == "auto" else f"no {table.client}"
    return f"{what} here: {_CURE}" if table.client == "auto" else f"there is {what} here: {_CURE}"


def _client(table: IpmiTable, place: Place, environment: Mapping[str, str]) -> Client:
    speaker = _speaker(table, environment)
    if speaker == NAME:
        return Program(place, {name: environment[name] for name in PASSED if name in environment})
    if not speaker:
        raise ConfigError(f"client: {_not_here(table)}")
    from hostler.providers.power.ipmi.library import Library

    return Library(place)
