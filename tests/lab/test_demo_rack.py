"""The parts of the demo of a rack: its day, its judge, its meter, its lanes, and its last words."""

import io
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from hostler.domain.ids import CycleId, FleetName, HostId
from hostler.domain.model.commands import Event
from hostler.domain.model.phases import Phase
from hostler.lab.demo.rack.day import HOURS, PEAK, Day, sizes
from hostler.lab.demo.rack.demo import MACHINES, TROUBLES
from hostler.lab.demo.rack.environment import conclusion
from hostler.lab.demo.rack.judge import LAG, Move, Size, Switched, moves_of, wrong_actions
from hostler.lab.demo.rack.lanes import Lane, Light, cells
from hostler.lab.demo.rack.sampling import stands
from hostler.lab.demo.rack.tally import Counts, Meter, Metering, RackTally, count
from hostler.simulators.power.rack.faults import Fault, Order
from hostler.simulators.power.rack.machine import Machine, Spans
from hostler.simulators.power.rack.rack import Rack

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


class Time:
    """A time that goes on when it is asked to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def rack_of(time: Time, count: int = 2) -> Rack:
    spans = Spans(time=time, boot=1.0, shutdown=1.0)
    rack = Rack(time)
    for number in range(1, count + 1):
        name = f"node-{number}"
        rack.machines[name] = Machine(name, "redfish", "127.0.0.1", spans, (10.0, 100.0))
    return rack


def at(seconds: float) -> datetime:
    return BEGUN + timedelta(seconds=seconds)


def life(*phases: tuple[float, Phase], box: str = "a") -> list[Move]:
    return [Move(at(seconds), box, phase) for seconds, phase in phases]


STARTED = life((10, Phase.STARTING), (12, Phase.READY))
ENDED = life((20, Phase.DRAINING), (21, Phase.STOPPING), (22, Phase.DELETED))
ONE = [Size(at(9), 1)]
NONE = [*ONE, Size(at(19), 0)]


def why(command: Switched, moves: list[Move], asked: list[Size]) -> str:
    return "; ".join(wrong.why for wrong in wrong_actions([command], moves, asked))


# ---------------------------------------------------------------- the judge


@pytest.mark.parametrize("what", ["off_soft", "off_hard", "cycle"])
@pytest.mark.parametrize(("when", "phase"), [(11, "starting"), (15, "ready"), (20.5, "draining")])
def test_a_command_that_takes_the_power_of_a_used_box_is_wrong(
    what: str, when: float, phase: str
) -> None:
    found = why(Switched(at(when), "a", what), STARTED + ENDED, NONE)
    assert found == f"a machine uses it: {phase}"


@pytest.mark.parametrize("when", [21, 21.5, 23])
def test_a_box_that_is_used_no_longer_may_be_switched_off(when: float) -> None:
    assert not why(Switched(at(when), "a", "off_hard"), STARTED + ENDED, NONE)
    assert not why(Switched(at(5), "b", "off_hard"), STARTED + ENDED, NONE)


def test_a_box_may_be_given_power_while_a_machine_starts_on_it_and_at_no_other_time() -> None:
    assert not why(Switched(at(11), "a", "on"), STARTED + ENDED, NONE)
    assert why(Switched(at(5), "a", "on"), STARTED + ENDED, NONE).endswith("nobody has it")
    assert why(Switched(at(23), "a", "on"), STARTED + ENDED, NONE).endswith("deleted")
    assert why(Switched(at(11), "b", "on"), STARTED, ONE).endswith("nobody has it")


def test_a_machine_that_ends_although_it_was_asked_for_is_wrong() -> None:
    found = why(Switched(at(23), "a", "off_hard"), STARTED + ENDED, ONE)
    assert found == "0 machines stayed, and 1 were asked for"


def test_a_machine_that_failed_may_be_switched_off_whatever_is_asked_for() -> None:
    failed = life((20, Phase.FAILED), (21, Phase.STOPPING))
    assert not why(Switched(at(23), "a", "off_hard"), STARTED + failed, ONE)


def test_more_machines_than_were_asked_for_are_wrong() -> None:
    moves = STARTED + life((14, Phase.STARTING), box="b")
    found = why(Switched(at(15), "b", "on"), moves, ONE)
    assert found == "2 machines, and 1 were asked for"
    assert not why(Switched(at(15), "b", "on"), moves, [Size(at(9), 2)])
    assert not why(Switched(at(15), "b", "on"), moves, [Size(at(9), 2), Size(at(13), 1)])


def test_a_decision_may_go_by_the_request_before_for_a_moment_only() -> None:
    lag = LAG.total_seconds()
    command = Switched(at(23), "a", "off_hard")
    late = [*NONE, Size(at(20 - lag / 2), 1)]
    assert not why(command, STARTED + ENDED, late)
    assert why(command, STARTED + ENDED, [*ONE, Size(at(15), 0), Size(at(20 - lag), 1)])


def test_moves_are_read_from_events_of_machines_that_have_a_box() -> None:
    def event(kind: str, host: str | None, detail: str) -> Event:
        return Event(
            kind=kind,
            at=BEGUN,
            fleet=FleetName("nodes"),
            cycle=CycleId("c"),
            host=HostId(host) if host else None,
            detail=detail,
        )

    events = (
        event("moved", "a", "pending>starting: there is room"),
        event("moved", None, "pending>deleted: overdue"),
        event("host_moved", "a", "dirty>free: clean"),
    )
    assert list(moves_of(events)) == [Move(BEGUN, "a", Phase.STARTING)]


# ---------------------------------------------------------------- what the rack saw


def test_kilowatt_hours_are_those_of_the_meter_at_the_day_s_scale() -> None:
    time = Time()
    rack = rack_of(time)
    time.now = 5.0
    metering = Metering(rack, scale=3600.0)
    rack.machines["node-1"].obey("on", "")
    time.now = 7.0
    meter = metering.read()
    assert meter.kwh == pytest.approx(2 * (0.100 + 0.010))
    assert meter.always_on == pytest.approx(2 * 0.200)
    assert meter.saved == pytest.approx(0.45)


async def test_starts_stops_and_failures_are_counted_from_the_rack() -> None:
    time = Time()
    rack = rack_of(time)
    one, two = rack.machines.values()
    rack.arm(Order(fault=Fault.PACKET_LOST, machine="node-1"))
    one.wake()
    assert count(rack) == Counts(failed=1, faults={"packet_lost": 1})
    one.wake()
    two.wake()
    time.now = 3.0
    two.shut_down()
    time.now = 5.0
    rack.arm(Order(fault=Fault.BROWN_OUT))
    assert not one.has_power()
    counts = count(rack)
    assert (counts.starts, counts.stops, counts.failed, counts.recovered) == (2, 1, 1, 1)


def test_the_rack_stands_only_if_the_boxes_that_are_up_are_those_of_ready_machines() -> None:
    time = Time()
    rack = rack_of(time)
    one, two = rack.machines.values()
    one.obey("on", "")
    ready = {"node-1": Phase.READY}
    assert not stands(rack, 1, ready)
    time.now = 2.0
    assert stands(rack, 1, ready)
    assert not stands(rack, 2, ready)
    assert not stands(rack, 1, {"node-1": Phase.STOPPING})
    assert not stands(rack, 1, {"node-2": Phase.READY})
    assert not stands(rack, 1, {})
    two.obey("on", "")
    assert not stands(rack, 1, ready)


# ---------------------------------------------------------------- the day


@pytest.mark.parametrize("seed", range(20))
def test_all_machines_are_asked_for_at_some_hour_and_none_that_there_is_not(seed: int) -> None:
    asked = sizes(seed)
    assert len(asked) == HOURS
    assert max(asked) == PEAK == MACHINES
    assert min(asked) >= 1
    assert asked == sizes(seed)


def test_a_day_goes_evenly_and_ends_at_midnight() -> None:
    day = Day(48.0, tuple(range(24)))
    assert day.scale == 1800.0
    assert [day.size(passed) for passed in (0.0, 1.9, 2.0, 47.9, 99.0)] == [0, 0, 1, 23, 23]
    assert [day.date(passed) for passed in (0.0, 25.0, 99.0)] == ["00:00", "12:30", "24:00"]


def test_a_controller_hangs_and_a_packet_is_lost() -> None:
    assert {order.fault for order in TROUBLES} == {Fault.BMC_HUNG, Fault.PACKET_LOST}


def test_a_lane_shows_the_worst_of_each_column_and_each_trouble_once() -> None:
    time = Time()
    rack, lane = rack_of(time), Lane()
    machine = rack.machines["node-1"]
    lane.note(0.0, machine)
    rack.arm(Order(fault=Fault.PACKET_LOST))
    machine.wake()
    lane.note(6.0, machine)
    lane.note(6.5, machine)
    machine.wake()
    lane.note(12.0, machine)
    time.now = 2.0
    lane.note(18.0, machine)
    assert cells(lane, 24, 4) == [Light.OFF, Light.FAULT, Light.ON, Light.UP]
    assert lane.seen[2] == (6.5, Light.OFF)


# ---------------------------------------------------------------- the last words


def tally(*wrong: str) -> RackTally:
    return RackTally(
        machines=12,
        asked=4,
        up=4,
        counts=Counts(starts=9, stops=5, failed=2, recovered=2, faults={"packet_lost": 1}),
        meter=Meter(kwh=6.0, always_on=14.0),
        wrong=wrong,
        price=0.3,
        scale=2160.0,
        seconds=40.0,
    )


def test_the_last_words_tell_what_was_saved_and_what_was_wrong() -> None:
    def printed(tally: RackTally, *, rests: bool) -> str:
        console = Console(file=io.StringIO(), width=100)
        console.print(conclusion(tally, rests=rests))
        assert isinstance(console.file, io.StringIO)
        return console.file.getvalue()

    good = printed(tally(), rests=True)
    assert "the rack stands as it was asked to\n" in good
    assert "€2.40 in the day, 57%, at €0.3 a kWh" in good
    assert "0 power actions" in good
    bad = printed(tally("node-1 off_hard: a machine uses it: ready"), rests=True)
    assert "switched wrongly" in bad
    assert "1 power action; node-1 off_hard" in bad
    assert "does not stand as it was asked to" in printed(tally(), rests=False)


def test_the_tally_has_the_promised_keys() -> None:
    value = tally("a", "b").as_json()
    assert value["wrong_power_actions"] == 2
    assert value["euros_saved"] == 2.4
    promised = "machines starts stops failed_commands recovered kwh kwh_always_on"
    assert set(promised.split()) <= value.keys()
