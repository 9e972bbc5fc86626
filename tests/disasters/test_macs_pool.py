"""Hosts that somebody names: into the pool, or to be a machine, with their disk kept or wiped."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import HostId, MachineId, machine_id
from hostler.domain.model.host import HostCondition, HostGoal, ReleasePolicy
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.lab.scenes.macs import (
    FLEET,
    MINUTE,
    OTHERS,
    POOL,
    MacRig,
    hosts,
    play_macs,
    stage,
)
from hostler.lab.scenes.servers import ZONE, Hostler
from hostler.simulators.scaleway.faults.rates import Rule

NEW = machine_id(77)


async def request(
    s: MacRig,
    hostler: Hostler,
    kind: RequestKind,
    host: str,
    *,
    keep: bool = False,
    machine: MachineId = NEW,
) -> None:
    """Wish something of a host, as the command line does."""
    await hostler.store.request(
        Request(
            number=0,
            kind=kind,
            fleet=hostler.fleet.name,
            at=s.rig.clock.now(),
            actor="scene",
            host=HostId(host),
            machines=(machine,) if kind is RequestKind.POOL_ADOPT else (),
            keep=keep,
        )
    )


def bought(s: MacRig, name: str = "apple-silicon-brave-turing") -> str:
    """Return a host outside the pool that somebody uses."""
    (host,) = s.rig.world.stock_macs(1, "M2-L", ZONE, "elsewhere-")
    s.rename(host, name)
    return host


async def settled(s: MacRig, hostler: Hostler, size: int) -> None:
    """Wait until so many are ready, and see that they stay."""
    await s.ready(hostler, size)
    await s.rig.clock.sleep(30 * MINUTE)
    await s.ready(hostler, size)


def test_a_host_in_use_becomes_a_machine_of_a_full_fleet_and_keeps_its_disk() -> None:
    """A fleet that has all its machines grows by the adopted one: none is shed for it."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        before = {m.id for m in await hostler.machines()}
        host = bought(s)
        s.truth.used[host] = 0
        await request(s, hostler, RequestKind.POOL_ADOPT, host, keep=True)
        await settled(s, hostler, 2)
        found = {m.id: m.host for m in await hostler.machines()}
        assert before < found.keys()
        assert found[NEW] == host
        assert (stage(s.mac(host)), s.mac(host).installs) == ("claimed", 1)

    play_macs(scene, count=3)


def test_an_adopted_host_fills_a_gap_before_the_fleet_grows() -> None:
    async def scene(s: MacRig) -> None:
        hostler = s.hostler(replace(FLEET, size=2))
        await s.ready(hostler, 1)
        host = bought(s)
        s.truth.used[host] = 0
        await request(s, hostler, RequestKind.POOL_ADOPT, host, keep=True)
        await settled(s, hostler, 2)
        assert (await hostler.row()).desired(hostler.fleet) == 2
        assert s.mac(host).installs == 1

    play_macs(scene, count=1)


def test_several_hosts_are_adopted_at_once_and_none_is_shed() -> None:
    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        named = [bought(s, f"apple-silicon-{name}") for name in ("a", "b", "c")]
        for number, host in enumerate(named):
            s.truth.used[host] = 0
            new = machine_id(100 + number)
            await request(s, hostler, RequestKind.POOL_ADOPT, host, keep=True, machine=new)
        await settled(s, hostler, 4)
        assert [s.mac(host).installs for host in named] == [1, 1, 1]

    play_macs(scene, count=3)


def test_a_host_that_is_adopted_without_its_disk_is_wiped_before_it_is_ready() -> None:
    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        host = bought(s)
        s.truth.used[host] = 1
        await request(s, hostler, RequestKind.POOL_ADOPT, host)
        await settled(s, hostler, 2)
        assert s.mac(host).installs == 2

    play_macs(scene)


