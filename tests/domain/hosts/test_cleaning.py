"""When a host that a machine has used is clean again, by what its provider can do."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.ids import MachineId
from hostler.domain.model.calls import Shows
from hostler.domain.model.capabilities import Cleaning, HostCapabilities, Ownership
from hostler.domain.model.host import Host, HostCleaning, HostCondition, HostGoal
from hostler.domain.model.machine import CallState
from hostler.domain.model.phases import Phase
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import Condition, Resource
from hostler.testing.scenes.builders import BEGIN, OFFER
from hostler.testing.scenes.hosts import (
    BOX,
    CAPABILITIES,
    MINE,
    box,
    call,
    hosts_snapshot,
    on_host,
    record,
)

MINUTE = timedelta(minutes=1)
ALLOCATED = HostCondition.ALLOCATED
TOLD = replace(
    CAPABILITIES,
    hosts=HostCapabilities(ownership=Ownership.TAGS, cleaning=Cleaning.COMMAND),
)
CLEAN = call("host.clean", CallState.DONE, BEGIN + MINUTE, shows=Shows.WIPE)


def after(host: Host, resource: Resource, now: datetime, capabilities: Capabilities = TOLD) -> Host:
    """Return the host's record after a cycle that observed it then."""
    (transition,) = decide_hosts(
        replace(hosts_snapshot(host, resource, now=now), capabilities=capabilities)
    )
    return transition.host


def dirty(**fields: object) -> Host:
    return record(condition=HostCondition.DIRTY, goal=HostGoal.CLEAN, **fields)


@pytest.mark.parametrize(
    ("cleaning", "condition", "is_clean"),
    [
        (Cleaning.POWER_CYCLE, Condition.UP, False),
        (Cleaning.POWER_CYCLE, Condition.STOPPING, False),
        (Cleaning.POWER_CYCLE, Condition.UNKNOWN, False),
        (Cleaning.POWER_CYCLE, Condition.OFF, True),
        (Cleaning.COMMAND, Condition.OFF, False),
        (Cleaning.TRUSTED, Condition.UP, True),
    ],
)
def test_a_used_host_is_free_only_by_the_proof_of_its_cleaning(
    cleaning: Cleaning, condition: Condition, *, is_clean: bool
) -> None:
    """Nothing that was seen within the consistency delay of its use is a proof of anything."""
    hosts = HostCapabilities(ownership=Ownership.RECORD, cleaning=cleaning)
    capabilities, used = replace(CAPABILITIES, hosts=hosts), dirty(since=BEGIN)
    delay = capabilities.consistency_delay
    too_soon = after(used, box(condition=condition), BEGIN + delay, capabilities)
    assert too_soon.condition is HostCondition.DIRTY
    seen = after(used, box(condition=condition), BEGIN + 2 * delay, capabilities)
    assert seen.condition is (HostCondition.FREE if is_clean else HostCondition.DIRTY)


def test_it_is_free_once_its_command_ended_well_and_its_claim_is_gone() -> None:
    used = dirty(asked=(CLEAN,), applied="its setup script")
    clean = after(used, box("wiping", cleaned=True), BEGIN + 5 * MINUTE)
    assert clean.cleaning.wiped is not None
    assert clean.bootstrap.applied == ""
    assert (clean.condition, clean.goal) == (HostCondition.DIRTY, HostGoal.CLEAN)
    free = after(clean, box("pool", cleaned=True), BEGIN + 6 * MINUTE)
    assert (free.condition, free.goal) == (HostCondition.FREE, None)


def test_nothing_is_proved_before_calls_of_its_machine_can_have_no_effect_any_more() -> None:
    used = dirty(asked=(CLEAN,))
    early = after(used, box("wiping", cleaned=True), BEGIN + MINUTE)
    assert early.cleaning.wiped is None
    open_ = dirty(asked=(replace(CLEAN, call_state=CallState.OPEN, at=BEGIN + 5 * MINUTE),))
    assert after(open_, box("wiping", cleaned=True), BEGIN + 5 * MINUTE).cleaning.wiped is None


