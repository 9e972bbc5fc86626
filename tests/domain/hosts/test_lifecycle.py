"""What becomes of a host that no machine holds: wiped, put back, given up, left alone, or gone."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.ids import Epoch, FleetName, HostId
from hostler.domain.model.hold import Hold, HoldKind
from hostler.domain.model.host import Host, HostCondition, HostGoal, HostOrigin, ReleasePolicy
from hostler.domain.model.machine import RETIRE, Asked, CallState, Machine
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.resource import Condition, Resource, Stage
from hostler.domain.model.snapshot import AccountSnapshot, HostTransition
from hostler.domain.observation.ready import is_paused
from hostler.testing.scenes.builders import BEGIN, FLEET
from hostler.testing.scenes.fields import with_fields
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
WIPE = "mac.reinstall"


def decided(snapshot: AccountSnapshot) -> HostTransition:
    """Return what becomes of the one host."""
    (transition,) = decide_hosts(snapshot)
    return transition


def left_by(machine: Machine, resource: Resource | None = None, **fields: object) -> HostTransition:
    """Return what becomes of a host whose tie leads to a machine in the history."""
    host = record(condition=HostCondition.ALLOCATED, machine=MINE, **fields)
    return decided(
        hosts_snapshot(host, resource or box("wiping"), bindings={BOX: MINE}, past=(machine,))
    )


def deleted(**fields: object) -> Machine:
    return with_fields(on_host(Phase.DELETED, reason=str(Reason.ALL_ABSENT)), **fields)


def test_a_host_is_held_as_long_as_its_binding_leads_to_a_living_machine() -> None:
    """Whatever its name says: the tie is the truth."""
    host = record(condition=HostCondition.WIPING, goal=HostGoal.CLEAN)
    for stage in ("claimed", "pool", "other", "foreign", "wiping"):
        snapshot = hosts_snapshot(host, box(stage), bindings={BOX: MINE}, living=(on_host(),))
        transition = decided(snapshot)
        assert (transition.host.condition, transition.goal, transition.unbind) == (
            HostCondition.ALLOCATED,
            None,
            None,
        )


def unrecorded(machine: Machine) -> AccountSnapshot:
    """Return what is seen of a host that is bound to this machine, and has no record."""
    bound = {BOX: MINE}
    snapshot = hosts_snapshot(record(), box("claimed"), bindings=bound, living=(machine,))
    return replace(snapshot, hosts={}, fleets=(FLEET,))


def test_a_bound_host_without_a_record_gets_one_by_its_machine() -> None:
    """Its record could not be saved with its binding: whoever sees the binding makes up for it."""
    machine = on_host(Phase.READY)
    snapshot = unrecorded(machine)
    transition = decided(snapshot)
    assert (transition.host.id, transition.host.condition) == (BOX, HostCondition.ALLOCATED)
    assert (transition.host.machine, transition.host.fleet) == (MINE, machine.fleet)
    assert (transition.goal, transition.unbind) == (None, None)


def test_a_host_that_is_only_bound_so_far_is_recorded_by_who_takes_it() -> None:
    machine = with_fields(on_host(Phase.STARTING), host=None)
    snapshot = unrecorded(machine)
    assert decide_hosts(snapshot) == ()


def test_a_binding_that_leads_nowhere_is_stranded_and_changes_nothing() -> None:
    transition = decided(hosts_snapshot(record(), box("claimed"), bindings={BOX: MINE}))
    assert transition.stranded
    assert (transition.goal, transition.unbind) == (None, None)


@pytest.mark.parametrize("goal", HostGoal)
def test_a_binding_that_leads_nowhere_is_loosened_once_it_is_decided_what_becomes_of_the_host(
    goal: HostGoal,
) -> None:
    transition = decided(hosts_snapshot(record(goal=goal), box("claimed"), bindings={BOX: MINE}))
    assert (transition.goal, transition.unbind) == (None, MINE)
    assert transition.host.goal is goal


@pytest.mark.parametrize("phase", [Phase.STOPPING, Phase.READY])
def test_a_binding_is_unbound_only_when_its_machine_is_gone(phase: Phase) -> None:
    assert left_by(on_host(phase)).unbind is None


def test_a_wipe_that_the_machine_saw_begin_is_followed_on_the_host() -> None:
    wipe = call(WIPE, CallState.DONE, BEGIN)
    transition = left_by(deleted(asked=(wipe,)))
    assert (transition.host.condition, transition.host.goal) == (
        HostCondition.WIPING,
        HostGoal.CLEAN,
    )
    assert (transition.host.cleaning.wiping, transition.unbind) == (BEGIN, MINE)
    assert transition.host.cleaning.wiped is None


@pytest.mark.parametrize("call_state", [CallState.OPEN, CallState.LAPSED, CallState.REFUSED])
def test_a_wipe_that_nobody_saw_is_asked_for_again(call_state: CallState) -> None:
    transition = left_by(deleted(asked=(call(WIPE, call_state),)))
    assert (transition.host.condition, transition.host.goal) == (
        HostCondition.DIRTY,
        HostGoal.CLEAN,
    )
    assert transition.host.cleaning.wiping is None


@pytest.mark.parametrize("aim", [Stage.CLAIMED, Stage.STANDBY])
def test_a_wipe_of_before_the_use_says_nothing_of_what_the_machine_left(aim: Stage) -> None:
    used = call(f"mac.rename.{aim}", CallState.DONE, LATER, aim=aim)
    transition = left_by(deleted(asked=(call(WIPE, CallState.DONE, BEGIN), used)))
    assert transition.host.condition is HostCondition.DIRTY


@pytest.mark.parametrize("stage", ["pool", "other", "foreign", "unnamed"])
def test_a_host_that_bears_no_name_of_ours_is_left_as_it_is(stage: str) -> None:
    transition = left_by(deleted(), box(stage))
    assert (transition.host.condition, transition.goal, transition.unbind) == (
        HostCondition.DIRTY,
        None,
        MINE,
    )


def test_a_skipped_release_leaves_the_host_for_the_orphan_report() -> None:
    skipped = replace(deleted(), reason=str(Reason.RELEASE_SKIPPED))
    transition = left_by(skipped, box("claimed"), pool="")
    assert (transition.host.condition, transition.host.goal) == (HostCondition.DIRTY, None)
    assert transition.host.reason == Reason.RELEASE_SKIPPED


def test_a_host_that_is_given_up_is_retired() -> None:
    """What its machine called it is the host's from then on: a person may put it back later."""
    named = call("mac.mark-retiring", CallState.DONE, aim=Stage.RETIRING)
    lost = call("mac.rename.retiring", CallState.REFUSED, aim=Stage.RETIRING)
    claimed = call("mac.mark-claimed", CallState.DONE, aim=Stage.CLAIMED)
    machine = deleted(asked=(claimed, named, lost)).with_fact(RETIRE, BEGIN)
    host = left_by(machine, box("retiring")).host
    assert (host.condition, host.goal) == (HostCondition.RETIRING, HostGoal.RETIRED)
    assert host.asked == (named,)
    assert decided(hosts_snapshot(host, box(), now=LATER)).host.goal is None


