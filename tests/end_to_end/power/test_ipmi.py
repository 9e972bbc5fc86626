"""The method `ipmi` against OpenIPMI's controller: by python-ipmi, and by ipmitool."""

import asyncio
import os
import socket
import subprocess
import threading
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from power_servers import program, running
from pyipmi import errors  # pyright: ignore[reportMissingTypeStubs] - it has types, unmarked

from hostler.access.http import AiohttpTransport
from hostler.access.shell import SshShell
from hostler.app.clock import SystemClock
from hostler.domain.errors import ConfigError
from hostler.domain.model.calls import Done, Refusal, Refused, Unknown
from hostler.ports.http import NotSent
from hostler.ports.power import Power, PowerAction, PowerOpening, PowerState, Turn
from hostler.providers.power.ipmi import library
from hostler.providers.power.ipmi import program as program_of
from hostler.providers.power.methods.ipmi import Ipmi
from hostler.providers.power.switch import Failed, Switch
from hostler.simulators.ports import free_port
from hostler.testing.conformance.power.suite import CHECKS, Check, run_check
from hostler.testing.fakes.power import PowerFault

SECRET = "geheim-4711"
CLIENTS = ("python-ipmi", "ipmitool")
ON, SOFT, HARD, CYCLE = PowerAction
LAN = """
name "test"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 {port}
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  chassis_control "{chassis}"
  user 2 true "admin" "{secret}" admin 10 none md2 md5 straight
"""
EMULATED = """mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
mc_enable 0x20
"""
CHASSIS = """#!/bin/sh
echo "begin $*" >> calls
sleep 0.03
case "$1 $2" in
"get power") echo "power:$(cat power)" ;;
"set power") echo "$3" > power ;;
"set shutdown") echo 0 > power ;;
"set reset"|"set power_cycle") echo 1 > power ;;
esac
echo "end $*" >> calls
"""
WORDS = {"set power 1": "on", "set power 0": "off_hard", "set shutdown 1": "off_soft"}


@pytest.fixture
def bmc(tmp_path: Path) -> Generator["Bmc"]:
    server, port = program("ipmi_sim"), free_port(socket.SOCK_DGRAM)
    chassis = tmp_path / "chassis"
    chassis.write_text(CHASSIS)
    chassis.chmod(0o755)
    (tmp_path / "power").write_text("0\n")
    (tmp_path / "calls").touch()
    lan = LAN.format(port=port, chassis=chassis, secret=SECRET)
    (tmp_path / "lan.conf").write_text(lan)
    (tmp_path / "sim.emu").write_text(EMULATED)
    words = (server, "-c", "lan.conf", "-f", "sim.emu", "-s", str(tmp_path / "state"), "-n")
    with running(words, tmp_path) as process:
        answers_pings(port, process)
        yield Bmc(tmp_path, port)


