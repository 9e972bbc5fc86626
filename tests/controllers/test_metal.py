"""Whole engines over owned metal: boxes are started, let go of, cleaned, and used again."""

import itertools

import pytest
from msgspec.structs import replace

from hostler.domain.errors import StoreBusy
from hostler.domain.hosts.claims import without_host
from hostler.domain.ids import Epoch, FleetName, HostId, MachineId, ResourceId
from hostler.domain.model.capabilities import Cleaning, PowerLimits
from hostler.domain.model.fleet import Caps
from hostler.domain.model.host import HostCondition
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.domain.model.snapshot import RequestKind
from hostler.lab.scenes.metal import NO_LIMITS, MetalScene
from hostler.ports.metrics import Gauge
from hostler.ports.store import Fence
from hostler.stores.memory import MemoryStore
from hostler.testing.fakes.metal_planner import CLEAN, HOST_OFF, REST, SWITCH_ON
from hostler.testing.fakes.script import Lost
from hostler.testing.scenes.builders import FLEET, MIN, S

pytestmark = pytest.mark.looptime

READY, STANDBY = Phase.READY, Phase.STANDBY
EAGER = Caps(share=1.0, per_hour=1000, per_reclaim=1000)
BOX = ResourceId("box-1")


def sized(
    size: int,
    boxes: int = 2,
    cleaning: Cleaning = Cleaning.POWER_CYCLE,
    power: PowerLimits = NO_LIMITS,
) -> MetalScene:
    fleet = replace(FLEET, size=size, caps=EAGER)
    return MetalScene(fleet, boxes=boxes, cleaning=cleaning, power=power)


async def replaced(scene: MetalScene) -> Machine:
    """End the one machine there is; return the next one once it is ready."""
    (first,) = await scene.machines()
    await scene.request(RequestKind.DELETE, machine=first.id)
    for _ in range(30 * 60):
        await scene.pass_by(1 * S)
        machines = await scene.machines()
        if [m.phase for m in machines] == [READY] and machines[0].id != first.id:
            return machines[0]
    raise AssertionError(f"no other machine is ready: {await scene.phases()}")


async def rest(scene: MetalScene, machine: Machine) -> None:
    """Bring a machine into standby, in a fleet that needs none for now."""
    await scene.request(RequestKind.STANDBY, machine=machine.id)
    await scene.request(RequestKind.SCALE, size=0)
    await scene.until([STANDBY], 5 * MIN)


# ---------------------------------------------------------------- the main job


async def test_an_engine_that_does_not_know_a_fleet_leaves_its_hosts_alone() -> None:
    """Kubernetes 73: a process that had stood still took over, with the fleets of before.

    What was made meanwhile, and has machines, is no orphan: their hosts are used.
    """
    known = replace(FLEET, size=1, caps=EAGER, reclaim=True)
    made = replace(known, name=FleetName("made"))
    scene = MetalScene(known, boxes=3, exclusive=False, beside=(made,))
    async with scene.running("a"):
        await scene.until([READY], 2 * MIN)
        await scene.pass_by(2 * MIN)
    scene.beside = ()
    calls = scene.calls()
    async with scene.running("b"):
        for _ in range(40):
            await scene.pass_by(1 * MIN)
            assert not await scene.store.orphans()
    assert scene.calls() == calls == [SWITCH_ON] * 2


async def test_fleet_of_boxes_is_reached_and_then_rests() -> None:
    scene = sized(2, boxes=3)
    async with scene.running():
        await scene.until([READY] * 2, 2 * MIN)
        await scene.pass_by(2 * MIN)
        calls = scene.calls()
        await scene.pass_by(10 * MIN)
        assert scene.calls() == calls
    assert calls == [SWITCH_ON] * 2
    assert [box.condition for box in scene.rack.boxes()].count(Condition.UP) == 2


async def test_boxes_are_counted_by_the_engine_that_leads_and_by_no_other() -> None:
    """Both are scraped: who lost the lease told for ever how they stood then."""
    fleet = replace(FLEET, size=1, caps=EAGER)
    scene = MetalScene(fleet, boxes=2, exclusive=False)
    async with scene.running() as engine:
        (loop,) = engine.loops
        await scene.until([READY], 2 * MIN)
        await scene.pass_by(1 * MIN)
        counted = scene.metrics.series(Gauge.HOSTS)
        assert sum(counted.values()) == 2
        held = next(lease for lease in await scene.store.leases() if lease.name == loop.lease)
        assert await scene.store.take_lease(loop.lease, "b", held) is not None
        await scene.pass_by(45 * S)
        assert scene.metrics.series(Gauge.HOSTS) == {}
        await scene.pass_by(2 * MIN)
        assert engine.leases.tenure(loop.lease) is not None, "the other one is gone"
        assert scene.metrics.series(Gauge.HOSTS) == counted


