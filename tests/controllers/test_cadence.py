"""When and at what: cadence of looks, nudges, focused looks, and one slow call beside many."""

import itertools
from datetime import datetime, timedelta
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from hostler.controllers.observe.due import (
    Load,
    close_scope,
    due_scopes,
    is_moving,
    is_unfinished,
    zones_of,
)
from hostler.controllers.runtime.settings import Settings
from hostler.domain.errors import Conflict
from hostler.domain.ids import HostId, ResourceId, Zone
from hostler.domain.model.calls import Call, Outcome, Shows
from hostler.domain.model.fleet import Caps, FleetRow
from hostler.domain.model.inventory import Inventory, merge
from hostler.domain.model.machine import CallState, Doubt, Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, Observation, ObservedScope, Scope
from hostler.domain.model.snapshot import RequestKind
from hostler.lab.scenes.fake import FakeScene
from hostler.testing.fakes.metal import FakeMetal, metal
from hostler.testing.fakes.metal_world import MetalWorld
from hostler.testing.fakes.planner import MAKE_ADDRESS, MAKE_SERVER, POWER_ON, SERVER
from hostler.testing.fakes.provider import FakeProvider
from hostler.testing.fakes.script import Lost
from hostler.testing.fakes.world import FakeWorld
from hostler.testing.scenes.builders import BEGIN, FLEET, HOME, MIN, WEB, ZONE, S, asked, machine
from hostler.testing.scenes.fleet import Scene
from hostler.testing.time.clock import UnaskedClock

READY = Phase.READY


def gaps(times: list[datetime]) -> list[float]:
    return [(b - a).total_seconds() for a, b in itertools.pairwise(times)]


def observed(rig: FakeScene, since: datetime) -> list[datetime]:
    return [at for at, _ in rig.provider.observations if at >= since]


# ---------------------------------------------------------------- cadence


@pytest.mark.looptime
async def test_observations_are_half_a_minute_apart_when_all_is_quiet() -> None:
    rig = FakeScene(replace(FLEET, size=2))
    async with rig.running():
        await rig.until([READY] * 2, 60 * S)
        await rig.pass_by(1 * MIN)
        begun = rig.clock.now()
        await rig.pass_by(10 * MIN)
    assert all(30 <= gap < 31 for gap in gaps(observed(rig, begun)))
    scopes = {scope for _, scopes in rig.provider.observations[-5:] for scope in scopes}
    assert scopes == {Scope(ZONE, "server"), Scope(ZONE, "address")}, "no call for each machine"


@pytest.mark.looptime
async def test_observations_are_two_to_fifteen_seconds_apart_while_something_is_expected() -> None:
    rig = FakeScene(replace(FLEET, size=1))
    rig.world.pace = replace(rig.world.pace, boot=5 * MIN)
    async with rig.running():
        await rig.pass_by(3 * S)
        begun = rig.clock.now()
        await rig.pass_by(4 * MIN)
    pauses = gaps(observed(rig, begun))
    assert 1.5 <= pauses[0] <= 3.5
    assert all(later >= earlier - 1 for earlier, later in itertools.pairwise(pauses))
    assert all(14 < pause < 16 for pause in pauses[-5:])


@pytest.mark.looptime
@pytest.mark.parametrize(("boot", "usual"), [(30 * S, 30), (30 * MIN, 15)], ids=["quiet", "busy"])
async def test_a_listing_that_failed_is_tried_again_soon_and_then_more_and_more_rarely(
    boot: timedelta, usual: float
) -> None:
    """Of Macs the next one came after 5 min, though one was due to be given up (121000032)."""
    rig = FakeScene(replace(FLEET, size=2, timers=replace(FLEET.timers, start=60 * MIN)))
    rig.world.pace = replace(rig.world.pace, boot=boot)
    async with rig.running():
        await rig.pass_by(4 * MIN)
        rig.provider.dead.add(ZONE)
        begun = rig.clock.now()
        await rig.pass_by(5 * MIN)
        rig.provider.dead.clear()
        mended = rig.clock.now()
        await rig.pass_by(5 * MIN)
    pauses = gaps([at for at in observed(rig, begun) if at < mended])
    assert 2 <= pauses[0] < 3
    assert all(later >= earlier - 1 for earlier, later in itertools.pairwise(pauses))
    assert all(14 < pause < 16 for pause in pauses[-5:])
    assert all(usual <= gap < usual + 1 for gap in gaps(observed(rig, mended))[1:])