def answers_pings(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the controller answers a presence ping of ASF."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.settimeout(0.2)
        asked.connect(("127.0.0.1", port))
        for _ in range(100):
            with suppress(OSError):
                asked.send(bytes.fromhex("0600ff06000011be80000000"))
                if asked.recv(100):
                    return
            assert process.poll() is None
            time.sleep(0.05)
    pytest.fail("the controller does not answer")


@dataclass
class Bmc:
    """A controller of OpenIPMI. Implements the rig of the kit."""

    folder: Path
    port: int
    client: str = "python-ipmi"
    clock: SystemClock = field(default_factory=SystemClock)
    turn: Turn = field(default_factory=Turn)
    secrets: tuple[str, ...] = (SECRET,)
    cycles: bool = False
    """Whether off and on again are taken for one cycle, which is how this controller does it."""

    @property
    def lacks(self) -> Mapping[PowerFault, str]:
        return dict.fromkeys(PowerFault, "it is a real server, which is in order")

    def opening(self, **keys: object) -> PowerOpening:
        known = {
            "address": "127.0.0.1",
            "port": self.port,
            "user": "admin",
            "password_env": "SECRET",
            "client": self.client,
            "deadline": "PT5S",
            "settles": "PT1.5S",
        }
        return PowerOpening(
            settings=msgspec.convert(known | keys, Ipmi.settings),
            turn=self.turn,
            folder=self.folder,
            environment={"SECRET": SECRET, "WRONG": "falsch", "PATH": os.environ["PATH"]},
            clock=self.clock,
            shell=SshShell(),
            connect=AiohttpTransport,
        )

    def open(self, **keys: object) -> Power:
        return Ipmi().open(self.opening(**keys))

    def now(self) -> datetime:
        return self.clock.now()

    def has_power(self) -> bool:
        return (self.folder / "power").read_text().strip() == "1"

    def set_power(self, *, on: bool) -> None:
        (self.folder / "power").write_text("1\n" if on else "0\n")

    def befall(self, fault: PowerFault) -> None:
        raise NotImplementedError(fault)

    def lines(self) -> list[str]:
        return (self.folder / "calls").read_text().splitlines()

    def arrived(self) -> tuple[str, ...]:
        begun = (line.removeprefix("begin ") for line in self.lines() if line.startswith("begin"))
        known = ["query" if line == "get power" else WORDS.get(line, line) for line in begun]
        if self.cycles and "off_hard" in known and known[-1] == "on":
            known[known.index("off_hard") :] = ["cycle"]
        return tuple(known)

    def most_at_once(self) -> int:
        most = now = 0
        for line in self.lines():
            now += 1 if line.startswith("begin") else -1
            most = max(most, now)
        return most

    async def pass_by(self, time: timedelta) -> None:
        await self.clock.sleep(time)


@asynccontextmanager
async def world(rig: Bmc, client: str) -> AsyncGenerator[Bmc]:
    if client == "ipmitool":
        program("ipmitool")
    (rig.folder / "calls").write_text("")
    rig.client = client
    rig.set_power(on=False)
    yield rig


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_ipmi_keeps_the_promise_that(bmc: Bmc, check: Check, client: str) -> None:
    bmc.cycles = "cycle" in check.__name__
    await run_check(check, lambda: world(bmc, client))


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_machine_is_switched_every_way_and_asked(bmc: Bmc, client: str) -> None:
    async with world(bmc, client) as rig:
        power = rig.open()
        for action, on in ((ON, True), (SOFT, False), (ON, True), (HARD, False)):
            assert await power.act(action) == Done()
            assert rig.has_power() is on
            assert (await power.query()).state is (PowerState.ON if on else PowerState.OFF)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    "keys", [{"password_env": "WRONG"}, {"user": "nobody"}], ids=["password", "user"]
)
async def test_a_wrong_login_is_tried_once_and_named(
    bmc: Bmc, client: str, keys: dict[str, object]
) -> None:
    async with world(bmc, client) as rig:
        power = rig.open(**keys)
        outcome = await power.act(ON)
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.DENIED
        assert "falsch" not in outcome.text
        again = await power.query()
        assert "not tried again before" in again.text
        assert not rig.has_power()


