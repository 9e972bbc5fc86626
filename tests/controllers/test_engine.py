"""Whole engines over the fake world: fleets are reached, heal, rest, and survive bad days."""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import NoReturn

import pytest
import structlog
from msgspec.structs import replace
from structlog.testing import capture_logs

from hostler.controllers.engine import Engine
from hostler.controllers.runtime.measurements import measure_age, measure_host_needs
from hostler.controllers.runtime.settings import Account, Ports
from hostler.domain.errors import Conflict, StoreBusy, StoreDamaged, StoreError
from hostler.domain.ids import AccountName, Epoch, FleetName, MachineId, Zone, machine_id
from hostler.domain.model.calls import Refusal, Refused
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import Caps, Fleet, FleetRow, Probe, ProbeKind
from hostler.domain.model.machine import Machine, Offer
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, Observation, OwnerTag, Scope
from hostler.domain.model.snapshot import RequestKind
from hostler.lab.scenes.fake import SETTINGS, FakeScene
from hostler.ports.metrics import Count, Gauge
from hostler.ports.provider import Connection
from hostler.ports.store import Fence, Lease
from hostler.stores.memory import MemoryStore
from hostler.testing.conformance.store.records import orphan
from hostler.testing.fakes.planner import (
    MAKE_ADDRESS,
    MAKE_SERVER,
    POWER_ON,
    REMOVE_ADDRESS,
    REMOVE_SERVER,
    TERMINATE,
)
from hostler.testing.fakes.prober import FakeProber
from hostler.testing.fakes.script import Lost
from hostler.testing.scenes.builders import (
    ABROAD,
    BEGIN,
    FLEET,
    HOME,
    MIN,
    OFFER,
    WEB,
    S,
    machine,
    server,
)
from hostler.testing.time.clock import SimClock

pytestmark = pytest.mark.looptime

CI = FleetName("ci")
READY = Phase.READY
BUSY = Refused(why=Refusal.BUSY, text="transient state")
EAGER = Caps(share=1.0, per_hour=1000, per_reclaim=1000)


def sized(size: int, **changes: object) -> FakeScene:
    return FakeScene(replace(FLEET, size=size, caps=EAGER, **changes))


# ---------------------------------------------------------------- the main job


async def test_fleet_is_reached_and_then_rests() -> None:
    rig = sized(5)
    async with rig.running():
        took = await rig.until([READY] * 5, 60 * S)
        assert took < 20 * S, "a boot takes ten"
        await rig.pass_by(1 * MIN)
        calls, version = rig.calls(), [m.version for m in await rig.machines()]
        await rig.pass_by(20 * MIN)
        assert rig.calls() == calls
        assert [m.version for m in await rig.machines()] == version
    assert sorted(calls) == sorted([MAKE_ADDRESS, MAKE_SERVER, POWER_ON] * 5)
    assert len(rig.world.resources) == 10


async def test_fleet_scaled_to_nothing_leaves_nothing() -> None:
    rig = sized(3)
    async with rig.running():
        await rig.until([READY] * 3, 60 * S)
        await rig.request(RequestKind.SCALE, size=0)
        took = await rig.until([], 10 * MIN)
    assert rig.world.resources == {}
    assert took < 2 * MIN
    assert await rig.events("resource_removed")


async def test_what_is_remembered_of_machines_does_not_outlive_them() -> None:
    """An engine that makes thousands a day would need ever more memory."""
    rig = sized(2, probe=Probe(kind=ProbeKind.TCP))
    async with rig.running() as engine:
        (loop,) = engine.loops
        for _ in range(4):
            await rig.until([READY] * 2, 2 * MIN)
            await rig.pass_by(12 * MIN)
            for machine in await rig.machines():
                await rig.request(RequestKind.DELETE, machine=machine.id)
            await rig.pass_by(1 * MIN)
        await rig.until([READY] * 2, 2 * MIN)
        await rig.pass_by(12 * MIN)
        living = {machine.id for machine in await rig.machines()}
        assert loop.state.probed.keys() == living
        assert loop.state.recalled <= living
        assert loop.state.cache[WEB]._cached.keys() == living
        assert len(loop._observer._lag._observed_at) <= 4
    assert len(rig.calls(MAKE_SERVER)) == 10


async def test_request_is_noticed_within_half_a_second() -> None:
    rig = sized(0)
    async with rig.running():
        await rig.pass_by(45 * S)
        await rig.request(RequestKind.SCALE, size=1)
        took = await rig.until([Phase.STARTING], 10 * S)
    assert took < 1 * S


async def test_fleet_that_grows_and_shrinks_again_at_once_makes_no_more_than_it_must() -> None:
    rig = sized(0)
    rig.rate, rig.burst = 2.0, 2.0
    async with rig.running():
        await rig.request(RequestKind.SCALE, size=30)
        await rig.until([Phase.STARTING] * 30, 30 * S)
        await rig.request(RequestKind.SCALE, size=0)
        await rig.until([], 15 * MIN)
    assert len(rig.calls(MAKE_SERVER)) < 5, "machines in flight are called back"
    assert rig.world.resources == {}


class Lending(FakeScene):
    """An engine that lends its keys to one fleet; whoever probes notes whether it may try them."""

    lends = True

    def ports(self, clock: SimClock | None = None) -> Ports:
        return replace(super().ports(clock), lends=self._lends_to)

    def _lends_to(self, fleet: Fleet) -> bool:
        return self.lends and fleet.name == WEB


