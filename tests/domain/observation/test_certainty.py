"""Sure and unsure: slots, attempts, bound ids, open calls, settle, and patience with absence."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import ResourceId
from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.machine import CallState, Known, Machine, Place
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, Resource, Scope, Slot
from hostler.domain.model.subject import ask
from hostler.domain.observation.certainty import all_gone, reconcile, resources_of, unsure
from hostler.testing.fakes.planner import ADDRESS, MAKE_ADDRESS, MAKE_SERVER, POWER_ON, SERVER
from hostler.testing.scenes.builders import (
    BEGIN,
    FLEET,
    ZONE,
    S,
    address,
    asked,
    bound,
    machine,
    server,
)
from hostler.testing.scenes.fields import with_fields
from hostler.testing.scenes.fleet import Scene

CONSISTENCY_DELAY = timedelta(seconds=60)
GAP = timedelta(seconds=20)


def starting(**changes: object) -> Machine:
    return with_fields(machine(phase=Phase.STARTING), places=(), **changes)


def settled(scene: Scene, number: int = 1) -> Machine:
    """Return the record as the looks of now leave it, and keep it."""
    scene.keep(reconcile(scene.the(number), scene.snapshot()))
    return scene.the(number)


def power(call_state: CallState = CallState.OPEN, at: timedelta = 0 * S) -> Machine:
    call = asked(POWER_ON, BEGIN + at, shows=Shows.POWER, call_state=call_state)
    return replace(machine(phase=Phase.STARTING), asked=(call,))


# ---------------------------------------------------------------- open calls


def test_open_create_is_done_when_a_part_of_its_attempt_shows_up() -> None:
    scene = Scene(now=BEGIN + 5 * S)
    scene.add(starting(asked=(asked(MAKE_SERVER),)))
    scene.exist(server(scene.the(), Condition.OFF, attempt=1))
    scene.observe()
    entry = settled(scene)
    assert entry.asked[0].call_state is CallState.DONE
    assert entry.bound(SERVER) == server(entry).id


def test_open_create_is_not_done_by_a_part_of_another_attempt() -> None:
    scene = Scene(now=BEGIN + 5 * S)
    scene.add(starting(asked=(asked(MAKE_SERVER, attempt=2),)))
    scene.exist(server(scene.the(), Condition.OFF, attempt=1))
    scene.observe()
    assert settled(scene).asked[0].call_state is CallState.OPEN


@pytest.mark.parametrize(
    ("after", "complete", "call_state"),
    [
        (59 * S, True, CallState.OPEN),
        (60 * S, True, CallState.LAPSED),
        (600 * S, False, CallState.OPEN),
    ],
)
def test_open_create_lapses_only_by_a_complete_observation_after_the_consistency_delay(
    after: timedelta, complete: bool, call_state: CallState
) -> None:
    scene = Scene(now=BEGIN + after)
    scene.add(starting(asked=(asked(MAKE_SERVER),)))
    scene.observe(complete=complete)
    assert settled(scene).asked[0].call_state is call_state


def test_observation_begun_before_the_consistency_delay_had_passed_says_nothing_later() -> None:
    scene = Scene(now=BEGIN + 59 * S)
    scene.add(starting(asked=(asked(MAKE_SERVER),)))
    scene.observe()
    scene.later(600 * S)
    assert settled(scene).asked[0].call_state is CallState.OPEN


def test_list_filtered_by_the_machine_is_complete_for_it() -> None:
    scene = Scene(now=BEGIN + CONSISTENCY_DELAY)
    scene.add(starting(asked=(asked(MAKE_SERVER),)))
    scene.observe_one(Scope(ZONE, "server", scene.the().id))
    assert settled(scene).asked[0].call_state is CallState.LAPSED


def test_list_of_another_kind_closes_nothing() -> None:
    scene = Scene(now=BEGIN + CONSISTENCY_DELAY)
    scene.add(starting(asked=(asked(MAKE_SERVER),)))
    scene.observe_one(Scope(ZONE, "address", scene.the().id))
    assert settled(scene).asked[0].call_state is CallState.OPEN


def test_open_call_of_an_older_epoch_settles_from_the_take_over() -> None:
    scene = Scene(now=BEGIN + 100 * S, epoch=2, took=BEGIN + 50 * S)
    scene.add(starting(asked=(asked(MAKE_SERVER, epoch=1),)))
    scene.observe()
    assert settled(scene).asked[0].call_state is CallState.OPEN
    scene.later(10 * S)
    scene.observe()
    assert settled(scene).asked[0].call_state is CallState.LAPSED


def test_settle_is_told_by_kind_of_call() -> None:
    scene = Scene(now=BEGIN + 90 * S)
    scene.capabilities = replace(scene.capabilities, consistency_delays=((MAKE_SERVER, 120 * S),))
    scene.add(starting(asked=(asked(MAKE_SERVER), asked(MAKE_ADDRESS, slot=ADDRESS))))
    scene.observe()
    states = {call.kind: call.call_state for call in settled(scene).asked}
    assert states == {MAKE_SERVER: CallState.OPEN, MAKE_ADDRESS: CallState.LAPSED}


def test_open_call_blocks_its_own_slot_and_no_other() -> None:
    entry = starting(asked=(asked(MAKE_SERVER),))
    again = Call(kind=MAKE_SERVER, slot=SERVER, zone=ZONE, effect=Effect.MAKE, once=True)
    other = replace(again, kind=MAKE_ADDRESS, slot=ADDRESS)
    assert unsure(entry, again)
    assert not unsure(entry, replace(again, once=False))
    assert not unsure(entry, other)
    closed = entry.with_asked(replace(entry.asked[0], call_state=CallState.LAPSED))
    assert not unsure(closed, again)


def test_asking_writes_the_attempt_into_its_slot_alone() -> None:
    call = Call(kind=MAKE_SERVER, slot=SERVER, zone=ZONE, effect=Effect.MAKE, attempt=2, once=True)
    entry = ask(machine(phase=Phase.STARTING), call, BEGIN, asked("x").epoch)
    assert entry.place(SERVER).attempt == 2
    assert entry.place(ADDRESS).attempt == 1
    last = entry.last_asked(SERVER, MAKE_SERVER)
    assert last is not None
    assert (last.at, last.attempt, last.call_state) == (BEGIN, 2, CallState.OPEN)


# ---------------------------------------------------------------- power


@pytest.mark.parametrize(
    ("condition", "after", "call_state"),
    [
        (Condition.STARTING, 1 * S, CallState.DONE),
        (Condition.UP, 1 * S, CallState.DONE),
        (Condition.OFF, 59 * S, CallState.OPEN),
        (Condition.OFF, 60 * S, CallState.LAPSED),
        (Condition.UNKNOWN, 600 * S, CallState.OPEN),
        (Condition.LOCKED, 600 * S, CallState.OPEN),
    ],
)
def test_open_power_on_is_closed_by_what_the_server_does(
    condition: Condition, after: timedelta, call_state: CallState
) -> None:
    scene = Scene(now=BEGIN + after)
    scene.add(power())
    scene.exist(server(scene.the(), condition))
    scene.observe()
    assert settled(scene).asked[0].call_state is call_state


def test_server_seen_up_before_the_call_says_nothing_of_it() -> None:
    scene = Scene(now=BEGIN + 10 * S)
    scene.add(power(at=20 * S))
    scene.exist(server(scene.the(), Condition.UP))
    scene.observe()
    scene.later(20 * S)
    assert settled(scene).asked[0].call_state is CallState.OPEN


def test_open_power_on_does_not_keep_a_record_for_ever_whose_server_is_gone() -> None:
    """A server that vanished under an open power-on once wedged its record in *stopping*."""
    scene = Scene(fleet=replace(FLEET, size=0))
    scene.add(replace(power(), phase=Phase.STOPPING))
    scene.rounds(40, 5 * S)
    assert not scene.machines
    assert scene.history


def test_open_power_on_is_unsure_until_the_consistency_delay_also_where_its_server_is_gone() -> (
    None
):
    """It was told to be over at once: *gone* needs every unsure call to be older than settle."""
    scene = Scene(fleet=replace(FLEET, size=0))
    scene.add(replace(power(at=scene.now - BEGIN), phase=Phase.STOPPING))
    scene.rounds(8, 5 * S)
    assert scene.the().asked[0].call_state is CallState.OPEN
    scene.rounds(10, 5 * S)
    assert not scene.machines


# ---------------------------------------------------------------- ids: bound, surplus, promised


def test_lowest_id_of_the_oldest_attempt_is_bound_and_the_others_are_surplus() -> None:
    scene = Scene(now=BEGIN + 5 * S)
    scene.add(starting())
    scene.exist(*(server(scene.the(), name=name, attempt=n) for name, n in (("b", 1), ("a", 2))))
    scene.exist(server(scene.the(), name="c", attempt=1))
    scene.observe()
    entry = settled(scene)
    assert entry.bound(SERVER) == "b"
    surplus = {resource.id: resource.surplus for resource in resources_of(entry, scene.snapshot())}
    assert surplus == {"a": True, "b": False, "c": True}


def test_later_attempt_that_turns_up_never_takes_the_place_of_a_bound_id() -> None:
    scene = Scene(now=BEGIN + 5 * S)
    scene.furnish(machine())
    scene.exist(server(scene.the(), name="a-late-newer-one", attempt=2))
    scene.observe()
    entry = settled(scene)
    assert entry.bound(SERVER) == server(entry).id
    late = next(p for p in resources_of(entry, scene.snapshot()) if p.id == "a-late-newer-one")
    assert late.surplus
    assert entry.place(SERVER).attempt == 2


def test_slots_do_not_share_their_attempts() -> None:
    scene = Scene(now=BEGIN + 5 * S)
    scene.furnish(machine())
    scene.exist(server(scene.the(), name="second", attempt=2))
    scene.observe()
    entry = settled(scene)
    assert entry.place(ADDRESS).attempt == 1
    assert not any(p.surplus for p in resources_of(entry, scene.snapshot()) if p.slot == ADDRESS)


def test_definite_answer_stands_against_lists_that_lag() -> None:
    scene = Scene(now=BEGIN + 59 * S)
    scene.add(machine(phase=Phase.STARTING))
    scene.observe()
    entry = settled(scene)
    observed_at = {resource.slot: resource for resource in resources_of(entry, scene.snapshot())}
    assert observed_at[SERVER].status == "promised"
    assert observed_at[SERVER].condition is Condition.UNKNOWN
    assert all(known.absent is None for place in entry.places for known in place.known)


@pytest.mark.parametrize(
    ("phase", "disks"), [(Phase.STARTING, "disk"), (Phase.READY, None), (Phase.STOPPING, None)]
)
def test_resource_without_an_owner_tag_is_ours_by_its_owner_until_that_was_ready(
    phase: Phase, disks: str | None
) -> None:
    """After that all that is its own is on its record: somebody hung this one on it."""
    scene = Scene(now=BEGIN + 5 * S)
    scene.furnish(machine(phase=phase))
    disk = Resource(
        id=ResourceId("disk"), slot=Slot("volume", 0), zone=ZONE, owner=server(scene.the()).id
    )
    scene.exist(disk)
    scene.capabilities = replace(scene.capabilities, kinds=("server", "address", "volume"))
    scene.observe()
    entry = settled(scene)
    assert entry.bound(Slot("volume", 0)) == disks
    assert (disks is not None) == any(
        one.id == disk.id for one in resources_of(entry, scene.snapshot())
    )


def disk(entry: Machine, name: str, attempt: int, owner: ResourceId | None) -> Resource:
    """Return a volume with the machine's owner tag that hangs on a server, or on nothing."""
    tag = address(entry, attempt=attempt).owner_tag
    return Resource(
        id=ResourceId(name),
        slot=Slot("volume"),
        zone=ZONE,
        owner_tag=tag,
        owner=owner,
        condition=Condition.FREE if owner is None else Condition.BUSY,
    )


