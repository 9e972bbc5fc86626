"""Sweeping: removes what no record explains, after reading provider and records once more.

A re-check that fails, or that finds anything other than what was decided on, ends the sweep with
no act.
"""

from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from hostler.domain.calls import Call, Done
from hostler.domain.commands import Reclaim
from hostler.domain.gate import Act, Evidence, pass_gate
from hostler.domain.parts import Part, Scope
from hostler.domain.phases import Goal
from hostler.domain.seen import Seen, Suspect
from hostler.domain.wishes import paused

from .budget import Budget, Priority
from .given import Ports
from .leases import Leases, Tenure
from .state import AccountState

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
        barred = pass_gate(evidence)
        for bar in barred:
            self._ports.meters.barred(bar.check)
        if barred:
            return False
        outcome = await self._provider.do(call)
        word = "done" if isinstance(outcome, Done) else "failed"
        self._ports.meters.called(self._state.account.name, f"sweep.{call.kind}", word)
        log.warning("reclaimed", part=suspect.part, call=call.kind, outcome=word, turn=seen.turn)
        return isinstance(outcome, Done)

    def _evidence(self, suspect: Suspect, seen: Seen, tenure: Tenure) -> Evidence:
        clock, timers = self._ports.clock, seen.fleet.timers
        since = suspect.created or suspect.first
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


def _same(now: Part, decided: Part) -> bool:
    """Tell whether a part is what was decided on, field by field; its price may be learnt later.

    Where a part has no mark of its own, its owner's was decided on.
    """
    mark = decided.mark if now.mark is None else now.mark
    return replace(now, price=0.0, mark=mark) == replace(decided, price=0.0)
