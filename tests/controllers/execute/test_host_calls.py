"""Keeping hosts and ordering them: what stops a call, and what its answer leads to."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hostler.controllers.execute.evidence import EvidenceMaker
from hostler.controllers.execute.orders import Buyer
from hostler.controllers.execute.sending import Sender
from hostler.controllers.execute.subject_calls import Caller
from hostler.controllers.host_cycle import HostReconciler
from hostler.controllers.runtime.leases import Leases, Tenure
from hostler.controllers.runtime.rate_limit import Budget, Priority
from hostler.controllers.runtime.settings import Account, Ports, Settings
from hostler.controllers.runtime.state import AccountState, Steadiness
from hostler.domain.ids import CycleId, FleetName, HostId, Zone, machine_id
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.commands import OrderHosts
from hostler.domain.model.fleet import FleetRow, Order
from hostler.domain.model.host import HOST, Host, HostCondition, HostGoal
from hostler.domain.model.machine import Offer
from hostler.domain.model.resource import Resource
from hostler.domain.policy.purchasing import Limits
from hostler.domain.policy.remediation import Diagnosis
from hostler.lab.scenes.fake import FakeScene
from hostler.ports.preparer import Hides
from hostler.testing.fakes.provider import FakeProvider
from hostler.testing.scenes.builders import BEGIN, FLEET, HOME, OFFER, WEB, ZONE
from hostler.testing.scenes.hosts import (
    BOX,
    CAPABILITIES,
    MAIN,
    MINE,
    box,
    fleet_snapshot,
    inventory,
    record,
)

pytestmark = pytest.mark.looptime

OWNER_TAG = Call(kind="mark", slot=HOST, zone=ZONE, effect=Effect.DESTROY)
WIPE = replace(OWNER_TAG, kind="wipe")
ORDER = replace(OWNER_TAG, kind="order", effect=Effect.MAKE)


class Boxes(FakeProvider):
    """A provider of hosts whose next calls are the first of these that was not made yet."""

    calls: tuple[Call, ...] = (OWNER_TAG,)
    answer: Outcome = Done()

    def host_calls(
        self, goal: HostGoal, host: Host, resource: Resource, now: datetime
    ) -> tuple[Call, ...]:
        del goal, host, resource, now
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

    def fits(self, fleet: FleetName, offer: Offer, resource: Resource) -> str:
        del fleet, offer, resource
        return ""

    async def do(self, call: Call) -> Outcome:
        self.world.journal.append((self.world.clock.now(), call.kind, None))
        return self.answer


async def _guard(where: str, work: Awaitable[None]) -> None:
    del where
    await work


class Site:
    """One account of hosts, with the host's record, a look that shows it, and its leases."""

    def __init__(self, yard: FakeScene) -> None:
        self.yard = yard
        self.provider = Boxes(yard.world, HOME, CAPABILITIES)
        account = Account(name=MAIN, provider=self.provider, fleets=(FLEET,))
        self.state = AccountState(account)
        self.budget = Budget(100.0, 100.0)
        self.ports = Ports(
            store=yard.store,
            clock=yard.clock,
            prober=yard.prober,
            metrics=yard.metrics,
            fresh=yard.fresh,
        )
        self.leases = Leases(yard.store, yard.clock, "me", Settings())
        self.steady = Steadiness(yard.clock, Settings().jump)

    @classmethod
    async def opened(cls, host: Host | None = None, resource: Resource | None = None) -> "Site":
        site = cls(FakeScene())
        await site.leases.keep(("account/main", "fleet/web"))
        await site.state.host_records.refresh(site.yard.store)
        if host is not None:
            fence = site.tenure().fence
            await site.state.host_records.keep(site.yard.store, host, fence)
        site.state.inventory = inventory([resource or box("wiping")], site.yard.clock.now())
        return site

    def tenure(self, name: str = "account/main") -> Tenure:
        found = self.leases.tenure(name)
        assert found is not None
        return found

    def sender(self) -> Sender:
        return Sender(self.ports, self.state, self.budget)

    def evidence(self) -> EvidenceMaker:
        return EvidenceMaker(self.ports, self.state, self.leases)

    def reconciler(self) -> HostReconciler:
        caller = Caller(self.sender(), self.ports.clock)
        return HostReconciler(self.ports, self.state, caller, self.evidence(), self.steady)

    async def reconcile(self, between: Callable[[], None] | None = None) -> bool:
        """Take a turn of the hosts, and see the calls through; tell whether one is on its way."""
        async with asyncio.TaskGroup() as group:
            busy = await self.reconciler().reconcile(CycleId("t"), self.tenure(), group, _guard)
            if between is not None:
                between()
        return busy

    def made(self) -> list[str]:
        return [kind for _, kind, _ in self.yard.world.journal]

    def host(self) -> Host:
        return self.state.host_records.hosts[BOX]


