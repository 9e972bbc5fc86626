"""What a look proves of a call on a host: a stage, a wipe that is seen, and nothing by its date."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hostler.domain.model.calls import Shows
from hostler.domain.model.machine import Asked, Fate, Machine
from hostler.domain.model.resource import Condition, Part
from hostler.domain.observation import effects
from hostler.testing.scenes.builders import BEGIN
from hostler.testing.scenes.hosts import SETTLE, box, call, on_host, tenant

SECOND = timedelta(seconds=1)
SURE = BEGIN + SETTLE
MARK = call("mark", aim="claimed")
WIPE = replace(call("mac.reinstall"), witness="before")
NOTHING = call("uncommit", shows=Shows.NOTHING)


@pytest.mark.parametrize("asked", [MARK, WIPE, NOTHING])
@pytest.mark.parametrize("at", [None, BEGIN - SECOND, BEGIN])
def test_a_look_that_was_not_begun_after_the_call_proves_nothing(
    asked: Asked, at: datetime | None
) -> None:
    for part in (None, box("claimed"), box("claimed", Condition.WIPING)):
        assert effects.fate(asked, part, at, SURE) is Fate.OPEN


@pytest.mark.parametrize(
    ("asked", "part", "early", "late"),
    [
        (MARK, box("claimed"), Fate.DONE, Fate.DONE),
        (MARK, box("pending"), Fate.OPEN, Fate.LAPSED),
        (MARK, box("pool"), Fate.OPEN, Fate.LAPSED),
        (MARK, box("other"), Fate.OPEN, Fate.LAPSED),
        (MARK, None, Fate.OPEN, Fate.LAPSED),
        (WIPE, box("claimed", Condition.WIPING), Fate.DONE, Fate.DONE),
        (WIPE, box("claimed", witness="after"), Fate.DONE, Fate.DONE),
        (WIPE, box("claimed", witness="before"), Fate.OPEN, Fate.LAPSED),
        (WIPE, box("claimed"), Fate.OPEN, Fate.LAPSED),
        (WIPE, box("claimed", Condition.BUSY), Fate.OPEN, Fate.LAPSED),
        (WIPE, box("claimed", Condition.FAILED), Fate.OPEN, Fate.LAPSED),
        (replace(WIPE, witness=""), box("claimed", witness="after"), Fate.OPEN, Fate.LAPSED),
        (WIPE, None, Fate.OPEN, Fate.LAPSED),
        (NOTHING, box("claimed"), Fate.OPEN, Fate.LAPSED),
    ],
)
def test_what_a_look_says_of_a_call(
    asked: Asked, part: Part | None, early: Fate, late: Fate
) -> None:
    """Proof counts at once; that nothing came of it is sure only after settle."""
    assert effects.fate(asked, part, BEGIN + SECOND, SURE) is early
    assert effects.fate(asked, part, SURE, SURE) is late


def test_a_newer_date_is_no_proof_of_a_wipe() -> None:
    """A person's rename moves `updated_at` too: only *reinstalling* or another password counts."""
    younger = replace(box("claimed", witness="before"), created=SURE)
    assert effects.fate(WIPE, younger, SURE + SECOND, SURE) is Fate.LAPSED


@pytest.mark.parametrize(
    ("aim", "updated", "fate"),
    [
        ("pending", "", Fate.DONE),
        ("pending", SURE.isoformat(), Fate.DONE),
        ("pending", (SURE + SECOND).isoformat(), Fate.LAPSED),
        ("claimed", (SURE + SECOND).isoformat(), Fate.DONE),
    ],
)
def test_a_claim_whose_host_was_changed_beyond_settle_is_not_believed(
    aim: str, updated: str, fate: Fate
) -> None:
    """Its answer was lost, and nobody looked in between: it may have hit somebody's live host."""
    asked, part = call("mark", aim=aim), box(aim)
    dated = replace(part, notes=(*part.notes, ("updated", updated))) if updated else part
    assert effects.fate(asked, dated, SURE + 2 * SECOND, SURE) is fate


LATER = BEGIN + 2 * SECOND


def used(aim: str = "claimed", witness: str = "before", *more: Asked) -> Machine:
    """Return a machine whose host was marked so, and showed that witness then."""
    mark = replace(call(f"mark.{aim}", Fate.DONE, aim=aim), witness=witness)
    return on_host(asked=(mark, *more))


@pytest.mark.parametrize("aim", ["claimed", "rested"])
def test_a_host_in_use_or_at_rest_that_shows_another_witness_was_wiped(aim: str) -> None:
    """The wipe itself need not be seen: it may begin and end between two looks."""
    machine = used(aim)
    assert effects.was_wiped(machine, tenant(witness="after"), LATER)
    assert not effects.was_wiped(machine, tenant(witness="before"), LATER)
    assert not effects.was_wiped(machine, tenant(), LATER), "it is sealed"
    assert not effects.was_wiped(machine, tenant(witness="after"), BEGIN), "the look is older"


@pytest.mark.parametrize(
    "machine",
    [
        used(witness=""),
        used("pending"),
        used("claimed", "before", replace(WIPE, at=BEGIN + SECOND)),
        replace(used(), was_ready=None),
        on_host(),
    ],
)
def test_what_is_not_known_to_be_as_it_was_proves_no_wipe_by_others(machine: Machine) -> None:
    """Not known, not ours yet, wiped by ourselves, or not used yet."""
    assert not effects.was_wiped(machine, tenant(witness="after"), LATER)


def test_the_newest_mark_tells_what_the_host_showed() -> None:
    rested = replace(call("mark.rested", Fate.DONE, LATER, aim="rested"), witness="wiped for it")
    machine = used("claimed", "before", replace(WIPE, at=BEGIN + SECOND), rested)
    assert effects.witness_of(machine) == "wiped for it"
    assert not effects.was_wiped(machine, tenant("rested", witness="wiped for it"), LATER + SECOND)


def test_a_witness_that_was_sealed_is_learnt_while_the_host_is_surely_ours() -> None:
    sealed, open_ = used(witness=""), tenant(witness="seen")
    assert effects.witness_of(effects.witnessed(sealed, open_, LATER)) == "seen"
    for machine, part, at in (
        (used(), open_, LATER),
        (sealed, tenant(), LATER),
        (sealed, open_, BEGIN),
        (sealed, tenant("foreign", marked=False, witness="his"), LATER),
        (sealed, tenant("releasing", witness="seen"), LATER),
        (used("claimed", "", replace(WIPE, at=BEGIN + SECOND)), open_, LATER),
        (used("pending", ""), tenant("pending", witness="seen"), LATER),
    ):
        assert effects.witnessed(machine, part, at) is machine
