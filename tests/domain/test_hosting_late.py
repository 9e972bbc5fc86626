"""What a host's own record keeps and ends: late claims, deliveries, quarantines, wipes."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.hosts.allocation import ALONE, FAULT
from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.ids import Epoch
from hostler.domain.model.host import Host, HostCondition, HostGoal, HostOrigin
from hostler.domain.model.machine import LEFT, CallState, Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, Resource, Stage
from hostler.domain.model.snapshot import AccountSnapshot, HostTransition
from hostler.testing.scenes.builders import BEGIN
from hostler.testing.scenes.hosts import (
    BOX,
    CONSISTENCY_DELAY,
    HIS,
    MINE,
    box,
    call,
    hosts_snapshot,
    on_host,
    record,
)

SECOND = timedelta(seconds=1)
LATER = BEGIN + timedelta(minutes=10)
DIRTY = record(condition=HostCondition.DIRTY)
PENDING = box("pending", holder=MINE)


def decided(snapshot: AccountSnapshot) -> HostTransition:
    (transition,) = decide_hosts(snapshot)
    return transition


def late(host: Host, resource: Resource | None, *past: Machine) -> str | None:
    """Return whose late claim is kept after a look."""
    return decided(hosts_snapshot(host, resource, past=past, now=LATER)).host.ownership.late


def test_a_claim_that_came_too_late_is_kept_with_the_host_as_long_as_its_name_says_so() -> None:
    deleted = on_host(Phase.DELETED).with_fact(f"{LEFT} {BOX}", BEGIN)
    assert late(DIRTY, PENDING) is None
    assert late(DIRTY, PENDING, deleted) == MINE
    known = DIRTY.with_ownership(late=MINE)
    assert late(known, PENDING) == MINE, "the machine is forgotten"
    assert late(known, None) == MINE, "no look shows it"
    assert late(known, box("pending", holder=HIS)) is None
    assert late(known, box("pool")) is None
    assert late(known, box("wiping", holder=MINE)) is None
    assert late(known, box("claimed", holder=MINE), on_host(Phase.DELETED)) is None


@pytest.mark.parametrize("stage", ["claimed", "standby", "rested", "releasing"])
@pytest.mark.parametrize("aim", [Stage.WIPING, Stage.RETIRING])
def test_a_name_that_a_machine_had_given_up_is_a_late_one(stage: str, aim: Stage) -> None:
    """It was gone, and its host the next one's: an old rename took effect."""
    again = box(stage, holder=MINE)
    deleted = on_host(Phase.DELETED, asked=(call("mark", CallState.DONE, aim=aim),))
    assert late(DIRTY, again, deleted) == MINE
    assert late(DIRTY.with_ownership(late=MINE), again) == MINE, "the machine is forgotten"
    assert late(DIRTY, again) is None
    assert late(DIRTY, again, replace(deleted, asked=())) is None, "it never gave its host back"
    assert late(DIRTY, box("wiping", holder=MINE), deleted) is None
    living = hosts_snapshot(
        DIRTY, again, living=(replace(deleted, phase=Phase.STOPPING),), now=LATER
    )
    assert decided(living).host.ownership.late is None


@pytest.mark.parametrize(("back", "goal"), [(None, HostGoal.CLEAN), (LATER, None)])
def test_a_tenants_name_on_a_clean_host_is_wiped_away_until_the_host_was_put_back(
    back: datetime | None, goal: HostGoal | None
) -> None:
    """From then on somebody else may have it: the ledger tells."""
    asked = (call("mac.free", CallState.DONE, back, aim=Stage.POOL),) if back else ()
    host = record(
        condition=HostCondition.WIPING, goal=HostGoal.CLEAN, wiping=BEGIN, wiped=LATER, asked=asked
    )
    past = (on_host(Phase.DELETED),)
    transition = decided(hosts_snapshot(host, box("claimed", holder=MINE), past=past, now=LATER))
    assert (transition.host.condition, transition.goal) == (HostCondition.DIRTY, goal)


