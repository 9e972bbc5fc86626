"""Reachability: what a port says of a machine, and how long silence must last to mean off."""

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable
from datetime import timedelta

import msgspec
import pytest

from hostler.ports.power import PowerAction, PowerState, Turn
from hostler.providers.power.methods.reachability import (
    Port,
    Reachability,
    ReachabilityTable,
    dial,
)
from hostler.providers.power.switch import Switch
from hostler.providers.power.ways import Ways
from hostler.testing.fakes.power import FakeOutlet, FakePower, PowerFault
from hostler.testing.time.clock import SimClock

Dial = Callable[[str, int], Awaitable[None]]
ROUTER = ("192.0.2.1", 80)
PATIENCE = timedelta(seconds=8)


def table(**more: object) -> ReachabilityTable:
    known = {"address": "192.0.2.9", "off_after": "PT3M"}
    return msgspec.convert(known | more, ReachabilityTable)


class Network:
    """What answers: every place that has no trouble."""

    def __init__(self, **trouble: Exception) -> None:
        self.trouble = {name.replace("_", "."): error for name, error in trouble.items()}

    async def dial(self, address: str, port: int) -> None:
        assert port
        if error := self.trouble.get(address):
            raise error


async def states(port: Port, *pauses: float) -> list[PowerState]:
    """Return what a reading says after each pause, in seconds."""
    found = list[PowerState]()
    for pause in pauses:
        await asyncio.sleep(pause)
        found.append((await port.read()).state)
    return found


UNKNOWN, OFF, ON = PowerState.UNKNOWN, PowerState.OFF, PowerState.ON


def silent(address: str = "192.0.2.9", error: Exception | None = None) -> Network:
    network = Network()
    network.trouble[address] = error or TimeoutError()
    return network


@pytest.mark.looptime
async def test_silence_means_off_only_once_it_has_lasted() -> None:
    port = Port(table(), silent().dial)
    assert await states(port, 0, 60, 60, 59, 1) == [UNKNOWN] * 4 + [OFF]


@pytest.mark.looptime
async def test_two_readings_far_apart_are_no_silence_that_lasted() -> None:
    port = Port(table(), silent().dial)
    assert await states(port, 0, 3600, 1) == [UNKNOWN, UNKNOWN, OFF]


@pytest.mark.looptime
async def test_a_silence_lasts_no_longer_than_until_another_method_knows() -> None:
    """A network that fails twice a day takes the controller and the port away together."""
    clock = SimClock(asyncio.get_running_loop())
    outlet, port = FakeOutlet(clock, on=True), Port(table(), silent().dial)
    able = Reachability().capabilities(table())
    methods = {"bmc": FakePower(outlet), "reachability": Switch(port, able, Turn(), clock)}
    ways = Ways(methods, dict.fromkeys((*PowerAction, None), tuple(methods)))
    outlet.befall(PowerFault.UNREACHABLE, PowerFault.UNREACHABLE)
    found = [(await ways.query(PATIENCE)).state for _ in range(3)]
    assert found == [UNKNOWN, UNKNOWN, ON]
    await asyncio.sleep(12 * 3600)
    outlet.befall(*[PowerFault.UNREACHABLE] * 4)
    assert (await ways.query(PATIENCE)).state is UNKNOWN
    await asyncio.sleep(90)
    assert (await ways.query(PATIENCE)).state is UNKNOWN
    await asyncio.sleep(90)
    assert (await ways.query(PATIENCE)).state is OFF


@pytest.mark.looptime
async def test_an_answer_ends_the_silence() -> None:
    network = silent()
    port = Port(table(), network.dial)
    assert await states(port, 0, 90, 89) == [UNKNOWN] * 3
    trouble = network.trouble.pop("192.0.2.9")
    assert await states(port, 0) == [ON]
    network.trouble["192.0.2.9"] = trouble
    assert await states(port, 1, 90, 89, 1) == [UNKNOWN] * 3 + [OFF]


@pytest.mark.looptime
async def test_a_silence_counts_only_while_the_witness_answers() -> None:
    network = silent()
    port = Port(table(witness="192.0.2.1:80"), network.dial)
    assert await states(port, 0, 100) == [UNKNOWN] * 2
    network.trouble["192.0.2.1"] = OSError(errno.ENETUNREACH, "Network is unreachable")
    reading = await port.read()
    assert reading.state is UNKNOWN
    assert "witness 192.0.2.1:80 does not answer" in reading.text
    assert "Network is unreachable" in reading.text
    network.trouble["192.0.2.1"] = ConnectionRefusedError()
    assert await states(port, 100, 100, 79, 1) == [UNKNOWN] * 3 + [OFF]


async def test_a_closed_port_is_an_answer_of_its_system() -> None:
    listener = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    number = listener.sockets[0].getsockname()[1]
    port = Port(table(address="127.0.0.1", port=number), dial)
    assert (await port.read()).text == f"port {number} answers"
    listener.close()
    await listener.wait_closed()
    reading = await port.read()
    assert reading.state is ON
    assert reading.text == f"port {number} is closed, and its system answers"


@pytest.mark.looptime
@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENETUNREACH, "Network is unreachable"),
        OSError(errno.EMFILE, "Too many open files"),
        socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"),
    ],
)
async def test_trouble_of_our_own_is_no_silence_of_the_machine(error: OSError) -> None:
    port = Port(table(witness="192.0.2.1:80"), silent(error=error).dial)
    assert await states(port, 0, 100, 100, 100, 3600) == [UNKNOWN] * 5
    text = (await port.read()).text
    assert text == f"port 22 does not answer ({error.strerror}): it cannot be asked from here"


@pytest.mark.looptime
async def test_a_machine_that_lost_its_name_is_silent() -> None:
    error = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    port = Port(table(), silent(error=error).dial)
    assert await states(port, 0, 100, 79, 1) == [UNKNOWN] * 3 + [OFF]


@pytest.mark.looptime
async def test_the_reading_says_what_it_waits_for() -> None:
    error = OSError(errno.EHOSTUNREACH, "No route to host")
    port = Port(table(), silent(error=error).dial)
    assert await states(port, 0) == [UNKNOWN]
    await asyncio.sleep(20)
    text = "port 22 does not answer (No route to host) for 20 s; after 180 s it is held to be off"
    assert (await port.read()).text == text


def test_it_switches_nothing() -> None:
    able = Reachability().capabilities(table())
    assert not able.actions & {*PowerAction}
    assert able.query


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("off_after", timedelta(seconds=59)),
        ("witness", "router"),
        ("witness", ":80"),
        ("witness", "router:0"),
        ("witness", "router:99999"),
        ("witness", "router:٨٠"),
    ],
)
def test_what_cannot_work_is_refused(key: str, value: object) -> None:
    faults = Reachability().check(msgspec.structs.replace(table(), **{key: value}))
    assert [fault.partition(":")[0] for fault in faults] == [key]


@pytest.mark.parametrize("witness", ["router:80", "[2001:db8::1]:443", "192.0.2.1:1"])
def test_a_witness_is_an_address_and_a_port(witness: str) -> None:
    assert Reachability().check(table(witness=witness)) == ()
