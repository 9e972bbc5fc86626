"""Renames: what moves with a record, and what bounded the old fleet bounds the new one."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.fleets.reclaim import orphan_report
from hostler.domain.fleets.renames import Move, begun, finished, impossible, joined
from hostler.domain.ids import CycleId, Epoch, FleetName, MachineId, ResourceId
from hostler.domain.model.fleet import FleetRow, Order, Setback, Sized, renames
from hostler.domain.model.machine import CallState, Protection
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Orphan, Request, RequestKind
from hostler.domain.observation.effects import certain_from
from hostler.testing.scenes.builders import BEGIN, FLEET, MIN, OFFER, ZONE, S, asked, machine
from hostler.testing.scenes.fleet import Scene

WEB, BUILDERS, CI = FleetName("web"), FleetName("builders"), FleetName("ci")
NOW = BEGIN + timedelta(hours=3)
OLD = FleetRow(name=WEB, created=BEGIN, removed=NOW)
NEW = FleetRow(name=BUILDERS, created=NOW, serial=4)
MOVE = Move(
    source=WEB, fleet=BUILDERS, now=NOW, cycle=CycleId("c-1"), epoch=Epoch(5), took=NOW - MIN
)


def request(source: FleetName = WEB) -> Request:
    return Request(
        number=1, kind=RequestKind.ADOPT_FLEET, fleet=BUILDERS, at=NOW, actor="ann", source=source
    )


def taken(old: FleetRow, new: FleetRow = NEW) -> FleetRow:
    """Return the row of the fleet that takes over, as it begins."""
    snapshot = replace(Scene(fleet=replace(FLEET, name=BUILDERS)).snapshot(), left={WEB: old})
    return begun(new, request(), snapshot)


@pytest.mark.parametrize(
    ("left", "adopted", "why"),
    [
        (OLD, (), ""),
        (replace(OLD, ends=True), (), "web is being deleted with all that it has"),
        (
            replace(OLD, adopts=CI),
            (),
            "web is taking over the machines of ci: ask after that",
        ),
        (OLD, (WEB,), "another fleet is taking over the machines of web already"),
        (OLD, (CI,), ""),
        (None, (), "no fleet web of its provider left the file and has anything still"),
    ],
)
def test_what_becomes_of_a_fleet_already_is_why_it_cannot_be_taken_over(
    left: FleetRow | None, adopted: tuple[FleetName, ...], why: str
) -> None:
    snapshot = Scene(fleet=replace(FLEET, name=BUILDERS)).snapshot()
    snapshot = replace(snapshot, left={WEB: left} if left else {}, adopted=frozenset(adopted))
    assert impossible(NEW, request(), snapshot) == why


def test_what_was_made_destroyed_and_lost_counts_for_the_new_fleet_too() -> None:
    times = tuple(NOW - n * MIN for n in range(3))
    old = replace(OLD, creations=times, destructions=times[:2], losses=times[:1])
    row = taken(old, replace(NEW, creations=(NOW, NOW)))
    assert (len(row.creations), len(row.destructions), len(row.losses)) == (5, 2, 1)
    assert row.creations == tuple(sorted(row.creations))


def test_setbacks_and_a_pause_hold_on_and_demand_is_remembered() -> None:
    pause = Protection(until=NOW + MIN, why="a look", actor="bob")
    back = Setback(offer=OFFER, why="no stock", until=NOW + MIN)
    sizes = (Sized(at=BEGIN, size=2), Sized(at=NOW + MIN, size=9))
    row = taken(replace(OLD, pause=pause, setbacks=(back,), sizes=sizes))
    assert (row.pause, row.setbacks, row.sizes) == (pause, (back,), sizes[:1])
    own = replace(pause, actor="ann")
    known = replace(back, count=4)
    row = taken(
        replace(OLD, pause=pause, setbacks=(back,)), replace(NEW, pause=own, setbacks=(known,))
    )
    assert (row.pause, row.setbacks) == (own, (known,))
    assert (row.name, row.adopts, row.size, row.removed) == (BUILDERS, WEB, None, None)


def test_orders_and_former_names_go_along_each_once() -> None:
    orders = tuple(Order(id=MachineId(f"m-{n}"), offer=OFFER, at=NOW) for n in range(3))
    old = replace(OLD, orders=orders[:2], former=(CI,))
    row = joined(replace(NEW, orders=orders[1:]), old)
    assert {order.id for order in row.orders} == {order.id for order in orders}
    assert joined(row, old) == row
    assert finished(replace(row, adopts=WEB)).former == (CI, WEB)
    assert finished(replace(row, adopts=WEB)).adopts is None


def test_a_former_name_is_not_the_fleets_while_another_has_it() -> None:
    web, builders = FLEET, replace(FLEET, name=BUILDERS)
    rows = {BUILDERS: replace(NEW, former=(WEB, CI))}
    assert renames((builders,), rows) == {WEB: BUILDERS, CI: BUILDERS}
    assert renames((builders, web), rows) == {CI: BUILDERS}
    under_way = {BUILDERS: replace(NEW, adopts=WEB)}
    assert renames((builders, replace(web, removed=True)), under_way) == {WEB: BUILDERS}
    assert renames((builders, web), {}) == {}


def test_a_machine_goes_as_it_is_with_an_event_in_the_history_of_each_fleet() -> None:
    before = machine(1)
    after, events = MOVE.moved(before, 7)
    assert after == replace(before, fleet=BUILDERS, serial=7)
    assert [(e.fleet, e.machine) for e in events] == [(WEB, before.id), (BUILDERS, before.id)]


@pytest.mark.parametrize("epoch", [1, 5, 9])
def test_an_open_call_is_in_doubt_whatever_the_epochs_of_the_two_leases_are(epoch: int) -> None:
    """Epochs of one fleet's lease say nothing of another's: an equal number is no proof."""
    call = replace(asked("server.make", NOW - timedelta(hours=1)), epoch=Epoch(epoch))
    (after,) = MOVE.moved(replace(machine(1), asked=(call,)), 7)[0].asked
    snapshot = replace(Scene().snapshot(), epoch=Epoch(epoch), took=NOW - 30 * S)
    delay = snapshot.capabilities.consistency_delay_of(after.kind)
    assert certain_from(after, snapshot) >= NOW - 30 * S + delay
    late = replace(snapshot, took=BEGIN)
    own = epoch == MOVE.epoch
    assert certain_from(after, late) == (call.at if own else NOW - MIN) + delay


def test_a_call_that_is_over_is_left_as_it_is() -> None:
    call = replace(asked("server.make", NOW), call_state=CallState.DONE, epoch=Epoch(3))
    assert MOVE.moved(replace(machine(1), asked=(call,)), 7)[0].asked == (call,)


def test_what_was_reported_for_the_old_fleet_is_the_new_ones_also_while_nothing_shows_it() -> None:
    scene = Scene(fleet=replace(FLEET, name=BUILDERS))
    scene.observe(complete=False)
    orphan = Orphan(
        resource=ResourceId("r-1"),
        kind="server",
        zone=ZONE,
        fleet=WEB,
        cls=OrphanClass.UNRECORDED,
        first=BEGIN,
        last=scene.now,
    )
    report = orphan_report(replace(scene.snapshot(), orphans=(orphan,)))
    assert report.orphans == (replace(orphan, fleet=BUILDERS),)
    assert report.cleared == ()
    assert orphan_report(replace(scene.snapshot(), orphans=report.orphans)).orphans == ()
