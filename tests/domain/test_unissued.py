"""What carries our owner tag and an id that our store never issued is never ours to destroy."""

import pytest
from msgspec.structs import replace

from hostler.domain.ids import ResourceId
from hostler.domain.model.commands import REQUEST_REFUSED, Reclaim, SaveFleet
from hostler.domain.model.inventory import Inventory
from hostler.domain.model.machine import CallState, Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import OrphanClass, Resource
from hostler.domain.model.snapshot import RequestKind
from hostler.domain.observation.certainty import resources_of
from hostler.testing.fakes.planner import ADDRESS, MAKE_SERVER, SERVER
from hostler.testing.scenes.builders import BEGIN, FLEET, MIN, S, address, asked, machine, server
from hostler.testing.scenes.fleet import Scene

GRACE, GAP = FLEET.timers.grace, FLEET.timers.sighting_gap
NEWER = server(machine(50))
SECOND = server(machine(1), attempt=2, name="second")


def restored(*resources: Resource) -> Scene:
    """Return a fleet of three whose store was put back from before these were made."""
    scene = Scene(fleet=replace(FLEET, size=3, reclaim=True), now=BEGIN + GRACE)
    scene.furnish(*(machine(number) for number in range(1, 4)))
    scene.intrude(*resources)
    scene.observe()
    return scene


def watched(scene: Scene) -> list[ResourceId]:
    """Return what is reclaimed in an hour of complete observations."""
    reclaimed = list[ResourceId]()
    for _ in range(60):
        scene.observe()
        decision = scene.reconcile()
        reclaimed += [
            resource.id
            for command in decision.commands
            if isinstance(command, Reclaim)
            for resource in command.resources
        ]
        scene.later(MIN)
    return reclaimed


def asked_beyond(scene: Scene, resource: Resource) -> list[str]:
    """Return the machines that would destroy this resource now."""
    found = list[str]()
    for entry in scene.machines.values():
        mine = resources_of(entry, scene.snapshot())
        found += [entry.id for one in mine if one.id == resource.id]
    return found


def test_a_server_of_a_newer_store_is_never_reclaimed() -> None:
    scene = restored(NEWER)
    assert watched(scene) == []
    orphan = scene.orphans[NEWER.id]
    assert orphan.cls is OrphanClass.UNISSUED
    assert "never issued its id" in orphan.blocked


def test_nothing_else_is_reclaimed_beside_it() -> None:
    scene = restored(NEWER)
    scene.exist(server(machine(51)))
    assert watched(scene) == []
    assert scene.orphans[server(machine(51)).id].cls is OrphanClass.UNRECORDED


def test_nothing_is_created_beside_it_and_one_condition_says_why() -> None:
    scene = restored(NEWER)
    scene.fleet = replace(scene.fleet, size=5)
    decision = scene.decide()
    assert not [c for c in decision.commands if isinstance(c, SaveFleet) and c.inserts]
    assert "never issued" in decision.condition
    assert "`hostler adopt FILE`" in decision.condition


def test_a_process_that_has_not_listed_everything_yet_takes_no_condition_back() -> None:
    scene = restored(NEWER)
    scene.reconcile()
    before = scene.row.condition
    assert "never issued" in before
    scene.inventory = Inventory()
    assert scene.decide().condition == before
    scene.vanish(NEWER.id)
    scene.observe()
    assert scene.reconcile().condition == before, "one observation is nothing"
    for _ in range(2):
        scene.later(MIN)
        scene.observe()
        scene.reconcile()
    assert scene.decide().condition == ""


def test_its_id_is_known_without_the_record_that_somebody_removed_by_force() -> None:
    scene = restored()
    scene.exist(NEWER)
    assert set(watched(scene)) == {NEWER.id}


def test_adopting_makes_it_a_machine_and_the_fleet_goes_on() -> None:
    scene = restored(NEWER)
    scene.fleet = replace(scene.fleet, size=5)
    scene.reconcile()
    scene.request(RequestKind.ADOPT)
    scene.reconcile()
    assert scene.the(50).phase is Phase.STARTING
    scene.observe()
    decision = scene.decide()
    assert (
        len([c.inserts for c in decision.commands if isinstance(c, SaveFleet) and c.inserts]) == 1
    )


def test_a_second_server_of_a_machine_that_it_never_asked_for_is_left_alone() -> None:
    scene = restored(SECOND)
    assert watched(scene) == []
    assert asked_beyond(scene, SECOND) == []
    assert scene.the().bound(SERVER) == server(machine()).id
    assert scene.orphans[SECOND.id].cls is OrphanClass.UNISSUED


