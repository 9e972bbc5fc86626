"""Keeping hosts and ordering them: what stops a call, and what its answer leads to."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hostler.controllers.execute.host_calls import Keeper
from hostler.controllers.execute.orders import Buyer
from hostler.controllers.runtime.leases import Leases, Tenure
from hostler.controllers.runtime.rate_limit import Budget, Priority
from hostler.controllers.runtime.settings import Account, Ports, Settings
from hostler.controllers.runtime.state import AccountState, Steadiness
from hostler.domain.ids import FleetName, HostId, TurnId, Zone, machine_id
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.commands import OrderHosts
from hostler.domain.model.fleet import FleetRow, Order
from hostler.domain.model.host import HOST, Host, HostCondition, HostGoal
from hostler.domain.model.machine import Offer
from hostler.domain.model.resource import Part
from hostler.domain.policy.purchasing import Limits
from hostler.domain.policy.remediation import Diagnosis
from hostler.lab.scenes.fake import Yard
from hostler.ports.preparer import Hides
from hostler.testing.fakes.provider import FakeProvider
from hostler.testing.scenes.builders import BEGIN, FLEET, HOME, OFFER, WEB, ZONE
from hostler.testing.scenes.hosts import BOX, MAIN, MINE, TRAITS, box, fleet_seen, record, view

pytestmark = pytest.mark.looptime

MARK = Call(kind="mark", slot=HOST, zone=ZONE, effect=Effect.DESTROY)
WIPE = replace(MARK, kind="wipe")
ORDER = replace(MARK, kind="order", effect=Effect.MAKE)


class Boxes(FakeProvider):
    """A provider of hosts whose next calls are the first of these that was not made yet."""

    calls: tuple[Call, ...] = (MARK,)
    answer: Outcome = Done()

    def host_calls(self, goal: HostGoal, host: Host, part: Part, now: datetime) -> tuple[Call, ...]:
        del goal, host, part, now
        made = [kind for _, kind, _ in self.world.journal]
        return tuple(call for call in self.calls if call.kind not in made)[:1]

    def pool_of(self, fleet: FleetName) -> str:
        del fleet
        return "pool-"

    def limits(self, fleet: FleetName) -> Limits | None:
        del fleet
        return Limits()

    def order(self, fleet: FleetName, orders: tuple[Order, ...]) -> Call:
        del fleet, orders
        return ORDER

    async def diagnose(self, zone: Zone, host: HostId) -> Diagnosis:
        del zone, host
        return Diagnosis.NO_ANSWER

    async def password(self, zone: Zone, host: HostId) -> Hides | None:
        del zone, host

    def fits(self, fleet: FleetName, offer: Offer, part: Part) -> str:
        del fleet, offer, part
        return ""

    async def do(self, call: Call) -> Outcome:
        self.world.journal.append((self.world.clock.now(), call.kind, None))
        return self.answer


async def _guard(where: str, work: Awaitable[None]) -> None:
    del where
    await work


class Site:
    """One account of hosts, with the host's record, a look that shows it, and its leases."""

    def __init__(self, yard: Yard) -> None:
        self.yard = yard
        self.provider = Boxes(yard.world, HOME, TRAITS)
        account = Account(name=MAIN, provider=self.provider, fleets=(FLEET,))
        self.state = AccountState(account)
        self.budget = Budget(100.0, 100.0)
        self.ports = Ports(
            store=yard.store,
            clock=yard.clock,
            prober=yard.prober,
            meters=yard.meters,
            fresh=yard.fresh,
        )
        self.leases = Leases(yard.store, yard.clock, "me", Settings())
        self.steady = Steadiness(yard.clock, Settings().jump)

    @classmethod
    async def opened(cls, host: Host | None = None, part: Part | None = None) -> "Site":
        site = cls(Yard())
        await site.leases.keep(("account/main", "fleet/web"))
        await site.state.stable.refresh(site.yard.store)
        if host is not None:
            fence = site.tenure().fence
            await site.state.stable.keep(site.yard.store, host, fence)
        site.state.view = view([part or box("wiping")], site.yard.clock.now())
        return site

    def tenure(self, name: str = "account/main") -> Tenure:
        found = self.leases.tenure(name)
        assert found is not None
        return found

    async def turn(self, between: Callable[[], None] | None = None) -> bool:
        """Take a turn of the hosts, and see the calls through; tell whether one is on its way."""
        keeper = Keeper(self.ports, self.state, self.budget, self.leases, self.steady)
        async with asyncio.TaskGroup() as group:
            busy = await keeper.turn(TurnId("t"), self.tenure(), group, _guard)
            if between is not None:
                between()
        return busy

    def made(self) -> list[str]:
        return [kind for _, kind, _ in self.yard.world.journal]

    def host(self) -> Host:
        return self.state.stable.hosts[BOX]


WIPES = record(condition=HostCondition.DIRTY, goal=HostGoal.WIPED, name=box("wiping").name)


async def test_calls_are_made_one_after_the_other_while_their_answers_are_definite() -> None:
    site = await Site.opened(WIPES)
    site.provider.calls = (MARK, WIPE)
    assert await site.turn()
    assert site.made() == ["mark", "wipe"]
    assert not site.state.stable.moving


