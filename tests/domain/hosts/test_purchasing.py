"""Which hosts a fleet buys and gives up, where some that it bought cannot be used just now."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.hosts.purchasing import Bought, buy, windows
from hostler.domain.ids import FleetName, HostId, machine_id
from hostler.domain.model.fleet import FleetRow, Sized
from hostler.domain.model.hold import Hold, HoldKind
from hostler.domain.model.host import (
    Free,
    Host,
    HostCondition,
    HostGoal,
    HostOrigin,
    ReleasePolicy,
)
from hostler.domain.model.machine import Machine, Offer, Protection
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, OwnerTag, Resource
from hostler.domain.model.snapshot import Request, RequestKind, Snapshot
from hostler.domain.model.transition import Transition
from hostler.domain.policy.purchasing import Limits
from hostler.testing.conformance.store.records import orphan
from hostler.testing.scenes.builders import ABROAD, BEGIN, OFFER, WEB
from hostler.testing.scenes.fields import with_fields
from hostler.testing.scenes.hosts import BOX, box, fleet_snapshot, on_host, record

HOUR = timedelta(hours=1)
OTHERS = FleetName("others")
DAILY = tuple(
    Sized(at=BEGIN - timedelta(days=day) + timedelta(minutes=after), size=size)
    for day in range(14, 0, -1)
    for after, size in ((0, 0), (20, 1), (420, 0))
)
"""One machine is wanted for seven hours of each day, soon after the hour that it is now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """Hosts with a call in flight, and requests that are not granted yet."""

    moving: tuple[HostId, ...] = ()
    requests: tuple[Request, ...] = ()


NOT_BUSY = Busy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """Until when the fleet is paused, and when somebody resumed it."""

    until: datetime | None = None
    resumed: datetime | None = None


NEVER_PAUSED = Paused()


def bought(
    size: int,
    *hosts: Host,
    machines: tuple[Machine, ...] = (),
    resources: tuple[Resource, ...] = (),
    most: int = 3,
    steady: datetime = BEGIN,
    left: tuple[HostId, ...] = (),
    foreign: tuple[Resource, ...] = (),
    busy: Busy = NOT_BUSY,
    sizes: tuple[Sized, ...] = (),
    paused: Paused = NEVER_PAUSED,
    is_reported: bool = False,
) -> Bought:
    """Return what a fleet of a size buys and gives up; it may buy up to `most` hosts.

    `busy` are hosts that something is done about, `sizes` what the fleet wanted in the past.
    `left` are hosts that are tied to machines which are over; `foreign` is what bears the fleet's
    name and another installation's mark. The first
    host may be one that the orphan report tells of.
    """
    snapshot: Snapshot = fleet_snapshot(machines, resources, hosts=hosts)
    snapshot = replace(
        snapshot, fleet=replace(snapshot.fleet, size=size), limits=Limits(most=most, batch=9)
    )
    snapshot = replace(snapshot, steady=steady, bindings={m.id: m.host for m in machines if m.host})
    over = {machine_id(90 + nth): host for nth, host in enumerate(left)}
    snapshot = replace(snapshot, bindings={**snapshot.bindings, **over}, foreign=foreign)
    snapshot = replace(snapshot, moving_hosts=frozenset(busy.moving), requests=busy.requests)
    if is_reported:
        snapshot = replace(snapshot, orphans=(orphan(hosts[0].id),))
    transitions = tuple(
        Transition(before=machine, machine=machine, resources=()) for machine in machines
    )
    row = FleetRow(name=WEB, created=BEGIN, sizes=sizes, resumed=paused.resumed)
    if paused.until is not None:
        row = replace(row, pause=Protection(until=paused.until, why="", actor="somebody"))
    return buy(transitions, row, replace(snapshot, row=row))


def ordered(host: str = BOX, left: timedelta = 5 * HOUR, **fields: object) -> Host:
    """Return a host that the fleet bought, with so much paid time left."""
    base = record(
        condition=HostCondition.FREE,
        origin=HostOrigin.ORDERED,
        fleet=WEB,
        buyer=WEB,
        delivered=BEGIN - 24 * HOUR + left,
        paid_until=BEGIN + left,
    )
    return with_fields(base, id=HostId(host), **fields)