WIPES = record(condition=HostCondition.DIRTY, goal=HostGoal.CLEAN, name=box("wiping").name)


async def test_calls_are_made_one_after_the_other_while_their_answers_are_definite() -> None:
    site = await Site.opened(WIPES)
    site.provider.calls = (OWNER_TAG, WIPE)
    assert await site.reconcile()
    assert site.made() == ["mark", "wipe"]
    assert not site.state.host_records.moving


@pytest.mark.parametrize(
    "answer", [Refused(why=Refusal.BUSY, text="not now"), Unknown(text="nothing came")]
)
async def test_nothing_more_is_asked_of_a_host_after_an_answer_that_is_none(
    answer: Outcome,
) -> None:
    site = await Site.opened(WIPES)
    site.provider.calls, site.provider.answer = (OWNER_TAG, WIPE), answer
    await site.reconcile()
    assert site.made() == ["mark"]
    assert site.host().error.startswith("mark: not")


async def test_records_are_read_again_where_a_host_could_not_be_saved() -> None:
    site = await Site.opened(WIPES)
    newer = replace(site.host(), strikes=1)
    await site.yard.store.save_host(newer, (), site.tenure().fence)
    await site.reconcile()
    assert not site.state.host_records.known
    assert site.made() == [], "its record says nothing of it yet"
    await site.reconcile()
    assert (site.state.host_records.known, site.host().strikes, site.made()) == (True, 1, ["mark"])


async def test_nothing_is_asked_of_a_host_that_a_machine_took_meanwhile() -> None:
    site = await Site.opened(WIPES)
    await site.reconcile(lambda: site.state.host_records.bindings.update({BOX: MINE}))
    assert site.made() == []


async def test_too_many_calls_for_the_provider_is_a_pause_for_all_others() -> None:
    site = await Site.opened(WIPES)
    long = timedelta(seconds=40)
    site.provider.answer = Refused(why=Refusal.RATE, text="slow down", after=long)
    await site.reconcile()
    begun = site.yard.clock.now()
    await site.budget.take(Priority.CLEAN)
    assert site.yard.clock.now() - begun >= long - timedelta(seconds=1)


async def test_a_call_that_the_gate_refuses_is_not_sent_and_told() -> None:
    site = await Site.opened(WIPES, box("foreign"))
    site.state.inventory = inventory([box("wiping")], site.yard.clock.now() - timedelta(hours=1))
    async with asyncio.TaskGroup() as group:
        await site.reconciler().reconcile(CycleId("t"), site.tenure(), group, _guard)
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
    await site.reconcile()
    assert (site.made() == ["mark"]) is sent


async def test_a_host_whose_call_is_in_flight_is_left_to_it() -> None:
    site = await Site.opened(WIPES)
    site.state.host_records.moving.add(BOX)
    assert await site.reconcile(), "it is on its way"
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
async def test_hosts_on_their_way_ask_for_quick_observations(
    stage: str, host: Host, *, busy: bool
) -> None:
    site = await Site.opened(host, box(stage))
    site.provider.calls = ()
    assert await site.reconcile() is busy


# ---------------------------------------------------------------- orders

NEW = Order(id=machine_id(9), offer=OFFER, at=BEGIN)


async def ordered(site: Site, world: str = "") -> FleetRow:
    """Send an order that the fleet's row names beside another one; return the row as stored."""
    site.state.world[WEB] = world
    tenure = site.tenure("fleet/web")
    other = replace(NEW, id=machine_id(8))
    row = FleetRow(name=WEB, created=NEW.at, orders=(other, NEW))
    snapshot = replace(fleet_snapshot(()), row=row)
    site.state.rows[WEB] = await site.yard.store.add_fleet(row)
    buyer = Buyer(site.ports, site.state, site.sender(), site.evidence())
    await buyer.order(OrderHosts(orders=(NEW,)), snapshot, tenure)
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