def left_behind(phase: Phase, condition: Condition) -> Scene:
    """Return a record that bound a volume which outlived its server, when the next one is there."""
    scene = Scene(now=BEGIN + 5 * S)
    scene.capabilities = replace(scene.capabilities, kinds=("server", "address", "volume"))
    scene.add(with_fields(machine(phase=phase), places=()))
    scene.exist(disk(scene.the(), "left", 1, None))
    scene.observe()
    assert settled(scene).bound(Slot("volume")) == "left"
    scene.later(5 * S)
    up = server(scene.the(), condition, attempt=2)
    scene.exist(up, disk(scene.the(), "new", 2, up.id))
    scene.observe()
    return scene


def test_volume_that_outlived_its_server_gives_way_to_that_of_the_next_server() -> None:
    scene = left_behind(Phase.STARTING, Condition.OFF)
    entry = settled(scene)
    assert entry.bound(Slot("volume")) == "new"
    found = {r.id: r.surplus for r in resources_of(entry, scene.snapshot()) if r.slot != SERVER}
    assert found == {"left": True, "new": False}
    assert settled(scene) == entry


def test_volume_of_a_machine_that_was_ready_stays_bound_whatever_its_server_holds() -> None:
    scene = left_behind(Phase.READY, Condition.UP)
    assert scene.the().health.was_ready is not None
    assert settled(scene).bound(Slot("volume")) == "left"


