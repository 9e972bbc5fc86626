"""Others who reach for the same hosts: a person, another installation, a call that comes late."""

from datetime import timedelta
from functools import partial

import pytest
from msgspec.structs import replace

from hostler.domain.ids import InstallationId, MachineId
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.lab.scenes.macs import (
    FLEET,
    MINUTE,
    OTHERS,
    POOL,
    MacRig,
    changes,
    play_macs,
    stage,
    words,
)
from hostler.lab.scenes.servers import Hostler
from hostler.simulators.scaleway.faults.rates import Rule
from hostler.simulators.scaleway.state.mac_records import MacStatus
from hostler.simulators.scaleway.state.options import MacOptions, Options
from hostler.stores.memory import MemoryStore

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)


async def at_stage(s: MacRig, wanted: str, mac: str | None = None) -> None:
    """Wait until a host's name tells this stage."""

    async def holds() -> bool:
        return stage(s.mac(mac)) == wanted

    await s.until(holds, HOUR)


async def bare(s: MacRig, hostler: Hostler, within: timedelta = 2 * HOUR) -> None:
    """Wait until no machine is recorded, nor a tie."""

    async def holds() -> bool:
        return not await hostler.machines() and not await hostler.store.bindings()

    await s.until(holds, within)


def test_two_installations_race_for_the_last_host_and_one_gets_it() -> None:
    """Both see the one free host at once; the other waits, and gets it wiped when it is free."""

    async def scene(s: MacRig) -> None:
        both = (s.hostler(), s.hostler(OTHERS))

        async def won() -> bool:
            return sum([await one.ready() for one in both]) == 1

        await s.until(won, 90 * MINUTE)
        winner, loser = both if await both[0].ready() else both[::-1]
        await s.rig.clock.sleep(30 * MINUTE)
        assert (await winner.ready(), await loser.ready()) == (1, 0)
        await winner.scale(0)
        await s.ready(loser, 1, 2 * HOUR)

    play_macs(scene)


def test_two_installations_share_a_pool_of_as_many_hosts_as_they_want() -> None:
    async def scene(s: MacRig) -> None:
        fleet = replace(FLEET, size=2)
        both = (s.hostler(fleet), s.hostler(replace(OTHERS, size=2)))
        for hostler in both:
            await s.ready(hostler, 2, 3 * HOUR)
        await both[0].scale(0)
        await both[1].scale(0)
        await bare(s, both[0])
        await bare(s, both[1])

        async def home() -> bool:
            return s.pooled()

        await s.until(home, HOUR)

    play_macs(scene, count=4)


def test_two_replicas_never_hold_one_host_twice() -> None:
    """Two engines on one store, both killed and revived in turn, over a pool that is too small."""

    async def scene(s: MacRig) -> None:
        store = MemoryStore(InstallationId("shared"), exclusive=False)
        fleet = replace(FLEET, size=3)
        engines = [s.hostler(fleet, store), s.hostler(fleet, store)]
        for cycle in range(6):
            await s.rig.clock.sleep(7 * MINUTE)
            await engines[cycle % 2].stop()
            s.truth.hostlers.remove(engines[cycle % 2])
            engines[cycle % 2] = s.hostler(fleet, store)
        await s.ready(engines[0], 2, 2 * HOUR)
        assert len({machine.host for machine in await engines[0].machines()}) == 2
        await engines[0].scale(0)
        await s.all_free(engines[0], 2 * HOUR)

    play_macs(scene, count=2)