class Noting(FakeProber):
    def __init__(self) -> None:
        super().__init__()
        self.lent = set[bool]()

    async def probe(
        self, machine: MachineId, connection: Connection, probe: Probe
    ) -> tuple[bool, str]:
        self.lent.add(connection.lent)
        return await super().probe(machine, connection, probe)


@pytest.mark.parametrize("lends", [True, False])
async def test_a_probe_may_try_the_engines_own_keys_where_they_are_lent_to_its_fleet(
    *, lends: bool
) -> None:
    probe = Probe(kind=ProbeKind.SSH)
    rig, prober = Lending(replace(FLEET, size=1, probe=probe)), Noting()
    rig.lends, rig.prober = lends, prober
    async with rig.running():
        await rig.until([READY], 60 * S)
    assert prober.lent == {lends}


# ---------------------------------------------------------------- healing


@pytest.mark.parametrize("condition", [Condition.OFF, Condition.STANDBY])
async def test_server_that_stops_is_removed_and_replaced(condition: Condition) -> None:
    rig = sized(2)
    async with rig.running():
        await rig.until([READY] * 2, 60 * S)
        first = (await rig.machines())[0]
        (server,) = (s for s in rig.world.servers() if s.id in first.ids())
        await rig.pass_by(5 * MIN)
        rig.world.become(server.id, condition)
        await rig.until([READY, READY], 5 * MIN)
        while first.id in {m.id for m in await rig.machines()}:
            await rig.pass_by(1 * S)
        await rig.until([READY, READY], 5 * MIN)
    assert len(rig.calls(POWER_ON)) == 3
    assert server.id not in rig.world.resources
    assert len(rig.world.resources) == 4


@pytest.mark.parametrize("condition", [Condition.OFF, Condition.STANDBY])
async def test_nine_machines_with_seven_that_fall_back_to_stopped_heal(
    condition: Condition,
) -> None:
    """Instance_count 9, pending 7, reserved 7, and no clean-up ever."""
    rig = sized(2)
    async with rig.running():
        await rig.until([READY] * 2, 60 * S)
        good = {server.id for server in rig.world.servers()}
        rig.world.pace = replace(rig.world.pace, boot=timedelta(days=1))
        await rig.request(RequestKind.SCALE, size=9)
        await rig.until([READY] * 2 + [Phase.STARTING] * 7, 60 * S)
        await rig.pass_by(10 * S)
        bad = [server for server in rig.world.servers() if server.id not in good]
        assert len(bad) == 7
        for server in bad:
            rig.world.become(server.id, condition)
        rig.world.pace = replace(rig.world.pace, boot=10 * S)
        await rig.until([READY] * 9, 15 * MIN)
        there = {server.id for server in rig.world.servers()}
        await rig.pass_by(5 * MIN)
    assert good <= there
    assert not {server.id for server in bad} & there
    assert len(rig.world.resources) == 18


async def test_server_deleted_by_hand_is_replaced_and_its_address_removed() -> None:
    rig = sized(1)
    async with rig.running():
        await rig.until([READY], 60 * S)
        await rig.pass_by(2 * MIN)
        rig.world.remove(rig.world.servers()[0].id)
        await rig.pass_by(5 * MIN)
        assert await rig.phases() == [READY]
    assert len(rig.world.resources) == 2


@pytest.mark.parametrize("other", [WEB, CI])
@pytest.mark.parametrize("kind", ["server", "address"])
@pytest.mark.parametrize("attempt", [1, 9])
async def test_what_bears_the_tag_of_another_machine_is_still_its_own_and_none_of_that_one(
    attempt: int, kind: str, other: FleetName
) -> None:
    """Somebody copies the tags of one server to another: neither fleet may stop at that."""
    rig = sized(1 if other == CI else 2)
    rig.beside = (replace(rig.fleet, name=CI, size=1),) if other == CI else ()
    async with rig.running():
        await rig.pass_by(2 * MIN)
        its, named = (await rig.machines())[0], (await rig.store.machines(other))[-1]
        parts = (part for part in rig.world.resources.values() if part.slot.kind == kind)
        part = next(p for p in parts if p.owner_tag and p.owner_tag.machine == its.id)
        tag = OwnerTag(installation=HOME, fleet=other, machine=named.id, attempt=attempt)
        rig.world.resources[part.id] = replace(part, owner_tag=tag)
        scale = replace(rig.blank(RequestKind.SCALE), fleet=other, size=3)
        await rig.store.request(scale)
        await rig.pass_by(3 * MIN)
        assert [one.phase for one in await rig.store.machines(other)] == [READY] * 3
        end = replace(rig.blank(RequestKind.DELETE), fleet=other, machine=named.id)
        await rig.store.request(end)
        await rig.pass_by(10 * MIN)
        left = await rig.store.machines(other)
        assert [one.phase for one in left] == [READY] * 3
        assert named.id not in {one.id for one in left}
        assert (await rig.machines())[0] == its
        assert part.id in rig.world.resources
    ends = [one.event for one in await rig.events("moved") if one.event.machine == named.id]
    assert sum(event.detail.startswith("stopping>deleted") for event in ends) == 1


