"""Machines of a simulated rack, under a clock that is moved by hand."""

from dataclasses import dataclass, field

import pytest

from hostler.simulators.power.box import Closes
from hostler.simulators.power.rack.faults import Fault, Order
from hostler.simulators.power.rack.machine import Machine, Spans
from hostler.simulators.power.rack.rack import Rack
from hostler.simulators.power.rack.wake import Cards, called

BOOT, SHUTDOWN = 20.0, 3.0
IDLE, BUSY = 2.0, 40.0
CARD = bytes.fromhex("525400000001")
PACKET = b"\xff" * 6 + CARD * 16


@dataclass
class Bench:
    """Two machines, and their time."""

    now: float = 0.0
    rack: Rack = field(init=False)

    def __post_init__(self) -> None:
        spans = Spans(time=lambda: self.now, boot=BOOT, shutdown=SHUTDOWN)
        machines = (
            Machine(name, "redfish", f"127.64.0.{number}", spans, (IDLE, BUSY))
            for number, name in enumerate(("one", "two"), start=1)
        )
        self.rack = Rack(lambda: self.now, {machine.name: machine for machine in machines})
        self.one, self.two = self.rack.machines.values()

    def booted(self) -> Machine:
        self.one.obey("on", "")
        self.now += BOOT
        return self.one


async def asked(machine: Machine, what: str) -> str:
    """Make a call; return what befell it."""
    async with machine.call(what) as fault:
        if what != "query":
            machine.obey(what, fault)
    return fault


def test_a_system_is_up_only_after_it_has_booted() -> None:
    bench = Bench()
    bench.one.obey("on", "")
    bench.now = BOOT - 1
    assert (bench.one.has_power(), bench.one.is_up()) == (True, False)
    bench.now = BOOT
    assert bench.one.is_up()
    assert bench.rack.up() == {"127.64.0.1": "one"}


def test_a_system_that_shuts_down_is_not_up_and_loses_power_when_it_ended() -> None:
    bench = Bench()
    machine = bench.booted()
    machine.obey("off_soft", "")
    assert (machine.has_power(), machine.is_up()) == (True, False)
    bench.now += SHUTDOWN
    assert not machine.has_power()


def test_a_system_that_is_not_up_does_not_hear_that_it_is_to_shut_down() -> None:
    bench = Bench()
    bench.one.obey("on", "")
    bench.now = BOOT / 2
    bench.one.obey("off_soft", "")
    bench.now = BOOT + SHUTDOWN
    assert bench.one.is_up()


def test_a_cycle_boots_the_system_anew() -> None:
    bench = Bench()
    machine = bench.booted()
    machine.obey("cycle", "")
    assert (machine.has_power(), machine.is_up()) == (True, False)
    assert [change.on for change in machine.changes] == [True, False, True]


def test_the_meter_counts_what_is_drawn_on_and_off() -> None:
    bench = Bench()
    bench.now = 10.0
    bench.one.obey("on", "")
    bench.now = 40.0
    bench.one.obey("off_hard", "")
    bench.now = 50.0
    assert bench.one.energy() == pytest.approx(10 * IDLE + 30 * BUSY + 10 * IDLE)


async def test_a_command_that_is_ignored_failed_until_another_has_its_effect() -> None:
    bench = Bench()
    bench.rack.arm(Order(fault=Fault.COMMAND_IGNORED, machine="one"))
    await asked(bench.one, "on")
    assert not bench.one.has_power()
    (first,) = bench.one.commands
    assert (first.failed, first.recovered) == ("command_ignored", None)
    bench.now = 5.0
    await asked(bench.one, "on")
    assert bench.one.has_power()
    assert first.recovered == 5.0
    assert bench.rack.struck() == {"command_ignored": 1}


async def test_a_question_uses_up_no_fault_of_commands() -> None:
    bench = Bench()
    bench.rack.arm(Order(fault=Fault.COMMAND_IGNORED, machine="one"))
    assert not await asked(bench.one, "query")
    assert bench.rack.struck() == {}