# ---------------------------------------------------------------- absence


def test_absence_takes_two_complete_observations_and_two_answers_of_a_bound_id_a_gap_apart() -> (
    None
):
    scene = Scene(now=BEGIN + CONSISTENCY_DELAY)
    scene.add(machine())
    name = server(scene.the()).id
    scene.observe()
    assert known(settled(scene)).absent == scene.now
    scene.later(GAP - 1 * S)
    scene.observe()
    assert not known(settled(scene)).deleted
    scene.later(1 * S)
    scene.observe()
    assert not known(settled(scene)).deleted
    alone = Scope(ZONE, "server", scene.the().id, (name,))
    scene.observe_one(alone)
    assert not known(settled(scene)).deleted
    scene.later(GAP)
    scene.observe_one(alone)
    assert known(settled(scene)).deleted


def known(entry: Machine, slot: Slot = SERVER) -> Known:
    return entry.place(slot).known[0]


def test_incomplete_observations_never_add_up_to_an_absence() -> None:
    scene = Scene(now=BEGIN + CONSISTENCY_DELAY)
    scene.add(machine())
    for _ in range(10):
        scene.observe(complete=False)
        scene.observe_one(
            Scope(ZONE, "server", scene.the().id, (server(scene.the()).id,)), complete=False
        )
        settled(scene)
        scene.later(GAP)
    assert known(scene.the()).absent is None


