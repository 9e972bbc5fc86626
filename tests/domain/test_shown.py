"""What a look proves of a call on a host: a stage, a wipe that is seen, and nothing by its date."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hostler.domain import shown
from hostler.domain.calls import Shows
from hostler.domain.machine import Asked, Fate
from hostler.domain.parts import Condition, Part
from hostler.testing.hostscene import SETTLE, box, call
from hostler.testing.scene import BEGIN

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
        assert shown.fate(asked, part, at, SURE) is Fate.OPEN


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
    assert shown.fate(asked, part, BEGIN + SECOND, SURE) is early
    assert shown.fate(asked, part, SURE, SURE) is late


def test_a_newer_date_is_no_proof_of_a_wipe() -> None:
    """A person's rename moves `updated_at` too: only *reinstalling* or another password counts."""
    younger = replace(box("claimed", witness="before"), created=SURE)
    assert shown.fate(WIPE, younger, SURE + SECOND, SURE) is Fate.LAPSED


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
    assert shown.fate(asked, dated, SURE + 2 * SECOND, SURE) is fate
