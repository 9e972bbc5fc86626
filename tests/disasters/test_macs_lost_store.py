"""A store that was lost while a host was wiped, or put back from a backup: nobody loses a disk."""

import copy
from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.hosts.allocation import CLAIMED_TWICE
from hostler.domain.ids import InstallationId
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import RequestKind
from hostler.lab.scenes.macs import FLEET, MINUTE, MacRig, play_macs, stage
from hostler.lab.scenes.servers import Hostler
from hostler.simulators.scaleway.state.options import MacOptions, Options
from hostler.stores.memory import MemoryStore


async def stopped(s: MacRig, hostler: Hostler) -> None:
    """Stop a hostler whose store is not asked any more."""
    await hostler.stop()
    s.truth.hostlers.remove(hostler)


async def wiping(s: MacRig) -> Hostler:
    """Return a hostler whose one machine is gone while its host is being wiped."""
    hostler = s.hostler()
    await s.ready(hostler, 1)
    await hostler.scale(0)

    async def holds() -> bool:
        return stage(s.mac()) == "wiping" and not await hostler.machines()

    await s.until(holds, timedelta(hours=1))
    return hostler


async def left_in_a_wipe(s: MacRig) -> tuple[Hostler, InstallationId]:
    """Return a hostler with a new store, and the lost one's id: its host is being wiped."""
    lost = await wiping(s)
    await stopped(s, lost)
    identity = await lost.store.identity()
    return s.hostler(), identity.own


def test_a_host_that_a_lost_store_wiped_is_in_the_orphan_report_and_is_not_touched() -> None:
    async def scene(s: MacRig) -> None:
        heir, lost = await left_in_a_wipe(s)
        await s.rig.clock.sleep(60 * MINUTE)
        (orphan,) = await heir.store.orphans()
        assert (orphan.cls, orphan.installation) == (OrphanClass.FOREIGN, lost)
        assert orphan.price > 0
        assert stage(s.mac()) == "wiping"
        assert await heir.machines() == ()

    play_macs(scene)


def test_a_host_that_a_lost_store_wiped_is_adopted_wiped_anew_and_used() -> None:
    async def scene(s: MacRig) -> None:
        heir, lost = await left_in_a_wipe(s)
        await s.rig.clock.sleep(30 * MINUTE)
        installs = s.mac().installs
        await heir.request(RequestKind.ADOPT, installation=lost)
        await s.ready(heir, 1, timedelta(hours=2))
        assert s.mac().installs > installs, "no wipe of a lost store is proved"
        assert await heir.store.orphans() == ()

    play_macs(scene)


def test_nothing_is_adopted_while_several_hosts_bear_the_name_of_one_machine() -> None:
    """Which is its own, only people can tell (seeds 5038072, 5040006): a copy was taken for it."""

    async def scene(s: MacRig) -> None:
        first = await s.one()
        lost = await first.store.identity()
        (machine,) = await first.machines()
        own, copied = machine.host or "", next(mac for mac in s.ids if mac != machine.host)
        await stopped(s, first)
        s.rename(copied, s.mac(own).name)
        installs = [mac.installs for mac in s.macs()]
        heir = s.hostler()
        await s.rig.clock.sleep(30 * MINUTE)
        await heir.request(RequestKind.ADOPT, installation=lost.own)
        await s.rig.clock.sleep(10 * MINUTE)
        refusals = [e.event for e in await heir.events() if e.event.kind == "request_refused"]
        (refusal,) = [event.detail for event in refusals]
        assert all(word in refusal for word in (machine.id, own, copied))
        assert await heir.machines() == ()
        s.rename(copied, "lent to ann")
        await s.rig.clock.sleep(10 * MINUTE)
        await heir.request(RequestKind.ADOPT, installation=lost.own)
        await s.ready(heir, 1)
        (adopted,) = await heir.machines()
        assert (adopted.id, adopted.host) == (machine.id, own)
        assert [mac.installs for mac in s.macs()] == installs

    play_macs(scene, 2)


def test_a_machine_of_a_store_that_was_adopted_before_is_adopted_with_its_host_as_it_is() -> None:
    """Seed 5045116: its host was taken for one more to be cleaned, and wiped with the machine."""

    async def scene(s: MacRig) -> None:
        first = s.hostler()
        await first.scale(2)
        await s.ready(first, 2)
        lost = await first.store.identity()
        machines = {machine.id: machine.host for machine in await first.machines()}
        await stopped(s, first)
        second = next(mac for mac in s.ids if mac in machines.values())
        name, installs = s.mac(second).name, [mac.installs for mac in s.macs()]
        s.rename(second, "lent to ann")
        heir = s.hostler()
        await s.rig.clock.sleep(30 * MINUTE)
        await heir.request(RequestKind.ADOPT, installation=lost.own)
        await s.ready(heir, 1)
        s.rename(second, name)
        await s.rig.clock.sleep(30 * MINUTE)
        await heir.scale(2)
        await heir.request(RequestKind.ADOPT)
        await s.ready(heir, 2)
        assert {machine.id: machine.host for machine in await heir.machines()} == machines
        assert [mac.installs for mac in s.macs()] == installs

    play_macs(scene, 2)


