"""Work of a host's own that does not end: nobody may have the host meanwhile, and it is billed.

Each is told in the orphan report, with what it costs, once it takes longer than it may.
"""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.model.snapshot import RequestKind
from hostler.domain.policy.purchasing import Limits
from hostler.lab.scenes.macs import FLEET, MINUTE, POOL, MacRig, play_macs
from hostler.lab.scenes.servers import Rig, play
from hostler.providers.scaleway.macs.settings import MacTemplate
from hostler.simulators.scaleway.faults.rates import Rule
from hostler.simulators.scaleway.state.mac_records import MacStatus

from .test_macs_pool import bought, request

HOUR = timedelta(hours=1)
ALWAYS = 100_000
SET_ASIDE = "set-aside"


def test_a_host_whose_deletion_is_refused_for_good_is_told() -> None:
    """It was retiring for ever, and billed: whoever may not delete heard of it nowhere."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler(replace(FLEET, size=0))
        await s.rig.clock.sleep(5 * MINUTE)
        s.mac().deletable = s.rig.loop.time() + 3600
        s.rig.world.script(Rule(fault="failed_500", route="mac.delete", count=ALWAYS))
        await request(s, hostler, RequestKind.RETIRE, s.mac().id)
        await s.rig.clock.sleep(3 * HOUR)
        assert not await hostler.store.orphans(), "it is paid for, and then tried for a while"
        await s.rig.clock.sleep(2 * HOUR)
        (orphan,) = await hostler.store.orphans()
        assert (orphan.resource, orphan.cls) == (s.mac().id, SET_ASIDE)
        s.rig.world.clear_fault_rates()

        async def deleted() -> bool:
            return not s.macs() and not await hostler.store.orphans()

        await s.until(deleted, HOUR)

    play_macs(scene)


def test_a_host_that_is_in_error_before_it_is_put_into_the_pool_is_told() -> None:
    """It kept its name and its error, and was in no report, for somebody had asked for it."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler(replace(FLEET, size=0))
        host = bought(s, "desk-7")
        await s.rig.clock.sleep(5 * MINUTE)
        await request(s, hostler, RequestKind.POOL_ADD, host)
        s.mac(host).status = MacStatus.ERROR
        await s.rig.clock.sleep(4 * HOUR)
        (orphan,) = await hostler.store.orphans()
        assert (orphan.resource, orphan.cls) == (host, SET_ASIDE)
        s.mac(host).status = MacStatus.READY
        await s.rig.clock.sleep(5 * MINUTE)
        assert s.mac(host).name.startswith(POOL)
        assert not await hostler.store.orphans()

    play_macs(scene)


@pytest.mark.parametrize("status", [MacStatus.STARTING, MacStatus.REBOOTING])
def test_an_ordered_host_that_is_delivered_and_never_ready_is_told_and_another_ordered(
    status: MacStatus,
) -> None:
    """It was on its way for ever: beyond its window, in no report, and its fleet without a host."""

    async def scene(rig: Rig) -> None:
        limits = Limits(most=3)
        hostler = rig.mac_hostler(FLEET, template=MacTemplate(pool=POOL, limits=limits))
        while not rig.world.cloud.macs:
            await rig.clock.sleep(MINUTE)
        (mac,) = rig.world.cloud.macs
        for _ in range(8 * 60):
            if mac in rig.world.cloud.macs:
                mac.status, mac.delivered = status, True
            await rig.clock.sleep(MINUTE)
        assert mac.id in {orphan.resource for orphan in await hostler.store.orphans()}
        assert rig.world.calls.get("mac.batch", 0) == 2
        assert await hostler.ready() == 1

    play(scene)
