"""Strays: hosts that bear our names and that no record explains are told, and some taken back.

A3 and B2 to B7 are defects of the reference, section 18: what each would do here, and what happens.
"""

from datetime import timedelta
from functools import partial

import pytest
from msgspec.structs import replace

from hostler.domain.ids import HostId, InstallationId
from hostler.domain.model.snapshot import RequestKind
from hostler.lab.scenes.macs import FLEET, MINUTE, OTHERS, POOL, MacRig, changes, play_macs, stage
from hostler.lab.scenes.servers import ZONE, Hostler
from hostler.ports.metrics import Count, Gauge
from hostler.simulators.scaleway.faults.rates import Rule
from hostler.simulators.scaleway.state.mac_records import MacStatus
from hostler.stores.memory import MemoryStore
from hostler.stores.records.changes import MachinePut

ALWAYS = 100_000
HOUR = timedelta(hours=1)


async def any_pending(s: MacRig) -> bool:
    """Tell whether any host is being claimed."""
    return any(stage(mac) == "pending" for mac in s.macs())


def test_a3_a_host_whose_owner_turns_up_during_the_reclaim_is_left_alone() -> None:
    """A3: between the list and the release, a record could get the stray, and was wiped then."""

    async def scene(s: MacRig) -> None:
        store = MemoryStore(InstallationId("shared"), exclusive=False)
        hostler = s.hostler(replace(FLEET, reclaim=True), store)
        await s.ready(hostler, 1)
        (machine,) = await hostler.machines()
        forget(hostler)
        begun, asked = s.rig.loop.time(), len(changes(s.rig))
        while not rechecked(s, begun):
            await s.rig.clock.sleep(timedelta(milliseconds=10))
            assert s.rig.loop.time() < begun + 3600, await s.describe()
        assert (await store.orphans())[0].blocked == ""
        store._tables.bindings[machine.host or HostId("")] = machine.id
        store._tables.apply(MachinePut(machine.id, machine))
        await s.rig.clock.sleep(5 * MINUTE)
        assert len(changes(s.rig)) == asked
        assert not s.rig.metrics.series(Count.RECLAIMED)
        assert await hostler.ready() == 1

    play_macs(scene)


def test_an_orphan_that_cannot_be_read_again_is_left_as_it_is() -> None:
    """Lists may be cached: what they say is no ground to act on, however often they say it."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler(replace(FLEET, reclaim=True))
        await s.ready(hostler, 1)
        await hostler.stop()
        forget(hostler)
        s.truth.hostlers.remove(hostler)
        begun, asked = s.rig.loop.time(), len(changes(s.rig))
        s.rig.world.script(Rule(fault="failed_500", route="mac.get", count=ALWAYS))
        heir = s.hostler(replace(FLEET, reclaim=True, size=0), store=hostler.store)
        await s.rig.clock.sleep(2 * HOUR)
        assert rechecked(s, begun)
        (orphan,) = await heir.store.orphans()
        assert orphan.cls == "unrecorded"
        assert len(changes(s.rig)) == asked
        s.rig.world.clear_fault_rates()
        await s.all_free(heir)

    play_macs(scene)


def forget(hostler: Hostler) -> None:
    """Take the records of all machines, hosts and ties away, as a restored store has lost them."""
    store = hostler.store
    tables = store._tables
    for machine in [machine for fleet in tables.living.values() for machine in fleet]:
        store.remove_record(machine)
    tables.bindings.clear()
    tables.hosts.clear()


def rechecked(s: MacRig, since: float) -> bool:
    """Tell whether a host was read by itself since a time, as it is before a sweep acts."""
    return any(line.key == "mac.get" and line.time > since for line in s.rig.world.journal)


def test_b2_a_second_host_with_the_name_of_a_machine_is_told_and_left_alone() -> None:
    """B2: ownership by name alone hid a second host under a living machine's name for good."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler(replace(FLEET, reclaim=True))
        await s.ready(hostler, 1)
        (machine,) = await hostler.machines()
        copy = next(mac for mac in s.ids if mac != machine.host)
        asked = len(changes(s.rig))
        s.rename(copy, s.mac(machine.host).name)
        await s.rig.clock.sleep(60 * MINUTE)
        (orphan,) = await hostler.store.orphans()
        assert (orphan.resource, orphan.cls) == (copy, "duplicate-name")
        assert len(changes(s.rig)) == asked, "neither host was touched"
        assert await hostler.ready() == 1

    play_macs(scene, count=2)