@pytest.mark.looptime
async def test_records_that_go_on_to_conflict_are_read_again_at_the_usual_pace() -> None:
    """Each round began the next one at once: nothing else ran any more (seed 157)."""
    rig = FakeScene(replace(FLEET, size=2))
    asked = list[datetime]()

    async def conflicts(*_: object) -> FleetRow:
        asked.append(rig.clock.now())
        raise Conflict("there is a machine already")

    with patch.object(rig.store, "save_fleet", conflicts):
        async with rig.running():
            await rig.pass_by(60 * S)
    assert gaps(asked[:2])[0] < 1
    assert all(gap >= 1.5 for gap in gaps(asked[1:]))
    assert len(asked) >= 10


@pytest.mark.looptime
async def test_nudge_observes_at_once() -> None:
    rig = FakeScene()
    async with rig.running() as engine:
        await rig.until([READY], 60 * S)
        await rig.pass_by(2 * MIN + 5 * S)
        rig.world.remove(rig.world.servers()[0].id)
        begun = rig.clock.now()
        engine.nudge()
        await rig.pass_by(1 * S)
    rounds = [at for at, _ in rig.provider.observations if at >= begun]
    assert len(rounds) <= 1


@pytest.mark.looptime
async def test_deadline_wakes_the_loop_before_the_cadence_does() -> None:
    """A stock-out is remembered for five minutes: it ends to the second."""
    rig = FakeScene()
    offer = rig.fleet.offers[0]
    rig.provider.out_of_stock.add((offer.type, offer.zone))
    async with rig.running():
        await rig.pass_by(2 * MIN)
        row = (await rig.store.fleets())[0]
        memory = row.setback(offer)
        assert memory is not None
        rig.provider.out_of_stock.clear()
        await rig.until([Phase.STARTING], 10 * MIN)
        assert timedelta(0) <= rig.clock.now() - memory.until < 1 * S


# ---------------------------------------------------------------- isolation


@pytest.mark.looptime
async def test_call_that_hangs_delays_no_other_machine() -> None:
    rig = FakeScene(replace(FLEET, size=10))
    rig.provider.befall(MAKE_SERVER, Lost.HUNG)
    async with rig.running():
        took = await rig.until([Phase.STARTING] + [READY] * 9, 60 * S)
        assert took < 20 * S
        await rig.until([READY] * 10, 5 * MIN)
    assert len(rig.world.resources) == 20


@pytest.mark.looptime
async def test_machine_in_flight_is_not_worked_on_twice() -> None:
    rig = FakeScene(replace(FLEET, size=1))
    rig.provider.befall(MAKE_ADDRESS, Lost.HUNG)
    async with rig.running() as engine:
        for _ in range(40):
            await rig.pass_by(0.5 * S)
            engine.nudge()
    assert len(rig.calls(MAKE_ADDRESS)) == 1


@pytest.mark.looptime
async def test_request_for_a_machine_in_flight_is_kept_until_it_can_be_granted() -> None:
    rig = FakeScene(replace(FLEET, size=1))
    rig.provider.befall(MAKE_ADDRESS, Lost.HUNG)
    async with rig.running():
        await rig.until([Phase.STARTING], 10 * S)
        desired = (await rig.machines())[0]
        await rig.pass_by(1 * S)
        await rig.request(RequestKind.PROTECT, machine=desired.id)
        await rig.pass_by(5 * S)
        assert len(await rig.store.requests()) == 1
        await rig.pass_by(30 * S)
        assert await rig.store.requests() == ()
        stored = await rig.store.machine(desired.id)
        assert stored is not None
        assert stored.protection is not None