async def test_machine_that_never_becomes_ready_is_replaced_and_backs_off() -> None:
    rig = sized(1, probe=Probe(kind=ProbeKind.TCP))
    rig.prober.all_unwilling = True
    async with rig.running():
        await rig.pass_by(20 * MIN)
        made = len(rig.calls(MAKE_SERVER))
        assert made == 2
        rig.prober.all_unwilling = False
        await rig.until([READY], 15 * MIN)
        await rig.pass_by(5 * MIN)
    assert len(rig.world.resources) == 2


async def test_machine_whose_address_is_never_known_still_becomes_overdue() -> None:
    rig = sized(1, probe=Probe(kind=ProbeKind.TCP))
    rig.provider.connection = lambda machine, resources: None  # noqa: ARG005
    async with rig.running():
        await rig.pass_by(15 * MIN)
    assert len(rig.calls(MAKE_SERVER)) > 1


# ---------------------------------------------------------------- faults at calls


KINDS = [MAKE_ADDRESS, MAKE_SERVER, POWER_ON, TERMINATE, REMOVE_ADDRESS]


@pytest.mark.parametrize("lost", Lost)
@pytest.mark.parametrize("kind", KINDS)
async def test_lost_answer_at_any_call_leaves_one_of_everything_and_then_nothing(
    kind: str, lost: Lost
) -> None:
    rig = sized(1)
    rig.provider.befall(kind, lost)
    async with rig.running():
        await rig.until([READY], 10 * MIN)
        await rig.pass_by(5 * MIN)
        assert await rig.phases() == [READY]
        assert len(rig.world.resources) == 2
        await rig.request(RequestKind.SCALE, size=0)
        await rig.until([], 10 * MIN)
        await rig.pass_by(2 * MIN)
    assert rig.world.resources == {}


@pytest.mark.parametrize("kind", [MAKE_ADDRESS, MAKE_SERVER, POWER_ON, TERMINATE, REMOVE_ADDRESS])
async def test_busy_resource_ends_the_step_and_is_tried_again_after_a_second_and_some_jitter(
    kind: str,
) -> None:
    rig = sized(1)
    rig.provider.befall(kind, BUSY)
    async with rig.running():
        await rig.until([READY], 60 * S)
        await rig.pass_by(2 * MIN)
        await rig.request(RequestKind.SCALE, size=0)
        await rig.until([], 5 * MIN)
    times = [at for at, called, _ in rig.world.journal if called == kind]
    assert len(times) == 2
    assert 1 * S <= times[1] - times[0] <= 4 * S


async def test_pause_of_a_resource_that_cannot_be_removed_is_kept_though_others_go() -> None:
    """A removal that went well once made the next one hammer on the part that did not."""
    rig = sized(1)
    async with rig.running():
        await rig.until([READY], 60 * S)
        server = rig.world.servers()[0]
        for resource in list(rig.world.resources.values()):
            rig.world.resources[resource.id] = replace(resource, owner=None)
        rig.provider.befall(TERMINATE, *([BUSY] * 8))
        await rig.request(RequestKind.SCALE, size=0)
        await rig.until([], 5 * MIN)
    times = [at for at, _, aim in rig.world.journal if aim == server.id]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert min(gaps[1:]) >= 1 * S
    assert len(rig.calls(REMOVE_ADDRESS)) == 1


async def test_cleaning_goes_on_past_a_failing_resource_and_tells_all_errors_together() -> None:
    rig = FakeScene(replace(FLEET, size=1), addresses=2)
    always = Refused(why=Refusal.INVALID, text="the address is cursed")
    locked = Refused(why=Refusal.BUSY, text="the server is locked")
    rig.provider.befall(POWER_ON, Refused(why=Refusal.INVALID, text="500, then no"))
    rig.provider.befall(REMOVE_SERVER, *([locked] * 4))
    rig.provider.befall(REMOVE_ADDRESS, *([always] * 4))
    rig.fleet = replace(rig.fleet, size=1)
    async with rig.running():
        await rig.until([Phase.STOPPING], 2 * MIN)
        for resource in list(rig.world.resources.values()):
            rig.world.resources[resource.id] = replace(resource, owner=None)
        await rig.request(RequestKind.SCALE, size=0)
        errors = set[str]()
        while machines := await rig.machines():
            errors |= {machine.error for machine in machines}
            await rig.pass_by(1 * S)
    assert any("cursed" in error and "locked" in error for error in errors)
    assert rig.world.resources == {}


async def test_cleaning_twice_makes_no_further_call() -> None:
    rig = sized(2)
    rig.world.pace = replace(rig.world.pace, lag=20 * S)
    async with rig.running():
        await rig.until([READY] * 2, 3 * MIN)
        await rig.request(RequestKind.SCALE, size=0)
        await rig.until([], 10 * MIN)
    assert len(rig.calls(TERMINATE)) == 2
    assert len(rig.calls(REMOVE_ADDRESS)) == 2


async def test_failed_creation_is_rolled_back_and_says_so() -> None:
    rig = sized(1)
    rig.provider.befall(POWER_ON, Refused(why=Refusal.INVALID, text="internal error"))
    async with rig.running():
        await rig.until([Phase.STOPPING], 60 * S)
        failed = (await rig.machines())[0]
        assert failed.ids(), "the record held the ids before the failure"
        while failed.id in {m.id for m in await rig.machines()}:
            await rig.pass_by(1 * S)
    kinds = [k.event.kind for k in await rig.store.events(machine=failed.id)]
    order = ["rollback_started", "resource_removed", "resource_removed", "rollback_done"]
    assert [kind for kind in kinds if kind in order] == order
    assert all(
        p.owner_tag is None or p.owner_tag.machine != failed.id
        for p in rig.world.resources.values()
    )