@pytest.mark.parametrize(
    ("kind", "policy", "goes"),
    [
        (HoldKind.RESERVED, None, False),
        (HoldKind.MAINTENANCE, None, False),
        (HoldKind.RESERVED, ReleasePolicy.TERMINATE, True),
        (HoldKind.ON, None, True),
    ],
)
def test_an_ordered_host_that_somebody_reserved_stays_until_that_ends(
    kind: HoldKind, policy: ReleasePolicy | None, *, goes: bool
) -> None:
    """A person who asked for its end has it all the same."""
    hold = Hold(kind=kind, until=BEGIN + timedelta(hours=1), actor="ann")
    host = record(
        condition=HostCondition.RETIRING,
        goal=HostGoal.RETIRED,
        origin=HostOrigin.ORDERED,
        policy=policy,
        machine=MINE,
        hold=hold,
    )
    found = decided(hosts_snapshot(host, box("retiring")))
    assert found.goal is (HostGoal.RETIRED if goes else None)
    assert found.blocker == ("" if goes else f"it is {hold}")
    later = hosts_snapshot(host, box("retiring"), now=hold.until)
    assert decided(later).goal is HostGoal.RETIRED


def test_a_machine_that_was_ready_clears_the_strikes_of_its_host() -> None:
    assert left_by(deleted(), strikes=2).host.health.strikes == 0
    assert left_by(deleted(was_ready=None), strikes=1).host.health.strikes == 1, (
        "that alone is no fault"
    )


WIPING = record(condition=HostCondition.WIPING, goal=HostGoal.CLEAN, wiping=BEGIN)


@pytest.mark.parametrize(
    ("resource", "observed", "wiped"),
    [
        (box("wiping", Condition.WIPING), LATER, False),
        (box("wiping", Condition.BUSY), LATER, False),
        (box("wiping", Condition.LOCKED), LATER, False),
        (box("wiping", Condition.UNKNOWN), LATER, False),
        (box("wiping"), BEGIN, False),
        (box("wiping"), BEGIN + SECOND, True),
    ],
)
def test_a_wipe_is_over_when_an_observation_of_after_its_begin_shows_the_host_up(
    resource: Resource, observed: datetime, wiped: bool
) -> None:
    transition = decided(hosts_snapshot(WIPING, resource, now=LATER, observed=observed))
    assert (transition.host.cleaning.wiped is not None) is wiped
    assert transition.goal is HostGoal.CLEAN, "it is put back only then"


