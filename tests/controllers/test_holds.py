"""Whole engines over owned metal: what a person wants of a box, and what idle boxes do."""

import itertools
from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import HostId, ResourceId
from hostler.domain.model.capabilities import Cleaning, PowerLimits
from hostler.domain.model.fleet import Caps
from hostler.domain.model.hold import HoldKind
from hostler.domain.model.host import Host, HostCondition
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.lab.scenes.metal import NO_LIMITS, MetalScene
from hostler.requests.recording import refusals
from hostler.testing.fakes.metal_planner import HOST_OFF, HOST_ON
from hostler.testing.scenes.builders import FLEET, MIN, S

pytestmark = pytest.mark.looptime

EAGER = Caps(share=1.0, per_hour=1000, per_reclaim=1000)
K = RequestKind
HOUR = 60 * MIN
UP, OFF = Condition.UP, Condition.OFF


def rack(
    size: int = 0,
    boxes: int = 1,
    power: PowerLimits = NO_LIMITS,
    cleaning: Cleaning = Cleaning.POWER_CYCLE,
) -> MetalScene:
    fleet = replace(FLEET, size=size, maximum=boxes, caps=EAGER)
    return MetalScene(fleet, boxes=boxes, power=power, cleaning=cleaning)


async def hold(
    scene: MetalScene, kind: HoldKind, time: timedelta = HOUR, box: str = "box-1"
) -> Request:
    """Ask that a box is held like this for so long, and wait until that is taken."""
    until = scene.clock.now() + time
    request = replace(scene.blank(K.HOLD), host=HostId(box), hold=kind, until=until)
    return await put(scene, request)


async def put(scene: MetalScene, request: Request) -> Request:
    recorded = await scene.store.request(request)
    while any(one.number == recorded.number for one in await scene.store.requests()):
        await scene.pass_by(1 * S)
    return recorded


async def record(scene: MetalScene, box: str = "box-1") -> Host:
    host = await scene.host(box)
    assert host is not None
    return host


# ---------------------------------------------------------------- a person's word


@pytest.mark.parametrize("kind", [HoldKind.RESERVED, HoldKind.MAINTENANCE, HoldKind.OFF])
async def test_no_machine_takes_a_box_that_a_person_holds_until_that_ends(kind: HoldKind) -> None:
    scene = rack()
    async with scene.running():
        await scene.pass_by(1 * MIN)
        await hold(scene, kind)
        await scene.request(K.SCALE, size=1)
        await scene.pass_by(50 * MIN)
        assert await scene.phases() in ([], [Phase.PENDING])
        await scene.until([Phase.READY], 20 * MIN)


async def test_a_box_is_on_for_as_long_as_a_person_wants_it_on() -> None:
    scene = rack()
    async with scene.running():
        await scene.pass_by(1 * MIN)
        await hold(scene, HoldKind.ON, 30 * MIN)
        await scene.pass_by(5 * MIN)
        assert scene.condition() is UP
        await scene.pass_by(20 * MIN)
        assert scene.condition() is UP
        await scene.pass_by(10 * MIN)
        assert scene.condition() is OFF
    assert scene.calls() == [HOST_ON, HOST_OFF]


async def test_a_machine_may_take_a_box_that_is_to_stay_on() -> None:
    scene = rack()
    async with scene.running():
        await scene.pass_by(1 * MIN)
        await hold(scene, HoldKind.ON)
        await scene.pass_by(5 * MIN)
        await scene.request(K.SCALE, size=1)
        await scene.until([Phase.READY], 5 * MIN)
    assert scene.calls() == [HOST_ON]


async def test_a_box_goes_off_at_once_where_a_person_wants_it_off() -> None:
    """Its least time on is the fleet's wish, and a person's goes before that."""
    scene = rack(power=PowerLimits(least_on=24 * HOUR))
    scene.rack.switch_on(ResourceId("box-1"))
    async with scene.running():
        await scene.pass_by(5 * MIN)
        assert scene.condition() is UP
        await hold(scene, HoldKind.OFF)
        await scene.pass_by(2 * MIN)
        assert scene.condition() is OFF