@pytest.mark.looptime
async def test_provider_that_raises_for_one_machine_is_a_bug_told_and_not_the_end() -> None:
    rig = FakeScene(replace(FLEET, size=3))
    do = rig.provider.do

    async def buggy(call: Call) -> Outcome:
        if call.arg("machine") == str(machine(1).id) and call.kind == MAKE_SERVER:
            raise KeyError("a bug of the provider's")
        return await do(call)

    rig.provider.do = buggy
    async with rig.running():
        await rig.until([Phase.STARTING, READY, READY], 60 * S)
        await rig.pass_by(30 * S)
        assert await rig.phases() == [Phase.STARTING, READY, READY]


# ---------------------------------------------------------------- which scopes


def provider(addresses: int = 1) -> FakeProvider:
    return FakeProvider(FakeWorld(UnaskedClock()), HOME, addresses=addresses)


CALM = Load(rate=10.0, crowded=False)
CROWDED = Load(rate=10.0, crowded=True)


def scopes(scene: Scene, *machines: Machine, load: Load = CALM) -> tuple[Scope, ...]:
    return due_scopes(
        provider=provider(),
        zones=(ZONE,),
        machines={WEB: machines},
        inventory=scene.inventory,
        now=scene.now,
        settings=Settings(),
        load=load,
    )


def large(size: int = 1000) -> Scene:
    scene = Scene(fleet=replace(FLEET, size=size, caps=Caps()))
    scene.furnish(*(machine(number) for number in range(1, size + 1)))
    scene.observe()
    return scene


WHOLE = (Scope(ZONE, "server"), Scope(ZONE, "address"))


def test_where_hosts_are_asked_one_by_one_only_those_of_machines_that_move_are() -> None:
    """All of a rack were asked for the sake of one box: one that hangs held up the one that starts.

    A listing of everything would have taken no more requests, as there are no pages of boxes.
    """
    world = FakeWorld(UnaskedClock())
    rack = FakeMetal(MetalWorld(world), metal(zones=(ZONE,)))
    moving = replace(machine(1, Phase.STARTING), host=HostId("box-1"))
    kinds = rack.capabilities.kinds
    inventory = Inventory(whole={(ZONE, kind): BEGIN for kind in kinds})
    due = due_scopes(
        provider=rack,
        zones=(ZONE,),
        machines={WEB: (moving,)},
        inventory=inventory,
        now=BEGIN + 3 * S,
        settings=Settings(),
        load=Load(rate=10.0, crowded=False),
    )
    assert [scope.machine for scope in due] == [moving.id]


def test_everything_is_listed_whole_at_first_and_when_it_is_old() -> None:
    assert scopes(Scene()) == WHOLE
    scene = large(3)
    assert scopes(scene, *scene.machines.values()) == ()
    scene.later(30 * S)
    assert scopes(scene, *scene.machines.values()) == WHOLE


def test_view_from_the_future_is_old() -> None:
    scene = large(3)
    scene.later(-1 * S)
    assert scopes(scene) == WHOLE


def test_when_few_machines_move_in_a_large_fleet_they_alone_are_observed() -> None:
    scene = large()
    moving = replace(scene.the(7), phase=Phase.STARTING)
    scene.keep(moving)
    scene.later(2 * S)
    known = (ResourceId(f"server-{moving.id}"),)
    assert scopes(scene, *scene.machines.values()) == (Scope(ZONE, "server", moving.id, known),)


def test_when_many_machines_move_servers_are_listed() -> None:
    scene = large()
    for number in range(1, 100):
        scene.keep(replace(scene.the(number), phase=Phase.STOPPING))
    scene.later(2 * S)
    assert scopes(scene, *scene.machines.values()) == (Scope(ZONE, "server"),)


