"""Stopped means two things, and never *deleting*: an autoscaler once froze on that for good."""

from datetime import timedelta
from itertools import pairwise

import pytest
from msgspec.structs import replace

from hostler.domain.model.phases import Phase
from hostler.lab.scenes.servers import FLEET, Rig, play
from hostler.ports.metrics import Count
from hostler.simulators.scaleway.faults.rates import Rule

MINUTE = timedelta(minutes=1)


def test_a_start_that_falls_back_to_stopped_is_replaced() -> None:
    """Before the first power-on `stopped` is *starting*; after it *broken*, and replaced."""

    async def scene(rig: Rig) -> None:
        rig.world.script(Rule(fault="start_falls_back", route="server.action.poweron"))
        hostler = rig.hostler(FLEET)
        phases = list[tuple[str, str]]()
        while await hostler.ready() < 1:
            for machine in await hostler.machines():
                if machine.observed == "stopped":
                    phases.append((machine.id, machine.phase))
            await rig.clock.sleep(timedelta(milliseconds=200))
        seen = list(dict.fromkeys(phases))
        first = seen[0][0]
        assert [phase for machine, phase in seen if machine == first][:2] == [
            Phase.STARTING,
            Phase.STOPPING,
        ]
        reasons = [k.event.reason for k in await hostler.events() if k.event.machine == first]
        assert "stopped" in reasons
        await hostler.rests(1, 10 * MINUTE)
        await hostler.leaves_nothing(10 * MINUTE)

    play(scene)


@pytest.mark.parametrize(
    "fault", ["guest_poweroff", "server_deleted_by_hand", "address_deleted_by_hand"]
)
def test_what_was_ready_and_is_not_is_removed_and_replaced(fault: str) -> None:
    """`stopped in place` (a guest's own shutdown, still billed), or a part that is gone: healed."""

    async def scene(rig: Rig) -> None:
        hostler = rig.hostler(replace(FLEET, size=3))
        await hostler.rests(3, 10 * MINUTE)
        await rig.clock.sleep(2 * MINUTE)
        kind = "address" if fault.startswith("address") else "server"
        victim = next(leak for leak in rig.world.leaks() if leak.kind == kind)
        assert rig.world.act(fault, victim.id)
        await rig.clock.sleep(5 * MINUTE)
        await hostler.rests(3, 10 * MINUTE)
        assert all(leak.id != victim.id for leak in rig.world.leaks())
        assert len(rig.world.leaks()) == 9
        await hostler.leaves_nothing(10 * MINUTE)

    play(scene)


def test_nine_with_seven_that_never_start_reach_nine() -> None:
    """instance_count 9, pending 7, reserved 7, no clean-up ever: here they go, nine come up."""

    async def scene(rig: Rig) -> None:
        rig.world.script(
            Rule(fault="start_falls_back", route="server.action.poweron", after=3, count=7)
        )
        hostler = rig.hostler(replace(FLEET, size=9))
        await hostler.rests(9, 60 * MINUTE)
        assert rig.world.faults["start_falls_back"] == 7
        assert len(rig.world.leaks()) == 27
        await hostler.leaves_nothing(10 * MINUTE)

    play(scene)


def test_seven_of_nine_stopped_in_place_at_once_are_replaced() -> None:
    """A loss wave: none is believed without a look of its own; then all are replaced."""

    async def scene(rig: Rig) -> None:
        hostler = rig.hostler(replace(FLEET, size=9))
        await hostler.rests(9, 10 * MINUTE)
        await rig.clock.sleep(2 * MINUTE)
        victims = [server.id for server in rig.servers()][:7]
        for victim in victims:
            assert rig.world.act("guest_poweroff", victim)
        await rig.clock.sleep(30 * MINUTE)
        await hostler.rests(9, 30 * MINUTE)
        assert not {server.id for server in rig.servers()} & set(victims)

    play(scene)


@pytest.mark.parametrize("fault", ["stuck_starting", "unknown_status"])
def test_what_never_gets_on_holds_no_place_for_ever(fault: str) -> None:
    """A server stuck on its way is given up at its bound; one with a strange word stays."""

    async def scene(rig: Rig) -> None:
        if fault == "stuck_starting":
            rig.world.script(Rule(fault=fault, route="server.action.poweron", spell=7200.0))
        hostler = rig.hostler(FLEET)
        if fault == "unknown_status":
            await hostler.rests(1, 5 * MINUTE)
            server = rig.servers()[0]
            assert rig.world.act(fault, server.id, spell=1800.0)
            await rig.clock.sleep(20 * MINUTE)
            assert [s.id for s in rig.servers()] == [server.id]
            assert rig.metrics.series(Count.UNKNOWN_STATUSES)
            return
        while await hostler.ready() < 1:
            await rig.clock.sleep(timedelta(seconds=5))
            assert rig.clock.boot() < 1800

    play(scene)


@pytest.mark.parametrize(
    ("route", "fault"),
    [
        ("server.action.poweron", "locked_423"),
        ("server.action.poweron", "transient_409"),
        ("server.action.terminate", "transient_409"),
        ("volume.update", "transient_409"),
        ("volume.delete", "transient_409"),
    ],
)
def test_busy_ends_the_step_and_is_tried_again_within_two_seconds(route: str, fault: str) -> None:
    """423 and 409 are tried again after 1 s plus up to 500 ms, power and volumes included."""

    async def scene(rig: Rig) -> None:
        rig.world.script(Rule(fault=fault, route=route, spell=0.5))
        hostler = rig.hostler(FLEET)
        await hostler.rests(1, 5 * MINUTE)
        await hostler.leaves_nothing(10 * MINUTE)
        assert rig.world.faults[fault] == 1
        moments = [line.time for line in rig.world.journal if line.key == route]
        waits = [after - before for before, after in pairwise(moments)]
        assert any(1.0 <= wait <= 4.5 for wait in waits), waits

    play(scene)
