"""Wipes that fail for ever: tried a few times, then left alone, told with its cost, and given up.

Once such a host was wiped again and again, was billed for ever, and nobody was told.
"""

from datetime import timedelta

import pytest

from hostler.domain.model.host import HostCondition
from hostler.domain.policy.purchasing import Limits
from hostler.lab.scenes.macs import FLEET, POOL, stage
from hostler.lab.scenes.servers import Rig, play
from hostler.providers.scaleway.macs.settings import MacTemplate
from hostler.simulators.scaleway.faults.rates import Rule

ALWAYS = 100_000
HOUR = timedelta(hours=1)
BUYS = MacTemplate(pool=POOL, limits=Limits(most=3))


def test_a_host_of_the_pool_whose_wipes_fail_is_kept_out_of_the_pool_and_told() -> None:
    async def scene(rig: Rig) -> None:
        world = rig.world
        world.stock_macs(1)
        hostler = rig.mac_hostler(FLEET)
        await rig.clock.sleep(HOUR)
        world.script(Rule(fault="mac_reinstall_fails", route="mac.reinstall", count=ALWAYS))
        await hostler.scale(0)
        await rig.clock.sleep(3 * HOUR)
        (host,) = await hostler.store.hosts()
        assert (host.condition, host.health.strikes) == (HostCondition.QUARANTINED, 4)
        assert stage(next(iter(world.cloud.macs))) == "quarantined"
        asked = world.calls["mac.reinstall"]
        (orphan,) = await hostler.store.orphans()
        assert (orphan.cls, orphan.resource, orphan.fleet) == ("set-aside", host.id, FLEET.name)
        assert orphan.price > 0, "it costs as much as any"
        await hostler.scale(1)
        await rig.clock.sleep(12 * HOUR)
        assert world.calls["mac.reinstall"] == asked, "it is left alone"
        assert (await hostler.row()).condition.startswith("no_available_host")
        world.clear_fault_rates()
        await rig.clock.sleep(12 * HOUR)
        assert world.calls["mac.reinstall"] > asked, "it is tried once more a day later"
        assert await hostler.ready() == 1
        assert not await hostler.store.orphans()

    play(scene)


@pytest.mark.parametrize("fault", ["mac_reinstall_fails", "mac_os_not_found"])
def test_an_ordered_host_that_cannot_be_wiped_is_replaced_and_given_up_at_its_windows_end(
    fault: str,
) -> None:
    """It is handed over in error, which only a wipe mends; its machine waited for it for ever."""

    async def scene(rig: Rig) -> None:
        world = rig.world
        world.script(Rule(fault="mac_delivery_fails", route="mac.batch", count=1))
        world.script(Rule(fault=fault, route="mac.reinstall", count=ALWAYS))
        hostler = rig.mac_hostler(FLEET, template=BUYS)
        await rig.clock.sleep(HOUR)
        (bad,) = world.cloud.macs
        await rig.clock.sleep(7 * HOUR)
        assert await hostler.ready() == 1, "another one was ordered in its place"
        assert [orphan.resource for orphan in await hostler.store.orphans()] == [bad.id]
        await hostler.scale(0)
        await rig.clock.sleep(18 * HOUR)
        assert bad.ended is not None or stage(bad) == "retiring", "not wiped, nor kept"
        assert world.calls["mac.batch"] == 2
        await rig.clock.sleep(HOUR)
        assert not await hostler.store.orphans()

    play(scene)