def test_a_person_takes_a_host_back_in_mid_claim() -> None:
    """Renamed before the claim settled, it is the person's: another one is taken."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.until(partial(any_pending, s), HOUR)
        taken = next(mac for mac in s.macs() if stage(mac) == "pending")
        s.rename(taken.id, "mine, thank you")
        installs = taken.installs
        await s.ready(hostler, 1)
        (machine,) = await hostler.machines()
        assert machine.host != taken.id
        assert (taken.name, taken.installs) == ("mine, thank you", installs)
        assert [host for host, _ in await hostler.store.bindings()] == [machine.host]
        await hostler.scale(0)
        await bare(s, hostler)
        assert (taken.name, taken.installs) == ("mine, thank you", installs)

    play_macs(scene, count=2)


def test_a_host_that_is_renamed_while_it_is_wiped_for_its_claim_is_let_go() -> None:
    async def scene(s: MacRig) -> None:
        hostler = s.hostler()

        async def wiping() -> bool:
            return any(mac.status is MacStatus.REINSTALLING for mac in s.macs())

        await s.until(wiping, HOUR)
        taken = next(mac for mac in s.macs() if mac.status is MacStatus.REINSTALLING)
        s.rename(taken.id, "mine, thank you")
        await s.ready(hostler, 1, 2 * HOUR)
        (machine,) = await hostler.machines()
        assert machine.host != taken.id
        assert taken.name == "mine, thank you"

    play_macs(scene, count=2)


@pytest.mark.parametrize("name", ["apple-silicon-brave-einstein", "mine", "other.claimed.x"])
def test_a_claimed_host_that_is_renamed_to_anything_is_left_alone(name: str) -> None:
    """Its machine goes on, or goes; the host is neither wiped nor renamed while it is so named."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        s.rename(s.ids[0], name)
        asked = len(changes(s.rig))
        await s.rig.clock.sleep(20 * MINUTE)
        await hostler.scale(0)
        await bare(s, hostler)
        assert len(changes(s.rig)) == asked
        assert (s.mac().name, s.mac().installs) == (name, 2)
        reasons = {entry.event.reason for entry in await hostler.events()}
        assert "host_taken" in reasons

    play_macs(scene)


def test_a_claimed_host_that_is_renamed_into_the_pool_gets_its_name_back() -> None:
    """It is still tied and in use: nobody of this installation takes it, and it is marked again."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler(replace(FLEET, size=2))
        await s.rig.clock.sleep(HOUR)
        assert await hostler.ready() == 1
        (machine,) = await hostler.machines()
        s.rename(s.ids[0], "pool-again")
        await s.rig.clock.sleep(10 * MINUTE)
        assert words(s.mac())[1:5] == ["claimed", "i-0", "macs", machine.id]
        assert s.mac().installs == 2
        assert [m.id for m in await hostler.machines()] == [machine.id]

    play_macs(scene)


def test_a_used_host_that_a_person_puts_into_the_pool_is_wiped_before_it_is_claimed() -> None:
    """A strange host comes into the pool by hand: nobody proved it clean."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler(replace(FLEET, size=0))
        (strange,) = s.rig.world.stock_macs(1, prefix="apple-silicon-")
        s.rig.world.console.do("delete", s.ids[0])
        await s.rig.clock.sleep(5 * MINUTE)
        s.rename(strange, "pool-by-hand")
        await hostler.scale(1)
        await s.ready(hostler, 1)
        assert changes(s.rig) == ["mac.update", "mac.reinstall", "mac.update"]

    play_macs(scene)


