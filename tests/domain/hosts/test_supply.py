"""The law of supply: a host that a fleet waits for comes, whatever became of it.

Each state that a bought host can be in is followed until its record rests, with nothing failing and
nobody else doing anything. Then it is free, or something is asked of it that brings it on, or it is
given up; or it counts as no supply, so that another host is ordered in its place.
"""

from collections.abc import Iterator
from datetime import timedelta
from itertools import product

import pytest
from msgspec.structs import replace

from hostler.domain.hosts.free import free_hosts
from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.hosts.purchasing import buy
from hostler.domain.ids import HostId, MachineId
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import AT_HOME, Host, HostCondition, HostGoal, HostOrigin
from hostler.domain.model.machine import Offer
from hostler.domain.model.resource import Condition, Resource, Stage
from hostler.domain.model.snapshot import AccountSnapshot
from hostler.domain.policy.purchasing import Limits
from hostler.providers.scaleway.macs.plan.host_calls import host_calls
from hostler.testing.scenes.builders import BEGIN, FLEET, WEB
from hostler.testing.scenes.hosts import (
    HIS,
    MINE,
    box,
    fleet_snapshot,
    hosts_snapshot,
    on_host,
    record,
)

HOUR = timedelta(hours=1)
NAMELESS = {Stage.POOL, Stage.OTHER, Stage.UNNAMED}
KEPT = {
    HostCondition.FREE: (None,),
    HostCondition.DIRTY: (None, HostGoal.CLEAN, HostGoal.POOLED),
    HostCondition.WIPING: (HostGoal.CLEAN,),
    HostCondition.QUARANTINED: (None, HostGoal.CLEAN),
    HostCondition.RETIRING: (HostGoal.RETIRED,),
    HostCondition.ALLOCATED: (None,),
}
"""The goals that a host may have which no machine holds, by its condition."""


def fits(offer: Offer, resource: Resource) -> str:
    """Tell why a host is none for an offer: all are of its type."""
    del offer
    return "" if resource.host.stage in AT_HOME else f"it is {resource.host.stage}"


def states(over: bool, scheduled: bool) -> Iterator[tuple[Host, Resource]]:
    """Yield each host, and how an observation may show it; `over` is that it is paid no longer."""
    left = -HOUR if over else 5 * HOUR
    goals = ((condition, goal) for condition, found in KEPT.items() for goal in found)
    observed = product(Stage, (None, MINE, HIS), (Condition.UP, Condition.FAILED))
    for (condition, goal), (stage, holder, status) in product(goals, observed):
        if stage is Stage.NONE or (stage in NAMELESS) != (holder is None):
            continue
        host = record(
            condition=condition,
            goal=goal,
            machine=MINE,
            origin=HostOrigin.ORDERED,
            fleet=WEB,
            buyer=WEB,
            delivered=BEGIN - 24 * HOUR + left,
            paid_until=BEGIN + left,
            wiping=BEGIN - HOUR if condition is HostCondition.WIPING else None,
        )
        seen = box(str(stage), status, holder=holder, scheduled=scheduled)
        yield host, replace(seen, status="ready" if status is Condition.UP else "error")


def known(host: Host, resource: Resource, after: timedelta) -> AccountSnapshot:
    """Return what a cycle knows where the fleet lacks a host, and his machine has another one."""
    holder: MachineId | None = resource.host.holder
    living = [on_host(machine=HIS, host=HostId("host-9"))] if holder == HIS else []
    snapshot = hosts_snapshot(host, resource, now=BEGIN + after, living=living)
    return replace(snapshot, starved=frozenset({WEB}))


def comes(host: Host, resource: Resource) -> tuple[bool, Host]:
    """Tell whether a host becomes free, or is given up, by what is done to it; with its record."""
    for minutes in range(0, 50, 10):
        snapshot = known(host, resource, timedelta(minutes=minutes))
        (transition,) = decide_hosts(snapshot)
        host, goal = transition.host, transition.goal
        if goal is not None and host_calls(goal, host, resource, snapshot.now):
            return True, host
        if free_hosts(replace(snapshot, hosts={host.id: host}), FLEET, fits):
            return True, host
    return False, host


@pytest.mark.parametrize("scheduled", [True, False])
@pytest.mark.parametrize("over", [True, False])
def test_a_host_that_never_comes_is_no_supply(*, over: bool, scheduled: bool) -> None:
    """A fleet had two machines of three for hours, and did not say why (233011173, 233012331)."""
    tried = 0
    for host, resource in states(over, scheduled):
        coming, rests = comes(host, resource)
        if coming:
            continue
        tried += 1
        snapshot = fleet_snapshot((), (resource,), hosts=(rests,))
        limits, fleet = Limits(most=2, batch=1), replace(FLEET, size=1)
        snapshot = replace(snapshot, fleet=fleet, limits=limits)
        bought = buy((), FleetRow(name=WEB, created=BEGIN), snapshot)
        text = f"{host.condition} for {host.goal}, shown as {resource.host.stage}"
        assert bought.order is not None, f"{text}: it rests {rests.condition} for {rests.goal}"
    assert tried > 50
