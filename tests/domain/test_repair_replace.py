"""Repair and replace: what is destroyed unasked, how much of it, and with what surge."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.machines.replacement import REPLACE
from hostler.domain.model.commands import Next
from hostler.domain.model.fleet import (
    Caps,
    FleetRow,
    creations_left,
    destructions_left,
    in_wave,
    next_room,
)
from hostler.domain.model.machine import Deletion, Offer, Origin, Protection
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, Scope
from hostler.testing.scenes.builders import (
    ABROAD,
    BEGIN,
    FLEET,
    MIN,
    OFFER,
    ZONE,
    S,
    machine,
    server,
)
from hostler.testing.scenes.fleet import Scene

HOUR = timedelta(hours=1)


def row(**changes: object) -> FleetRow:
    return replace(FleetRow(name=FLEET.name, created=BEGIN), **changes)


def phases(scene: Scene) -> list[Phase]:
    return [m.phase for m in sorted(scene.machines.values(), key=lambda m: m.serial)]


def broken(many: int, size: int) -> Scene:
    scene = Scene(fleet=replace(FLEET, size=size))
    scene.furnish(*(machine(number) for number in range(1, size + 1)))
    for number in range(1, many + 1):
        lost = replace(scene.the(number), phase=Phase.FAILED).with_fact("loss_proved", scene.now)
        scene.keep(lost)
        scene.exist(server(lost, Condition.OFF))
    scene.observe()
    return scene


# ---------------------------------------------------------------- caps


def test_caps_count_the_share_in_its_window_the_hour_and_the_reclaim() -> None:
    fleet = replace(FLEET, size=50, caps=Caps(per_reclaim=9, per_hour=8, share=0.1))
    assert destructions_left(fleet, row(), BEGIN) == 5
    assert destructions_left(fleet, row(destructions=(BEGIN,) * 3), BEGIN) == 2
    assert destructions_left(fleet, row(destructions=(BEGIN,) * 3), BEGIN + 1 * MIN) == 5
    assert destructions_left(fleet, row(destructions=(BEGIN,) * 6), BEGIN + 1 * MIN) == 2
    assert destructions_left(fleet, row(destructions=(BEGIN,) * 6), BEGIN + HOUR) == 5
    assert destructions_left(fleet, row(destructions=(BEGIN,) * 99), BEGIN) == 0
    assert destructions_left(replace(fleet, caps=Caps(per_reclaim=2)), row(), BEGIN) == 2


def test_share_of_a_small_fleet_is_one() -> None:
    assert destructions_left(FLEET, row(), BEGIN) == 1


def test_next_room_is_when_there_is_room() -> None:
    fleet = replace(FLEET, size=20, caps=Caps(per_hour=3))
    for times in (
        (),
        (BEGIN,),
        (BEGIN, BEGIN + 10 * S),
        (BEGIN, BEGIN + 10 * S, BEGIN + 20 * S),
        (BEGIN, BEGIN + 10 * S, BEGIN + 20 * S, BEGIN + 20 * S),
    ):
        full = row(destructions=times)
        at = next_room(fleet, full, BEGIN + 30 * S)
        assert destructions_left(fleet, full, at) > 0
        if at > BEGIN + 30 * S:
            assert destructions_left(fleet, full, at - timedelta(microseconds=1)) == 0


def test_creations_are_bounded_by_default_too() -> None:
    assert creations_left(FLEET, row(), BEGIN) == 30
    assert creations_left(replace(FLEET, size=100), row(), BEGIN) == 600
    assert creations_left(FLEET, row(creations=(BEGIN,) * 31), BEGIN + 59 * MIN) == 0
    assert creations_left(FLEET, row(creations=(BEGIN,) * 31), BEGIN + HOUR) == 0, (
        "its call is late"
    )
    assert creations_left(FLEET, row(creations=(BEGIN,) * 31), BEGIN + HOUR + MIN) == 30


def test_cap_holds_over_cycles_and_restarts_because_it_is_in_the_row() -> None:
    scene = broken(5, 10)
    scene.reconcile()
    assert phases(scene)[:5].count(Phase.STOPPING) == 1
    again = Scene(fleet=scene.fleet, now=scene.now + 1 * S, row=scene.row)
    again.machines, again.resources = dict(scene.machines), dict(scene.resources)
    again.observe()
    again.reconcile()
    assert phases(again)[:5].count(Phase.STOPPING) == 1
    again.later(1 * MIN)
    again.observe()
    again.reconcile()
    assert phases(again)[:5].count(Phase.STOPPING) == 2


def test_rollback_of_what_was_never_ready_needs_no_room() -> None:
    scene = broken(5, 10)
    for number in range(1, 6):
        scene.keep(scene.the(number).with_health(was_ready=None))
    scene.reconcile()
    assert phases(scene)[:5] == [Phase.STOPPING] * 5
    assert scene.row.destructions == ()


def test_what_is_repaired_says_that_the_cap_was_counted_for_it() -> None:
    scene = broken(1, 1)
    assert scene.the().fact("allowed") is None
    scene.reconcile()
    assert scene.the().fact("allowed") == scene.now
    assert scene.row.destructions == (scene.now,)


def test_machine_without_room_says_when_there_will_be() -> None:
    scene = broken(2, 2)
    scene.reconcile()
    scene.later(10 * S)
    scene.observe()
    verdict = scene.decide().verdicts[1]
    assert "cap" in verdict.blocker
    assert verdict.next.at == scene.now + 50 * S


# ---------------------------------------------------------------- loss wave (G11)


def test_wave_begins_above_two_and_above_a_fifth() -> None:
    fleet = replace(FLEET, size=20)
    assert not in_wave(fleet, row(), 4, BEGIN)
    assert in_wave(fleet, row(), 5, BEGIN)
    assert in_wave(fleet, row(losses=(BEGIN,) * 3), 2, BEGIN)
    assert not in_wave(fleet, row(losses=(BEGIN,) * 3), 2, BEGIN + FLEET.timers.wave_window)
    assert not in_wave(FLEET, row(), 2, BEGIN)
    assert in_wave(FLEET, row(), 3, BEGIN)


def test_in_a_wave_each_loss_needs_an_observation_of_its_own() -> None:
    scene = Scene(fleet=replace(FLEET, size=5))
    scene.furnish(*(machine(number) for number in range(1, 6)))
    for number in range(1, 6):
        scene.exist(server(machine(number), Condition.OFF))
    for _ in range(40):
        scene.observe()
        scene.reconcile()
        scene.later(2 * S)
    assert phases(scene) == [Phase.READY] * 5
    one = scene.the(3)
    scene.observe_one(Scope(ZONE, "server", one.id, (server(one).id,)))
    scene.reconcile()
    assert [m.serial for m in scene.machines.values() if not m.wanted] == [3]


def test_losses_of_the_window_are_counted_by_every_kind() -> None:
    scene = Scene(fleet=replace(FLEET, size=1))
    scene.furnish(machine(1))
    scene.exist(server(machine(1), Condition.OFF))
    scene.rounds(15, 2 * S)
    assert len(scene.row.losses) == 1
    late = Scene()
    late.add(replace(machine(1, Phase.STARTING), asked=()))
    late.exist(server(machine(1), Condition.STARTING))
    late.observe()
    late.reconcile()
    assert len(late.row.losses) == 1


# ---------------------------------------------------------------- replace


def outdated(size: int, surge: int = 1) -> Scene:
    scene = Scene(
        fleet=replace(FLEET, size=size, template="new", replace_outdated=True, surge=surge)
    )
    scene.furnish(*(machine(number) for number in range(1, size + 1)))
    scene.observe()
    return scene


def heal(scene: Scene) -> None:
    """Let what starts be up, and what stops be gone."""
    for entry in tuple(scene.machines.values()):
        if entry.phase is Phase.STARTING:
            scene.furnish(replace(machine(entry.serial), template=entry.template))
        if entry.phase is Phase.STOPPING:
            scene.keep(replace(entry, phase=Phase.DELETED))
            scene.vanish(*(p.id for p in scene.resources.values() if entry.id in p.id))
    scene.observe()


def test_outdated_machines_are_replaced_one_after_the_other_never_below_the_size() -> None:
    scene, most = outdated(3), 0
    for _ in range(200):
        scene.reconcile()
        heal(scene)
        there = [m for m in scene.machines.values() if m.phase is Phase.READY]
        assert len(there) >= 3
        most = max(most, len(scene.machines))
        scene.later(10 * S)
        scene.observe()
    assert {m.template for m in scene.machines.values()} == {"new"}
    assert len(scene.machines) == 3
    assert most <= 5


def test_nothing_goes_before_its_replacement_is_ready() -> None:
    scene = outdated(1)
    scene.reconcile()
    scene.reconcile()
    assert phases(scene) == [Phase.READY, Phase.STARTING]
    heal(scene)
    scene.reconcile()
    assert phases(scene) == [Phase.DRAINING, Phase.READY]
    deletion = scene.the(1).deletion
    assert deletion is not None
    assert deletion.actor == REPLACE


@pytest.mark.parametrize("ending", [4, 5])
def test_what_is_replaced_stays_within_the_maximum_of_the_size(ending: int) -> None:
    """The surge is no size: with many that end still, there was one more than may be."""
    scene = outdated(6)
    ends = (machine(number, Phase.STOPPING, scene.now) for number in range(7, 7 + ending))
    scene.furnish(*ends)
    scene.observe()
    scene.reconcile()
    assert scene.fleet.most(6) == 11
    assert len(scene.machines) == 11


def test_without_surge_the_old_one_goes_first() -> None:
    scene = outdated(2, surge=0)
    scene.reconcile()
    assert phases(scene)[:2] == [Phase.DRAINING, Phase.READY]
    assert len(scene.machines) <= 3


def test_replacing_takes_room_of_the_cap() -> None:
    scene = outdated(1, surge=0)
    scene.row = replace(scene.row, destructions=(scene.now,))
    decision = scene.reconcile()
    assert phases(scene) == [Phase.READY]
    (verdict,) = decision.verdicts
    text = "draining: when the cap has room"
    assert verdict.next == Next(kind="move", detail=text, at=scene.now + 1 * MIN)
    scene.later(1 * MIN)
    scene.observe()
    scene.reconcile()
    assert phases(scene)[0] is Phase.DRAINING
    assert scene.row.destructions[-1] == scene.now
    assert scene.the(1).fact("allowed") == scene.now


def test_none_is_replaced_while_many_are_lost() -> None:
    """Instances 231008640: it was drained, and stood unused until the gate let it go."""
    scene = outdated(1, surge=0)
    scene.row = replace(scene.row, losses=(scene.now,) * 3)
    (verdict,) = scene.reconcile().verdicts
    assert phases(scene) == [Phase.READY]
    assert verdict.next == Next(kind="move", detail="draining: when no more are lost at once")
    assert not scene.row.destructions
    scene.later(FLEET.timers.wave_window)
    scene.observe()
    scene.reconcile()
    assert phases(scene)[0] is Phase.DRAINING


def test_one_is_replaced_though_few_are_lost() -> None:
    scene = outdated(1, surge=0)
    scene.row = replace(scene.row, losses=(scene.now,) * 2)
    scene.reconcile()
    assert phases(scene)[0] is Phase.DRAINING


def test_machine_past_its_greatest_age_is_replaced() -> None:
    scene = Scene(fleet=replace(FLEET, timers=replace(FLEET.timers, max_age=HOUR)))
    scene.furnish(machine(1))
    scene.now = BEGIN + HOUR - 1 * S
    scene.observe()
    scene.reconcile()
    assert len(scene.machines) == 1
    scene.later(1 * S)
    scene.observe()
    scene.reconcile()
    assert len(scene.machines) == 2


def test_outdated_machine_stays_where_nobody_asked_for_replacing() -> None:
    scene = outdated(1)
    scene.fleet = replace(scene.fleet, replace_outdated=False)
    assert scene.decide().commands == ()


IMAGE = replace(OFFER, image="Tahoe")


@pytest.mark.parametrize(
    ("made", "offers", "goes"),
    [
        (IMAGE, (IMAGE,), False),
        (IMAGE, (replace(IMAGE, image="tahoe"),), False),
        (IMAGE, (replace(IMAGE, image="newer"),), True),
        (IMAGE, (replace(IMAGE, image="newer"), IMAGE), False),
        (IMAGE, (replace(IMAGE, image=""),), False),
        (replace(IMAGE, image=""), (IMAGE,), False),
        (IMAGE, (replace(IMAGE, type="large"), IMAGE), False),
        (IMAGE, (replace(IMAGE, type="large"),), True),
        (IMAGE, (replace(IMAGE, zone=ABROAD),), True),
    ],
)
def test_a_type_a_zone_or_an_image_that_is_no_longer_named_is_drift(
    made: Offer, offers: tuple[Offer, ...], goes: bool
) -> None:
    """Offers that stand behind others are as good as they. A Mac's template has no image."""
    scene = Scene(fleet=replace(FLEET, offers=offers, replace_outdated=True, surge=0))
    scene.furnish(replace(machine(1), offer=made))
    scene.observe()
    scene.reconcile()
    assert (scene.the(1).phase is Phase.DRAINING) == goes
    if goes:
        assert scene.the(1).deletion == Deletion(at=scene.now, actor=REPLACE, why="outdated")