def test_a_released_host_that_a_person_used_and_put_back_is_wiped_before_it_is_claimed() -> None:
    """Our own proof is void once the host bore another name."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        await hostler.scale(0)
        await s.all_free(hostler)
        s.rename(s.ids[0], "borrowed")
        await s.rig.clock.sleep(5 * MINUTE)
        s.truth.used[s.ids[0]] = s.mac().installs
        s.rename(s.ids[0], "pool-put-back")
        await s.rig.clock.sleep(5 * MINUTE)
        await hostler.scale(1)
        await s.ready(hostler, 1)
        assert s.mac().installs == 4

    play_macs(scene)


def test_a_host_that_is_put_into_the_pool_in_mid_wipe_is_not_taken_before_its_end() -> None:
    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        await hostler.scale(0)
        await at_stage(s, "wiping")
        s.rename(s.ids[0], "pool-early")
        await hostler.scale(1)
        while s.mac().status is MacStatus.REINSTALLING:
            assert stage(s.mac()) == ""
            await s.rig.clock.sleep(SECOND)
        await s.ready(hostler, 1)

    play_macs(scene)


@pytest.mark.parametrize("after", [timedelta(0), 30 * SECOND, 5 * MINUTE])
def test_a_host_that_is_deleted_in_mid_claim_is_replaced(after: timedelta) -> None:
    """Deleted while it is pending, settles, or is wiped: another host is claimed in its place.

    The machine itself takes it, before its start is overdue and another machine is made.
    """

    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.until(partial(any_pending, s), HOUR)
        taken = next(mac for mac in s.macs() if stage(mac) == "pending")
        await s.rig.clock.sleep(after)
        s.rig.world.console.do("delete", taken.id)
        await s.ready(hostler, 1, 2 * HOUR)
        (machine,) = await hostler.machines()
        assert machine.id in taken.name
        await hostler.scale(0)
        await bare(s, hostler)

    play_macs(scene, count=2)


def test_a_host_that_is_deleted_while_it_is_released_is_over() -> None:
    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        await hostler.scale(0)
        await at_stage(s, "releasing")
        s.rig.world.console.do("delete", s.ids[0])
        await bare(s, hostler)
        await s.rig.clock.sleep(10 * MINUTE)
        assert [host.condition for host in await hostler.store.hosts()] == ["absent"]

    play_macs(scene)


def test_a_host_that_somebody_wipes_under_a_machine_breaks_it() -> None:
    """Reinstalled in the console while it is in use: the machine is no longer what it was."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        (first,) = await hostler.machines()
        s.rig.world.console.do("reinstall", s.ids[0])

        async def replaced() -> bool:
            found = await hostler.machines()
            return [m.phase for m in found] == [Phase.READY] and found[0].id != first.id

        await s.until(replaced, 2 * HOUR)
        reasons = {entry.event.reason for entry in await hostler.events()}
        assert "wiped" in reasons

    play_macs(scene)


async def replaced(s: MacRig, hostler: Hostler, first: MachineId) -> None:
    """Wait until another machine is ready in the first one's place."""

    async def holds() -> bool:
        return [m.id for m in await hostler.machines() if m.phase is Phase.READY] not in (
            [first],
            [],
        )

    await s.until(holds, 3 * HOUR)


@pytest.mark.parametrize("sealed", [0.0, 300.0])
def test_a_host_that_was_wiped_while_nobody_observed_breaks_its_machine(sealed: float) -> None:
    """Its password is another one than when it was claimed, or than when that was shown at last."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        (first,) = await hostler.machines()
        await s.rig.clock.sleep(10 * MINUTE)
        await hostler.stop()
        s.truth.hostlers.remove(hostler)
        s.rig.world.console.do("reinstall", s.ids[0])
        await s.rig.clock.sleep(HOUR)
        assert s.mac().status is MacStatus.READY
        again = s.hostler(store=hostler.store)
        await replaced(s, again, first.id)
        reasons = {entry.event.reason for entry in await again.events()}
        assert "wiped" in reasons

    play_macs(scene, options=Options(macs=MacOptions(sealed=sealed)))


def test_a_host_that_another_installation_took_and_used_is_not_taken_back() -> None:
    """While nobody of ours looked: our machine's disk is gone, and the host is somebody else's.

    It stayed ready beside the other's machine for as long as that lasted.
    """

    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        (first,) = await hostler.machines()
        await s.rig.clock.sleep(10 * MINUTE)
        await hostler.stop()
        s.truth.hostlers.remove(hostler)
        s.rename(s.ids[0], "pool-by-hand")
        other = s.hostler(OTHERS)
        await s.ready(other, 1)
        await s.rig.clock.sleep(10 * MINUTE)
        installs = s.mac().installs
        again = s.rig.mac_hostler(FLEET, hostler.store, POOL)

        async def is_deleted() -> bool:
            return first.id not in {m.id for m in await again.machines()}

        await s.until(is_deleted, HOUR)
        assert (await other.ready(), await again.ready()) == (1, 0)
        assert (words(s.mac())[1:4:2], s.mac().installs) == (["claimed", "others"], installs)

    play_macs(scene)


SEALED = Options(macs=MacOptions(sealed=1e9))
"""Passwords are never shown: what became of a disk is told by names alone."""


def test_a_host_at_rest_that_was_in_the_pool_since_is_wiped_before_it_is_used_again() -> None:
    """A person borrowed it: what it was wiped for is over, and its machine is given up."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler(replace(FLEET, size=0, renews=False, maximum=1))
        desired = MachineId("m-abcdefghij")
        now = s.rig.clock.now()
        grow = Request(number=0, kind=RequestKind.GROW, fleet=FLEET.name, at=now, actor="ann")
        await hostler.store.request(replace(grow, machines=(desired,)))
        await s.ready(hostler, 1)
        await hostler.request(RequestKind.STANDBY, machine=desired)
        await at_stage(s, "rested")
        await s.rig.clock.sleep(5 * MINUTE)
        installs = s.mac().installs
        s.rename(s.ids[0], "borrowed")
        await s.rig.clock.sleep(5 * MINUTE)
        s.rename(s.ids[0], "pool-put-back")
        await s.rig.clock.sleep(5 * MINUTE)
        await hostler.request(RequestKind.WAKE, machine=desired)
        await s.rig.clock.sleep(HOUR)
        assert s.mac().installs > installs

    play_macs(scene, options=SEALED)


