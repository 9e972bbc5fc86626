"""Power: when boxes may start, by what their provider's limits say."""

from dataclasses import replace
from datetime import timedelta

from hostler.domain.hosts import power
from hostler.domain.ids import HostId
from hostler.domain.model.calls import Shows
from hostler.domain.model.capabilities import PowerLimits
from hostler.domain.model.host import Free, HostCondition, HostPower
from hostler.domain.model.machine import CallState
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.testing.fakes.metal import metal
from hostler.testing.fakes.metal_planner import SWITCH_ON
from hostler.testing.scenes.builders import BEGIN, OFFER, S, asked
from hostler.testing.scenes.hosts import box, fleet_snapshot, on_host, record

GAP = PowerLimits(start_gap=30 * S)
FREE = Free(resource=box("pool", Condition.OFF, HostId("host-2")), offer=OFFER)


def test_gap_counts_from_a_start_that_is_over_too() -> None:
    start = asked(SWITCH_ON, BEGIN, shows=Shows.POWER, call_state=CallState.DONE)
    machine = on_host(Phase.READY, asked=(start,))
    for passed, startable in ((29 * S, ()), (30 * S, (FREE,))):
        snapshot = replace(
            fleet_snapshot([machine], now=BEGIN + passed), capabilities=metal(power=GAP)
        )
        assert power.startable((FREE,), [machine], snapshot) == startable


def test_gap_counts_from_a_start_whose_machine_is_deleted_too() -> None:
    on = HostPower(on=True, since=BEGIN)
    host = record(condition=HostCondition.FREE, power=on)
    for passed, startable in ((29 * S, ()), (30 * S, (FREE,))):
        snapshot = fleet_snapshot([], now=BEGIN + passed, hosts=[host])
        snapshot = replace(snapshot, capabilities=metal(power=GAP))
        assert power.startable((FREE,), [], snapshot) == startable


def test_box_that_went_off_may_start_once_its_least_time_is_over() -> None:
    limits = PowerLimits(least_off=timedelta(minutes=10))
    host = record(power=HostPower(on=False, since=BEGIN))
    assert not power.may_start(host, limits, BEGIN + timedelta(minutes=9))
    assert power.may_start(host, limits, BEGIN + timedelta(minutes=10))
