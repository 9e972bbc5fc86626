"""The view: what looks add, drop and leave alone, each fact with the time of its look."""

from datetime import datetime

import pytest
from msgspec.structs import replace

from hostler.domain.ids import ResourceId, Zone
from hostler.domain.model.inventory import Inventory, merge
from hostler.domain.model.resource import Observation, ObservedScope, Resource, Scope, Slot
from hostler.testing.scenes.builders import BEGIN, ZONE, S, address, machine, server

A, B = server(machine(1)), server(machine(2))
WHOLE = Scope(ZONE, "server")


def observation(
    *resources: Resource, at: int = 0, scopes: tuple[Scope, ...] = (WHOLE,), complete: bool = True
) -> Observation:
    begun = BEGIN + at * S
    observed = tuple(ObservedScope(scope=scope, begun=begun, complete=complete) for scope in scopes)
    return Observation(observed=observed, resources=resources)


def times_of(inventory: Inventory) -> dict[ResourceId, datetime]:
    return {
        resource: inventory.observed_at(sighting)
        for resource, sighting in inventory.sightings.items()
    }


def test_complete_list_drops_what_it_does_not_show() -> None:
    inventory = merge(merge(Inventory(), observation(A, B)), observation(B, at=1))
    assert times_of(inventory) == {B.id: BEGIN + 1 * S}
    assert inventory.whole == {(ZONE, "server"): BEGIN + 1 * S}


def test_incomplete_list_only_adds() -> None:
    inventory = merge(merge(Inventory(), observation(A)), observation(B, at=1, complete=False))
    assert times_of(inventory) == {A.id: BEGIN, B.id: BEGIN + 1 * S}
    assert inventory.whole == {(ZONE, "server"): BEGIN}
    assert (ZONE, "server") in inventory.failed
    assert not merge(inventory, observation(A, at=2)).failed


@pytest.mark.parametrize(
    "scope", [Scope(Zone("z-2"), "server"), Scope(ZONE, "address"), Scope(ZONE, "volume")]
)
def test_list_of_another_zone_or_kind_drops_nothing(scope: Scope) -> None:
    inventory = merge(merge(Inventory(), observation(A)), observation(at=1, scopes=(scope,)))
    assert times_of(inventory) == {A.id: BEGIN}


def test_focused_observation_drops_the_ids_it_asked_for_and_nothing_else() -> None:
    close = Scope(ZONE, "server", machine(1).id, (A.id,))
    inventory = merge(merge(Inventory(), observation(A, B)), observation(at=1, scopes=(close,)))
    assert times_of(inventory) == {B.id: BEGIN}
    assert inventory.missing == {A.id: BEGIN + 1 * S}
    assert inventory.covered(ZONE, "server", machine(1).id) == BEGIN + 1 * S
    assert inventory.covered(ZONE, "server", machine(2).id) == BEGIN


def test_ids_asked_for_alone_say_nothing_of_what_else_their_machine_has() -> None:
    alone = Scope(ZONE, "server", machine(1).id, (A.id,), alone=True)
    inventory = merge(merge(Inventory(), observation(A, B)), observation(at=9, scopes=(alone,)))
    assert times_of(inventory) == {B.id: BEGIN}
    assert inventory.missing == {A.id: BEGIN + 9 * S}
    assert inventory.covered(ZONE, "server", machine(1).id) == BEGIN


def test_focused_observation_that_failed_says_nothing() -> None:
    close = Scope(ZONE, "server", machine(1).id, (A.id,))
    inventory = merge(
        merge(Inventory(), observation(A)), observation(at=1, scopes=(close,), complete=False)
    )
    assert times_of(inventory) == {A.id: BEGIN}
    assert not inventory.missing
    assert inventory.covered(ZONE, "server", machine(1).id) == BEGIN


def test_id_that_answers_again_is_not_missing() -> None:
    close = Scope(ZONE, "server", machine(1).id, (A.id,))
    inventory = merge(
        merge(Inventory(), observation(scopes=(close,))), observation(A, at=1, scopes=(close,))
    )
    assert not inventory.missing


def test_resource_that_came_along_with_other_kinds_is_taken_in() -> None:
    """A list of servers may show their addresses; that is no reason to fall over."""
    along = address(machine(1), owner=A.id)
    inventory = merge(Inventory(), observation(A, along))
    assert times_of(inventory) == {A.id: BEGIN, along.id: BEGIN}


def test_sighting_is_as_old_as_the_earliest_observation_that_may_have_shown_it() -> None:
    close = Scope(ZONE, "server", machine(1).id, (A.id,))
    both = Observation(
        observed=(
            ObservedScope(scope=WHOLE, begun=BEGIN, complete=True),
            ObservedScope(scope=close, begun=BEGIN + 5 * S, complete=True),
        ),
        resources=(A, B),
    )
    assert times_of(merge(Inventory(), both)) == {A.id: BEGIN, B.id: BEGIN}


def test_older_observation_that_ends_later_does_not_overwrite_a_newer_one() -> None:
    newer = replace(A, status="up")
    inventory = merge(
        merge(Inventory(), observation(newer, at=5)), observation(replace(A, status="off"), at=1)
    )
    assert inventory.sightings[A.id].resource.status == "up"


def test_resources_are_found_by_their_owner_tag_or_by_their_owners() -> None:
    disk = Resource(id=ResourceId("disk"), slot=Slot("volume", 0), zone=ZONE, owner=A.id)
    orphan = replace(disk, id=ResourceId("orphan"), owner=ResourceId("nobody"))
    inventory = merge(
        Inventory(), observation(A, disk, orphan, scopes=(WHOLE, Scope(ZONE, "volume")))
    )
    assert inventory.tagged == {machine(1).id: ("disk", A.id)}


def test_merging_leaves_the_older_view_as_it_was() -> None:
    first = merge(Inventory(), observation(A))
    merge(first, observation(B, at=1))
    assert set(first.sightings) == {A.id}