@pytest.mark.parametrize("kind", [HoldKind.RESERVED, HoldKind.MAINTENANCE])
async def test_the_power_of_a_box_that_a_person_works_on_stays_as_it_is(kind: HoldKind) -> None:
    scene = rack(power=PowerLimits(least_on=10 * MIN))
    scene.rack.switch_on(ResourceId("box-1"))
    async with scene.running():
        await scene.pass_by(5 * MIN)
        await hold(scene, kind)
        await scene.pass_by(50 * MIN)
        assert (scene.calls(), scene.condition()) == ([], UP)
        await scene.pass_by(20 * MIN)
        assert scene.condition() is OFF


@pytest.mark.parametrize(
    ("kind", "cleaned"), [(HoldKind.MAINTENANCE, False), (HoldKind.RESERVED, True)]
)
async def test_a_box_in_maintenance_is_not_even_cleaned(kind: HoldKind, *, cleaned: bool) -> None:
    scene = rack(1)
    async with scene.running():
        await scene.until([Phase.READY], 5 * MIN)
        await hold(scene, kind)
        await scene.request(K.SCALE, size=0)
        await scene.pass_by(20 * MIN)
        host = await record(scene)
        assert (host.condition is HostCondition.FREE) is cleaned
        assert (scene.condition() is OFF) is cleaned


async def test_a_machine_keeps_the_box_that_a_person_holds_until_it_ends() -> None:
    scene = rack(1)
    async with scene.running():
        await scene.until([Phase.READY], 5 * MIN)
        await hold(scene, HoldKind.OFF)
        await scene.pass_by(20 * MIN)
        assert (await scene.phases(), scene.condition()) == ([Phase.READY], UP)
        (machine,) = await scene.machines()
        await scene.request(K.DELETE, machine=machine.id)
        await scene.pass_by(10 * MIN)
        assert (Phase.READY in await scene.phases(), scene.condition()) == (False, OFF)


async def test_what_a_person_lifts_is_at_the_fleets_disposal_again() -> None:
    scene = rack()
    async with scene.running():
        await scene.pass_by(1 * MIN)
        await hold(scene, HoldKind.RESERVED)
        await put(scene, replace(scene.blank(K.LIFT), host=HostId("box-1")))
        await scene.request(K.SCALE, size=1)
        await scene.until([Phase.READY], 5 * MIN)


async def test_what_a_person_holds_is_let_go_although_the_box_was_taken_away() -> None:
    scene = rack(boxes=2)
    async with scene.running():
        await scene.pass_by(1 * MIN)
        await hold(scene, HoldKind.RESERVED)
        scene.rack.remove(ResourceId("box-1"))
        await scene.pass_by(10 * MIN)
        lift = await put(scene, replace(scene.blank(K.LIFT), host=HostId("box-1")))
        assert await refusals(scene.store, 0, {lift.number}) == {}
    assert (await record(scene)).hold is None


async def test_a_hold_outlives_the_engine_that_took_it() -> None:
    scene = rack()
    async with scene.running():
        await scene.pass_by(1 * MIN)
        await hold(scene, HoldKind.RESERVED)
    async with scene.running("b"):
        await scene.request(K.SCALE, size=1)
        await scene.pass_by(50 * MIN)
        assert Phase.STARTING not in await scene.phases()
        await scene.until([Phase.READY], 20 * MIN)


async def test_a_hold_lasts_no_longer_than_the_fleet_allows() -> None:
    scene = rack()
    async with scene.running():
        await scene.pass_by(1 * MIN)
        await hold(scene, HoldKind.RESERVED, timedelta(days=365))
        held = (await record(scene)).hold
    assert held is not None
    assert held.until - scene.clock.now() <= scene.fleet.timers.longest_protection


async def test_a_box_is_switched_off_and_on_where_a_person_asks_for_that() -> None:
    scene = rack(power=PowerLimits(least_on=HOUR))
    scene.rack.switch_on(ResourceId("box-1"))
    async with scene.running():
        await scene.pass_by(2 * MIN)
        await put(scene, replace(scene.blank(K.CYCLE), host=HostId("box-1")))
        await scene.request(K.SCALE, size=1)
        await scene.until([Phase.READY], 20 * MIN)
        assert (await record(scene)).power.cycle is None
    assert scene.calls() == [HOST_OFF, HOST_ON]