def test_addresses_are_listed_rarely_while_machines_move() -> None:
    scene = large(3)
    scene.keep(replace(scene.the(1), phase=Phase.STARTING))
    scene.later(2 * S)
    assert scopes(scene, *scene.machines.values()) == (Scope(ZONE, "server"),)
    scene.later(13 * S)
    assert scopes(scene, *scene.machines.values()) == WHOLE


def test_servers_that_move_are_not_listed_again_at_once() -> None:
    scene = large(3)
    scene.keep(replace(scene.the(1), phase=Phase.STARTING))
    assert scopes(scene, *scene.machines.values()) == ()


@pytest.mark.parametrize(
    ("size", "seconds", "due"),
    [
        (3, 16, ()),
        (3, 17, ("server",)),
        (3, 59, ("server",)),
        (3, 60, ("server", "address")),
        (200, 49, ()),
        (200, 51, ("server",)),
        (1000, 59, ()),
        (1000, 60, ("server", "address")),
    ],
)
def test_while_calls_wait_listings_take_a_few_hundredths_of_the_rate(
    size: int, seconds: int, due: tuple[str, ...]
) -> None:
    """No kind is older than a minute: a leak is seen by then, and S3 asks for as much."""
    scene = large(size)
    for number in range(1, size + 1):
        scene.keep(replace(scene.the(number), phase=Phase.STARTING))
    scene.later(seconds * S)
    assert tuple(s.kind for s in scopes(scene, *scene.machines.values(), load=CROWDED)) == due


@pytest.mark.parametrize(
    ("limit", "seconds", "due"),
    [
        (30, 22, ("server",)),
        (30, 23, ("server", "address")),
        (60, 59, ("server",)),
        (60, 60, ("server", "address")),
        (600, 59, ("server",)),
        (600, 60, ("server", "address")),
    ],
)
def test_while_calls_wait_listings_come_before_a_fleet_with_a_shorter_limit_disbelieves_them(
    limit: int, seconds: int, due: tuple[str, ...]
) -> None:
    """They came each minute: half of the time nothing was made."""
    scene = large(3)
    for number in range(1, 4):
        scene.keep(replace(scene.the(number), phase=Phase.STARTING))
    scene.later(seconds * S)
    load = replace(CROWDED, limit=limit * S)
    assert tuple(s.kind for s in scopes(scene, *scene.machines.values(), load=load)) == due


@pytest.mark.looptime
async def test_no_listing_is_older_than_a_fleet_believes_while_calls_wait() -> None:
    """Machines are made in steps otherwise: nothing is begun until a listing has ended again."""
    timers = replace(FLEET.timers, observation_limit=30 * S)
    rig = FakeScene(replace(FLEET, size=60, caps=Caps(), timers=timers), rate=1.0, burst=2.0)
    async with rig.running():
        begun = rig.clock.now()
        await rig.pass_by(3 * MIN)
    looks = [at for at, scopes in rig.provider.observations if at > begun and WHOLE[1] in scopes]
    assert len(looks) > 3
    assert all(gap < 30 for gap in gaps(looks))


@pytest.mark.looptime
async def test_nothing_is_listed_between_the_calls_of_the_machines_that_are_made_last() -> None:
    """A listing of everything went before them: each waited for all of its pages."""
    rig = FakeScene(replace(FLEET, size=30, caps=Caps()), rate=1.0, burst=2.0)
    async with rig.running():
        await rig.pass_by(5 * S)
        slow = max(await rig.machines(), key=lambda machine: machine.serial)
        rig.provider.answers[slow.id] = 4 * S
        await rig.pass_by(3 * MIN)
    made = [at for at, kind, _ in rig.world.journal if kind == MAKE_SERVER]
    on = [at for at, kind, _ in rig.world.journal if kind == POWER_ON]
    assert len(on) == 30
    assert on[-1] - made[-1] >= 4 * S
    looks = [at for at, _ in rig.provider.observations]
    assert not [at for at in looks if made[-2] < at < on[-1]]
    assert [at for at in looks if on[-1] <= at < on[-1] + 3 * S], "they are observed soon after"


