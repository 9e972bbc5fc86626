"""Report and admission: who is told of, for how long, and how many are let in."""

from dataclasses import replace
from datetime import timedelta

import pytest

from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import Caps, FleetRow, Setback
from hostler.domain.model.machine import Machine, Offer, Protection
from hostler.domain.model.phases import Phase
from hostler.frontends.fleeting.contract import CORE, State
from hostler.frontends.fleeting.group.increase import Standing, admit
from hostler.frontends.fleeting.group.update import Report
from hostler.testing.scenes.builders import BEGIN, FLEET, MIN, OFFER, WEB, S, machine

GROUP = replace(FLEET, size=0, maximum=5, renews=False)
ALL = frozenset(State)
NEW = MachineId("m-new")
LARGE = Offer(type="large", zone=OFFER.zone)


def told(report: Report, *machines: Machine, after: timedelta = 0 * S) -> dict[str, State]:
    return {i.id: i.state for i in report.instances(machines, (), BEGIN + after)}


def test_named_instances_are_creating_until_they_are_on_record() -> None:
    report = Report(GROUP, ALL)
    assert [i.state for i in report.instances((), (NEW,), BEGIN)] == [State.CREATING]
    recorded = replace(machine(1), id=NEW)
    assert [i.state for i in report.instances((recorded,), (NEW,), BEGIN)] == [State.RUNNING]


def test_what_is_gone_is_told_to_be_deleted_in_three_updates_and_no_more() -> None:
    report = Report(GROUP, ALL)
    one, other = machine(1), machine(2)
    told(report, one, other)
    for _ in range(3):
        assert told(report, other)[one.id] is State.DELETED
    assert set(told(report, other)) == {other.id}


def test_what_is_gone_is_left_out_where_the_schema_cannot_say_it() -> None:
    report = Report(GROUP, CORE)
    told(report, machine(1))
    assert told(report) == {}


def test_what_comes_back_is_told_as_it_is() -> None:
    report = Report(GROUP, ALL)
    one = machine(1)
    told(report, one)
    told(report)
    assert told(report, replace(one, phase=Phase.STOPPING))[one.id] is State.DELETING


# ---------------------------------------------------------------- admission


def standing(*machines: Machine, row: FleetRow | None = None, **changes: object) -> Standing:
    asked = Standing(
        fleet=GROUP,
        row=row or FleetRow(name=WEB, created=BEGIN),
        machines=machines,
        named=0,
        world="",
        now=BEGIN,
    )
    return replace(asked, **changes)


def failed(until: timedelta, *offers: Offer) -> FleetRow:
    row = FleetRow(name=WEB, created=BEGIN)
    for offer in offers:
        row = row.with_setback(Setback(offer=offer, why="out of stock", until=BEGIN + until))
    return row


def test_all_are_accepted_while_there_is_room() -> None:
    assert admit(5, standing()).count == 5
    assert admit(6, standing()).count == 5
    assert admit(3, standing(machine(1), machine(2), named=2)).count == 1


@pytest.mark.parametrize("phase", [Phase.FAILED, Phase.STOPPING, Phase.STARTING, Phase.PENDING])
def test_every_machine_that_exists_takes_room(phase: Phase) -> None:
    assert admit(9, standing(*(machine(n, phase) for n in range(1, 5)))).count == 1


def test_stuck_machines_take_no_room_up_to_their_allowance() -> None:
    stuck = [replace(machine(n, Phase.STOPPING), stuck=True) for n in range(1, 6)]
    assert admit(9, standing(*stuck[:3])).count == 5
    assert admit(9, standing(*stuck)).count == 3


def test_wrong_world_and_pause_let_nobody_in() -> None:
    pause = Protection(until=BEGIN + MIN, why="rest", actor="ann")
    assert admit(1, standing(world="foreign parts")).why == "foreign parts"
    assert "paused by ann" in admit(1, standing(row=replace(failed(S), pause=pause))).why


def test_creations_of_an_hour_bound_what_is_let_in() -> None:
    fleet = replace(GROUP, caps=Caps(creates=3))
    row = replace(failed(S), setbacks=(), creations=(BEGIN,))
    admitted = admit(5, standing(fleet=fleet, row=row, named=1))
    assert (admitted.count, "bound on creations" in admitted.why) == (1, True)


def test_nobody_is_let_in_while_every_type_waits() -> None:
    admitted = admit(3, standing(row=failed(MIN, OFFER)))
    assert (admitted.count, "small in z-1: out of stock until" in admitted.why) == (0, True)


def test_one_alone_tries_a_type_that_failed() -> None:
    assert admit(3, standing(row=failed(0 * S, OFFER))).count == 1
    assert admit(3, standing(row=failed(0 * S, OFFER), named=1)).count == 0
    trying = machine(1, Phase.STARTING)
    assert admit(3, standing(trying, row=failed(0 * S, OFFER))).count == 0


def test_another_type_lets_all_in() -> None:
    fleet = replace(GROUP, offers=(OFFER, LARGE))
    assert admit(3, standing(fleet=fleet, row=failed(MIN, OFFER))).count == 3
