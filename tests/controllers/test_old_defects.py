"""What an older homelab autoscaler did wrong with power: each fails on the behaviour of then.

The numbers are those of docs/explanation/thirty-defects.md.
"""

import pytest
from msgspec.structs import replace

from hostler.domain.ids import ResourceId
from hostler.domain.model.capabilities import Cleaning
from hostler.domain.model.fleet import Caps, Probe, ProbeKind
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.domain.model.snapshot import RequestKind
from hostler.lab.scenes.metal import MetalScene
from hostler.testing.fakes.metal_planner import HOST_OFF, REST, SWITCH_ON
from hostler.testing.scenes.builders import FLEET, MIN, S

pytestmark = pytest.mark.looptime

BOX = ResourceId("box-1")
OFFS = {HOST_OFF, REST}
EAGER = Caps(share=1.0, per_hour=1000, per_reclaim=1000)


def rack(
    boxes: int = 1,
    *,
    probed: bool = False,
    cleaning: Cleaning = Cleaning.POWER_CYCLE,
    exclusive: bool = True,
) -> MetalScene:
    probe = Probe(kind=ProbeKind.TCP) if probed else FLEET.probe
    fleet = replace(FLEET, size=1, maximum=1, caps=EAGER, probe=probe)
    return MetalScene(fleet, boxes=boxes, cleaning=cleaning, exclusive=exclusive)


async def starting(scene: MetalScene) -> None:
    """Wait until a box was told to start."""
    while SWITCH_ON not in scene.calls():
        await scene.pass_by(1 * S)


def commands(scene: MetalScene) -> list[str]:
    """Return every command for power, in order."""
    return [call for call in scene.calls() if call in {SWITCH_ON, *OFFS}]


async def test_01_a_start_that_was_under_way_goes_on_after_a_restart() -> None:
    """Only a thread in memory followed it: after a restart it stayed "starting" for ever."""
    scene = rack()
    async with scene.running("a"):
        await starting(scene)
    async with scene.running("b"):
        await scene.until([Phase.READY], 10 * MIN)
    assert commands(scene) == [SWITCH_ON]


async def test_01_a_stop_that_was_under_way_goes_on_after_a_restart() -> None:
    scene = rack()
    async with scene.running("a"):
        await scene.until([Phase.READY], 10 * MIN)
        await scene.request(RequestKind.SCALE, size=0)
        await scene.pass_by(10 * S)
    async with scene.running("b"):
        await scene.pass_by(10 * MIN)
        assert (await scene.phases(), scene.condition()) == ([], Condition.OFF)


async def test_02_the_bound_of_a_start_counts_from_its_record_through_every_restart() -> None:
    """Its clock began anew with each object: what was stuck was never found to be."""
    scene = rack(probed=True)
    scene.prober.all_unwilling = True
    for holder in ("a", "b", "c", "d"):
        async with scene.running(holder):
            await scene.pass_by(4 * MIN)
    (made, *_) = await scene.events("made")
    failed = [e.event for e in await scene.events("moved") if "starting>failed" in e.event.detail]
    assert failed, "no engine lived for as long as the bound, and nothing else ends the start"
    bound = FLEET.timers.start
    assert bound <= failed[0].at - made.event.at <= bound + 5 * MIN


async def test_03_a_box_that_comes_up_after_its_start_was_given_up_is_in_no_dead_corner() -> None:
    """Wanted on, on, and held to be off: no event fitted, and it could never be switched off."""
    scene = rack()
    scene.rack.ignoring.add(BOX)
    async with scene.running():
        await starting(scene)
        while not [e for e in await scene.events("moved") if ">failed" in e.event.detail]:
            await scene.pass_by(10 * S)
        scene.rack.ignoring.clear()
        scene.rack.switch_on(BOX)
        await scene.request(RequestKind.SCALE, size=0)
        await scene.pass_by(30 * MIN)
        assert (await scene.phases(), scene.condition()) == ([], Condition.OFF)
        await scene.request(RequestKind.SCALE, size=1)
        await scene.until([Phase.READY], 30 * MIN)