def test_an_adopted_host_is_wiped_when_its_machine_ends_and_goes_into_the_pool() -> None:
    async def scene(s: MacRig) -> None:
        hostler = s.hostler(replace(FLEET, size=0))
        host = bought(s)
        s.truth.used[host] = 0
        await request(s, hostler, RequestKind.POOL_ADOPT, host, keep=True)
        await s.ready(hostler, 1)
        await hostler.scale(0)
        await s.all_free(hostler)
        assert s.mac(host).installs == 2

    play_macs(scene)


def test_a_host_that_is_put_into_the_pool_keeps_its_disk_until_it_is_claimed() -> None:
    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        host = bought(s)
        await request(s, hostler, RequestKind.POOL_ADD, host)
        await s.rig.clock.sleep(10 * MINUTE)
        assert s.mac(host).name.startswith(POOL)
        assert s.mac(host).installs == 1
        s.truth.used[host] = 1
        await hostler.scale(2)
        await settled(s, hostler, 2)
        assert s.mac(host).installs == 2

    play_macs(scene)


def test_a_host_that_a_machine_has_is_neither_put_into_the_pool_nor_adopted() -> None:
    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        for kind in (RequestKind.POOL_ADD, RequestKind.POOL_ADOPT):
            await request(s, hostler, kind, s.ids[0])
            await settled(s, hostler, 1)
        assert stage(s.mac()) == "claimed"

    play_macs(scene)


def test_a_host_on_its_way_home_is_asked_nothing_twice() -> None:
    """A look that is older than an answer shows the host as it was: nothing follows from that."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        await hostler.scale(0)
        errors = set[str]()

        async def free() -> bool:
            found = await hosts(hostler)
            errors.update(host.error for host in found)
            return [str(host.condition) for host in found] == ["free"]

        await s.until(free, 90 * MINUTE)
        await s.rig.clock.sleep(MINUTE)
        await free()
        assert errors == {""}

    play_macs(scene)


def test_a_host_that_was_given_up_and_renamed_is_reported_and_taken_back_by_a_request() -> None:
    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        (machine,) = await hostler.machines()
        await hostler.scale(0)
        await hostler.request(RequestKind.RETIRE, machine=machine.id)

        async def scheduled() -> bool:
            return s.mac().deletion_scheduled

        await s.until(scheduled, 30 * MINUTE)
        s.rename(s.ids[0], "desk-1")
        s.mac().deletion_scheduled = False
        await s.rig.clock.sleep(5 * MINUTE)
        assert not s.mac().deletion_scheduled
        (orphan,) = await hostler.store.orphans()
        assert (orphan.resource, orphan.cls) == (s.ids[0], "outside"), "it is paid for"
        await request(s, hostler, RequestKind.POOL_ADD, s.ids[0])
        await hostler.scale(1)
        await s.ready(hostler, 1)
        await hostler.scale(0)
        await s.all_free(hostler)

    play_macs(scene)


def test_a_machine_that_is_adopted_after_a_lost_store_is_asked_nothing_twice() -> None:
    async def scene(s: MacRig) -> None:
        first = s.hostler()
        await s.ready(first, 1)
        await first.stop()
        s.truth.hostlers.remove(first)
        second = s.hostler()
        await s.rig.clock.sleep(MINUTE)
        home = (await first.store.identity()).own
        await second.request(RequestKind.ADOPT, installation=home)
        errors = set[str]()
        for _ in range(300):
            await s.rig.clock.sleep(timedelta(seconds=1))
            errors.update(machine.error for machine in await second.machines())
        await s.ready(second, 1)
        assert errors == {""}
        assert s.mac().installs == 2
        s.truth.wrong.clear()  # the second one has the disk of the first: that is what it asked for

    play_macs(scene)


def test_a_free_host_that_somebody_gives_up_is_deleted_at_its_date_and_taken_by_nobody() -> None:
    async def scene(s: MacRig) -> None:
        hostler = s.hostler(replace(FLEET, size=0))
        await s.rig.clock.sleep(5 * MINUTE)
        host = s.mac().id
        await request(s, hostler, RequestKind.RETIRE, host)
        await hostler.scale(1)

        async def scheduled() -> bool:
            return s.mac().deletion_scheduled

        await s.until(scheduled, 30 * MINUTE)
        assert stage(s.mac()) == "retiring"
        (record,) = await hosts(hostler)
        assert (record.goal, record.purchase.policy) == (HostGoal.RETIRED, ReleasePolicy.TERMINATE)
        assert "given up by scene" in record.reason
        assert not [k for k in await hostler.events() if k.event.kind == "host"], "it was taken"
        assert await hostler.ready() == 0
        assert s.mac().installs == 1

    play_macs(scene)


async def give_up(s: MacRig, hostler: Hostler) -> None:
    """Ask for the host to be given up, and wait until its deletion is scheduled."""
    await request(s, hostler, RequestKind.RETIRE, s.mac().id)
    await is_given_up(s)


async def is_given_up(s: MacRig) -> None:
    """Wait until the host's deletion is scheduled."""

    async def scheduled() -> bool:
        return s.mac().deletion_scheduled

    await s.until(scheduled, 30 * MINUTE)