def test_a_cleaning_that_failed_is_one_strike_until_the_next_has_failed_too() -> None:
    """What an observation goes on showing of it says nothing new."""
    failed = box("wiping", Condition.FAILED)
    once = after(dirty(asked=(CLEAN,)), failed, BEGIN + 5 * MINUTE)
    assert (once.health.strikes, once.goal) == (1, HostGoal.CLEAN)
    assert after(once, failed, BEGIN + 6 * MINUTE).health.strikes == 1
    retried = replace(once, asked=(replace(CLEAN, closed=BEGIN + 7 * MINUTE),))
    assert after(retried, failed, BEGIN + 7 * MINUTE).health.strikes == 1
    assert after(retried, failed, BEGIN + 8 * MINUTE).health.strikes == 2


def test_a_box_that_is_in_error_counts_once_for_each_time_it_is_to_be_tried_again() -> None:
    """One observation is looked at in every cycle: it had counted until the box was left alone."""
    hosts = HostCapabilities(ownership=Ownership.RECORD, cleaning=Cleaning.POWER_CYCLE)
    capabilities, broken = replace(CAPABILITIES, hosts=hosts), box(condition=Condition.FAILED)
    host, seen = dirty(since=BEGIN), BEGIN + 5 * MINUTE
    for strikes in (1, 2, 3):
        host = after(host, broken, seen, capabilities)
        assert (host.health.strikes, host.condition) == (strikes, HostCondition.DIRTY)
        assert host.retry_at is not None
        assert host.retry_at > seen
        for _ in range(2):
            snapshot = hosts_snapshot(host, broken, now=host.retry_at + MINUTE, observed=seen)
            (transition,) = decide_hosts(replace(snapshot, capabilities=capabilities))
            assert transition.host.health.strikes == strikes, "nothing was observed since"
        seen = host.retry_at
    assert after(host, broken, seen, capabilities).condition is HostCondition.QUARANTINED


def test_a_free_host_that_nobody_can_ask_stays_free_and_one_with_a_claim_does_not() -> None:
    free = record(condition=HostCondition.FREE, wiped=BEGIN)
    silent = box("", Condition.UNKNOWN)
    assert after(free, silent, BEGIN + MINUTE).condition is HostCondition.FREE
    taken = after(free, box("foreign"), BEGIN + MINUTE)
    assert (taken.condition, taken.goal) == (HostCondition.DIRTY, None)


def test_a_host_that_nobody_can_ask_is_cleaned_after_its_machine_once_it_answers() -> None:
    used = record(condition=HostCondition.ALLOCATED, machine=MINE)
    silent = box("", Condition.UNKNOWN)
    snapshot = replace(
        hosts_snapshot(used, silent, bindings={BOX: MINE}, past=(on_host(Phase.DELETED),)),
        capabilities=TOLD,
    )
    (transition,) = decide_hosts(snapshot)
    assert (transition.host.condition, transition.host.goal) == (
        HostCondition.DIRTY,
        HostGoal.CLEAN,
    )
    assert after(transition.host, box("wiping"), BEGIN + MINUTE).goal is HostGoal.CLEAN


@pytest.mark.parametrize("cleaning", [Cleaning.POWER_CYCLE, Cleaning.COMMAND])
def test_a_host_that_its_machine_left_for_another_one_is_cleaned(cleaning: Cleaning) -> None:
    """A start that is tried again lets go of its host: that one is not as its owner lists it."""
    hosts = HostCapabilities(ownership=Ownership.RECORD, cleaning=cleaning)
    capabilities, used = replace(CAPABILITIES, hosts=hosts), record(condition=ALLOCATED)
    found = after(used, box(), BEGIN + MINUTE, capabilities)
    assert (found.condition, found.goal) == (HostCondition.DIRTY, HostGoal.CLEAN)
    assert after(found, box(), BEGIN + 9 * MINUTE, capabilities).condition is HostCondition.DIRTY


@pytest.mark.parametrize("cleaning", [Cleaning.POWER_CYCLE, Cleaning.COMMAND])
def test_a_host_that_came_back_and_that_no_machine_used_is_as_its_owner_lists_it(
    cleaning: Cleaning,
) -> None:
    hosts = HostCapabilities(ownership=Ownership.RECORD, cleaning=cleaning)
    capabilities = replace(CAPABILITIES, hosts=hosts)
    back = after(record(condition=HostCondition.ABSENT), box(), BEGIN + MINUTE, capabilities)
    assert (back.condition, back.goal) == (HostCondition.DIRTY, None)


