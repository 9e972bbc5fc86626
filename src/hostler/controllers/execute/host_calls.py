"""Host calls: an account's hosts that no machine has: one cycle, and the calls on each of them."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import structlog

from hostler.controllers.runtime.host_records import HostRecords
from hostler.controllers.runtime.leases import Leases, Tenure
from hostler.controllers.runtime.rate_limit import Budget, Priority
from hostler.controllers.runtime.settings import Ports
from hostler.controllers.runtime.state import AccountState, Steadiness
from hostler.domain.errors import Fenced, StoreError
from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.hosts.next_calls import (
    answered_events,
    apply_to_host,
    asked_events,
    host_allowed,
    host_resource,
    moved_events,
)
from hostler.domain.ids import CycleId, HostId, MachineId, ResourceId
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.host import OTHERS, TENANT, Host, HostCondition, HostGoal, ask_host
from hostler.domain.model.resource import Resource
from hostler.domain.model.snapshot import HostsSnapshot, HostTransition
from hostler.domain.policy.gate import Act, Evidence, pass_gate

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.hosts")

_LONGEST_STEP = 8
"""More calls than this in one step mean that something answers without effect: observe again."""

Guard = Callable[[str, Awaitable[None]], Awaitable[None]]


async def gather_hosts(
    ports: Ports, state: AccountState, number: CycleId, tenure: Tenure, steadiness: Steadiness
) -> HostsSnapshot:
    """Return what a cycle of an account's hosts sees; its inventory is older than every record."""
    host_records, fleets = state.host_records, state.account.fleets
    await host_records.refresh(ports.store)
    living = {m.id: m for fleet in fleets for m in state.living(fleet.name)}
    lost = tuple(sorted({*host_records.bindings.values(), *_claimants(state)} - living.keys()))
    past = await ports.store.history(lost) if lost else ()
    return HostsSnapshot(
        cycle=number,
        now=ports.clock.now(),
        account=state.account.name,
        hosts=dict(host_records.hosts),
        bindings=dict(host_records.bindings),
        machines=living,
        past={machine.id: machine for machine in past},
        inventory=state.inventory,
        capabilities=state.account.provider.capabilities,
        epoch=tenure.epoch,
        took=tenure.took,
        jumped=steadiness.jumped,
        absence_gap=max(fleet.timers.absence_gap for fleet in fleets),
        moving=frozenset(host_records.moving),
        starved=frozenset(fleet for fleet, many in state.missing.items() if many),
        orders=state.orders(),
    )


def _claimants(state: AccountState) -> Iterator[MachineId]:
    """Yield the machines that the names of recorded hosts tell of as their tenants."""
    hosts, kind = state.host_records.hosts, state.account.provider.capabilities.hosts
    for sighting in state.inventory.sightings.values():
        resource = sighting.resource
        if (
            resource.slot.kind == kind
            and HostId(resource.id) in hosts
            and resource.note("stage") in TENANT
        ):
            yield MachineId(resource.note("holder"))


@dataclass(frozen=True, slots=True)
class Errand:
    """What calls on a host are made for: the cycle that decided it, its goal, and by what right."""

    cycle: CycleId
    goal: HostGoal
    tenure: Tenure