@pytest.mark.parametrize("stage", ["pool", "parked"])
def test_a_wiped_host_is_free_once_it_bears_a_name_that_may_be_claimed(stage: str) -> None:
    """In the pool under the very name that it was put back under: by another, a person did it."""
    put = replace(call("mac.free", CallState.DONE, aim=Stage.POOL), name=box(stage).name)
    wiped = WIPING.with_cleaning(wiped=LATER).with_asked(put)
    transition = decided(hosts_snapshot(wiped, box(stage), now=LATER))
    assert (transition.host.condition, transition.goal) == (HostCondition.FREE, None)
    renamed = replace(box(stage), name="pool-by-hand")
    if stage == Stage.POOL:
        host = decided(hosts_snapshot(wiped, renamed, now=LATER)).host
        assert (host.condition, host.cleaning.wiped, host.goal) == (HostCondition.DIRTY, None, None)
    early = decided(hosts_snapshot(WIPING, box(stage, Condition.WIPING), now=LATER))
    assert early.host.condition is HostCondition.WIPING, "named so in mid-wipe, it is not"


def test_a_wipe_whose_end_nobody_saw_before_the_host_was_in_the_pool_proves_nothing() -> None:
    """Somebody put it there: it may have been claimed and used since."""
    transition = decided(hosts_snapshot(WIPING, box("pool"), now=LATER))
    assert (transition.host.condition, transition.goal) == (HostCondition.DIRTY, None)
    assert (transition.host.cleaning.wiping, transition.host.cleaning.wiped) == (None, None)


@pytest.mark.parametrize("stage", ["pending", "claimed", "standby", "rested"])
def test_a_host_that_bears_a_tenants_name_again_is_wiped_once_more(stage: str) -> None:
    """Between two looks another installation claimed and used it, and a person renamed it."""
    host = WIPING.with_asked(call(WIPE, CallState.DONE))
    transition = decided(hosts_snapshot(host, box(stage), now=LATER))
    assert (transition.host.condition, transition.goal) == (HostCondition.DIRTY, HostGoal.CLEAN)
    assert (
        transition.host.cleaning.wiping,
        transition.host.cleaning.wiped,
        transition.host.asked,
    ) == (
        None,
        None,
        (),
    )


def test_a_wipe_that_ends_in_error_is_a_strike_and_is_asked_for_again() -> None:
    host = WIPING.with_asked(call(WIPE, CallState.DONE))
    transition = decided(hosts_snapshot(host, box("wiping", Condition.FAILED), now=LATER))
    assert (transition.host.condition, transition.goal) == (HostCondition.DIRTY, HostGoal.CLEAN)
    assert (
        transition.host.health.strikes,
        transition.host.cleaning.wiping,
        transition.host.asked,
    ) == (1, None, ())


def test_wipes_that_fail_are_tried_again_ever_later_and_then_the_host_is_left_alone() -> None:
    """Each failure is a strike that stays: after a quarantine one more is enough, for longer."""
    waits, alone = list[timedelta](), list[timedelta]()
    host = WIPING
    for _ in range(5):
        host = decided(hosts_snapshot(host, box("wiping", Condition.FAILED), now=LATER)).host
        waits.append((host.retry_at or LATER) - LATER)
        alone.append((host.health.quarantined_until or LATER) - LATER)
        over = host.with_health(quarantined_until=None)
        host = replace(
            over.with_cleaning(wiping=BEGIN), condition=HostCondition.WIPING, retry_at=None
        )
    assert waits == [30 * SECOND, 120 * SECOND, 300 * SECOND, timedelta(0), timedelta(0)]
    assert alone == [*[timedelta(0)] * 3, timedelta(days=1), timedelta(days=2)]
    host = decided(hosts_snapshot(WIPING.with_health(strikes=3), FAILED, now=LATER)).host
    assert (host.condition, host.goal) == (HostCondition.QUARANTINED, HostGoal.CLEAN)
    assert host.reason == "its wipe ended in error: strike 4"
    transition = decided(hosts_snapshot(host, FAILED, now=LATER + SECOND))
    assert transition.host.condition is HostCondition.QUARANTINED


FAILED = box("wiping", Condition.FAILED)


