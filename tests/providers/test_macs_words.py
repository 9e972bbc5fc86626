"""The table of statuses: total, and the stage of a name says what a wipe is for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostler.domain.model.host import TENANT
from hostler.domain.model.resource import Condition, Stage
from hostler.providers.scaleway.macs.plan.statuses import (
    STATUSES,
    allocation_condition,
    condition,
    strange,
)

DOCUMENTED = {
    "unknown_status",
    "starting",
    "ready",
    "error",
    "rebooting",
    "updating",
    "locking",
    "locked",
    "unlocking",
    "reinstalling",
    "busy",
}
STAGES = (*sorted(TENANT), None)


def test_every_documented_status_but_the_unknown_one_has_a_meaning() -> None:
    assert set(STATUSES) == DOCUMENTED - {"unknown_status"}
    assert Condition.UNKNOWN not in STATUSES.values()


@given(st.text(max_size=80))
def test_a_status_that_nobody_documented_is_unknown_and_told(status: str) -> None:
    known = status in STATUSES
    assert (condition(status) is Condition.UNKNOWN) is not known
    assert bool(strange(status)) is not known
    assert len(strange(status)) < 400


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("status", sorted(DOCUMENTED | {"hibernating", ""}))
def test_an_allocation_is_up_only_when_it_is_claimed_and_ready(
    stage: Stage | None, status: str
) -> None:
    stands = allocation_condition(stage, status)
    up = stage == Stage.CLAIMED and status == "ready"
    assert (stands is Condition.UP) is up


@pytest.mark.parametrize(
    ("stage", "status", "expected"),
    [
        (Stage.PENDING, "ready", Condition.STARTING),
        (Stage.PENDING, "reinstalling", Condition.STARTING),
        (Stage.CLAIMED, "reinstalling", Condition.WIPING),
        (Stage.CLAIMED, "error", Condition.FAILED),
        (Stage.CLAIMED, "locked", Condition.LOCKED),
        (Stage.CLAIMED, "rebooting", Condition.BUSY),
        (Stage.STANDBY, "reinstalling", Condition.STOPPING),
        (Stage.RESTED, "ready", Condition.STANDBY),
        (Stage.RELEASING, "ready", Condition.STOPPING),
        (Stage.RELEASING, "reinstalling", Condition.STOPPING),
        (Stage.RELEASING, "error", Condition.FAILED),
        (None, "ready", Condition.BUSY),
        (None, "reinstalling", Condition.WIPING),
        (None, "hibernating", Condition.UNKNOWN),
    ],
)
def test_the_stage_says_whose_wipe_it_is(
    stage: Stage | None, status: str, expected: Condition
) -> None:
    assert allocation_condition(stage, status) is expected