def test_a_host_that_another_installation_had_is_not_taken_back_from_the_pool() -> None:
    """A person put it there, twice: it is wiped first, for the other's work may be on its disk."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        (first,) = await hostler.machines()
        await hostler.stop()
        s.truth.hostlers.remove(hostler)
        s.rename(s.ids[0], "pool-by-hand")
        other = s.rig.mac_hostler(OTHERS, None, POOL)
        await s.ready(other, 1)
        await s.rig.clock.sleep(10 * MINUTE)
        again = s.rig.mac_hostler(FLEET, hostler.store, POOL)
        await s.rig.clock.sleep(10 * MINUTE)
        assert (await again.ready(), await other.ready()) == (1, 1), "by names alone both hold"
        installs = s.mac().installs
        await other.stop()
        s.rename(s.ids[0], "pool-by-hand-again")
        await s.rig.clock.sleep(HOUR)
        assert first.id not in {m.id for m in await again.machines()}
        assert s.mac().installs > installs

    play_macs(scene, options=SEALED)


def test_a_late_rename_hits_no_next_tenant() -> None:
    """The rename of a claim lands minutes later, beyond settle: it is told, and nobody is wiped.

    A late rename took the next tenant's live host in the design before: here the host that is hit
    is held by its tie, and its name is mended.
    """

    async def scene(s: MacRig) -> None:
        s.rig.world.script(Rule(fault="mac_rename_too_late", route="mac.update", spell=300.0))
        hostler = s.hostler()
        await s.ready(hostler, 1, 2 * HOUR)
        await s.rig.clock.sleep(15 * MINUTE)
        assert await hostler.ready() == 1
        (machine,) = await hostler.machines()
        assert words(s.mac(machine.host))[1] == "claimed"

    play_macs(scene)


async def any_pending(s: MacRig) -> bool:
    """Tell whether any host is being claimed."""
    return any(stage(mac) == "pending" for mac in s.macs())


def test_a_claim_that_lands_too_late_is_told_and_neither_side_touches_the_host() -> None:
    """The answer said 200, and the name came minutes later, onto another's host that is in use.

    Nothing can be proved by names alone by then: the late one sees that it is double, and holds;
    the tenant keeps its machine, and leaves the name as it is.
    """

    async def scene(s: MacRig) -> None:
        tenant = s.hostler(replace(OTHERS, reclaim=True))
        await s.ready(tenant, 1)
        await tenant.scale(0)
        await s.all_free(tenant)
        late = Rule(fault="mac_rename_too_late", route="mac.update", spell=600.0)
        s.rig.world.script(late)
        asked = len(changes(s.rig))
        claimant = s.hostler(replace(FLEET, reclaim=True))

        async def claims() -> bool:
            return len(changes(s.rig)) > asked

        await s.until(claims, MINUTE)
        await tenant.scale(1)
        await s.ready(tenant, 1, 8 * MINUTE)
        await at_stage(s, "pending")
        asked, installs = len(changes(s.rig)), s.mac().installs
        await s.rig.clock.sleep(3 * HOUR)
        assert (len(changes(s.rig)), s.mac().installs) == (asked, installs)
        assert await tenant.ready() == 1
        (orphan,) = await claimant.store.orphans()
        assert orphan.cls == "double"
        assert not await claimant.machines(), "what let go of the host waits for nothing of it"

    play_macs(scene)