@pytest.mark.parametrize(
    ("resource", "goal"),
    [
        (box("other"), HostGoal.POOLED),
        (box("quarantined", holder=MINE), HostGoal.POOLED),
        (box("pool"), None),
        (box("foreign", holder=HIS), None),
        (box("claimed", holder=HIS), None),
    ],
)
def test_a_host_that_was_asked_into_its_pool_and_is_anothers_since_is_left_to_it(
    resource: Resource, goal: HostGoal | None
) -> None:
    """The request would be refused by now: a name may be newer, and it can only protect."""
    host = record(goal=HostGoal.POOLED)
    bindings, living = {HostId("host-2"): HIS}, (on_host(machine=HIS),)
    transition = decided(hosts_snapshot(host, resource, bindings=bindings, living=living))
    assert (transition.host.condition, transition.goal) == (HostCondition.DIRTY, goal)
    is_taken = resource.host.holder == HIS
    assert transition.host.reason.startswith("not put into the pool: ") is is_taken


@pytest.mark.parametrize(
    ("call_state", "hours", "strikes"),
    [
        (CallState.LAPSED, 3, 1),
        (CallState.LAPSED, 2, 0),
        (CallState.REFUSED, 3, 0),
    ],
)
def test_a_wipe_that_never_begins_counts_against_a_host_whose_wipe_is_overdue(
    call_state: CallState, hours: int, strikes: int
) -> None:
    """What was refused says nothing of the host, and a call may be lost once and twice."""
    host = record(goal=HostGoal.CLEAN, asked=(call(WIPE, call_state),))
    now, well = BEGIN + timedelta(hours=hours), box("wiping")
    transition = decided(hosts_snapshot(host, well, now=now))
    assert (transition.host.health.strikes, transition.host.condition) == (
        strikes,
        HostCondition.DIRTY,
    )
    started = replace(hosts_snapshot(host, well, now=now), took=now - SECOND)
    assert decided(started).host.health.strikes == 0, "nobody could act before"


@pytest.mark.parametrize(("call_state", "strikes"), [(CallState.LAPSED, 1), (CallState.REFUSED, 0)])
def test_a_host_that_is_in_error_after_a_wipe_that_nobody_saw_has_failed_it(
    call_state: CallState, strikes: int
) -> None:
    """It begins and fails between two observations: such a host was wiped for hours on end."""
    host = record(goal=HostGoal.CLEAN, asked=(call(WIPE, call_state),))
    struck = decided(hosts_snapshot(host, FAILED, now=LATER)).host
    assert struck.health.strikes == strikes
    assert is_paused(struck, LATER) == (strikes > 0), "the next wipe waits"


def test_the_hosts_own_wipe_counts_when_it_is_seen() -> None:
    host = record(goal=HostGoal.CLEAN, asked=(call(WIPE),))
    snapshot = hosts_snapshot(host, box("wiping", Condition.WIPING), now=LATER)
    transition = decided(snapshot)
    assert (transition.host.condition, transition.host.cleaning.wiping) == (
        HostCondition.WIPING,
        LATER,
    )


def test_an_open_call_of_a_host_is_closed_by_what_an_observation_shows() -> None:
    owner_tag = call("mac.rename.wiping", aim=Stage.WIPING)
    host = record(goal=HostGoal.CLEAN, asked=(owner_tag,))
    done = decided(hosts_snapshot(host, box("wiping"), now=BEGIN + SECOND))
    assert done.host.asked[0].call_state is CallState.DONE
    early = decided(hosts_snapshot(host, box("releasing"), now=BEGIN + SECOND))
    assert early.host.asked[0].call_state is CallState.OPEN
    late = decided(hosts_snapshot(host, box("releasing"), now=BEGIN + CONSISTENCY_DELAY))
    assert late.host.asked[0].call_state is CallState.LAPSED


FREE = record(condition=HostCondition.FREE, wiped=BEGIN, name=box().name)


@pytest.mark.parametrize(
    ("stage", "proved"),
    [
        ("pool", True),
        ("parked", True),
        ("ordered", True),
        ("other", False),
        ("foreign", False),
        ("unnamed", False),
        ("claimed", False),
    ],
)
def test_a_free_host_that_bears_another_name_was_used_by_somebody(stage: str, proved: bool) -> None:
    host = FREE.with_ownership(name=box(stage).name)
    transition = decided(hosts_snapshot(host, box(stage), now=LATER))
    assert (transition.host.cleaning.wiped is not None) is proved
    assert (transition.host.condition is HostCondition.FREE) is proved
    assert transition.goal is None


