"""Standby: on the way to rest, at rest, and back: each corner has a way out, none is hasty."""

import pytest
from msgspec.structs import replace

from hostler.domain.machines.standby import STANDBY
from hostler.domain.model.calls import Shows
from hostler.domain.model.fleet import ProbeKind
from hostler.domain.model.machine import (
    RESTED,
    UNANSWERED_REST,
    CallState,
    Deletion,
    Machine,
    Protection,
)
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition
from hostler.domain.model.snapshot import Probed, RequestKind
from hostler.domain.observation.effects import SENT_LATE
from hostler.testing.fakes.planner import POWER_ON
from hostler.testing.scenes.builders import CAPABILITIES, FLEET, MIN, S, asked, machine, server
from hostler.testing.scenes.fleet import Scene

ONE = machine(1)


def stand(condition: Condition = Condition.UP, phase: Phase = Phase.READY) -> Scene:
    scene = Scene(fleet=replace(FLEET, size=0, renews=False, maximum=5))
    scene.capabilities = replace(CAPABILITIES, standby=True)
    scene.furnish(machine(1))
    if phase is not Phase.READY:
        goal = Goal.STANDBY
        rested = replace(machine(1, phase, scene.now).with_health(was_ready=scene.now), goal=goal)
        scene.keep(rested.with_fact(RESTED, scene.now) if phase is Phase.STANDBY else rested)
    become(scene, condition)
    scene.later(1 * S)
    scene.observe()
    return scene


def become(scene: Scene, condition: Condition) -> None:
    scene.exist(server(ONE, condition))


def one(scene: Scene) -> Machine:
    return scene.machines.get(ONE.id) or scene.history[ONE.id]


def test_machine_that_is_up_goes_to_rest_at_a_word() -> None:
    scene = stand()
    scene.request(RequestKind.STANDBY, ONE.id)
    scene.reconcile()
    assert (one(scene).phase, one(scene).goal) == (Phase.STOPPING, Goal.STANDBY)
    become(scene, Condition.STANDBY)
    scene.rounds(2)
    assert (one(scene).phase, one(scene).goal) == (Phase.STANDBY, Goal.STANDBY)


def test_providers_whose_machines_cannot_rest_leave_them_up() -> None:
    scene = stand()
    scene.capabilities = CAPABILITIES
    scene.request(RequestKind.STANDBY, ONE.id)
    scene.rounds(2)
    assert one(scene).phase is Phase.READY


def test_held_machine_does_not_go_to_rest() -> None:
    scene = stand()
    until = scene.now + 60 * MIN
    scene.keep(replace(one(scene), protection=Protection(until=until, why="look", actor="ann")))
    scene.request(RequestKind.STANDBY, ONE.id)
    decision = scene.reconcile()
    assert one(scene).phase is Phase.READY
    assert "protected until" in decision.verdicts[0].blocker


def test_observation_from_before_says_nothing_of_a_machine_on_its_way() -> None:
    scene = stand(Condition.STANDBY, Phase.STOPPING)
    scene.keep(replace(one(scene), since=scene.now))
    scene.reconcile()
    assert one(scene).phase is Phase.STOPPING
    scene.rounds(2)
    assert one(scene).phase is Phase.STANDBY


def test_machine_that_will_not_rest_comes_back() -> None:
    scene = stand(Condition.UP, Phase.STOPPING)
    scene.later(scene.fleet.timers.stop - 2 * S)
    scene.observe()
    scene.reconcile()
    assert one(scene).phase is Phase.STOPPING
    scene.rounds(2)
    assert (one(scene).phase, one(scene).goal) == (Phase.READY, Goal.PRESENT)


@pytest.mark.parametrize("unanswered", [False, True])
def test_machine_that_is_neither_up_nor_at_rest_in_time_is_removed(*, unanswered: bool) -> None:
    """What may yet switch it off is no reason to wait: it is of no use."""
    scene = stand(Condition.OFF, Phase.STOPPING)
    if unanswered:
        asked_late = scene.now + scene.fleet.timers.stop
        scene.keep(one(scene).with_fact(UNANSWERED_REST, asked_late))
    scene.later(scene.fleet.timers.stop)
    scene.rounds(2)
    assert (one(scene).phase, one(scene).goal) == (Phase.STOPPING, Goal.ABSENT)
    assert one(scene).deletion is not None


def test_machine_at_rest_stays_so() -> None:
    scene = stand(Condition.STANDBY, Phase.STANDBY)
    scene.rounds(200, 60 * S)
    assert (one(scene).phase, one(scene).goal) == (Phase.STANDBY, Goal.STANDBY)


