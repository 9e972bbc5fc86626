"""The simulated controller of IPMI, over both suites, asked by both clients and the method itself.

OpenIPMI's knows suite 3 alone: 17 is met here only.
"""

import asyncio
import os
import struct
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec
import pytest
from power_servers import program

from hostler.access.http import AiohttpTransport
from hostler.access.shell import SshShell
from hostler.app.clock import SystemClock
from hostler.domain.model.calls import Done, Refusal, Refused
from hostler.ports.power import Power, PowerAction, PowerOpening, PowerState, Turn
from hostler.providers.power.ipmi import library
from hostler.providers.power.ipmi.library import speaks
from hostler.providers.power.methods.ipmi import Ipmi
from hostler.providers.power.switch import Switch
from hostler.simulators.power.box import Box
from hostler.simulators.power.ipmi import controller as controller_module
from hostler.simulators.power.ipmi.controller import Controller, listening
from hostler.simulators.power.ipmi.packets import SUITES, Broken, Message, Suite, opened
from hostler.simulators.power.ipmi.sessions import Session, Sessions

SECRET = "geheim-4711"
CLIENTS = ("python-ipmi", "ipmitool")
ONLY_3, ONLY_17 = SUITES[:1], SUITES[1:]
ON, SOFT, HARD, CYCLE = PowerAction


@dataclass
class Bmc:
    box: Box
    port: int
    folder: Path
    client: str
    address: str

    def open(self, **keys: object) -> Power:
        known = {
            "address": self.address,
            "port": self.port,
            "user": "admin",
            "password_env": "SECRET",
            "client": self.client,
            "deadline": "PT5S",
            "settles": "PT1.5S",
        }
        return Ipmi().open(
            PowerOpening(
                settings=msgspec.convert(known | keys, Ipmi.settings),
                turn=Turn(),
                folder=self.folder,
                environment={"SECRET": SECRET, "WRONG": "falsch", "PATH": os.environ["PATH"]},
                clock=SystemClock(),
                shell=SshShell(),
                connect=AiohttpTransport,
            )
        )


@asynccontextmanager
async def bmc(
    folder: Path, client: str, suites: tuple[Suite, ...] = SUITES, address: str = "127.0.0.1"
) -> AsyncGenerator[Bmc]:
    if client == "ipmitool":
        program("ipmitool")
    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    sessions = Sessions(user="admin", password=SECRET, suites=suites)
    async with listening(box, sessions, (address, 0)) as port:
        yield Bmc(box, port, folder, client, address)


SPOKEN = [
    pytest.param("python-ipmi", ONLY_3, 3, id="python-ipmi"),
    pytest.param("python-ipmi", SUITES, 17 if speaks(17) else 3, id="python-ipmi-both"),
    pytest.param("ipmitool", ONLY_3, 3, id="ipmitool-3"),
    pytest.param("ipmitool", ONLY_17, 17, id="ipmitool-17"),
    pytest.param("ipmitool", SUITES, 17, id="ipmitool-both"),
]


@pytest.mark.parametrize(("client", "suites", "best"), SPOKEN)
async def test_a_machine_is_switched_every_way_and_asked(
    tmp_path: Path, client: str, suites: tuple[Suite, ...], best: int
) -> None:
    async with bmc(tmp_path, client, suites) as rig:
        power = rig.open()
        for action, on in ((ON, True), (SOFT, False), (ON, True), (HARD, False), (CYCLE, True)):
            assert await power.act(action) == Done()
            assert rig.box.has_power() is on
            assert (await power.query()).state is (PowerState.ON if on else PowerState.OFF)
        assert isinstance(power, Switch)
        assert vars(power._device)["_suites"][0] == best


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("address", ["::1", "localhost"])
async def test_a_controller_is_reached_over_ipv6_and_by_its_name(
    tmp_path: Path, client: str, address: str
) -> None:
    listens = "::1" if address == "::1" else "127.0.0.1"
    async with bmc(tmp_path, client, SUITES, listens) as rig:
        power = rig.open(address=address)
        assert await power.act(ON) == Done()
        assert (await power.query()).state is PowerState.ON


