"""Reclaim: removes what no record explains, after reading provider and records once more.

A re-check that fails, or that finds anything other than what was decided on, ends it with no act.
"""

from collections.abc import Callable

import structlog
from msgspec.structs import replace

from hostler.controllers.runtime.leases import Tenure
from hostler.controllers.runtime.measurements import count_taken_back
from hostler.controllers.runtime.rate_limit import Budget, Priority
from hostler.controllers.runtime.settings import Ports
from hostler.controllers.runtime.state import AccountState
from hostler.domain.hosts.next_calls import moved_events
from hostler.domain.ids import HostId, MachineId, ResourceId
from hostler.domain.model.calls import Call, Done
from hostler.domain.model.commands import Reclaim
from hostler.domain.model.host import Host, HostCondition, HostGoal, allocation_of
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Resource, Scope
from hostler.domain.model.snapshot import Orphan, Snapshot
from hostler.domain.policy.gate import Evidence

from .evidence import EvidenceMaker, Reread
from .sending import Sender

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.reclaim")


class Reclaimer:
    """Reclaims orphans of one account."""

    def __init__(
        self,
        ports: Ports,
        state: AccountState,
        budget: Budget,
        sender: Sender,
        evidence_maker: EvidenceMaker,
    ) -> None:
        self._ports, self._state, self._budget = ports, state, budget
        self._sender, self._evidence_maker = sender, evidence_maker
        self._provider = state.account.provider

    async def reclaim(self, command: Reclaim, snapshot: Snapshot, tenure: Tenure) -> None:
        """Remove the command's resources as far as possible; the orphan report keeps the rest."""
        if self._provider.capabilities.hosts:
            await self._take_back(command, snapshot, tenure)
            return
        orphans = {orphan.resource: orphan for orphan in command.orphans}
        await self._budget.take(Priority.CLEAN, len(command.resources))
        resources = await self._reread(command)
        if resources is None:
            return
        read = await self._records_read(command)
        calls = self._provider.next_calls(Goal.ABSENT, command.placeholder, resources, snapshot.now)
        for call in calls:
            orphan = orphans.get(call.target) if call.target else None
            if orphan is None:
                continue

            def evidence(orphan: Orphan = orphan) -> Evidence:
                return self._evidence_maker.of_orphan(orphan, snapshot, tenure, read)

            if not await self._remove(call, orphan, snapshot, evidence):
                return

    async def _take_back(self, command: Reclaim, snapshot: Snapshot, tenure: Tenure) -> None:
        """Take orphaned hosts into records of their own, to be wiped and put back as any other."""
        orphans = {orphan.resource: orphan for orphan in command.orphans}
        for resource in command.resources:
            scope = Scope(
                resource.zone,
                snapshot.capabilities.main.kind,
                command.placeholder.id,
                (_tenancy(resource),),
            )
            await self._budget.take(Priority.OBSERVE, self._provider.cost(scope))
            observation = await self._provider.observe((scope,))
            read = await self._records_read(command)
            if not all(observed.complete for observed in observation.observed):
                return
            now = next((found for found in observation.resources if found.id == resource.id), None)
            if (
                now is None
                or not _same_host(now, resource)
                or await self._is_explained(resource, command)
            ):
                log.info("not reclaimed", host=resource.id, why="it is not as it was decided on")
                return
            orphan = orphans[resource.id]
            evidence = self._evidence_maker.of_orphan(orphan, snapshot, tenure, read)
            if self._sender.gate(evidence):
                return
            await self._record(now, command.placeholder.id, snapshot, tenure)
            count_taken_back(self._ports.metrics, snapshot.fleet.name)
            log.warning("reclaimed", host=resource.id, name=resource.name, cycle=snapshot.cycle)

    async def _is_explained(self, resource: Resource, command: Reclaim) -> bool:
        """Read the records again, uncached: whether any of them explains the host by now."""
        store, host = self._ports.store, HostId(resource.id)
        binding = dict(await store.bindings()).get(host)
        if binding is not None and await store.machine(binding) is not None:
            return True
        machine = await store.machine(command.placeholder.id)
        if machine is not None and machine.phase is not Phase.DELETED:
            return True
        record = next((one for one in await store.hosts() if one.id == host), None)
        return record is not None and record.goal is not None

    async def _record(
        self, resource: Resource, machine: MachineId, snapshot: Snapshot, tenure: Tenure
    ) -> None:
        host_records, host = self._state.host_records, HostId(resource.id)
        known = host_records.hosts.get(host)
        record = known or Host(id=host, account=snapshot.fleet.account, zone=resource.zone)
        orphan = replace(
            record.with_ownership(
                pool=resource.host.pool or record.ownership.pool, name=resource.name
            ).with_cleaning(wiped=None, wiping=None),
            machine=machine,
            fleet=snapshot.fleet.name,
            goal=HostGoal.CLEAN,
            type=resource.type,
        ).now(HostCondition.DIRTY, snapshot.now, "reclaimed")
        events = moved_events(known, orphan, snapshot.cycle, snapshot.now)
        await host_records.keep(self._ports.store, orphan, tenure.fence, events)
        if (binding := host_records.bindings.get(host)) is not None:
            await host_records.unbind(self._ports.store, host, binding, tenure.fence)

    async def _records_read(self, command: Reclaim) -> Reread:
        """Return whether the id that owner tags name is one of ours, and when that was read."""
        machine = command.placeholder.id
        issued = machine in await self._ports.store.issued((machine,))
        return Reread(at=self._ports.clock.now(), issued=issued)

    async def _reread(self, command: Reclaim) -> tuple[Resource, ...] | None:
        """Read the provider, then the records; None unless both say what was decided on."""
        placeholder, decided = (
            command.placeholder,
            {resource.id: resource for resource in command.resources},
        )
        scopes = tuple(
            Scope(resource.zone, resource.slot.kind, placeholder.id, (resource.id,))
            for resource in command.resources
        )
        await self._budget.take(Priority.OBSERVE, sum(map(self._provider.cost, scopes)))
        observation = await self._provider.observe(scopes)
        if not all(observed.complete for observed in observation.observed):
            return None
        if await self._ports.store.machine(placeholder.id) is not None:
            log.info("not reclaimed", machine=placeholder.id, why="a record explains it by now")
            return None
        found = tuple(resource for resource in observation.resources if resource.id in decided)
        same = all(_same(resource, decided[resource.id]) for resource in found)
        return found if same else None

    async def _remove(
        self, call: Call, orphan: Orphan, snapshot: Snapshot, evidence: Callable[[], Evidence]
    ) -> bool:
        sent = await self._sender.send(call, evidence, f"reclaim.{call.kind}")
        if sent.barred:
            return False
        log.warning(
            "reclaimed",
            resource=orphan.resource,
            call=call.kind,
            outcome="done" if isinstance(sent.outcome, Done) else "failed",
            cycle=snapshot.cycle,
        )
        return isinstance(sent.outcome, Done)


def _tenancy(resource: Resource) -> ResourceId:
    return allocation_of(HostId(resource.id), resource.host.holder or MachineId(""))


def _same_host(now: Resource, decided: Resource) -> bool:
    """Tell whether a host is what was decided on: its name, status, place and promises."""
    return _judged_by(now) == _judged_by(decided)


def _judged_by(resource: Resource) -> tuple[object, ...]:
    facts = resource.host
    promises = facts.stage, facts.holder, facts.delivered, facts.scheduled
    return (*promises, resource.name, resource.status, resource.zone, resource.type)


def _same(now: Resource, decided: Resource) -> bool:
    """Tell whether a resource is what was decided on, field by field; its price may come later.

    Where a resource has no owner tag of its own, its owner's was decided on.
    """
    owner_tag = decided.owner_tag if now.owner_tag is None else now.owner_tag
    return replace(now, price=0.0, owner_tag=owner_tag) == replace(decided, price=0.0)