def test_machine_at_rest_wakes_at_a_word_and_is_not_taken_for_stopped() -> None:
    scene = stand(Condition.STANDBY, Phase.STANDBY)
    scene.request(RequestKind.WAKE, ONE.id)
    scene.rounds(30, 5 * S)
    assert (one(scene).phase, one(scene).goal) == (Phase.STARTING, Goal.PRESENT)
    become(scene, Condition.UP)
    scene.rounds(2)
    assert one(scene).phase is Phase.READY


def test_machine_whose_waking_is_in_doubt_is_not_taken_for_stopped() -> None:
    scene = stand(Condition.STANDBY, Phase.STANDBY)
    scene.request(RequestKind.WAKE, ONE.id)
    scene.rounds(1)
    begun = one(scene)
    start = asked(POWER_ON, scene.now, shows=Shows.POWER)
    scene.keep(begun.with_asked(start))
    become(scene, Condition.OFF)
    scene.rounds(20)
    assert one(scene).phase is Phase.STARTING


def test_machine_in_doubt_is_not_woken() -> None:
    scene = stand(Condition.LOCKED, Phase.STANDBY)
    scene.rounds(1)
    scene.request(RequestKind.WAKE, ONE.id)
    scene.reconcile()
    assert one(scene).phase is Phase.STANDBY


@pytest.mark.parametrize(
    ("epoch", "took_over", "call_state", "waits"),
    [
        (2, True, CallState.OPEN, True),
        (3, True, CallState.OPEN, False),
        (2, True, CallState.DONE, False),
        (2, False, CallState.OPEN, False),
        (1, False, CallState.OPEN, True),
    ],
)
@pytest.mark.parametrize("condition", [Condition.STANDBY, Condition.UP])
def test_machine_does_not_wake_while_a_process_may_yet_switch_it_off(
    condition: Condition, epoch: int, call_state: CallState, *, took_over: bool, waits: bool
) -> None:
    """Seed 234016871 of metal: it stood still before it sent that, and woke after another led.

    Who gave its lease back sends nothing more.
    """
    scene = stand(Condition.STANDBY, Phase.STANDBY)
    scene.epoch, scene.took_over = 3, took_over
    then = scene.now - 5 * S
    rest = asked("rest", then, epoch=epoch, shows=Shows.REST, call_state=call_state)
    scene.keep(one(scene).with_asked(rest))
    scene.rounds(2)
    woken = Phase.READY if condition is Condition.UP else Phase.STARTING
    if condition is Condition.UP:
        become(scene, condition)
    else:
        scene.request(RequestKind.WAKE, ONE.id)
    scene.later(SENT_LATE - 60 * S)
    scene.observe()
    decision = scene.reconcile()
    assert one(scene).phase is (Phase.STANDBY if waits else woken)
    waiting = decision.verdicts[0].next
    assert (waiting is not None and waiting.at == rest.at + SENT_LATE) is waits
    scene.later(60 * S)
    scene.rounds(2)
    assert one(scene).phase is woken


def test_machine_wakes_as_much_later_as_the_clock_jumped() -> None:
    scene = stand(Condition.STANDBY, Phase.STANDBY)
    scene.keep(one(scene).with_fact(UNANSWERED_REST, scene.now))
    scene.request(RequestKind.WAKE, ONE.id)
    scene.later(SENT_LATE)
    scene.jumped = scene.now
    scene.observe()
    scene.reconcile()
    assert one(scene).phase is Phase.STANDBY
    scene.later(SENT_LATE)
    scene.rounds(2)
    assert one(scene).phase is Phase.STARTING


def test_machine_does_not_come_back_while_a_process_may_yet_switch_it_off() -> None:
    scene = stand(Condition.UP, Phase.STOPPING)
    scene.took_over = True
    scene.later(scene.fleet.timers.stop - 60 * S)
    rest = asked("rest", scene.now, epoch=0, shows=Shows.REST)
    scene.keep(one(scene).with_asked(rest))
    scene.rounds(8, 60 * S)
    assert one(scene).phase is Phase.STOPPING
    scene.rounds(4, 60 * S)
    assert one(scene).phase is Phase.READY


def test_machine_that_somebody_switched_on_is_up() -> None:
    scene = stand(Condition.UP, Phase.STANDBY)
    scene.rounds(1)
    assert (one(scene).phase, one(scene).goal) == (Phase.READY, Goal.PRESENT)


