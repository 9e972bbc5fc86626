"""Ordered Macs: bought when the pool has none, parked while paid, called back, and given up."""

from datetime import timedelta

import pytest

from hostler.domain.ids import HostId
from hostler.domain.model.hold import HoldKind
from hostler.domain.model.host import HostCondition
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import OrphanClass, Stage
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.domain.policy.purchasing import Limits
from hostler.lab.scenes.macs import FLEET, MACS, MINUTE, POOL
from hostler.lab.scenes.servers import Hostler, Rig, play
from hostler.ports.metrics import Gauge
from hostler.providers.scaleway.macs.plan.names import Name
from hostler.providers.scaleway.macs.settings import MacTemplate
from hostler.simulators.scaleway.faults.rates import Rule
from hostler.simulators.scaleway.state.options import Options

HOUR = timedelta(hours=1)
BUYS = MacTemplate(pool=POOL, limits=Limits(most=3))


async def ready(rig: Rig, hostler: Hostler, size: int, within: timedelta = 2 * HOUR) -> None:
    """Wait until just so many machines are ready, and none is on its way."""
    end = rig.clock.now() + within
    while rig.clock.now() < end:
        phases = [machine.phase for machine in await hostler.machines()]
        if phases.count(Phase.READY) == size and set(phases) <= {Phase.READY, Phase.STANDBY}:
            return
        await rig.clock.sleep(MINUTE / 2)
    raise AssertionError([(m.phase, m.reason, m.error) for m in await hostler.machines()])


def orders(rig: Rig) -> int:
    """Return how many orders were sent."""
    return rig.world.calls.get("mac.batch", 0)


def test_what_the_pool_lacks_is_ordered_parked_while_paid_and_woken_before_anything_else() -> None:
    async def scene(rig: Rig) -> None:
        rig.world.stock_macs(1)
        hostler = rig.mac_hostler(FLEET, template=BUYS)
        await ready(rig, hostler, 1)
        await hostler.scale(2)
        await ready(rig, hostler, 2)
        assert orders(rig) == 1
        paid = rig.metrics.series(Gauge.PAID_UNTIL)
        soon = (rig.clock.now() + 20 * HOUR).timestamp()
        assert {account for account, _, _ in paid} == {FLEET.account}
        assert {until > soon for until in paid.values()} == {True}
        assert len(paid) == 2
        await hostler.scale(0)
        await ready(rig, hostler, 0, 3 * HOUR)
        (parked,) = await hostler.machines()
        assert parked.phase is Phase.STANDBY, "paid for, so it rests"
        mac = rig.world.console.mac(str(parked.host))
        installs = mac.installs
        await hostler.scale(1)
        await ready(rig, hostler, 1)
        (woken,) = await hostler.machines()
        assert woken.id == parked.id, "before a host of the pool"
        assert orders(rig) == 1
        assert mac.installs == installs, "it was wiped when it was parked"

    play(scene)


def test_a_parked_host_is_given_up_when_its_window_is_over_and_not_before() -> None:
    async def scene(rig: Rig) -> None:
        hostler = rig.mac_hostler(FLEET, template=BUYS)
        await ready(rig, hostler, 1, 4 * HOUR)
        (mac,) = rig.world.cloud.macs
        await hostler.scale(0)
        bought = rig.loop.time()
        while mac.ended is None and rig.loop.time() - bought < 30 * 3600:
            await rig.clock.sleep(MINUTE)
        assert mac.ended is not None
        assert mac.deletable is not None
        assert mac.ended >= mac.deletable
        assert mac.ended - mac.deletable < 3600
        assert await hostler.machines() == ()

    play(scene)