def test_what_was_adopted_may_be_of_another_type() -> None:
    offers = (replace(OFFER, type="large"),)
    scene = Scene(fleet=replace(FLEET, offers=offers, replace_outdated=True, surge=0))
    scene.furnish(replace(machine(1), origin=Origin.ADOPTED))
    scene.observe()
    scene.reconcile()
    assert phases(scene) == [Phase.READY]


def test_held_machine_is_not_replaced_and_needs_no_surge() -> None:
    scene = outdated(1)
    scene.keep(replace(scene.the(), protection=Protection(until=BEGIN + HOUR, why="", actor="")))
    scene.reconcile()
    assert phases(scene) == [Phase.READY]


def test_what_only_waits_for_an_answer_keeps_its_replacement() -> None:
    """Seed 5036336: its replacement was made, and ended again as one too many, call by call."""
    scene = outdated(1)
    scene.reconcile()
    scene.moving.add(scene.the(1).id)
    scene.reconcile()
    assert phases(scene) == [Phase.READY, Phase.STARTING]
    assert scene.the(2).deletion is None


def test_machine_in_flight_takes_no_room_of_the_cap() -> None:
    scene = outdated(1, surge=0)
    scene.moving.add(scene.the().id)
    scene.reconcile()
    assert scene.row.destructions == ()