@pytest.mark.parametrize("stage", ["ordered", "parked"])
def test_a_free_host_that_we_pay_for_and_that_is_in_error_is_wiped(stage: str) -> None:
    """That mends it, and costs less than another one; in the pool it is nobody's to mend."""
    failed = box(stage, Condition.FAILED)
    transition = decided(hosts_snapshot(FREE.with_ownership(name=failed.name), failed, now=LATER))
    assert (transition.host.condition, transition.goal) == (HostCondition.DIRTY, HostGoal.CLEAN)
    assert transition.host.cleaning.wiped is None
    pooled = box("pool", Condition.FAILED)
    transition = decided(hosts_snapshot(FREE.with_ownership(name=pooled.name), pooled, now=LATER))
    assert (transition.host.condition, transition.goal) == (HostCondition.FREE, None)


@pytest.mark.parametrize("stage", ["wiping", "retiring", "quarantined"])
def test_a_parked_host_that_bears_an_older_name_of_ours_again_is_wiped_anew(stage: str) -> None:
    """An old rename came beyond settle: nobody else takes what we parked. One that is in the pool
    since may be another's, and a name that is not of its last tenancy is nobody's effect.
    """
    parked = replace(
        FREE, machine=MINE, asked=(call("mac.rename.parked", CallState.DONE, aim=Stage.PARKED),)
    )
    transition = decided(hosts_snapshot(parked, box(stage, holder=MINE), now=LATER))
    assert (transition.host.condition, transition.goal) == (HostCondition.DIRTY, HostGoal.CLEAN)
    assert transition.host.cleaning.wiped is None
    offered = replace(
        FREE, machine=MINE, asked=(call("mac.rename.pool", CallState.DONE, LATER, aim=Stage.POOL),)
    )
    for host, holder in ((offered, MINE), (parked, HIS), (replace(parked, asked=()), MINE)):
        transition = decided(hosts_snapshot(host, box(stage, holder=holder), now=LATER))
        assert (transition.host.condition, transition.goal) == (HostCondition.DIRTY, None)


@pytest.mark.parametrize("condition", [HostCondition.ALLOCATED, HostCondition.ABSENT])
def test_a_host_that_no_binding_explains_is_dirty_and_for_the_reclaim(
    condition: HostCondition,
) -> None:
    """It is not wiped by itself: nobody proved that it is not in use."""
    host = record(condition=condition, wiped=BEGIN)
    for stage in ("claimed", "pool", "other"):
        transition = decided(hosts_snapshot(host, box(stage), now=LATER))
        assert (transition.host.condition, transition.goal) == (HostCondition.DIRTY, None)
        assert transition.host.cleaning.wiped is None


@pytest.mark.parametrize(
    ("stage", "goal"),
    [("ordered", HostGoal.CLEAN), ("parked", HostGoal.CLEAN), ("pool", None), ("claimed", None)],
)
def test_a_dirty_host_that_waits_under_our_own_name_is_wiped_at_once(
    stage: str, goal: HostGoal | None
) -> None:
    """We pay for it; one of the pool waits for a claim, one with a tenant's name for the sweep."""
    ours = record(machine=MINE)
    transition = decided(hosts_snapshot(ours, box(stage), now=LATER))
    assert (transition.host.condition, transition.goal) == (HostCondition.DIRTY, goal)
    asked_about = decided(hosts_snapshot(record(), box(stage), now=LATER))
    assert asked_about.goal is None, "what a person asks of a host does not make it ours"
    put_in = record(goal=HostGoal.POOLED)
    after = decided(hosts_snapshot(put_in, box(stage), now=LATER))
    assert after.goal is (None if stage == Stage.POOL else HostGoal.POOLED)


@pytest.mark.parametrize("stage", ["pending", "claimed", "standby", "rested", "releasing"])
@pytest.mark.parametrize(
    "host",
    [
        WIPING,
        WIPING.with_cleaning(wiped=LATER),
        record(goal=HostGoal.CLEAN),
        record(condition=HostCondition.QUARANTINED, goal=HostGoal.CLEAN, quarantined_until=LATER),
        record(condition=HostCondition.RETIRING, goal=HostGoal.RETIRED),
    ],
)
def test_a_tenant_that_no_record_knows_ends_all_work_on_its_host(host: Host, stage: str) -> None:
    """Records that are older than the name, a backup, cannot tell who uses the host by now."""
    host = replace(host, machine=MINE)
    transition = decided(hosts_snapshot(host, box(stage, holder=HIS), now=LATER + SECOND))
    assert (transition.host.condition, transition.goal, transition.host.cleaning.wiped) == (
        HostCondition.DIRTY,
        None,
        None,
    )
    assert transition.host.cleaning.wiping is None
    known = deleted(id=HIS)
    after = decided(hosts_snapshot(host, box(stage, holder=HIS), now=LATER, past=(known,)))
    assert after.goal is host.goal, "a late rename of a tenant that is gone changes nothing"
    after = decided(hosts_snapshot(host, box(stage, holder=MINE), now=LATER))
    assert after.goal is host.goal, "nor does the name of its last tenant"