def test_a_living_machines_late_claim_of_a_host_is_kept_too() -> None:
    living = on_host(Phase.STARTING, asked=(call("mark", CallState.LAPSED, aim=Stage.PENDING),))
    snapshot = hosts_snapshot(DIRTY, PENDING, living=(living,), now=LATER)
    assert decided(snapshot).host.ownership.late == MINE


def test_an_order_is_over_when_it_is_up_and_delivered() -> None:
    coming = record(condition=HostCondition.COMING, origin=HostOrigin.ORDERED, order=MINE)
    for resource in (box("ordered"), box("ordered", Condition.BUSY, delivered=True)):
        assert decided(hosts_snapshot(coming, resource)).host.condition is HostCondition.COMING
    observed_at = hosts_snapshot(coming, box("ordered", delivered=True))
    there = decided(replace(observed_at, orders={MINE: BEGIN})).host
    assert (there.condition, there.cleaning.wiped, there.purchase.delivered) == (
        HostCondition.FREE,
        BEGIN,
        BEGIN,
    )


def test_a_machine_says_that_its_host_is_to_be_left_alone_whatever_its_strikes() -> None:
    failed = on_host(Phase.DELETED, was_ready=None).with_fact(FAULT, BEGIN)
    held = record(condition=HostCondition.ALLOCATED, machine=MINE)

    def judged(machine: Machine) -> Host:
        snapshot = hosts_snapshot(held, box("releasing"), bindings={BOX: MINE}, past=(machine,))
        return decided(snapshot).host

    assert (judged(failed).health.strikes, judged(failed).health.quarantined_until) == (1, None)
    alone = judged(failed.with_fact(ALONE, BEGIN))
    assert alone.health.strikes == 1
    assert alone.health.quarantined_until is not None


def test_a_host_that_is_to_be_left_alone_is_so_after_its_wipe_and_not_in_the_pool() -> None:
    wiping = record(
        condition=HostCondition.WIPING,
        goal=HostGoal.CLEAN,
        wiping=BEGIN,
        quarantined_until=LATER + CONSISTENCY_DELAY,
    )
    host = decided(hosts_snapshot(wiping, box("wiping"), now=LATER)).host
    assert (host.condition, host.cleaning.wiped) == (HostCondition.QUARANTINED, LATER)
    host = decided(hosts_snapshot(wiping, box("pool"), now=LATER)).host
    assert (host.condition, host.cleaning.wiped) == (HostCondition.DIRTY, None), (
        "somebody put it there"
    )
    assert host.quarantined(LATER)


def test_a_host_that_somebody_else_took_during_its_wipe_is_theirs() -> None:
    wiping = record(condition=HostCondition.WIPING, goal=HostGoal.CLEAN, wiping=BEGIN)
    for stage in ("foreign", "other", "unnamed"):
        transition = decided(hosts_snapshot(wiping, box(stage), now=LATER))
        assert (transition.host.condition, transition.goal) == (HostCondition.DIRTY, None)
        assert transition.host.cleaning.wiped is None
    adopted = wiping.with_ownership(adopted=True)
    assert decided(hosts_snapshot(adopted, box("foreign"), now=LATER)).goal is HostGoal.CLEAN


def test_a_call_of_an_older_epoch_may_have_been_begun_as_late_as_the_take_over() -> None:
    owner_tag = replace(call("mark", aim=Stage.WIPING), epoch=Epoch(0))
    host = record(goal=HostGoal.CLEAN, asked=(owner_tag,))

    def call_state(now: timedelta, took: timedelta) -> CallState:
        snapshot = hosts_snapshot(host, box("releasing"), now=BEGIN + now)
        return decided(replace(snapshot, took=BEGIN + took)).host.asked[0].call_state

    assert call_state(CONSISTENCY_DELAY, timedelta(0)) is CallState.LAPSED
    assert call_state(CONSISTENCY_DELAY, SECOND) is CallState.OPEN
    assert call_state(CONSISTENCY_DELAY + SECOND, SECOND) is CallState.LAPSED
