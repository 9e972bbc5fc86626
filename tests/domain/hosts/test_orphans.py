"""Which hosts under our names no record explains, and of which class each is."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from hostler.domain.hosts.delivery import came
from hostler.domain.hosts.orphans import ACTIONABLE, WHY_NOT, bereft, copied, orphans, set_aside
from hostler.domain.hosts.outside import outside
from hostler.domain.ids import HostId, InstallationId, MachineId
from hostler.domain.model.host import Host, HostCondition, HostGoal
from hostler.domain.model.machine import LEFT, CallState, Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, OrphanClass, OwnerTag, Resource, Stage
from hostler.testing.scenes.builders import ABROAD, BEGIN, FLEET, HOME, WEB
from hostler.testing.scenes.hosts import (
    BOX,
    HIS,
    MINE,
    account_snapshot,
    box,
    call,
    on_host,
    record,
)


def class_of(
    resource: Resource,
    host: Host | None = None,
    past: Machine | None = None,
    living: Machine | None = None,
) -> str | None:
    """Return the class that the host is told of, or None where something explains it."""
    account = account_snapshot(
        (resource,),
        (host,) if host else (),
        machines={living.id: living} if living else {},
        past={past.id: past} if past else {},
    )
    found = orphans(account)
    classes = [orphan.orphan for orphan in found]
    return classes[0] if classes else None


PENDING = box("pending", holder=MINE)


@pytest.mark.parametrize(
    ("stage", "cls"),
    [
        ("pending", OrphanClass.PENDING_STALE),
        ("claimed", OrphanClass.UNRECORDED),
        ("standby", OrphanClass.UNRECORDED),
        ("rested", OrphanClass.UNRECORDED),
        ("releasing", OrphanClass.RELEASING_STUCK),
        ("wiping", OrphanClass.RELEASING_STUCK),
        ("parked", OrphanClass.UNRECORDED),
        ("quarantined", OrphanClass.UNRECORDED),
        ("retiring", OrphanClass.UNRECORDED),
        ("pool", None),
        ("foreign", None),
        ("other", None),
        ("unnamed", None),
        ("ordered", None),
    ],
)
def test_a_host_without_a_record_is_told_by_its_stage(stage: str, cls: str | None) -> None:
    """One that was ordered gets its record from its name; the pool and others' are not ours."""
    assert class_of(box(stage, holder=HIS)) == cls
    assert cls is None or cls in ACTIONABLE


def test_a_host_that_was_given_the_name_of_an_order_is_told_and_never_taken_back() -> None:
    resource = replace(box("ordered", holder=MINE), created=BEGIN - timedelta(days=7))
    (found,) = copied(account_snapshot((resource,), orders={MINE: BEGIN}))
    assert found.orphan == OrphanClass.DUPLICATE_NAME
    assert found.owner_tag is not None
    assert found.owner_tag.machine == MINE
    assert OrphanClass.DUPLICATE_NAME not in ACTIONABLE
    young = replace(resource, created=BEGIN)
    assert not list(copied(account_snapshot((young,), orders={MINE: BEGIN})))


def test_the_name_of_an_order_that_our_store_never_issued_makes_no_host_ours() -> None:
    """Somebody bought it by hand: neither enrolled nor taken back, and told for what it is."""
    resource = replace(box("ordered", holder=MINE), created=BEGIN)
    ours, newer = (
        account_snapshot((resource,)),
        account_snapshot((resource,), issued=frozenset[MachineId]()),
    )
    assert [one.id for one in came(ours)] == [resource.id]
    assert not list(copied(ours))
    assert not list(came(newer))
    (found,) = copied(newer)
    assert found.orphan is OrphanClass.UNISSUED
    assert OrphanClass.UNISSUED not in ACTIONABLE


def test_what_the_provider_ends_or_locked_is_not_to_be_taken_back() -> None:
    assert class_of(box("claimed", scheduled=True, holder=HIS)) == OrphanClass.SCHEDULED
    for condition in (Condition.LOCKED, Condition.FAILED):
        assert class_of(box("claimed", condition, holder=HIS)) == OrphanClass.LOCKED
    assert not ACTIONABLE & {OrphanClass.SCHEDULED, OrphanClass.LOCKED, OrphanClass.DOUBLE}


@pytest.mark.parametrize("condition", [HostCondition.WIPING, HostCondition.RETIRING])
def test_a_records_own_work_explains_a_host_under_the_name_that_it_knows(
    condition: HostCondition,
) -> None:
    resource = box("wiping", holder=HIS)
    host = record(condition=condition, name=resource.name)
    assert class_of(resource, host) is None
    assert class_of(replace(resource, name="another"), host) is not None
    assert class_of(resource, replace(host, condition=HostCondition.DIRTY)) is not None