def owned(snapshot: AccountSnapshot) -> AccountSnapshot:
    """Return what a cycle sees, of hosts that are nobody's to lease."""
    hosts = snapshot.capabilities.hosts
    assert hosts is not None
    own = replace(snapshot.capabilities, hosts=replace(hosts, paid_period=None))
    return replace(snapshot, capabilities=own)


def test_absence_needs_two_observations_and_the_consistency_delay() -> None:
    first = decided(owned(hosts_snapshot(FREE, None, now=BEGIN)))
    assert first.host.health.missing == BEGIN
    assert first.host.condition is HostCondition.FREE
    at = BEGIN + CONSISTENCY_DELAY
    early = decided(owned(hosts_snapshot(first.host, None, now=at - SECOND)))
    assert early.host.condition is HostCondition.FREE
    lost = decided(owned(hosts_snapshot(first.host, None, now=at)))
    assert (lost.host.condition, lost.host.cleaning.wiped) == (HostCondition.ABSENT, None)
    back = decided(owned(hosts_snapshot(first.host, box("pool"), now=at)))
    assert (back.host.condition, back.host.health.missing) == (HostCondition.FREE, None)


@pytest.mark.parametrize("condition", [HostCondition.COMING, HostCondition.FREE])
def test_a_leased_host_is_lost_after_five_minutes(condition: HostCondition) -> None:
    """Lists hid one for a minute and a half, and a second was bought for a day."""
    leased = record(condition=condition, order=MINE, missing=BEGIN)
    for seconds, expected in ((299, condition), (300, HostCondition.ABSENT)):
        after = decided(hosts_snapshot(leased, None, now=BEGIN + seconds * SECOND))
        assert after.host.condition is expected


BY_NAME = [
    ("retiring", HostCondition.RETIRING, HostGoal.RETIRED),
    ("wiping", HostCondition.DIRTY, HostGoal.CLEAN),
    ("quarantined", HostCondition.DIRTY, HostGoal.CLEAN),
    ("claimed", HostCondition.DIRTY, None),
]
"""What becomes of a host under its own last name, when nobody has it any more."""


@pytest.mark.parametrize(("stage", "condition", "goal"), BY_NAME)
def test_what_was_to_become_of_a_host_that_listings_lacked_goes_on(
    stage: str, condition: HostCondition, goal: HostGoal | None
) -> None:
    """It was dirty, in the report, and paid for past its window until a person came."""
    lost = record(condition=HostCondition.ABSENT, machine=MINE, origin=HostOrigin.ORDERED)
    after = decided(hosts_snapshot(lost, box(stage, holder=MINE), now=LATER))
    assert (after.host.condition, after.host.goal, after.goal) == (condition, goal, goal)
    another = decided(hosts_snapshot(lost, box(stage, holder=HIS), now=LATER))
    assert (another.host.condition, another.goal) == (HostCondition.DIRTY, None)
    nameless = decided(hosts_snapshot(replace(lost, machine=None), box(stage), now=LATER))
    assert (nameless.host.condition, nameless.goal) == (HostCondition.DIRTY, None)
    of_pool = lost.with_purchase(origin=HostOrigin.POOL)
    others = decided(hosts_snapshot(of_pool, box(stage, holder=MINE), now=LATER))
    assert (others.host.condition, others.goal) == (HostCondition.DIRTY, None), "it may be in use"


@pytest.mark.parametrize(("stage", "condition", "goal"), BY_NAME)
@pytest.mark.parametrize("origin", list(HostOrigin))
def test_a_host_that_its_machine_gave_back_to_be_tried_again_goes_on_by_its_name(
    stage: str, condition: HostCondition, goal: HostGoal | None, origin: HostOrigin
) -> None:
    """Only where it names the machine that had it: nothing is wiped on the strength of a name."""
    given_back = record(condition=HostCondition.ALLOCATED, machine=MINE, origin=origin)
    after = decided(hosts_snapshot(given_back, box(stage, holder=MINE), now=LATER))
    assert (after.host.condition, after.host.goal, after.goal) == (condition, goal, goal)
    another = decided(hosts_snapshot(given_back, box(stage, holder=HIS), now=LATER))
    assert (another.host.condition, another.goal) == (HostCondition.DIRTY, None)


