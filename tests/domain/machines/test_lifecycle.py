"""Follow: what observation makes of a machine, with patience; both kinds of stopped; bounds."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import ResourceId
from hostler.domain.model.calls import Refusal, Shows
from hostler.domain.model.commands import Advance
from hostler.domain.model.fleet import Probe, ProbeKind
from hostler.domain.model.machine import LOCKED, CallState, Machine
from hostler.domain.model.phases import Goal, Phase, Reason
from hostler.domain.model.resource import Condition
from hostler.domain.model.snapshot import Probed, RequestKind
from hostler.testing.fakes.planner import POWER_ON, SERVER
from hostler.testing.scenes.builders import FLEET, MIN, S, address, asked, machine, server
from hostler.testing.scenes.fleet import Scene

GAP = FLEET.timers.absence_gap
BOTH_KINDS_OF_STOPPED = [Condition.OFF, Condition.STANDBY]


def furnished(many: int = 1, size: int | None = None) -> Scene:
    scene = Scene(fleet=replace(FLEET, size=many if size is None else size))
    scene.furnish(*(machine(number) for number in range(1, many + 1)))
    scene.observe()
    return scene


def being_made(scene: Scene, condition: Condition, *, powered: bool) -> Machine:
    """Return a machine that is starting, its server as given, switched on long ago or not yet."""
    call = asked(POWER_ON, scene.now - 5 * MIN, shows=Shows.POWER, call_state=CallState.DONE)
    entry = replace(
        machine(phase=Phase.STARTING, since=scene.now - 5 * MIN), asked=(call,) if powered else ()
    )
    scene.add(entry)
    scene.exist(server(entry, condition), address(entry, owner=server(entry).id))
    return entry


# ---------------------------------------------------------------- stopped, both kinds


@pytest.mark.parametrize("condition", BOTH_KINDS_OF_STOPPED)
def test_stopped_server_is_still_starting_before_its_first_power_on(condition: Condition) -> None:
    scene = Scene()
    being_made(scene, condition, powered=False)
    scene.rounds(20, 5 * S)
    assert scene.the().phase is Phase.STARTING
    assert scene.the().health.doubt is None


@pytest.mark.parametrize("condition", BOTH_KINDS_OF_STOPPED)
def test_stopped_server_is_broken_after_its_power_on_removed_and_replaced(
    condition: Condition,
) -> None:
    scene = Scene()
    being_made(scene, condition, powered=True)
    scene.rounds(30, 2 * S)
    advance = scene.advance()
    assert advance is not None
    assert (scene.the().phase, advance.goal) == (Phase.STOPPING, Goal.ABSENT)
    assert [m.phase for m in scene.machines.values() if m.id != scene.the().id] == [Phase.STARTING]


@pytest.mark.parametrize("condition", BOTH_KINDS_OF_STOPPED)
def test_ready_machine_that_stops_is_removed_and_replaced_and_never_switched_on_again(
    condition: Condition,
) -> None:
    scene = furnished()
    scene.exist(server(scene.the(), condition))
    goals = list[Goal | None]()
    for _ in range(15):
        scene.observe()
        advance = scene.advance()
        goals.append(advance.goal if advance else None)
        scene.reconcile()
        scene.later(2 * S)
    assert Goal.PRESENT not in goals
    assert goals[-1] is Goal.ABSENT
    assert scene.the(2).phase is Phase.STARTING


@pytest.mark.parametrize("condition", BOTH_KINDS_OF_STOPPED)
def test_nine_machines_with_seven_pending_that_never_moved_heal(condition: Condition) -> None:
    """Instance_count 9, pending 7, reserved 7, and no clean-up ever: must be impossible."""
    scene = furnished(2, size=9)
    scene.fleet = replace(
        scene.fleet, caps=replace(scene.fleet.caps, share=1.0, per_hour=100, per_reclaim=100)
    )
    for number in range(3, 10):
        entry = replace(machine(number).with_health(was_ready=None), phase=Phase.STARTING)
        scene.add(entry)
        scene.exist(server(entry, condition), address(entry, owner=server(entry).id))
    scene.rounds(40, 2 * S)
    assert [scene.the(number).phase for number in (1, 2)] == [Phase.READY] * 2
    assert [scene.the(number).phase for number in range(3, 10)] == [Phase.STOPPING] * 7
    assert all(scene.advance(number).goal is Goal.ABSENT for number in range(3, 10))  # type: ignore[union-attr]
    for number in range(3, 10):
        scene.vanish(server(machine(number)).id, address(machine(number)).id)
    for _ in range(100):
        for entry in scene.machines.values():
            if entry.phase is Phase.STARTING:
                up = server(entry)
                scene.exist(up, address(entry, owner=up.id))
        scene.rounds(1, 10 * S)
    assert [m.phase for m in scene.machines.values()] == [Phase.READY] * 9


def test_one_sighting_of_a_stopped_server_is_nothing() -> None:
    scene = furnished()
    scene.exist(server(scene.the(), Condition.OFF))
    scene.observe()
    scene.reconcile()
    scene.exist(server(scene.the(), Condition.UP))
    scene.later(GAP)
    scene.observe()
    scene.reconcile()
    assert scene.the().phase is Phase.READY
    assert scene.the().health.doubt is None


def test_observations_without_end_but_no_gap_are_one_sighting() -> None:
    scene = furnished()
    scene.exist(server(scene.the(), Condition.OFF))
    for _ in range(18):
        scene.observe()
        scene.reconcile()
        scene.later(1 * S)
    assert scene.the().phase is Phase.READY


def test_the_same_old_observation_does_not_grow_into_a_second_one() -> None:
    scene = furnished()
    scene.exist(server(scene.the(), Condition.OFF))
    scene.observe()
    scene.reconcile()
    scene.later(GAP * 3)
    scene.reconcile()
    assert scene.the().phase is Phase.READY


@pytest.mark.parametrize(
    "condition", [Condition.UNKNOWN, Condition.BUSY, Condition.STARTING, Condition.STOPPING]
)
def test_unknown_or_passing_status_neither_kills_nor_blocks(condition: Condition) -> None:
    scene = furnished()
    scene.exist(server(scene.the(), condition))
    scene.rounds(60, 5 * S)
    assert scene.the().phase is Phase.READY
    scene.exist(server(scene.the(), Condition.OFF))
    scene.rounds(20, 2 * S)
    assert scene.the().phase is Phase.STOPPING


def test_locked_server_is_broken_even_before_it_was_on() -> None:
    scene = Scene()
    being_made(scene, Condition.LOCKED, powered=False)
    scene.rounds(20, 2 * S)
    assert scene.the().phase is Phase.STOPPING


# ---------------------------------------------------------------- vanished


def test_server_that_vanished_is_replaced_after_its_own_answer() -> None:
    scene = furnished()
    scene.vanish(server(scene.the()).id)
    scene.rounds(40, 2 * S)
    assert scene.the(1).phase is Phase.STOPPING
    assert "vanished" in [event.reason for event in scene.events]
    assert scene.the(2).phase is Phase.STARTING


def test_server_missing_from_lists_that_answers_for_itself_is_not_touched() -> None:
    scene = furnished()
    before = server(scene.the())
    for _ in range(60):
        scene.observe(only=[])
        decision = scene.reconcile()
        assert not any(c.goal for c in decision.commands if isinstance(c, Advance))
        scene.later(2 * S)
        scopes = [s for c in decision.commands if isinstance(c, Advance) for s in c.close]
        assert all(s.known for s in scopes)
        scene.observe_one(*scopes)
    assert scene.the().phase is Phase.READY
    assert before.id in scene.inventory.sightings


def test_address_that_vanished_breaks_the_machine() -> None:
    scene = furnished()
    scene.vanish(address(scene.the()).id)
    scene.rounds(40, 2 * S)
    assert scene.the(1).phase is Phase.STOPPING
    assert "resource_vanished" in [event.reason for event in scene.events]


def test_dead_zone_touches_nothing() -> None:
    scene = furnished(3)
    before = dict(scene.machines)
    for _ in range(100):
        scene.observe(complete=False, only=[])
        scene.reconcile()
        scene.later(30 * S)
    assert scene.machines == before


# ---------------------------------------------------------------- ready: probes


PROBED = replace(FLEET, probe=Probe(kind=ProbeKind.TCP))


def test_machine_that_is_up_is_ready_at_once_where_no_probe_is_asked_for() -> None:
    scene = Scene()
    being_made(scene, Condition.UP, powered=True)
    scene.observe()
    scene.reconcile()
    assert scene.the().phase is Phase.READY
    assert scene.the().health.was_ready == scene.now


def test_machine_that_is_up_is_ready_when_its_probe_passed_since_it_started() -> None:
    scene = Scene(fleet=PROBED)
    entry = being_made(scene, Condition.UP, powered=True)
    scene.observe()
    advance = scene.advance()
    assert advance is not None
    assert advance.probe
    scene.reconcile()
    assert scene.the().phase is Phase.STARTING
    scene.probed[entry.id] = Probed(begun=entry.since - 1 * S, passed=True)
    scene.reconcile()
    assert scene.the().phase is Phase.STARTING, "a probe of an earlier life proves nothing"
    scene.probed[entry.id] = Probed(begun=scene.now, passed=True)
    scene.reconcile()
    assert scene.the().phase is Phase.READY
    assert scene.the().fact("probe") == scene.now


def test_probes_are_a_while_apart() -> None:
    scene = Scene(fleet=PROBED)
    entry = being_made(scene, Condition.UP, powered=True)
    scene.observe()
    scene.probed[entry.id] = Probed(begun=scene.now, passed=False)
    advance = scene.advance()
    assert advance is None or not advance.probe
    scene.later(FLEET.timers.probe_every)
    advance = scene.advance()
    assert advance is not None
    assert advance.probe


# ---------------------------------------------------------------- bounds


def test_start_bound_breaks_what_is_still_not_up() -> None:
    scene = Scene(fleet=replace(FLEET, size=0))
    being_made(scene, Condition.STARTING, powered=True)
    scene.row = replace(scene.row, size=1)
    scene.later(5 * MIN)
    scene.observe()
    scene.reconcile()
    assert scene.the(1).phase is Phase.STOPPING
    assert "start_overdue" in [event.reason for event in scene.events]
    assert "rollback_started" in [event.kind for event in scene.events]


def test_start_bound_needs_an_observation_begun_after_it() -> None:
    """A process that slept for an hour must not judge by what it saw before."""
    scene = Scene()
    being_made(scene, Condition.STARTING, powered=True)
    scene.observe()
    scene.later(60 * MIN)
    scene.reconcile()
    assert scene.the().phase is Phase.STARTING
    scene.observe()
    scene.reconcile()
    assert scene.the().phase is not Phase.STARTING


def test_start_bound_of_what_is_up_needs_a_probe_begun_after_it() -> None:
    scene = Scene(fleet=PROBED)
    entry = being_made(scene, Condition.UP, powered=True)
    scene.probed[entry.id] = Probed(begun=scene.now, passed=False)
    scene.later(5 * MIN)
    scene.observe()
    scene.reconcile()
    assert scene.the().phase is Phase.STARTING
    scene.probed[entry.id] = Probed(begun=scene.now, passed=False)
    scene.reconcile()
    assert scene.the().phase is not Phase.STARTING


def test_machine_whose_server_is_missing_but_never_answers_for_itself_still_becomes_overdue() -> (
    None
):
    scene = Scene()
    entry = being_made(scene, Condition.STARTING, powered=True)
    scene.vanish(server(entry).id)
    for _ in range(40):
        scene.observe()
        scene.reconcile()
        scene.later(10 * S)
    assert scene.the(1).phase is Phase.STOPPING


def test_stop_bound_raises_an_alarm_and_leaves_the_maximum_but_forgets_nothing() -> None:
    scene = furnished(size=0)
    scene.keep(replace(scene.the(), phase=Phase.STOPPING, since=scene.now))
    scene.exist(server(scene.the(), Condition.BUSY))
    scene.later(10 * MIN)
    scene.observe()
    scene.reconcile()
    assert scene.the().health.stuck
    assert [e.reason for e in scene.events if e.kind == "alarm"] == ["stop_overdue"]
    scene.later(1 * MIN)
    scene.observe()
    scene.reconcile()
    assert len([e for e in scene.events if e.kind == "alarm"]) == 1
    scene.exist(server(scene.the(), Condition.UP))
    scene.observe()
    advance = scene.advance()
    assert advance is not None
    assert advance.goal is Goal.ABSENT


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("refusal", "reason", "via"),
    [
        (Refusal.STOCK, "out_of_stock", Phase.STOPPING),
        (Refusal.QUOTA, "quota", Phase.STOPPING),
        (Refusal.INVALID, "refused", Phase.FAILED),
        (Refusal.DENIED, "refused", Phase.FAILED),
    ],
)
def test_final_refusal_rolls_back(refusal: Refusal, reason: str, via: Phase) -> None:
    scene = Scene()
    entry = being_made(scene, Condition.OFF, powered=False)
    scene.keep(replace(entry.with_health(refused=refusal), error="server.make: no"))
    scene.observe()
    scene.reconcile()
    assert scene.the(1).phase is Phase.STOPPING
    moves = [event for event in scene.events if event.kind == "moved"]
    assert (moves[0].reason, moves[0].detail.split(":")[0]) == (reason, f"starting>{via}")
    assert len([e for e in scene.events if e.kind == "rollback_started"]) == 1


def test_rollback_is_done_when_nothing_is_left() -> None:
    scene = Scene(fleet=replace(FLEET, size=0))
    entry = being_made(scene, Condition.OFF, powered=False)
    scene.keep(replace(entry, phase=Phase.STOPPING))
    scene.resources.clear()
    scene.rounds(40, 5 * S)
    assert not scene.machines
    assert [e.kind for e in scene.events if e.machine == entry.id][-1] == "rollback_done"


# ---------------------------------------------------------------- recovery, money


def test_broken_machine_that_is_up_again_recovers() -> None:
    scene = furnished()
    scene.fleet = replace(scene.fleet, timers=replace(scene.fleet.timers, keep_failed=10 * MIN))
    scene.keep(replace(scene.the(), phase=Phase.FAILED, since=scene.now))
    scene.observe()
    scene.reconcile()
    assert scene.the().phase is Phase.READY


@pytest.mark.parametrize(("protects", "phase"), [(True, Phase.READY), (False, Phase.STOPPING)])
def test_broken_machine_that_is_to_end_recovers_as_long_as_it_is_protected(
    protects: bool, phase: Phase
) -> None:
    scene = furnished()
    if protects:
        scene.request(RequestKind.PROTECT, scene.the().id)
    scene.request(RequestKind.DELETE, scene.the().id)
    scene.keep(replace(scene.the(), phase=Phase.FAILED, since=scene.now))
    scene.rounds(1)
    assert (scene.the().phase, scene.the().wanted) == (phase, False)


def test_what_recovers_is_ready_once_it_answers_again() -> None:
    """A Mac that was wiped in standby was handed over without its setup (Macs 118000016)."""
    scene = furnished()
    timers = replace(scene.fleet.timers, keep_failed=10 * MIN)
    probe = replace(scene.fleet.probe, kind=ProbeKind.TCP)
    scene.fleet = replace(scene.fleet, timers=timers, probe=probe)
    scene.keep(replace(scene.the(), phase=Phase.FAILED, since=scene.now))
    scene.observe()
    scene.reconcile()
    assert (scene.the().phase, scene.the().reason) == (Phase.STARTING, Reason.RECOVERED)
    failed = scene.the().since
    old = Probed(begun=failed - S, passed=True)
    scene.probed = {scene.the().id: old}
    scene.rounds(2, 5 * S)
    assert scene.the().phase is Phase.STARTING
    scene.probed = {scene.the().id: replace(old, begun=scene.now)}
    scene.rounds(2, 5 * S)
    assert scene.the().phase is Phase.READY


def test_machine_whose_host_could_not_be_prepared_does_not_recover_by_being_up() -> None:
    """One went back and forth between failed and starting for hours (Macs 183000859)."""
    scene = furnished()
    scene.fleet = replace(scene.fleet, timers=replace(scene.fleet.timers, keep_failed=10 * MIN))
    failed = replace(scene.the(), phase=Phase.FAILED, since=scene.now)
    scene.keep(replace(failed, reason=str(Reason.NOT_PREPARED)))
    scene.rounds(3, 20 * S)
    assert (scene.the().phase, scene.the().reason) == (Phase.FAILED, Reason.NOT_PREPARED)


def test_machine_that_was_never_ready_does_not_recover_by_being_up() -> None:
    scene = furnished()
    scene.fleet = replace(scene.fleet, timers=replace(scene.fleet.timers, keep_failed=10 * MIN))
    scene.keep(
        replace(scene.the().with_health(was_ready=None), phase=Phase.FAILED, since=scene.now)
    )
    scene.observe()
    scene.reconcile()
    assert scene.the().phase is Phase.FAILED


def test_evidence_of_a_failure_is_kept_as_long_as_asked() -> None:
    scene = furnished()
    scene.fleet = replace(scene.fleet, timers=replace(scene.fleet.timers, keep_failed=10 * MIN))
    scene.exist(server(scene.the(), Condition.OFF))
    scene.rounds(15, 2 * S)
    assert scene.the().phase is Phase.FAILED
    scene.later(timedelta(minutes=10))
    scene.observe()
    scene.reconcile()
    assert scene.the().phase is Phase.STOPPING


def test_price_is_what_is_seen_and_stays_where_nothing_was_observed() -> None:
    scene = furnished()
    scene.keep(scene.the().with_billing(price=0.0, billed_from=None))
    scene.reconcile()
    assert scene.the().billing.price == pytest.approx(0.011)
    blank = Scene(now=scene.now)
    blank.add(scene.the())
    assert blank.advance() is None, "what was not looked at costs what it cost"


def test_resource_is_found_by_its_slot() -> None:
    assert machine().place(SERVER).bound == server(machine()).id


def test_lock_is_noted_while_a_machine_is_removed_and_forgotten_after_it() -> None:
    scene = Scene(fleet=replace(FLEET, size=0))
    scene.furnish(machine(1))
    scene.exist(server(machine(1), Condition.LOCKED))
    scene.rounds(20)
    noted = scene.the()
    assert (noted.phase, noted.fact(LOCKED) is not None) == (Phase.STOPPING, True)
    scene.exist(server(machine(1), Condition.UP))
    scene.rounds(1)
    assert scene.the().fact(LOCKED) is None


# ---------------------------------------------------------------- errors


def test_an_error_of_a_ready_machine_ends_with_what_it_was_about() -> None:
    """A surplus server could not be ended yet, and then it was gone: nobody tries that again."""
    scene = furnished()
    extra = replace(server(scene.the()), id=ResourceId("server-x"))
    scene.exist(extra)
    scene.observe()
    scene.reconcile()
    refused = "server.terminate: 409 transient_state"
    later = scene.now + 5 * S
    tried = replace(scene.the(), error=refused, tries=1)
    scene.keep(replace(tried, retry_since=scene.now, retry_at=later))
    scene.vanish(extra.id)
    scene.later(2 * S)
    scene.observe()
    scene.reconcile()
    assert scene.the().error == refused, "another try is waited for"
    scene.rounds(30, 2 * S)
    entry = scene.the()
    assert (entry.phase, entry.error, entry.tries, entry.retry_at) == (Phase.READY, "", 0, None)


def test_an_error_of_a_start_ends_once_its_machine_is_ready() -> None:
    """It was told for ever of a Mac that somebody renamed it: a list had lagged for a second."""
    scene, wrong = Scene(), "mac.rename.claimed: somebody renamed it"
    being_made(scene, Condition.STARTING, powered=True)
    scene.keep(replace(scene.the(), error=wrong, tries=1))
    scene.rounds(2, 2 * S)
    assert (scene.the().phase, scene.the().error) == (Phase.STARTING, wrong)
    scene.exist(server(scene.the(), Condition.UP))
    scene.rounds(2, 2 * S)
    assert (scene.the().phase, scene.the().error, scene.the().tries) == (Phase.READY, "", 0)


def test_an_error_of_a_ready_machine_stays_while_there_is_something_to_do_about_it() -> None:
    scene = furnished()
    scene.exist(replace(server(scene.the()), id=ResourceId("server-x")))
    scene.observe()
    scene.reconcile()
    scene.keep(replace(scene.the(), error="server.terminate: 409 transient_state", tries=1))
    scene.rounds(5, 2 * S)
    assert scene.the().error
