"""Which of a host's calls may be made now, and what their answers leave in its record."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hostler.domain.hosts.next_calls import apply_to_host, host_allowed, host_resource
from hostler.domain.ids import Epoch, ResourceId
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Shows, Unknown
from hostler.domain.model.host import HOST, Host, HostGoal, ask_host
from hostler.domain.model.machine import CallState
from hostler.domain.model.resource import Resource
from hostler.testing.scenes.builders import BEGIN, ZONE
from hostler.testing.scenes.hosts import BOX, box, call, record

SECOND = timedelta(seconds=1)
LATER = BEGIN + timedelta(minutes=1)
OWNER_TAG = Call(
    kind="mark", slot=HOST, zone=ZONE, effect=Effect.DESTROY, once=True, shows=Shows.OWNER_TAG
)
WIPE = replace(OWNER_TAG, kind="mac.reinstall", shows=Shows.WIPE)


class Planner:
    """Always wants one call."""

    def host_calls(
        self, goal: HostGoal, host: Host, resource: Resource, now: datetime
    ) -> tuple[Call, ...]:
        """Return it."""
        del goal, host, resource, now
        return (OWNER_TAG,)


@pytest.mark.parametrize(
    ("fields", "allowed"),
    [
        ({}, True),
        ({"retry_at": LATER + SECOND}, False),
        ({"retry_at": LATER}, True),
        ({"retry_at": LATER + timedelta(days=1)}, True),
        ({"unknown_since": BEGIN}, False),
        ({"unknown_since": BEGIN - SECOND}, True),
        ({"asked": (call("mac.reinstall"),)}, False),
        ({"asked": (call("mac.reinstall", CallState.DONE),)}, True),
        ({"asked": (call("mac.reinstall", CallState.LAPSED),)}, True),
    ],
)
def test_a_call_waits_for_pauses_observations_and_what_is_unsure(
    fields: dict[str, object], allowed: bool
) -> None:
    """A pause of a day was set before the clock jumped back: it counts for nothing."""
    made = host_allowed(HostGoal.CLEAN, record(**fields), box(), BEGIN, LATER, Planner())
    assert bool(made) is allowed


def asked(of: Call) -> Host:
    return ask_host(record(tries=2, error="old"), of, BEGIN, Epoch(1))


@pytest.mark.parametrize(
    ("of", "outcome", "call_state"),
    [
        (OWNER_TAG, Done(), CallState.DONE),
        (WIPE, Done(), CallState.OPEN),
        (OWNER_TAG, Refused(why=Refusal.BUSY, text="no"), CallState.REFUSED),
        (WIPE, Refused(why=Refusal.WRONG_STATE, text="no"), CallState.REFUSED),
        (OWNER_TAG, Unknown(text="?"), CallState.OPEN),
        (WIPE, Unknown(text="?"), CallState.OPEN),
    ],
)
def test_an_answer_closes_its_call_but_never_a_wipe(
    of: Call, outcome: Outcome, call_state: CallState
) -> None:
    after = apply_to_host(asked(of), of, outcome, LATER)
    found = after.last_asked(of.kind)
    assert found is not None
    assert found.call_state is call_state
    assert found.at == (LATER if call_state is CallState.OPEN else BEGIN), (
        "settle counts from the answer"
    )


def test_a_good_answer_ends_pauses_and_a_bad_one_begins_one() -> None:
    good = apply_to_host(asked(OWNER_TAG), OWNER_TAG, Done(), LATER)
    assert (good.tries, good.retry_at, good.unknown_since, good.error) == (0, None, None, "")
    bad = apply_to_host(asked(OWNER_TAG), OWNER_TAG, Refused(why=Refusal.BUSY, text="no"), LATER)
    assert bad.tries == 3
    assert bad.retry_at is not None
    assert LATER + 8 * SECOND <= bad.retry_at <= LATER + 9 * SECOND
    assert "no" in bad.error
    told = Refused(why=Refusal.RATE, text="no", after=timedelta(minutes=7))
    paused = apply_to_host(asked(OWNER_TAG), OWNER_TAG, told, LATER)
    assert paused.retry_at is not None
    assert paused.retry_at >= LATER + timedelta(minutes=7)
    lost = apply_to_host(asked(OWNER_TAG), OWNER_TAG, Unknown(text="?"), LATER)
    assert lost.unknown_since == LATER


def test_pauses_grow_to_five_minutes_at_most() -> None:
    host = record(tries=40)
    after = apply_to_host(host, OWNER_TAG, Refused(why=Refusal.BUSY, text="no"), LATER)
    assert after.retry_at is not None
    assert after.retry_at <= LATER + timedelta(minutes=5, seconds=1)


def test_a_host_is_as_the_answer_leaves_it() -> None:
    resource, after = box("claimed"), box("wiping")
    assert host_resource(resource, Done(resources=(after,))) is after
    assert host_resource(resource, Done()) is resource
    assert host_resource(resource, Done(gone=(ResourceId(BOX),))) is None
    assert host_resource(resource, Unknown(text="?")) is resource


def test_what_was_done_is_not_done_again_before_an_observation_of_after_its_answer() -> None:
    host = record(asked=(call("mark", CallState.DONE, BEGIN),))

    def may(observed_at: datetime) -> bool:
        return bool(host_allowed(HostGoal.CLEAN, host, box(), observed_at, LATER, Planner()))

    assert [may(BEGIN - SECOND), may(BEGIN), may(BEGIN + SECOND)] == [False, False, True]
