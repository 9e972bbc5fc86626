"""The method `mqtt` against a real broker, with devices of ours that speak as two firmwares."""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import aiomqtt
import msgspec
import pytest
from power_servers import listens, program, running

from hostler.access.http import AiohttpTransport
from hostler.access.shell import SshShell
from hostler.app.clock import SystemClock
from hostler.domain.model.calls import Done, Refusal, Refused, Unknown
from hostler.ports.power import Power, PowerAction, PowerOpening, PowerState, Turn
from hostler.providers.power.methods.mqtt import Mqtt
from hostler.simulators.ports import free_port
from hostler.simulators.power import mqtt
from hostler.simulators.power.box import FAULTS, NONSENSE, Box, Closes
from hostler.testing.conformance.power.suite import CHECKS, Check, run_check
from hostler.testing.fakes.power import PowerFault

SECRET = "geheim-4711"
TOPIC = "plug-7"
FIRMWARES = ("tasmota", "zigbee2mqtt")
_LACKS = {
    PowerFault.UNREACHABLE: "it is tried apart, with a port at which nothing listens",
    PowerFault.DENIED: "it is the broker that refuses a login: it is tried apart",
    PowerFault.BUSY: "devices behind a broker have no word for that",
}


@pytest.fixture
def broker(tmp_path: Path) -> Generator[int]:
    server, passwords = program("mosquitto"), program("mosquitto").replace("sbin", "bin")
    port = free_port()
    subprocess.run(
        [f"{passwords}_passwd", "-b", "-c", str(tmp_path / "users"), "hostler", SECRET],
        check=True,
        capture_output=True,
    )
    (tmp_path / "users").chmod(0o644)
    tmp_path.chmod(0o755)
    (tmp_path / "broker.conf").write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous false\npassword_file {tmp_path}/users\n"
        "persistence false\nuser root\n"
    )
    with running((server, "-c", "broker.conf"), tmp_path) as process:
        listens(port, process)
        yield port


def descriptors() -> int:
    """Return how many files and sockets this process has open."""
    return len([*Path("/proc/self/fd").iterdir()])


def entered(port: int) -> aiomqtt.Client:
    """Return a client of the broker."""
    return aiomqtt.Client("127.0.0.1", port, username="hostler", password=SECRET)


@dataclass
class Plug:
    """A device behind the broker, and a method that leads there. Implements the rig of the kit."""

    port: int
    firmware: str
    box: Box
    clock: SystemClock = field(default_factory=SystemClock)
    turn: Turn = field(default_factory=Turn)
    secrets: tuple[str, ...] = (SECRET,)
    opened: list[Power] = field(default_factory=list[Power])
    user: str = "hostler"

    @property
    def lacks(self) -> Mapping[PowerFault, str]:
        return _LACKS

    def open(self, **keys: object) -> Power:
        known = {
            "broker": "127.0.0.1",
            "port": self.port,
            "topic": TOPIC,
            "firmware": self.firmware,
            "user": self.user,
            "password_env": "SECRET",
            "deadline": "PT1S",
            "settles": "PT0.2S",
        }
        return Mqtt().open(
            PowerOpening(
                settings=msgspec.convert(known | keys, Mqtt.settings),
                turn=self.turn,
                folder=Path("/nonexistent"),
                environment={"SECRET": SECRET, "WRONG": "falsch", "PATH": os.environ["PATH"]},
                clock=self.clock,
                shell=SshShell(),
                connect=AiohttpTransport,
            )
        )

    def now(self) -> datetime:
        return self.clock.now()

    def has_power(self) -> bool:
        return self.box.has_power()

    def set_power(self, *, on: bool) -> None:
        self.box.on = on

    def befall(self, fault: PowerFault) -> None:
        assert fault.value in FAULTS
        self.box.script.append(fault.value)

    def arrived(self) -> tuple[str, ...]:
        return tuple(self.box.journal)

    def most_at_once(self) -> int:
        return self.box.most_at_once

    async def pass_by(self, time: timedelta) -> None:
        await self.clock.sleep(time)

    # ------------------------------------------------------------ the device

    async def live(self, client: aiomqtt.Client) -> None:
        """Obey what the broker passes on, each by itself."""
        async with asyncio.TaskGroup() as group:
            async for message in client.messages:
                payload = bytes(message.payload).decode()
                group.create_task(self._obey(client, payload))

    async def _obey(self, client: aiomqtt.Client, payload: str) -> None:
        word = payload if self.firmware == "tasmota" else json.loads(payload)["state"]
        what = {"": "query", "ON": "on", "OFF": "off_hard"}[word]
        with suppress(Closes):
            async with self.box.call(what) as fault:
                if what != "query":
                    self.box.obey(what, fault)
                stands = word or ("ON" if self.box.has_power() else "OFF")
                text = "???" if fault == NONSENSE else stands
                await self._tell(client, text)

    async def _tell(self, client: aiomqtt.Client, word: str, *, retain: bool = False) -> None:
        if self.firmware == "tasmota":
            await client.publish(f"stat/{TOPIC}/POWER", word, retain=retain)
        else:
            answer = json.dumps({"linkquality": 80, "state": word})
            await client.publish(f"zigbee2mqtt/{TOPIC}", answer, retain=retain)


