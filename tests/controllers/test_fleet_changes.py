"""Fleets and accounts that come, change and go while an engine runs."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.controllers.runtime.settings import Account
from hostler.domain.errors import RequestRefused
from hostler.domain.ids import AccountName, FleetName, machine_id
from hostler.domain.model.fleet import Caps, Fleet
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.lab.scenes.fake import FakeScene
from hostler.testing.fakes.planner import MAKE_SERVER, TERMINATE
from hostler.testing.fakes.provider import FakeProvider
from hostler.testing.fakes.script import Lost
from hostler.testing.fakes.world import FakeWorld
from hostler.testing.scenes.builders import FLEET, HOME, MIN, WEB, S, server

pytestmark = pytest.mark.looptime

READY = Phase.READY
EAGER = Caps(share=1.0, per_hour=1000, per_reclaim=1000)
CI = replace(FLEET, name=FleetName("ci"), size=2, caps=EAGER)


def scene(**changes: object) -> FakeScene:
    return FakeScene(replace(FLEET, caps=EAGER, **changes), issued=(machine_id(7777),))


async def phases(rig: FakeScene, fleet: Fleet) -> list[Phase]:
    return [machine.phase for machine in await rig.store.machines(fleet.name)]


async def until(rig: FakeScene, fleet: Fleet, wanted: list[Phase]) -> None:
    async with asyncio.timeout(600):
        while await phases(rig, fleet) != wanted:  # noqa: ASYNC110 - simulated time
            await asyncio.sleep(0.05)


async def holders(rig: FakeScene, name: FleetName) -> list[str]:
    return [lease.holder for lease in await rig.store.leases() if lease.name == f"fleet/{name}"]


async def test_a_fleet_that_is_added_is_recorded_leased_and_decided_at_once() -> None:
    rig = scene(size=1)
    async with rig.running() as engine:
        await rig.until([READY], 60 * S)
        await rig.pass_by(5 * MIN)
        await engine.add_fleet(CI)
        assert await holders(rig, CI.name) == ["a"]
        assert CI.name in {row.name for row in await rig.store.fleets()}
        begun = rig.clock.boot()
        await until(rig, CI, [READY] * 2)
        assert rig.clock.boot() - begun < 20, "a boot takes ten"
        assert await rig.phases() == [READY]
    assert len(rig.world.servers()) == 3


async def test_requests_from_before_a_fleet_was_added_are_read() -> None:
    rig = scene(size=0)
    request = Request(
        number=0, kind=RequestKind.SCALE, fleet=CI.name, at=rig.clock.now(), actor="ann", size=3
    )
    async with rig.running() as engine:
        await rig.store.request(request)
        await rig.pass_by(1 * MIN)
        await engine.add_fleet(CI)
        await until(rig, CI, [READY] * 3)
    assert await rig.store.requests() == ()


async def test_a_changed_size_holds_from_the_next_cycle_on() -> None:
    rig = scene(size=1)
    async with rig.running() as engine:
        await rig.until([READY], 60 * S)
        await rig.pass_by(5 * MIN)
        await engine.replace_fleet(replace(rig.fleet, size=4))
        took = await rig.until([READY] * 4, 60 * S)
        assert took < 20 * S, "a boot takes ten"
        await engine.replace_fleet(replace(rig.fleet, size=0))
        await rig.until([], 5 * MIN)
    assert rig.world.resources == {}


async def test_a_changed_template_replaces_machines_where_the_fleet_says_so() -> None:
    rig = scene(size=2, template="one", replace_outdated=True)
    async with rig.running() as engine:
        await rig.until([READY] * 2, 60 * S)
        old = {machine.id for machine in await rig.machines()}
        await rig.pass_by(5 * MIN)
        await engine.replace_fleet(replace(rig.fleet, template="two"))
        async with asyncio.timeout(1800):
            while old & {machine.id for machine in await rig.machines()}:  # noqa: ASYNC110
                await asyncio.sleep(1)
        await rig.until([READY] * 2, 5 * MIN)
        assert {machine.template for machine in await rig.machines()} == {"two"}


async def test_a_change_in_the_middle_of_a_cycle_waits_for_its_end() -> None:
    rig = scene(size=1)
    async with rig.running() as engine:
        (loop,) = engine.loops
        await rig.until([READY], 60 * S)
        rig.world.pace = replace(rig.world.pace, answer=5 * S)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(loop.round(group))
            await asyncio.sleep(0)
            before = loop.state.account
            change = group.create_task(engine.add_fleet(CI))
            while not running.done():
                assert loop.state.account is before
                assert not change.done()
                await asyncio.sleep(0.01)
            await change
        assert loop.fleets.names == {WEB, CI.name}


async def test_a_fleet_of_which_machines_live_is_not_removed_and_goes_on() -> None:
    rig = scene(size=2)
    async with rig.running() as engine:
        await rig.until([READY] * 2, 60 * S)
        with pytest.raises(RequestRefused, match="2 living machines"):
            await engine.remove_fleet(WEB)
        rig.world.remove(rig.world.servers()[0].id)
        await rig.pass_by(5 * MIN)
        await rig.until([READY] * 2, 5 * MIN)
        assert await holders(rig, WEB) == ["a"]


async def test_a_fleet_in_the_making_is_not_removed_either() -> None:
    rig = scene(size=1)
    rig.provider.befall(MAKE_SERVER, Lost.HUNG)
    async with rig.running() as engine:
        await rig.until([Phase.STARTING], 60 * S)
        with pytest.raises(RequestRefused, match="1 living machines"):
            await engine.remove_fleet(WEB)
        await rig.until([READY], 10 * MIN)


async def test_removing_waits_for_calls_in_flight_while_other_fleets_go_on() -> None:
    rig = scene(size=0, reclaim=True)
    rig.world.add(replace(server(machine_id(7777)), created=rig.clock.now() - timedelta(hours=2)))
    rig.provider.befall(TERMINATE, Lost.HUNG)
    async with rig.running() as engine:
        async with asyncio.timeout(600):
            while not rig.calls(TERMINATE):  # noqa: ASYNC110 - simulated time
                await asyncio.sleep(0.05)
        (loop,) = engine.loops
        async with asyncio.TaskGroup() as group:
            removing = group.create_task(engine.remove_fleet(WEB))
            await rig.pass_by(2 * S)
            assert not removing.done(), "the call that hangs is waited for"
            assert loop.fleets.names == {WEB}
        assert not loop.state.moving
        assert loop.fleets.names == frozenset()
        assert await holders(rig, WEB) == [""]
        calls = rig.calls(TERMINATE)
        await rig.pass_by(10 * MIN)
        assert rig.calls(TERMINATE) == calls, "nothing decides any more"
    assert await rig.store.orphans(), "what is there stays in the report"


async def test_a_fleet_that_was_removed_and_is_added_again_finds_its_records() -> None:
    rig = scene(size=2)
    async with rig.running() as engine:
        await rig.until([READY] * 2, 60 * S)
        await rig.request(RequestKind.SCALE, size=0)
        await rig.until([], 5 * MIN)
        await engine.remove_fleet(WEB)
        with pytest.raises(RequestRefused, match="no fleet 'web'"):
            await engine.remove_fleet(WEB)
        with pytest.raises(RequestRefused, match="no fleet 'web'"):
            await engine.replace_fleet(rig.fleet)
        await rig.pass_by(10 * MIN)
        (row,) = await rig.store.fleets()
        assert row.serial == 2
        await engine.add_fleet(rig.fleet)
        await rig.pass_by(1 * MIN)
        assert await rig.phases() == [], "the size that was requested stays"
        await rig.request(RequestKind.SCALE, size=1)
        await rig.until([READY], 60 * S)
        (machine,) = await rig.machines()
        assert machine.serial == 3


class Templated(FakeProvider):
    """Makes machines from templates that it got as it was opened."""

    def has_template(self, fleet: FleetName) -> bool:
        return fleet == WEB


async def test_what_the_open_provider_has_no_template_for_is_refused() -> None:
    rig = scene(size=1, template="one")
    rig.provider = Templated(rig.world, HOME)
    async with rig.running() as engine:
        await rig.until([READY], 60 * S)
        with pytest.raises(RequestRefused, match="opened without this template of the fleet 'ci'"):
            await engine.add_fleet(CI)
        with pytest.raises(RequestRefused, match="opened without this template of the fleet 'web'"):
            await engine.replace_fleet(replace(rig.fleet, template="two"))
        assert {row.name for row in await rig.store.fleets()} == {WEB}
        await engine.replace_fleet(replace(rig.fleet, size=2))
        await rig.until([READY] * 2, 60 * S)


def second_account(rig: FakeScene, *fleets: Fleet) -> Account:
    provider = FakeProvider(FakeWorld(rig.clock, count=1000), HOME)
    return Account(
        name=AccountName("second"), provider=provider, fleets=fleets, rate=100.0, burst=100.0
    )


async def test_an_account_that_is_added_runs_beside_the_first() -> None:
    rig = scene(size=1)
    fleet = replace(CI, account=AccountName("second"))
    async with rig.running() as engine:
        await rig.until([READY], 60 * S)
        await engine.add_account(second_account(rig, fleet))
        await until(rig, fleet, [READY] * 2)
        assert len(rig.world.servers()) == 1
        more = replace(fleet, name=FleetName("more"))
        await engine.add_fleet(more)
        await until(rig, more, [READY] * 2)
        assert {lease.name for lease in await rig.store.leases() if lease.holder} == {
            "account/main",
            "account/second",
            "fleet/web",
            "fleet/ci",
            "fleet/more",
        }
    assert {lease.holder for lease in await rig.store.leases()} == {""}


async def test_names_are_taken_once_over_all_accounts() -> None:
    rig = scene(size=0)
    other = replace(FLEET, account=AccountName("second"))
    async with rig.running() as engine:
        with pytest.raises(RequestRefused, match="a fleet 'web' already"):
            await engine.add_account(second_account(rig, other))
        await engine.add_account(second_account(rig))
        with pytest.raises(RequestRefused, match="an account 'second' already"):
            await engine.add_account(second_account(rig))
        with pytest.raises(RequestRefused, match="a fleet 'web' already"):
            await engine.add_fleet(other)
        with pytest.raises(RequestRefused, match="lives in 'main'"):
            await engine.replace_fleet(other)
        with pytest.raises(RequestRefused, match="no account 'third'"):
            await engine.add_fleet(replace(CI, account=AccountName("third")))
        await rig.pass_by(1 * MIN)
        assert len(engine.loops) == 2


async def test_changes_before_the_engine_runs_hold_from_its_start() -> None:
    rig = scene(size=0)
    engine = rig.engine()
    await engine.add_fleet(CI)
    await engine.remove_fleet(WEB)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(engine.run())
        await until(rig, CI, [READY] * 2)
        running.cancel()
    assert await holders(rig, WEB) == [""]


async def test_a_lease_is_kept_through_changes_that_renew_it_at_once() -> None:
    rig = scene(size=0)
    async with rig.running() as engine:
        await rig.pass_by(1 * MIN)
        many = [replace(CI, name=FleetName(f"f-{number}"), size=0) for number in range(8)]
        async with asyncio.TaskGroup() as group:
            for fleet in many:
                group.create_task(engine.add_fleet(fleet))
        epochs = {lease.name: lease.epoch for lease in await rig.store.leases()}
        await rig.pass_by(2 * MIN)
        assert {lease.name: lease.epoch for lease in await rig.store.leases()} == epochs
