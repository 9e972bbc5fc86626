"""Fold and allowed: what an answer leaves in the record, and when the next call may be made."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import Epoch, ResourceId
from hostler.domain.machines.next_calls import Ready, allowed, cleans
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Shows, Unknown
from hostler.domain.model.machine import CallState, Known, Machine, Place
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, HostFacts, Resource, Stage
from hostler.domain.model.subject import ask
from hostler.domain.observation.certainty import resources_of
from hostler.domain.observation.outcomes import (
    apply_outcome,
    apply_to_resources,
    planned,
    with_failures,
)
from hostler.testing.fakes.planner import ADDRESS, MAKE_SERVER, REMOVE_ADDRESS, SERVER
from hostler.testing.scenes.builders import BEGIN, ZONE, S, address, machine, server
from hostler.testing.scenes.fleet import Scene

MAKE = Call(kind=MAKE_SERVER, slot=SERVER, zone=ZONE, effect=Effect.MAKE, attempt=1, once=True)
TELL = Call(kind="server.tell", slot=SERVER, zone=ZONE, effect=Effect.CHANGE, fact="told")
REMOVE = Call(
    kind=REMOVE_ADDRESS,
    slot=ADDRESS,
    zone=ZONE,
    effect=Effect.DESTROY,
    target=address(machine()).id,
)
ADDRESS_ID = address(machine()).id
NOW = BEGIN + 7 * S
EMPTY = replace(machine(phase=Phase.STARTING), places=())
UNKNOWN = Unknown(text="reset")


def asking(call: Call = MAKE) -> Machine:
    return ask(EMPTY, call, BEGIN, Epoch(1))


def refused(why: Refusal, after: timedelta | None = None) -> Refused:
    return Refused(why=why, text="no", after=after)


# ---------------------------------------------------------------- done


def test_made_resource_is_bound_with_its_time_and_attempt() -> None:
    resource = server(machine(), Condition.OFF)
    entry = apply_outcome(asking(), MAKE, Done(resources=(resource,)), NOW)
    place = entry.place(SERVER)
    assert (place.bound, place.attempt) == (resource.id, 1)
    assert (place.known[0].since, place.known[0].attempt) == (NOW, 1)
    last = entry.last_asked(SERVER, MAKE_SERVER)
    assert last is not None
    assert (last.call_state, last.closed) == (CallState.DONE, NOW)


def test_bound_id_is_never_replaced_by_an_answer() -> None:
    bound = machine(phase=Phase.STARTING)
    other = replace(server(bound), id=ResourceId("another"))
    entry = apply_outcome(bound, replace(MAKE, attempt=2), Done(resources=(other,)), NOW)
    assert entry.bound(SERVER) == server(bound).id
    assert {k.id for k in entry.place(SERVER).known} == {"another", server(bound).id}


def test_what_is_made_with_a_server_takes_the_place_of_what_an_earlier_one_left_behind() -> None:
    left = replace(address(machine()), id=ResourceId("left"))
    new = replace(left, id=ResourceId("new"), owner=server(machine()).id)
    record = EMPTY.with_place(
        Place(slot=ADDRESS, bound=left.id, known=(Known(id=left.id, zone=ZONE, since=BEGIN),))
    )
    made = Done(resources=(server(machine()), new))
    entry = apply_outcome(ask(record, MAKE, BEGIN, Epoch(1)), MAKE, made, NOW)
    assert entry.bound(ADDRESS) == "new"
    assert {known.id for known in entry.place(ADDRESS).known} == {"left", "new"}


def test_resource_that_a_change_names_is_known_and_not_bound() -> None:
    entry = apply_outcome(EMPTY, TELL, Done(resources=(server(machine()),)), NOW)
    assert entry.bound(SERVER) is None
    assert entry.ids() == (server(machine()).id,)


def test_fact_is_dated_and_the_newest_date_stays() -> None:
    entry = apply_outcome(apply_outcome(EMPTY, TELL, Done(), NOW), TELL, Done(), NOW + 1 * S)
    assert entry.fact("told") == NOW + 1 * S
    assert entry.fact("else") is None
    assert apply_outcome(EMPTY, TELL, UNKNOWN, NOW).fact("told") is None
    assert apply_outcome(EMPTY, TELL, refused(Refusal.BUSY), NOW).fact("told") is None


def test_answer_that_a_resource_is_no_more_is_written_down() -> None:
    entry = apply_outcome(machine(phase=Phase.STOPPING), REMOVE, Done(absent=(ADDRESS_ID,)), NOW)
    assert entry.place(ADDRESS).known[0].removed == NOW
    assert entry.place(SERVER).known[0].removed is None


@pytest.mark.parametrize(
    ("answers", "missing"),
    [
        ([True], True),
        ([False], False),
        ([True, True], True),
        ([False, True], False),
        ([True, False], False),
    ],
)
def test_what_was_not_found_is_missing_until_an_answer_says_that_it_was_removed(
    answers: list[bool], *, missing: bool
) -> None:
    entry = machine(phase=Phase.STOPPING)
    for one in answers:
        entry = apply_outcome(entry, REMOVE, Done(absent=(ADDRESS_ID,), missing=one), NOW)
    known = entry.place(ADDRESS).known[0]
    assert (known.removed, known.missing, known.was_removed) == (NOW, missing, not missing)


def test_success_forgets_earlier_trouble() -> None:
    entry = apply_outcome(apply_outcome(EMPTY, TELL, UNKNOWN, NOW), TELL, Done(), NOW + 9 * S)
    assert (entry.tries, entry.retry_at, entry.unknown_since, entry.error) == (0, None, None, "")
    assert entry.retry_since is None


# ---------------------------------------------------------------- refused, unknown


@pytest.mark.parametrize("why", [Refusal.BUSY, Refusal.RATE, Refusal.NOT_SENT])
def test_what_time_heals_is_tried_again_after_a_second_and_up_to_half_a_second_of_jitter(
    why: Refusal,
) -> None:
    waits = set[timedelta]()
    for second in range(50):
        at = BEGIN + second * S
        entry = apply_outcome(machine(), TELL, refused(why), at)
        assert entry.retry_at is not None
        waits.add(entry.retry_at - at)
        assert entry.health.refused is None
    assert min(waits) >= 1 * S
    assert max(waits) < 1.5 * S
    assert len(waits) > 25


def test_jitter_is_the_same_for_the_same_case() -> None:
    assert apply_outcome(machine(), TELL, refused(Refusal.BUSY), NOW) == apply_outcome(
        machine(), TELL, refused(Refusal.BUSY), NOW
    )


def test_provider_may_say_when_to_come_back() -> None:
    entry = apply_outcome(machine(), TELL, refused(Refusal.RATE, 42 * S), NOW)
    assert entry.retry_at is not None
    assert NOW + 42 * S <= entry.retry_at < NOW + 42.5 * S


def test_pauses_grow_but_stay_bounded() -> None:
    for why in Refusal:
        entry = machine()
        for _ in range(100):
            entry = apply_outcome(entry, TELL, refused(why), NOW)
        assert entry.retry_at is not None
        assert entry.retry_at - NOW <= 61 * S


@pytest.mark.parametrize("why", Refusal)
def test_refusal_is_final_exactly_where_trying_again_cannot_help(why: Refusal) -> None:
    final = {
        *(Refusal.STOCK, Refusal.QUOTA, Refusal.INVALID),
        *(Refusal.DENIED, Refusal.BOOTSTRAP),
    }
    entry = apply_outcome(asking(), MAKE, refused(why), NOW)
    assert entry.health.refused == (why if why in final else None)
    assert "no" in entry.error
    last = entry.last_asked(SERVER, MAKE_SERVER)
    assert last is not None
    assert last.call_state is CallState.REFUSED
    removal = apply_outcome(machine(phase=Phase.STOPPING), REMOVE, refused(why), NOW)
    assert removal.health.refused is None, "a removal is never given up"


@pytest.mark.parametrize("phase", set(Phase) - {Phase.PENDING, Phase.STARTING})
def test_a_refusal_counts_against_a_start_only_while_it_starts(phase: Phase) -> None:
    """One on the way into standby ended the machine when it was woken (seed 5038147)."""
    entry = apply_outcome(replace(asking(), phase=phase), MAKE, refused(Refusal.DENIED), NOW)
    assert entry.health.refused is None
    assert "no" in entry.error


def test_unknown_outcome_leaves_the_call_open_and_the_delay_counts_from_the_giving_up() -> None:
    entry = apply_outcome(asking(), MAKE, UNKNOWN, NOW)
    last = entry.last_asked(SERVER, MAKE_SERVER)
    assert last is not None
    assert (last.call_state, last.at) == (CallState.OPEN, NOW)
    assert entry.unknown_since == NOW
    assert entry.retry_at is not None
    assert entry.retry_at > NOW


# ---------------------------------------------------------------- parts


def test_definite_answers_are_folded_into_the_resources() -> None:
    old, new = server(machine()), server(machine(), Condition.STOPPING)
    own = address(machine())
    assert apply_to_resources((old, own), Done(resources=(new,))) == (new, own)
    assert apply_to_resources((old,), Done(resources=(own,))) == (old, own)
    assert apply_to_resources((old, own), Done(absent=(own.id,))) == (old,)
    outcomes: list[Outcome] = [UNKNOWN, refused(Refusal.BUSY)]
    for outcome in outcomes:
        assert apply_to_resources((old, own), outcome) == (old, own)


def test_plan_assumes_that_calls_do_what_they_say() -> None:
    made = planned(MAKE, 1, ()).resources[0]
    assert (made.id, made.slot, made.condition) == ("<server 1>", SERVER, Condition.OFF)
    assert planned(replace(MAKE, slot=ADDRESS), 0, ()).resources[0].id == "<address 0>"
    assert planned(REMOVE, 0, ()).absent == (REMOVE.target,)
    assert planned(TELL, 0, ()) == Done()


def test_plan_assumes_that_an_owner_tag_shows_on_its_host_until_it_ends_the_allocation() -> None:
    host = replace(server(EMPTY), host=HostFacts(stage=Stage.CLAIMED))
    owner_tag = replace(
        TELL, target=host.id, effect=Effect.DESTROY, shows=Shows.OWNER_TAG, aim=Stage.RELEASING
    )
    assert planned(owner_tag, 0, (host,)).resources[0].host.stage == Stage.RELEASING
    assert planned(owner_tag, 0, (host,)).absent == ()
    assert planned(replace(owner_tag, aim=Stage.WIPING), 0, (host,)).absent == (host.id,)


# ---------------------------------------------------------------- allowed


def ready(scene: Scene, entry: Machine, goal: Goal = Goal.PRESENT) -> Ready:
    scene.add(entry)
    return allowed(
        entry, goal, resources_of(entry, scene.snapshot()), scene.snapshot(), scene.planner
    )


def test_first_call_is_for_the_address_and_each_call_is_the_next_attempt_of_its_slot() -> None:
    scene = Scene()
    scene.observe()
    calls = ready(scene, EMPTY).calls
    assert [(c.slot, c.attempt) for c in calls] == [(ADDRESS, 1)]
    asked = apply_outcome(
        ask(EMPTY, calls[0], BEGIN, Epoch(1)), calls[0], refused(Refusal.BUSY), BEGIN
    )
    assert [(c.slot, c.attempt) for c in ready(scene, asked).calls] == [(ADDRESS, 2)]


def test_pause_is_kept_to_its_end() -> None:
    scene = Scene()
    scene.observe()
    pause = {"retry_since": scene.now, "retry_at": scene.now + 1 * S}
    paused = replace(EMPTY, **pause, error="server.make: busy")
    assert ready(scene, paused) == Ready(
        waits="another try: server.make: busy", at=scene.now + 1 * S
    )
    scene.later(1 * S)
    assert ready(scene, paused).calls


def test_pause_from_a_clock_that_jumped_back_since_is_no_pause() -> None:
    scene = Scene()
    scene.observe()
    future = scene.now + 1 * S
    assert ready(scene, replace(EMPTY, retry_since=future, retry_at=future + 1 * S)).calls


def test_pause_lasts_for_as_long_as_the_provider_asks_for() -> None:
    """One of ten minutes or more was taken for another clock's, and the call was made at once."""
    scene = Scene()
    scene.observe()
    (call, *_) = ready(scene, EMPTY).calls
    for asked_for in (timedelta(minutes=10), timedelta(days=9)):
        busy = apply_outcome(EMPTY, call, refused(Refusal.BUSY, asked_for), scene.now)
        assert not ready(scene, busy).calls
        scene.later(599 * S)
        assert not ready(scene, busy).calls
        scene.later(2 * S)
        assert ready(scene, busy).calls, "and no longer than ten minutes"