def test_an_address_that_was_tried_more_often_does_not_make_a_second_server_ours() -> None:
    """The backup is of while it started; another store made that server since, and it is at work.

    It was taken for this start's own, and destroyed with it.
    """
    scene = restored(SECOND)
    began = asked(MAKE_SERVER, call_state=CallState.DONE)
    entry = replace(machine(phase=Phase.STARTING), asked=(began,))
    scene.keep(entry.with_place(replace(entry.place(ADDRESS), attempt=2)))
    scene.vanish(server(entry).id)
    assert watched(scene) == []
    assert asked_beyond(scene, SECOND) == []
    assert scene.orphans[SECOND.id].cls is OrphanClass.UNISSUED


def test_nothing_is_created_beside_a_server_that_its_machine_never_asked_for() -> None:
    scene = restored(SECOND)
    scene.fleet = replace(scene.fleet, size=5)
    decision = scene.decide()
    assert not [c for c in decision.commands if isinstance(c, SaveFleet) and c.inserts]
    assert "never issued" in decision.condition


def test_a_machine_that_is_over_does_not_take_it_along() -> None:
    scene = restored(SECOND)
    over = replace(scene.the(), phase=Phase.DELETED)
    scene.vanish(*(one.id for one in resources_of(scene.the(), scene.snapshot())))
    scene.keep(over)
    assert watched(scene) == []
    assert over.id not in scene.machines
    assert scene.orphans[SECOND.id].cls is OrphanClass.UNISSUED


@pytest.mark.parametrize("lost", [False, True], ids=["both are there", "the first is not"])
def test_adopting_believes_what_is_there(lost: bool) -> None:
    scene = restored(SECOND)
    first: Machine = scene.the()
    if lost:
        scene.vanish(server(first).id)
        scene.observe()
    scene.request(RequestKind.ADOPT)
    scene.reconcile()
    scene.later(2 * S)
    scene.observe()
    scene.reconcile()
    assert scene.the().bound(SERVER) == (SECOND.id if lost else server(first).id)
    assert asked_beyond(scene, SECOND) == [first.id]


def over(made: Resource) -> tuple[Scene, Machine]:
    """Return a machine that ended here, and what another store made for it since."""
    scene = restored(made)
    ended = replace(scene.the(), phase=Phase.DELETED)
    scene.vanish(*(one.id for one in resources_of(scene.the(), scene.snapshot())))
    scene.keep(ended)
    scene.observe()
    scene.request(RequestKind.ADOPT)
    return scene, ended


def test_adopting_what_another_store_made_for_a_machine_that_ended_here_ends_it_once_more() -> None:
    """A second record of that id cannot be: the store refused it again and again (seed 157)."""
    newer = address(machine(1), attempt=2, name="newer")
    scene, ended = over(newer)
    decision = scene.reconcile()
    assert not [c for c in decision.commands if isinstance(c, SaveFleet) and c.adopted]
    assert (scene.the().phase, scene.the().reason) == (Phase.STOPPING, "appeared_late")
    assert asked_beyond(scene, newer) == [ended.id]


def test_a_server_that_another_store_made_for_a_machine_that_ended_here_is_left_to_people() -> None:
    """It may be in use: the adoption is refused, in a sentence."""
    scene, ended = over(SECOND)
    decision = scene.reconcile()
    events = [event for c in decision.commands if isinstance(c, SaveFleet) for event in c.events]
    (refused,) = [event.detail for event in events if event.kind == REQUEST_REFUSED]
    assert ended.id in refused
    assert "ended here" in refused
    assert ended.id not in scene.machines
    assert not [c for c in decision.commands if isinstance(c, SaveFleet) and c.adopted]


@pytest.mark.parametrize("size", [1, 3, 4])
def test_the_fleet_says_so_whatever_its_size_is_to_be(size: int) -> None:
    """The condition was "all is well" while a fleet had what it wanted, or shrank."""
    scene = restored(NEWER)
    scene.fleet = replace(scene.fleet, size=size)
    for _ in range(5):
        scene.observe()
        scene.reconcile()
        assert scene.row.condition.count("store never issued") == 1
        scene.later(MIN)


def test_a_pause_does_not_hide_it() -> None:
    scene = restored(NEWER)
    pause = replace(scene.request(RequestKind.PAUSE), until=scene.now + 60 * MIN, why="a fair")
    scene.requests[:] = [pause]
    scene.reconcile()
    scene.observe()
    scene.reconcile()
    assert "a fair" in scene.row.condition
    assert "store never issued" in scene.row.condition
