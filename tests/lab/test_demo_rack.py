"""The demo of a rack counts what truly happened: energy, commands, what was switched wrongly."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from hostler.domain.ids import CycleId, HostId, MachineId
from hostler.domain.model.commands import Event
from hostler.lab.demo.rack.day import DEMAND, HOURS, TROUBLES, Pace, Troubles
from hostler.lab.demo.rack.tally import tally
from hostler.lab.demo.rack.uses import uses, wrong_actions
from hostler.simulators.power.rack.faults import Fault
from hostler.simulators.power.rack.machine import Change, Machine, Spans
from hostler.simulators.power.rack.rack import Rack
from hostler.testing.scenes.builders import BEGIN, WEB

BOX = "node-01"


def event(kind: str, at: float, detail: str = "", host: str | None = None) -> Event:
    return Event(
        kind=kind,
        at=BEGIN + timedelta(seconds=at),
        fleet=WEB,
        cycle=CycleId("a-1"),
        machine=MachineId("m-1"),
        host=HostId(host) if host else None,
        detail=detail,
    )


LIFE = (
    event("made", 0.5),
    event("host", 1.0, f"takes host {BOX}", BOX),
    event("moved", 1.1, "pending>starting: there is room"),
    event("moved", 3.0, "starting>ready: it is up"),
    event("moved", 8.0, "ready>draining: scaled down"),
    event("moved", 9.0, "draining>stopping: nothing runs on it"),
    event("moved", 9.5, "stopping>deleted: gone"),
)


def wrong(changes: Sequence[Change], life: Sequence[Event] = LIFE) -> tuple[str, ...]:
    return wrong_actions({BOX: changes}, uses(life), BEGIN)


def change(at: float, by: str) -> Change:
    return Change(at=at, on=by == "on", by=by)


@pytest.mark.parametrize(
    ("at", "by", "is_wrong"),
    [
        (0.5, "on", True),
        (1.5, "on", False),
        (9.4, "on", True),
        (2.0, "off_hard", False),
        (4.0, "off_hard", True),
        (8.5, "off_soft", True),
        (8.5, "cycle", True),
        (9.6, "off_soft", False),
        (4.0, "brown_out", False),
    ],
)
def test_a_command_is_wrong_where_no_use_of_the_box_allows_it(
    at: float, by: str, *, is_wrong: bool
) -> None:
    found = wrong([change(at, by)])
    assert bool(found) is is_wrong
    assert all(BOX in text and by in text for text in found)


def test_a_box_that_nobody_ever_had_is_not_switched_on() -> None:
    assert wrong([change(5.0, "on")], ()) != ()
    assert wrong([change(5.0, "off_hard")], ()) == ()


def test_a_machine_that_lasts_forbids_the_end_of_its_box_for_good() -> None:
    assert wrong([change(1e6, "off_hard")], LIFE[:4]) != ()


def test_another_boxes_use_allows_nothing() -> None:
    assert wrong_actions({"node-02": [change(1.5, "on")]}, uses(LIFE), BEGIN) != ()


# ---------------------------------------------------------------- the day


class Time:
    """A rack's time, as a test sets it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def rack(time: Time, *methods: str) -> Rack:
    spans = Spans(time=time, boot=0.0, shutdown=0.0)
    made = Rack(time)
    for number, method in enumerate(methods, 1):
        name = f"node-{number:02d}"
        made.machines[name] = Machine(name, method, "127.0.0.1", spans, (1.0, 100.0))
    return made


def test_the_day_is_as_long_as_it_is_said_to_be_and_its_energy_is_counted_so() -> None:
    pace = Pace(48.0)
    assert (pace.hour, pace.factor) == (2.0, 1800.0)
    assert len(DEMAND) == HOURS
    assert [pace.wanted(at) for at in (0.0, 1.9, 2.0, 47.9, 60.0)] == [
        DEMAND[0],
        DEMAND[0],
        DEMAND[1],
        DEMAND[-1],
        DEMAND[-1],
    ]
    assert [pace.clock(at) for at in (0.0, 3.0, 48.0, 99.0)] == ["00:00", "01:30", "24:00", "24:00"]


def test_troubles_come_once_and_to_the_machines_of_their_method() -> None:
    time, pace = Time(), Pace(48.0)
    made = rack(time, "redfish", "wake-on-lan", "snmp")
    troubles = Troubles(pace, list(TROUBLES))
    assert troubles.due(9.9, made) == ()
    assert len(troubles.due(10.0, made)) == 2
    assert troubles.due(10.1, made) == ()
    armed = {name: [one.fault for one in machine.armed] for name, machine in made.machines.items()}
    assert armed == {"node-01": [Fault.BMC_HUNG], "node-02": [Fault.PACKET_LOST], "node-03": []}


def test_the_tally_is_counted_from_what_the_rack_did() -> None:
    time = Time()
    made = rack(time, "snmp", "snmp")
    one = made.machines["node-01"]
    one.obey("on", "")
    time.now = 36.0
    one.obey("off_hard", "")
    counted = tally(made, 1.2, wanted=0, ready=0, wrong=0)
    assert (counted.machines, counted.starts, counted.stops) == (2, 1, 1)
    assert counted.kwh_always_on == pytest.approx(4.8)
    assert counted.saved == pytest.approx((4.8 - 1.2) * 0.25)
    assert counted.as_json()["wrong_power_actions"] == 0