def many(found: Bought) -> int:
    return len(found.order.orders) if found.order else 0


def given_up(found: Bought) -> list[str]:
    return [keep.host.id for keep in found.keeps if keep.host.goal is HostGoal.RETIRED]


def test_nothing_is_bought_in_place_of_a_machine_that_wakes_on_a_host_past_its_window() -> None:
    host = ordered(left=-HOUR, condition=HostCondition.ALLOCATED)
    waking = on_host(Phase.STANDBY, goal=Goal.PRESENT)
    found = bought(1, host, machines=(waking,))
    assert (many(found), given_up(found)) == (0, [])
    assert many(bought(2, host, machines=(waking,))) == 1, "it serves one machine, and no other"


def test_a_host_in_quarantine_is_no_supply_while_that_lasts() -> None:
    apart = ordered(condition=HostCondition.QUARANTINED, quarantined_until=BEGIN + 3 * HOUR)
    assert many(bought(1, apart)) == 1
    assert many(bought(1, ordered())) == 0


def test_a_host_in_quarantine_is_given_up_at_the_end_of_its_window() -> None:
    apart = ordered(
        left=-HOUR, condition=HostCondition.QUARANTINED, quarantined_until=BEGIN + 3 * HOUR
    )
    assert given_up(bought(0, apart)) == [BOX]
    assert given_up(bought(0, apart.with_purchase(paid_until=BEGIN + HOUR))) == []


@pytest.mark.parametrize("condition", [HostCondition.DIRTY, HostCondition.WIPING])
def test_a_host_that_cannot_be_wiped_is_no_supply_and_given_up_at_the_end_of_its_window(
    condition: HostCondition,
) -> None:
    """It was wiped for ever, billed for ever, and nothing was bought in its place."""
    dirty = ordered(condition=condition, goal=HostGoal.CLEAN, since=BEGIN - 4 * HOUR)
    assert many(bought(1, dirty)) == 0, "our process began just now: nobody could act before"
    assert many(bought(1, dirty, steady=BEGIN - 5 * HOUR)) == 1
    over = dirty.with_purchase(paid_until=BEGIN - HOUR)
    assert given_up(bought(1, over)) == []
    found = bought(1, over, steady=BEGIN - 5 * HOUR)
    assert (given_up(found), many(found)) == ([BOX], 1)
    held = bought(1, over, steady=BEGIN - 5 * HOUR, machines=(on_host(),))
    assert given_up(held) == [], "it is a machine's"


@pytest.mark.parametrize(
    ("paused", "ordered_anew"),
    [
        (Paused(until=BEGIN - HOUR), 0),
        (Paused(resumed=BEGIN - HOUR), 0),
        (Paused(until=BEGIN - 2 * HOUR, resumed=BEGIN - HOUR), 0),
        (Paused(until=BEGIN - 4 * HOUR), 1),
        (Paused(resumed=BEGIN - 4 * HOUR), 1),
    ],
)
def test_the_time_in_which_a_fleet_was_paused_does_not_make_a_wipe_overdue(
    paused: Paused, ordered_anew: int
) -> None:
    """A host that was clean all the time was bought once more as soon as a long pause was over."""
    wiping = ordered(condition=HostCondition.WIPING, goal=HostGoal.CLEAN, since=BEGIN - 5 * HOUR)
    found = bought(1, wiping, steady=BEGIN - 5 * HOUR, paused=paused)
    assert many(found) == ordered_anew


def test_a_host_in_error_that_a_person_put_into_the_pool_is_no_supply_and_given_up() -> None:
    """Nothing mends it there; one that is being wiped is on its way, and is waited for."""
    failed = box("pool", Condition.FAILED)
    host = ordered(condition=HostCondition.DIRTY)
    assert many(bought(1, host, resources=(failed,))) == 1
    over = ordered(left=-HOUR, condition=HostCondition.DIRTY)
    assert given_up(bought(1, over, resources=(failed,))) == [BOX]
    mending = replace(over, goal=HostGoal.CLEAN)
    assert given_up(bought(1, mending, resources=(failed,))) == []


