"""Whatever is said of the world, nothing healthy is touched, and nothing is bought twice."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import InstallationId
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Offer
from hostler.domain.model.snapshot import RequestKind
from hostler.lab.scenes.servers import FLEET, Hostler, Rig, play
from hostler.simulators.scaleway.faults.rates import Rule
from hostler.stores.memory import MemoryStore

MINUTE = timedelta(minutes=1)
CHANGES = ("POST", "PATCH", "DELETE", "PUT")


def changes(rig: Rig) -> int:
    """How many requests so far could have changed anything."""
    return sum(line.method in CHANGES for line in rig.world.journal)


async def five(rig: Rig, fleet: Fleet = FLEET) -> Hostler:
    """Return a hostler whose five servers have been ready for two minutes."""
    hostler = rig.hostler(replace(fleet, size=5))
    await hostler.rests(5, 10 * MINUTE)
    await rig.clock.sleep(2 * MINUTE)
    return hostler


@pytest.mark.parametrize(
    "fault",
    [
        "empty_list",
        "zone_dead",
        "rate_limited_429",
        "html_5xx",
        "hung",
        "truncated_page",
    ],
)
def test_a_bad_minute_of_answers_touches_nothing(fault: str) -> None:
    """60 s of empty 200 lists, a dead zone, storms of refusals: the same five stand after it."""

    async def scene(rig: Rig) -> None:
        hostler = await five(rig, FLEET)
        servers, before = rig.servers(), changes(rig)
        many = 1 if fault in {"empty_list", "zone_dead"} else 12
        rig.world.script(Rule(fault=fault, method="GET", count=many, spell=60.0))
        await rig.clock.sleep(10 * MINUTE)
        assert rig.world.faults.get(fault, 0) >= 1
        assert [s.id for s in rig.servers()] == [s.id for s in servers]
        assert changes(rig) == before
        assert await hostler.ready() == 5

    play(scene)


def test_our_own_network_down_touches_nothing() -> None:
    async def scene(rig: Rig) -> None:
        hostler = await five(rig, FLEET)
        servers, before = rig.servers(), changes(rig)
        hostler.wire.down = True
        await rig.clock.sleep(20 * MINUTE)
        hostler.wire.down = False
        await rig.clock.sleep(5 * MINUTE)
        assert [s.id for s in rig.servers()] == [s.id for s in servers]
        assert changes(rig) == before
        assert await hostler.ready() == 5

    play(scene)


@pytest.mark.parametrize("hours", [-48, -1, 1, 48])
def test_a_clock_that_jumps_touches_nothing(hours: int) -> None:
    """Neither ready machines nor one that is being made suffer from a wall clock that jumps."""

    async def scene(rig: Rig) -> None:
        hostler = await five(rig, FLEET)
        await hostler.scale(6)
        while len(rig.servers()) < 6:
            await rig.clock.sleep(timedelta(milliseconds=100))
        servers = rig.servers()
        rig.clock.jump(timedelta(hours=hours))
        await hostler.rests(6, 5 * MINUTE)
        await rig.clock.sleep(10 * MINUTE)
        assert [s.id for s in rig.servers()] == [s.id for s in servers]
        assert await hostler.ready() == 6

    play(scene)


def test_two_stores_with_one_configuration_do_not_fight() -> None:
    """The second finds foreign marks in its fleet's name: it makes and touches nothing."""

    async def scene(rig: Rig) -> None:
        first = await five(rig, FLEET)
        servers, before = rig.servers(), changes(rig)
        second = rig.hostler(replace(FLEET, size=5))
        await rig.clock.sleep(30 * MINUTE)
        assert [s.id for s in rig.servers()] == [s.id for s in servers]
        assert changes(rig) == before
        assert await second.machines() == ()
        assert "adopt" in (await second.row()).condition
        assert await first.ready() == 5
        assert {s.cls for s in await second.store.orphans()} == {"foreign"}

    play(scene)


def test_two_stores_that_begin_at_once_stop_at_twice_the_size() -> None:
    """Nobody can know of the other before anything exists; then neither makes or ends one."""

    async def scene(rig: Rig) -> None:
        first, second = rig.hostler(replace(FLEET, size=3)), rig.hostler(replace(FLEET, size=3))
        await rig.clock.sleep(30 * MINUTE)
        assert len(rig.servers()) <= 6
        assert await first.ready() == await second.ready() == 3
        before = changes(rig)
        await rig.clock.sleep(30 * MINUTE)
        assert changes(rig) == before

    play(scene)


def test_a_store_deleted_under_a_fleet_neither_buys_again_nor_reclaims() -> None:
    """After a lost store everything waits for *adopt*; then the very same servers are kept."""

    async def scene(rig: Rig) -> None:
        first = await five(rig, replace(FLEET, reclaim=True))
        lost = (await first.store.identity()).own
        servers = [s.id for s in rig.servers()]
        await first.stop()
        before = changes(rig)
        second = rig.hostler(
            replace(FLEET, size=5, reclaim=True), MemoryStore(InstallationId("i-new"))
        )
        await rig.clock.sleep(60 * MINUTE)
        assert [s.id for s in rig.servers()] == servers
        assert changes(rig) == before
        await second.request(RequestKind.ADOPT, installation=lost)
        await second.rests(5, 10 * MINUTE)
        assert [s.id for s in rig.servers()] == servers
        await second.leaves_nothing(10 * MINUTE)

    play(scene)


def test_orphans_of_ours_are_reclaimed_only_when_told_to() -> None:
    """Servers whose records were removed by force are reported; with `reclaim = true` they go."""

    async def scene(rig: Rig) -> None:
        store = MemoryStore(InstallationId("i-same"))
        first = rig.hostler(replace(FLEET, size=2), store)
        await first.rests(2, 10 * MINUTE)
        issued = [machine.id for machine in await first.machines()]
        await first.stop()
        emptied = MemoryStore(InstallationId("i-same"), issued=issued)
        restored = rig.hostler(replace(FLEET, size=0), emptied)
        await rig.clock.sleep(60 * MINUTE)
        assert len(rig.servers()) == 2
        orphans = await restored.store.orphans()
        assert {s.kind for s in orphans} == {"server", "address", "volume"}
        assert all("report only" in s.blocked for s in orphans)
        await restored.stop()
        rig.hostler(replace(FLEET, size=0, reclaim=True), restored.store)
        await rig.clock.sleep(60 * MINUTE)
        assert rig.world.leaks() == ()
        assert await restored.store.orphans() == ()

    play(scene)


def test_after_a_stock_out_the_next_offer_is_tried() -> None:
    """The empty shelf is remembered, and is no failure; with none left it waits for stock."""

    async def scene(rig: Rig) -> None:
        offers = (Offer("DEV1-S", FLEET.offers[0].zone), Offer("PLAY2-PICO", FLEET.offers[0].zone))
        rig.world.script(Rule(fault="out_of_stock_create", route="server.create", count=1))
        hostler = rig.hostler(replace(FLEET, size=1, offers=offers))
        await hostler.rests(1, 10 * MINUTE)
        (machine,) = await hostler.machines()
        assert machine.offer == offers[1]
        setback = (await hostler.row()).setback(offers[0])
        assert setback is None or setback.stock
        rig.world.script(Rule(fault="out_of_stock_create", route="server.create", count=2))
        await hostler.scale(2)
        conditions = set[str]()
        while await hostler.ready() < 2:
            conditions.add((await hostler.row()).condition.split(" until")[0])
            await rig.clock.sleep(timedelta(seconds=1))
        assert "waiting for stock" in conditions
        assert not any("failed" in entry.event.detail for entry in await hostler.events())

    play(scene)
