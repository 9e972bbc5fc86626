"""Which of a host's calls may be made now, and what their answers leave in its record."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.hosts.next_calls import Times, host_allowed
from hostler.domain.ids import Epoch, ResourceId
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Shows, Unknown
from hostler.domain.model.host import HOST, Host, HostGoal
from hostler.domain.model.machine import CallState
from hostler.domain.model.resource import Condition, Resource
from hostler.domain.model.subject import ask
from hostler.domain.observation.backoff import LONGEST
from hostler.domain.observation.outcomes import apply_outcome, apply_to_resources
from hostler.domain.observation.ready import Observed, Ready
from hostler.testing.scenes.builders import BEGIN, ZONE, machine
from hostler.testing.scenes.hosts import BOX, box, call, record

SECOND = timedelta(seconds=1)
NOT_LATE = timedelta(0)
LATER = BEGIN + timedelta(minutes=1)
OWNER_TAG = Call(
    kind="mark", slot=HOST, zone=ZONE, effect=Effect.DESTROY, once=True, shows=Shows.OWNER_TAG
)
WIPE = replace(OWNER_TAG, kind="mac.reinstall", shows=Shows.WIPE)


def at(observed: datetime, delay: timedelta = NOT_LATE) -> Times:
    """Return the times of a host that was observed then, whose calls may show so late."""
    return Times(Observed(observed, lambda _: delay), LATER)


@dataclass(frozen=True)
class Planner:
    """Always wants one call."""

    call: Call = OWNER_TAG

    def host_calls(
        self, goal: HostGoal, host: Host, resource: Resource, now: datetime
    ) -> tuple[Call, ...]:
        """Return it."""
        del goal, host, resource, now
        return (self.call,)


@pytest.mark.parametrize(
    ("fields", "allowed"),
    [
        ({}, True),
        ({"retry_since": BEGIN, "retry_at": LATER + SECOND}, False),
        ({"retry_since": BEGIN, "retry_at": LATER + timedelta(days=1)}, False),
        ({"retry_since": BEGIN, "retry_at": LATER}, True),
        ({"retry_since": LATER + SECOND, "retry_at": LATER + timedelta(days=1)}, True),
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
    """A pause that began in the future was set before the clock jumped back: it is none."""
    made = host_allowed(record(**fields), HostGoal.CLEAN, box(), at(BEGIN), Planner()).calls
    assert bool(made) is allowed


def asked(of: Call) -> Host:
    return ask(record(tries=2, error="old"), of, BEGIN, Epoch(1))


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
    after = apply_outcome(asked(of), of, outcome, LATER)
    found = after.last_asked(of.kind)
    assert found is not None
    assert found.call_state is call_state
    assert found.at == (LATER if call_state is CallState.OPEN else BEGIN), (
        "settle counts from the answer"
    )


def test_a_good_answer_ends_pauses_and_a_bad_one_begins_one() -> None:
    good = apply_outcome(asked(OWNER_TAG), OWNER_TAG, Done(), LATER)
    assert (good.tries, good.retry_at, good.unknown_since, good.error) == (0, None, None, "")
    bad = apply_outcome(asked(OWNER_TAG), OWNER_TAG, Refused(why=Refusal.BUSY, text="no"), LATER)
    assert bad.tries == 3
    assert bad.retry_at is not None
    assert LATER + SECOND <= bad.retry_at <= LATER + 2 * SECOND
    assert "no" in bad.error
    refused = Refused(why=Refusal.RATE, text="no", after=timedelta(minutes=7))
    paused = apply_outcome(asked(OWNER_TAG), OWNER_TAG, refused, LATER)
    assert paused.retry_at is not None
    assert paused.retry_at >= LATER + timedelta(minutes=7)
    lost = apply_outcome(asked(OWNER_TAG), OWNER_TAG, Unknown(text="?"), LATER)
    assert lost.unknown_since == LATER


@pytest.mark.parametrize("why", Refusal)
def test_pauses_grow_to_the_longest_of_their_refusal_for_machines_and_hosts_alike(
    why: Refusal,
) -> None:
    refused = Refused(why=why, text="no")
    for tries, least, most in ((400, LONGEST[why], LONGEST[why] + SECOND), (0, SECOND, 3 * SECOND)):
        host = apply_outcome(record(tries=tries), OWNER_TAG, refused, LATER)
        other = apply_outcome(replace(machine(), tries=tries), OWNER_TAG, refused, LATER)
        for after in (host, other):
            assert after.retry_at is not None
            assert least <= after.retry_at - LATER <= most


def test_a_host_is_as_the_answer_leaves_it() -> None:
    resource, after = box("claimed"), box("wiping")
    assert apply_to_resources((resource,), Done(resources=(after,))) == (after,)
    assert apply_to_resources((resource,), Done()) == (resource,)
    assert apply_to_resources((resource,), Done(absent=(ResourceId(BOX),))) == ()
    assert apply_to_resources((resource,), Unknown(text="?")) == (resource,)


def test_what_was_done_is_not_done_again_before_an_observation_of_after_its_answer() -> None:
    host = record(asked=(call("mark", CallState.DONE, BEGIN),))

    def may(observed_at: datetime) -> bool:
        return bool(host_allowed(host, HostGoal.CLEAN, box(), at(observed_at), Planner()).calls)

    assert [may(BEGIN - SECOND), may(BEGIN), may(BEGIN + SECOND)] == [False, False, True]


def test_a_name_that_was_given_is_not_given_again_while_it_may_still_come() -> None:
    """The second one came after a machine had taken the host (Macs 203001474)."""
    host, delay = record(asked=(call("mark", CallState.DONE, BEGIN),)), 60 * SECOND

    def may(observed_at: datetime, of: Call = OWNER_TAG) -> Ready:
        times = at(observed_at, delay)
        return host_allowed(host, HostGoal.CLEAN, box(), times, Planner(of))

    early = may(BEGIN + delay)
    assert (early.calls, early.at) == ((), BEGIN + delay)
    assert early.waits == "settling: whether mark had its effect"
    assert may(BEGIN + delay + SECOND).calls
    assert may(BEGIN + SECOND, replace(OWNER_TAG, shows=Shows.REST)).calls, "it is no name"
    assert may(BEGIN + SECOND, replace(OWNER_TAG, kind="other")).calls, "it is another one"


@pytest.mark.parametrize(
    ("shows", "condition", "made"),
    [
        (Shows.REST, Condition.UP, False),
        (Shows.WIPE, Condition.UP, False),
        (Shows.OWNER_TAG, Condition.UP, True),
        (Shows.POWER, Condition.OFF, True),
        (Shows.REST, Condition.OFF, True),
    ],
)
def test_a_host_that_stays_on_for_its_node_is_neither_switched_off_nor_wiped(
    shows: Shows, condition: Condition, made: bool
) -> None:
    planner = Planner(replace(OWNER_TAG, shows=shows))
    resource = replace(box(), condition=condition)
    times = replace(at(BEGIN), stays_on="hostler itself runs on this Node")
    found = host_allowed(record(), HostGoal.CLEAN, resource, times, planner)
    assert bool(found.calls) is made
    assert found.waits == ("" if made else times.stays_on)