@pytest.mark.parametrize(("boots", "hangs"), [(5 * MIN, False), (5 * HOUR, True)])
async def test_a_box_that_boots_slowly_is_switched_off_and_on_once(
    boots: timedelta, *, hangs: bool
) -> None:
    """Seed 234003718 of metal: still booting, it went off as any that nobody uses, and on again."""
    scene = rack(power=PowerLimits(start=10 * MIN, least_on=3 * MIN))
    scene.rack.switch_on(ResourceId("box-1"))
    async with scene.running():
        await scene.pass_by(10 * S)
        scene.rack.world.pace = replace(scene.rack.world.pace, boot=boots)
        await put(scene, replace(scene.blank(K.CYCLE), host=HostId("box-1")))
        await scene.pass_by(6 * MIN)
        assert (scene.calls(), scene.condition()) == ([HOST_OFF, HOST_ON], Condition.STARTING)
        await scene.pass_by(20 * MIN)
        host = await record(scene)
        assert (scene.calls(), scene.condition()) == ([HOST_OFF, HOST_ON, HOST_OFF], OFF)
        assert (host.power.cycle, host.health.strikes) == (None, int(hangs))


async def test_a_box_in_quarantine_is_switched_off_and_on_once_it_is_free() -> None:
    """It was switched off at once, and went on never: again and again, while it was held on."""
    scene = rack(power=PowerLimits(least_on=HOUR))
    scene.rack.ignoring.add(ResourceId("box-1"))
    async with scene.running():
        await scene.pass_by(1 * MIN)
        await hold(scene, HoldKind.ON, HOUR)
        await scene.pass_by(HOUR)
        assert (await record(scene)).condition is HostCondition.QUARANTINED
        scene.rack.ignoring.clear()
        scene.rack.switch_on(ResourceId("box-1"))
        await scene.pass_by(2 * MIN)
        await hold(scene, HoldKind.ON, 3 * HOUR)
        await put(scene, replace(scene.blank(K.CYCLE), host=HostId("box-1")))
        calls = scene.calls()
        await scene.pass_by(2 * HOUR)
        assert (scene.condition(), scene.calls()) == (UP, calls)
        await scene.pass_by(24 * HOUR)
        assert (await record(scene)).power.cycle is None
        cleaned, cycled, idle = HOST_OFF, HOST_ON, HOST_OFF
        assert scene.calls()[len(calls) :][-3:] == [cleaned, cycled, idle]


# ---------------------------------------------------------------- boxes that wait


async def test_so_many_free_boxes_stay_on_and_the_others_go_off() -> None:
    scene = rack(boxes=4, power=PowerLimits(stay_on=2))
    async with scene.running():
        await scene.pass_by(10 * MIN)
        assert [box.condition for box in scene.rack.boxes()].count(UP) == 2
        calls = scene.calls()
        await scene.pass_by(HOUR)
        assert scene.calls() == calls == [HOST_ON] * 2
        await scene.request(K.SCALE, size=1)
        await scene.until([Phase.READY], 5 * MIN)
        await scene.pass_by(10 * MIN)
        assert [box.condition for box in scene.rack.boxes()].count(UP) == 3


async def test_boxes_that_go_on_for_their_own_sake_take_their_turn() -> None:
    scene = rack(boxes=4, power=PowerLimits(stay_on=4, start_gap=30 * S))
    async with scene.running():
        await scene.pass_by(10 * MIN)
    boxes = [f"box-{number}" for number in range(1, 5)]
    times = sorted(scene.times(Condition.STARTING, boxes))
    assert len(times) == 4
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert min(gaps) >= 30 * S


async def test_machines_and_idle_boxes_share_the_gap_between_two_starts() -> None:
    scene = rack(2, boxes=4, power=PowerLimits(stay_on=2, start_gap=60 * S))
    async with scene.running():
        await scene.pass_by(15 * MIN)
        assert await scene.phases() == [Phase.READY] * 2
        assert [box.condition for box in scene.rack.boxes()].count(UP) == 4
    times = sorted(scene.times(Condition.STARTING, [f"box-{n}" for n in range(1, 5)]))
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert min(gaps) >= 60 * S