class Keeper:
    """Keeps the hosts of one account that has any."""

    def __init__(
        self, ports: Ports, state: AccountState, budget: Budget, leases: Leases, steady: Steadiness
    ) -> None:
        self._ports, self._state = ports, state
        self._budget, self._leases, self._steady = budget, leases, steady
        self._provider = state.account.provider
        self._counted: tuple[object, object] = (None, None)

    @property
    def _host_records(self) -> HostRecords:
        return self._state.host_records

    async def reconcile(
        self, number: CycleId, tenure: Tenure, group: asyncio.TaskGroup, guard: Guard
    ) -> bool:
        """Take one cycle of all hosts; tell whether any of them is on its way somewhere."""
        if self._state.keeps is None:
            return False
        snapshot = await gather_hosts(self._ports, self._state, number, tenure, self._steady)
        transitions = decide_hosts(snapshot)
        for transition in transitions:
            await self._apply(transition, snapshot, tenure, group, guard)
        self._count_hosts()
        return any(map(_may_move, transitions)) or bool(self._host_records.moving)

    def _count_hosts(self) -> None:
        """Note how all hosts of the account stand, and until when they are paid."""
        sightings, hosts = self._state.inventory.sightings, self._host_records.hosts
        if sightings is self._counted[0] and hosts is self._counted[1]:
            return
        self._counted = sightings, hosts
        kind, counts = self._provider.capabilities.hosts, Counter[tuple[str, str, str]]()
        until = dict[tuple[str, str], datetime]()
        for sighting in sightings.values():
            resource = sighting.resource
            if resource.slot.kind == kind:
                record = hosts.get(HostId(resource.id))
                state = str(record.condition) if record else resource.note("stage")
                counts[resource.zone, resource.note("type"), state] += 1
                if told := resource.note("deletable"):
                    until[resource.zone, resource.id] = datetime.fromisoformat(told)
        self._ports.metrics.hosts(self._state.account.name, counts)
        self._ports.metrics.paid(self._state.account.name, until)

    async def _apply(
        self,
        transition: HostTransition,
        snapshot: HostsSnapshot,
        tenure: Tenure,
        group: asyncio.TaskGroup,
        guard: Guard,
    ) -> None:
        """Save what changed, unbind a machine that is deleted, and start the work."""
        host = transition.host
        try:
            if transition.changed:
                told = moved_events(transition.before, host, snapshot.cycle, snapshot.now)
                host = await self._host_records.keep(self._ports.store, host, tenure.fence, told)
                self._say(transition)
            if transition.unbind is not None:
                await self._host_records.unbind(
                    self._ports.store, host.id, transition.unbind, tenure.fence
                )
        except Fenced:
            raise
        except StoreError as error:
            log.warning("host not saved", host=host.id, error=str(error))
            return
        if transition.goal is not None and transition.resource is not None:
            self._host_records.moving.add(host.id)
            work = self._advance(
                Errand(snapshot.cycle, transition.goal, tenure), host, transition.resource
            )
            group.create_task(self._guarded(guard, work))

    @staticmethod
    async def _guarded(guard: Guard, work: Awaitable[None]) -> None:
        await guard("host", work)

    def _say(self, transition: HostTransition) -> None:
        before, host = transition.before, transition.host
        if before.condition is not host.condition or before.goal is not host.goal:
            log.info(
                "host",
                host=host.id,
                machine=host.machine,
                was=before.condition,
                now=host.condition,
                goal=host.goal,
                reason=host.reason,
            )

    async def _advance(self, errand: Errand, host: Host, resource: Resource) -> None:
        """Make the calls that may be made now, each recorded, gated, sent and folded."""
        try:
            for _ in range(_LONGEST_STEP):
                found = self._next(errand.goal, host, resource)
                if not found:
                    return
                went = await self._one(errand, host, resource, found[0])
                if went is None:
                    return
                host, resource = went
        except StoreError as error:
            log.warning("host not saved", host=host.id, error=str(error))
        finally:
            self._host_records.moving.discard(host.id)

    def _next(self, goal: HostGoal, host: Host, resource: Resource) -> tuple[Call, ...]:
        provider = self._state.keeps
        observed_at = self._observed_at(resource)
        if observed_at is None or provider is None:
            return ()
        return host_allowed(goal, host, resource, observed_at, self._ports.clock.now(), provider)

    def _observed_at(self, resource: Resource) -> datetime | None:
        sighting = self._state.inventory.sightings.get(resource.id)
        return self._state.inventory.observed_at(sighting) if sighting else None

    async def _one(
        self, errand: Errand, host: Host, resource: Resource, call: Call
    ) -> tuple[Host, Resource] | None:
        """Make one call; None ends the step."""
        await self._budget.take(Priority.CLEAN, self._provider.cost(call))
        clock, tenure = self._ports.clock, errand.tenure
        if host.id in self._host_records.bindings:
            return None
        if call.once:
            told = asked_events(host, call, errand.cycle, clock.now())
            record = ask_host(host, call, clock.now(), tenure.epoch)
            host = await self._host_records.keep(self._ports.store, record, tenure.fence, told)
        barred = pass_gate(self._evidence(host, call, tenure))
        if barred:
            for bar in barred:
                self._ports.metrics.barred(bar.check)
            text = "; ".join(f"{bar.check} {bar.text}" for bar in barred)
            outcome: Outcome = Refused(why=Refusal.NOT_SENT, text=f"gate: {text}")
        else:
            outcome = await self._provider.do(call)
        self._count(call, outcome)
        told = answered_events(host, call, outcome, errand.cycle, clock.now())
        folded = apply_to_host(host, call, outcome, clock.now())
        host = await self._host_records.keep(self._ports.store, folded, tenure.fence, told)
        after = host_resource(resource, outcome)
        return (host, after) if isinstance(outcome, Done) and after is not None else None

    def _count(self, call: Call, outcome: Outcome) -> None:
        word = "done" if isinstance(outcome, Done) else "unknown"
        if isinstance(outcome, Refused):
            word = f"refused_{outcome.why}"
        self._ports.metrics.called(self._state.account.name, call.kind, word)
        if isinstance(outcome, Refused | Unknown):
            log.info("host call", call=str(call), outcome=word, text=outcome.text)
        if isinstance(outcome, Refused) and outcome.why is Refusal.RATE:
            self._budget.refused(outcome.after)
        else:
            self._budget.accepted()

    def _evidence(self, host: Host, call: Call, tenure: Tenure) -> Evidence:
        clock, resource = self._ports.clock, self._state.inventory.resource(ResourceId(host.id))
        return Evidence(
            act=Act.DELETE if call.effect is Effect.DESTROY else Act.CHANGE,
            now=clock.now(),
            boot=clock.boot(),
            lease_until=self._leases.until(tenure.lease.name),
            deadline=self._provider.capabilities.deadline,
            ours=resource is not None and _is_ours(host, resource),
            observed=self._observed_at(resource) if resource is not None else None,
            observation_limit=max(f.timers.observation_limit for f in self._state.account.fleets),
        )


def _is_ours(host: Host, resource: Resource) -> bool:
    """Tell whether the host's name is ours, or somebody named it to be put into the pool."""
    if host.adopted and resource.note("stage") == "foreign":
        return True
    if host.goal is HostGoal.POOLED:
        return resource.note("stage") != "foreign"
    return resource.note("stage") not in OTHERS


def _may_move(transition: HostTransition) -> bool:
    """Tell whether an observation may soon show more of a host of which nothing is asked."""
    changed = transition.host.condition is not transition.before.condition
    return changed or transition.host.condition is HostCondition.COMING
