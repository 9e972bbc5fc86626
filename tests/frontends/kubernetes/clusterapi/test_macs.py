"""Rolls of Macs that cannot be deleted for now: the records roll, and the hosts stay (origin 002).

Core is modelled: with `OnDelete` it makes a new Machine when an old one has left.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from core_kit import Cluster

from hostler.domain.model.fleet import Fleet
from hostler.domain.model.snapshot import RequestKind
from hostler.frontends.kubernetes.clusterapi.names import (
    ADOPT,
    FORMER_RELEASE_POLICY,
    RELEASE_POLICY,
)
from hostler.lab.scenes.macs import FLEET, MINUTE, POOL, MacRig, play_macs
from hostler.lab.scenes.servers import ZONE, Hostler
from hostler.simulators.scaleway.state.timeline import TRANSITIONS

MACS = replace(FLEET, size=0, maximum=20, renews=False)
LONGEST_CLAIM = timedelta(seconds=TRANSITIONS["mac.reinstall"].most) + 2 * MINUTE
"""A claim wipes its host, as long as the world may draw; ours are renames, and looks at them."""
Scene = Callable[["Roll"], Awaitable[None]]


class Roll:
    """A fleet of Macs that Cluster API's Machines have."""

    def __init__(self, rig: MacRig, cluster: Cluster[Hostler]) -> None:
        self.rig, self.cluster, self.made = rig, cluster, 0

    def add(self) -> str:
        """Make one Machine more, as core does."""
        self.made += 1
        name = f"mac-{self.made}"
        self.cluster.machine(name)
        return name

    async def come(self, names: list[str], within: timedelta) -> timedelta:
        """Wait until all of these are provisioned; return how long that took."""
        begun = self.now()
        await self.cluster.until(lambda: all(map(self.cluster.is_provisioned, names)), within)
        return self.now() - begun

    def now(self) -> timedelta:
        return timedelta(seconds=self.rig.rig.loop.time())


def play_roll(scene: Scene, count: int, fleet: Fleet = MACS) -> None:
    """Run a scene over so many Macs, all inside their floor, that a fleet may claim."""

    async def whole(rig: MacRig) -> None:
        hostler = rig.hostler(fleet)
        await asyncio.sleep(5)
        cluster = Cluster(hostler)
        cluster.engine = hostler.engine
        cluster.cluster()
        cluster.secret()
        before = [mac.id for mac in rig.macs()]
        async with cluster.provided():
            await scene(Roll(rig, cluster))
        assert [mac.id for mac in rig.macs()] == before
        now = rig.rig.loop.time()
        assert all(mac.deletable is not None and mac.deletable > now for mac in rig.macs())

    play_macs(whole, count)


def test_six_macs_inside_their_floor_roll_in_the_time_of_their_claims() -> None:
    async def scene(roll: Roll) -> None:
        names = [roll.add() for _ in range(6)]
        await roll.come(names, LONGEST_CLAIM)
        for old in names:
            begun = roll.now()
            await roll.cluster.deleted(old, 10 * MINUTE)
            left = roll.now() - begun
            await roll.come([roll.add()], LONGEST_CLAIM)
            assert left < MINUTE, left
        assert not any(mac.deletion_scheduled for mac in roll.rig.macs())

    play_roll(scene, 12)


def test_a_full_pool_rolls_too_one_wipe_after_the_other() -> None:
    async def scene(roll: Roll) -> None:
        names = [roll.add() for _ in range(2)]
        await roll.come(names, 60 * MINUTE)
        for old in names:
            await roll.cluster.deleted(old, 10 * MINUTE)
            await roll.come([roll.add()], 90 * MINUTE)

    play_roll(scene, 2)


def test_a_mac_is_not_asked_for_with_data_that_only_cloud_init_reads() -> None:
    async def scene(roll: Roll) -> None:
        roll.cluster.secret("config", b"#cloud-config\nruncmd: [true]\n")
        roll.cluster.machine("mac-0", secret="config")
        await roll.cluster.until(lambda: roll.cluster.ready("mac-0") == "FleetUnsuitable")
        assert await roll.cluster.machines() == ()
        assert await roll.cluster.scene.store.requests() == ()

    play_roll(scene, 1)