def test_a_goal_explains_a_host_whatever_it_is_called() -> None:
    host = record(condition=HostCondition.DIRTY, goal=HostGoal.CLEAN, name="another")
    assert class_of(box("claimed", holder=HIS), host) is None


@pytest.mark.parametrize(
    "machine",
    [
        on_host(Phase.DELETED, asked=(call("mark", CallState.LAPSED, aim=Stage.PENDING),)),
        on_host(Phase.DELETED, asked=(call("mark", CallState.REFUSED, aim=Stage.PENDING),)),
        on_host(Phase.DELETED).with_fact(f"{LEFT} {BOX}", BEGIN),
    ],
    ids=["given up", "refused", "let go of"],
)
def test_a_claim_that_came_too_late_is_a_double(machine: Machine) -> None:
    """Also where the machine has another host by now, or is in the history."""
    assert class_of(PENDING, past=machine) == OrphanClass.DOUBLE
    living = replace(machine, phase=Phase.STARTING)
    assert class_of(PENDING, living=living) == OrphanClass.DOUBLE
    assert class_of(box("claimed", holder=MINE), past=machine) == OrphanClass.UNRECORDED


def test_a_host_that_bears_the_name_of_a_machine_which_had_another_one_is_told_as_a_copy() -> None:
    """A person copied it from the history: it was wiped and pooled under `reclaim = true`."""
    elsewhere = on_host(Phase.DELETED, host=HostId("another"))
    for stage in ("claimed", "pending", "releasing", "wiping", "parked", "retiring"):
        resource = box(stage, holder=MINE)
        assert class_of(resource, past=elsewhere) == OrphanClass.DUPLICATE_NAME
        for own in (on_host(Phase.DELETED), on_host(Phase.DELETED, host=None)):
            assert class_of(resource, past=own) in ACTIONABLE


def test_a_double_stays_one_when_nothing_but_the_hosts_record_knows_it() -> None:
    late = record(late=MINE)
    assert class_of(PENDING, late) == OrphanClass.DOUBLE
    assert class_of(box("pending", holder=HIS), late) == OrphanClass.PENDING_STALE


def test_a_claim_that_was_believed_is_no_double() -> None:
    done = on_host(Phase.DELETED, asked=(call("mark", CallState.DONE, aim=Stage.PENDING),))
    assert class_of(PENDING, past=done) == OrphanClass.PENDING_STALE


APART = record(
    condition=HostCondition.QUARANTINED,
    goal=HostGoal.CLEAN,
    quarantined_until=BEGIN + timedelta(days=1),
    fleet=WEB,
)


ENDING = record(condition=HostCondition.RETIRING, goal=HostGoal.RETIRED, fleet=WEB)
POOLED = record(condition=HostCondition.DIRTY, goal=HostGoal.POOLED, fleet=WEB)


@pytest.mark.parametrize(
    ("host", "hours", "aside"),
    [
        (APART, 1, True),
        (APART, 25, False),
        (record(condition=HostCondition.DIRTY, goal=HostGoal.CLEAN, fleet=WEB), 2, False),
        (record(condition=HostCondition.DIRTY, goal=HostGoal.CLEAN, fleet=WEB), 3, True),
        (record(condition=HostCondition.WIPING, goal=HostGoal.CLEAN, fleet=WEB), 3, True),
        (record(condition=HostCondition.DIRTY, fleet=WEB), 3, False),
        (ENDING, 2, False),
        (ENDING, 3, True),
        (ENDING.with_purchase(paid_until=BEGIN + timedelta(hours=24)), 26, False),
        (ENDING.with_purchase(paid_until=BEGIN + timedelta(hours=24)), 27, True),
        (ENDING.with_health(quarantined_until=BEGIN + timedelta(days=1)), 1, False),
        (POOLED, 2, False),
        (POOLED, 3, True),
        (replace(POOLED, goal=HostGoal.ON), 99, False),
    ],
)
def test_a_host_that_no_machine_can_have_for_now_is_told(
    host: Host, hours: int, *, aside: bool
) -> None:
    """It is ours and explained, and nothing is done about it but its own work."""
    now = BEGIN + timedelta(hours=hours)
    account = account_snapshot((box("quarantined", holder=MINE),), (host,), now=now)
    found = tuple(set_aside(account))
    assert [resource.orphan for resource in found] == ["set-aside"] * aside
    assert [resource.owner_tag.fleet for resource in found if resource.owner_tag] == [WEB] * aside
    assert not tuple(set_aside(replace(account, bindings={BOX: MINE}))), "a machine has it"
    assert OrphanClass.SET_ASIDE not in ACTIONABLE
    assert "`hostler explain`" in WHY_NOT[OrphanClass.SET_ASIDE]


