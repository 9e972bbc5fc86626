"""Resize: how many are made, of which offer, and which go; what is remembered of an offer."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import Zone
from hostler.domain.model.calls import Refusal
from hostler.domain.model.commands import Decision, SaveFleet
from hostler.domain.model.fleet import Caps, FleetRow, Setback
from hostler.domain.model.machine import Deletion, Machine, Offer, Protection
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.testing.scenes.builders import ABROAD, BEGIN, FLEET, MIN, OFFER, S, machine, server
from hostler.testing.scenes.fleet import Scene

OTHER = Offer(type="small", zone=Zone("z-2"))
LARGE = Offer(type="large", zone=OFFER.zone)


def empty(size: int, *offers: Offer) -> Scene:
    scene = Scene(fleet=replace(FLEET, size=size, offers=offers or (OFFER,)))
    scene.observe()
    return scene


def inserts(decision: Decision) -> tuple[Offer, ...]:
    return tuple(o for c in decision.commands if isinstance(c, SaveFleet) for o in c.inserts)


def failing(scene: Scene, refusal: Refusal | None = None) -> None:
    """Let every machine that is starting fail: by this refusal, or at its bound."""
    for entry in tuple(scene.machines.values()):
        if entry.phase is Phase.STARTING:
            overdue = replace(entry.with_health(refused=refusal), since=scene.now - 60 * MIN)
            scene.keep(overdue if refusal is None else entry.with_health(refused=refusal))
    scene.observe()
    scene.reconcile()


# ---------------------------------------------------------------- growing


def test_fleet_grows_to_its_size_in_one_cycle_and_then_rests() -> None:
    scene = empty(3)
    assert inserts(scene.reconcile()) == (OFFER,) * 3
    scene.reconcile()
    assert [m.phase for m in scene.machines.values()] == [Phase.STARTING] * 3
    assert inserts(scene.reconcile()) == ()


@pytest.mark.parametrize(
    ("phase", "made"),
    [
        (Phase.PENDING, 0),
        (Phase.STARTING, 0),
        (Phase.READY, 0),
        (Phase.STOPPING, 1),
        (Phase.FAILED, 1),
    ],
)
def test_phase_counts_towards_the_size_as_its_row_says(phase: Phase, made: int) -> None:
    scene = empty(1)
    scene.furnish(machine(1, phase, since=scene.now).with_health(was_ready=None))
    scene.observe()
    assert len(inserts(scene.decide())) == made


def test_machine_in_flight_counts() -> None:
    scene = empty(1)
    scene.furnish(machine(1, Phase.STARTING))
    scene.moving.add(scene.the().id)
    assert inserts(scene.decide()) == ()


def test_maximum_bounds_what_exists() -> None:
    scene = empty(4)
    scene.fleet = replace(scene.fleet, maximum=5)
    scene.furnish(*(machine(number, Phase.STOPPING, since=scene.now) for number in (1, 2, 3)))
    scene.observe()
    decision = scene.decide()
    assert len(inserts(decision)) == 2
    scene.fleet = replace(scene.fleet, maximum=3)
    decision = scene.decide()
    assert inserts(decision) == ()
    assert "maximum of 3" in decision.condition


def test_a_machine_whose_end_begins_once_more_counts_at_once() -> None:
    scene = empty(2)
    scene.fleet = replace(scene.fleet, maximum=2)
    deleted = machine(1, Phase.DELETED, since=scene.now).with_health(was_ready=None)
    scene.history[deleted.id] = deleted
    scene.exist(server(deleted))
    scene.observe()
    decision = scene.reconcile()
    assert scene.the(1).phase is Phase.STOPPING
    assert len(inserts(decision)) == 1


def test_stuck_machines_have_an_allowance_over_the_maximum_and_no_more() -> None:
    scene = empty(2)
    scene.fleet = replace(scene.fleet, maximum=2, caps=Caps(stuck=1))
    stuck = [machine(n, Phase.STOPPING, since=scene.now).with_health(stuck=True) for n in (1, 2, 3)]
    scene.furnish(stuck[0])
    scene.observe()
    assert len(inserts(scene.decide())) == 2
    scene.furnish(*stuck)
    scene.observe()
    assert inserts(scene.decide()) == ()


def test_creations_are_bounded_by_the_hour_whatever_fails() -> None:
    scene = empty(1)
    scene.fleet = replace(
        scene.fleet, caps=Caps(creates=5), timers=replace(FLEET.timers, tries=(1 * S,))
    )
    made = 0
    for _ in range(50):
        made += len(inserts(scene.reconcile()))
        scene.reconcile()
        failing(scene)
        made += sum(len(inserts(scene.reconcile())) for _ in range(2))
        scene.later(10 * S)
        scene.observe()
    assert made <= 5
    assert "creations in an hour" in scene.row.condition
    scene.later(timedelta(hours=1))
    scene.observe()
    for entry in tuple(scene.machines.values()):
        scene.keep(replace(entry, phase=Phase.DELETED))
    assert inserts(scene.reconcile())


# ---------------------------------------------------------------- where the count is not known


def test_nothing_is_made_in_a_zone_that_was_not_observed_whole() -> None:
    scene = Scene()
    assert inserts(scene.decide()) == ()
    scene.observe(complete=False)
    decision = scene.decide()
    assert inserts(decision) == ()
    assert "no zone of this fleet could be observed whole" in decision.condition


def test_nothing_is_made_on_an_old_observation() -> None:
    scene = empty(1)
    scene.later(FLEET.timers.observation_limit + 1 * S)
    assert inserts(scene.decide()) == ()


def test_recorded_machine_is_not_started_in_a_zone_that_cannot_be_observed() -> None:
    scene = empty(1)
    scene.reconcile()
    scene.later(2 * MIN)
    scene.reconcile()
    assert scene.the().phase is Phase.PENDING
    scene.observe()
    scene.reconcile()
    assert scene.the().phase is Phase.STARTING


def test_other_zones_go_on_while_one_is_dead() -> None:
    scene = Scene(fleet=replace(FLEET, size=2, offers=(OTHER, OFFER)))
    scene.observe()
    scene.inventory = replace(
        scene.inventory,
        whole={k: v for k, v in scene.inventory.whole.items() if k[0] != OTHER.zone},
    )
    assert inserts(scene.decide()) == (OFFER, OFFER)


def test_wanted_machine_that_cannot_be_admitted_ends_at_its_bound() -> None:
    scene = empty(1)
    scene.reconcile()
    scene.later(FLEET.timers.admit)
    scene.reconcile()
    assert [m.reason for m in scene.history.values()] == ["not_admitted"]


# ---------------------------------------------------------------- foreign and unexplained parts


def test_foreign_owner_tag_in_our_name_stops_creation_and_touches_nothing() -> None:
    scene = empty(2)
    scene.furnish(machine(1))
    scene.exist(server(machine(50), installation=ABROAD))
    scene.observe()
    decision = scene.decide()
    assert inserts(decision) == ()
    assert str(ABROAD) in decision.condition
    assert "hostler adopt FILE --from abroad" in decision.condition


def test_unexplained_resource_in_our_name_stops_creation() -> None:
    scene = empty(2)
    scene.exist(server(machine(50)))
    scene.observe()
    decision = scene.decide()
    assert inserts(decision) == ()
    assert "hostler orphans FILE" in decision.condition


def test_recorded_machine_is_not_started_beside_foreign_resources() -> None:
    scene = empty(1)
    scene.reconcile()
    scene.exist(server(machine(50), installation=ABROAD))
    scene.observe()
    scene.reconcile()
    assert scene.the().phase is Phase.PENDING


def test_foreign_resources_of_another_fleet_are_none_of_ours() -> None:
    scene = empty(1)
    other = server(machine(50), installation=ABROAD)
    assert other.owner_tag is not None
    scene.exist(
        replace(other, owner_tag=replace(other.owner_tag, fleet=FLEET.name.__class__("api")))
    )
    scene.observe()
    assert inserts(scene.decide()) == (OFFER,)


# ---------------------------------------------------------------- shrinking


def sized(size: int, *machines: Machine) -> Scene:
    scene = Scene(fleet=replace(FLEET, size=size))
    scene.furnish(*machines)
    scene.exist(*(server(m, Condition.STARTING) for m in machines if m.phase is Phase.STARTING))
    scene.observe()
    scene.reconcile()
    return scene


def test_what_is_lost_first_is_the_unborn_the_half_made_the_outdated_and_then_the_youngest() -> (
    None
):
    everybody = (
        machine(1),
        replace(machine(2), template="old"),
        machine(3),
        machine(4, Phase.STARTING, BEGIN + 9 * MIN),
        machine(5, Phase.PENDING, BEGIN + 9 * MIN),
    )
    order = [5, 4, 2, 3, 1]
    for many in range(1, 6):
        scene = sized(5 - many, *everybody)
        going = {n for n in range(1, 6) if machine(n).id not in scene.machines}
        going |= {m.serial for m in scene.machines.values() if not m.wanted}
        assert going == set(order[:many])


def test_a_machine_that_came_from_another_fleet_is_as_old_as_it_is() -> None:
    """It was given a new serial, newer than those of machines that were made here since."""
    carried = replace(machine(9), created=BEGIN - 60 * MIN)
    scene = sized(1, machine(1), carried)
    assert scene.the(9).wanted
    assert not scene.the(1).wanted


def test_held_machine_is_not_picked() -> None:
    scene = Scene(fleet=replace(FLEET, size=0))
    held = replace(machine(1), protection=Protection(until=BEGIN + 60 * MIN, why="", actor=""))
    scene.furnish(held, machine(2))
    scene.observe()
    scene.reconcile()
    assert scene.the(1).wanted
    assert not scene.the(2).wanted


def test_draining_machine_is_called_back_when_it_is_wanted_again() -> None:
    scene = sized(0, machine(1))
    assert scene.the().phase is Phase.DRAINING
    scene.row = replace(scene.row, size=1)
    decision = scene.reconcile()
    assert scene.the().phase is Phase.READY
    assert scene.the().deletion is None
    assert inserts(decision) == ()


def test_machine_that_a_person_ended_is_not_called_back() -> None:
    scene = Scene()
    entry = machine(1, Phase.DRAINING)
    scene.furnish(replace(entry, deletion=Deletion(at=BEGIN, actor="ann", why="")))
    scene.observe()
    assert inserts(scene.reconcile()) == (OFFER,)
    assert scene.the(1).phase is Phase.STOPPING


# ---------------------------------------------------------------- offers, stock, back-off


def setback(offer: Offer, until: timedelta, *, stock: bool = False, count: int = 1) -> Setback:
    return Setback(offer=offer, why="why", until=BEGIN + until, stock=stock, count=count)


def test_after_out_of_stock_the_next_offer_is_tried_and_the_empty_one_remembered() -> None:
    scene = empty(1, LARGE, OFFER)
    assert inserts(scene.reconcile()) == (LARGE,)
    scene.reconcile()
    for entry in tuple(scene.machines.values()):
        scene.keep(entry.with_health(refused=Refusal.STOCK))
    assert inserts(scene.reconcile()) == (OFFER,)
    memory = scene.row.setback(LARGE)
    assert memory is not None
    assert memory.stock
    assert memory.until == scene.now + FLEET.timers.stock_memory
    assert scene.row.condition == ""


def test_waiting_for_stock_is_told_apart_from_broken() -> None:
    scene = empty(1, LARGE, OFFER)
    scene.row = replace(
        scene.row, setbacks=(setback(LARGE, 15 * MIN, stock=True), setback(OFFER, 15 * MIN))
    )
    assert scene.decide().condition.startswith("backing off until")
    scene.row = scene.row.with_setback(setback(OFFER, 14 * MIN, stock=True))
    decision = scene.decide()
    assert decision.condition.startswith("waiting for stock until 00:14")
    assert decision.due == BEGIN + 14 * MIN


@pytest.mark.parametrize("refusal", [Refusal.STOCK, Refusal.QUOTA])
def test_empty_shelf_is_no_failure(refusal: Refusal) -> None:
    scene = empty(1)
    scene.reconcile()
    scene.reconcile()
    failing(scene, refusal)
    memory = scene.row.setback(OFFER)
    assert memory is not None
    assert (memory.stock, memory.count) == (True, 0)
    assert not scene.row.losses


def test_an_empty_shelf_between_failures_takes_none_of_them_back_nor_their_pause() -> None:
    """An order is refused as often as a claim fails: both wait ever longer."""
    scene = empty(1)
    scene.reconcile()
    scene.reconcile()
    scene.row = scene.row.with_setback(setback(OFFER, 20 * MIN, count=3))
    sooner = scene.row.sold_out(OFFER, "sold out", BEGIN + 15 * MIN)
    memory = sooner.setback(OFFER)
    assert memory is not None
    assert (memory.stock, memory.count, memory.until) == (True, 3, BEGIN + 20 * MIN)
    again = sooner.sold_out(OFFER, "sold out", BEGIN + 15 * MIN).setback(OFFER)
    assert again is not None
    assert again.until == BEGIN + 15 * MIN
    scene.row = sooner
    failing(scene)
    memory = scene.row.setback(OFFER)
    assert memory is not None
    assert (memory.stock, memory.count) == (False, 4)


def test_failures_back_off_ever_longer_on_the_fleet_though_every_record_is_new() -> None:
    scene, waits = empty(1), list[timedelta]()
    for _ in range(4):
        scene.reconcile()
        scene.reconcile()
        failing(scene)
        memory = scene.row.setback(OFFER)
        assert memory is not None
        waits.append(memory.until - scene.now)
        assert memory.why == "start_overdue"
        assert inserts(scene.decide()) == ()
        scene.now = memory.until
        scene.observe()
    assert waits == [30 * S, 2 * MIN, 5 * MIN, 5 * MIN]


def test_machines_that_fail_together_are_one_failure() -> None:
    scene = empty(8)
    scene.reconcile()
    scene.reconcile()
    failing(scene)
    memory = scene.row.setback(OFFER)
    assert memory is not None
    assert memory.count == 1


def test_half_open_offer_is_tried_with_one_machine() -> None:
    scene = empty(5)
    scene.row = replace(scene.row, setbacks=(setback(OFFER, 1 * MIN, count=2),))
    assert inserts(scene.reconcile()) == (OFFER,)
    assert inserts(scene.reconcile()) == ()
    assert "with one machine" in scene.row.condition


def test_success_opens_the_offer_for_all() -> None:
    scene = empty(5)
    scene.row = replace(scene.row, setbacks=(setback(OFFER, 1 * MIN, count=2),))
    scene.reconcile()
    scene.reconcile()
    entry = next(iter(scene.machines.values()))
    scene.exist(server(entry))
    scene.keep(replace(entry, places=machine(1).places))
    scene.furnish(replace(scene.the(), phase=Phase.STARTING))
    scene.observe()
    assert len(inserts(scene.reconcile())) == 4
    assert scene.row.setbacks == ()


def test_machine_that_was_asked_to_end_while_starting_is_no_failure_of_its_offer() -> None:
    scene = empty(1)
    scene.reconcile()
    scene.reconcile()
    scene.row = replace(scene.row, size=0)
    scene.reconcile()
    assert scene.the().phase is Phase.STOPPING
    assert scene.row.setbacks == ()


def test_memory_of_one_offer_does_not_touch_another() -> None:
    row = FleetRow(name=FLEET.name, created=BEGIN).with_setback(setback(OFFER, 1 * MIN))
    row = row.with_setback(setback(LARGE, 2 * MIN))
    assert row.without_setback(OFFER).setbacks == (setback(LARGE, 2 * MIN),)
    assert row.setback(OTHER) is None
