"""Which hosts under our names no record explains, and of which class each is."""

from dataclasses import replace
from datetime import timedelta

import pytest

from hostler.domain.hosts.orphans import ACTIONABLE, CLASS, WHY_NOT, copied, set_aside, strays
from hostler.domain.ids import InstallationId
from hostler.domain.model.host import Host, HostCondition, HostGoal
from hostler.domain.model.machine import LEFT, Fate, Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, Part
from hostler.domain.model.snapshot import SuspectClass
from hostler.testing.scenes.builders import ABROAD, BEGIN, HOME, WEB
from hostler.testing.scenes.hosts import BOX, HIS, MINE, box, call, on_host, record, view


def told(
    part: Part, host: Host | None = None, past: Machine | None = None, living: Machine | None = None
) -> str | None:
    """Return the class that the host is told of, or None where something explains it."""
    found = strays(
        view((part,)),
        "host",
        {BOX: host} if host else {},
        {},
        {living.id: living} if living else {},
        {past.id: past} if past else {},
    )
    classes = [stray.note(CLASS) for stray in found]
    return classes[0] if classes else None


PENDING = box("pending", holder=MINE)


@pytest.mark.parametrize(
    ("stage", "cls"),
    [
        ("pending", SuspectClass.PENDING_STALE),
        ("claimed", SuspectClass.STRAY),
        ("resting", SuspectClass.STRAY),
        ("rested", SuspectClass.STRAY),
        ("releasing", SuspectClass.RELEASING_STUCK),
        ("wiping", SuspectClass.RELEASING_STUCK),
        ("parked", SuspectClass.STRAY),
        ("quarantined", SuspectClass.STRAY),
        ("retiring", SuspectClass.STRAY),
        ("pool", None),
        ("foreign", None),
        ("other", None),
        ("unnamed", None),
        ("ordered", None),
    ],
)
def test_a_host_without_a_record_is_told_by_its_stage(stage: str, cls: str | None) -> None:
    """One that was ordered gets its record from its name; the pool and others' are not ours."""
    assert told(box(stage, holder=HIS)) == cls
    assert cls is None or cls in ACTIONABLE


def test_a_host_that_was_given_the_name_of_an_order_is_told_and_never_taken_back() -> None:
    part = replace(box("ordered", holder=MINE), created=BEGIN - timedelta(days=7))
    (found,) = copied(view((part,)), "host", {}, {MINE: BEGIN})
    assert found.note(CLASS) == SuspectClass.DUPLICATE_NAME
    assert found.mark is not None
    assert found.mark.machine == MINE
    assert SuspectClass.DUPLICATE_NAME not in ACTIONABLE
    assert not list(copied(view((replace(part, created=BEGIN),)), "host", {}, {MINE: BEGIN}))


def test_what_the_provider_ends_or_locked_is_not_to_be_taken_back() -> None:
    assert told(box("claimed", scheduled="yes", holder=HIS)) == SuspectClass.SCHEDULED
    for condition in (Condition.LOCKED, Condition.FAILED):
        assert told(box("claimed", condition, holder=HIS)) == SuspectClass.LOCKED
    assert not ACTIONABLE & {SuspectClass.SCHEDULED, SuspectClass.LOCKED, SuspectClass.DOUBLE}


@pytest.mark.parametrize("condition", [HostCondition.WIPING, HostCondition.RETIRING])
def test_a_records_own_work_explains_a_host_under_the_name_that_it_knows(
    condition: HostCondition,
) -> None:
    part = box("wiping", holder=HIS)
    host = record(condition=condition, name=part.name)
    assert told(part, host) is None
    assert told(replace(part, name="another"), host) is not None
    assert told(part, replace(host, condition=HostCondition.DIRTY)) is not None


def test_a_goal_explains_a_host_whatever_it_is_called() -> None:
    host = record(condition=HostCondition.DIRTY, goal=HostGoal.WIPED, name="another")
    assert told(box("claimed", holder=HIS), host) is None


@pytest.mark.parametrize(
    "machine",
    [
        on_host(Phase.GONE, asked=(call("mark", Fate.LAPSED, aim="pending"),)),
        on_host(Phase.GONE, asked=(call("mark", Fate.REFUSED, aim="pending"),)),
        on_host(Phase.GONE).with_fact(f"{LEFT} {BOX}", BEGIN),
    ],
    ids=["given up", "refused", "let go of"],
)
def test_a_claim_that_came_too_late_is_a_double(machine: Machine) -> None:
    """Also where the machine has another host by now, or is in the history."""
    assert told(PENDING, past=machine) == SuspectClass.DOUBLE
    living = replace(machine, phase=Phase.STARTING)
    assert told(PENDING, living=living) == SuspectClass.DOUBLE
    assert told(box("claimed", holder=MINE), past=machine) == SuspectClass.STRAY


