"""Plan and explain: one observation and one decision, by the code that acts, and nothing done."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from hostler.domain.decide import decide
from hostler.domain.decision.view import view_of
from hostler.domain.hosts.claims import CLEAN
from hostler.domain.ids import CycleId, Epoch, HostId, MachineId, ResourceId
from hostler.domain.machines.next_calls import allowed
from hostler.domain.model.calls import Call, Done, Effect
from hostler.domain.model.commands import Advance, Decision, Reclaim, SaveFleet
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.host import host_of
from hostler.domain.model.inventory import merge
from hostler.domain.model.machine import Machine, MachineSpec, Offer
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.provider import Planner
from hostler.domain.model.resource import Condition, Resource, Scope
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.subject import ask
from hostler.domain.observation.certainty import resources_of
from hostler.domain.observation.outcomes import apply_outcome, apply_to_resources, planned
from hostler.ports.store import Lease

from .observe.snapshot import Occasion, gather
from .runtime.leases import Tenure
from .runtime.settings import Account, Ports, Settings
from .runtime.state import AccountState, Steadiness

PLAN = CycleId("plan")
"""The cycle of what is only planned."""

_MOST_CALLS = 64
_STEADY = frozenset({Condition.UP, Condition.FAILED})
"""How a host stands that does not change by itself."""

SEE = "its answer"
"""What a step waits for whose next call depends on an answer that no plan can assume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What would be done now for one machine, or for one that would be made (`machine` None)."""

    machine: MachineId | None
    offer: str
    phase: str
    reason: str
    calls: tuple[Call, ...]
    waits: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one cycle would come to: the decision, and the very calls that would be made."""

    snapshot: Snapshot
    decision: Decision
    machines: tuple[Planned, ...]


async def plan(ports: Ports, account: Account, fleet: Fleet, settings: Settings) -> Plan:
    """Observe everything once, decide, and list the calls; nothing is recorded or sent."""
    snapshot = await observe_once(ports, account, fleet, settings)
    decision = decide(snapshot, account.provider)
    return Plan(
        snapshot=snapshot, decision=decision, machines=tuple(_planned(decision, snapshot, account))
    )


async def observe_once(
    ports: Ports, account: Account, fleet: Fleet, settings: Settings
) -> Snapshot:
    """Return what a cycle would see now; observing changes nothing."""
    state = await state_once(ports, account, (fleet,))
    state.requests = await ports.store.requests()
    occasion = Occasion(
        cycle=PLAN,
        tenure=tenure_of(f"fleet/{fleet.name}", ports),
        identity=await ports.store.identity(),
        fleets=(fleet,),
    )
    facts = await gather(ports, state, occasion, Steadiness(ports.clock, settings.jump))
    return view_of(facts, fleet, state.keeps)


async def state_once(ports: Ports, account: Account, fleets: Iterable[Fleet]) -> AccountState:
    """Return a state with one observation of every zone where these fleets have or had machines."""
    state, provider = AccountState(account), account.provider
    zones = set(provider.capabilities.zones)
    for fleet in fleets:
        zones |= {offer.zone for offer in fleet.offers}
        zones |= {machine.offer.zone for machine in await ports.store.machines(fleet.name)}
    scopes = tuple(
        Scope(zone, kind) for zone in sorted(zones) for kind in provider.capabilities.kinds
    )
    state.inventory = merge(state.inventory, await provider.observe(scopes))
    return state


def tenure_of(lease: str, ports: Ports) -> Tenure:
    """Return the right to nothing: by it a plan is made, and nothing can be saved."""
    held = Lease(name=lease, holder="plan", epoch=Epoch(0), beat=0)
    return Tenure(lease=held, until=0.0, took=ports.clock.now())


def _planned(decision: Decision, snapshot: Snapshot, account: Account) -> Iterator[Planned]:
    for command in decision.commands:
        match command:
            case Advance() if command.goal is not None:
                resources = resources_of(command.machine, snapshot)
                yield _of(command.machine, command.goal, resources, snapshot, account.provider)
            case Advance() if command.machine.phase is not _phase_before(command, snapshot):
                yield _move_only(command)
            case SaveFleet():
                yield from (
                    _new(offer, place, command, snapshot, account.provider)
                    for place, offer in enumerate(command.inserts)
                )
            case Reclaim():
                calls = account.provider.next_calls(
                    Goal.ABSENT, command.placeholder, command.resources, snapshot.now
                )
                yield Planned(
                    machine=command.placeholder.id,
                    offer=str(command.placeholder.offer),
                    phase="suspect",
                    reason="no record explains it",
                    calls=calls,
                )
            case _:
                pass