async def put_back_while_given_up(s: MacRig) -> Hostler:
    """Rename a host into its pool that is being given up."""
    hostler = s.hostler(replace(FLEET, size=0))
    await s.rig.clock.sleep(5 * MINUTE)
    await give_up(s, hostler)
    s.rename(s.mac().id, f"{POOL}again")
    return hostler


def test_a_host_that_was_given_up_and_is_put_back_into_the_pool_by_hand_is_left_there() -> None:
    async def scene(s: MacRig) -> None:
        await put_back_while_given_up(s)
        await s.rig.clock.sleep(30 * MINUTE)
        assert s.mac().name == f"{POOL}again"

    play_macs(scene)


def test_a_host_that_is_not_deleted_after_all_and_put_back_by_hand_is_the_pools_again() -> None:
    async def scene(s: MacRig) -> None:
        hostler = await put_back_while_given_up(s)
        s.mac().deletion_scheduled = False
        await s.rig.clock.sleep(10 * MINUTE)
        (record,) = await hosts(hostler)
        assert (record.goal, record.purchase.policy) == (None, None)
        assert "by hand" in record.reason
        await hostler.scale(1)
        await s.ready(hostler, 1)
        await hostler.scale(0)
        await s.all_free(hostler)
        assert not s.mac().deletion_scheduled
        await give_up(s, hostler)

    play_macs(scene)


def test_a_host_that_was_given_up_with_its_machine_and_is_put_back_by_hand_is_the_pools_again() -> (
    None
):
    """Its machine had renamed it: the host itself was asked for nothing but its deletion."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        (machine,) = await hostler.machines()
        await hostler.request(RequestKind.RETIRE, machine=machine.id)
        await is_given_up(s)
        await s.rig.clock.sleep(5 * MINUTE)
        s.rename(s.mac().id, f"{POOL}again")
        s.mac().deletion_scheduled = False
        await s.rig.clock.sleep(MINUTE)
        await s.ready(hostler, 1)
        assert not s.mac().deletion_scheduled

    play_macs(scene)


def test_a_host_that_is_given_up_as_a_machine_chooses_it_is_not_taken() -> None:
    """A machine that was just made chooses in the next turn, which hears of the wish as well."""

    async def scene(s: MacRig) -> None:
        s.rig.settings = replace(s.rig.settings, poll=timedelta(milliseconds=10))
        hostler = s.hostler(replace(FLEET, size=0))
        await s.rig.clock.sleep(5 * MINUTE)
        await hostler.scale(1)
        while not await hostler.machines():
            await s.rig.clock.sleep(timedelta(milliseconds=10))
        (machine,) = await hostler.machines()
        assert machine.host is None
        await request(s, hostler, RequestKind.RETIRE, s.mac().id)

        async def scheduled() -> bool:
            return s.mac().deletion_scheduled

        await s.until(scheduled, 30 * MINUTE)
        (record,) = await hosts(hostler)
        assert (record.goal, record.purchase.policy) == (HostGoal.RETIRED, ReleasePolicy.TERMINATE)
        assert not [k for k in await hostler.events() if k.event.kind == "host"], "it was taken"
        assert s.mac().installs == 1

    play_macs(scene)


def test_a_host_that_is_retired_right_after_it_was_put_into_the_pool_goes() -> None:
    """The engine may not have seen its new name yet when it hears of the second request."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler(replace(FLEET, size=0))
        await s.rig.clock.sleep(5 * MINUTE)
        host = bought(s)
        await s.rig.clock.sleep(5 * MINUTE)
        await request(s, hostler, RequestKind.POOL_ADD, host)
        await request(s, hostler, RequestKind.RETIRE, host)

        async def scheduled() -> bool:
            return s.mac(host).deletion_scheduled

        await s.until(scheduled, 30 * MINUTE)
        events = [entry.event for entry in await hostler.events()]
        assert not [event for event in events if event.kind == "request_refused"]
        asked = [event.reason for event in events if event.kind == "request" and event.host == host]
        assert asked == ["pool_add by scene", "retire by scene"]

    play_macs(scene)


