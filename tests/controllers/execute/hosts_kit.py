"""Hosts kit: one account of hosts, with its records, inventory and leases, and no engine around."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

from msgspec.structs import replace

from hostler.controllers.execute.evidence import EvidenceMaker
from hostler.controllers.execute.orders import Buyer
from hostler.controllers.execute.sending import Sender
from hostler.controllers.execute.subject_calls import Caller
from hostler.controllers.host_cycle import HostReconciler
from hostler.controllers.observe.snapshot import Occasion
from hostler.controllers.runtime.leases import Leases, Tenure
from hostler.controllers.runtime.rate_limit import Budget
from hostler.controllers.runtime.settings import Account, Ports, Settings
from hostler.controllers.runtime.state import AccountState, Steadiness
from hostler.domain.ids import CycleId, FleetName, HostId, Zone, machine_id
from hostler.domain.model.calls import Call, Done, Effect, Outcome
from hostler.domain.model.commands import OrderHosts
from hostler.domain.model.fleet import FleetRow, Order
from hostler.domain.model.host import HOST, Host, HostGoal
from hostler.domain.model.machine import Offer
from hostler.domain.model.resource import Resource
from hostler.domain.policy.purchasing import Limits
from hostler.domain.policy.remediation import Diagnosis
from hostler.lab.scenes.fake import FakeScene
from hostler.ports.preparer import Hides
from hostler.testing.fakes.provider import FakeProvider
from hostler.testing.scenes.builders import BEGIN, FLEET, HOME, OFFER, WEB, ZONE
from hostler.testing.scenes.hosts import BOX, CAPABILITIES, MAIN, box, fleet_snapshot, inventory

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


async def unguarded(where: str, work: Awaitable[None]) -> None:
    """Let what fails fail the test."""
    del where
    await work


class Site:
    """One account of hosts, with the host's record, a look that shows it, and its leases."""

    def __init__(self, rig: FakeScene) -> None:
        self.rig = rig
        self.provider = Boxes(rig.world, HOME, CAPABILITIES)
        account = Account(name=MAIN, provider=self.provider, fleets=(FLEET,))
        self.state = AccountState(account)
        self.budget = Budget(100.0, 100.0)
        self.ports = Ports(
            store=rig.store,
            clock=rig.clock,
            prober=rig.prober,
            metrics=rig.metrics,
            fresh=rig.fresh,
        )
        self.leases = Leases(rig.store, rig.clock, "me", Settings())
        self.steady = Steadiness(rig.clock, Settings().jump)

    @classmethod
    async def opened(cls, host: Host | None = None, resource: Resource | None = None) -> "Site":
        holder = resource.host.holder if resource is not None else None
        site = cls(FakeScene(issued=(holder,) if holder is not None else ()))
        await site.leases.keep(("account/main", "fleet/web"))
        await site.state.host_records.refresh(site.rig.store)
        if host is not None:
            fence = site.tenure().fence
            await site.state.host_records.keep(site.rig.store, host, fence)
        site.state.inventory = inventory([resource or box("wiping")], site.rig.clock.now())
        return site

    def tenure(self, name: str = "account/main") -> Tenure:
        found = self.leases.tenure(name)
        assert found is not None
        return found

    def sender(self) -> Sender:
        return Sender(self.ports, self.state, self.budget)

    def evidence(self) -> EvidenceMaker:
        return EvidenceMaker(self.ports, self.state, self.leases)

    async def occasion(self) -> Occasion:
        identity = await self.rig.store.identity()
        return Occasion(cycle=CycleId("t"), tenure=self.tenure(), identity=identity)

    def reconciler(self) -> HostReconciler:
        caller = Caller(self.sender(), self.ports.clock)
        return HostReconciler(self.ports, self.state, caller, self.evidence(), self.steady)

    async def reconcile(self, between: Callable[[], None] | None = None) -> bool:
        """Take a turn of the hosts, and see the calls through; tell whether one is on its way."""
        async with asyncio.TaskGroup() as group:
            busy = await self.reconciler().reconcile(await self.occasion(), group, unguarded)
            if between is not None:
                between()
        return busy

    def made(self) -> list[str]:
        return [kind for _, kind, _ in self.rig.world.journal]

    def host(self) -> Host:
        return self.state.host_records.hosts[BOX]


NEW = Order(id=machine_id(9), offer=OFFER, at=BEGIN)


async def ordered(site: Site, world: str = "") -> FleetRow:
    """Send an order that the fleet's row names beside another one; return the row as stored."""
    site.state.world[WEB] = world
    tenure = site.tenure("fleet/web")
    other = replace(NEW, id=machine_id(8))
    row = FleetRow(name=WEB, created=NEW.at, orders=(other, NEW))
    snapshot = replace(fleet_snapshot(()), row=row)
    site.state.rows[WEB] = await site.rig.store.add_fleet(row)
    buyer = Buyer(site.ports, site.state, site.sender(), site.evidence())
    await buyer.order(OrderHosts(orders=(NEW,)), snapshot, tenure)
    return site.state.rows[WEB]
