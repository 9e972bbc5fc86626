"""Ordered Macs whose window is over: none is paid for while a host of the pool stands idle."""

from datetime import timedelta

from hostler.domain.model.host import HostOrigin
from hostler.domain.model.phases import Phase
from hostler.domain.policy.purchasing import Limits
from hostler.lab.scenes.macs import FLEET, MINUTE, POOL
from hostler.lab.scenes.servers import ZONE, Hostler, Rig, play
from hostler.providers.scaleway.macs.settings import MacTemplate

HOUR = timedelta(hours=1)
BUYS = MacTemplate(pool=POOL, limits=Limits(most=3))


async def origin_of_the_ready(hostler: Hostler) -> list[HostOrigin]:
    """Return where the hosts of the machines that are ready come from."""
    records = {host.id: host for host in await hostler.store.hosts()}
    ready = [m for m in await hostler.machines() if m.phase is Phase.READY and m.host]
    return [records[machine.host].purchase.origin for machine in ready if machine.host]


async def ready(rig: Rig, hostler: Hostler, size: int) -> None:
    """Wait until so many machines are ready."""
    for _ in range(4 * 60):
        if await hostler.ready() == size:
            return
        await rig.clock.sleep(MINUTE)
    raise AssertionError([(m.phase, m.reason, m.error) for m in await hostler.machines()])


def test_the_last_machine_leaves_an_ordered_host_whose_window_is_over_for_one_of_the_pool() -> None:
    """It stayed on it, eight hours past its window, while two Macs of the pool stood idle."""

    async def scene(rig: Rig) -> None:
        hostler = rig.mac_hostler(FLEET, template=BUYS)
        await ready(rig, hostler, 1)
        (bought,) = rig.world.cloud.macs
        assert await origin_of_the_ready(hostler) == [HostOrigin.ORDERED]
        rig.world.stock_macs(2, "M2-L", ZONE, POOL)
        begun = rig.clock.now()
        while rig.clock.now() < begun + 22 * HOUR:
            await rig.clock.sleep(30 * MINUTE)
            assert await origin_of_the_ready(hostler) == [HostOrigin.ORDERED], "inside its window"
        for _ in range(6 * 60):
            await rig.clock.sleep(MINUTE)
            assert await hostler.ready() >= 1, "its successor is ready before it goes"
            if bought.ended is not None:
                break
        assert bought.ended is not None
        assert bought.deletable is not None
        assert bought.ended - bought.deletable < 3 * 3600
        assert await origin_of_the_ready(hostler) == [HostOrigin.POOL]
        asked = rig.world.calls.get("mac.reinstall", 0)
        await rig.clock.sleep(12 * HOUR)
        assert rig.world.calls.get("mac.reinstall", 0) == asked, "and it stays where it is"
        assert await hostler.ready() == 1
        assert rig.world.calls.get("mac.batch", 0) == 1

    play(scene)


def test_an_ordered_host_that_is_needed_stays_past_its_window() -> None:
    async def scene(rig: Rig) -> None:
        hostler = rig.mac_hostler(FLEET, template=BUYS)
        await ready(rig, hostler, 1)
        (bought,) = rig.world.cloud.macs
        await rig.clock.sleep(36 * HOUR)
        assert bought.ended is None
        assert await hostler.ready() == 1
        assert rig.world.calls.get("mac.batch", 0) == 1

    play(scene)
