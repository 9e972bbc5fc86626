"""Wake-on-LAN: real packets to a real socket on loopback."""

import asyncio
import errno
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from power_rig import SECRET, MethodRig

from hostler.domain.errors import ConfigError
from hostler.domain.model.calls import Done, Refusal, Refused
from hostler.ports.power import PowerAction, PowerState
from hostler.providers.power.methods.wake_on_lan import WakeOnLan, WakeOnLanTable, packet
from hostler.simulators.power.box import Box

MAC = "52:54:00:12:34:56"
PASSWORD = "00:11:22:33:44:55"


def table(port: int, **more: object) -> WakeOnLanTable:
    known = {"mac": MAC, "broadcast": "127.0.0.1", "port": port, "repeats": 3}
    return msgspec.convert(known | more, WakeOnLanTable)


@asynccontextmanager
async def listening() -> AsyncGenerator[tuple[int, Callable[[], list[bytes]]]]:
    """Listen on loopback; give the port, and what returns the packets that came."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.setblocking(False)
        yield receiver.getsockname()[1], partial(received, receiver)


def received(receiver: socket.socket) -> list[bytes]:
    found = list[bytes]()
    while True:
        try:
            found.append(receiver.recv(2048))
        except BlockingIOError:
            return found


def rig(settings: WakeOnLanTable) -> MethodRig:
    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    return MethodRig(WakeOnLan(), box, settings)


async def test_the_packet_is_six_times_ff_and_sixteen_times_the_address_and_is_repeated() -> None:
    async with listening() as (port, packets):
        outcome = await rig(table(port)).open().act(PowerAction.ON)
        assert isinstance(outcome, Done)
        wanted = b"\xff" * 6 + bytes.fromhex("525400123456") * 16
        assert packets() == [wanted] * 3
        assert len(wanted) == 102


async def test_a_password_ends_the_packet() -> None:
    async with listening() as (port, packets):
        power = WakeOnLan().open(
            replace(
                rig(table(port, password_env="WOL", repeats=1)).opening(),
                environment={"WOL": PASSWORD},
            )
        )
        await power.act(PowerAction.ON)
        (only,) = packets()
        assert only[102:] == bytes.fromhex("001122334455")


async def test_nobody_can_be_asked_and_nothing_else_can_be_done() -> None:
    async with listening() as (port, packets):
        power = rig(table(port)).open()
        assert (await power.query()).state is PowerState.UNKNOWN
        outcome = await power.act(PowerAction.OFF_HARD)
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.INVALID
        assert packets() == []


async def test_what_cannot_be_sent_is_said_with_its_reason() -> None:
    power = rig(table(9, interface="no-such-0")).open()
    outcome = await power.act(PowerAction.ON)
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.NOT_SENT
    assert "the packet cannot be sent" in outcome.text


class OnePacket(socket.socket):
    """A socket of a network that goes down after the first packet."""

    sent = 0

    def sendto(self, *packet: Any) -> int:
        self.sent += 1
        if self.sent > 1:
            raise OSError(errno.ENETDOWN, "Network is down")
        return super().sendto(*packet)


async def test_a_packet_that_was_sent_is_not_taken_back_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with listening() as (port, packets):
        monkeypatch.setattr(socket, "socket", OnePacket)
        outcome = await rig(table(port)).open().act(PowerAction.ON)
        assert len(packets()) == 1
        assert isinstance(outcome, Done)


def test_a_password_that_is_no_six_bytes_is_refused_before_a_machine_needs_it() -> None:
    opening = rig_without_loop(table(9, password_env="WOL")).opening()
    with pytest.raises(ConfigError, match="WOL holds no six bytes") as caught:
        WakeOnLan().open(replace(opening, environment={"WOL": SECRET}))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("text", [MAC, "52-54-00-12-34-56", "525400123456", "5254.0012.3456"])
def test_every_way_to_write_an_address_is_the_same_card(text: str) -> None:
    assert packet(text) == packet(MAC)
    assert WakeOnLan().endpoint(table(9, mac=text.upper())) == "wake-on-lan 525400123456"
    assert WakeOnLan().check(table(9, mac=text)) == ()


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"mac": "52:54:00:12:34"}, "mac"),
        ({"mac": "gg:54:00:12:34:56"}, "mac"),
        ({"mac": ""}, "mac"),
        ({"broadcast": "10.0.0.256"}, "broadcast"),
        ({"broadcast": "server-1"}, "broadcast"),
        ({"repeats": 100, "deadline": timedelta(seconds=5)}, "repeats"),
    ],
)
def test_check_names_what_cannot_work(more: dict[str, object], key: str) -> None:
    (fault,) = WakeOnLan().check(table(9, **more))
    assert fault.startswith(f"{key}: expected ")


def test_missing_names_what_is_not_here() -> None:
    settings = table(9, password_env="WOL", interface="no-such-0")
    lacks = WakeOnLan().missing(settings, Path(), {"WOL": SECRET})
    assert [lack.key for lack in lacks] == ["password_env", "interface"]
    assert SECRET not in str(lacks)
    with pytest.raises(ConfigError, match="WOL is not set"):
        WakeOnLan().open(replace(rig_without_loop(settings).opening(), environment={}))


def rig_without_loop(settings: WakeOnLanTable) -> MethodRig:
    return MethodRig(WakeOnLan(), Box(name="box-1", time=float), settings)