@pytest.mark.parametrize(
    "answer", [Refused(why=Refusal.BUSY, text="not now"), Unknown(text="nothing came")]
)
async def test_nothing_more_is_asked_of_a_host_after_an_answer_that_is_none(
    answer: Outcome,
) -> None:
    site = await Site.opened(WIPES)
    site.provider.calls, site.provider.answer = (MARK, WIPE), answer
    await site.turn()
    assert site.made() == ["mark"]
    assert site.host().error.startswith("mark: not")


async def test_records_are_read_again_where_a_host_could_not_be_saved() -> None:
    site = await Site.opened(WIPES)
    newer = replace(site.host(), strikes=1)
    await site.yard.store.save_host(newer, (), site.tenure().fence)
    await site.turn()
    assert not site.state.stable.known
    assert site.made() == [], "its record says nothing of it yet"
    await site.turn()
    assert (site.state.stable.known, site.host().strikes, site.made()) == (True, 1, ["mark"])


async def test_nothing_is_asked_of_a_host_that_a_machine_took_meanwhile() -> None:
    site = await Site.opened(WIPES)
    await site.turn(lambda: site.state.stable.ties.update({BOX: MINE}))
    assert site.made() == []


async def test_too_many_calls_for_the_provider_is_a_pause_for_all_others() -> None:
    site = await Site.opened(WIPES)
    long = timedelta(seconds=40)
    site.provider.answer = Refused(why=Refusal.RATE, text="slow down", after=long)
    await site.turn()
    begun = site.yard.clock.now()
    await site.budget.take(Priority.CLEAN)
    assert site.yard.clock.now() - begun >= long - timedelta(seconds=1)


async def test_a_call_that_the_gate_refuses_is_not_sent_and_told() -> None:
    site = await Site.opened(WIPES, box("foreign"))
    keeper = Keeper(site.ports, site.state, site.budget, site.leases, site.steady)
    site.state.view = view([box("wiping")], site.yard.clock.now() - timedelta(hours=1))
    async with asyncio.TaskGroup() as group:
        await keeper.turn(TurnId("t"), site.tenure(), group, _guard)
    assert site.made() == []
    assert "gate: G2" in site.host().error


@pytest.mark.parametrize(
    ("stage", "host", "sent"),
    [
        ("other", replace(WIPES, goal=HostGoal.POOLED), True),
        ("foreign", replace(WIPES, goal=HostGoal.POOLED), False),
        ("foreign", replace(WIPES, adopted=True), True),
        ("wiping", WIPES, True),
    ],
)
async def test_only_hosts_of_ours_and_those_that_somebody_named_are_changed(
    stage: str, host: Host, *, sent: bool
) -> None:
    site = await Site.opened(host, box(stage))
    await site.turn()
    assert (site.made() == ["mark"]) is sent


async def test_a_host_whose_call_is_in_flight_is_left_to_it() -> None:
    site = await Site.opened(WIPES)
    site.state.stable.moving.add(BOX)
    assert await site.turn(), "it is on its way"
    assert site.made() == []


@pytest.mark.parametrize(
    ("stage", "host", "busy"),
    [
        ("wiping", WIPES, True),
        ("ordered", record(condition=HostCondition.COMING), True),
        ("other", record(condition=HostCondition.FREE), True),  # it is dirty from now on
        ("other", record(condition=HostCondition.DIRTY), False),
    ],
)
async def test_hosts_on_their_way_ask_for_quick_looks(
    stage: str, host: Host, *, busy: bool
) -> None:
    site = await Site.opened(host, box(stage))
    site.provider.calls = ()
    assert await site.turn() is busy


# ---------------------------------------------------------------- orders

NEW = Order(id=machine_id(9), offer=OFFER, at=BEGIN)


async def ordered(site: Site, world: str = "") -> FleetRow:
    """Send an order that the fleet's row names beside another one; return the row as stored."""
    site.state.world[WEB] = world
    tenure = site.tenure("fleet/web")
    other = replace(NEW, id=machine_id(8))
    row = FleetRow(name=WEB, created=NEW.at, orders=(other, NEW))
    seen = replace(fleet_seen(()), row=row)
    site.state.rows[WEB] = await site.yard.store.add_fleet(row)
    buyer = Buyer(site.ports, site.state, site.budget, site.leases)
    await buyer.order(OrderHosts(orders=(NEW,)), seen, tenure)
    return site.state.rows[WEB]


async def test_an_order_that_is_sent_stays_on_the_row() -> None:
    site = await Site.opened()
    row = await ordered(site)
    assert site.made() == ["order"]
    assert (len(row.orders), row.setbacks) == (2, ())


async def test_an_order_that_the_gate_refuses_is_not_sent_and_taken_off_the_row_alone() -> None:
    site = await Site.opened()
    row = await ordered(site, "the account shows none of our hosts")
    assert site.made() == []
    assert [order.id for order in row.orders] == [machine_id(8)]
    assert [setback.why for setback in row.setbacks] == ["the account shows none of our hosts"]


@pytest.mark.parametrize(
    ("why", "reason"), [(Refusal.QUOTA, "quota"), (Refusal.STOCK, "out_of_stock")]
)
async def test_an_order_that_was_refused_says_why_and_is_left_alone_for_a_while(
    why: Refusal, reason: str
) -> None:
    site = await Site.opened()
    site.provider.answer = Refused(why=why, text="no")
    row = await ordered(site)
    assert [order.id for order in row.orders] == [machine_id(8)]
    assert [setback.why for setback in row.setbacks] == ["no"]
    (told,) = [k.event for k in await site.yard.store.events() if k.event.kind == "order_refused"]
    assert told.reason == reason
