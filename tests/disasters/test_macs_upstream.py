"""Defects that the system before us was left with: what each would do here, and what happens.

A1 to A5 and B1 to B13 are those of the reference, section 18; those of the sweep are beside this
file, in test_macs_orphans.py, those of images in test_macs_systems.py, and those of
machines at work (A5) in test_macs_drain.py.
Two of them have nothing to show.
B11: hosts get no identity of their own from us that would have to be revoked before a release.
B13: comments that contradict each other; the pages of the reference are made from the code.
"""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import Zone
from hostler.domain.model.machine import Offer
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import RequestKind
from hostler.lab.scenes.macs import (
    FLEET,
    MINUTE,
    OTHERS,
    Crash,
    MacRig,
    changes,
    play_macs,
    stage,
)
from hostler.lab.scenes.servers import ZONE
from hostler.simulators.scaleway.faults.rates import Rule
from hostler.simulators.scaleway.state.mac_records import MacStatus
from hostler.simulators.scaleway.state.options import MacOptions, Options

STATUSES = ("404", "403")
ALWAYS = 100_000


async def held(s: MacRig, time: timedelta, stages: set[str]) -> None:
    """Let time pass while the first host bears names of these stages, and no other."""
    for _ in range(int(time.total_seconds() // 5)):
        await s.rig.clock.sleep(timedelta(seconds=5))
        assert stage(s.mac()) in stages, s.mac().name


def test_a1_a_refused_wipe_keeps_the_host_out_of_the_pool() -> None:
    """A1: renamed first, a host whose wipe is refused stood in the pool with its tenant's disk."""

    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        s.rig.world.script(Rule(fault="failed_500", route="mac.reinstall", count=ALWAYS))
        await hostler.scale(0)
        await s.rig.clock.sleep(MINUTE)
        other = s.hostler(OTHERS)
        await held(s, 30 * MINUTE, {"releasing"})
        assert not await other.machines(), "another installation got an unwiped host"
        s.rig.world.clear_fault_rates()
        await other.scale(0)
        await s.all_free(hostler)
        assert s.mac().installs == 3

    play_macs(scene)


def test_a1_a_crash_between_the_calls_of_a_release_keeps_the_host_out_of_the_pool() -> None:
    """A1, after a crash: between the rename and the wipe the host is nobody's to take."""

    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        crash = Crash(hostler, 2, effect=False)
        await hostler.scale(0)
        await crash.happened.wait()
        s.truth.hostlers.remove(hostler)
        other = s.hostler(OTHERS)
        await held(s, 30 * MINUTE, {"releasing"})
        assert not await other.machines()
        await other.stop()
        s.truth.hostlers.remove(other)
        await s.all_free(s.hostler(store=hostler.store))

    play_macs(scene)


@pytest.mark.parametrize("state", ["rebooting", "updating", "busy", "locking"])
def test_a4_a_transient_state_is_no_wipe(state: str) -> None:
    """A4: any transient_state counted as success, and the host stood in the pool unwiped."""

    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        rule = Rule(fault="transient_409", route="mac.reinstall", count=5, says=state)
        s.rig.world.script(rule)
        await hostler.scale(0)
        await s.all_free(hostler)
        assert s.rig.world.faults["transient_409"] == 5
        assert s.mac().installs == 3

    play_macs(scene)


def test_a4_even_reinstalling_is_believed_only_when_it_is_seen() -> None:
    """A4: the refusal says reinstalling, and no wipe ever begins: it is asked for again."""

    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        rule = Rule(fault="transient_409", route="mac.reinstall", says="reinstalling")
        s.rig.world.script(rule)
        await hostler.scale(0)
        await s.all_free(hostler)
        assert s.mac().installs == 3

    play_macs(scene)


def test_a4_a_wipe_that_is_accepted_and_never_begins_is_asked_for_again() -> None:
    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        s.rig.world.script(Rule(fault="mac_reinstall_ignored", route="mac.reinstall"))
        await hostler.scale(0)
        await s.all_free(hostler)
        assert s.rig.world.faults["mac_reinstall_ignored"] == 1
        assert s.mac().installs == 3

    play_macs(scene)


def test_a5_a_host_that_somebody_holds_is_not_wiped() -> None:
    """A5: nothing asked whether work ran on a host before it was wiped."""

    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        (machine,) = await hostler.machines()
        await hostler.request(RequestKind.PROTECT, machine=machine.id)
        await s.rig.clock.sleep(MINUTE)
        asked = len(changes(s.rig))
        await hostler.scale(0)
        await s.rig.clock.sleep(60 * MINUTE)
        assert len(changes(s.rig)) == asked
        assert s.mac().installs == 2
        await hostler.request(RequestKind.UNPROTECT, machine=machine.id)
        await s.all_free(hostler)

    play_macs(scene)


def test_b1_a_claim_is_gone_on_with_whatever_its_host_does_meanwhile() -> None:
    """B1: a claim found again by name alone was taken as it was, mid-wipe, and looped for ever."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        crash = Crash(hostler, 2, effect=True)
        await crash.happened.wait()
        s.truth.hostlers.remove(hostler)
        assert s.mac().status is MacStatus.REINSTALLING
        heir = s.hostler(store=hostler.store)
        while s.mac().status is MacStatus.REINSTALLING:
            assert await heir.ready() == 0
            await s.rig.clock.sleep(timedelta(seconds=10))
        await s.ready(heir, 1)
        assert stage(s.mac()) == "claimed"

    play_macs(scene)


def test_b1_the_address_of_a_host_is_observed_again() -> None:
    """B1: an address was written once, at the claim, and never again."""

    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        mac, cloud = s.mac(), s.rig.world.cloud
        del cloud.mac_at[mac.ip]
        mac.ip = "51.159.255.250"
        cloud.mac_at[mac.ip] = mac
        await s.rig.clock.sleep(5 * MINUTE)
        (machine,) = await hostler.machines()
        assert machine.address == "51.159.255.250"

    play_macs(scene)


@pytest.mark.parametrize("deed", ["lock", "break", "schedule"])
def test_b7_a_host_that_is_locked_in_error_or_to_be_deleted_is_not_claimed(deed: str) -> None:
    """B7: nothing told hosts that wait for their deletion, are locked, or in error, from others."""

    async def scene(s: MacRig) -> None:
        if deed == "schedule":
            s.mac().deletion_scheduled = True
        else:
            s.rig.world.console.do(deed, s.ids[0], spell=7200.0)
        await s.rig.clock.sleep(MINUTE)
        hostler = s.hostler()
        await s.rig.clock.sleep(60 * MINUTE)
        assert not await hostler.machines()
        assert not changes(s.rig)
        assert (await hostler.row()).condition.startswith("no_available_host")

    play_macs(scene)


def test_b8_a_host_that_fails_is_not_the_first_to_be_taken_again() -> None:
    """B8: a failed host went back to the pool, where it was the oldest, and so the first taken."""

    async def scene(s: MacRig) -> None:
        rule = Rule(fault="mac_reinstall_fails", route="mac.reinstall", count=ALWAYS, id=s.ids[0])
        s.rig.world.script(rule)
        s.rig.world.console.do("lock", s.ids[1], spell=120.0)
        hostler = s.hostler()
        await s.ready(hostler, 1, timedelta(hours=4))
        (machine,) = await hostler.machines()
        assert machine.host == s.ids[1]
        failed = next(host for host in await hostler.store.hosts() if host.id == s.ids[0])
        assert failed.health.strikes >= 1

    play_macs(scene, count=2)


def test_b9_a_rate_limit_is_waited_for_and_every_list_names_the_project() -> None:
    """B9: fixed pauses, no word for 429, and lists that trusted the scope of a key."""

    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        asked = len(s.rig.world.journal)
        s.rig.world.script(Rule(fault="rate_limited_429", count=ALWAYS))
        await s.rig.clock.sleep(30 * MINUTE)
        assert await hostler.ready() == 1
        assert len(s.rig.world.journal) - asked < 30 * 60 / 2, "backs off"
        s.rig.world.clear_fault_rates()
        await hostler.scale(0)
        await s.all_free(hostler)

    play_macs(scene)


@pytest.mark.parametrize("status", STATUSES)
def test_b10_a_host_that_somebody_deleted_is_noticed_while_its_machine_is_ready(
    status: str,
) -> None:
    """B10: a machine stayed ready although its host was deleted in the console."""

    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        (first,) = await hostler.machines()
        s.rig.world.console.do("delete", first.host or "")
        await s.rig.clock.sleep(30 * MINUTE)
        await s.ready(hostler, 1)
        (second,) = await hostler.machines()
        assert second.host != first.host
        past = await hostler.machine(first.id)
        assert (past.phase, past.id) == (Phase.DELETED, first.id)
        assert [host for host, _ in await hostler.store.bindings()] == [second.host]
        records = await hostler.store.hosts()
        assert [host.condition for host in records if host.id == first.host] == ["absent"]

    play_macs(scene, count=2, options=Options(macs=MacOptions(deleted_status=status)))


def test_b12_a_machine_without_a_host_follows_a_change_of_its_fleet() -> None:
    """B12: another type in the template did nothing for machines that had no host yet."""

    async def scene(s: MacRig) -> None:
        rare = replace(FLEET, offers=(Offer("M4-XL", ZONE, "Tahoe"),))
        hostler = s.hostler(rare)
        await s.rig.clock.sleep(30 * MINUTE)
        assert not await hostler.ready()
        await hostler.stop()
        s.truth.hostlers.remove(hostler)
        await s.ready(s.hostler(FLEET, store=hostler.store), 1)

    play_macs(scene)


def test_a_group_whose_zone_has_no_host_is_told_and_keeps_no_other_from_starting() -> None:
    """#12595: a type without a parked host sat at 0 of 1, and nobody knew why."""

    async def scene(s: MacRig) -> None:
        offers = (Offer("M1-M", Zone("fr-par-3"), "Tahoe"), *FLEET.offers)
        hostler = s.hostler(replace(FLEET, offers=offers, size=2))

        async def is_refused() -> bool:
            rows = await hostler.store.fleets()
            return bool(rows) and rows[0].condition.startswith("no_available_host")

        await s.until(is_refused, 60 * MINUTE)
        await s.ready(hostler, 1)

    play_macs(scene)