async def test_box_that_was_used_is_cleaned_by_a_power_cycle_and_used_again() -> None:
    scene = sized(1, boxes=1)
    async with scene.running():
        await scene.until([READY], 2 * MIN)
        (first,) = await scene.machines()
        second = await replaced(scene)
    assert (first.host, second.host) == (BOX, BOX)
    assert first.id != second.id
    assert scene.calls() == [SWITCH_ON, HOST_OFF, SWITCH_ON]
    assert scene.times(Condition.OFF), "nobody has the box before it was seen off"


@pytest.mark.parametrize("boxes", [1, 2])
async def test_box_that_a_machine_gave_back_and_is_bound_to_is_cleaned_first(
    boxes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ended, and the store refused, after the machine was saved without it."""
    scene = sized(1, boxes=boxes)
    async with scene.running("a"):
        await scene.until([READY], 2 * MIN)
        (first,) = await scene.machines()
    (held,) = [one for one in await scene.store.leases() if one.name.startswith("fleet/")]
    lease = await scene.store.take_lease(held.name, "x", held)
    assert lease is not None
    tried = replace(without_host(first), phase=Phase.STARTING, since=scene.clock.now())
    again = tried.with_health(was_ready=None)
    await scene.store.save_machine(again, (), Fence(lease=held.name, epoch=Epoch(lease.epoch)))
    assert await scene.store.bindings() == ((HostId(BOX), first.id),)
    unbind, refused = MemoryStore.unbind, list[HostId]()

    async def refuses(store: MemoryStore, host: HostId, machine: MachineId, fence: Fence) -> None:
        if len(refused) < 3:
            refused.append(host)
            raise StoreBusy("not today")
        await unbind(store, host, machine, fence)

    monkeypatch.setattr(MemoryStore, "unbind", refuses)
    was_off = len(scene.times(Condition.OFF))
    async with scene.running("b"):
        for _ in range(60):
            await scene.pass_by(1 * S)
            (machine,) = await scene.machines()
            cleaned = len(scene.times(Condition.OFF)) > was_off
            assert machine.host != BOX or cleaned, "nobody cleaned it"
        assert len(refused) == 3
        await scene.until([READY], 5 * MIN)
        (machine,) = await scene.machines()
        assert (machine.id, machine.host == BOX) == (first.id, boxes == 1)
        bound = await scene.store.bindings()
    assert bound == ((machine.host, machine.id),)


async def test_box_is_cleaned_by_a_command_where_that_is_its_cleaning() -> None:
    scene = sized(1, boxes=1, cleaning=Cleaning.COMMAND)
    async with scene.running():
        await scene.until([READY], 2 * MIN)
        await replaced(scene)
    assert CLEAN in scene.calls()


async def test_box_that_is_trusted_is_used_again_as_it_was_left() -> None:
    scene = sized(1, boxes=1, cleaning=Cleaning.TRUSTED)
    async with scene.running():
        await scene.until([READY], 2 * MIN)
        await replaced(scene)
    assert CLEAN not in scene.calls()


async def test_two_machines_never_have_one_box() -> None:
    scene = sized(5, boxes=3)
    async with scene.running():
        for _ in range(10 * 60):
            await scene.pass_by(1 * S)
            hosts = [m.host for m in await scene.machines() if m.host is not None]
            assert len(hosts) == len(set(hosts))
        phases = await scene.phases()
    assert phases.count(READY) == 3


async def test_fleet_that_shrinks_leaves_its_boxes_switched_off() -> None:
    scene = sized(2)
    async with scene.running():
        await scene.until([READY] * 2, 2 * MIN)
        await scene.request(RequestKind.SCALE, size=0)
        await scene.until([], 10 * MIN)
        await scene.pass_by(5 * MIN)
    assert [box.condition for box in scene.rack.boxes()] == [Condition.OFF] * 2


# ---------------------------------------------------------------- power limits


async def test_only_so_many_boxes_start_at_a_time() -> None:
    scene = sized(4, boxes=4, power=PowerLimits(parallel_starts=2))
    most = 0
    async with scene.running():
        while [p for p in await scene.phases() if p is READY] != [READY] * 4:
            await scene.pass_by(1 * S)
            booting = [b for b in scene.rack.boxes() if b.condition is Condition.STARTING]
            most = max(most, len(booting))
            assert scene.clock.boot() < 30 * 60
    assert most == 2


async def test_one_box_begins_the_gap_after_the_other() -> None:
    scene = sized(3, boxes=3, power=PowerLimits(start_gap=30 * S))
    async with scene.running():
        await scene.until([READY] * 3, 10 * MIN)
    names = [box.name for box in scene.rack.boxes()]
    times = scene.times(Condition.STARTING, names)
    assert len(times) == 3
    assert all(later - earlier >= 29 * S for earlier, later in itertools.pairwise(times))


@pytest.mark.parametrize("dark", [1, 2, 3])
async def test_boxes_that_stay_dark_take_no_others_turn(dark: int) -> None:
    """Seed 238000808 of kubernetes: told again before the gap was over, one kept all others off."""
    fleet = replace(FLEET, size=dark + 1, caps=EAGER, timers=replace(FLEET.timers, start=15 * MIN))
    scene = MetalScene(fleet, boxes=dark + 1, power=PowerLimits(start_gap=MIN))
    scene.rack.ignoring.update(ResourceId(f"box-{number}") for number in range(1, dark + 1))
    async with scene.running():
        while READY not in await scene.phases():
            await scene.pass_by(1 * S)
            assert scene.clock.boot() < (dark + 1) * 100
        before = len(scene.calls(SWITCH_ON))
        await scene.pass_by(8 * MIN)
        assert len(scene.calls(SWITCH_ON)) > before + 1


async def test_box_that_went_off_stays_off_for_its_least_time() -> None:
    scene = sized(1, boxes=1, power=PowerLimits(least_off=10 * MIN))
    async with scene.running():
        await scene.until([READY], 15 * MIN)
        await replaced(scene)
    off, on = scene.times(Condition.OFF)[-1], scene.times(Condition.STARTING)[-1]
    assert on - off >= 10 * MIN


async def test_box_that_nobody_needs_stays_on_for_its_least_time() -> None:
    limits = PowerLimits(least_on=20 * MIN)
    scene = sized(1, boxes=1, cleaning=Cleaning.TRUSTED, power=limits)
    async with scene.running():
        await scene.until([READY], 2 * MIN)
        await scene.request(RequestKind.SCALE, size=0)
        await scene.until([], 10 * MIN)
        await scene.pass_by(40 * MIN)
    (on,), (off,) = scene.times(Condition.STARTING), scene.times(Condition.STOPPING)
    assert off - on >= 20 * MIN
    assert scene.condition() is Condition.OFF


# ---------------------------------------------------------------- bad days


async def test_restart_in_mid_air_starts_the_box_once() -> None:
    scene = sized(1, boxes=1)
    scene.metal.befall(SWITCH_ON, Lost.AFTER)
    async with scene.running():
        while not scene.calls(SWITCH_ON):
            await scene.pass_by(0.1 * S)
    async with scene.running("b"):
        await scene.until([READY], 5 * MIN)
    assert scene.calls() == [SWITCH_ON]


@pytest.mark.parametrize("lost", [Lost.BEFORE, Lost.LATE, Lost.HUNG])
async def test_start_whose_answer_was_lost_ends_up_on(lost: Lost) -> None:
    scene = sized(1, boxes=1)
    scene.metal.befall(SWITCH_ON, lost)
    async with scene.running():
        await scene.until([READY], 10 * MIN)
    assert scene.condition() is Condition.UP


async def test_power_command_that_was_ignored_is_given_again() -> None:
    scene = sized(1, boxes=1)
    scene.rack.ignoring.add(BOX)
    async with scene.running():
        while not scene.calls(SWITCH_ON):
            await scene.pass_by(1 * S)
        scene.rack.ignoring.clear()
        await scene.until([READY], 5 * MIN)
    (machine,) = await scene.machines()
    assert scene.calls(SWITCH_ON) == [SWITCH_ON] * 2
    assert machine.serial == 1, "it is the same machine"


async def test_box_that_a_person_switched_off_is_noticed_and_used_again() -> None:
    scene = sized(1, boxes=1)
    async with scene.running():
        await scene.until([READY], 2 * MIN)
        (first,) = await scene.machines()
        await scene.pass_by(5 * MIN)
        scene.rack.switch_off(BOX)
        machines = await scene.machines()
        for _ in range(20 * 60):
            await scene.pass_by(1 * S)
            machines = await scene.machines()
            if [(m.phase, m.id != first.id) for m in machines] == [(READY, True)]:
                break
    assert [m.phase for m in machines] == [READY]
    assert machines[0].id != first.id


async def test_box_that_a_person_switched_on_goes_off_again() -> None:
    scene = sized(0, boxes=1)
    async with scene.running():
        await scene.pass_by(2 * MIN)
        scene.rack.switch_on(BOX)
        await scene.pass_by(5 * MIN)
    assert scene.condition() is Condition.OFF
    assert scene.calls() == [HOST_OFF]


async def test_machine_goes_into_standby_and_wakes_on_its_own_box() -> None:
    scene = sized(1, boxes=1)
    async with scene.running():
        await scene.until([READY], 2 * MIN)
        (first,) = await scene.machines()
        await rest(scene, first)
        assert scene.condition(str(first.host)) is Condition.OFF
        await scene.pass_by(10 * MIN)
        assert await scene.phases() == [STANDBY]
        await scene.request(RequestKind.SCALE, size=1)
        await scene.request(RequestKind.WAKE, machine=first.id)
        await scene.until([READY], 5 * MIN)
        (again,) = await scene.machines()
    assert (again.id, again.host) == (first.id, first.host)
    assert scene.calls() == [SWITCH_ON, REST, SWITCH_ON]


async def test_fleet_that_needs_more_wakes_the_machine_in_standby() -> None:
    scene = sized(1, boxes=1)
    async with scene.running():
        await scene.until([READY], 2 * MIN)
        (first,) = await scene.machines()
        await rest(scene, first)
        await scene.pass_by(5 * MIN)
        await scene.request(RequestKind.SCALE, size=1)
        await scene.until([READY], 5 * MIN)
        (again,) = await scene.machines()
    assert again.id == first.id


@pytest.mark.parametrize("lost", list(Lost))
async def test_waking_whose_answer_was_lost_keeps_the_machine(lost: Lost) -> None:
    scene = sized(1, boxes=1)
    async with scene.running():
        await scene.until([READY], 2 * MIN)
        (first,) = await scene.machines()
        await rest(scene, first)
        scene.metal.befall(SWITCH_ON, lost)
        await scene.request(RequestKind.SCALE, size=1)
        await scene.request(RequestKind.WAKE, machine=first.id)
        await scene.until([READY], 10 * MIN)
        (again,) = await scene.machines()
    assert (again.id, again.host) == (first.id, first.host)


async def test_box_that_was_taken_away_is_gone_and_its_machine_replaced() -> None:
    scene = sized(1)
    async with scene.running():
        await scene.until([READY], 2 * MIN)
        (first,) = await scene.machines()
        await scene.pass_by(5 * MIN)
        scene.rack.remove(ResourceId(str(first.host)))
        machines = await scene.machines()
        for _ in range(20 * 60):
            await scene.pass_by(1 * S)
            machines = await scene.machines()
            if [(m.phase, m.host != first.host) for m in machines] == [(READY, True)]:
                break
        await scene.pass_by(3 * MIN)
        record = await scene.host(str(first.host))
    assert [(m.phase, m.host != first.host) for m in machines] == [(READY, True)]
    assert record is not None
    assert record.condition is HostCondition.ABSENT


async def test_box_that_never_boots_is_given_up_for_another() -> None:
    scene = sized(1)
    scene.rack.ignoring.update({BOX, ResourceId("box-2")})
    async with scene.running():
        while not scene.calls(SWITCH_ON):
            await scene.pass_by(1 * S)
        (machine,) = await scene.machines()
        others = {BOX, ResourceId("box-2")} - {ResourceId(str(machine.host))}
        scene.rack.ignoring.difference_update(others)
        await scene.until([READY], 60 * MIN)
        (last,) = await scene.machines()
    assert last.host in others
