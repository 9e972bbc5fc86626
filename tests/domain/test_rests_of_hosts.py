"""Rests of machines on hosts: it takes their records and a sure look too."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.decide import decide
from hostler.domain.decision.cache import DecisionCache
from hostler.domain.ids import ResourceId
from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.commands import Advance, Decision
from hostler.domain.model.fleet import Order, Sized, next_room
from hostler.domain.model.host import Free, HostOrigin
from hostler.domain.model.machine import RESTED, Asked, CallState, Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Resource, Stage
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.policy.purchasing import Limits
from hostler.testing.fakes.planner import FakePlanner
from hostler.testing.scenes.builders import BEGIN, FLEET, OFFER, ZONE
from hostler.testing.scenes.hosts import (
    BOX,
    CAPABILITIES,
    CONSISTENCY_DELAY,
    HIS,
    MINE,
    box,
    call,
    fleet_snapshot,
    on_host,
    record,
    tenant,
)

LATER = BEGIN + timedelta(minutes=1)
HOUR = timedelta(hours=1)


class Content(FakePlanner):
    """A provider with which all is as it should be; counts how often it is asked."""

    asked = 0

    def next_calls(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...], now: datetime
    ) -> tuple[Call, ...]:
        del goal, machine, resources, now
        self.asked += 1
        return ()


def at_rest(*asked: Asked) -> Snapshot:
    """Return a fleet of one machine at work on its host, whose record tells all that looks show."""
    snapshot = fleet_snapshot(
        (on_host(asked=asked),), (tenant(), box("claimed")), hosts=(record(),)
    )
    snapshot = replace(snapshot, fleet=replace(FLEET, size=1), bindings={MINE: BOX})
    advanced = [c.machine for c in decide(snapshot, Content()).commands if isinstance(c, Advance)]
    return replace(snapshot, machines=tuple(advanced) or snapshot.machines)


def later(snapshot: Snapshot, time: timedelta, **fields: object) -> Snapshot:
    """Return what is seen after another whole look, which shows nothing new."""
    now = snapshot.now + time
    whole = dict.fromkeys(snapshot.inventory.whole, now)
    return replace(snapshot, now=now, inventory=replace(snapshot.inventory, whole=whole), **fields)


def twice(first: Snapshot, second: Snapshot) -> tuple[Decision, Decision]:
    """Return the second decision, with what the first one taught and without."""
    cache, planner = DecisionCache(), Content()
    decide(first, planner, cache)
    return decide(second, planner, cache), decide(second, planner)


def test_a_machine_at_work_on_a_host_is_not_asked_about_again() -> None:
    snapshot, cache, planner = at_rest(), DecisionCache(), Content()
    first = decide(snapshot, planner, cache)
    assert decide(later(snapshot, HOUR / 6), planner, cache) is first
    assert planner.asked == 1


def test_a_machine_that_is_asked_back_from_standby_is_decided_on_again_soon() -> None:
    """It waited for the next listing of a quiet account, up to 15 min (Macs 129000135)."""
    resting = on_host(Phase.STANDBY, goal=Goal.STANDBY, was_ready=BEGIN).with_fact(RESTED, BEGIN)
    snapshot = fleet_snapshot((resting,), (tenant("rested"), box("rested")), hosts=(record(),))
    snapshot = replace(snapshot, bindings={MINE: BOX})
    none, one = (replace(snapshot, fleet=replace(FLEET, size=size)) for size in (0, 1))
    assert not decide(none, Content()).expecting
    decision = decide(one, Content())
    (back,) = (c.machine for c in decision.commands if isinstance(c, Advance))
    assert (back.phase, back.goal) == (Phase.STANDBY, Goal.PRESENT)
    assert decision.expecting
    (woken,) = (
        c.machine
        for c in decide(replace(one, machines=(back,)), Content()).commands
        if isinstance(c, Advance)
    )
    assert woken.phase is Phase.STARTING


def test_what_rests_is_believed_for_as_long_as_is_said() -> None:
    snapshot, cache, planner = at_rest(), DecisionCache(longest=4 * HOUR), Content()
    first = decide(snapshot, planner, cache)
    assert decide(later(snapshot, 3 * HOUR), planner, cache) is first
    decide(later(snapshot, 5 * HOUR), planner, cache)
    assert planner.asked == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"hosts": {BOX: record(strikes=1)}},
        {"bindings": {MINE: BOX, HIS: "host-2"}},
        {"free": (Free(resource=box(), offer=OFFER),)},
        {"limits": Limits(batch=2)},
        {"pool": "other-"},
        {"usurped": frozenset({BOX})},
        {"moving_hosts": frozenset({BOX})},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_what_is_otherwise_of_hosts_is_noticed_at_once(fields: dict[str, object]) -> None:
    snapshot, cache, planner = at_rest(), DecisionCache(), Content()
    first = decide(snapshot, planner, cache)
    other = later(snapshot, timedelta(seconds=30), **fields)
    second = decide(other, planner, cache)
    assert second is not first
    assert second == decide(other, planner)


def test_equal_records_of_hosts_in_another_mapping_are_no_news() -> None:
    snapshot, cache, planner = at_rest(), DecisionCache(), Content()
    first = decide(snapshot, planner, cache)
    other = later(snapshot, timedelta(seconds=30), hosts=dict(snapshot.hosts))
    assert decide(other, planner, cache) is first


def test_another_record_of_its_host_is_asked_about_where_its_machine_rests() -> None:
    snapshot, cache, planner = at_rest(), DecisionCache(), Content()
    decide(snapshot, planner, cache)
    asked = planner.asked
    decide(later(snapshot, timedelta(seconds=30), hosts={BOX: record(strikes=1)}), planner, cache)
    assert planner.asked == asked + 1


def test_the_first_observation_after_an_owner_tag_is_not_slept_through() -> None:
    """What a host shows then is what a wipe by somebody else would change."""
    owner_tag = call("mac.rename.claimed", CallState.DONE, LATER, aim=Stage.CLAIMED)
    snapshot = at_rest(replace(owner_tag, slot=CAPABILITIES.main))
    resources = (tenant(stage="claimed", witness="password of today"), box("claimed"))
    snapshot = replace(
        snapshot, inventory=fleet_snapshot((), resources, now=BEGIN).inventory, now=LATER
    )
    remembered, plain = twice(snapshot, later(snapshot, 2 * CONSISTENCY_DELAY))
    assert remembered == plain
    assert plain.commands


@pytest.mark.parametrize(("call_state", "cache"), [(CallState.OPEN, False), (CallState.DONE, True)])
def test_nothing_is_remembered_while_a_call_is_open(call_state: CallState, *, cache: bool) -> None:
    owner_tag = call("mac.attach.net", call_state, BEGIN - HOUR)
    snapshot, memory, planner = (
        at_rest(replace(owner_tag, slot=CAPABILITIES.main)),
        DecisionCache(),
        Content(),
    )
    first = decide(snapshot, planner, memory)
    second = decide(later(snapshot, timedelta(seconds=30)), planner, memory)
    assert (second is first) is cache


class Asking(Content):
    """A provider that would have the host marked again."""

    def next_calls(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...], now: datetime
    ) -> tuple[Call, ...]:
        super().next_calls(goal, machine, resources, now)
        kind, slot = "mac.rename.claimed", CAPABILITIES.main
        shows = Shows.OWNER_TAG
        return (
            Call(kind=kind, slot=slot, zone=ZONE, effect=Effect.CHANGE, once=True, shows=shows),
        )


def test_a_machine_that_waits_does_not_rest_by_what_was_known_of_it_before() -> None:
    snapshot, cache = at_rest(), DecisionCache()
    decide(snapshot, Content(), cache)
    owner_tag = replace(call("mac.rename.claimed", CallState.DONE, LATER), slot=CAPABILITIES.main)
    tagged = tuple(replace(machine, asked=(owner_tag,)) for machine in snapshot.machines)
    waiting = replace(snapshot, now=LATER, machines=tagged)
    assert decide(waiting, Asking(), cache).commands == ()
    observed = later(waiting, 2 * CONSISTENCY_DELAY)
    remembered, plain = decide(observed, Asking(), cache), decide(observed, Asking())
    assert remembered == plain
    assert plain.commands


@pytest.mark.parametrize("lapsing", ["order", "size"])
def test_what_is_forgotten_after_its_time_is_not_slept_through(lapsing: str) -> None:
    age = timedelta(days=1) if lapsing == "order" else timedelta(days=15)
    at = BEGIN - age + timedelta(minutes=5)
    orders = (Order(id=MINE, offer=OFFER, at=at),) if lapsing == "order" else ()
    old = (Sized(at=at, size=3),) if lapsing == "size" else ()
    snapshot = replace(at_rest(), limits=Limits(batch=1))
    row = replace(snapshot.row, orders=orders, sizes=(*old, Sized(at=BEGIN, size=1)))
    snapshot = replace(snapshot, row=row)
    remembered, plain = twice(snapshot, later(snapshot, timedelta(minutes=6)))
    assert remembered == plain
    assert plain.commands


def test_a_caps_next_room_is_not_slept_through() -> None:
    """What leaves an ordered host for one of the pool, once the caps allow it."""
    ordered = record(origin=HostOrigin.ORDERED, paid_until=BEGIN - HOUR)
    pooled = Free(resource=replace(box(), id=ResourceId("host-2")), offer=OFFER, record=record())
    snapshot = at_rest()
    snapshot = replace(
        snapshot,
        fleet=replace(snapshot.fleet, surge=0),
        hosts={BOX: ordered},
        free=(pooled,),
        row=replace(snapshot.row, destructions=(snapshot.now,)),
    )
    room = next_room(snapshot.fleet, snapshot.row, snapshot.now)
    remembered, plain = twice(snapshot, later(snapshot, room - snapshot.now))
    assert remembered == plain
    (ended,) = [c.machine for c in plain.commands if isinstance(c, Advance)]
    assert (ended.phase, ended.reason) == (Phase.DRAINING, "ended")
