"""Keeping: an account's hosts that no machine holds: one turn, and the calls on each of them."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import structlog

from hostler.controllers.runtime.host_records import Stable
from hostler.controllers.runtime.leases import Leases, Tenure
from hostler.controllers.runtime.rate_limit import Budget, Priority
from hostler.controllers.runtime.settings import Ports
from hostler.controllers.runtime.state import AccountState, Steadiness
from hostler.domain.errors import Fenced, StoreError
from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.hosts.next_calls import (
    answered_events,
    asked_events,
    fold_host,
    host_allowed,
    host_part,
    moved_events,
)
from hostler.domain.ids import HostId, MachineId, PartId, TurnId
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.host import OTHERS, TENANT, Host, HostCondition, HostGoal, ask_host
from hostler.domain.model.resource import Part
from hostler.domain.model.snapshot import HostsSeen, HostStep
from hostler.domain.policy.gate import Act, Evidence, pass_gate

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.hosts")

_LONGEST_STEP = 8
"""More calls than this in one step mean that something answers without effect: look again."""

Guard = Callable[[str, Awaitable[None]], Awaitable[None]]


async def gather_hosts(
    ports: Ports, state: AccountState, number: TurnId, tenure: Tenure, steadiness: Steadiness
) -> HostsSeen:
    """Return what a turn of an account's hosts sees. The view is older than every record here."""
    stable, fleets = state.stable, state.account.fleets
    await stable.refresh(ports.store)
    living = {m.id: m for fleet in fleets for m in state.living(fleet.name)}
    lost = tuple(sorted({*stable.ties.values(), *_claimants(state)} - living.keys()))
    past = await ports.store.history(lost) if lost else ()
    return HostsSeen(
        turn=number,
        now=ports.clock.now(),
        account=state.account.name,
        hosts=dict(stable.hosts),
        ties=dict(stable.ties),
        machines=living,
        past={machine.id: machine for machine in past},
        view=state.view,
        traits=state.account.provider.traits,
        epoch=tenure.epoch,
        took=tenure.took,
        jumped=steadiness.jumped,
        absence_gap=max(fleet.timers.absence_gap for fleet in fleets),
        moving=frozenset(stable.moving),
        starved=frozenset(fleet for fleet, many in state.missing.items() if many),
        orders=state.orders(),
    )


def _claimants(state: AccountState) -> Iterator[MachineId]:
    """Yield the machines that the names of recorded hosts tell of as their tenants."""
    hosts, kind = state.stable.hosts, state.account.provider.traits.hosts
    for sighting in state.view.sightings.values():
        part = sighting.part
        if part.slot.kind == kind and HostId(part.id) in hosts and part.note("stage") in TENANT:
            yield MachineId(part.note("holder"))