def test_a_host_whose_end_is_only_scheduled_is_called_back_and_none_is_bought() -> None:
    async def scene(rig: Rig) -> None:
        hostler = rig.mac_hostler(FLEET, template=BUYS)
        await ready(rig, hostler, 1, 4 * HOUR)
        (mac,) = rig.world.cloud.macs
        (machine,) = await hostler.machines()
        await hostler.scale(0)
        await hostler.request(RequestKind.DELETE, machine=machine.id)
        for _ in range(240):
            await rig.clock.sleep(MINUTE)
            if mac.deletion_scheduled:
                break
        assert mac.deletion_scheduled, "somebody asked that its machine goes: it is given up"
        await hostler.scale(1)
        await ready(rig, hostler, 1, 3 * HOUR)
        assert not mac.deletion_scheduled
        assert orders(rig) == 1
        (host,) = await hostler.store.hosts()
        assert host.condition is HostCondition.ALLOCATED

    play(scene)


def test_a_host_that_somebody_retired_is_not_called_back() -> None:
    async def scene(rig: Rig) -> None:
        hostler = rig.mac_hostler(FLEET, template=BUYS)
        await ready(rig, hostler, 1, 4 * HOUR)
        (mac,) = rig.world.cloud.macs
        (machine,) = await hostler.machines()
        await hostler.request(RequestKind.RETIRE, machine=machine.id)
        await rig.clock.sleep(3 * HOUR)
        await ready(rig, hostler, 1, 3 * HOUR)
        assert mac.deletion_scheduled
        assert orders(rig) == 2

    play(scene)


def test_an_ordered_host_whose_claim_was_refused_is_kept_and_given_up_in_time() -> None:
    """Its machine let go of it, and then nobody wanted it: it was ours by its name, and dirty."""

    async def scene(rig: Rig) -> None:
        hostler = rig.mac_hostler(FLEET, template=BUYS)
        rig.world.script(Rule(fault="rate_limited_429", route="mac.update"))
        while not await is_let_go(hostler):
            await rig.clock.sleep(timedelta(seconds=1))
        await hostler.scale(0)
        await rig.clock.sleep(HOUR)
        assert await hostler.machines() == ()
        (host,) = await hostler.store.hosts()
        assert (host.condition, host.goal) == (HostCondition.FREE, None)
        (mac,) = rig.world.cloud.macs
        assert mac.name.startswith("hostler.parked.")
        await rig.clock.sleep(25 * HOUR)
        assert mac.ended is not None
        assert orders(rig) == 1

    play(scene)


def test_a_cap_of_spending_holds_from_the_first_order_on() -> None:
    """Before any host stands nothing that was seen tells a price: the settings do."""

    async def scene(rig: Rig) -> None:
        limits = Limits(most=3, cap=12.0, price=0.21)
        hostler = rig.mac_hostler(FLEET, template=MacTemplate(pool=POOL, limits=limits))
        await hostler.scale(3)
        await ready_at_all(rig, hostler, 2)
        await rig.clock.sleep(12 * HOUR)
        assert len(list(rig.world.cloud.macs)) == 2, "a third one is over 12 euros"
        (row,) = await hostler.store.fleets()
        assert row.condition.startswith("no_available_host")
        assert row.condition.endswith("no more are ordered: €12 a day at most")
        await rig.clock.sleep(13 * HOUR)
        assert len(list(rig.world.cloud.macs)) == 3, "another day, another 12 euros"

    play(scene)


def test_what_is_sold_out_is_told_and_ordered_as_soon_as_it_is_there() -> None:
    """All the while hosts are lacked, for the alert, and for those whose end is only scheduled."""

    async def scene(rig: Rig) -> None:
        rig.world.console.set_stock("M2-L", "no_stock")
        hostler = rig.mac_hostler(FLEET, template=BUYS)
        await rig.clock.sleep(2 * MINUTE)
        for _ in range(60):
            await rig.clock.sleep(MINUTE)
            (row,) = await hostler.store.fleets()
            assert row.condition.startswith("no_available_host")
            assert "no more are ordered: M2-L is sold out in fr-par-1" in row.condition
            assert rig.metrics.value(Gauge.NO_AVAILABLE_HOST, FLEET.name) == 1
        assert orders(rig) == 0, "the stock is read first"
        rig.world.console.set_stock("M2-L", "high_stock")
        await ready(rig, hostler, 1)
        (row,) = await hostler.store.fleets()
        assert (orders(rig), row.condition) == (1, "")

    play(scene)