@pytest.mark.parametrize(
    ("stage", "policy", "goes"),
    [
        ("pool", ReleasePolicy.TERMINATE, True),
        ("retiring", ReleasePolicy.TERMINATE, True),
        ("pool", None, False),
        ("pool", ReleasePolicy.KEEP, False),
        ("other", ReleasePolicy.TERMINATE, False),
        ("claimed", ReleasePolicy.TERMINATE, False),
    ],
)
def test_that_a_person_gave_a_host_up_outlasts_listings_that_lack_it(
    stage: str, policy: ReleasePolicy | None, *, goes: bool
) -> None:
    """The request was accepted: it was dropped without a word, and the host the pool's again."""
    host = record(goal=HostGoal.RETIRED, policy=policy, missing=BEGIN, machine=MINE)
    lost = decided(hosts_snapshot(host, None, now=LATER)).host
    assert (lost.condition, lost.goal) == (HostCondition.ABSENT, None)
    holder = None if stage in {"pool", "other"} else MINE
    back = decided(hosts_snapshot(lost, box(stage, holder=holder), now=LATER)).host
    assert (back.condition is HostCondition.RETIRING) is goes
    assert back.goal is (HostGoal.RETIRED if goes else None)


def test_a_host_that_listings_lacked_before_it_was_delivered_is_on_its_way_still() -> None:
    """It was wiped and free, never *delivered*, and so never given up when its window was over."""
    lost = record(condition=HostCondition.ABSENT, origin=HostOrigin.ORDERED, order=MINE)
    after = decided(hosts_snapshot(lost, box("ordered", holder=MINE), now=LATER))
    assert (after.host.condition, after.goal) == (HostCondition.COMING, None)
    delivered = lost.with_purchase(delivered=BEGIN)
    after = decided(hosts_snapshot(delivered, box("ordered", holder=MINE), now=LATER))
    assert after.host.condition is HostCondition.DIRTY


def test_a_quarantine_ends_with_a_wipe_and_keeps_its_strikes() -> None:
    out = record(condition=HostCondition.QUARANTINED, strikes=3, quarantined_until=LATER)
    after = decided(hosts_snapshot(out, box("quarantined"), now=BEGIN))
    assert (after.host.condition, after.goal) == (HostCondition.QUARANTINED, None)
    over = decided(hosts_snapshot(out, box("quarantined"), now=LATER))
    assert (over.host.condition, over.goal) == (HostCondition.DIRTY, HostGoal.CLEAN)
    assert over.host.health.strikes == 3


def test_what_the_provider_says_is_written_down() -> None:
    date = BEGIN + timedelta(days=1)
    resource = box("retiring", paid_until=date, scheduled=True, renews=True)
    host = record(condition=HostCondition.RETIRING, goal=HostGoal.RETIRED, pool="")
    transition = decided(hosts_snapshot(host, resource, now=LATER))
    assert (
        transition.host.purchase.scheduled
        == transition.host.purchase.paid_until
        == BEGIN + timedelta(days=1)
    )
    assert (
        transition.host.purchase.renews,
        transition.host.ownership.pool,
        transition.host.billing.price,
    ) == (
        True,
        "pool-",
        0.2,
    )
    assert transition.host.billing.billed_from == LATER
    undone = decided(hosts_snapshot(transition.host, box("retiring", paid_until=date), now=LATER))
    assert undone.host.purchase.scheduled is None


def test_a_host_with_a_call_in_flight_is_not_decided_on() -> None:
    snapshot = replace(hosts_snapshot(FREE, box("other")), moving_hosts=frozenset({BOX}))
    assert decide_hosts(snapshot) == ()


@pytest.mark.parametrize(
    ("starved", "back"), [("last", True), ("buyer", True), ("third", False), (None, False)]
)
def test_a_host_is_called_back_for_who_had_it_last_and_for_who_bought_it(
    starved: str | None, back: bool
) -> None:
    deletion = record(
        condition=HostCondition.RETIRING,
        goal=HostGoal.RETIRED,
        origin=HostOrigin.ORDERED,
        fleet=FleetName("last"),
        buyer=FleetName("buyer"),
        delivered=BEGIN,
        paid_until=BEGIN + timedelta(hours=5),
    )
    snapshot = hosts_snapshot(deletion, box("retiring"))
    lacking = frozenset({FleetName(starved)} if starved else ())
    transition = decided(replace(snapshot, starved=lacking))
    assert (transition.host.condition is HostCondition.DIRTY) is back
    assert (transition.host.goal is HostGoal.CLEAN) is back


@pytest.mark.parametrize("call_state", [CallState.LAPSED, CallState.REFUSED])
def test_a_host_that_shows_a_claim_of_too_late_is_not_given_up_with_its_machine(
    call_state: CallState,
) -> None:
    """Somebody else may have claimed it meanwhile, and use it: all sides stop."""
    claim = replace(call("mac.mark-pending", aim=Stage.PENDING), call_state=call_state)
    over = deleted(reason=str(Reason.HOST_TAKEN), asked=(claim,)).with_fact(RETIRE, BEGIN)
    late = left_by(over, box("pending", holder=MINE))
    assert (late.host.condition, late.host.goal) == (HostCondition.DIRTY, None)
    own = left_by(over, box("retiring", holder=MINE))
    assert (own.host.condition, own.host.goal) == (HostCondition.RETIRING, HostGoal.RETIRED)


