"""What a host's own record keeps and ends: late claims, deliveries, quarantines, wipes."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hostler.domain.hosts.allocation import ALONE, FAULT
from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.ids import Epoch
from hostler.domain.model.host import Host, HostCondition, HostGoal, HostOrigin
from hostler.domain.model.machine import LEFT, Fate, Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, Part
from hostler.domain.model.snapshot import HostsSeen, HostStep
from hostler.testing.scenes.builders import BEGIN
from hostler.testing.scenes.hosts import (
    BOX,
    HIS,
    MINE,
    SETTLE,
    box,
    call,
    hosts_seen,
    on_host,
    record,
)

SECOND = timedelta(seconds=1)
LATER = BEGIN + timedelta(minutes=10)
DIRTY = record(condition=HostCondition.DIRTY)
PENDING = box("pending", holder=MINE)


def decided(seen: HostsSeen) -> HostStep:
    (step,) = decide_hosts(seen)
    return step


def late(host: Host, part: Part | None, *past: Machine) -> str | None:
    """Return whose late claim is kept after a look."""
    return decided(hosts_seen(host, part, past=past, now=LATER)).host.late


def test_a_claim_that_came_too_late_is_kept_with_the_host_as_long_as_its_name_says_so() -> None:
    gone = on_host(Phase.GONE).with_fact(f"{LEFT} {BOX}", BEGIN)
    assert late(DIRTY, PENDING) is None
    assert late(DIRTY, PENDING, gone) == MINE
    known = replace(DIRTY, late=MINE)
    assert late(known, PENDING) == MINE, "the machine is forgotten"
    assert late(known, None) == MINE, "no look shows it"
    assert late(known, box("pending", holder=HIS)) is None
    assert late(known, box("pool")) is None
    assert late(known, box("wiping", holder=MINE)) is None
    assert late(known, box("claimed", holder=MINE), on_host(Phase.GONE)) is None


@pytest.mark.parametrize("stage", ["claimed", "resting", "rested", "releasing"])
@pytest.mark.parametrize("aim", ["wiping", "retiring"])
def test_a_name_that_a_machine_had_given_up_is_a_late_one(stage: str, aim: str) -> None:
    """It was gone, and its host the next one's: an old rename took effect."""
    again = box(stage, holder=MINE)
    gone = on_host(Phase.GONE, asked=(call("mark", Fate.DONE, aim=aim),))
    assert late(DIRTY, again, gone) == MINE
    assert late(replace(DIRTY, late=MINE), again) == MINE, "the machine is forgotten"
    assert late(DIRTY, again) is None
    assert late(DIRTY, again, replace(gone, asked=())) is None, "it never gave its host back"
    assert late(DIRTY, box("wiping", holder=MINE), gone) is None
    living = hosts_seen(DIRTY, again, living=(replace(gone, phase=Phase.STOPPING),), now=LATER)
    assert decided(living).host.late is None


@pytest.mark.parametrize(("back", "goal"), [(None, HostGoal.WIPED), (LATER, None)])
def test_a_tenants_name_on_a_clean_host_is_wiped_away_until_the_host_was_put_back(
    back: datetime | None, goal: HostGoal | None
) -> None:
    """From then on somebody else may have it: the ledger tells."""
    asked = (call("mac.free", Fate.DONE, back, aim="pool"),) if back else ()
    host = record(
        condition=HostCondition.WIPING, goal=HostGoal.WIPED, wiping=BEGIN, wiped=LATER, asked=asked
    )
    past = (on_host(Phase.GONE),)
    step = decided(hosts_seen(host, box("claimed", holder=MINE), past=past, now=LATER))
    assert (step.host.condition, step.goal) == (HostCondition.DIRTY, goal)


def test_a_living_machines_late_claim_of_a_host_is_kept_too() -> None:
    living = on_host(Phase.STARTING, asked=(call("mark", Fate.LAPSED, aim="pending"),))
    seen = hosts_seen(DIRTY, PENDING, living=(living,), now=LATER)
    assert decided(seen).host.late == MINE


def test_an_order_is_over_when_it_is_up_and_delivered() -> None:
    coming = record(condition=HostCondition.COMING, origin=HostOrigin.ORDERED, order=MINE)
    for part in (box("ordered"), box("ordered", Condition.BUSY, delivered="yes")):
        assert decided(hosts_seen(coming, part)).host.condition is HostCondition.COMING
    shown = hosts_seen(coming, box("ordered", delivered="yes"))
    there = decided(replace(shown, orders={MINE: BEGIN})).host
    assert (there.condition, there.wiped, there.delivered) == (HostCondition.FREE, BEGIN, BEGIN)


def test_a_machine_says_that_its_host_is_to_be_left_alone_whatever_its_strikes() -> None:
    failed = on_host(Phase.GONE, was_ready=None).with_fact(FAULT, BEGIN)
    held = record(condition=HostCondition.HELD, machine=MINE)

    def judged(machine: Machine) -> Host:
        seen = hosts_seen(held, box("releasing"), ties={BOX: MINE}, past=(machine,))
        return decided(seen).host

    assert (judged(failed).strikes, judged(failed).quarantined_until) == (1, None)
    alone = judged(failed.with_fact(ALONE, BEGIN))
    assert alone.strikes == 1
    assert alone.quarantined_until is not None


def test_a_host_that_is_to_be_left_alone_is_so_after_its_wipe_and_not_in_the_pool() -> None:
    wiping = record(
        condition=HostCondition.WIPING,
        goal=HostGoal.WIPED,
        wiping=BEGIN,
        quarantined_until=LATER + SETTLE,
    )
    host = decided(hosts_seen(wiping, box("wiping"), now=LATER)).host
    assert (host.condition, host.wiped) == (HostCondition.QUARANTINED, LATER)
    host = decided(hosts_seen(wiping, box("pool"), now=LATER)).host
    assert (host.condition, host.wiped) == (HostCondition.DIRTY, None), "somebody put it there"
    assert host.quarantined(LATER)


def test_a_host_that_somebody_else_took_during_its_wipe_is_theirs() -> None:
    wiping = record(condition=HostCondition.WIPING, goal=HostGoal.WIPED, wiping=BEGIN)
    for stage in ("foreign", "other", "unnamed"):
        step = decided(hosts_seen(wiping, box(stage), now=LATER))
        assert (step.host.condition, step.goal) == (HostCondition.DIRTY, None)
        assert step.host.wiped is None
    adopted = replace(wiping, adopted=True)
    assert decided(hosts_seen(adopted, box("foreign"), now=LATER)).goal is HostGoal.WIPED


def test_a_call_of_an_older_epoch_may_have_been_begun_as_late_as_the_take_over() -> None:
    mark = replace(call("mark", aim="wiping"), epoch=Epoch(0))
    host = record(goal=HostGoal.WIPED, asked=(mark,))

    def fate(now: timedelta, took: timedelta) -> Fate:
        seen = hosts_seen(host, box("releasing"), now=BEGIN + now)
        return decided(replace(seen, took=BEGIN + took)).host.asked[0].fate

    assert fate(SETTLE, timedelta(0)) is Fate.LAPSED
    assert fate(SETTLE, SECOND) is Fate.OPEN
    assert fate(SETTLE + SECOND, SECOND) is Fate.LAPSED