@pytest.mark.parametrize(("machines", "held"), [(1, 0), (0, 1), (2, 0), (1, 1), (0, 2)])
async def test_boxes_that_stay_dark_take_no_others_turn(machines: int, held: int) -> None:
    """Seed 238000808 of kubernetes: for 15 minutes no other box of the rack was switched on."""
    boxes, timers = machines + held + 1, replace(FLEET.timers, start=15 * MIN)
    fleet = replace(FLEET, size=machines, maximum=boxes, caps=EAGER, timers=timers)
    scene = MetalScene(fleet, boxes=boxes, power=PowerLimits(start_gap=MIN))
    names = [f"box-{number}" for number in range(1, machines + held + 1)]
    scene.rack.ignoring.update(ResourceId(name) for name in names)
    async with scene.running():
        await scene.pass_by(4 * MIN)
        for name in names[machines:]:
            await hold(scene, HoldKind.ON, box=name)
        await scene.pass_by(4 * MIN)
        last = f"box-{boxes}"
        await hold(scene, HoldKind.ON, box=last)
        await scene.pass_by(3 * MIN)
        assert scene.condition(last) is UP


@pytest.mark.parametrize(
    ("machines", "held", "lost", "dead"),
    [
        (20, 0, ["box-1"], []),  # others start all the while
        (19, 1, ["box-20"], []),
        (3, 0, ["box-2", "box-3"], ["box-1"]),
        (1, 1, ["box-2"], ["box-1"]),
        (1, 1, ["box-1"], ["box-2"]),
    ],
)
async def test_a_box_whose_first_command_was_lost_is_told_again_soon(
    machines: int, held: int, lost: list[str], dead: list[str]
) -> None:
    """It was told once in a quarter of an hour, and that was a strike of its own."""
    boxes, timers = machines + held, replace(FLEET.timers, start=15 * MIN)
    fleet = replace(FLEET, size=0, maximum=boxes, caps=EAGER, timers=timers)
    scene = MetalScene(fleet, boxes=boxes, power=PowerLimits(start_gap=MIN))
    ignoring = scene.rack.ignoring
    ignoring.update(ResourceId(name) for name in (*lost, *dead))
    async with scene.running():
        if held:
            await hold(scene, HoldKind.ON, 5 * HOUR, box=f"box-{boxes}")
        await scene.request(K.SCALE, size=machines)
        await scene.pass_by(180 * S)
        ignoring.difference_update(ResourceId(name) for name in lost)
        await scene.pass_by(10 * MIN)
        for name in lost:
            assert scene.condition(name) is UP
            assert (await record(scene, name)).health.strikes == 0


async def test_a_machine_has_its_turn_beside_an_idle_box_that_stays_dark() -> None:
    scene = rack(boxes=2, power=PowerLimits(start_gap=MIN))
    scene.rack.ignoring.add(ResourceId("box-2"))
    async with scene.running():
        await hold(scene, HoldKind.ON, box="box-2")
        await scene.pass_by(90 * S)
        await scene.request(K.SCALE, size=1)
        await scene.until([Phase.READY], 5 * MIN)


async def test_a_box_that_was_off_for_long_is_switched_on_for_a_while() -> None:
    limits = PowerLimits(exercise=3 * HOUR, exercise_time=20 * MIN)
    scene = rack(power=limits)
    async with scene.running():
        await scene.pass_by(170 * MIN)
        assert scene.calls() == []
        await scene.pass_by(20 * MIN)
        assert (scene.calls(), scene.condition()) == ([HOST_ON], UP)
        await scene.pass_by(25 * MIN)
        assert (scene.calls(), scene.condition()) == ([HOST_ON, HOST_OFF], OFF)


async def test_a_box_that_does_not_go_on_is_left_alone_for_a_while_and_tried_again() -> None:
    scene = rack(power=PowerLimits(stay_on=1))
    scene.rack.ignoring.add(ResourceId("box-1"))
    async with scene.running():
        await scene.pass_by(2 * HOUR)
        host = await record(scene)
        assert host.condition is HostCondition.QUARANTINED
        assert "was not seen on" in host.reason
        tried = len(scene.calls())
        scene.rack.ignoring.clear()
        await scene.pass_by(1 * HOUR)
        assert len(scene.calls()) == tried
    await scene.pass_by(20 * HOUR)  # a day of quarantine, most of it without an engine
    async with scene.running("b"):
        await scene.pass_by(30 * MIN)
        assert len(scene.calls()) == tried
        await scene.pass_by(90 * MIN)
        assert scene.condition() is UP


async def test_a_box_that_nobody_can_ask_is_not_switched_for_its_own_sake() -> None:
    scene = rack(power=PowerLimits(stay_on=1))
    scene.rack.silent.add(ResourceId("box-1"))
    async with scene.running():
        await scene.pass_by(HOUR)
        assert scene.calls() == []
        assert (await record(scene)).condition is not HostCondition.QUARANTINED
