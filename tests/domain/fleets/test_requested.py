"""Named: machines that a runner asked for one by one: begun, tried again, never made up for."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import MachineId
from hostler.domain.model.calls import Refusal
from hostler.domain.model.fleet import Caps, Setback, destructions_left
from hostler.domain.model.machine import Machine, Offer, Protection
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.resource import Condition
from hostler.domain.model.snapshot import RequestKind
from hostler.testing.scenes.builders import FLEET, MIN, OFFER, S, asked, machine, server
from hostler.testing.scenes.fleet import Scene

ANN, BEN, CYD = MachineId("m-ann"), MachineId("m-ben"), MachineId("m-cyd")
LARGE = Offer(type="large", zone=OFFER.zone)


def group(*offers: Offer, maximum: int = 5, caps: Caps | None = None) -> Scene:
    fleet = replace(FLEET, size=0, renews=False, maximum=maximum, offers=offers or (OFFER,))
    scene = Scene(fleet=replace(fleet, caps=caps or fleet.caps))
    scene.observe()
    return scene


def phases(scene: Scene) -> dict[str, str]:
    return {str(m.id): str(m.phase) for m in scene.machines.values()}


def fail(scene: Scene, name: MachineId, why: Refusal = Refusal.STOCK) -> None:
    """Let a start fail by a refusal, before anything of it was made."""
    scene.keep(scene.machines[name].with_health(refused=why))
    scene.observe()
    scene.reconcile()


def until_in(scene: Scene, name: MachineId, phase: Phase) -> Machine:
    """Look and take turns until the machine is in a phase, a few minutes at most."""
    for _ in range(100):
        if name in scene.machines and scene.machines[name].phase is phase:
            return scene.machines[name]
        scene.rounds(1)
    raise AssertionError(f"{name} never became {phase}: {phases(scene)}")


# ---------------------------------------------------------------- asked for


def test_machines_appear_under_the_names_that_were_asked_for() -> None:
    scene = group()
    scene.ask_for(ANN, BEN)
    scene.reconcile()
    assert phases(scene) == {ANN: "pending", BEN: "pending"}
    scene.reconcile()
    assert phases(scene) == {ANN: "starting", BEN: "starting"}


def test_request_that_is_read_again_makes_nothing_again() -> None:
    """Taking a wish may fail after its machines were recorded: then it is read once more."""
    scene = group()
    scene.ask_for(ANN)
    again = tuple(scene.requests)
    scene.reconcile()
    scene.machines.clear()
    scene.requests += again
    scene.reconcile()
    assert phases(scene) == {}


def test_machine_that_is_ended_in_the_same_breath_is_never_made() -> None:
    scene = group()
    scene.ask_for(ANN, BEN)
    scene.request(RequestKind.DELETE, ANN)
    scene.reconcile()
    assert phases(scene) == {BEN: "pending"}


def test_no_more_are_recorded_than_the_maximum_has_room_for() -> None:
    scene = group(maximum=2)
    scene.furnish(machine(1))
    scene.observe()
    scene.ask_for(ANN, BEN)
    scene.reconcile()
    assert set(phases(scene)) == {machine(1).id, ANN}


def test_size_is_what_was_asked_for_and_is_not_lost() -> None:
    scene = group()
    scene.ask_for(ANN, BEN)
    scene.reconcile()
    assert scene.row.size == 2
    scene.request(RequestKind.DELETE, ANN)
    scene.reconcile()
    assert scene.row.size == 1


def test_size_makes_nothing_and_ends_nothing() -> None:
    """Whatever number stands in the row, or is wished: only names count."""
    scene = group()
    scene.furnish(machine(1))
    scene.observe()
    scene.request(RequestKind.SCALE, size=4)
    scene.reconcile()
    assert set(phases(scene)) == {machine(1).id}
    scene.request(RequestKind.SCALE, size=0)
    scene.reconcile()
    assert phases(scene) == {machine(1).id: "ready"}


# ---------------------------------------------------------------- begun


def test_many_that_wait_do_not_keep_each_other_from_beginning() -> None:
    scene = group(maximum=200)
    scene.ask_for(*(MachineId(f"m-{number:03}") for number in range(100)))
    scene.reconcile()
    scene.reconcile()
    assert 0 < sum(m.phase is Phase.STARTING for m in scene.machines.values()) <= 64


def test_next_offer_is_taken_where_the_first_is_out_of_stock() -> None:
    scene = group(OFFER, LARGE)
    until = scene.now + 5 * MIN
    scene.row = scene.row.with_setback(Setback(offer=OFFER, why="out", until=until, stock=True))
    scene.ask_for(ANN)
    scene.reconcile()
    scene.reconcile()
    assert (scene.machines[ANN].phase, scene.machines[ANN].offer) == (Phase.STARTING, LARGE)


def test_machine_waits_while_no_offer_is_open_and_says_why() -> None:
    scene = group()
    until = scene.now + 5 * MIN
    scene.row = scene.row.with_setback(Setback(offer=OFFER, why="out", until=until, stock=True))
    scene.ask_for(ANN)
    scene.reconcile()
    decision = scene.reconcile()
    assert scene.machines[ANN].phase is Phase.PENDING
    assert "waiting for stock" in decision.condition
    assert "waiting for stock" in decision.verdicts[0].blocker


def test_one_alone_tries_an_offer_that_failed_before() -> None:
    scene = group()
    scene.row = scene.row.with_setback(Setback(offer=OFFER, why="stopped", until=scene.now))
    scene.ask_for(ANN, BEN, CYD)
    scene.reconcile()
    scene.reconcile()
    scene.reconcile()
    assert sorted(phases(scene).values()) == ["pending", "pending", "starting"]


def test_starts_of_an_hour_are_bounded_and_counted_each() -> None:
    scene = group(caps=Caps(creates=2))
    scene.ask_for(ANN, BEN, CYD)
    scene.reconcile()
    decision = scene.reconcile()
    scene.reconcile()
    assert sorted(phases(scene).values()) == ["pending", "starting", "starting"]
    assert len(scene.row.creations) == 2
    assert "bound on creations" in scene.decide().condition
    assert decision.expecting


def test_nothing_begins_in_a_zone_that_was_not_seen_whole() -> None:
    scene = group()
    scene.ask_for(ANN)
    scene.reconcile()
    scene.later(2 * MIN)  # and no look since
    scene.reconcile()
    assert phases(scene) == {ANN: "pending"}


def test_machine_that_could_not_begin_in_time_is_gone() -> None:
    scene = group()
    scene.ask_for(ANN)
    scene.reconcile()
    scene.later(10 * MIN)
    scene.reconcile()
    assert scene.history[ANN].reason == Reason.NOT_ADMITTED


# ---------------------------------------------------------------- tried again


def test_start_that_failed_is_made_again_under_the_same_name() -> None:
    scene = group(OFFER, LARGE)
    scene.ask_for(ANN)
    scene.reconcile()
    scene.reconcile()
    fail(scene, ANN, Refusal.INVALID)
    assert scene.machines[ANN].phase is Phase.STOPPING
    begun = until_in(scene, ANN, Phase.STARTING)
    assert begun.offer == LARGE
    assert begun.health.refused is None


def test_start_goes_on_with_the_next_type_where_its_own_is_sold_out() -> None:
    """Nothing is undone for it: the address that was made stays in use."""
    scene = group(OFFER, LARGE)
    scene.ask_for(ANN)
    scene.reconcile()
    scene.reconcile()
    fail(scene, ANN)
    begun = scene.machines[ANN]
    assert (begun.phase, begun.offer, begun.health.refused) == (Phase.STARTING, LARGE, None)
    setback = scene.row.setback(OFFER)
    assert setback is not None
    assert (setback.stock, len(scene.row.creations)) == (True, 2)
    fail(scene, ANN)
    assert scene.machines[ANN].phase is Phase.STOPPING


@pytest.mark.parametrize("made", [True, False])
def test_start_whose_server_may_exist_is_undone_before_another_type(*, made: bool) -> None:
    scene = group(OFFER, LARGE)
    failed = replace(machine(1, Phase.STARTING, scene.now), created=scene.now)
    if not made:
        unsure = asked("server.create", at=scene.now)
        failed = replace(failed, places=()).with_asked(unsure)
    scene.keep(failed)
    fail(scene, failed.id)
    assert scene.machines[failed.id].phase is Phase.STOPPING


def test_what_was_left_of_a_failed_start_is_removed_before_the_next_one() -> None:
    scene = group()
    failed = replace(machine(1, Phase.STARTING, scene.now), created=scene.now)
    scene.furnish(failed)
    scene.observe()
    fail(scene, failed.id)
    scene.rounds(5)
    assert scene.machines[failed.id].phase is Phase.STOPPING
    scene.resources.clear()
    again = until_in(scene, failed.id, Phase.PENDING)
    assert again.bound(scene.capabilities.main) is None
    assert again.place(scene.capabilities.main).attempt == 1


def test_start_that_fails_after_the_deadline_is_given_up() -> None:
    scene = group()
    scene.ask_for(ANN)
    scene.reconcile()
    scene.reconcile()
    scene.later(scene.fleet.timers.start - 1 * S)
    scene.observe()
    scene.reconcile()
    scene.later(2 * S)
    fail(scene, ANN)
    scene.rounds(3)
    assert scene.history[ANN].phase is Phase.DELETED
    assert Reason.MADE_AGAIN not in {event.reason for event in scene.events}


def test_machine_that_was_up_once_is_never_made_again() -> None:
    scene = group()
    scene.furnish(machine(1))
    scene.exist(server(machine(1), Condition.OFF))
    scene.rounds(30)
    assert scene.machines[machine(1).id].phase is Phase.STOPPING
    scene.resources.clear()
    scene.rounds(40)
    assert phases(scene) == {}
    assert scene.history[machine(1).id].phase is Phase.DELETED
    assert scene.row.size == 0


def test_machine_that_was_asked_to_go_is_not_made_again() -> None:
    scene = group()
    scene.ask_for(ANN)
    scene.reconcile()
    scene.reconcile()
    scene.request(RequestKind.DELETE, ANN)
    scene.rounds(3)
    assert scene.history[ANN].phase is Phase.DELETED
    assert Reason.MADE_AGAIN not in {event.reason for event in scene.events}


def test_late_resource_of_a_machine_that_is_gone_does_not_start_it_again() -> None:
    scene = group()
    reopened = replace(machine(1, Phase.STOPPING, scene.now), created=scene.now)
    late = replace(reopened.with_health(was_ready=None), places=(), asked=())
    scene.keep(replace(late, reason=str(Reason.APPEARED_LATE)))
    scene.rounds(2)
    assert scene.history[reopened.id].phase is Phase.DELETED


def test_a_machine_whose_end_begins_once_more_has_its_place_in_the_maximum() -> None:
    scene = group(maximum=2)
    deleted = replace(machine(1, Phase.DELETED, scene.now).with_health(was_ready=None), asked=())
    scene.history[deleted.id] = deleted
    scene.exist(server(deleted))
    scene.observe()
    scene.ask_for(ANN, BEN)
    scene.reconcile()
    assert scene.machines[deleted.id].phase is Phase.STOPPING
    assert ANN in scene.machines
    assert BEN not in scene.machines


def test_machine_that_was_stuck_in_its_end_is_not_made_again() -> None:
    """It left the maximum when its bound passed: another one may have its place by now."""
    scene = group()
    stuck = replace(
        machine(1, Phase.STOPPING, scene.now).with_health(stuck=True), created=scene.now
    )
    scene.keep(replace(stuck.with_health(was_ready=None), places=(), asked=()))
    scene.rounds(2)
    assert scene.history[stuck.id].phase is Phase.DELETED


def test_failing_starts_back_off_on_the_offer() -> None:
    """Without it a start that always fails would be tried as fast as it can be cleaned up."""
    scene = group()
    scene.ask_for(ANN)
    scene.reconcile()
    scene.reconcile()
    begun = list[timedelta]()
    first = scene.now
    for _ in range(140):
        if ANN in scene.machines and scene.machines[ANN].phase is Phase.STARTING:
            begun.append(scene.now - first)
            scene.keep(scene.machines[ANN].with_health(refused=Refusal.INVALID))
        scene.rounds(1, 5 * S)
    assert 2 <= len(begun) <= 5
    assert scene.history[ANN].phase is Phase.DELETED


def test_held_machine_is_not_given_up() -> None:
    scene = group()
    scene.ask_for(ANN)
    scene.reconcile()
    protection = Protection(until=scene.now + 60 * MIN, why="looking", actor="ann")
    scene.keep(replace(scene.machines[ANN], protection=protection))
    scene.later(30 * MIN)
    scene.reconcile()
    assert phases(scene) == {ANN: "pending"}


# ---------------------------------------------------------------- caps


def test_share_of_a_group_is_of_its_maximum_not_of_what_is_left() -> None:
    scene = group(maximum=9, caps=Caps(share=0.5))
    row = replace(scene.row, size=2)
    assert destructions_left(scene.fleet, row, scene.now) == 4
    keeps = replace(scene.fleet, renews=True)
    assert destructions_left(keeps, row, scene.now) == 1