def test_machine_is_unfinished_until_it_was_switched_on() -> None:
    scene = large(1)
    begun = replace(scene.the(1), phase=Phase.STARTING, asked=())
    assert is_unfinished(begun)
    assert not is_unfinished(replace(begun, phase=Phase.READY))
    for state, unfinished in ((CallState.OPEN, True), (CallState.DONE, False)):
        for shows, other in ((Shows.POWER, unfinished), (Shows.RESOURCE, True)):
            call = asked(POWER_ON, BEGIN, shows=shows, call_state=state)
            assert is_unfinished(begun.with_asked(call)) == other


def test_listing_that_failed_is_tried_again_at_once_only_while_no_calls_wait() -> None:
    scene = large(3)
    scene.keep(replace(scene.the(1), phase=Phase.STARTING))
    scene.later(60 * S)
    failed = ObservedScope(scope=WHOLE[1], begun=scene.now, complete=False, error="reset")
    whole = ObservedScope(scope=WHOLE[0], begun=scene.now, complete=True)
    resources = tuple(s.resource for s in scene.inventory.sightings.values())
    servers = tuple(r for r in resources if r.slot.kind == "server")
    scene.inventory = merge(
        scene.inventory, Observation(observed=(whole, failed), resources=servers)
    )
    scene.later(1 * S)
    assert scopes(scene, *scene.machines.values()) == WHOLE[1:]
    assert scopes(scene, *scene.machines.values(), load=CROWDED) == ()
    scene.later(15 * S)
    assert scopes(scene, *scene.machines.values(), load=CROWDED) == ()
    scene.later(1 * S)
    assert scopes(scene, *scene.machines.values(), load=CROWDED) == WHOLE


@pytest.mark.parametrize(
    ("phase", "moves"),
    [
        (Phase.STARTING, True),
        (Phase.STOPPING, True),
        (Phase.DRAINING, True),
        (Phase.FAILED, True),
        (Phase.READY, False),
        (Phase.PENDING, False),
        (Phase.STANDBY, False),
    ],
)
def test_machine_moves_while_an_observation_may_show_something_new(
    phase: Phase, moves: bool
) -> None:
    assert is_moving(machine(1, phase)) is moves
    assert is_moving(machine(1, phase).with_health(doubt=Doubt(what="stopped", since=FLEET_BEGIN)))


FLEET_BEGIN = Scene().now


def test_machine_is_observed_where_it_lives_by_all_its_servers_ids() -> None:
    capabilities = provider().capabilities
    assert close_scope(machine(), capabilities, Zone("z-2")) is None
    scope = close_scope(machine(), capabilities, ZONE)
    assert scope == Scope(ZONE, "server", machine().id, (ResourceId(f"server-{machine().id}"),))


def test_zones_are_those_configured_lived_in_and_ever_seen() -> None:
    capabilities = replace(provider().capabilities, zones=(Zone("d"),))
    inventory = Inventory(whole={(Zone("b"), "server"): FLEET_BEGIN})
    assert zones_of(capabilities, ((Zone("c"),), (Zone("a"), Zone("c"))), inventory) == (
        "a",
        "b",
        "c",
        "d",
    )


@pytest.mark.looptime
async def test_many_single_observations_come_a_few_at_a_time_and_all_come() -> None:
    rig = FakeScene(replace(FLEET, size=60, caps=Caps(share=1.0, per_hour=500, per_reclaim=500)))
    async with rig.running():
        await rig.until([READY] * 60, 2 * MIN)
        await rig.pass_by(3 * MIN)
        before = len(rig.provider.observations)
        for server in rig.world.servers():
            rig.world.become(server.id, Condition.OFF)
        await rig.pass_by(8 * MIN)
        most = max(
            sum(scope.machine is not None for scope in scopes)
            for _, scopes in rig.provider.observations[before:]
        )
        assert most <= 20
        states = await rig.phases()
    assert states.count(READY) >= 55
    assert SERVER.kind == "server"