async def test_after_out_of_stock_the_next_zone_is_tried_and_the_empty_one_left_alone() -> None:
    other = Offer(type="small", zone=Zone("z-2"))
    rig = sized(2, offers=(OFFER, other))
    rig.provider.out_of_stock.add((OFFER.type, OFFER.zone))
    async with rig.running():
        await rig.pass_by(3 * MIN)
        assert await rig.phases() == [READY] * 2
        assert {m.offer for m in await rig.machines()} == {other}
        assert len(rig.calls(MAKE_SERVER)) == 4, "two were refused, and none tried again"
    assert {resource.zone for resource in rig.world.resources.values()} == {other.zone}


async def test_fleet_waits_for_stock_and_goes_on_when_there_is_some() -> None:
    rig = sized(1)
    rig.provider.out_of_stock.add((OFFER.type, OFFER.zone))
    async with rig.running():
        await rig.pass_by(20 * MIN)
        row = (await rig.store.fleets())[0]
        assert row.condition.startswith("waiting for stock")
        assert len(rig.calls(MAKE_SERVER)) <= 7
        assert rig.world.resources == {}
        rig.provider.out_of_stock.clear()
        await rig.until([READY], 10 * MIN)


# ---------------------------------------------------------------- nothing healthy is touched


async def unharmed(rig: FakeScene, calls: list[str], servers: set[str]) -> None:
    assert {server.id for server in rig.world.servers()} == servers
    assert rig.calls() == calls


async def test_sixty_seconds_of_empty_lists_touch_nothing() -> None:
    rig = sized(3)
    async with rig.running():
        await rig.until([READY] * 3, 60 * S)
        await rig.pass_by(5 * MIN)
        calls, servers = rig.calls(), {str(s.id) for s in rig.world.servers()}
        rig.provider.empty = True
        await rig.pass_by(60 * S)
        rig.provider.empty = False
        await rig.pass_by(10 * MIN)
        await unharmed(rig, calls, servers)
        assert await rig.phases() == [READY] * 3


async def test_dead_zone_touches_nothing_and_others_go_on() -> None:
    other = Offer(type="small", zone=Zone("z-2"))
    rig = sized(2, offers=(OFFER, other))
    async with rig.running():
        await rig.until([READY] * 2, 60 * S)
        calls, servers = rig.calls(), {str(s.id) for s in rig.world.servers()}
        rig.provider.dead.add(OFFER.zone)
        await rig.pass_by(20 * MIN)
        await unharmed(rig, calls, servers)
        await rig.request(RequestKind.SCALE, size=3)
        await rig.until([READY] * 3, 2 * MIN)
        assert {m.offer.zone for m in await rig.machines()} == {OFFER.zone, other.zone}


async def test_own_network_down_touches_nothing_and_passes() -> None:
    rig = sized(3)
    async with rig.running():
        await rig.until([READY] * 3, 60 * S)
        calls, servers = rig.calls(), {str(s.id) for s in rig.world.servers()}
        rig.provider.dead.add(OFFER.zone)
        rig.prober.all_unwilling = True
        await rig.pass_by(25 * MIN)
        rig.provider.dead.clear()
        rig.prober.all_unwilling = False
        await rig.pass_by(10 * MIN)
        await unharmed(rig, calls, servers)


@pytest.mark.parametrize("by", [timedelta(days=1), timedelta(days=-1), timedelta(minutes=7)])
async def test_clock_that_jumps_touches_nothing_and_wedges_nothing(by: timedelta) -> None:
    rig = sized(3)
    async with rig.running():
        await rig.until([READY] * 3, 60 * S)
        await rig.pass_by(5 * MIN)
        calls, servers = rig.calls(), {str(s.id) for s in rig.world.servers()}
        rig.clock.jump(by)
        await rig.pass_by(5 * MIN)
        await unharmed(rig, calls, servers)
        await rig.request(RequestKind.SCALE, size=4)
        await rig.until([READY] * 4, 3 * MIN)
        await rig.request(RequestKind.SCALE, size=0)
        await rig.until([], 5 * MIN)
    assert rig.world.resources == {}


@pytest.mark.parametrize("by", [timedelta(days=1), timedelta(days=-1)])
@pytest.mark.parametrize("after", [1, 3, 12])
async def test_clock_that_jumps_while_machines_start_breaks_none_of_them(
    by: timedelta, after: int
) -> None:
    rig = sized(3)
    rig.world.pace = replace(rig.world.pace, boot=60 * S)
    async with rig.running():
        await rig.pass_by(after * S)
        rig.clock.jump(by)
        rig.world.planned = [(at + by, n, what) for at, n, what in rig.world.planned]
        rig.world.born = {resource: at + by for resource, at in rig.world.born.items()}
        await rig.until([READY] * 3, 5 * MIN)
    assert len(rig.calls(MAKE_SERVER)) == 3