def test_of_the_failures_of_a_cleaning_the_longest_pause_stands_from_its_beginning() -> None:
    short = replace(EMPTY, tries=2, retry_since=NOW, retry_at=NOW + 1 * S, error="a")
    long = replace(EMPTY, tries=1, retry_since=NOW + 2 * S, retry_at=NOW + 9 * S, error="b")
    none = replace(EMPTY, error="a")
    after = with_failures(EMPTY, [none, long, short])
    assert (after.retry_since, after.retry_at) == (long.retry_since, long.retry_at)
    assert (after.tries, after.error) == (2, "a; b")
    assert with_failures(short, []) is short


@pytest.mark.parametrize(("seen_at", "may"), [(None, False), (-1, False), (0, False), (1, True)])
def test_after_an_unknown_outcome_only_an_observation_begun_later_allows_another_call(
    seen_at: int | None, may: bool
) -> None:
    scene = Scene()
    unknown_since: datetime = scene.now
    if seen_at is not None:
        scene.now = unknown_since + seen_at * S
        scene.observe()
    scene.now = unknown_since + 5 * S
    outcome = ready(scene, replace(EMPTY, unknown_since=unknown_since))
    assert bool(outcome.calls) is may
    assert outcome.waits == (
        "" if may else "an observation: the outcome of the last call is unknown"
    )


def test_open_call_is_waited_for_and_the_wait_has_an_end() -> None:
    scene = Scene(now=BEGIN + 10 * S)
    scene.observe()
    own = address(machine())
    scene.exist(own)
    scene.observe()
    entry = replace(machine(phase=Phase.STARTING), places=(machine().place(ADDRESS),))
    waiting = ready(scene, ask(entry, MAKE, BEGIN, Epoch(1)))
    assert waiting.calls == ()
    assert "server.make" in waiting.waits
    assert waiting.at == BEGIN + 60 * S


def test_only_destruction_counts_as_cleaning() -> None:
    assert cleans((REMOVE, REMOVE))
    assert not cleans((REMOVE, TELL))


def test_call_says_what_it_is() -> None:
    assert str(REMOVE) == f"{REMOVE_ADDRESS} {REMOVE.target}"
    assert str(MAKE) == "server.make for server"
    assert MAKE.arg("size") is None
    assert Resource(id=ResourceId("x"), slot=ADDRESS, zone=ZONE).type == ""
