"""MQTT: plugs and relays behind a broker: with Tasmota, or by zigbee2mqtt."""

import importlib.util
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from hostler.domain.errors import ConfigError
from hostler.ports.addresses import canonical
from hostler.ports.files import unreadable
from hostler.ports.kind import Lack, table_of
from hostler.ports.power import Power, PowerAction, PowerCapabilities, PowerOpening
from hostler.providers.power.addresses import faults_of
from hostler.providers.power.mqtt.dialects import DIALECTS
from hostler.providers.power.passwords import lacking, password_of
from hostler.providers.power.switch import MethodTable, switch_of

_CURE = "aiomqtt is not here: install it with `pip install aiomqtt`"


class MqttTable(MethodTable, frozen=True, kw_only=True):
    """A plug or relay behind an MQTT broker."""

    broker: Annotated[str, Meta(min_length=1, description="its address or name in the network")]
    topic: Annotated[
        str,
        Meta(
            pattern=r"^[^+#\x00-\x1f]{1,200}$",
            description="how the device is called there",
            extra={"expected": "text without + and #"},
        ),
    ]
    firmware: Annotated[
        Literal["tasmota", "zigbee2mqtt"], Meta(description="whose topics the device has")
    ] = "tasmota"
    outlet: Annotated[int, Meta(ge=1, le=32, description="which of its relays, from 1 on")] = 1
    port: Annotated[
        Annotated[int, Meta(ge=1, le=65535)] | None,
        Meta(description="the broker's port; left out: 8883 with TLS, else 1883"),
    ] = None
    tls: Annotated[bool, Meta(description="whether the connection is encrypted")] = False
    ca_file: Annotated[
        str | None,
        Meta(description="with TLS: the certificates that are believed instead of the system's"),
    ] = None
    user: Annotated[str | None, Meta(description="who logs in; left out: nobody does")] = None
    password_env: Annotated[
        str | None, Meta(description="the environment variable that holds the password")
    ] = None
    password_file: Annotated[
        str | None, Meta(description="or the file that does, seen from the fleet file")
    ] = None

    @property
    def place(self) -> int:
        """The broker's port."""
        return self.port or (8883 if self.tls else 1883)


class Mqtt:
    """Implements `PowerMethod`."""

    settings = MqttTable

    def capabilities(self, settings: object) -> PowerCapabilities:
        """Return that it gives power and takes it, and tells which."""
        table = table_of(MqttTable, settings)
        return PowerCapabilities(
            actions=frozenset({PowerAction.ON, PowerAction.OFF_HARD}),
            query=True,
            feeds=True,
            settles=table.settles,
            deadline=table.deadline,
        )

    def endpoint(self, settings: object) -> str:
        """Return the device: the broker itself answers any number at once."""
        table = table_of(MqttTable, settings)
        return f"mqtt {canonical(table.broker)}:{table.place} {table.topic}"

    def check(self, settings: object) -> tuple[str, ...]:
        """Return what does not belong together."""
        return tuple(_faults(table_of(MqttTable, settings)))

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return which secrets and files are not here, and whether the library is."""
        return tuple(_lacks(table_of(MqttTable, settings), folder, environment))

    def open(self, opening: PowerOpening) -> Power:
        """Return the way to one relay; ConfigError where the library is not installed."""
        if not _is_installed():
            raise ConfigError(f"broker: {_CURE}")
        from hostler.providers.power.mqtt.relay import Broker, Relay

        table = table_of(MqttTable, opening.settings)
        broker = Broker(
            address=table.broker,
            port=table.place,
            user=table.user,
            password=password_of(table, opening),
            tls=_context(table, opening.folder),
            patience=table.deadline.total_seconds(),
        )
        relay = Relay(broker, DIALECTS[table.firmware](table.topic, table.outlet))
        return switch_of(relay, self.capabilities(table), opening)


def _faults(table: MqttTable) -> Iterator[str]:
    yield from faults_of("broker", table.broker)
    if table.password_env and table.password_file:
        yield "password_file: expected either this or password_env"
    if (table.password_env or table.password_file) and table.user is None:
        yield "user: expected who logs in, as a password is given"
    if table.ca_file is not None and not table.tls:
        yield "tls: expected true, as certificates are given"


def _lacks(table: MqttTable, folder: Path, environment: Mapping[str, str]) -> Iterator[Lack]:
    yield from lacking(table, folder, environment)
    if table.ca_file is not None and (why := unreadable(folder / table.ca_file)):
        yield Lack(key="ca_file", text=f"{folder / table.ca_file} cannot be read: {why}")
    if not _is_installed():
        yield Lack(key="broker", text=_CURE)


def _is_installed() -> bool:
    return importlib.util.find_spec("aiomqtt") is not None


def _context(table: MqttTable, folder: Path) -> ssl.SSLContext | None:
    if not table.tls:
        return None
    try:
        return ssl.create_default_context(
            cafile=str(folder / table.ca_file) if table.ca_file else None
        )
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"ca_file: it cannot be used: {error}") from None