@pytest.mark.parametrize("name_of_policy", [RELEASE_POLICY, FORMER_RELEASE_POLICY])
def test_a_host_that_is_given_up_keeps_nobody_waiting_until_it_may_be_deleted(
    name_of_policy: str,
) -> None:
    async def scene(roll: Roll) -> None:
        (name,) = (roll.add(),)
        await roll.come([name], 60 * MINUTE)
        annotations = {name_of_policy: "terminate"}
        roll.cluster.api.change("HostlerMachine", name, metadata={"annotations": annotations})
        await roll.cluster.deleted(name, 10 * MINUTE)
        await roll.rig.until(lambda: _scheduled(roll), 60 * MINUTE)
        assert not any(mac.name.startswith(POOL) for mac in roll.rig.macs())

    play_roll(scene, 1)


@pytest.mark.parametrize("policy", ["", "terminate"], ids=["released", "given up"])
@pytest.mark.parametrize("point", range(1, 8))
def test_a_crash_at_any_answer_of_a_deletion_leaves_its_mac_where_it_belongs(
    policy: str, point: int
) -> None:
    """The provider dies at the n-th await of either branch, and another one begins."""

    async def whole(rig: MacRig) -> None:
        hostler = rig.hostler(MACS)
        await asyncio.sleep(5)
        cluster = Cluster(hostler)
        cluster.engine, roll = hostler.engine, Roll(rig, cluster)
        cluster.cluster()
        cluster.secret()
        async with cluster.provided() as first:
            name = roll.add()
            await roll.come([name], 60 * MINUTE)
            annotations = {RELEASE_POLICY: policy} if policy else None
            cluster.api.change("HostlerMachine", name, metadata={"annotations": annotations})
            cluster.api.crash_at = point
            cluster.api.delete("Machine", name)
            cluster.api.delete("HostlerMachine", name)
            await asyncio.wait([first], timeout=120)
        cluster.api.crash_at = None
        async with cluster.provided():
            await cluster.until(lambda: cluster.api.raw("HostlerMachine", name) is None)
            if policy:
                await rig.until(lambda: _scheduled(roll), 60 * MINUTE)
            else:
                await rig.all_free(hostler, 180 * MINUTE)
                assert not any(mac.deletion_scheduled for mac in rig.macs())

    play_macs(whole, 1)


async def _scheduled(roll: Roll) -> bool:
    return all(mac.deletion_scheduled for mac in roll.rig.macs())


# ---------------------------------------------------------------- origin 001


def test_a_mac_whose_object_was_removed_by_force_goes_back_to_its_pool() -> None:
    """It is released and wiped as after any other end, and nothing is deleted at the provider."""

    async def scene(roll: Roll) -> None:
        name = roll.add()
        await roll.come([name], 60 * MINUTE)
        (before,) = [mac for mac in roll.rig.macs() if not mac.name.startswith(POOL)]
        installs = before.installs
        roll.cluster.api.vanish("HostlerMachine", name)
        roll.cluster.api.vanish("Machine", name)
        await roll.rig.all_free(roll.rig.truth.hostlers[0], 180 * MINUTE)
        after = roll.rig.mac(before.id)
        assert after.name.startswith(POOL)
        assert after.installs == installs + 1
        assert not after.deletion_scheduled

    play_roll(scene, 2, replace(MACS, reclaim=True))


def test_a_host_whose_former_machine_is_lost_is_provisioned_once_that_is_gone() -> None:
    """It has the providerID of before, and the lost Machine would take its Node along."""

    async def scene(roll: Roll) -> None:
        lost = roll.add()
        await roll.come([lost], 60 * MINUTE)
        (machine,) = await roll.cluster.machines()
        await roll.rig.truth.hostlers[0].request(RequestKind.DELETE, machine=machine.id)
        await roll.cluster.until(lambda: roll.cluster.ready(lost) == "MachineLost", 60 * MINUTE)
        new = roll.add()
        await roll.cluster.until(lambda: roll.cluster.ready(new) == "IdentityTaken", 120 * MINUTE)
        await asyncio.sleep(600)
        assert not roll.cluster.is_provisioned(new)
        await roll.cluster.deleted(lost, 10 * MINUTE)
        await roll.come([new], 10 * MINUTE)

    play_adoption(scene)