@pytest.mark.parametrize(("client", "suites", "best"), SPOKEN)
async def test_a_wrong_password_is_named_and_switches_nothing(
    tmp_path: Path, client: str, suites: tuple[Suite, ...], best: int
) -> None:
    del best
    async with bmc(tmp_path, client, suites) as rig:
        outcome = await rig.open(password_env="WRONG").act(ON)
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.DENIED
        assert rig.box.journal == []


@pytest.mark.parametrize("client", CLIENTS)
async def test_who_insists_on_a_suite_that_is_lacking_is_refused(
    tmp_path: Path, client: str
) -> None:
    async with bmc(tmp_path, client, ONLY_3) as rig:
        outcome = await rig.open(cipher_suite=17).act(ON)
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.INVALID
        assert not rig.box.has_power()


async def test_python_ipmi_is_not_asked_for_a_suite_whose_keys_it_makes_otherwise(
    tmp_path: Path,
) -> None:
    """It opened a session, and the controller left all that it said there without an answer.

    That looked like a controller that hangs: the other suite was never tried.
    """
    async with bmc(tmp_path, "python-ipmi", ONLY_17) as rig:
        outcome = await rig.open().act(ON)
    if speaks(17):
        assert outcome == Done()
    else:
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.INVALID
        assert 'client = "ipmitool"' in outcome.text


async def test_who_insists_on_suite_17_gets_the_program_that_speaks_it(tmp_path: Path) -> None:
    program("ipmitool")
    async with bmc(tmp_path, "auto") as rig:
        assert await rig.open(cipher_suite=17).act(ON) == Done()


class Deaf(Controller):
    """A controller that never answers the end of a session."""

    async def _within(self, message: Message, session: Session) -> bytes:
        if (message.function, message.command) == (0x06, 0x3C):
            raise Broken("no answer")
        return await super()._within(message, session)


async def test_a_session_that_cannot_be_ended_gives_its_socket_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A socket stayed open for each question to such a controller."""
    monkeypatch.setattr(controller_module, "Controller", Deaf)
    async with bmc(tmp_path, "python-ipmi", ONLY_3) as rig:
        before = sockets()
        ended = list[object]()
        monkeypatch.setattr(library, "_end", partial(_remembered, ended, library._end))
        assert (await rig.open().query()).state is PowerState.OFF
        assert not sockets() - before
        assert ended


def sockets() -> set[str]:
    """Return the sockets that this process has open; others may be collected at any time."""
    links = (one.readlink() for one in Path("/proc/self/fd").iterdir() if one.is_symlink())
    return {str(link) for link in links if str(link).startswith("socket:")}


def _remembered(
    ended: list[object], end: Callable[[library.Session], None], session: library.Session
) -> None:
    """End a session as is done, and hold on to it: nothing collects its socket."""
    ended.append(session)
    end(session)


@pytest.fixture
def controller() -> Controller:
    box = Box(name="box-1", time=partial(float, 0))
    return Controller(box, Sessions(user="admin", password=SECRET))


PING = bytes.fromhex("0600ff06000011be80010000")
CHANNEL = bytes.fromhex("0600ff07000000000000000000092018c88100388e04b5")


async def test_what_is_no_packet_is_left_without_an_answer(controller: Controller) -> None:
    for data in (b"", b"\0", b"\xff" * 2000, PING[:9], CHANNEL[:-1], CHANNEL[:20]):
        assert await controller.answer(data) is None
    for length in range(len(CHANNEL)):
        assert await controller.answer(CHANNEL[:length]) is None
    assert await controller.answer(PING) is not None
    assert await controller.answer(CHANNEL) is not None


async def test_without_a_session_nothing_is_switched(controller: Controller) -> None:
    """A chassis control command in the older form, of no session and of one that nobody opened."""
    head, rest = bytes.fromhex("2000"), bytes.fromhex("81000201")
    message = head + checksum(head) + rest + checksum(rest)
    for session in (0, 4711):
        plain = struct.pack("<BIIB", 0, 0, session, len(message)) + message
        answer = await controller.answer(bytes.fromhex("0600ff07") + plain)
        assert answer is not None
        assert opened(answer, None).payload[6] == 0xD4
    assert controller.box.journal == []


def checksum(text: bytes) -> bytes:
    return bytes([-sum(text) & 0xFF])