@pytest.mark.parametrize("goal", [HostGoal.CLEAN, HostGoal.RETIRED])
def test_nothing_is_pursued_for_a_host_while_its_fleet_is_paused_or_protected(
    goal: HostGoal,
) -> None:
    """Its goal stays on the record, and is pursued once the pause is over."""
    fleet = FleetName("macs")
    condition = HostCondition.DIRTY if goal is HostGoal.CLEAN else HostCondition.RETIRING
    host = record(condition=condition, goal=goal, fleet=fleet, name=box("wiping").name)
    free = hosts_snapshot(host, box("wiping"))
    held = decided(replace(free, protected={fleet: "paused by ann"}))
    assert (held.goal, held.blocker, held.host.goal) == (None, "paused by ann", goal)
    other = decided(replace(free, protected={FleetName("other"): "paused by ann"}))
    assert (other.goal, other.blocker) == (goal, "")


GIVEN_UP = record(
    condition=HostCondition.RETIRING,
    goal=HostGoal.RETIRED,
    order=MINE,
    origin=HostOrigin.ORDERED,
    delivered=BEGIN,
    asked=(call("mac.mark-retiring", CallState.DONE, aim=Stage.RETIRING),),
)


def test_one_that_is_given_up_and_put_back_by_hand_is_its_pools_and_may_be_given_up_again() -> None:
    """It stood in the pool for ever, paid for and in no report: no machine could have it."""
    host = decided(hosts_snapshot(GIVEN_UP, box(pool="other-"), now=LATER)).host
    assert (host.condition, host.goal, host.asked) == (HostCondition.DIRTY, None, ())
    assert (host.ownership.pool, host.purchase.policy) == ("other-", ReleasePolicy.KEEP)
    unnamed = decided(hosts_snapshot(GIVEN_UP, box(pool=""), now=LATER)).host
    assert unnamed.ownership.pool == "pool-"


def test_the_rename_of_an_earlier_end_that_was_called_off_says_nothing_of_this_one() -> None:
    """Called back, a host kept it: given up from the pool later, it passed for put back there."""
    host = replace(GIVEN_UP, since=BEGIN + SECOND)
    after = decided(hosts_snapshot(host, box(), now=LATER)).host
    assert (after.condition, after.goal) == (HostCondition.RETIRING, HostGoal.RETIRED)


RENAMED = GIVEN_UP.asked[0]


@pytest.mark.parametrize(
    ("resource", "asked", "observed"),
    [
        (box(), RENAMED, BEGIN + CONSISTENCY_DELAY),
        (box(), replace(RENAMED, closed=LATER), LATER),
        (box("retiring"), RENAMED, LATER),
        (box("other"), RENAMED, LATER),
        (box(scheduled=True), RENAMED, LATER),
        (box(), replace(RENAMED, call_state=CallState.REFUSED), LATER),
        (box(), call("mac.mark-parked", CallState.DONE, aim=Stage.PARKED), LATER),
        (box(), None, LATER),
    ],
    ids=[
        "an-older-observation",
        "older-than-the-answer",
        "its-own-name",
        "another-name",
        "its-provider-deletes-it",
        "never-renamed",
        "renamed-otherwise",
        "asked-nothing",
    ],
)
def test_one_that_is_given_up_is_not_put_back(
    resource: Resource, asked: Asked | None, observed: datetime
) -> None:
    host = replace(GIVEN_UP, asked=() if asked is None else (asked,))
    after = decided(hosts_snapshot(host, resource, now=LATER, observed=observed)).host
    assert (after.condition, after.goal) == (HostCondition.RETIRING, HostGoal.RETIRED)


@pytest.mark.parametrize("fact", ["jumped", "took"])
def test_what_was_observed_right_after_a_jump_or_a_takeover_puts_nothing_back(fact: str) -> None:
    """By this clock the answer is long ago; by the one that dated it, it may be a moment."""
    since = LATER - SECOND
    host = replace(GIVEN_UP, asked=(replace(RENAMED, epoch=Epoch(0)),))
    snapshot = hosts_snapshot(host, box(), now=LATER)
    assert decided(replace(snapshot, **{fact: since})).host.goal is HostGoal.RETIRED
    assert decided(replace(snapshot, **{fact: BEGIN})).host.goal is None
