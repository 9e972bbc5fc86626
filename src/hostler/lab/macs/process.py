"""Process: how the real provider of Macs is watched: what it asks is told with its machine."""

import contextvars
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol, runtime_checkable

from hostler.domain.ids import FleetName, HostId, Zone
from hostler.domain.model.calls import Call, Outcome
from hostler.domain.model.fleet import Order
from hostler.domain.model.host import HOST, Host, HostGoal
from hostler.domain.model.machine import Offer
from hostler.domain.model.resource import Resource
from hostler.domain.policy.purchasing import Limits
from hostler.domain.policy.remediation import Diagnosis
from hostler.lab.harness.gates import Gate
from hostler.lab.harness.prediction import PredictionCheck
from hostler.lab.harness.process import Process, WatchedProvider
from hostler.ports.hosts import BuysHosts, DiagnosesHosts, KeepsHosts, KnowsPasswords, PoolsHosts
from hostler.ports.preparer import Hides
from hostler.ports.provider import Provider
from hostler.providers.scaleway.macs.plan.machine_calls import ORDER
from hostler.testing.invariants import begun


@dataclass(frozen=True, slots=True)
class Doing:
    """A call that is being made, and since when."""

    call: Call
    begun: float


DOING: contextvars.ContextVar[Doing | None] = contextvars.ContextVar("doing", default=None)
"""The call in whose name a request is sent."""


def named(call: Call) -> Call:
    """Return a call that names its machine, as its target does; a host's own call names none."""
    target = str(call.target or "")
    args = tuple(arg for arg in call.args if arg[0] != "machine")
    if call.slot == HOST:
        return replace(call, args=args)
    machine = call.arg("machine") or target.partition("#")[2]
    return replace(call, args=(*args, ("machine", machine)))


@runtime_checkable
class LeasesHosts(KeepsHosts, PoolsHosts, BuysHosts, DiagnosesHosts, KnowsPasswords, Protocol):
    """A provider with every ability that hosts can have."""


class WatchedMacs(WatchedProvider):
    """The real provider, and the half of it that hosts need."""

    def __init__(self, inner: Provider, process: Process, prediction: PredictionCheck) -> None:
        super().__init__(inner, process, prediction)
        if not isinstance(inner, LeasesHosts):
            raise TypeError(type(inner))
        self._hosts: LeasesHosts = inner

    async def do(self, call: Call) -> Outcome:
        """Make one call; it is begun under a lease (S8), whenever its last request is sent.

        What a process that died just now begins is stopped at its gates.
        """
        process, run = self._process, self._process.incarnation
        if run is not None:
            found = begun(holds_lease=process.holds_lease(), call=str(call))
            process.home.checker.found(found)
        if call.kind == ORDER and run is not None:
            return await self._order(call, run.gate)
        token = DOING.set(Doing(named(call), process.home.loop.time()))
        try:
            return await super().do(call)
        finally:
            DOING.reset(token)

    async def _order(self, call: Call, gate: Gate) -> Outcome:
        """Order hosts; a process may die just before, or with the answer in its hands."""
        await gate.pass_through("order", before=True)
        outcome = await super().do(call)
        await gate.pass_through("order", before=False)
        return outcome

    def described(self, call: Call) -> Call:
        """Return the call with its machine."""
        return named(call)

    def host_calls(
        self, goal: HostGoal, host: Host, resource: Resource, now: datetime
    ) -> tuple[Call, ...]:
        """Return the calls that may be made now for a host."""
        return self._hosts.host_calls(goal, host, resource, now)

    def pool_of(self, fleet: FleetName) -> str:
        """Return how the names in a fleet's pool begin."""
        return self._hosts.pool_of(fleet)

    def limits(self, fleet: FleetName) -> Limits | None:
        """Return the limits of ordering hosts."""
        return self._hosts.limits(fleet)

    def order(self, fleet: FleetName, orders: tuple[Order, ...]) -> Call:
        """Return the call that orders hosts."""
        return self._hosts.order(fleet, orders)

    async def diagnose(self, zone: Zone, host: HostId) -> Diagnosis:
        """Ask how healthy a host is."""
        return await self._hosts.diagnose(zone, host)

    async def password(self, zone: Zone, host: HostId) -> Hides | None:
        """Return the password of the host's user."""
        return await self._hosts.password(zone, host)

    def fits(self, fleet: FleetName, offer: Offer, resource: Resource) -> str:
        """Return why a host is none for an offer."""
        return self._hosts.fits(fleet, offer, resource)