# ---------------------------------------------------------------- hosts of the older provider


OLD = "m-aaaaaaaaaa"


async def _imported(roll: Roll, confirmed: str, called: str = "workers-abcde") -> str:
    """Let a person import an object of the older provider, with a host of that name; its id."""
    (host,) = roll.rig.rig.world.stock_macs(1, "M2-L", ZONE, "elsewhere-")
    roll.rig.rename(host, called)
    roll.rig.truth.used[host] = 0
    await asyncio.sleep(120)
    roll.cluster.machine(
        "workers-abcde", providerID=f"scw-applesilicon://{ZONE}/{host}", machineID=OLD
    )
    if confirmed:
        annotations = {ADOPT: confirmed}
        roll.cluster.api.change(
            "HostlerMachine", "workers-abcde", metadata={"annotations": annotations}
        )
    return host


async def _taken_over(roll: Roll) -> str:
    """Let a person import one and name its host; wait until it is there, and return its id."""
    host = await _imported(roll, "workers-abcde")
    await roll.cluster.until(
        lambda: roll.cluster.ready("workers-abcde") == "Provisioned", 60 * MINUTE
    )
    return host


def test_an_imported_mac_is_taken_over_as_it_is() -> None:
    """It keeps its disk and its providerID, and core sees it provisioned."""

    async def scene(roll: Roll) -> None:
        host = await _taken_over(roll)
        (machine,) = await roll.cluster.machines()
        assert (machine.id, machine.host, roll.rig.mac(host).installs) == (OLD, host, 1)
        assert machine.spec.requester is not None
        raw = roll.cluster.api.raw("HostlerMachine", "workers-abcde")
        assert raw is not None
        assert raw["spec"]["providerID"] == f"scw-applesilicon://{ZONE}/{host}"
        await asyncio.sleep(3600)
        assert len(await roll.cluster.machines()) == 1

    play_adoption(scene)


def test_an_imported_mac_that_is_given_back_is_wiped_into_the_pool() -> None:
    async def scene(roll: Roll) -> None:
        host = await _taken_over(roll)
        await roll.cluster.deleted("workers-abcde", 10 * MINUTE)
        await roll.rig.all_free(roll.rig.truth.hostlers[0], 180 * MINUTE)
        assert roll.rig.mac(host).name.startswith(POOL)
        assert roll.rig.mac(host).installs == 2

    play_adoption(scene)


@pytest.mark.parametrize(
    ("confirmed", "called", "reason"),
    [
        ("", "workers-abcde", "MachineUnknown"),
        ("workers-abcde", "somebody-elses", "Refused"),
        ("another", "workers-abcde", "Refused"),
    ],
    ids=["nobody named it", "it is called otherwise", "another name was given"],
)
def test_no_mac_is_taken_over_that_a_person_did_not_name(
    confirmed: str, called: str, reason: str
) -> None:
    async def scene(roll: Roll) -> None:
        host = await _imported(roll, confirmed, called)
        await asyncio.sleep(600)
        assert roll.cluster.ready("workers-abcde") == reason
        assert not await roll.cluster.machines()
        assert roll.rig.mac(host).name == called

    play_adoption(scene)


def play_adoption(scene: Scene) -> None:
    """Run a scene over a pool with one free Mac."""

    async def whole(rig: MacRig) -> None:
        hostler = rig.hostler(MACS)
        await asyncio.sleep(5)
        cluster = Cluster(hostler)
        cluster.engine = hostler.engine
        cluster.cluster()
        cluster.secret()
        async with cluster.provided():
            await scene(Roll(rig, cluster))

    play_macs(whole, 1)