def test_a_host_that_a_person_renamed_into_the_pool_is_given_up_when_its_window_is_over() -> None:
    """It waits there for a claim that wipes it, and nobody may want one ever again."""
    host = ordered(left=-HOUR, condition=HostCondition.DIRTY)
    assert given_up(bought(0, host, resources=(box("pool"),))) == [BOX]
    assert given_up(bought(0, replace(host, goal=HostGoal.CLEAN), resources=(box("pool"),))) == []
    inside = ordered(condition=HostCondition.DIRTY)
    assert given_up(bought(0, inside, resources=(box("pool"),))) == []
    assert given_up(bought(0, host, resources=(box("claimed"),))) == []


def test_a_host_that_somebody_lent_is_no_supply_and_still_counts_as_one_that_stands() -> None:
    lent = ordered(condition=HostCondition.DIRTY)
    assert many(bought(1, lent, resources=(box("other"),))) == 1
    assert many(bought(1, lent, resources=(box("other"),), most=1)) == 0
    cleaned = replace(lent, goal=HostGoal.CLEAN)
    assert many(bought(1, cleaned, resources=(box("wiping"),))) == 0


@pytest.mark.parametrize("stage", ["claimed", "releasing", "wiping", "retiring", "quarantined"])
def test_a_host_that_bears_the_name_of_another_hosts_machine_is_no_supply_and_left_alone(
    stage: str,
) -> None:
    """It was to be given up first, could not be, and held back every order (5036260, 233011173)."""
    copied = ordered(left=-HOUR, condition=HostCondition.DIRTY)
    found = bought(1, copied, resources=(box(stage),))
    assert (many(found), given_up(found), found.limit) == (1, [], "")
    assert many(bought(1, copied, resources=(box(stage),), most=1)) == 0
    coming = replace(copied, goal=HostGoal.CLEAN)
    assert many(bought(1, coming, resources=(box(stage),))) == 0, "a machine just left it"


@pytest.mark.parametrize("is_reported", [True, False])
@pytest.mark.parametrize("left", [5 * HOUR, -HOUR])
def test_nothing_is_ordered_in_place_of_a_host_whose_machines_record_was_removed_and_that_is_said(
    left: timedelta, *, is_reported: bool
) -> None:
    """Seed 127000261 of Macs: who adopts the machine would pay for both."""
    stranded = ordered(left=left, condition=HostCondition.ALLOCATED)
    host = box("claimed", Condition.FAILED)
    found = bought(
        1, stranded, resources=(host,), left=(BOX,), is_reported=is_reported, sizes=DAILY
    )
    assert (many(found), given_up(found)) == (0, [])
    text = "bought before, of machines that no record knows: 1"
    assert found.limit == (text if is_reported else "")


def test_a_host_that_a_person_put_into_the_pool_stays_and_counts_as_one_that_was_bought() -> None:
    keeping = ordered(left=-HOUR, policy=ReleasePolicy.KEEP)
    assert given_up(bought(0, keeping.with_purchase(policy=None))) == [BOX]
    assert given_up(bought(0, keeping)) == []
    lent = (box("other"),)
    assert many(bought(2, keeping, resources=lent, most=2)) == 1
    assert many(bought(2, keeping, resources=lent, most=3)) == 2


def held(kind: HoldKind, left: timedelta = HOUR) -> Hold:
    return Hold(kind=kind, until=BEGIN + left, actor="ann", why="a look at it")


