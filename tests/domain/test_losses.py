"""Losses: what is told of machines that are not seen, and when each is asked for by its id."""

from msgspec.structs import replace

from hostler.domain.model.commands import Advance
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Scope
from hostler.testing.scenes.builders import FLEET, MIN, ZONE, S, machine, server
from hostler.testing.scenes.fleet import Scene


def vanished(size: int, lost: int) -> Scene:
    """A fleet in whose newest listing the servers of the first few are missing."""
    scene = Scene(fleet=replace(FLEET, size=size))
    scene.furnish(*(machine(number) for number in range(1, size + 1)))
    scene.observe()
    scene.later(2 * MIN)
    scene.vanish(*(server(machine(number)).id for number in range(1, lost + 1)))
    scene.observe()
    return scene


def alone(number: int) -> Scope:
    one = machine(number)
    return Scope(ZONE, "server", one.id, (server(one).id,), alone=True)


def questions(scene: Scene) -> list[tuple[Scope, ...]]:
    return [a.close for a in scene.reconcile().commands if isinstance(a, Advance) and a.close]


def test_what_is_missing_is_asked_for_at_once_and_again_a_gap_later_by_its_id_alone() -> None:
    scene = vanished(3, 1)
    assert questions(scene) == [(alone(1),)]
    scene.observe_one(alone(1))
    assert questions(scene) == [], "no earlier answer can prove anything"
    scene.later(FLEET.timers.absence_gap)
    assert questions(scene) == [(alone(1),)]
    assert scene.the(1).phase is Phase.READY
    scene.observe_one(alone(1))
    scene.reconcile()
    assert not scene.the(1).wanted


def test_a_fleet_says_from_when_on_no_listing_shows_it() -> None:
    """A key that was revoked, say: records go on saying that all is up."""
    scene = Scene(fleet=replace(FLEET, size=1))
    scene.furnish(machine(1))
    scene.observe()
    seen = scene.now
    for _ in range(3):
        scene.later(20 * S)
        scene.observe(complete=False)
        scene.reconcile()
    assert scene.row.condition == "", "one listing that fails is nothing"
    scene.later(20 * S)
    scene.observe(complete=False)
    scene.reconcile()
    text = scene.row.condition
    assert f"no listing shows all of z-1 from {seen:%H:%M:%S} UTC on" in text
    scene.later(MIN)
    scene.observe(complete=False)
    scene.reconcile()
    assert scene.row.condition == text, "it is said once"
    scene.observe()
    scene.reconcile()
    assert scene.row.condition == ""


def test_answers_less_than_a_gap_apart_prove_no_absence() -> None:
    scene = vanished(3, 1)
    for _ in range(9):
        scene.reconcile()
        scene.observe_one(alone(1))
        scene.later(2 * S)
    scene.reconcile()
    assert scene.the(1).phase is Phase.READY


def test_answers_of_one_moment_prove_no_absence_however_long_lists_lacked_it() -> None:
    """Fleeting 98000227: a person took its tags away, by which lists are asked for."""
    scene = vanished(3, 1)
    scene.reconcile()
    for pause in (2 * FLEET.timers.absence_gap, 2 * S, FLEET.timers.absence_gap - 3 * S):
        scene.later(pause)
        scene.observe()
        scene.observe_one(alone(1))
        scene.reconcile()
        assert scene.the(1).phase is Phase.READY
    scene.later(1 * S)
    assert questions(scene) == [(alone(1),)]
    scene.observe_one(alone(1))
    scene.reconcile()
    assert not scene.the(1).wanted


def test_fleet_says_how_many_are_not_seen_and_since_when_until_they_are_seen_again() -> None:
    scene = vanished(10, 5)
    scene.reconcile()
    assert scene.row.condition.startswith(f"5 not seen since {scene.now:%H:%M:%S} UTC: ")
    scene.furnish(*(scene.the(number) for number in range(1, 6)))
    scene.later(2 * S)
    scene.observe()
    scene.reconcile()
    scene.reconcile()
    assert scene.row.condition == ""


def test_fleet_that_misses_one_or_two_has_no_condition() -> None:
    scene = vanished(10, 2)
    scene.reconcile()
    assert scene.row.condition == ""
    assert scene.the(1).health.doubt is not None


def test_losses_that_are_proved_are_counted_while_others_are_in_doubt() -> None:
    scene = vanished(10, 5)
    scene.reconcile()
    first = scene.row.condition
    scene.observe_one(alone(1), alone(2))
    scene.later(FLEET.timers.absence_gap)
    scene.observe_one(alone(1), alone(2))
    scene.reconcile()
    assert sum(not m.wanted for m in scene.machines.values()) == 2
    assert scene.row.condition == first