@dataclass(frozen=True, slots=True)
class Errand:
    """What calls on a host are made for: the turn that decided it, its goal, and by what right."""

    turn: TurnId
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
    def _stable(self) -> Stable:
        return self._state.stable

    async def turn(
        self, number: TurnId, tenure: Tenure, group: asyncio.TaskGroup, guard: Guard
    ) -> bool:
        """Take one turn of all hosts; tell whether any of them is on its way somewhere."""
        if self._state.keeps is None:
            return False
        seen = await gather_hosts(self._ports, self._state, number, tenure, self._steady)
        steps = decide_hosts(seen)
        for step in steps:
            await self._apply(step, seen, tenure, group, guard)
        self._count_hosts()
        return any(map(_may_move, steps)) or bool(self._stable.moving)

    def _count_hosts(self) -> None:
        """Note how all hosts of the account stand, and until when they are paid."""
        sightings, hosts = self._state.view.sightings, self._stable.hosts
        if sightings is self._counted[0] and hosts is self._counted[1]:
            return
        self._counted = sightings, hosts
        kind, counts = self._provider.traits.hosts, Counter[tuple[str, str, str]]()
        until = dict[tuple[str, str], datetime]()
        for sighting in sightings.values():
            part = sighting.part
            if part.slot.kind == kind:
                record = hosts.get(HostId(part.id))
                state = str(record.condition) if record else part.note("stage")
                counts[part.zone, part.note("type"), state] += 1
                if told := part.note("deletable"):
                    until[part.zone, part.id] = datetime.fromisoformat(told)
        self._ports.meters.hosts(self._state.account.name, counts)
        self._ports.meters.paid(self._state.account.name, until)

    async def _apply(
        self,
        step: HostStep,
        seen: HostsSeen,
        tenure: Tenure,
        group: asyncio.TaskGroup,
        guard: Guard,
    ) -> None:
        """Save what changed, loosen the tie of a machine that is gone, and start the work."""
        host = step.host
        try:
            if step.changed:
                told = moved_events(step.before, host, seen.turn, seen.now)
                host = await self._stable.keep(self._ports.store, host, tenure.fence, told)
                self._say(step)
            if step.loose is not None:
                await self._stable.loosen(self._ports.store, host.id, step.loose, tenure.fence)
        except Fenced:
            raise
        except StoreError as error:
            log.warning("host not saved", host=host.id, error=str(error))
            return
        if step.goal is not None and step.part is not None:
            self._stable.moving.add(host.id)
            work = self._advance(Errand(seen.turn, step.goal, tenure), host, step.part)
            group.create_task(self._guarded(guard, work))

    @staticmethod
    async def _guarded(guard: Guard, work: Awaitable[None]) -> None:
        await guard("host", work)

    def _say(self, step: HostStep) -> None:
        before, host = step.before, step.host
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

    async def _advance(self, errand: Errand, host: Host, part: Part) -> None:
        """Make the calls that may be made now, each recorded, gated, sent and folded."""
        try:
            for _ in range(_LONGEST_STEP):
                found = self._next(errand.goal, host, part)
                if not found:
                    return
                went = await self._one(errand, host, part, found[0])
                if went is None:
                    return
                host, part = went
        except StoreError as error:
            log.warning("host not saved", host=host.id, error=str(error))
        finally:
            self._stable.moving.discard(host.id)

    def _next(self, goal: HostGoal, host: Host, part: Part) -> tuple[Call, ...]:
        provider = self._state.keeps
        shown = self._shown(part)
        if shown is None or provider is None:
            return ()
        return host_allowed(goal, host, part, shown, self._ports.clock.now(), provider)

    def _shown(self, part: Part) -> datetime | None:
        sighting = self._state.view.sightings.get(part.id)
        return self._state.view.shown(sighting) if sighting else None

    async def _one(
        self, errand: Errand, host: Host, part: Part, call: Call
    ) -> tuple[Host, Part] | None:
        """Make one call; None ends the step."""
        await self._budget.take(Priority.CLEAN, self._provider.cost(call))
        clock, tenure = self._ports.clock, errand.tenure
        if host.id in self._stable.ties:
            return None
        if call.once:
            told = asked_events(host, call, errand.turn, clock.now())
            record = ask_host(host, call, clock.now(), tenure.epoch)
            host = await self._stable.keep(self._ports.store, record, tenure.fence, told)
        barred = pass_gate(self._evidence(host, call, tenure))
        if barred:
            for bar in barred:
                self._ports.meters.barred(bar.check)
            text = "; ".join(f"{bar.check} {bar.text}" for bar in barred)
            outcome: Outcome = Refused(why=Refusal.NOT_SENT, text=f"gate: {text}")
        else:
            outcome = await self._provider.do(call)
        self._count(call, outcome)
        told = answered_events(host, call, outcome, errand.turn, clock.now())
        folded = fold_host(host, call, outcome, clock.now())
        host = await self._stable.keep(self._ports.store, folded, tenure.fence, told)
        after = host_part(part, outcome)
        return (host, after) if isinstance(outcome, Done) and after is not None else None

    def _count(self, call: Call, outcome: Outcome) -> None:
        word = "done" if isinstance(outcome, Done) else "unknown"
        if isinstance(outcome, Refused):
            word = f"refused_{outcome.why}"
        self._ports.meters.called(self._state.account.name, call.kind, word)
        if isinstance(outcome, Refused | Unknown):
            log.info("host call", call=str(call), outcome=word, text=outcome.text)
        if isinstance(outcome, Refused) and outcome.why is Refusal.RATE:
            self._budget.refused(outcome.after)
        else:
            self._budget.accepted()

    def _evidence(self, host: Host, call: Call, tenure: Tenure) -> Evidence:
        clock, part = self._ports.clock, self._state.view.part(PartId(host.id))
        return Evidence(
            act=Act.END if call.effect is Effect.DESTROY else Act.CHANGE,
            now=clock.now(),
            boot=clock.boot(),
            lease_until=self._leases.until(tenure.lease.name),
            deadline=self._provider.traits.deadline,
            ours=part is not None and _is_ours(host, part),
            looked=self._shown(part) if part is not None else None,
            look_limit=max(f.timers.look_limit for f in self._state.account.fleets),
        )


def _is_ours(host: Host, part: Part) -> bool:
    """Tell whether the host's name is ours, or somebody named it to be put into the pool."""
    if host.adopted and part.note("stage") == "foreign":
        return True
    if host.goal is HostGoal.POOLED:
        return part.note("stage") != "foreign"
    return part.note("stage") not in OTHERS


def _may_move(step: HostStep) -> bool:
    """Tell whether a look may soon show more of a host of which nothing is asked."""
    changed = step.host.condition is not step.before.condition
    return changed or step.host.condition is HostCondition.COMING
