"""Ordered Macs: bought when the pool has none, parked while paid, called back, and given up."""

from datetime import timedelta

from hostler.domain.buying import Limits
from hostler.domain.host import HostCondition
from hostler.domain.phases import Phase
from hostler.domain.seen import WishKind
from hostler.lab.macstand import FLEET, MINUTE, POOL
from hostler.lab.stand import Hostler, Stand, play
from hostler.providers.scaleway.macs.settings import MacTemplate

HOUR = timedelta(hours=1)
BUYS = MacTemplate(pool=POOL, limits=Limits(most=3))


async def ready(stand: Stand, hostler: Hostler, size: int, within: timedelta = 2 * HOUR) -> None:
    """Wait until just so many machines are ready, and none is on its way."""
    end = stand.clock.now() + within
    while stand.clock.now() < end:
        phases = [machine.phase for machine in await hostler.machines()]
        if phases.count(Phase.READY) == size and set(phases) <= {Phase.READY, Phase.RESTING}:
            return
        await stand.clock.sleep(MINUTE / 2)
    raise AssertionError([(m.phase, m.reason, m.error) for m in await hostler.machines()])


def orders(stand: Stand) -> int:
    """Return how many orders were sent."""
    return stand.world.calls.get("mac.batch", 0)


def test_what_the_pool_lacks_is_ordered_parked_while_paid_and_woken_before_anything_else() -> None:
    async def scene(stand: Stand) -> None:
        stand.world.stock_macs(1)
        hostler = stand.mac_hostler(FLEET, template=BUYS)
        await ready(stand, hostler, 1)
        await hostler.scale(2)
        await ready(stand, hostler, 2)
        assert orders(stand) == 1
        await hostler.scale(0)
        await ready(stand, hostler, 0, 3 * HOUR)
        (parked,) = await hostler.machines()
        assert parked.phase is Phase.RESTING, "paid for, so it rests"
        mac = stand.world.console.mac(str(parked.host))
        installs = mac.installs
        await hostler.scale(1)
        await ready(stand, hostler, 1)
        (woken,) = await hostler.machines()
        assert woken.id == parked.id, "before a host of the pool"
        assert orders(stand) == 1
        assert mac.installs == installs, "it was wiped when it was parked"

    play(scene)


def test_a_parked_host_is_given_up_when_its_window_is_over_and_not_before() -> None:
    async def scene(stand: Stand) -> None:
        hostler = stand.mac_hostler(FLEET, template=BUYS)
        await ready(stand, hostler, 1, 4 * HOUR)
        (mac,) = stand.world.estate.macs
        await hostler.scale(0)
        bought = stand.loop.time()
        while mac.ended is None and stand.loop.time() - bought < 30 * 3600:
            await stand.clock.sleep(MINUTE)
        assert mac.ended is not None
        assert mac.deletable is not None
        assert mac.ended >= mac.deletable
        assert mac.ended - mac.deletable < 3600
        assert await hostler.machines() == ()

    play(scene)


def test_a_host_whose_end_is_only_scheduled_is_called_back_and_none_is_bought() -> None:
    async def scene(stand: Stand) -> None:
        hostler = stand.mac_hostler(FLEET, template=BUYS)
        await ready(stand, hostler, 1, 4 * HOUR)
        (mac,) = stand.world.estate.macs
        (machine,) = await hostler.machines()
        await hostler.scale(0)
        await hostler.wish(WishKind.END, machine=machine.id)
        for _ in range(240):
            await stand.clock.sleep(MINUTE)
            if mac.deletion_scheduled:
                break
        assert mac.deletion_scheduled, "somebody asked that its machine goes: it is given up"
        await hostler.scale(1)
        await ready(stand, hostler, 1, 3 * HOUR)
        assert not mac.deletion_scheduled
        assert orders(stand) == 1
        (host,) = await hostler.store.hosts()
        assert host.condition is HostCondition.HELD

    play(scene)


def test_a_host_that_somebody_retired_is_not_called_back() -> None:
    async def scene(stand: Stand) -> None:
        hostler = stand.mac_hostler(FLEET, template=BUYS)
        await ready(stand, hostler, 1, 4 * HOUR)
        (mac,) = stand.world.estate.macs
        (machine,) = await hostler.machines()
        await hostler.wish(WishKind.RETIRE, machine=machine.id)
        await stand.clock.sleep(3 * HOUR)
        await ready(stand, hostler, 1, 3 * HOUR)
        assert mac.deletion_scheduled
        assert orders(stand) == 2

    play(scene)
