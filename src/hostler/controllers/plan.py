"""Plan and explain: one look and one decision, by the code that acts, and nothing done."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from hostler.domain.decide import decide
from hostler.domain.hosts.claims import CLEAN
from hostler.domain.ids import Epoch, HostId, MachineId, PartId, TurnId
from hostler.domain.machines.next_calls import allowed
from hostler.domain.model.calls import Call, Done, Effect
from hostler.domain.model.commands import Decision, KeepRow, Reclaim, Tend
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.host import host_of
from hostler.domain.model.inventory import merge
from hostler.domain.model.machine import Machine, Offer, ask
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.provider import Ways
from hostler.domain.model.resource import Condition, Part, Scope
from hostler.domain.model.snapshot import Seen
from hostler.domain.observation.certainty import parts_of
from hostler.domain.observation.outcomes import fold, fold_parts, planned
from hostler.ports.store import Lease

from .observe.snapshot import Occasion, gather
from .runtime.leases import Tenure
from .runtime.settings import Account, Ports, Settings
from .runtime.state import AccountState, Steadiness

PLAN = TurnId("plan")
"""The turn of what is only planned."""

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
    """What one turn would come to: the decision, and the very calls that would be made."""

    seen: Seen
    decision: Decision
    machines: tuple[Planned, ...]


async def plan(ports: Ports, account: Account, fleet: Fleet, settings: Settings) -> Plan:
    """Look once at everything, decide, and list the calls; nothing is recorded or sent."""
    seen = await look_once(ports, account, fleet, settings)
    decision = decide(seen, account.provider)
    return Plan(seen=seen, decision=decision, machines=tuple(_planned(decision, seen, account)))


async def look_once(ports: Ports, account: Account, fleet: Fleet, settings: Settings) -> Seen:
    """Return what a turn would see now; looking changes nothing."""
    state = await state_once(ports, account, (fleet,))
    state.wishes = await ports.store.wishes()
    occasion = Occasion(
        turn=PLAN,
        fleet=fleet,
        tenure=tenure_of(f"fleet/{fleet.name}", ports),
        identity=await ports.store.identity(),
    )
    return await gather(ports, state, occasion, Steadiness(ports.clock, settings.jump))


async def state_once(ports: Ports, account: Account, fleets: Iterable[Fleet]) -> AccountState:
    """Return a state with one look at every zone where these fleets have or had machines."""
    state, provider = AccountState(account), account.provider
    zones = set(provider.traits.zones)
    for fleet in fleets:
        zones |= {offer.zone for offer in fleet.offers}
        zones |= {machine.offer.zone for machine in await ports.store.machines(fleet.name)}
    scopes = tuple(Scope(zone, kind) for zone in sorted(zones) for kind in provider.traits.kinds)
    state.view = merge(state.view, await provider.look(scopes))
    return state


def tenure_of(lease: str, ports: Ports) -> Tenure:
    """Return the right to nothing: by it a plan is made, and nothing can be saved."""
    held = Lease(name=lease, holder="plan", epoch=Epoch(0), beat=0)
    return Tenure(lease=held, until=0.0, took=ports.clock.now())


def _planned(decision: Decision, seen: Seen, account: Account) -> Iterator[Planned]:
    for command in decision.commands:
        match command:
            case Tend() if command.goal is not None:
                parts = parts_of(command.machine, seen)
                yield _of(command.machine, command.goal, parts, seen, account.provider)
            case Tend() if command.machine.phase is not _phase_before(command, seen):
                yield _move_only(command)
            case KeepRow():
                yield from (
                    _new(offer, place, command, seen, account.provider)
                    for place, offer in enumerate(command.inserts)
                )
            case Reclaim():
                calls = account.provider.next_calls(
                    Goal.ABSENT, command.ghost, command.parts, seen.now
                )
                yield Planned(
                    machine=command.ghost.id,
                    offer=str(command.ghost.offer),
                    phase="suspect",
                    reason="no record explains it",
                    calls=calls,
                )
            case _:
                pass


def _phase_before(tend: Tend, seen: Seen) -> Phase | None:
    return next((m.phase for m in seen.machines if m.id == tend.machine.id), None)


def _move_only(tend: Tend) -> Planned:
    machine = tend.machine
    return Planned(
        machine=machine.id,
        offer=str(machine.offer),
        phase=machine.phase,
        reason=machine.reason,
        calls=(),
    )


def _new(offer: Offer, place: int, command: KeepRow, seen: Seen, ways: Ways) -> Planned:
    known = command.named[place : place + 1]
    machine = Machine(
        id=known[0] if known else MachineId(f"<machine {command.row.serial + place + 1}>"),
        fleet=seen.fleet.name,
        serial=command.row.serial + place + 1,
        created=seen.now,
        since=seen.now,
        phase=Phase.STARTING,
        offer=offer,
    )
    planned_calls = _of(_housed(machine, place, command, seen), Goal.PRESENT, (), seen, ways)
    return replace(planned_calls, machine=None, phase=Phase.WANTED, reason="made")


def _housed(machine: Machine, place: int, command: KeepRow, seen: Seen) -> Machine:
    """Give a machine a host to plan with: the real one follows from its id, which is not known."""
    rank = command.inserts[:place].count(machine.offer)
    free = [free for free in seen.free if free.offer == machine.offer][rank : rank + 1]
    if not free:
        return machine
    housed = replace(machine, host=HostId(f"<host {place + 1}>"))
    return housed.with_fact(CLEAN, seen.now) if free[0].clean else housed


def _of(machine: Machine, goal: Goal, parts: tuple[Part, ...], seen: Seen, ways: Ways) -> Planned:
    """Return the calls that a step would make if every answer were the expected one."""
    calls, waits = calls_to(machine, goal, parts, seen, ways)
    return Planned(
        machine=machine.id,
        offer=str(machine.offer),
        phase=machine.phase,
        reason=machine.reason,
        calls=calls,
        waits=waits,
    )


def calls_to(
    machine: Machine, goal: Goal, parts: tuple[Part, ...], seen: Seen, ways: Ways
) -> tuple[tuple[Call, ...], str]:
    """Return the calls of one step with placeholders for answers, and what it then waits for."""
    calls = list[Call]()
    while len(calls) < _MOST_CALLS:
        ready = allowed(machine, goal, parts, seen, ways)
        if not ready.calls:
            hangs = bool(calls) and _may_be_other(machine, parts, seen)
            return tuple(calls), ready.waits or (SEE if hangs else "")
        many = (
            ready.calls if all(c.effect is Effect.DESTROY for c in ready.calls) else ready.calls[:1]
        )
        if many[0] in calls:
            return tuple(calls), SEE
        for call in many:
            calls.append(call)
            machine, parts = _assume(machine, parts, call, seen)
    return tuple(calls), ""


def _may_be_other(machine: Machine, parts: tuple[Part, ...], seen: Seen) -> bool:
    """Tell whether the next answer may show the machine's host in another status than the look.

    One that was busy may be ready by then, and be asked for more at once.
    """
    host = seen.view.part(PartId(machine.host)) if machine.host else None
    there = any(host_of(part.id) == machine.host for part in parts)
    return there and host is not None and host.condition not in _STEADY


def _assume(
    machine: Machine, parts: tuple[Part, ...], call: Call, seen: Seen
) -> tuple[Machine, tuple[Part, ...]]:
    answer: Done = planned(call, call.slot.index, parts)
    if call.once:
        machine = ask(machine, call, seen.now, seen.epoch)
    return fold(machine, call, answer, seen.now), fold_parts(parts, answer)
