"""Fleets of Macs that Cluster API's Machines have, and hosts of an older provider beside them."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

from core_kit import Cluster
from msgspec.structs import replace

from hostler.domain.model.fleet import Fleet
from hostler.frontends.kubernetes.clusterapi.names import ADOPT
from hostler.lab.scenes.macs import FLEET, MINUTE, MacRig, play_macs
from hostler.lab.scenes.servers import ZONE, Hostler
from hostler.simulators.scaleway.state.timeline import TRANSITIONS
from hostler.stores.memory import MemoryStore

MACS = replace(FLEET, size=0, maximum=20, renews=False)
LONGEST_CLAIM = timedelta(seconds=TRANSITIONS["mac.reinstall"].most) + 2 * MINUTE
"""A claim wipes its host, as long as the world may draw; ours are renames, and looks at them."""
Scene = Callable[["Roll"], Awaitable[None]]


class Roll:
    """A fleet of Macs that Cluster API's Machines have, and the provider that runs."""

    def __init__(
        self, rig: MacRig, cluster: Cluster[Hostler], provider: asyncio.Task[None]
    ) -> None:
        self.rig, self.cluster, self.provider, self.made = rig, cluster, provider, 0

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
        async with cluster.provided() as provider:
            await scene(Roll(rig, cluster, provider))
        assert [mac.id for mac in rig.macs()] == before
        now = rig.rig.loop.time()
        assert all(mac.deletable is not None and mac.deletable > now for mac in rig.macs())

    play_macs(whole, count)


def play_adoption(scene: Scene, fleet: Fleet = MACS, store: MemoryStore | None = None) -> None:
    """Run a scene over a pool with one free Mac."""

    async def whole(rig: MacRig) -> None:
        hostler = rig.hostler(fleet, store)
        await asyncio.sleep(5)
        cluster = Cluster(hostler)
        cluster.engine = hostler.engine
        cluster.cluster()
        cluster.secret()
        async with cluster.provided() as provider:
            await scene(Roll(rig, cluster, provider))

    play_macs(whole, 1)


OLD = "m-aaaaaaaaaa"
IMPORTED = "workers-abcde"


async def imported(
    roll: Roll,
    confirmed: str,
    called: str = IMPORTED,
    item: str = IMPORTED,
    machine: str = OLD,
) -> str:
    """Let a person import an object of the older provider, with a host of that name; its id."""
    (host,) = roll.rig.rig.world.stock_macs(1, "M2-L", ZONE, "elsewhere-")
    roll.rig.rename(host, called)
    roll.rig.truth.used[host] = 0
    await asyncio.sleep(120)
    provider_id = f"scw-applesilicon://{ZONE}/{host}"
    roll.cluster.machine(item, providerID=provider_id, machineID=machine)
    if confirmed:
        annotations = {ADOPT: confirmed}
        roll.cluster.api.change("HostlerMachine", item, metadata={"annotations": annotations})
    return host


async def taken_over(roll: Roll) -> str:
    """Let a person import one and name its host; wait until it is there, and return its id."""
    host = await imported(roll, IMPORTED)
    await roll.cluster.until(lambda: roll.cluster.ready(IMPORTED) == "Provisioned", 60 * MINUTE)
    return host
