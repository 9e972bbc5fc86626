"""Wake-on-LAN: a magic packet to a network card; nothing answers, and nothing can be asked."""

import asyncio
import re
import socket
from collections.abc import Mapping
from datetime import timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from hostler.domain.errors import ConfigError
from hostler.domain.model.calls import Refusal
from hostler.ports.kind import Lack, table_of
from hostler.ports.power import Power, PowerAction, PowerCapabilities, PowerOpening, PowerState
from hostler.ports.secret import Secret, read_secret
from hostler.providers.power.switch import MethodTable, Reading, refused, switch_of

_MAC = re.compile(r"([0-9A-Fa-f]{2})(?:[:.-]?([0-9A-Fa-f]{2})){5}")
_NO_BYTES = "{} holds no six bytes, such as 00:11:22:33:44:55"
_PAUSE = 0.1
"""Seconds between two packets: one alone is often lost."""


class WakeOnLanTable(MethodTable, frozen=True, kw_only=True):
    """A machine whose network card listens for a magic packet."""

    mac: Annotated[str, Meta(description="the card's address, such as 52:54:00:12:34:56")]
    broadcast: Annotated[
        str,
        Meta(
            description="where the packet goes: the broadcast address of the machine's network; "
            "its own address fails once switches have forgotten it"
        ),
    ] = "255.255.255.255"
    port: Annotated[int, Meta(ge=1, le=65535, description="the UDP port: any will do")] = 9
    interface: Annotated[
        str | None,
        Meta(description="the network interface that it leaves by (needs CAP_NET_RAW)"),
    ] = None
    password_env: Annotated[
        str | None,
        Meta(description="the environment variable with the SecureOn password, six bytes as a mac"),
    ] = None
    repeats: Annotated[int, Meta(ge=1, le=100, description="how many packets are sent")] = 5


class WakeOnLan:
    """Implements `PowerMethod`."""

    settings = WakeOnLanTable

    def capabilities(self, settings: object) -> PowerCapabilities:
        """Return that it switches on, and cannot be asked."""
        table = table_of(WakeOnLanTable, settings)
        return PowerCapabilities(
            actions=frozenset({PowerAction.ON}),
            query=False,
            settles=table.settles,
            deadline=table.deadline,
        )

    def endpoint(self, settings: object) -> str:
        """Return the network card."""
        return f"wake-on-lan {_digits(table_of(WakeOnLanTable, settings).mac)}"

    def check(self, settings: object) -> tuple[str, ...]:
        """Return what is no address, and repeats that outlast the deadline."""
        table = table_of(WakeOnLanTable, settings)
        found = list[str]()
        if _MAC.fullmatch(table.mac) is None:
            found.append("mac: expected six bytes, such as 52:54:00:12:34:56")
        elif not _is_of_one_card(table.mac):
            found.append(
                "mac: expected the address of one card: this one is nobody's, or a group's"
            )
        try:
            IPv4Address(table.broadcast)
        except ValueError:
            found.append("broadcast: expected an IPv4 address, such as 10.0.0.255")
        if timedelta(seconds=_PAUSE) * table.repeats >= table.deadline:
            found.append("repeats: expected fewer, or a longer deadline: ten packets take a second")
        return tuple(found)

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return whether the password and the interface are here."""
        del folder
        table, found = table_of(WakeOnLanTable, settings), list[Lack]()
        name = table.password_env
        if name is not None and _MAC.fullmatch(environment.get(name, "")) is None:
            text = _NO_BYTES.format(name)
            found.append(Lack(key="password_env", text=text, environment=True))
        known = {name for _, name in socket.if_nameindex()}
        if table.interface is not None and table.interface not in known:
            found.append(
                Lack(key="interface", text=f"there is no interface {table.interface} here")
            )
        return tuple(found)

    def open(self, opening: PowerOpening) -> Power:
        """Return the way to the card."""
        table = table_of(WakeOnLanTable, opening.settings)
        try:
            password = read_secret(table.password_env, None, opening.environment)
        except ValueError as error:
            raise ConfigError(f"password_env: {error}") from None
        if password.reveal() and _MAC.fullmatch(password.reveal()) is None:
            raise ConfigError(f"password_env: {_NO_BYTES.format(table.password_env)}")
        device = Card(table, password)
        return switch_of(device, self.capabilities(table), opening)


def packet(mac: str, password: str = "") -> bytes:
    """Return the magic packet: six times FF, sixteen times the address, then the password."""
    return b"\xff" * 6 + bytes.fromhex(_digits(mac)) * 16 + bytes.fromhex(_digits(password))


def _is_of_one_card(mac: str) -> bool:
    """Tell whether an address can be a card's: the lowest bit of its first byte makes a group's."""
    content = bytes.fromhex(_digits(mac))
    return any(content) and not content[0] & 1


def _digits(mac: str) -> str:
    return re.sub(r"[:.-]", "", mac).lower()


class Card:
    """Sends packets to one card. Implements `Device`."""

    def __init__(self, table: WakeOnLanTable, password: Secret) -> None:
        self._table, self._password = table, password

    async def act(self, action: PowerAction) -> None:
        """Send the packet as often as it is to be repeated.

        Once one is sent, it may start the machine: that a further one cannot be sent says nothing.
        """
        del action
        table, sent = self._table, False
        content = packet(table.mac, self._password.reveal())
        try:
            with _socket(table) as sender:
                for number in range(table.repeats):
                    if number:
                        await asyncio.sleep(_PAUSE)
                    sender.sendto(content, (table.broadcast, table.port))
                    sent = True
        except OSError as error:
            if sent:
                return
            raise refused(
                Refusal.NOT_SENT, f"the packet cannot be sent: {error.strerror or error}"
            ) from None

    async def read(self) -> Reading:
        """Nobody answers."""
        return Reading(state=PowerState.UNKNOWN, text="a network card cannot be asked")

    async def close(self) -> None:
        """Nothing is kept open."""


def _socket(table: WakeOnLanTable) -> socket.socket:
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sender.setblocking(False)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        if table.interface is not None:
            bound = socket.SO_BINDTODEVICE
            sender.setsockopt(socket.SOL_SOCKET, bound, table.interface.encode())
    except OSError:
        sender.close()
        raise
    return sender