def test_a_copy_of_a_machines_name_is_not_wiped_when_somebody_adopts_all_the_rest() -> None:
    """`adopt` took every host of the report that has our name: the copy was wiped and pooled."""

    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        (machine,) = await hostler.machines()
        copy = next(mac for mac in s.ids if mac != machine.host)
        asked = len(changes(s.rig))
        s.rename(copy, s.mac(machine.host).name)
        await s.rig.clock.sleep(10 * MINUTE)
        await hostler.request(RequestKind.ADOPT)
        await s.rig.clock.sleep(60 * MINUTE)
        (orphan,) = await hostler.store.orphans()
        assert (orphan.resource, orphan.cls) == (copy, "duplicate-name")
        assert len(changes(s.rig)) == asked, "neither host was touched"
        refused = [e.event for e in await hostler.events() if e.event.kind == "request_refused"]
        assert len(refused) == 1

    play_macs(scene, count=2)


def test_b2_a_machine_ends_although_another_host_bears_its_name() -> None:
    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        (machine,) = await hostler.machines()
        copy = next(mac for mac in s.ids if mac != machine.host)
        s.rename(copy, s.mac(machine.host).name)
        await hostler.scale(0)

        async def ended() -> bool:
            return not await hostler.machines()

        await s.until(ended, 45 * MINUTE)
        assert s.mac(copy).installs == 1, "what a person named was not wiped"

    play_macs(scene, count=2)


def test_b3_a_claim_that_nobody_goes_on_with_is_told_and_taken_back() -> None:
    """B3: hosts in mid-claim were invisible to the sweep, and billed unseen."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler(replace(FLEET, reclaim=True))
        while stage(s.mac()) != "pending":
            await s.rig.clock.sleep(timedelta(seconds=1))
        await hostler.stop()
        forget(hostler)
        s.truth.hostlers.remove(hostler)
        heir = s.hostler(replace(FLEET, reclaim=True, size=0), store=hostler.store)
        await s.rig.clock.sleep(2 * MINUTE)
        (orphan,) = await heir.store.orphans()
        assert orphan.cls == "pending-fresh"
        await s.all_free(heir)
        assert s.mac().installs == 2

    play_macs(scene)


def test_b4_a_host_of_another_fleets_pool_is_no_orphan() -> None:
    """B4: only the default prefix was a pool; hosts of a fleet's own prefix counted as strays."""

    async def scene(s: MacRig) -> None:
        mine = s.rig.world.stock_macs(1, "M2-L", ZONE, "other-")
        hostler = s.hostler(replace(FLEET, reclaim=True), pool="other-")
        await s.ready(hostler, 1)
        (machine,) = await hostler.machines()
        assert machine.host in mine
        await hostler.scale(0)
        await s.rig.clock.sleep(60 * MINUTE)
        classes = {orphan.resource: orphan.cls for orphan in await hostler.store.orphans()}
        assert classes == {s.ids[0]: "outside"}, "this one is in no pool of this engine's"
        assert s.mac(mine[0]).name.startswith("other-"), "back in its own pool"
        assert s.mac().name.startswith(POOL)
        assert s.mac().installs == 1

    play_macs(scene)


def test_b5_an_orphan_comes_back_with_the_system_that_its_fleet_asks_for() -> None:
    async def scene(s: MacRig) -> None:
        hostler = s.hostler(replace(FLEET, reclaim=True))
        await s.ready(hostler, 1)
        await hostler.stop()
        forget(hostler)
        s.truth.hostlers.remove(hostler)
        heir = s.hostler(replace(FLEET, reclaim=True, size=0), store=hostler.store)
        await s.all_free(heir)
        assert s.mac().os.name == "macos-tahoe-26.6.1"
        assert s.mac().installs == 3

    play_macs(scene)