async def test_04_a_command_that_was_accepted_is_no_start_and_is_given_again() -> None:
    """A packet that was sent counted as a start, whether the machine came up or not."""
    scene = rack()
    scene.rack.ignoring.add(BOX)
    async with scene.running():
        await starting(scene)
        (first,) = await scene.machines()
        await scene.pass_by(20 * S)
        assert Phase.READY not in await scene.phases()
        scene.rack.ignoring.clear()
        await scene.until([Phase.READY], 5 * MIN)
        (ready,) = await scene.machines()
    assert ready.id == first.id
    assert commands(scene) == [SWITCH_ON] * 2


async def test_04_a_box_that_is_on_and_not_reachable_is_not_ready() -> None:
    scene = rack(probed=True)
    scene.prober.all_unwilling = True
    async with scene.running():
        await starting(scene)
        await scene.pass_by(3 * MIN)
        assert (await scene.phases(), scene.condition()) == ([Phase.STARTING], Condition.UP)
        scene.prober.all_unwilling = False
        await scene.until([Phase.READY], 2 * MIN)


async def test_05_and_06_nobody_gets_a_box_while_an_old_command_may_still_be_obeyed() -> None:
    """A worker that was given up went on, and switched off what was in use again by then."""
    scene = rack(cleaning=Cleaning.TRUSTED)
    async with scene.running():
        await scene.until([Phase.READY], 10 * MIN)
        scene.rack.slow[BOX] = 25 * S
        await scene.request(RequestKind.SCALE, size=0)
        while HOST_OFF not in scene.calls():
            await scene.pass_by(1 * S)
        scene.rack.slow.clear()
        await scene.request(RequestKind.SCALE, size=1)
        await scene.until([Phase.READY], 10 * MIN)
        await scene.pass_by(5 * MIN)
        assert (await scene.phases(), scene.condition()) == ([Phase.READY], Condition.UP)
    failures = [e for e in await scene.events("moved") if ">failed" in e.event.detail]
    assert failures == []


async def test_07_what_does_not_answer_is_neither_off_nor_on() -> None:
    """A partition looked like "off", and it was started again; a hung one was never stopped."""
    scene = rack(boxes=2)
    async with scene.running():
        await scene.until([Phase.READY], 10 * MIN)
        before = commands(scene)
        (machine,) = await scene.machines()
        scene.rack.silent.add(ResourceId(str(machine.host)))
        await scene.pass_by(10 * MIN)
        assert commands(scene) == before
        assert await scene.phases() == [Phase.READY]


async def test_07_a_machine_whose_probe_fails_is_still_switched_off() -> None:
    """Power is read at its endpoint: what hangs is on, and goes off when it is to."""
    scene = rack(probed=True)
    async with scene.running():
        await scene.until([Phase.READY], 10 * MIN)
        scene.prober.all_unwilling = True
        await scene.request(RequestKind.SCALE, size=0)
        await scene.pass_by(10 * MIN)
        assert scene.condition() is Condition.OFF


async def test_11_two_engines_give_a_box_one_command() -> None:
    """Locks that every replica owned guarded nothing: here one of the two leads at any time."""
    scene, led = rack(exclusive=False), set[tuple[bool, ...]]()
    async with scene.running("a") as first, scene.running("b") as second:
        for _ in range(10 * 60):
            await scene.pass_by(1 * S)
            tenures = (one.leases.tenure(f"fleet/{FLEET.name}") for one in (first, second))
            led.add(tuple(tenure is not None for tenure in tenures))
        assert await scene.phases() == [Phase.READY]
    assert commands(scene) == [SWITCH_ON]
    assert led & {(True, False), (False, True)}
    assert (True, True) not in led