def test_a_host_that_another_installation_took_since_it_was_asked_into_the_pool_stays_its() -> None:
    """The wish was taken while its fleet was paused; the other's host was renamed, and wiped."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler(replace(FLEET, size=0))
        others = s.hostler(replace(OTHERS, size=0), pool="other-")
        (host,) = s.rig.world.stock_macs(1, "M2-L", ZONE, "other-")
        await s.rig.clock.sleep(5 * MINUTE)
        await hostler.request(RequestKind.PAUSE)
        await request(s, hostler, RequestKind.POOL_ADD, host)
        await others.scale(1)
        await s.ready(others, 1)
        name, installs = s.mac(host).name, s.mac(host).installs
        await hostler.request(RequestKind.RESUME)
        await hostler.scale(2)
        await s.rig.clock.sleep(60 * MINUTE)
        assert (s.mac(host).name, s.mac(host).installs) == (name, installs)
        assert await others.ready() == 1
        details = [e.event.detail for e in await hostler.events() if e.event.host == host]
        assert any("another installation has it" in detail for detail in details)

    play_macs(scene)


@pytest.mark.parametrize("harm", ["rate_limited_429", "failed_500", "request_lost", "hung_after"])
def test_a_host_of_the_pool_is_given_up_although_its_rename_fails_once(harm: str) -> None:
    """It was never asked for again: retiring for ever, billed, and in no report."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler(replace(FLEET, size=0))
        await s.rig.clock.sleep(5 * MINUTE)
        s.rig.world.script(Rule(fault=harm, route="mac.update", count=1))
        await give_up(s, hostler)
        assert stage(s.mac()) == "retiring"
        assert s.mac().installs == 1

    play_macs(scene)


def test_that_a_host_is_given_up_outlasts_listings_that_lack_it() -> None:
    """It was dropped without a word: the host was the pool's again, and billed."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler(replace(FLEET, size=0))
        await s.rig.clock.sleep(5 * MINUTE)
        await hostler.request(RequestKind.PAUSE)
        await request(s, hostler, RequestKind.RETIRE, s.mac().id)
        await s.rig.clock.sleep(MINUTE)
        s.rig.world.script(Rule(fault="empty_list", count=1, spell=600.0))

        async def lacking() -> bool:
            return any(one.condition is HostCondition.ABSENT for one in await hosts(hostler))

        await s.until(lacking, 10 * MINUTE)
        await s.rig.clock.sleep(15 * MINUTE)
        await hostler.request(RequestKind.RESUME)
        await s.rig.clock.sleep(10 * MINUTE)
        assert s.mac().deletion_scheduled
        assert stage(s.mac()) == "retiring"

    play_macs(scene)