def test_b6_a_zone_that_cannot_be_listed_clears_no_orphan() -> None:
    """B6: the gauge fell when a zone failed, which looked like a problem solved."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        await hostler.stop()
        forget(hostler)
        s.truth.hostlers.remove(hostler)
        heir = s.hostler(replace(FLEET, size=0), store=hostler.store)
        await s.rig.clock.sleep(5 * MINUTE)
        assert len(await heir.store.orphans()) == 1
        assert not s.rig.metrics.series(Count.OBSERVATIONS_FAILED)
        s.rig.world.script(Rule(fault="zone_dead", count=ALWAYS, spell=1800.0))
        await s.rig.clock.sleep(20 * MINUTE)
        assert len(await heir.store.orphans()) == 1
        assert s.rig.metrics.value(Count.OBSERVATIONS_FAILED, FLEET.account, ZONE, "host") > 1
        assert s.mac().installs == 2, "report only: nothing was changed"

    play_macs(scene)


def test_b7_an_orphan_that_is_to_be_deleted_is_not_wiped() -> None:
    async def scene(s: MacRig) -> None:
        fleet = replace(FLEET, reclaim=True)
        hostler = s.hostler(fleet)
        await s.ready(hostler, 1)
        await hostler.stop()
        forget(hostler)
        s.truth.hostlers.remove(hostler)
        s.mac().deletion_scheduled = True
        heir = s.hostler(replace(fleet, size=0), store=hostler.store)
        await s.rig.clock.sleep(120 * MINUTE)
        (orphan,) = await heir.store.orphans()
        assert orphan.cls == "scheduled-deletion"
        assert s.mac().installs == 2

    play_macs(scene)


def test_a_forgotten_record_is_told_and_its_host_left_until_reclaim_is_set() -> None:
    """A record is taken out of the store by force: the host is a stray, with its cost."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        await hostler.stop()
        s.truth.hostlers.remove(hostler)
        store = hostler.store
        for machine in await hostler.machines():
            store.remove_record(machine.id)
        heir = s.hostler(replace(FLEET, size=0), store)
        await s.rig.clock.sleep(2 * HOUR)
        (orphan,) = await store.orphans()
        assert (orphan.resource, orphan.cls) == (s.ids[0], "unrecorded")
        assert orphan.price == pytest.approx(0.21)
        assert "report only" in orphan.blocked
        assert (stage(s.mac()), s.mac().installs) == ("claimed", 2)
        await heir.stop()
        s.truth.hostlers.remove(heir)
        await s.all_free(s.hostler(replace(FLEET, size=0, reclaim=True), store))
        assert s.mac().installs == 3
        assert not await store.orphans()

    play_macs(scene)


def test_a_reclaim_takes_the_orphan_and_nothing_else() -> None:
    """In the pool, pending, owned by name or by id, default-named, foreign, stray: one goes."""

    async def scene(s: MacRig) -> None:
        fleet = replace(FLEET, reclaim=True, size=3)
        hostler = s.hostler(fleet)
        await s.ready(hostler, 3)
        foreign = s.hostler(OTHERS)
        await s.ready(foreign, 1)
        for mac in s.macs():
            if mac.name.startswith(POOL):
                s.rig.world.script(
                    Rule(fault="failed_500", route="mac.reinstall", id=mac.id, count=9999)
                )
        lost, running, renamed = await hostler.machines()
        await hostler.scale(4)
        await s.until(partial(any_pending, s), 10 * MINUTE)
        await s.rig.clock.sleep(MINUTE)
        await hostler.stop()
        s.truth.hostlers.remove(hostler)
        s.rename(renamed.host or "", "owned-by-id-alone")
        (default,) = s.rig.world.stock_macs(1, prefix="apple-silicon-brave-")
        hostler.store.remove_record(lost.id)
        await hostler.scale(3)
        before = {mac.id: (mac.name, mac.installs) for mac in s.macs()}
        heir = s.hostler(fleet, hostler.store)

        async def swept() -> bool:
            mac = s.mac(lost.host)
            return mac.name.startswith(POOL) and mac.status is MacStatus.READY

        await s.until(swept, 44 * MINUTE)
        after = {mac.id: (mac.name, mac.installs) for mac in s.macs()}
        assert {mac for mac in before if before[mac] != after[mac]} == {lost.host}
        assert await any_pending(s)
        assert default in after
        assert {running.id, renamed.id} <= {machine.id for machine in await heir.machines()}

    play_macs(scene, count=6)


def test_hosts_are_measured_by_the_states_that_every_screen_shows() -> None:
    """The gauge counted hosts in error as the pool's, which `pool list` called unfit."""

    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        broken, claimed, _, _ = s.rig.world.stock_macs(4)
        s.mac(broken).status = MacStatus.ERROR
        s.rename(claimed, "tuist-tuist-builders-fleet-rg4h9-c295c")
        await s.rig.clock.sleep(5 * MINUTE)
        assert await hostler.ready() == 1
        found = s.rig.metrics.series(Gauge.HOSTS)
        listed = {labels[-1]: many for labels, many in found.items()}
        assert listed == {"allocated": 1, "unfit": 1, "claimed-looking": 1, "in the pool": 2}

    play_macs(scene)
