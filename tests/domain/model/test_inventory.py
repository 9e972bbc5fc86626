"""The view: what looks add, drop and leave alone, each fact with the time of its look."""

from dataclasses import replace
from datetime import datetime

import pytest

from hostler.domain.ids import PartId, Zone
from hostler.domain.model.inventory import View, merge
from hostler.domain.model.resource import Look, Looked, Part, Scope, Slot
from hostler.testing.scenes.builders import BEGIN, ZONE, S, address, machine, server

A, B = server(machine(1)), server(machine(2))
WHOLE = Scope(ZONE, "server")


def look(
    *parts: Part, at: int = 0, scopes: tuple[Scope, ...] = (WHOLE,), complete: bool = True
) -> Look:
    begun = BEGIN + at * S
    looked = tuple(Looked(scope=scope, begun=begun, complete=complete) for scope in scopes)
    return Look(looked=looked, parts=parts)


def seen(view: View) -> dict[PartId, datetime]:
    return {part: view.shown(sighting) for part, sighting in view.sightings.items()}


def test_complete_list_drops_what_it_does_not_show() -> None:
    view = merge(merge(View(), look(A, B)), look(B, at=1))
    assert seen(view) == {B.id: BEGIN + 1 * S}
    assert view.whole == {(ZONE, "server"): BEGIN + 1 * S}


def test_incomplete_list_only_adds() -> None:
    view = merge(merge(View(), look(A)), look(B, at=1, complete=False))
    assert seen(view) == {A.id: BEGIN, B.id: BEGIN + 1 * S}
    assert view.whole == {(ZONE, "server"): BEGIN}
    assert (ZONE, "server") in view.failed
    assert not merge(view, look(A, at=2)).failed


@pytest.mark.parametrize(
    "scope", [Scope(Zone("z-2"), "server"), Scope(ZONE, "address"), Scope(ZONE, "volume")]
)
def test_list_of_another_zone_or_kind_drops_nothing(scope: Scope) -> None:
    view = merge(merge(View(), look(A)), look(at=1, scopes=(scope,)))
    assert seen(view) == {A.id: BEGIN}


def test_close_look_drops_the_ids_it_asked_for_and_nothing_else() -> None:
    close = Scope(ZONE, "server", machine(1).id, (A.id,))
    view = merge(merge(View(), look(A, B)), look(at=1, scopes=(close,)))
    assert seen(view) == {B.id: BEGIN}
    assert view.missing == {A.id: BEGIN + 1 * S}
    assert view.covered(ZONE, "server", machine(1).id) == BEGIN + 1 * S
    assert view.covered(ZONE, "server", machine(2).id) == BEGIN


def test_close_look_that_failed_says_nothing() -> None:
    close = Scope(ZONE, "server", machine(1).id, (A.id,))
    view = merge(merge(View(), look(A)), look(at=1, scopes=(close,), complete=False))
    assert seen(view) == {A.id: BEGIN}
    assert not view.missing
    assert view.covered(ZONE, "server", machine(1).id) == BEGIN


def test_id_that_answers_again_is_not_missing() -> None:
    close = Scope(ZONE, "server", machine(1).id, (A.id,))
    view = merge(merge(View(), look(scopes=(close,))), look(A, at=1, scopes=(close,)))
    assert not view.missing


def test_part_that_came_along_with_other_kinds_is_taken_in() -> None:
    """A list of servers may show their addresses; that is no reason to fall over."""
    along = address(machine(1), owner=A.id)
    view = merge(View(), look(A, along))
    assert seen(view) == {A.id: BEGIN, along.id: BEGIN}


def test_sighting_is_as_old_as_the_earliest_look_that_may_have_shown_it() -> None:
    close = Scope(ZONE, "server", machine(1).id, (A.id,))
    both = Look(
        looked=(
            Looked(scope=WHOLE, begun=BEGIN, complete=True),
            Looked(scope=close, begun=BEGIN + 5 * S, complete=True),
        ),
        parts=(A, B),
    )
    assert seen(merge(View(), both)) == {A.id: BEGIN, B.id: BEGIN}


def test_older_look_that_ends_later_does_not_overwrite_a_newer_one() -> None:
    newer = replace(A, status="up")
    view = merge(merge(View(), look(newer, at=5)), look(replace(A, status="off"), at=1))
    assert view.sightings[A.id].part.status == "up"


def test_parts_are_found_by_their_mark_or_by_their_owners() -> None:
    disk = Part(id=PartId("disk"), slot=Slot("volume", 0), zone=ZONE, owner=A.id)
    orphan = replace(disk, id=PartId("orphan"), owner=PartId("nobody"))
    view = merge(View(), look(A, disk, orphan, scopes=(WHOLE, Scope(ZONE, "volume"))))
    assert view.marked == {machine(1).id: ("disk", A.id)}


def test_merging_leaves_the_older_view_as_it_was() -> None:
    first = merge(View(), look(A))
    merge(first, look(B, at=1))
    assert set(first.sightings) == {A.id}