def test_an_order_beyond_the_quota_is_never_sent_and_the_fleet_backs_off_and_says_why() -> None:
    async def scene(rig: Rig) -> None:
        rig.organization = rig.world.options.organization
        rig.world.stock_macs(1, prefix="desk-")
        hostler = rig.mac_hostler(FLEET, template=BUYS)
        await rig.clock.sleep(2 * MINUTE)
        for _ in range(60):
            await rig.clock.sleep(MINUTE)
            (row,) = await hostler.store.fleets()
            assert "no more are ordered: the quota of M2-L in fr-par-1 is 1: 1 stand" in (
                row.condition
            )
        assert orders(rig) == 0, "the quota is read first"
        tries = 62 * MINUTE / FLEET.timers.stock_memory + 1
        assert 0 < rig.world.calls["quota.list"] <= tries, "it backs off"
        events = [entry.event for entry in await hostler.store.events()]
        assert {e.reason for e in events if e.kind == "order_refused"} == {"quota"}
        rig.world.console.do("delete", next(iter(rig.world.cloud.macs)).id)
        await ready(rig, hostler, 1)
        assert orders(rig) == 1

    play(scene, Options(quotas={"M2-L": 1}))


def test_of_an_order_that_is_too_large_what_the_quota_allows_is_sent_and_the_rest_held_back() -> (
    None
):
    async def scene(rig: Rig) -> None:
        rig.organization = rig.world.options.organization
        rig.world.stock_macs(1, prefix="desk-")
        hostler = rig.mac_hostler(FLEET, template=BUYS)
        await hostler.scale(3)
        await ready_at_all(rig, hostler, 2)
        assert orders(rig) == 1
        (row,) = await hostler.store.fleets()
        assert len(row.orders) == 2, "what was not sent is on no row"
        assert "no more are ordered: the quota of M2-L in fr-par-1 is 3: " in row.condition
        events = [entry.event for entry in await hostler.store.events()]
        refused = [e for e in events if e.kind == "order_refused"]
        assert {e.reason for e in refused} == {"quota"}
        assert refused[0].detail.startswith("1 of M2-L")
        assert "1 stand already, and only 2 of 3 more may" in refused[0].detail
        await rig.clock.sleep(HOUR)
        assert (orders(rig), await hostler.ready()) == (1, 2)
        rig.world.console.do("delete", next(iter(rig.world.cloud.macs)).id)
        await ready(rig, hostler, 3)
        assert orders(rig) == 2

    play(scene, Options(quotas={"M2-L": 3}))


def test_a_host_of_the_pool_is_claimed_at_once_although_hosts_are_sold_out() -> None:
    async def scene(rig: Rig) -> None:
        rig.world.console.set_stock("M2-L", "no_stock")
        hostler = rig.mac_hostler(FLEET, template=BUYS)
        await rig.clock.sleep(HOUR)
        (host,) = rig.world.stock_macs(1)
        await rig.clock.sleep(2 * MINUTE)
        assert [binding for binding, _ in await hostler.store.bindings()] == [host]

    play(scene)


def test_a_host_onto_which_somebody_copied_an_orders_name_is_told_and_left_as_it_is() -> None:
    """It is not ours: it is neither wiped nor given up when the window of the true one is over."""

    async def scene(rig: Rig) -> None:
        (desk,) = rig.world.stock_macs(1, prefix="desk-")
        mac = rig.world.console.mac(desk)
        mac.created -= 7 * 24 * 3600
        hostler = rig.mac_hostler(FLEET, template=BUYS)
        while not (ordered := [m for m in rig.world.cloud.macs if m.id != desk]):
            await rig.clock.sleep(MINUTE)
        rig.world.console.rename(desk, ordered[0].name)
        await ready(rig, hostler, 1)
        await rig.clock.sleep(HOUR)
        (orphan,) = await hostler.store.orphans()
        assert (orphan.resource, orphan.cls) == (desk, OrphanClass.DUPLICATE_NAME)
        await hostler.scale(0)
        await rig.clock.sleep(30 * HOUR)
        assert ordered[0].ended is not None, "the one that was ordered is given up"
        assert (mac.ended, mac.installs, mac.deletion_scheduled) == (None, 1, False)
        assert mac.name.startswith("hostler.ordered.")

    play(scene)