@pytest.mark.parametrize("cleaning", [Cleaning.POWER_CYCLE, Cleaning.COMMAND])
@pytest.mark.parametrize(
    ("condition", "goal", "machine", "cleans"),
    [
        (HostCondition.DIRTY, HostGoal.CLEAN, MINE, True),
        (HostCondition.QUARANTINED, HostGoal.CLEAN, MINE, True),
        (HostCondition.FREE, None, MINE, False),
        (HostCondition.DIRTY, None, None, False),
    ],
)
def test_a_host_that_left_before_it_was_cleaned_is_cleaned_when_it_is_back(
    condition: HostCondition,
    goal: HostGoal | None,
    machine: MachineId | None,
    cleaning: Cleaning,
    *,
    cleans: bool,
) -> None:
    """It left its file, or its object was deleted: a machine got what another had left there."""
    hosts = HostCapabilities(ownership=Ownership.RECORD, cleaning=cleaning)
    capabilities = replace(CAPABILITIES, hosts=hosts)
    stood = record(condition=condition, goal=goal, machine=machine, cleaned=BEGIN, missing=BEGIN)
    snapshot = hosts_snapshot(stood, None, now=BEGIN + 9 * MINUTE)
    (absent,) = decide_hosts(replace(snapshot, capabilities=capabilities))
    assert absent.host.condition is HostCondition.ABSENT
    back = after(absent.host, box(), BEGIN + 10 * MINUTE, capabilities)
    assert (back.condition, back.goal) == (
        HostCondition.DIRTY,
        HostGoal.CLEAN if cleans else None,
    )


def test_a_host_that_somebody_else_took_from_its_machine_is_not_cleaned_by_us() -> None:
    taken = after(record(condition=ALLOCATED), box("foreign"), BEGIN + MINUTE)
    assert (taken.condition, taken.goal) == (HostCondition.DIRTY, None)


@pytest.mark.parametrize("condition", [HostCondition.FREE, HostCondition.DIRTY])
def test_a_host_is_unproved_from_its_binding_on_though_no_record_was_saved_with_it(
    condition: HostCondition,
) -> None:
    """A process ended between the two: the record is still that of a host that nobody has."""
    host = proved(condition)
    machine = on_host(offer=replace(OFFER, image="macos-15"))
    (transition,) = decide_hosts(
        hosts_snapshot(host, box("claimed"), bindings={BOX: MINE}, living=(machine,))
    )
    held = transition.host
    assert (held.condition, held.goal) == (HostCondition.ALLOCATED, None)
    assert (held.machine, held.fleet) == (MINE, machine.fleet)
    assert held.cleaning == HostCleaning(image="macos-15", cleaned=BEGIN)


@pytest.mark.parametrize("condition", [HostCondition.FREE, HostCondition.ALLOCATED])
def test_a_host_that_a_machine_leaves_is_not_clean_by_what_proved_it_before(
    condition: HostCondition,
) -> None:
    """Also where no cycle of the hosts saw the machine alive."""
    machine = on_host(Phase.DELETED)
    snapshot = hosts_snapshot(
        proved(condition), box("wiping"), bindings={BOX: MINE}, past=(machine,)
    )
    (transition,) = decide_hosts(snapshot)
    assert (transition.unbind, transition.host.condition) == (MINE, HostCondition.DIRTY)
    assert transition.host.cleaning.wiped is None
    recorded = HostCapabilities(ownership=Ownership.RECORD, cleaning=Cleaning.COMMAND)
    capabilities = replace(CAPABILITIES, hosts=recorded)
    later = after(transition.host, box(), BEGIN + 10 * MINUTE, capabilities)
    assert (later.condition, later.goal) == (HostCondition.DIRTY, HostGoal.CLEAN)


def proved(condition: HostCondition) -> Host:
    """Return a host that was proved clean, and that nothing is recorded of since."""
    goal = HostGoal.CLEAN if condition is HostCondition.DIRTY else None
    host = record(condition=condition, goal=goal)
    return host.with_cleaning(image="macos-14", wiped=BEGIN, wiping=BEGIN, cleaned=BEGIN)
