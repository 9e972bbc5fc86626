"""Sweeping: removes what no record explains, after reading provider and records once more.

A re-check that fails, or that finds anything other than what was decided on, ends the sweep with
no act.
"""

from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from hostler.controllers.runtime.leases import Leases, Tenure
from hostler.controllers.runtime.rate_limit import Budget, Priority
from hostler.controllers.runtime.settings import Ports
from hostler.controllers.runtime.state import AccountState
from hostler.domain.hosts.next_calls import moved_events
from hostler.domain.ids import HostId, MachineId, PartId
from hostler.domain.model.calls import Call, Done
from hostler.domain.model.commands import Reclaim
from hostler.domain.model.host import Host, HostCondition, HostGoal, tenancy
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Part, Scope
from hostler.domain.model.snapshot import Seen, Suspect
from hostler.domain.observation.blockers import paused
from hostler.domain.policy.gate import Act, Evidence, pass_gate

_JUST = timedelta(seconds=10)
"""How long what was read again counts as read just before the call."""

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.sweep")


class Sweeper:
    """Reclaims suspects of one account."""

    def __init__(self, ports: Ports, state: AccountState, budget: Budget, leases: Leases) -> None:
        self._ports, self._state = ports, state
        self._budget, self._leases = budget, leases
        self._provider = state.account.provider

    async def reclaim(self, command: Reclaim, seen: Seen, tenure: Tenure) -> None:
        """Remove the command's parts as far as they can go now; the ledger keeps the rest."""
        if self._provider.traits.hosts:
            await self._take_back(command, seen, tenure)
            return
        suspects = {suspect.part: suspect for suspect in command.suspects}
        await self._budget.take(Priority.CLEAN, len(command.parts))
        parts = await self._reread(command)
        if parts is None:
            return
        read = self._ports.clock.now()
        calls = self._provider.next_calls(Goal.ABSENT, command.ghost, parts, seen.now)
        for call in calls:
            suspect = suspects.get(call.target) if call.target else None
            if suspect is None:
                continue
            evidence = replace(self._evidence(suspect, seen, tenure), reread=self._is_just(read))
            if not await self._remove(call, suspect, seen, evidence):
                return

    async def _take_back(self, command: Reclaim, seen: Seen, tenure: Tenure) -> None:
        """Take stray hosts into records of their own, which are wiped and put back as any other."""
        suspects = {suspect.part: suspect for suspect in command.suspects}
        for part in command.parts:
            scope = Scope(part.zone, seen.traits.main.kind, command.ghost.id, (_tenancy(part),))
            await self._budget.take(Priority.LOOK, self._provider.cost(scope))
            look = await self._provider.look((scope,))
            if not all(looked.complete for looked in look.looked):
                return
            now = next((found for found in look.parts if found.id == part.id), None)
            if now is None or not _same_host(now, part) or await self._is_explained(part, command):
                log.info("not reclaimed", host=part.id, why="it is not as it was decided on")
                return
            evidence = replace(self._evidence(suspects[part.id], seen, tenure), reread=True)
            if self._is_barred(evidence):
                return
            await self._record(now, command.ghost.id, seen, tenure)
            self._ports.meters.reclaimed(seen.fleet.name, "taken_back")
            log.warning("reclaimed", host=part.id, name=part.name, turn=seen.turn)

    async def _is_explained(self, part: Part, command: Reclaim) -> bool:
        """Read the records again, uncached: whether any of them explains the host by now."""
        store, host = self._ports.store, HostId(part.id)
        tie = dict(await store.ties()).get(host)
        if tie is not None and await store.machine(tie) is not None:
            return True
        machine = await store.machine(command.ghost.id)
        if machine is not None and machine.phase is not Phase.GONE:
            return True
        record = next((one for one in await store.hosts() if one.id == host), None)
        return record is not None and record.goal is not None

    async def _record(self, part: Part, machine: MachineId, seen: Seen, tenure: Tenure) -> None:
        stable, host = self._state.stable, HostId(part.id)
        known = stable.hosts.get(host)
        record = known or Host(id=host, account=seen.fleet.account, zone=part.zone)
        stray = replace(
            record,
            machine=machine,
            fleet=seen.fleet.name,
            goal=HostGoal.WIPED,
            pool=part.note("pool") or record.pool,
            type=part.note("type"),
            name=part.name,
            wiped=None,
            wiping=None,
        ).now(HostCondition.DIRTY, seen.now, "swept")
        told = moved_events(known, stray, seen.turn, seen.now)
        await stable.keep(self._ports.store, stray, tenure.fence, told)
        if (tie := stable.ties.get(host)) is not None:
            await stable.loosen(self._ports.store, host, tie, tenure.fence)

    def _is_barred(self, evidence: Evidence) -> bool:
        barred = pass_gate(evidence)
        for bar in barred:
            self._ports.meters.barred(bar.check)
        return bool(barred)

    def _is_just(self, read: datetime) -> bool:
        """Tell whether what was read is still the state of just before a call."""
        return timedelta(0) <= self._ports.clock.now() - read <= _JUST

    def _hold(self, seen: Seen) -> str:
        row = self._state.rows.get(seen.fleet.name, seen.row)
        wished = (w for w in self._state.wishes if w.fleet == row.name and w.kind == "pause")
        held = next(wished, None)
        return f"paused by {held.actor}" if held else paused(row, self._ports.clock.now())

    async def _reread(self, command: Reclaim) -> tuple[Part, ...] | None:
        """Read the provider, then the records; None unless both say what was decided on."""
        ghost, decided = command.ghost, {part.id: part for part in command.parts}
        scopes = tuple(
            Scope(part.zone, part.slot.kind, ghost.id, (part.id,)) for part in command.parts
        )
        await self._budget.take(Priority.LOOK, sum(map(self._provider.cost, scopes)))
        look = await self._provider.look(scopes)
        if not all(looked.complete for looked in look.looked):
            return None
        if await self._ports.store.machine(ghost.id) is not None:
            log.info("not reclaimed", machine=ghost.id, why="a record explains it by now")
            return None
        found = tuple(part for part in look.parts if part.id in decided)
        same = all(_same(part, decided[part.id]) for part in found)
        return found if same else None

    async def _remove(self, call: Call, suspect: Suspect, seen: Seen, evidence: Evidence) -> bool:
        if self._is_barred(evidence):
            return False
        outcome = await self._provider.do(call)
        word = "done" if isinstance(outcome, Done) else "failed"
        self._ports.meters.called(self._state.account.name, f"sweep.{call.kind}", word)
        log.warning("reclaimed", part=suspect.part, call=call.kind, outcome=word, turn=seen.turn)
        return isinstance(outcome, Done)

    def _evidence(self, suspect: Suspect, seen: Seen, tenure: Tenure) -> Evidence:
        clock, timers = self._ports.clock, seen.fleet.timers
        since = suspect.created or suspect.first
        if seen.traits.hosts:  # a host is old; what counts is how long it has been a stray
            since = suspect.first
        return Evidence(
            act=Act.SWEEP,
            now=clock.now(),
            boot=clock.boot(),
            lease_until=self._leases.until(tenure.lease.name),
            deadline=seen.traits.deadline,
            ours=suspect.installation in seen.ours,
            age=clock.now() - max(since, seen.jumped or since),
            grace=timers.grace,
            sightings=suspect.sightings,
            hold=self._hold(seen),
            granted=True,
            world="foreign parts carry this fleet's name" if seen.foreign else "",
            reclaim=seen.fleet.reclaim,
        )


def _tenancy(part: Part) -> PartId:
    return tenancy(HostId(part.id), MachineId(part.note("holder")))


def _same_host(now: Part, decided: Part) -> bool:
    """Tell whether a host is what was decided on: its name, status, place and promises."""
    asked = ("stage", "holder", "type", "delivered", "scheduled")
    same = all(now.note(key) == decided.note(key) for key in asked)
    return same and (now.name, now.status, now.zone) == (decided.name, decided.status, decided.zone)


def _same(now: Part, decided: Part) -> bool:
    """Tell whether a part is what was decided on, field by field; its price may be learnt later.

    Where a part has no mark of its own, its owner's was decided on.
    """
    mark = decided.mark if now.mark is None else now.mark
    return replace(now, price=0.0, mark=mark) == replace(decided, price=0.0)