@pytest.mark.parametrize("kind", [HoldKind.RESERVED, HoldKind.MAINTENANCE])
def test_a_host_that_somebody_holds_is_no_supply_and_stays_until_the_hold_ends(
    kind: HoldKind,
) -> None:
    """Who reserved one for a night found it deleted, for no machine could have it."""
    holding = ordered(left=-HOUR, hold=held(kind))
    assert given_up(bought(0, holding)) == []
    assert given_up(bought(0, replace(holding, hold=held(kind, -HOUR)))) == [BOX]
    assert many(bought(1, holding, most=1)) == 0, "it stands, and counts"
    assert many(bought(1, holding, most=2)) == 1
    at_rest = replace(holding, condition=HostCondition.ALLOCATED)
    resting = on_host(Phase.STANDBY, goal=Goal.STANDBY)
    (rests,) = bought(0, at_rest, machines=(resting,)).transitions
    assert rests.machine.deletion is None
    (ended,) = bought(0, replace(at_rest, hold=None), machines=(resting,)).transitions
    assert ended.machine.deletion is not None


def test_a_decision_lasts_no_longer_than_a_hold() -> None:
    snapshot = fleet_snapshot((), (), hosts=(ordered(hold=held(HoldKind.RESERVED)),))
    assert list(windows(snapshot)) == [BEGIN + HOUR]


def test_a_host_that_fits_no_offer_is_no_supply_and_is_given_up_at_the_end_of_its_window() -> None:
    """An image is retired, and what was wiped to another one is nobody's any more."""
    unfit = ordered()
    assert many(bought(1, unfit, resources=(box("parked"),))) == 1
    busy = box("parked", Condition.BUSY)
    assert many(bought(1, unfit, resources=(busy,))) == 0, "it will be free soon"
    over = unfit.with_purchase(paid_until=BEGIN - HOUR)
    assert given_up(bought(0, over, resources=(box("parked"),))) == [BOX]


def test_a_host_that_fits_no_offer_is_no_supply_at_the_end_of_its_window_either() -> None:
    """It is never worth keeping, whatever is wanted: another one is ordered all the while."""
    soon = ordered(left=timedelta(minutes=5))
    assert many(bought(1, soon, resources=(box("parked"),))) == 1
    over = ordered(left=-HOUR)
    found = bought(1, over, resources=(box("parked"),), sizes=DAILY)
    assert (given_up(found), many(found)) == ([BOX], 1)


def test_a_host_with_a_call_in_flight_or_that_a_request_names_is_waited_for() -> None:
    """No machine is offered it in this cycle, and may be in the next."""
    kind = RequestKind.POOL_ADD
    request = Request(number=1, kind=kind, fleet=WEB, at=BEGIN, actor="ann", host=HostId(BOX))
    for busy in (Busy(moving=(HostId(BOX),)), Busy(requests=(request,))):
        found = bought(1, ordered(), resources=(box("parked"),), busy=busy)
        assert (given_up(found), many(found)) == ([], 0)


def test_a_host_that_is_still_bound_to_a_machine_that_is_over_is_supply() -> None:
    """A process died between the tie and the record: it is loosened in this turn."""
    host, observed_at = ordered(left=5 * HOUR), box("ordered", delivered=True)
    assert many(bought(1, host, resources=(observed_at,))) == 1, "it fits no offer"
    assert many(bought(1, host, resources=(observed_at,), left=(BOX,))) == 0


def test_what_nobody_wants_is_given_up_and_nothing_bought_where_another_uses_the_fleets_name() -> (
    None
):
    """Two installations would else keep what each bought for good, for each bars the other."""
    owner_tag = OwnerTag(installation=ABROAD, fleet=WEB, machine=machine_id(7), attempt=0)
    theirs = replace(box("foreign"), id=HostId("host-9"), owner_tag=owner_tag)
    assert given_up(bought(0, ordered(left=-HOUR), foreign=(theirs,))) == [BOX]
    assert many(bought(1, foreign=(theirs,))) == 0
    assert many(bought(1)) == 1


