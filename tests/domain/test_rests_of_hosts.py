"""Rests of machines on hosts: it takes their records and a sure look too."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hostler.domain.decide import decide
from hostler.domain.decision_cache import Rests
from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.commands import Decision, Tend
from hostler.domain.model.fleet import Order, Sized
from hostler.domain.model.host import Free
from hostler.domain.model.machine import Asked, Fate, Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Part
from hostler.domain.model.snapshot import Seen
from hostler.domain.policy.purchasing import Limits
from hostler.testing.fakes.planner import FakeWays
from hostler.testing.scenes.builders import BEGIN, FLEET, OFFER, ZONE
from hostler.testing.scenes.hosts import (
    BOX,
    HIS,
    MINE,
    SETTLE,
    TRAITS,
    box,
    call,
    fleet_seen,
    on_host,
    record,
    tenant,
)

LATER = BEGIN + timedelta(minutes=1)
HOUR = timedelta(hours=1)


class Content(FakeWays):
    """A provider with which all is as it should be; counts how often it is asked."""

    asked = 0

    def next_calls(
        self, goal: Goal, machine: Machine, parts: tuple[Part, ...], now: datetime
    ) -> tuple[Call, ...]:
        del goal, machine, parts, now
        self.asked += 1
        return ()


def at_rest(*asked: Asked) -> Seen:
    """Return a fleet of one machine at work on its host, whose record tells all that looks show."""
    seen = fleet_seen((on_host(asked=asked),), (tenant(), box("claimed")), hosts=(record(),))
    seen = replace(seen, fleet=replace(FLEET, size=1), ties={MINE: BOX})
    told = [c.machine for c in decide(seen, Content()).commands if isinstance(c, Tend)]
    return replace(seen, machines=tuple(told) or seen.machines)


def later(seen: Seen, time: timedelta, **fields: object) -> Seen:
    """Return what is seen after another whole look, which shows nothing new."""
    now = seen.now + time
    whole = dict.fromkeys(seen.view.whole, now)
    return replace(seen, now=now, view=replace(seen.view, whole=whole), **fields)


def twice(first: Seen, second: Seen) -> tuple[Decision, Decision]:
    """Return the second decision, with what the first one taught and without."""
    rests, ways = Rests(), Content()
    decide(first, ways, rests)
    return decide(second, ways, rests), decide(second, ways)


def test_a_machine_at_work_on_a_host_is_not_asked_about_again() -> None:
    seen, rests, ways = at_rest(), Rests(), Content()
    first = decide(seen, ways, rests)
    assert decide(later(seen, HOUR / 6), ways, rests) is first
    assert ways.asked == 1


def test_what_rests_is_believed_for_as_long_as_is_said() -> None:
    seen, rests, ways = at_rest(), Rests(longest=4 * HOUR), Content()
    first = decide(seen, ways, rests)
    assert decide(later(seen, 3 * HOUR), ways, rests) is first
    decide(later(seen, 5 * HOUR), ways, rests)
    assert ways.asked == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"hosts": {BOX: record(strikes=1)}},
        {"ties": {MINE: BOX, HIS: "host-2"}},
        {"free": (Free(part=box(), offer=OFFER),)},
        {"limits": Limits(batch=2)},
        {"pool": "other-"},
        {"usurped": frozenset({BOX})},
        {"stirring": frozenset({BOX})},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_what_is_otherwise_of_hosts_is_noticed_at_once(fields: dict[str, object]) -> None:
    seen, rests, ways = at_rest(), Rests(), Content()
    first = decide(seen, ways, rests)
    other = later(seen, timedelta(seconds=30), **fields)
    second = decide(other, ways, rests)
    assert second is not first
    assert second == decide(other, ways)


def test_another_record_of_its_host_is_asked_about_where_its_machine_rests() -> None:
    seen, rests, ways = at_rest(), Rests(), Content()
    decide(seen, ways, rests)
    asked = ways.asked
    decide(later(seen, timedelta(seconds=30), hosts={BOX: record(strikes=1)}), ways, rests)
    assert ways.asked == asked + 1


def test_the_first_look_after_a_mark_is_not_slept_through() -> None:
    """What a host shows then is what a wipe by somebody else would change."""
    mark = call("mac.mark.claimed", Fate.DONE, LATER, aim="claimed")
    seen = at_rest(replace(mark, slot=TRAITS.main))
    parts = (tenant(stage="claimed", witness="password of today"), box("claimed"))
    seen = replace(seen, view=fleet_seen((), parts, now=BEGIN).view, now=LATER)
    remembered, plain = twice(seen, later(seen, 2 * SETTLE))
    assert remembered == plain
    assert plain.commands


@pytest.mark.parametrize(("fate", "rests"), [(Fate.OPEN, False), (Fate.DONE, True)])
def test_nothing_is_remembered_while_a_call_is_open(fate: Fate, *, rests: bool) -> None:
    mark = call("mac.attach.net", fate, BEGIN - HOUR)
    seen, memory, ways = at_rest(replace(mark, slot=TRAITS.main)), Rests(), Content()
    first = decide(seen, ways, memory)
    second = decide(later(seen, timedelta(seconds=30)), ways, memory)
    assert (second is first) is rests


class Asking(Content):
    """A provider that would have the host marked again."""

    def next_calls(
        self, goal: Goal, machine: Machine, parts: tuple[Part, ...], now: datetime
    ) -> tuple[Call, ...]:
        super().next_calls(goal, machine, parts, now)
        kind, slot = "mac.mark.claimed", TRAITS.main
        return (Call(kind=kind, slot=slot, zone=ZONE, effect=Effect.CHANGE, once=True),)


def test_a_machine_that_waits_does_not_rest_by_what_was_known_of_it_before() -> None:
    seen, rests = at_rest(), Rests()
    decide(seen, Content(), rests)
    mark = replace(call("mac.mark.claimed", Fate.DONE, LATER), slot=TRAITS.main)
    marked = tuple(replace(machine, asked=(mark,)) for machine in seen.machines)
    waiting = replace(seen, now=LATER, machines=marked)
    assert decide(waiting, Asking(), rests).commands == ()
    looked = later(waiting, 2 * SETTLE)
    remembered, plain = decide(looked, Asking(), rests), decide(looked, Asking())
    assert remembered == plain
    assert plain.commands


@pytest.mark.parametrize("lapsing", ["order", "size"])
def test_what_is_forgotten_after_its_time_is_not_slept_through(lapsing: str) -> None:
    age = timedelta(days=1) if lapsing == "order" else timedelta(days=15)
    at = BEGIN - age + timedelta(minutes=5)
    orders = (Order(id=MINE, offer=OFFER, at=at),) if lapsing == "order" else ()
    old = (Sized(at=at, size=3),) if lapsing == "size" else ()
    seen = replace(at_rest(), limits=Limits(batch=1))
    row = replace(seen.row, orders=orders, sizes=(*old, Sized(at=BEGIN, size=1)))
    seen = replace(seen, row=row)
    remembered, plain = twice(seen, later(seen, timedelta(minutes=6)))
    assert remembered == plain
    assert plain.commands