@asynccontextmanager
async def world(port: int, firmware: str, *, lives: bool = True) -> AsyncGenerator[Plug]:
    plug = Plug(port, firmware, Box(name="box-1", time=asyncio.get_running_loop().time))
    async with entered(port) as client, asyncio.TaskGroup() as group:
        if firmware == "tasmota":
            await client.subscribe(f"cmnd/{TOPIC}/POWER1")
        else:
            await client.subscribe(f"zigbee2mqtt/{TOPIC}/set")
            await client.subscribe(f"zigbee2mqtt/{TOPIC}/get")
        device = group.create_task(plug.live(client)) if lives else None
        yield plug
        if device is not None:
            device.cancel()


@pytest.mark.parametrize("firmware", FIRMWARES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_mqtt_keeps_the_promise_that(broker: int, check: Check, firmware: str) -> None:
    await run_check(check, lambda: world(broker, firmware))


@asynccontextmanager
async def simulated() -> AsyncGenerator[Plug]:
    """A relay of the simulated rack, whose broker is ours too."""
    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    async with mqtt.listening(box, SECRET, TOPIC) as port:
        yield Plug(port, "tasmota", box, user=mqtt.USER)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_mqtt_at_the_simulated_broker_keeps_the_promise_that(check: Check) -> None:
    await run_check(check, simulated)


async def test_the_simulated_broker_refuses_a_wrong_login_and_what_is_no_mqtt() -> None:
    async with simulated() as plug:
        outcome = await plug.open(password_env="WRONG").act(PowerAction.ON)
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.DENIED
        for text in (b"", b"GET / HTTP/1.1\r\n\r\n", b"\x10\xff\xff\xff\xff\x01", b"\x10\x02\0\4"):
            reader, writer = await asyncio.open_connection("127.0.0.1", plug.port)
            writer.write(text)
            writer.write_eof()
            assert await asyncio.wait_for(reader.read(), 5) == b""
            writer.close()
        assert plug.arrived() == ()
        plug.turn = Turn()
        assert await plug.open().act(PowerAction.ON) == Done()


@pytest.mark.parametrize("firmware", FIRMWARES)
async def test_what_the_broker_retained_is_not_believed(broker: int, firmware: str) -> None:
    """It may be of last week: the device is off by now, or gone."""
    async with world(broker, firmware, lives=False) as plug:
        async with entered(broker) as client:
            await plug._tell(client, "ON", retain=True)
        assert (await plug.open().query()).state is PowerState.UNKNOWN
    async with world(broker, firmware) as plug:
        assert (await plug.open().query()).state is PowerState.OFF


async def test_a_device_that_does_not_confirm_may_have_obeyed(broker: int) -> None:
    async with world(broker, "tasmota", lives=False) as plug:
        assert isinstance(await plug.open().act(PowerAction.ON), Unknown)


async def test_a_wrong_login_is_tried_once_and_named(broker: int) -> None:
    async with world(broker, "tasmota") as plug:
        power = plug.open(password_env="WRONG")
        outcome = await power.act(PowerAction.ON)
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.DENIED
        assert "falsch" not in outcome.text
        assert "not tried again before" in (await power.query()).text
        assert plug.arrived() == ()


async def test_a_broker_that_is_not_there_was_told_nothing(broker: int) -> None:
    async with world(broker, "tasmota") as plug:
        outcome = await plug.open(port=free_port()).act(PowerAction.ON)
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.NOT_SENT


async def test_another_devices_answers_are_not_believed(broker: int) -> None:
    async with world(broker, "tasmota") as plug:
        plug.set_power(on=True)
        other = plug.open(topic="plug-8")
        assert (await other.query()).state is PowerState.UNKNOWN
        assert await plug.open().act(PowerAction.OFF_HARD) == Done()


def test_what_does_not_belong_together_is_refused() -> None:
    table = msgspec.convert(
        {"broker": "b", "topic": "t", "password_env": "X", "ca_file": "ca.pem"}, Mqtt.settings
    )
    assert [fault.partition(":")[0] for fault in Mqtt().check(table)] == ["user", "tls"]


async def test_a_broker_that_says_nothing_costs_no_socket_and_no_task(broker: int) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(100):
            pass
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, world(broker, "tasmota", lives=False) as plug:
        power = plug.open(port=port, deadline="PT0.3S")
        await power.query()
        before = descriptors(), len(asyncio.all_tasks())
        for _ in range(4):
            assert (await power.query()).state is PowerState.UNKNOWN
        await plug.pass_by(timedelta(seconds=0.2))
        after = descriptors(), len(asyncio.all_tasks())
        assert after[0] <= before[0]
        assert after[1] <= before[1]
