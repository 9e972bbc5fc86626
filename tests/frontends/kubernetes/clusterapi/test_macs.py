"""Rolls of Macs that cannot be deleted for now: the records roll, and the hosts stay (origin 002).

Core is modelled: with `OnDelete` it makes a new Machine when an old one has left.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from core_kit import Cluster

from hostler.frontends.kubernetes.clusterapi.names import RELEASE_POLICY
from hostler.lab.scenes.macs import FLEET, MINUTE, POOL, MacRig, play_macs
from hostler.lab.scenes.servers import Hostler
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


def play_roll(scene: Scene, count: int) -> None:
    """Run a scene over so many Macs, all inside their floor, that a fleet may claim."""

    async def whole(rig: MacRig) -> None:
        hostler = rig.hostler(MACS)
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


@pytest.mark.parametrize("policy", ["terminate"])
def test_a_host_that_is_given_up_keeps_nobody_waiting_until_it_may_be_deleted(policy: str) -> None:
    async def scene(roll: Roll) -> None:
        (name,) = (roll.add(),)
        await roll.come([name], 60 * MINUTE)
        annotations = {RELEASE_POLICY: policy}
        roll.cluster.api.change("HostlerMachine", name, metadata={"annotations": annotations})
        await roll.cluster.deleted(name, 10 * MINUTE)
        await roll.rig.until(lambda: _scheduled(roll), 60 * MINUTE)
        assert not any(mac.name.startswith(POOL) for mac in roll.rig.macs())

    play_roll(scene, 1)


async def _scheduled(roll: Roll) -> bool:
    return all(mac.deletion_scheduled for mac in roll.rig.macs())