async def test_machine_is_not_overdue_by_a_jump_in_the_middle_of_an_observation() -> None:
    rig = sized(1)
    rig.world.pace = replace(rig.world.pace, boot=60 * S)
    observation = rig.provider.observe

    async def jumping(scopes: tuple[Scope, ...]) -> Observation:
        snapshot = await observation(scopes)
        if len(rig.provider.observations) == 8:
            rig.clock.jump(timedelta(days=1))
            rig.world.planned = [
                (at + timedelta(days=1), n, what) for at, n, what in rig.world.planned
            ]
        return snapshot

    rig.provider.observe = jumping
    async with rig.running():
        await rig.until([READY], 5 * MIN)
    assert len(rig.calls(MAKE_SERVER)) == 1


# ---------------------------------------------------------------- two stores, lost stores


async def test_two_machines_with_one_configuration_do_not_fight() -> None:
    rig = sized(3)
    other = rig.neighbour(ABROAD)
    async with rig.running():
        await rig.until([READY] * 3, 60 * S)
        calls, servers = rig.calls(), {str(s.id) for s in rig.world.servers()}
        async with other.running("b"):
            await rig.pass_by(20 * MIN)
            await unharmed(rig, calls, servers)
            assert await other.machines() == ()
            row = (await other.store.fleets())[0]
            assert "another installation (home)" in row.condition
        assert await rig.phases() == [READY] * 3


async def test_lost_store_buys_nothing_and_touches_nothing_until_somebody_adopts() -> None:
    rig = sized(3)
    async with rig.running():
        await rig.until([READY] * 3, 60 * S)
    lost = rig.neighbour(ABROAD)
    calls, servers = rig.calls(), {str(s.id) for s in rig.world.servers()}
    async with lost.running("b"):
        await rig.pass_by(20 * MIN)
        await unharmed(rig, calls, servers)
        assert len(await lost.store.orphans()) == 6
        await lost.request(RequestKind.ADOPT, source=rig.installation)
        await lost.until([READY] * 3, 2 * MIN)
        await unharmed(rig, calls, servers)
        await lost.pass_by(2 * MIN)
        assert await lost.store.orphans() == ()
        await lost.request(RequestKind.SCALE, size=0)
        await lost.until([], 10 * MIN)
    assert rig.world.resources == {}


async def test_adoption_takes_what_exists_then_and_not_what_an_older_listing_showed() -> None:
    """A machine that a listing lacked, or showed later, is not left behind."""
    rig = sized(3)
    async with rig.running():
        await rig.until([READY] * 3, 60 * S)
    lost = rig.neighbour(ABROAD)
    hidden = rig.world.servers()[0]
    del rig.world.resources[hidden.id]
    async with lost.running("b"):
        await rig.pass_by(20 * MIN)
        assert len(await lost.store.orphans()) == 5
        rig.world.resources[hidden.id] = hidden
        await lost.request(RequestKind.ADOPT, source=rig.installation)
        await lost.until([READY] * 3, 2 * MIN)


# ---------------------------------------------------------------- restarts and replicas


@pytest.mark.parametrize("after", [0.3, 0.5, 0.7, 0.9, 1.1, 2.0, 5.0])
async def test_engine_that_dies_anywhere_is_continued(after: float) -> None:
    rig = sized(2)
    async with rig.running():
        await rig.pass_by(after * S)
    async with rig.running("b"):
        await rig.until([READY] * 2, 5 * MIN)
        await rig.pass_by(5 * MIN)
        assert len(rig.world.resources) == 4
        await rig.request(RequestKind.SCALE, size=0)
        await rig.pass_by(after * S)
    async with rig.running("c"):
        await rig.until([], 10 * MIN)
    assert rig.world.resources == {}


async def test_second_replica_waits_and_takes_over_when_the_first_is_gone() -> None:
    rig = FakeScene(replace(FLEET, size=2), exclusive=False)
    async with rig.running("b") as second:
        async with rig.running("a"):
            await rig.until([READY] * 2, 60 * S)
            await rig.pass_by(3 * MIN)
            holders = {lease.holder for lease in await rig.store.leases()}
            assert len(holders) == 1
        await rig.request(RequestKind.SCALE, size=3)
        await rig.until([READY] * 3, 5 * MIN)
        assert second.leases.tenure("account/main") is not None
    assert len(rig.world.resources) == 6


class Yielding(FakeScene):
    """An engine that is told whether another process is elected."""

    yields = False

    def ports(self, clock: SimClock | None = None) -> Ports:
        return replace(super().ports(clock), yields=lambda: self.yields)

    @asynccontextmanager
    async def yielded(self) -> AsyncGenerator[None]:
        """Run an engine that led, and lost its leases as another process is elected."""
        async with self.running("a") as engine:
            await self.until([READY], 60 * S)
            self.yields = True
            while engine.leases.tenure("account/main") is not None:
                await self.pass_by(1 * S)
            yield


async def test_engine_that_yields_lets_its_leases_run_out_to_the_other() -> None:
    rig = Yielding(replace(FLEET, size=1), exclusive=False)
    async with rig.running("a") as first:
        await rig.until([READY], 60 * S)
        other = FakeScene(rig.fleet, exclusive=False)
        other.store, other.world, other.provider = rig.store, rig.world, rig.provider
        other.numbers = rig.numbers
        async with other.running("b") as second:
            await rig.pass_by(1 * MIN)
            held = first.leases.until("account/main")
            rig.yields = True
            await rig.pass_by((held - rig.clock.boot() - 1) * S)
            assert second.leases.tenure("account/main") is None, "it is not given back at once"
            await rig.pass_by(3 * MIN)
            assert first.leases.tenure("account/main") is None
            assert second.leases.tenure("fleet/web") is not None