async def test_what_is_offline_answers_nobody_for_as_long_as_it_lasts() -> None:
    bench = Bench()
    bench.rack.arm(Order(fault=Fault.PLUG_OFFLINE, machine="one", seconds=10))
    with pytest.raises(Closes):
        await asked(bench.one, "query")
    assert not await asked(bench.two, "query")
    bench.now = 10.0
    assert not await asked(bench.one, "query")


async def test_a_fault_that_waits_for_a_command_begins_with_it() -> None:
    bench = Bench()
    bench.rack.arm(Order(fault=Fault.PLUG_OFFLINE, machine="one", seconds=10, at_command=True))
    bench.now = 100.0
    assert not await asked(bench.one, "query")
    with pytest.raises(Closes):
        await asked(bench.one, "on")
    with pytest.raises(Closes):
        await asked(bench.one, "query")
    assert not bench.one.has_power()


async def test_a_brown_out_takes_the_power_of_all_and_lets_nobody_switch() -> None:
    bench = Bench()
    machine = bench.booted()
    bench.rack.arm(Order(fault=Fault.BROWN_OUT, seconds=5))
    assert not machine.has_power()
    with pytest.raises(Closes):
        await asked(bench.two, "on")
    bench.two.wake()
    assert not bench.two.has_power()
    bench.now += 5
    assert not machine.has_power()
    await asked(bench.two, "on")
    assert bench.two.has_power()


async def test_all_faults_can_be_cleared() -> None:
    bench = Bench()
    for fault in Fault:
        bench.rack.arm(Order(fault=fault))
    bench.rack.clear()
    assert not await asked(bench.one, "on")
    assert bench.one.has_power()
    assert bench.rack.faults()["armed"] == {}


@pytest.mark.parametrize(
    ("fault", "machine", "count", "seconds", "expected"),
    [
        (Fault.BMC_HUNG, "three", 1, 5.0, "machine: expected one, two, not three"),
        (Fault.COMMAND_IGNORED, "one", 0, 5.0, "count: expected 1 to"),
        (Fault.BMC_HUNG, "one", 1, 0.0, "seconds: expected more than 0"),
        (Fault.BROWN_OUT, "one", 1, 5.0, "the whole rack"),
    ],
)
def test_a_fault_that_cannot_be_is_refused_with_the_cure(
    fault: Fault, machine: str, count: int, seconds: float, expected: str
) -> None:
    with pytest.raises(ValueError, match=expected):
        Bench().rack.arm(Order(fault=fault, machine=machine, count=count, seconds=seconds))


# ---------------------------------------------------------------- magic packets


def test_a_burst_of_packets_is_one_command_and_wakes_its_card_alone() -> None:
    bench = Bench()
    cards = Cards(lambda: bench.now, {CARD: bench.one})
    for _ in range(3):
        cards.datagram_received(PACKET, ("127.0.0.1", 9))
        bench.now += 0.1
    assert [command.what for command in bench.one.commands] == ["on"]
    assert (bench.one.has_power(), bench.two.has_power()) == (True, False)


def test_a_packet_that_is_lost_wakes_nobody_and_the_next_burst_makes_it_good() -> None:
    bench = Bench()
    cards = Cards(lambda: bench.now, {CARD: bench.one})
    bench.rack.arm(Order(fault=Fault.PACKET_LOST, machine="one"))
    cards.datagram_received(PACKET, ("127.0.0.1", 9))
    assert not bench.one.has_power()
    bench.now = 5.0
    cards.datagram_received(PACKET, ("127.0.0.1", 9))
    assert bench.one.has_power()
    assert [command.failed for command in bench.one.commands] == ["packet_lost", ""]
    assert bench.one.commands[0].recovered == 5.0


@pytest.mark.parametrize(
    ("packet", "card"),
    [
        (PACKET, CARD),
        (PACKET + b"secure", CARD),
        (b"head" + PACKET, CARD),
        (PACKET[:-1], None),
        (b"\xff" * 6, None),
        (b"\xff" * 6 + CARD * 15 + b"\0" * 6, None),
        (b"", None),
        (b"GET / HTTP/1.1\r\n\r\n", None),
    ],
)
def test_only_a_whole_magic_packet_calls_a_card(packet: bytes, card: bytes | None) -> None:
    assert called(packet) == card