def _phase_before(advance: Advance, snapshot: Snapshot) -> Phase | None:
    return next((m.phase for m in snapshot.machines if m.id == advance.machine.id), None)


def _move_only(advance: Advance) -> Planned:
    machine = advance.machine
    return Planned(
        machine=machine.id,
        offer=str(machine.offer),
        phase=machine.phase,
        reason=machine.reason,
        calls=(),
    )


def _new(
    offer: Offer, place: int, command: SaveFleet, snapshot: Snapshot, planner: Planner
) -> Planned:
    known, specs = command.named[place : place + 1], command.specs[place : place + 1]
    machine = Machine(
        id=known[0] if known else MachineId(f"<machine {command.row.serial + place + 1}>"),
        fleet=snapshot.fleet.name,
        serial=command.row.serial + place + 1,
        created=snapshot.now,
        since=snapshot.now,
        phase=Phase.STARTING,
        offer=offer,
        spec=specs[0] if specs else MachineSpec(),
    )
    planned_calls = _of(
        _housed(machine, place, command, snapshot), Goal.PRESENT, (), snapshot, planner
    )
    return replace(planned_calls, machine=None, phase=Phase.PENDING, reason="made")


def _housed(machine: Machine, place: int, command: SaveFleet, snapshot: Snapshot) -> Machine:
    """Give a machine a host to plan with: the real one follows from its id, which is not known."""
    rank = command.inserts[:place].count(machine.offer)
    free = [free for free in snapshot.free if free.offer == machine.offer][rank : rank + 1]
    if not free:
        return machine
    housed = replace(machine, host=HostId(f"<host {place + 1}>"))
    return housed.with_fact(CLEAN, snapshot.now) if free[0].clean else housed


def _of(
    machine: Machine,
    goal: Goal,
    resources: tuple[Resource, ...],
    snapshot: Snapshot,
    planner: Planner,
) -> Planned:
    """Return the calls that a step would make if every answer were the expected one."""
    calls, waits = calls_to(machine, goal, resources, snapshot, planner)
    return Planned(
        machine=machine.id,
        offer=str(machine.offer),
        phase=machine.phase,
        reason=machine.reason,
        calls=calls,
        waits=waits,
    )


def calls_to(
    machine: Machine,
    goal: Goal,
    resources: tuple[Resource, ...],
    snapshot: Snapshot,
    planner: Planner,
) -> tuple[tuple[Call, ...], str]:
    """Return the calls of one step with placeholders for answers, and what it then waits for."""
    calls = list[Call]()
    while len(calls) < _MOST_CALLS:
        ready = allowed(machine, goal, resources, snapshot, planner)
        if not ready.calls:
            hangs = bool(calls) and _may_be_other(machine, resources, snapshot)
            return tuple(calls), ready.waits or (SEE if hangs else "")
        many = (
            ready.calls if all(c.effect is Effect.DESTROY for c in ready.calls) else ready.calls[:1]
        )
        if many[0] in calls:
            return tuple(calls), SEE
        for call in many:
            calls.append(call)
            machine, resources = _assume(machine, resources, call, snapshot)
    return tuple(calls), ""


def _may_be_other(machine: Machine, resources: tuple[Resource, ...], snapshot: Snapshot) -> bool:
    """Tell whether the next answer may show the machine's host in another status than observed.

    One that was busy may be ready by then, and be asked for more at once.
    """
    host = snapshot.inventory.resource(ResourceId(machine.host)) if machine.host else None
    there = any(host_of(resource.id) == machine.host for resource in resources)
    return there and host is not None and host.condition not in _STEADY


def _assume(
    machine: Machine, resources: tuple[Resource, ...], call: Call, snapshot: Snapshot
) -> tuple[Machine, tuple[Resource, ...]]:
    answer: Done = planned(call, call.slot.index, resources)
    if call.once:
        machine = ask(machine, call, snapshot.now, snapshot.epoch)
    return apply_outcome(machine, call, answer, snapshot.now), apply_to_resources(resources, answer)