async def test_take_over_by_who_is_elected_late_takes_one_ttl_all_the_same() -> None:
    """The Lease of a cluster runs out first, and what it guards was looked on meanwhile."""
    rig = Yielding(replace(FLEET, size=1), exclusive=False)
    other = FakeScene(rig.fleet, exclusive=False)
    other.store, other.world, other.provider = rig.store, rig.world, rig.provider
    other.numbers = rig.numbers
    rig.yields = True
    async with rig.running("heir") as heir:
        async with other.running("a"):
            await rig.until([READY], 3 * MIN)
            rig.store.drop_lease = _nothing
        begun = rig.clock.boot()
        await rig.pass_by(50 * S)
        assert heir.leases.tenure("fleet/web") is None
        rig.yields = False
        while heir.leases.tenure("fleet/web") is None:
            await rig.pass_by(1 * S)
        assert rig.clock.boot() - begun < 60 + 2 * 15 + 2


async def test_take_over_of_an_account_and_its_fleets_takes_one_ttl() -> None:
    rig = FakeScene(replace(FLEET, size=1), exclusive=False)
    async with rig.running("b"):
        await rig.pass_by(20 * S)
    async with rig.running("a") as first:
        await rig.until([READY], 3 * MIN)
        del first
        rig.store.drop_lease = _nothing
    begun = rig.clock.boot()
    async with rig.running("c") as heir:
        while heir.leases.tenure("fleet/web") is None:
            await rig.pass_by(1 * S)
        assert rig.clock.boot() - begun < 60 + 2 * 15 + 2


async def _nothing(lease: Lease) -> None:
    """Crash: nothing is given back."""


async def test_machine_in_the_making_waits_quietly_while_the_world_is_not_ours() -> None:
    rig = sized(1)
    rig.provider.befall(MAKE_SERVER, *([BUSY] * 3))
    async with rig.running():
        await rig.until([Phase.STARTING], 10 * S)
        rig.world.add(server(machine_id(500), installation=ABROAD))
        rig.world.resources |= {}
        await rig.pass_by(40 * S)
        version = [m.version for m in await rig.machines()]
        await rig.pass_by(3 * MIN)
        assert [m.version for m in await rig.machines()] == version
        assert rig.metrics.value(Count.GATE_REFUSALS, "G8") == 0


# ---------------------------------------------------------------- a store that cannot be used