@pytest.mark.parametrize("client", CLIENTS)
async def test_what_does_not_listen_was_asked_for_nothing(bmc: Bmc, client: str) -> None:
    async with world(bmc, client) as rig:
        power = rig.open(port=free_port(socket.SOCK_DGRAM))
        outcome = await power.act(ON)
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.NOT_SENT
        assert (await power.query()).state is PowerState.UNKNOWN


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_silent_controller_is_unknown_and_delays_no_other(bmc: Bmc, client: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        async with world(bmc, client) as rig:
            hung = rig.open(port=silent.getsockname()[1], deadline="PT3S")
            rig.turn = Turn()
            well = rig.open()
            async with asyncio.TaskGroup() as group:
                first = group.create_task(hung.query())
                second = group.create_task(well.query())
                done, _ = await asyncio.wait({first, second}, return_when="FIRST_COMPLETED")
                assert done == {second}
    assert first.result().state is PowerState.UNKNOWN
    assert second.result().state is PowerState.OFF


@pytest.mark.parametrize("client", CLIENTS)
async def test_the_suite_that_a_controller_knows_is_found_and_remembered(
    bmc: Bmc, client: str
) -> None:
    """OpenIPMI knows suite 3 and not 17; who insists on 17 is told so."""
    async with world(bmc, client) as rig:
        power = rig.open()
        assert (await power.query()).state is PowerState.OFF
        assert isinstance(power, Switch)
        assert vars(power._device)["_suites"] == [3, 17]
        insisting = await rig.open(cipher_suite=17).act(ON)
        assert isinstance(insisting, Refused)
        assert insisting.why is Refusal.INVALID
        assert not rig.has_power()


async def test_the_password_is_in_no_argument_of_a_program(bmc: Bmc, tmp_path: Path) -> None:
    """ipmitool gets it by its environment; every process may read the arguments of others."""
    fake = tmp_path / "bin" / "ipmitool"
    fake.parent.mkdir()
    arguments = tmp_path / "arguments"
    fake.write_text(f'#!/bin/sh\necho "$*" > {arguments}\necho "Chassis Power is on"\n')
    fake.chmod(0o755)
    opening = bmc.opening(client="ipmitool")
    environment = {**opening.environment, "PATH": f"{fake.parent}:/usr/bin:/bin"}
    power = Ipmi().open(replace(opening, environment=environment))
    assert (await power.query()).state is PowerState.ON
    assert "chassis power status" in arguments.read_text()
    assert SECRET not in arguments.read_text()


def test_what_speaks_ipmi_is_asked_for_by_check(bmc: Bmc) -> None:
    table = bmc.opening(client="ipmitool").settings
    (lack,) = Ipmi().missing(table, bmc.folder, {"SECRET": "x", "PATH": "/nonexistent"})
    assert lack.key == "client"
    assert "python-ipmi" in lack.text
    nothing = {"SECRET": "x", "PATH": "/nonexistent"}
    nowhere = replace(bmc.opening(client="ipmitool"), environment=nothing)
    with pytest.raises(ConfigError, match="there is no ipmitool here"):
        Ipmi().open(nowhere)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (errors.AuthenticationError("RAKP message 2: invalid key exchange"), Refusal.DENIED),
        (errors.AuthenticationError("RMCP+ integrity check failed"), None),
        (errors.MessageStatusCodeError(0x0D), Refusal.DENIED),
        (errors.MessageStatusCodeError(0x0B), Refusal.BUSY),
        (errors.MessageStatusCodeError(0x01), Refusal.BUSY),
        (errors.MessageStatusCodeError(0x02), None),
        (errors.IpmiLongPasswordError("x"), Refusal.DENIED),
        (ValueError("garbage"), None),
    ],
    ids=str,
)
def test_only_a_wrong_login_is_denied(error: Exception, why: Refusal | None) -> None:
    """A packet that comes twice is none; who is denied is not asked again for an hour."""
    outcome = library._unopened(error)
    if why is None:
        assert isinstance(outcome, NotSent)
    else:
        assert isinstance(outcome, Failed)
        assert isinstance(outcome.outcome, Refused)
        assert outcome.outcome.why is why


@pytest.mark.parametrize("error", [errors.AuthenticationError("x"), ValueError("x"), OSError("x")])
async def test_whatever_comes_back_after_a_command_it_may_have_been_obeyed(
    bmc: Bmc, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> None:
        raise error

    monkeypatch.setitem(library._COMMANDS, PowerAction.ON, fails)
    assert isinstance(await bmc.open().act(ON), Unknown)


def test_an_answer_that_was_lost_is_no_wrong_login_to_ipmitool() -> None:
    lost = "Set Session Privilege Level to OPERATOR failed Error: Unable to establish IPMI v2"
    assert isinstance(program_of._failed(lost), NotSent)
    refused = "Set Session Privilege Level to OPERATOR failed: Unknown (0x81)"
    assert isinstance(program_of._failed(refused), Failed)


async def test_a_command_that_was_given_up_before_it_was_sent_is_never_sent(
    bmc: Bmc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread cannot be cancelled: it asks before it sends whether anybody still waits."""
    good, opened = library.Library._opened, threading.Event()

    def slow(speaker: library.Library, suite: int) -> object:
        session = good(speaker, suite)
        time.sleep(1.0)
        opened.set()
        return session

    monkeypatch.setattr(library.Library, "_opened", slow)
    assert isinstance(await bmc.open(deadline="PT0.5S", cipher_suite=3).act(ON), Unknown)
    await asyncio.to_thread(opened.wait, 10)
    await bmc.pass_by(timedelta(seconds=0.5))
    assert not bmc.has_power()