def test_a_host_that_empty_lists_hid_before_its_delivery_is_free_and_paid_from_then_on() -> None:
    """It was wiped before it was there, and nobody knew that it had been delivered and was paid."""

    async def scene(rig: Rig) -> None:
        hostler = rig.mac_hostler(FLEET, template=BUYS)

        async def stands() -> HostCondition | None:
            return next((host.condition for host in await hostler.store.hosts()), None)

        while await stands() is not HostCondition.COMING:
            await rig.clock.sleep(timedelta(seconds=5))
        await hostler.scale(0)
        rig.world.script(Rule(fault="empty_list", route="mac.list", spell=400.0))
        for condition in (HostCondition.ABSENT, HostCondition.FREE):
            while await stands() is not condition:
                await rig.clock.sleep(timedelta(seconds=5))
        (host,) = await hostler.store.hosts()
        assert host.purchase.delivered is not None, "without that it is never given up"
        (mac,) = rig.world.cloud.macs
        assert (mac.installs, orders(rig)) == (1, 1)

    play(scene)


@pytest.mark.parametrize("stands", ["ordered", "parked"])
def test_that_somebody_reserves_a_host_does_not_make_it_ours(stands: str) -> None:
    """It got a record of its own by that, and was wiped and pooled as one that waits for us."""

    async def scene(rig: Rig) -> None:
        (desk,) = rig.world.stock_macs(1, prefix="desk-")
        mac = rig.world.console.mac(desk)
        mac.created -= 7 * 24 * 3600
        hostler = rig.mac_hostler(FLEET, template=BUYS)
        await ready(rig, hostler, 1)
        (bought,) = [one for one in rig.world.cloud.macs if one.id != desk]
        if stands == "parked":
            await hostler.scale(0)
            await ready(rig, hostler, 0, 3 * HOUR)
        (machine, *_) = [*await hostler.machines()]
        (host,) = await hostler.store.hosts()
        stage = Stage(stands)
        holder = host.purchase.order if stage is Stage.ORDERED else machine.id
        assert holder is not None
        own = (await hostler.store.identity()).own
        name = Name(stage=stage, installation=own, fleet=MACS, machine=holder, pool="000000")
        rig.world.console.rename(desk, str(name))
        await rig.clock.sleep(10 * MINUTE)
        request = Request(
            number=0,
            kind=RequestKind.HOLD,
            fleet=FLEET.name,
            at=rig.clock.now(),
            actor="scene",
            host=HostId(desk),
            hold=HoldKind.RESERVED,
            until=rig.clock.now() + HOUR,
        )
        await hostler.store.request(request)
        await rig.clock.sleep(2 * HOUR)
        assert (mac.name, mac.installs) == (str(name), 1)
        assert [one.resource for one in await hostler.store.orphans()] == [desk]
        assert bought.ended is None

    play(scene)


async def is_let_go(hostler: Hostler) -> bool:
    """Tell whether a host that was delivered has been a machine's, and is no more."""
    hosts = await hostler.store.hosts()
    tied = await hostler.store.bindings()
    return any(host.purchase.delivered and host.machine for host in hosts) and not tied


async def ready_at_all(rig: Rig, hostler: Hostler, size: int) -> None:
    """Wait until so many machines are ready, whatever others do."""
    for _ in range(4 * 60):
        if await hostler.ready() >= size:
            return
        await rig.clock.sleep(MINUTE)
    raise AssertionError([(m.phase, m.reason) for m in await hostler.machines()])
