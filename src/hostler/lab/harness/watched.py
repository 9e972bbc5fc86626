"""The real provider of a simulated process; what it is asked and answers is checked."""

import asyncio
import contextvars
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import FleetName, HostId, Zone
from hostler.domain.model.calls import Call, Effect, Outcome
from hostler.domain.model.fleet import Order
from hostler.domain.model.host import HOST, Host, HostGoal
from hostler.domain.model.machine import Machine, Offer
from hostler.domain.model.phases import Goal
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import Observation, Resource, Scope
from hostler.domain.policy.purchasing import Limits
from hostler.domain.policy.remediation import Diagnosis
from hostler.ports.hosts import BuysHosts, DiagnosesHosts, KeepsHosts, KnowsPasswords, PoolsHosts
from hostler.ports.preparer import Hides
from hostler.ports.provider import Connection, Provider
from hostler.testing.invariants import begun

from .prediction import PredictionCheck
from .process_run import ProcessRun


class CallUnderWay(Struct, frozen=True):
    """A call that is being made, and since when."""

    call: Call
    begun: float


UNDER_WAY: contextvars.ContextVar[CallUnderWay | None] = contextvars.ContextVar(
    "under_way", default=None
)
"""The call of a provider of hosts in whose name a request is sent."""


ANSWERS: contextvars.ContextVar[list[tuple[str, int]] | None] = contextvars.ContextVar(
    "answers", default=None
)
"""The method and status of each change that the present call asked for; 0 where no answer came."""


class WatchedProvider:
    """The real provider; what it is asked and answers is held against what was predicted."""

    def __init__(self, inner: Provider, run: ProcessRun, prediction: PredictionCheck) -> None:
        self._inner, self._run, self._prediction = inner, run, prediction

    @property
    def capabilities(self) -> Capabilities:
        """How its machines behave."""
        return self._inner.capabilities

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        """Observe, and note what was seen whole."""
        observation = await self._inner.observe(scopes)
        self._prediction.invalidate_steps()
        self._prediction.observed = asyncio.get_running_loop().time()
        self._run.checker.observed(observation)
        return observation

    async def do(self, call: Call) -> Outcome:
        """Make one call."""
        run, described = self._run, self.described(call)
        run.checker.found(self._prediction.doing(described))
        run.checker.calling(described)
        run.checker.doing(run.shadow, described, ahead=run.clock.ahead)
        token = ANSWERS.set([])
        try:
            outcome = await self._inner.do(call)
            self._prediction.done(described, outcome)
            run.checker.did(run.shadow, described, outcome)
        finally:
            ANSWERS.reset(token)
        return outcome

    def described(self, call: Call) -> Call:
        """Return the call as the checks are to see it."""
        return call

    def next_calls(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...], now: datetime
    ) -> tuple[Call, ...]:
        """Return the calls that may be made now."""
        return self._inner.next_calls(goal, machine, resources, now)

    def connection(self, machine: Machine, resources: tuple[Resource, ...]) -> Connection | None:
        """Return how to reach the machine."""
        return self._inner.connection(machine, resources)

    def provider_id(self, machine: Machine, resources: tuple[Resource, ...]) -> str | None:
        """Return the machine's id as Kubernetes knows it."""
        return self._inner.provider_id(machine, resources)

    def cost(self, call: Call | Scope) -> int:
        """Return how many requests this takes."""
        return self._inner.cost(call)

    async def close(self) -> None:
        """Give back connections."""
        await self._inner.close()


class WatchedHosts(WatchedProvider):
    """The real provider of hosts that outlive machines: each call is checked with its machine."""

    def __init__(
        self, inner: Provider, hosts: KeepsHosts, run: ProcessRun, prediction: PredictionCheck
    ) -> None:
        super().__init__(inner, run, prediction)
        self._hosts = hosts
        self._pools = hosts if isinstance(hosts, PoolsHosts) else None
        self._buys = hosts if isinstance(hosts, BuysHosts) else None

    async def do(self, call: Call) -> Outcome:
        """Make one call; it is begun under a lease (S8), whenever its last request is sent.

        What a process that died just now begins is stopped at its gates.
        """
        run = self._run
        if not run.gate.dead:
            run.checker.found(begun(holds_lease=run.holds_lease(), call=str(call)))
        if call.slot == HOST and call.effect is Effect.MAKE and not run.gate.dead:
            return await self._order(call)
        token = UNDER_WAY.set(CallUnderWay(named(call), asyncio.get_running_loop().time()))
        try:
            return await super().do(call)
        finally:
            UNDER_WAY.reset(token)

    async def _order(self, call: Call) -> Outcome:
        """Order hosts; a process may die just before, or with the answer in its hands."""
        await self._run.gate.pass_through("order", before=True)
        outcome = await super().do(call)
        await self._run.gate.pass_through("order", before=False)
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
        return self._pools.pool_of(fleet) if self._pools is not None else ""

    def limits(self, fleet: FleetName) -> Limits | None:
        """Return the limits of ordering hosts."""
        return self._buys.limits(fleet) if self._buys is not None else None

    def order(self, fleet: FleetName, orders: tuple[Order, ...]) -> Call:
        """Return the call that orders hosts; a provider without limits is never asked."""
        if self._buys is None:
            raise TypeError(type(self._hosts))
        return self._buys.order(fleet, orders)

    async def diagnose(self, zone: Zone, host: HostId) -> Diagnosis:
        """Ask how healthy a host is."""
        if not isinstance(self._hosts, DiagnosesHosts):
            return Diagnosis.NO_ANSWER
        return await self._hosts.diagnose(zone, host)

    async def password(self, zone: Zone, host: HostId) -> Hides | None:
        """Return the password of the host's user."""
        if not isinstance(self._hosts, KnowsPasswords):
            return None
        return await self._hosts.password(zone, host)

    def fits(self, fleet: FleetName, offer: Offer, resource: Resource) -> str:
        """Return why a host is none for an offer."""
        return self._hosts.fits(fleet, offer, resource)


def named(call: Call) -> Call:
    """Return a call that names its machine, as its target does; a host's own call names none."""
    target = str(call.target or "")
    args = tuple(arg for arg in call.args if arg[0] != "machine")
    if call.slot == HOST:
        return replace(call, args=args)
    machine = call.arg("machine") or target.partition("#")[2]
    return replace(call, args=(*args, ("machine", machine)))


def watched(inner: Provider, run: ProcessRun, prediction: PredictionCheck) -> WatchedProvider:
    """Return a provider that is checked, as one of hosts where it is one."""
    if isinstance(inner, KeepsHosts):
        return WatchedHosts(inner, inner, run, prediction)
    return WatchedProvider(inner, run, prediction)