def test_surplus_id_is_gone_after_two_observations_without_its_own_answer() -> None:
    scene = Scene(now=BEGIN + CONSISTENCY_DELAY)
    scene.furnish(machine())
    extra = Known(id=ResourceId("extra"), zone=ZONE, since=BEGIN, attempt=2)
    place = scene.the().place(SERVER)
    scene.keep(scene.the().with_place(replace(place, known=(*place.known, extra))))
    for _ in range(2):
        scene.observe()
        settled(scene)
        scene.later(GAP)
    deleted = {entry.id: entry.deleted for entry in scene.the().place(SERVER).known}
    assert deleted == {"extra": True, server(scene.the()).id: False}


def test_sighting_takes_an_absence_back() -> None:
    scene = Scene(now=BEGIN + CONSISTENCY_DELAY)
    scene.furnish(machine())
    scene.observe(only=[])
    assert known(settled(scene)).absent is not None
    scene.later(1 * S)
    scene.observe()
    assert known(settled(scene)).absent is None


def test_empty_lists_for_a_minute_lose_no_bound_resource() -> None:
    scene = Scene(now=BEGIN + CONSISTENCY_DELAY)
    scene.furnish(machine())
    for _ in range(30):
        scene.observe(only=[])
        settled(scene)
        scene.observe_one(Scope(ZONE, "server", scene.the().id, (server(scene.the()).id,)))
        settled(scene)
        scene.later(2 * S)
    assert not known(scene.the()).deleted


def test_removed_resource_is_not_shown_again_by_a_list_that_is_behind() -> None:
    scene = Scene(now=BEGIN + 30 * S)
    scene.furnish(machine(phase=Phase.STOPPING))
    place = scene.the().place(SERVER)
    removed = replace(place.known[0], removed=scene.now)
    scene.keep(scene.the().with_place(replace(place, known=(removed,))))
    scene.observe()
    assert [p.slot for p in resources_of(settled(scene), scene.snapshot())] == [ADDRESS]
    scene.later(CONSISTENCY_DELAY)
    scene.observe()
    assert [p.slot for p in resources_of(settled(scene), scene.snapshot())] == [ADDRESS, SERVER]
    assert known(scene.the()).removed is None, "the answer was wrong: it is forgotten"