@pytest.mark.parametrize(
    ("stage", "facts", "cls"),
    [
        ("other", {}, OrphanClass.OUTSIDE),
        ("foreign", {}, OrphanClass.FOREIGN),
        ("other", {"scheduled": True}, OrphanClass.SET_ASIDE),
        ("retiring", {}, OrphanClass.SET_ASIDE),
        ("pool", {}, OrphanClass.SET_ASIDE),
    ],
)
def test_a_host_whose_end_is_overdue_is_told_once(
    stage: str, facts: dict[str, Any], cls: OrphanClass
) -> None:
    """A provider that refuses to delete it said so to nobody; a new name says why it stays."""
    now = BEGIN + timedelta(days=9)
    account = account_snapshot((box(stage, **facts),), (ENDING,), now=now, fleets=(FLEET,))
    found = (*set_aside(account), *outside(account))
    assert [resource.orphan for resource in found] == [cls]


HELD = record(condition=HostCondition.ALLOCATED, machine=MINE)


@pytest.mark.parametrize(
    ("stage", "host", "facts", "cls"),
    [
        ("pool", HELD, {"issued": {MINE}}, OrphanClass.UNRECORDED),
        ("pool", HELD, {}, OrphanClass.UNISSUED),
        ("unnamed", HELD, {"issued": {MINE}}, OrphanClass.UNRECORDED),
        ("claimed", HELD, {"issued": {MINE}}, None),  # its name tells of it
        ("pool", HELD, {"machines": {MINE: on_host()}}, None),
        ("pool", HELD, {"past": {MINE: on_host(Phase.DELETED)}}, None),
        ("pool", replace(HELD, goal=HostGoal.CLEAN), {"issued": {MINE}}, None),
    ],
)
def test_a_host_that_is_bound_to_a_machine_which_no_record_knows_is_told_whatever_it_is_called(
    stage: str, host: Host, facts: dict[str, Any], cls: OrphanClass | None
) -> None:
    """A box says nothing by its name: one whose machine's record was removed was lost for good."""
    held = replace(host, fleet=WEB)
    account = account_snapshot((box(stage),), (held,), bindings={BOX: MINE}, **facts)
    found = [*bereft(account)]
    assert [resource.orphan for resource in found] == ([cls] if cls else [])
    for resource in found:
        assert resource.owner_tag == OwnerTag(installation=HOME, fleet=WEB, machine=MINE, attempt=0)


@pytest.mark.parametrize(
    ("named", "ours", "cls"),
    [
        ("claimed", (HOME, ABROAD), OrphanClass.DOUBLE),
        ("rested", (HOME, ABROAD), OrphanClass.DOUBLE),
        ("claimed", (HOME,), None),
        ("wiping", (HOME, ABROAD), None),
    ],
)
def test_a_second_host_under_the_name_of_an_adopted_machine_is_told(
    named: str, ours: tuple[InstallationId, ...], cls: OrphanClass | None
) -> None:
    """The machine was taken over with the other one: this one was in no record and no ledger."""
    resource = box("foreign", tagged=Stage(named), installation=ABROAD, holder=MINE)
    (found, *_) = [*orphans(account_snapshot((resource,), ours=ours)), None]
    assert (found.orphan if found else None) == cls
    tied = account_snapshot(
        (resource,), bindings={BOX: MINE}, machines={MINE: on_host()}, ours=ours
    )
    assert not list(orphans(tied)), "its machine has it"


@pytest.mark.parametrize(
    ("call_state", "cls"),
    [
        (CallState.DONE, OrphanClass.DOUBLE),
        (CallState.REFUSED, OrphanClass.RELEASING_STUCK),
        (CallState.OPEN, OrphanClass.RELEASING_STUCK),
    ],
)
def test_a_name_of_a_wipe_that_comes_after_the_host_was_put_back_is_told_as_a_double(
    call_state: CallState, cls: OrphanClass
) -> None:
    """Another installation may have claimed it from the pool by then, and may use it."""
    back = call("mac.free", call_state, aim=Stage.POOL)
    host = record(condition=HostCondition.DIRTY, asked=(back,))
    assert class_of(box("wiping", holder=HIS), host) == cls
