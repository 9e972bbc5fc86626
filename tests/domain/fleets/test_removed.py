"""Fleets that were taken out of the file: kept as they are, or ended; never made larger."""

import pytest
from msgspec.structs import replace

from hostler.domain.ids import ResourceId
from hostler.domain.model.commands import Decision, SaveFleet
from hostler.domain.model.fleet import OnRemove
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import RequestKind
from hostler.testing.scenes.builders import BEGIN, FLEET, MIN, S, machine, machine_id
from hostler.testing.scenes.fleet import Scene

KEPT = replace(FLEET, size=3, definition='{"size": 3}', removed=True)
ENDING = replace(KEPT, on_remove=OnRemove.END)


def scene_of(fleet: object, *machines: Machine) -> Scene:
    scene = Scene(fleet=fleet)  # pyright: ignore[reportArgumentType] - a Fleet, by replace
    scene.furnish(*(machines or (machine(1), machine(2))))
    scene.observe()
    return scene


def inserts(decision: Decision) -> int:
    return sum(len(c.inserts) for c in decision.commands if isinstance(c, SaveFleet))


def phases(scene: Scene) -> list[Phase]:
    return [entry.phase for entry in scene.in_order()]


def test_fleet_that_is_kept_is_left_as_it_is_and_its_date_is_written_down() -> None:
    scene = scene_of(KEPT)
    decision = scene.reconcile()
    assert inserts(decision) == 0
    assert "no longer in the file" in decision.condition
    assert (scene.row.removed, scene.row.ends) == (scene.now, False)
    since = scene.row.removed
    scene.rounds(30, 60 * S)
    assert phases(scene) == [Phase.READY, Phase.READY]
    assert scene.row.removed == since


def test_no_machine_of_a_kept_fleet_is_replaced_because_it_is_outdated() -> None:
    old = replace(machine(1), template="another", since=BEGIN)
    scene = scene_of(replace(KEPT, replace_outdated=True), old, machine(2), machine(3))
    scene.rounds(10, MIN)
    assert phases(scene) == [Phase.READY] * 3


def test_machine_that_a_kept_fleet_loses_is_not_replaced() -> None:
    scene = scene_of(KEPT)
    scene.reconcile()
    scene.vanish(ResourceId(f"server-{machine_id(1)}"))
    scene.rounds(30, 10 * S)
    assert phases(scene)[-1] is Phase.READY
    assert len(scene.history) + len(scene.machines) == 2, "none was made"


def test_machine_of_a_kept_fleet_ends_where_somebody_asks_for_that_and_no_other_is_made() -> None:
    scene = scene_of(KEPT)
    scene.reconcile()
    scene.request(RequestKind.DELETE, machine_id(1))
    scene.rounds(3)
    assert phases(scene) == [Phase.STOPPING, Phase.READY]


def test_pause_that_somebody_asked_for_keeps_a_kept_fleets_machines_from_ending() -> None:
    scene = scene_of(KEPT)
    scene.request(RequestKind.PAUSE)
    scene.reconcile()
    scene.request(RequestKind.DELETE, machine_id(1))
    scene.rounds(3)
    assert phases(scene) == [Phase.DRAINING, Phase.READY] or phases(scene) == [Phase.READY] * 2


@pytest.mark.parametrize("how", ["on_remove", "request"])
def test_fleet_that_ends_lets_all_its_machines_go_and_makes_none(how: str) -> None:
    scene = scene_of(ENDING if how == "on_remove" else KEPT)
    scene.reconcile()
    if how == "request":
        scene.request(RequestKind.DELETE)
        scene.reconcile()
    assert scene.row.ends
    assert scene.row.desired(scene.fleet) == 0
    for _ in range(3):
        assert inserts(scene.reconcile()) == 0
        scene.later(2 * S)
        scene.observe()
    assert set(phases(scene)) == {Phase.STOPPING}


def test_machines_that_somebody_asked_for_one_by_one_end_too() -> None:
    scene = scene_of(replace(ENDING, renews=False, size=0))
    scene.rounds(3)
    assert set(phases(scene)) == {Phase.STOPPING}


def test_fleet_of_the_file_is_not_ended_by_a_request_for_its_end() -> None:
    scene = scene_of(replace(KEPT, removed=False, size=2))
    scene.request(RequestKind.DELETE)
    scene.reconcile()
    assert not scene.row.ends
    assert phases(scene) == [Phase.READY, Phase.READY]


def test_machines_that_drain_are_called_back_where_their_fleet_comes_back_into_the_file() -> None:
    scene = scene_of(ENDING)
    scene.reconcile()
    assert phases(scene) == [Phase.DRAINING] * 2
    scene.fleet = replace(scene.fleet, removed=False, size=2)
    scene.later(2 * S)
    scene.observe()
    scene.reconcile()
    assert phases(scene) == [Phase.READY] * 2


@pytest.mark.parametrize("fleet", [KEPT, ENDING])
def test_fleet_that_comes_back_into_the_file_is_as_any_other(fleet: object) -> None:
    scene = scene_of(fleet)
    scene.reconcile()
    scene.fleet = replace(scene.fleet, removed=False, definition='{"size": 4}', size=4)
    made = inserts(scene.reconcile())
    assert made == 2 if fleet is KEPT else made >= 2
    assert (scene.row.removed, scene.row.ends) == (None, False)
    assert scene.row.definition == '{"size": 4}'


def test_definition_is_kept_as_the_file_last_had_it() -> None:
    scene = scene_of(replace(KEPT, removed=False))
    scene.reconcile()
    scene.fleet = replace(KEPT, definition="whatever")
    scene.reconcile()
    assert scene.row.definition == '{"size": 3}'


def test_account_of_a_fleet_is_kept_while_nothing_tells_another_one() -> None:
    scene = scene_of(replace(KEPT, removed=False, account_id="cloud project 1"))
    scene.reconcile()
    scene.fleet = replace(scene.fleet, account_id="")
    scene.reconcile()
    assert scene.row.account_id == "cloud project 1"
    scene.fleet = replace(scene.fleet, account_id="cloud project 2")
    scene.reconcile()
    assert scene.row.account_id == "cloud project 2"