@pytest.mark.parametrize(
    "method", ["save_machine", "save_fleet", "requests", "renew_lease", "revision"]
)
async def test_a_damaged_store_ends_the_engine(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever meets the damage first: without records nothing may be done."""
    rig = sized(2)

    async def damaged(*_: object) -> None:
        raise StoreDamaged("web.db is not a readable store")

    with pytest.RaisesGroup(StoreDamaged, flatten_subgroups=True):
        async with rig.running():
            await rig.until([READY] * 2, 60 * S)
            monkeypatch.setattr(rig.store, method, damaged)
            monkeypatch.setattr(rig.store, "drop_lease", damaged)
            rig.world.resources.clear()
            await rig.pass_by(20 * MIN)


@pytest.mark.parametrize("error", [StoreError("too large"), Conflict("again"), KeyError("a bug")])
async def test_a_fleet_whose_every_cycle_fails_keeps_no_other_from_its_machines(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """One fails before, and one after, a fleet that is well; each failure is told."""
    ends = [replace(FLEET, size=1, name=FleetName(name)) for name in ("first", "third")]
    second = replace(FLEET, size=2, name=FleetName("second"))
    rig, tried = FakeScene(ends[0], beside=(second, ends[1])), Counter[FleetName]()
    save_fleet = rig.store.save_fleet

    async def save(
        row: FleetRow, inserts: tuple[Machine, ...], events: tuple[Event, ...], fence: Fence
    ) -> FleetRow:
        tried[row.name] += 1
        if row.name != second.name:
            raise error
        return await save_fleet(row, inserts, events, fence)

    monkeypatch.setattr(rig.store, "save_fleet", save)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    with capture_logs() as logs:
        async with rig.running():
            await rig.pass_by(2 * MIN)
            phases = [machine.phase for machine in await rig.store.machines(second.name)]
    assert phases == [READY] * 2
    assert min(tried[fleet.name] for fleet in ends) > 5
    logged = [line for line in logs if line["log_level"] in {"warning", "error"}]
    assert len(logged) >= tried.total() - tried[second.name] - 1, "but for a first conflict"


async def test_what_a_store_tells_of_is_read_without_waiting_for_the_next_poll(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = FakeScene(replace(FLEET, size=1), settings=replace(SETTINGS, poll=60 * MIN))
    notices = list[Callable[[], None]]()

    async def follow(notice: Callable[[], None]) -> None:
        notices.append(notice)
        await asyncio.Event().wait()

    monkeypatch.setattr(rig.store, "follow", follow, raising=False)
    async with rig.running():
        await rig.until([READY], 60 * S)
        await rig.request(RequestKind.SCALE, size=2)
        (notice,) = notices
        notice()
        await rig.until([READY] * 2, 60 * S)


async def test_metrics_say_how_many_machines_are_wanted() -> None:
    rig = sized(2)
    async with rig.running():
        await rig.until([READY] * 2, 60 * S)
        assert rig.metrics.series(Gauge.SIZE) == {("web",): 2}
        await rig.request(RequestKind.SCALE, size=5)
        await rig.until([READY] * 5, 60 * S)
        assert rig.metrics.series(Gauge.SIZE) == {("web",): 5}


class Failing(FakeProber):
    """Cannot even try."""

    async def probe(
        self, machine: MachineId, connection: Connection, probe: Probe
    ) -> tuple[bool, str]:
        await super().probe(machine, connection, probe)
        raise RuntimeError


async def test_metrics_count_probes_and_the_history_says_why_they_fail() -> None:
    rig = FakeScene(replace(FLEET, size=1, probe=Probe(kind=ProbeKind.TCP)))
    rig.prober.all_unwilling = True
    async with rig.running():
        await rig.pass_by(1 * MIN)
        (machine,) = await rig.machines()
        assert machine.error.endswith(": refused")
        assert len(await rig.events("probe_failed")) == 1
        assert rig.metrics.value(Count.PROBES, "web", "tcp", "failed") > 3
        rig.prober.all_unwilling = False
        await rig.until([READY], 1 * MIN)
        (machine,) = await rig.machines()
    assert machine.error == ""
    assert rig.metrics.value(Count.PROBES, "web", "tcp", "passed") == 1


async def test_a_probe_that_breaks_off_is_not_told_as_a_machine_without_an_address() -> None:
    rig = FakeScene(replace(FLEET, size=1, probe=Probe(kind=ProbeKind.TCP)))
    rig.prober = Failing()
    async with rig.running():
        await rig.pass_by(1 * MIN)
        (machine,) = await rig.machines()
    assert machine.error.endswith(": it broke off: the log says why")
    (failed,) = await rig.events("probe_failed")
    assert "address" not in failed.event.detail


@pytest.mark.parametrize("fleet", ["web", "rack", "nobody's"])
async def test_zones_of_orphans_are_observed_but_of_those_of_other_accounts(fleet: str) -> None:
    """A cloud asked for the zone of a rack refuses, every time, for as long as it is reported."""
    rig, there = sized(0), Zone("basement")
    await rig.store.add_fleet(FleetRow(name=FleetName("rack"), created=rig.clock.now()))
    found = replace(
        orphan("p-1"), fleet=FleetName(fleet), zone=there, first=BEGIN, last=BEGIN, counted=BEGIN
    )
    await rig.store.save_orphans((found,), (), Fence(lease="none", epoch=Epoch(1)))
    async with rig.running():
        await rig.pass_by(1 * MIN)
    zones = {scope.zone for _, scopes in rig.provider.observations for scope in scopes}
    assert (there in zones) == (fleet != "rack")


class FarLeases(MemoryStore):
    """A store of which each renewal takes a while, as a cluster's does."""

    async def renew_lease(self, lease: Lease) -> Lease | None:
        await asyncio.sleep(0.5)
        return await super().renew_lease(lease)


async def test_leases_of_many_accounts_are_renewed_before_they_run_out() -> None:
    """One account after the other it took longer than a lease lasts."""
    rig = sized(0)
    rig.store = FarLeases(HOME, exclusive=False)
    names = [AccountName(f"a-{number}") for number in range(150)]
    accounts = [Account(name=name, provider=rig.served(), fleets=()) for name in names]
    engine = Engine(rig.ports(), accounts, "a", SETTINGS)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(engine.run())
        for _ in range(8):
            await rig.pass_by(SETTINGS.lease_beat)
            assert all(engine.leases.tenure(loop.lease) is not None for loop in engine.loops)
        running.cancel()
    assert {lease.epoch for lease in await rig.store.leases()} == {1}


async def test_an_engine_that_leads_no_longer_alerts_of_no_need_that_another_one_measures() -> None:
    """Both replicas are scraped: what the first one measured last would page for ever."""
    rig = FakeScene(replace(FLEET, size=1), exclusive=False)
    loop = rig.engine().loops[0]
    await loop.keep_leases()
    measure_host_needs(rig.metrics, WEB, missing=2, broken=1)
    main = loop.state.account.name
    rig.metrics.replace(Gauge.HOSTS, {("z-1", "M2-L", "quarantined"): 1}, main)
    rig.metrics.replace(Gauge.PAID_UNTIL, {("z-1", "host-1"): 1}, main)
    measure_age(rig.metrics, main, 3 * S)
    await loop.keep_leases()
    assert rig.metrics.value(Gauge.NO_AVAILABLE_HOST, WEB) == 2, "it leads"
    assert rig.metrics.value(Gauge.OBSERVATION_AGE, main) == 3
    held = next(lease for lease in await rig.store.leases() if lease.name == loop.lease)
    assert await rig.store.take_lease(loop.lease, "b", held) is not None
    for _ in range(3):
        await asyncio.sleep(SETTINGS.lease_ttl.total_seconds() / 3)
        await loop.keep_leases()
    assert rig.metrics.series(Gauge.NO_AVAILABLE_HOST) == {}
    assert rig.metrics.series(Gauge.BOOTSTRAP_FAILED) == {}
    for gauge in (Gauge.HOSTS, Gauge.PAID_UNTIL, Gauge.OBSERVATION_AGE):
        assert rig.metrics.series(gauge) == {}


async def test_an_engine_whose_store_does_not_answer_lets_its_observation_grow_old() -> None:
    """It may be the only one, and an alert on the age is how anybody hears that nobody looks."""
    rig = sized(1)
    loop = rig.engine().loops[0]
    await loop.keep_leases()
    measure_age(rig.metrics, loop.state.account.name, 3 * S)
    rig.store.renew_lease = rig.store.take_lease = rig.store.leases = _busy
    for _ in range(6):
        await asyncio.sleep(SETTINGS.lease_ttl.total_seconds() / 3)
        with pytest.raises(StoreBusy):
            await loop.keep_leases()
    assert rig.metrics.value(Gauge.OBSERVATION_AGE, loop.state.account.name) == 3


async def _busy(*_: object, **__: object) -> NoReturn:
    raise StoreBusy("the disk is full")


async def test_observations_of_an_engine_that_leads_no_longer_do_not_grow_older() -> None:
    """Who alerts of their age was paged after each takeover, until that process ended."""
    rig = FakeScene(replace(FLEET, size=1), exclusive=False)
    async with rig.running() as engine:
        (loop,) = engine.loops
        await rig.until([READY], 2 * MIN)
        assert set(rig.metrics.series(Gauge.OBSERVATION_AGE)) == {("main",)}
        held = next(lease for lease in await rig.store.leases() if lease.name == loop.lease)
        assert await rig.store.take_lease(loop.lease, "b", held) is not None
        await rig.pass_by(3 * SETTINGS.lease_beat)
        assert rig.metrics.series(Gauge.OBSERVATION_AGE) == {}


async def test_an_engine_that_is_to_yield_alerts_until_its_lease_is_over() -> None:
    """Nobody else leads until then: what it measured is all that there is."""
    rig = Yielding(replace(FLEET, size=1), exclusive=False)
    async with rig.running("a") as engine:
        await rig.until([READY], 60 * S)
        measure_host_needs(rig.metrics, WEB, missing=2, broken=1)
        rig.yields = True
        await rig.pass_by(2 * SETTINGS.lease_beat)
        assert engine.leases.tenure("account/main") is not None
        assert rig.metrics.value(Gauge.NO_AVAILABLE_HOST, WEB) == 2
        assert rig.metrics.series(Gauge.OBSERVATION_AGE) != {}


async def test_an_engine_that_yields_to_another_one_alerts_of_nothing_that_it_measured() -> None:
    """Who is elected among replicas in a cluster measures it; the others only look on."""
    rig = Yielding(replace(FLEET, size=1), exclusive=False)
    async with rig.yielded():
        measure_host_needs(rig.metrics, WEB, missing=2, broken=1)
        await rig.pass_by(SETTINGS.lease_beat)
        for gauge in (Gauge.NO_AVAILABLE_HOST, Gauge.BOOTSTRAP_FAILED, Gauge.OBSERVATION_AGE):
            assert rig.metrics.series(gauge) == {}


async def test_a_process_that_leads_no_account_any_more_reports_no_orphans() -> None:
    """Both replicas are scraped: the sum would count each twice, and go on when they are gone."""
    rig = Yielding(replace(FLEET, size=1), exclusive=False)
    async with rig.yielded():
        rig.metrics.gauge(Gauge.UPSTREAM_ORPHANS, 2)
        rig.metrics.replace(Gauge.ORPHANS, {("web", "z-1", "unrecorded"): 2})
        await rig.pass_by(15 * S)
        assert rig.metrics.series(Gauge.OBSERVATION_AGE) == {}, "nor how old its last look is"
        assert rig.metrics.series(Gauge.ORPHANS) == {}
        assert rig.metrics.value(Gauge.UPSTREAM_ORPHANS) == 0


async def test_a_fleet_that_could_never_be_observed_is_measured_and_has_no_orphan_report() -> None:
    """By that difference an alert tells of credentials that were wrong from the start."""
    rig = sized(1)
    rig.provider.dead.add(OFFER.zone)
    async with rig.running():
        await rig.pass_by(5 * MIN)
        assert rig.metrics.series(Gauge.SIZE) == {("web",): 1}
        assert rig.metrics.series(Gauge.ORPHANS_CHECKED) == {}
        rig.provider.dead.clear()
        await rig.pass_by(2 * MIN)
        assert set(rig.metrics.series(Gauge.ORPHANS_CHECKED)) == {("web",)}


@pytest.mark.parametrize("taken_over", [False, True])
async def test_an_orphan_that_is_gone_leaves_the_report_soon_however_seldom_all_is_listed(
    *, taken_over: bool
) -> None:
    """Macs 82001245: the second listing, which proves it, came no sooner than any other.

    Macs 98000006: nor did it where time is counted anew, for the fleet was taken anew meanwhile.
    """
    stray = server(machine(9))
    settings = replace(SETTINGS, quiet=15 * MIN)
    rig = FakeScene(replace(FLEET, size=0), issued=(machine(9).id,), settings=settings)
    rig.world.add(stray)
    async with rig.running() as engine:
        await rig.pass_by(31 * MIN)
        assert [one.resource for one in await rig.store.orphans()] == [stray.id]
        rig.world.remove(stray.id)
        while (await rig.store.orphans())[0].missing is None:
            await rig.pass_by(1 * S)
        if taken_over:
            await rig.pass_by(40 * S)
            await engine.leases.drop()
        await rig.pass_by(100 * S)
        assert await rig.store.orphans() == ()