@pytest.mark.parametrize("reclaim", [True, False])
def test_a_host_whose_machines_record_was_removed_by_force_is_wiped_and_used_again(
    *, reclaim: bool
) -> None:
    """Without `reclaim` it is told until somebody says `adopt`, which did nothing once."""

    async def scene(s: MacRig) -> None:
        store = MemoryStore(InstallationId("i-0"))
        fleet = replace(FLEET, reclaim=reclaim)
        first = s.hostler(fleet, store)
        await s.ready(first, 1)
        (machine,) = await first.machines()
        installs = s.mac().installs
        await stopped(s, first)
        store.remove_record(machine.id)
        second = s.hostler(fleet, store)
        await s.rig.clock.sleep(10 * MINUTE)
        (orphan,) = await store.orphans()
        assert (orphan.cls, orphan.machine) == (OrphanClass.UNRECORDED, machine.id)
        if not reclaim:
            await s.rig.clock.sleep(60 * MINUTE)
            assert s.mac().installs == installs
            await second.request(RequestKind.ADOPT)
        await s.ready(second, 1, timedelta(hours=3))
        assert s.mac().installs > installs
        assert await store.orphans() == ()

    play_macs(scene)


def test_a_backup_that_is_put_back_does_not_give_away_a_host_that_is_in_use_by_now() -> None:
    """It was taken in the wipe before its next tenant; without any wipe the host stood in the pool.

    Its machine is in no record: the host is in the ledger until somebody says what is to be.
    """

    async def scene(s: MacRig) -> None:
        first = await wiping(s)
        backup = copy.deepcopy(first.store)
        await s.all_free(first)
        await first.scale(1)
        await s.ready(first, 1)
        name, installs = s.mac().name, s.mac().installs
        assert stage(s.mac()) == "claimed"
        await stopped(s, first)
        second = s.hostler(store=backup)
        await s.rig.clock.sleep(60 * MINUTE)
        assert (s.mac().name, s.mac().installs) == (name, installs)
        (orphan,) = await second.store.orphans()
        assert orphan.cls is OrphanClass.UNISSUED

    play_macs(scene)


def test_a_backup_whose_machine_has_passed_its_host_on_leaves_the_next_tenant_alone() -> None:
    """Its tie is older than the name on the host: both sides hold, and that is told.

    Passwords are sealed for so long that no wipe can be told by them.
    """

    async def scene(s: MacRig) -> None:
        first = await s.one()
        backup = copy.deepcopy(first.store)
        await first.scale(0)
        await s.all_free(first)
        await first.scale(1)
        await s.ready(first, 1)
        name, installs = s.mac().name, s.mac().installs
        await stopped(s, first)
        second = s.hostler(store=backup)
        await s.rig.clock.sleep(60 * MINUTE)
        (machine,) = await second.machines()
        assert machine.fact(CLAIMED_TWICE) is not None
        (orphan,) = await second.store.orphans()
        assert orphan.cls is OrphanClass.DOUBLE
        await second.scale(0)
        await s.rig.clock.sleep(60 * MINUTE)
        assert await second.machines() == ()
        (orphan,) = await second.store.orphans()
        assert orphan.cls is OrphanClass.UNISSUED
        assert (s.mac().name, s.mac().installs) == (name, installs)

    play_macs(scene, options=Options(macs=MacOptions(sealed=1e9)))


def test_a_backup_whose_machine_lost_its_host_to_a_wipe_leaves_the_next_tenant_alone() -> None:
    """Another password says that the host was wiped: the machine ends, and the host is told."""

    async def scene(s: MacRig) -> None:
        first = await s.one()
        backup = copy.deepcopy(first.store)
        await first.scale(0)
        await s.all_free(first)
        await first.scale(1)
        await s.ready(first, 1)
        name, installs = s.mac().name, s.mac().installs
        await stopped(s, first)
        second = s.hostler(store=backup)
        await s.rig.clock.sleep(60 * MINUTE)
        assert await second.machines() == ()
        (orphan,) = await second.store.orphans()
        assert orphan.cls is OrphanClass.UNISSUED
        assert (s.mac().name, s.mac().installs) == (name, installs)

    play_macs(scene)