def test_a_double_stays_one_when_nothing_but_the_hosts_record_knows_it() -> None:
    late = record(late=MINE)
    assert told(PENDING, late) == SuspectClass.DOUBLE
    assert told(box("pending", holder=HIS), late) == SuspectClass.PENDING_STALE


def test_a_claim_that_was_believed_is_no_double() -> None:
    done = on_host(Phase.GONE, asked=(call("mark", Fate.DONE, aim="pending"),))
    assert told(PENDING, past=done) == SuspectClass.PENDING_STALE


APART = record(
    condition=HostCondition.QUARANTINED,
    goal=HostGoal.WIPED,
    quarantined_until=BEGIN + timedelta(days=1),
    fleet=WEB,
)


@pytest.mark.parametrize(
    ("host", "hours", "aside"),
    [
        (APART, 1, True),
        (APART, 25, False),
        (record(condition=HostCondition.DIRTY, goal=HostGoal.WIPED, fleet=WEB), 2, False),
        (record(condition=HostCondition.DIRTY, goal=HostGoal.WIPED, fleet=WEB), 3, True),
        (record(condition=HostCondition.WIPING, goal=HostGoal.WIPED, fleet=WEB), 3, True),
        (record(condition=HostCondition.DIRTY, fleet=WEB), 3, False),
        (record(condition=HostCondition.RETIRING, goal=HostGoal.RETIRED, fleet=WEB), 99, False),
    ],
)
def test_a_host_that_no_machine_can_have_for_now_is_told(
    host: Host, hours: int, *, aside: bool
) -> None:
    """It is ours and explained, and nothing is done about it but its own work."""
    parts = view((box("quarantined", holder=MINE),))
    now = BEGIN + timedelta(hours=hours)
    found = tuple(set_aside(parts, {BOX: host}, {}, now, BEGIN))
    assert [part.note(CLASS) for part in found] == ["set-aside"] * aside
    assert [part.mark.fleet for part in found if part.mark] == [WEB] * aside
    assert not tuple(set_aside(parts, {BOX: host}, {BOX: MINE}, now, BEGIN)), "a machine has it"
    assert SuspectClass.SET_ASIDE not in ACTIONABLE
    assert "`hostler explain`" in WHY_NOT[SuspectClass.SET_ASIDE]


@pytest.mark.parametrize(
    ("named", "ours", "cls"),
    [
        ("claimed", (HOME, ABROAD), SuspectClass.DOUBLE),
        ("rested", (HOME, ABROAD), SuspectClass.DOUBLE),
        ("claimed", (HOME,), None),
        ("wiping", (HOME, ABROAD), None),
    ],
)
def test_a_second_host_under_the_name_of_an_adopted_machine_is_told(
    named: str, ours: tuple[InstallationId, ...], cls: SuspectClass | None
) -> None:
    """The machine was taken over with the other one: this one was in no record and no ledger."""
    part = box("foreign", named=named, installation=ABROAD, holder=MINE)
    (found, *_) = [*strays(view((part,)), "host", {}, {}, {}, {}, ours), None]
    assert (found.note(CLASS) if found else None) == cls
    tied = strays(view((part,)), "host", {}, {BOX: MINE}, {MINE: on_host()}, {}, ours)
    assert not list(tied), "its machine has it"


@pytest.mark.parametrize(
    ("fate", "cls"),
    [
        (Fate.DONE, SuspectClass.DOUBLE),
        (Fate.REFUSED, SuspectClass.RELEASING_STUCK),
        (Fate.OPEN, SuspectClass.RELEASING_STUCK),
    ],
)
def test_a_name_of_a_wipe_that_comes_after_the_host_was_put_back_is_told_as_a_double(
    fate: Fate, cls: SuspectClass
) -> None:
    """Another installation may have claimed it from the pool by then, and may use it."""
    back = call("mac.free", fate, aim="pool")
    host = record(condition=HostCondition.DIRTY, asked=(back,))
    assert told(box("wiping", holder=HIS), host) == cls
