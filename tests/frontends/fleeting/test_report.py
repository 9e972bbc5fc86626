"""Report: which instances are reported, in which state, and for how long."""

from datetime import timedelta

from msgspec.structs import replace

from hostler.domain.ids import MachineId
from hostler.domain.model.machine import Machine, Offer
from hostler.domain.model.phases import Phase
from hostler.frontends.fleeting.contract import CORE, State
from hostler.frontends.fleeting.group.report import Report
from hostler.testing.scenes.builders import BEGIN, FLEET, OFFER, S, machine

GROUP = replace(FLEET, size=0, maximum=5, renews=False)
ALL = frozenset(State)
NEW = MachineId("m-new")
LARGE = Offer(type="large", zone=OFFER.zone)


def reported(report: Report, *machines: Machine, after: timedelta = 0 * S) -> dict[str, State]:
    return {i.id: i.state for i in report.instances(machines, (), BEGIN + after)}


def test_named_instances_are_creating_until_they_are_on_record() -> None:
    report = Report(GROUP, ALL)
    assert [i.state for i in report.instances((), (NEW,), BEGIN)] == [State.CREATING]
    recorded = replace(machine(1), id=NEW)
    assert [i.state for i in report.instances((recorded,), (NEW,), BEGIN)] == [State.RUNNING]


def test_what_is_deleted_is_reported_so_in_three_updates_and_no_more() -> None:
    report = Report(GROUP, ALL)
    one, other = machine(1), machine(2)
    reported(report, one, other)
    for _ in range(3):
        assert reported(report, other)[one.id] is State.DELETED
    assert set(reported(report, other)) == {other.id}


def test_what_is_deleted_is_left_out_where_the_schema_cannot_say_it() -> None:
    report = Report(GROUP, CORE)
    reported(report, machine(1))
    assert reported(report) == {}


def test_what_comes_back_is_reported_as_it_is() -> None:
    report = Report(GROUP, ALL)
    one = machine(1)
    reported(report, one)
    reported(report)
    assert reported(report, replace(one, phase=Phase.STOPPING))[one.id] is State.DELETING
