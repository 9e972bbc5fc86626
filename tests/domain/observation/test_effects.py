"""What a look proves of a call on a host: a stage, a wipe that is seen, and nothing by its date."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.model.calls import Shows
from hostler.domain.model.machine import Asked, CallState, Machine
from hostler.domain.model.resource import Condition, Resource, Stage
from hostler.domain.observation import effects
from hostler.testing.scenes.builders import BEGIN
from hostler.testing.scenes.hosts import CONSISTENCY_DELAY, box, call, on_host, tenant

SECOND = timedelta(seconds=1)
SURE = BEGIN + CONSISTENCY_DELAY
OWNER_TAG = call("mark", aim=Stage.CLAIMED)
WIPE = replace(call("mac.reinstall"), witness="before")
NOTHING = call("uncommit", shows=Shows.NOTHING)


@pytest.mark.parametrize("asked", [OWNER_TAG, WIPE, NOTHING])
@pytest.mark.parametrize("at", [None, BEGIN - SECOND, BEGIN])
def test_an_observation_that_was_not_begun_after_the_call_proves_nothing(
    asked: Asked, at: datetime | None
) -> None:
    for resource in (None, box("claimed"), box("claimed", Condition.WIPING)):
        assert effects.call_state(asked, resource, at, SURE) is CallState.OPEN


@pytest.mark.parametrize(
    ("asked", "resource", "early", "late"),
    [
        (OWNER_TAG, box("claimed"), CallState.DONE, CallState.DONE),
        (OWNER_TAG, box("pending"), CallState.OPEN, CallState.LAPSED),
        (OWNER_TAG, box("pool"), CallState.OPEN, CallState.LAPSED),
        (OWNER_TAG, box("other"), CallState.OPEN, CallState.LAPSED),
        (OWNER_TAG, None, CallState.OPEN, CallState.LAPSED),
        (WIPE, box("claimed", Condition.WIPING), CallState.DONE, CallState.DONE),
        (WIPE, box("claimed", witness="after"), CallState.DONE, CallState.DONE),
        (WIPE, box("claimed", witness="before"), CallState.OPEN, CallState.LAPSED),
        (WIPE, box("claimed"), CallState.OPEN, CallState.LAPSED),
        (WIPE, box("claimed", Condition.BUSY), CallState.OPEN, CallState.LAPSED),
        (WIPE, box("claimed", Condition.FAILED), CallState.OPEN, CallState.LAPSED),
        (
            replace(WIPE, witness=""),
            box("claimed", witness="after"),
            CallState.OPEN,
            CallState.LAPSED,
        ),
        (WIPE, None, CallState.OPEN, CallState.LAPSED),
        (NOTHING, box("claimed"), CallState.OPEN, CallState.LAPSED),
    ],
)
def test_what_an_observation_says_of_a_call(
    asked: Asked, resource: Resource | None, early: CallState, late: CallState
) -> None:
    """Proof counts at once; that nothing came of it is sure only after settle."""
    assert effects.call_state(asked, resource, BEGIN + SECOND, SURE) is early
    assert effects.call_state(asked, resource, SURE, SURE) is late


def test_a_newer_date_is_no_proof_of_a_wipe() -> None:
    """A person's rename moves `updated_at` too: only *reinstalling* or another password counts."""
    younger = replace(box("claimed", witness="before"), created=SURE)
    assert effects.call_state(WIPE, younger, SURE + SECOND, SURE) is CallState.LAPSED


@pytest.mark.parametrize(
    ("aim", "updated", "call_state"),
    [
        (Stage.PENDING, None, CallState.DONE),
        (Stage.PENDING, SURE, CallState.DONE),
        (Stage.PENDING, SURE + SECOND, CallState.LAPSED),
        (Stage.CLAIMED, SURE + SECOND, CallState.DONE),
    ],
)
def test_a_claim_whose_host_was_changed_beyond_the_consistency_delay_is_not_believed(
    aim: Stage, updated: datetime | None, call_state: CallState
) -> None:
    """Its answer was lost, and nobody looked in between: it may have hit somebody's live host."""
    asked, resource = call("mark", aim=aim), box(aim)
    dated = replace(resource, host=replace(resource.host, updated=updated))
    assert effects.call_state(asked, dated, SURE + 2 * SECOND, SURE) is call_state


LATER = BEGIN + 2 * SECOND


def used(aim: Stage = Stage.CLAIMED, witness: str = "before", *more: Asked) -> Machine:
    """Return a machine whose host was marked so, and showed that witness then."""
    owner_tag = replace(call(f"mark.{aim}", CallState.DONE, aim=aim), witness=witness)
    return on_host(asked=(owner_tag, *more))


@pytest.mark.parametrize("aim", [Stage.CLAIMED, Stage.RESTED])
def test_a_host_in_use_or_at_rest_that_shows_another_witness_was_wiped(aim: Stage) -> None:
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
        used(Stage.PENDING),
        used(Stage.CLAIMED, "before", replace(WIPE, at=BEGIN + SECOND)),
        used().with_health(was_ready=None),
        on_host(),
    ],
)
def test_what_is_not_known_to_be_as_it_was_proves_no_wipe_by_others(machine: Machine) -> None:
    """Not known, not ours yet, wiped by ourselves, or not used yet."""
    assert not effects.was_wiped(machine, tenant(witness="after"), LATER)


def test_the_newest_owner_tag_tells_what_the_host_showed() -> None:
    rested = replace(
        call("mark.rested", CallState.DONE, LATER, aim=Stage.RESTED), witness="wiped for it"
    )
    machine = used(Stage.CLAIMED, "before", replace(WIPE, at=BEGIN + SECOND), rested)
    assert effects.witness_of(machine) == "wiped for it"
    assert not effects.was_wiped(machine, tenant("rested", witness="wiped for it"), LATER + SECOND)


def test_a_witness_that_was_sealed_is_learnt_while_the_host_is_surely_ours() -> None:
    sealed, open_ = used(witness=""), tenant(witness="seen")
    assert effects.witness_of(effects.witnessed(sealed, open_, LATER)) == "seen"
    for machine, resource, at in (
        (used(), open_, LATER),
        (sealed, tenant(), LATER),
        (sealed, open_, BEGIN),
        (sealed, tenant("foreign", owned=False, witness="his"), LATER),
        (sealed, tenant("releasing", witness="seen"), LATER),
        (used(Stage.CLAIMED, "", replace(WIPE, at=BEGIN + SECOND)), open_, LATER),
        (used(Stage.PENDING, ""), tenant("pending", witness="seen"), LATER),
    ):
        assert effects.witnessed(machine, resource, at) is machine