def test_what_cannot_be_given_up_yet_is_not_bought_once_more() -> None:
    """Its window is over while it is wiped: it will be free before another could be delivered."""
    wiping = ordered(left=-HOUR, condition=HostCondition.WIPING, goal=HostGoal.CLEAN)
    found = bought(1, wiping)
    assert (many(found), given_up(found)) == (0, [])
    assert found.limit == "1 past the end of the paid window must go first, and cannot go yet"
    assert (many(bought(2, wiping)), bought(2, wiping).limit) == (1, "")


def test_what_a_fleet_bought_counts_as_its_own_whichever_fleet_has_it() -> None:
    away = ordered("box-2", fleet=OTHERS, condition=HostCondition.ALLOCATED)
    assert many(bought(1, away, most=1)) == 0
    assert many(bought(1, away, most=2)) == 1
    taken = ordered("box-3", buyer=OTHERS, condition=HostCondition.ALLOCATED)
    assert many(bought(2, taken, most=1)) == 1


def test_what_is_lent_and_only_scheduled_to_end_counts_once_and_for_whoever_bought_it() -> None:
    """The fleet that has it calls it back, and the one that bought it has one more again."""
    deletion = ordered(
        "box-2", fleet=OTHERS, condition=HostCondition.RETIRING, goal=HostGoal.RETIRED
    )
    assert many(bought(2, deletion, most=1)) == 0
    assert many(bought(2, deletion, most=2)) == 1
    assert many(bought(1, deletion, most=2)) == 0, "it is called back instead"
    named = box("other", host=HostId("box-2"))
    assert many(bought(1, deletion, resources=(named,), most=2)) == 1, "a person took it"
    assert many(bought(1, deletion, resources=(named,), most=1)) == 0, "and it stands still"
    borrowed = replace(deletion.with_purchase(buyer=OTHERS), fleet=WEB)
    assert many(bought(2, borrowed, most=1)) == 1, "it counts for those who bought it"


@pytest.mark.parametrize(
    "deletion",
    [
        ordered(left=HOUR, condition=HostCondition.RETIRING, goal=HostGoal.RETIRED),
        ordered(
            condition=HostCondition.RETIRING,
            goal=HostGoal.RETIRED,
            policy=ReleasePolicy.TERMINATE,
        ),
        ordered(left=-HOUR),
        ordered(
            condition=HostCondition.RETIRING,
            goal=HostGoal.RETIRED,
            delivered=None,
            paid_until=None,
        ),
        ordered(
            condition=HostCondition.DIRTY,
            policy=ReleasePolicy.KEEP,
            delivered=None,
            paid_until=None,
        ),
        ordered(condition=HostCondition.DIRTY, delivered=None, paid_until=None),
    ],
    ids=[
        "not to be called back",
        "somebody retired it",
        "ended in this turn",
        "it never came",
        "it never came and somebody keeps it",
        "it never came and listings lacked it",
    ],
)
def test_what_is_given_up_counts_among_the_most_until_it_is_gone(deletion: Host) -> None:
    """It is paid for, and the provider's quota counts it: beyond both a host was bought."""
    resource = replace(box("parked"), type="other")
    found = bought(1, deletion, resources=(resource,), most=1)
    assert (many(found), found.limit) == (0, "1 hosts at most, and 1 stand or are coming")
    assert many(bought(1, deletion, resources=(resource,), most=2)) == 1
    assert many(bought(1, replace(deletion, condition=HostCondition.ABSENT), most=1)) == 1


@pytest.mark.parametrize(("inserts", "expected"), [((), [BOX]), ((OFFER,), [])])
def test_a_host_that_a_machine_of_this_very_cycle_takes_is_not_given_up(
    inserts: tuple[Offer, ...], expected: list[str]
) -> None:
    host = ordered(left=-HOUR)
    snapshot = fleet_snapshot((), (box(),), hosts=(host,))
    snapshot = replace(
        snapshot,
        fleet=replace(snapshot.fleet, size=0),
        limits=Limits(most=3, batch=9),
        free=(Free(resource=box(), offer=OFFER, record=host),),
    )
    found = buy((), FleetRow(name=WEB, created=BEGIN), snapshot, inserts)
    assert given_up(found) == expected