def answered(*, missing: bool, bound: bool) -> Scene:
    """Return a machine whose server an answer just told to be no more."""
    scene = Scene(now=BEGIN + 2 * CONSISTENCY_DELAY)
    scene.furnish(machine(phase=Phase.STOPPING))
    place = scene.the().place(SERVER)
    removed = replace(place.known[0], removed=scene.now, missing=missing)
    tied = place.bound if bound else None
    scene.keep(scene.the().with_place(replace(place, bound=tied, known=(removed,))))
    return scene


@pytest.mark.parametrize("bound", [True, False])
@pytest.mark.parametrize("missing", [True, False])
def test_empty_lists_confirm_what_a_call_removed_and_not_what_it_did_not_find(
    *, missing: bool, bound: bool
) -> None:
    scene = answered(missing=missing, bound=bound)
    for _ in range(3):
        scene.later(GAP)
        scene.observe(only=[])
        settled(scene)
    assert known(scene.the()).deleted is not missing


@pytest.mark.parametrize("bound", [True, False])
def test_what_a_call_did_not_find_is_gone_after_two_own_answers_a_gap_apart(*, bound: bool) -> None:
    scene = answered(missing=True, bound=bound)
    name = server(scene.the()).id
    scene.vanish(name)
    scene.observe()
    settled(scene)
    for wait in (0 * S, GAP - 1 * S):
        scene.later(wait)
        scene.observe_one(Scope(ZONE, "server", scene.the().id, (name,)))
        assert not known(settled(scene)).deleted
    scene.later(1 * S)
    scene.observe_one(Scope(ZONE, "server", scene.the().id, (name,)))
    assert known(settled(scene)).deleted


def test_what_a_call_did_not_find_is_found_again_by_an_observation_that_had_to_know_better() -> (
    None
):
    scene = answered(missing=True, bound=True)
    scene.later(CONSISTENCY_DELAY)
    scene.observe()
    assert [p.slot for p in resources_of(settled(scene), scene.snapshot())] == [ADDRESS, SERVER]
    assert (known(scene.the()).removed, known(scene.the()).missing) == (None, False)


# ---------------------------------------------------------------- gone


def gone_scene(entry: Machine) -> Scene:
    scene = Scene(now=BEGIN + 10 * CONSISTENCY_DELAY)
    scene.add(entry)
    scene.observe()
    return scene


def all_absent(entry: Machine) -> Machine:
    places = tuple(
        replace(p, known=tuple(replace(k, absent=BEGIN, deleted=True) for k in p.known))
        for p in entry.places
    )
    return replace(entry, places=places)


def test_gone_is_what_has_nothing_left() -> None:
    entry = all_absent(machine(phase=Phase.STOPPING))
    assert all_gone(entry, gone_scene(entry).snapshot())


@pytest.mark.parametrize("slot", [SERVER, ADDRESS])
def test_not_gone_while_one_id_is_not_confirmed_absent(slot: Slot) -> None:
    entry = all_absent(machine(phase=Phase.STOPPING))
    place = entry.place(slot)
    left = entry.with_place(replace(place, known=(replace(place.known[0], deleted=False),)))
    assert not all_gone(left, gone_scene(left).snapshot())


def test_not_gone_while_a_call_is_open() -> None:
    entry = replace(all_absent(machine(phase=Phase.STOPPING)), asked=(asked(MAKE_SERVER),))
    assert not all_gone(entry, gone_scene(entry).snapshot())


def test_not_gone_while_an_observation_shows_a_resource_with_its_owner_tag() -> None:
    entry = all_absent(machine(phase=Phase.STOPPING))
    scene = gone_scene(entry)
    scene.exist(server(entry, name="another"))
    scene.observe()
    assert not all_gone(entry, scene.snapshot())


def test_record_of_a_refused_call_alone_is_gone_at_once() -> None:
    refused = asked(MAKE_ADDRESS, call_state=CallState.REFUSED)
    entry = replace(machine(phase=Phase.STOPPING), places=(), asked=(refused,))
    assert all_gone(entry, gone_scene(entry).snapshot())


def test_place_that_was_handed_an_attempt_and_no_id_is_no_resource() -> None:
    entry = replace(machine(phase=Phase.STOPPING), places=(Place(slot=SERVER, attempt=1),))
    assert all_gone(replace(entry, asked=()), gone_scene(entry).snapshot())
    assert bound(SERVER, ResourceId("x")).bound == "x"
    assert address(entry).slot == ADDRESS