def test_machine_that_somebody_switched_on_is_ready_once_it_answers() -> None:
    scene = stand(Condition.STANDBY, Phase.STANDBY)
    scene.fleet = replace(scene.fleet, probe=replace(scene.fleet.probe, kind=ProbeKind.TCP))
    become(scene, Condition.UP)
    scene.rounds(2)
    assert (one(scene).phase, one(scene).goal) == (Phase.STARTING, Goal.PRESENT)
    scene.probed = {ONE.id: Probed(begun=scene.now, passed=True)}
    scene.rounds(1)
    assert one(scene).phase is Phase.READY


def test_machine_that_somebody_switched_on_is_up_though_it_is_to_end_and_is_protected() -> None:
    """It was said to be in standby for as long as it was protected (metal 204001113)."""
    scene = stand(Condition.STANDBY, Phase.STANDBY)
    scene.request(RequestKind.PROTECT, ONE.id)
    scene.request(RequestKind.DELETE, ONE.id)
    scene.rounds(2)
    assert one(scene).phase is Phase.STANDBY
    become(scene, Condition.UP)
    scene.rounds(2)
    assert (one(scene).phase, one(scene).goal) == (Phase.READY, Goal.PRESENT)
    assert one(scene).deletion is not None
    scene.request(RequestKind.UNPROTECT, ONE.id)
    scene.rounds(1)
    assert one(scene).phase is Phase.DRAINING


@pytest.mark.parametrize("phase", [Phase.READY, Phase.DRAINING])
@pytest.mark.parametrize("down", [Condition.OFF, Condition.STANDBY])
def test_machine_that_somebody_switched_on_is_lost_when_it_goes_off(
    down: Condition, phase: Phase
) -> None:
    """Nobody but a person asked it to come up: its last command is the one to go to rest."""
    scene = stand(Condition.UP, Phase.STANDBY)
    scene.reconcile()
    assert one(scene).phase is Phase.READY
    scene.keep(replace(one(scene), phase=phase))
    become(scene, down)
    for _ in range(6):
        scene.later(30 * S)
        scene.observe()
        scene.reconcile()
    assert one(scene).phase in {Phase.FAILED, Phase.STOPPING, Phase.DELETED}


@pytest.mark.parametrize("condition", [Condition.OFF, Condition.LOCKED])
def test_machine_that_does_not_stand_as_it_was_left_is_removed_with_patience(
    condition: Condition,
) -> None:
    scene = stand(condition, Phase.STANDBY)
    scene.rounds(2)
    assert one(scene).phase is Phase.STANDBY
    scene.rounds(30)
    assert one(scene).phase is Phase.STOPPING
    deletion = one(scene).deletion
    assert deletion is not None
    assert deletion.actor == STANDBY


@pytest.mark.parametrize("phase", [Phase.STOPPING, Phase.STANDBY])
def test_one_observation_without_it_is_nothing(phase: Phase) -> None:
    scene = stand(Condition.STANDBY, Phase.STANDBY)
    scene.keep(replace(one(scene), phase=phase))
    standing = dict(scene.resources)
    scene.later(2 * MIN)
    scene.vanish(*standing)
    scene.observe()
    scene.reconcile()
    assert one(scene).goal is Goal.STANDBY
    scene.exist(*standing.values())
    scene.rounds(3)
    assert (one(scene).phase, one(scene).health.doubt) == (Phase.STANDBY, None)


def test_machine_that_is_gone_for_good_is_gone() -> None:
    scene = stand(Condition.STANDBY, Phase.STANDBY)
    scene.later(2 * MIN)
    scene.vanish(*scene.resources)
    scene.rounds(60)
    assert one(scene).phase is Phase.DELETED


@pytest.mark.parametrize("phase", [Phase.STOPPING, Phase.STANDBY])
def test_machine_that_rests_can_be_ended(phase: Phase) -> None:
    scene = stand(Condition.STANDBY, Phase.STANDBY)
    deletion = Deletion(at=scene.now, actor="ann", why="done", now=True)
    scene.keep(replace(one(scene), phase=phase, deletion=deletion))
    scene.rounds(1)
    assert (one(scene).phase, one(scene).goal) == (Phase.STOPPING, Goal.ABSENT)


def test_rest_is_not_undone_by_the_power_on_before_it() -> None:
    scene = stand(Condition.STANDBY, Phase.STANDBY)
    assert one(scene).woken
    powered = next(a for a in one(scene).asked if a.shows is Shows.POWER)
    later = replace(powered, at=scene.now + 1 * S)
    assert not one(scene).with_asked(later).woken
