"""Decide: one snapshot in, commands with their reasons out. Pure.

Asks, in order: adopt, follow, repair, resize, replace, reclaim. Everything that a plan or an
explanation says comes from here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from .decision_cache import DecisionCache
from .fleets import adoption
from .fleets import requested as named
from .fleets.offers import in_present, remember
from .fleets.reclaim import orphan_report, reclaims
from .fleets.requests import granted
from .fleets.scaling import Sizing, resize
from .hosts import allocation, pool
from .hosts.claims import assign
from .hosts.purchasing import buy
from .ids import HostId, evolve
from .machines import retry, rollout
from .machines.lifecycle import bound_of, follow, goal_of
from .machines.next_calls import allowed
from .machines.repair import end, repair
from .machines.replacement import replace_one, surge
from .model.commands import Advance, Command, Decision, Event, Next, SaveFleet, Unbind, Verdict
from .model.fleet import KEPT, WELL, FleetRow, in_wave, recent
from .model.machine import Machine
from .model.phases import Goal, Phase, Reason
from .model.provider import Planner
from .model.snapshot import Request, Snapshot
from .model.transition import IllegalMove, Transition, move, wait

_SETTLED = (Phase.READY, Phase.DELETED, Phase.STANDBY)


def decide(snapshot: Snapshot, planner: Planner, cache: DecisionCache | None = None) -> Decision:
    """Return what is to be done for this fleet now.

    The same with and without what earlier decisions of this fleet remember in `rests`, but sooner.
    """
    cache = DecisionCache(remembers=False) if cache is None else cache
    cache.begin(snapshot)
    return cache.decision(snapshot) or _decided(snapshot, planner, cache)


def _decided(snapshot: Snapshot, planner: Planner, cache: DecisionCache) -> Decision:
    snapshot = rollout.with_revision(snapshot)
    row, machines = granted(snapshot)
    row = evolve(row, revision=snapshot.revision)
    row = pool.with_room(row, machines.values(), snapshot)
    transitions, row, alarms = _consider(
        tuple(machines.values()), in_present(row, snapshot), snapshot, cache
    )
    target = row.desired(snapshot.fleet) + surge(transitions, snapshot) - pool.joining(snapshot)
    sizing, row = _sized(transitions, row, target, snapshot)
    transitions, row = replace_one(sizing.transitions, row, target, snapshot)
    assigned = assign(transitions, snapshot.fleet.account, snapshot)
    transitions = assigned.transitions
    bought = buy(transitions, row, snapshot)
    transitions, row = bought.transitions, bought.row
    sizing = evolve(sizing, condition=bought.told(sizing.condition))
    transitions = tuple(
        _aimed(transition, row, snapshot, planner, cache) for transition in transitions
    )
    transitions, row = retry.bounded(transitions, row, sizing.creations, snapshot)
    alarms = (*alarms, *(transition.blocker for transition in transitions if transition.failed))
    transitions = (*transitions, *_reopened(snapshot))
    reclaimed = reclaims(orphan_report(snapshot), row, snapshot, planner)
    row = evolve(row, destructions=(*row.destructions, *(snapshot.now,) * reclaimed.counted))
    pardons = tuple(rollout.pardons(row.revision, snapshot))
    row_command = _row_command(row, sizing, tuple(pardon.event for pardon in pardons), snapshot)
    advances = tuple(
        t for transition in transitions if (t := _advance(transition, snapshot)) is not None
    )
    commands: list[Command] = [c for c in (row_command,) if c is not None]
    commands += assigned.binds
    commands += (*pool.pooled(snapshot.fleet.account, snapshot), *bought.keeps)
    commands += pool.given_up(snapshot.fleet.account, snapshot)
    commands += (pardon.keep for pardon in pardons)
    commands += pool.taken_over(adoption.adoptable(snapshot), snapshot)
    commands += (bought.order,) if bought.order else ()
    commands += advances
    commands += (Unbind(host=h, machine=s.machine.id) for s in transitions if (h := _let_go(s)))
    if reclaimed.orphan_report.orphans or reclaimed.orphan_report.cleared:
        commands.append(reclaimed.orphan_report)
    commands += reclaimed.reclaims
    decision = Decision(
        commands=tuple(commands),
        condition=sizing.condition,
        verdicts=tuple(
            cache.verdict(transition) or transition.verdict() for transition in transitions
        ),
        due=_due(transitions, (sizing.due, bought.due), snapshot),
        expecting=bool(sizing.inserts) or any(_expects(transition) for transition in transitions),
        alarms=alarms,
        recalled=tuple(
            s.machine.id for s in transitions if s.machine.id in snapshot.moving and _ends(s)
        ),
    )
    cache.keep_whole(decision, transitions, snapshot)
    return decision


def _sized(
    transitions: tuple[Transition, ...], row: FleetRow, target: int, snapshot: Snapshot
) -> tuple[Sizing, FleetRow]:
    """Ask how many are wanted, or which, and return the row with the size that is in force."""
    if snapshot.fleet.renews:
        return _told(resize(transitions, row, target, snapshot), row), row
    sizing = _told(named.resize(transitions, row, snapshot), row)
    return sizing, named.counted(row, sizing)


def _told(sizing: Sizing, row: FleetRow) -> Sizing:
    """Say of the fleet that its setup script is at fault, whatever else is to be said."""
    broken = rollout.condition(row.revision)
    return replace(sizing, condition=broken) if broken else sizing


def _let_go(transition: Transition) -> HostId | None:
    return transition.before.host if transition.machine.host is None else None


def _ends(transition: Transition) -> bool:
    return transition.machine.deletion is not None


def _consider(
    machines: tuple[Machine, ...], row: FleetRow, snapshot: Snapshot, cache: DecisionCache
) -> tuple[tuple[Transition, ...], FleetRow, tuple[str, ...]]:
    """Follow and repair each machine not in flight; an illegal move is reported, not made."""
    doubted = sum(machine.doubt is not None for machine in machines)
    wave = in_wave(snapshot.fleet, row, doubted, snapshot.now)
    transitions, alarms = list[Transition](), list[str]()
    for before, machine in zip(snapshot.machines, machines, strict=True):
        if machine.id in snapshot.moving:
            transitions.append(_in_flight(machine))
            continue
        if before is machine and (at_rest := cache.transition(machine, snapshot)) is not None:
            transitions.append(at_rest)
            continue
        try:
            transition, row = _one(before, machine, row, snapshot, wave=wave)
        except IllegalMove as illegal:
            alarms.append(str(illegal))
            transition = Transition(before=before, machine=machine, resources=())
        transitions.append(transition)
    return tuple(transitions), row, tuple(alarms)


def _one(
    before: Machine, machine: Machine, row: FleetRow, snapshot: Snapshot, *, wave: bool
) -> tuple[Transition, FleetRow]:
    """Follow and repair one machine; `before` is its record without the requests of this cycle."""
    transition = follow(machine, snapshot, wave=wave)
    if before is not machine:
        transition = replace(transition, before=before)
    row = _count_loss(transition, remember(transition, row, snapshot), snapshot)
    return repair(transition, row, snapshot)


def _in_flight(machine: Machine) -> Transition:
    transition = Transition(before=machine, machine=machine, resources=())
    return wait(transition, "answer", "calls are in flight")


def _count_loss(transition: Transition, row: FleetRow, snapshot: Snapshot) -> FleetRow:
    """Count what was lost, or became overdue; a refusal, or a list's fault, is nobody's loss."""
    fell = transition.before.phase in {Phase.STARTING, Phase.READY, Phase.DRAINING}
    nobodys = transition.machine.reason in {Reason.REFUSED, Reason.BOOTSTRAP_FAILED}
    if fell and transition.machine.phase is Phase.FAILED and not nobodys:
        return replace(row, losses=(*row.losses, snapshot.now))
    return row


def _end_now(transition: Transition, row: FleetRow, snapshot: Snapshot) -> Transition:
    """Carry endings one phase further, after resizing had the chance to call them back."""
    if transition.machine.id in snapshot.moving or transition.machine.deletion is None:
        return transition
    return (
        end(transition, row, snapshot)
        if transition.machine.phase is transition.before.phase
        else transition
    )


def _begins_to_end(transition: Transition, snapshot: Snapshot) -> Transition:
    """Decide what becomes of an allocation's host before the first call of its end.

    Where that is nothing, the machine is deleted by its next cycle: one save makes one move.
    """
    begins = (
        transition.machine.phase is Phase.STOPPING and transition.before.phase is not Phase.STOPPING
    )
    if not begins or not snapshot.capabilities.hosts or transition.machine.goal is Goal.STANDBY:
        return transition
    settled = allocation.stopping(transition, snapshot)
    if settled.machine.phase is Phase.DELETED:
        return replace(transition, blocker="its host is left as it is")
    return settled


def _aimed(
    transition: Transition,
    row: FleetRow,
    snapshot: Snapshot,
    planner: Planner,
    cache: DecisionCache,
) -> Transition:
    """Return the step with its aim; what the provider cannot say of one machine stops no other."""
    if cache.verdict(transition) is not None:
        return transition
    try:
        aimed = _aim(
            _begins_to_end(_end_now(transition, row, snapshot), snapshot), snapshot, planner
        )
    except Exception as error:  # noqa: BLE001 - a third party's code: its bug is reported, and kept to one
        return replace(
            transition,
            blocker=f"{transition.machine.id}: the provider failed: {error!r}",
            failed=True,
        )
    cache.keep(aimed, snapshot)
    return aimed


def _aim(transition: Transition, snapshot: Snapshot, planner: Planner) -> Transition:
    """Say what the machine is advanced to, and what is next for it."""
    machine = transition.machine
    goal = goal_of(machine)
    if machine.id in snapshot.moving or goal is None:
        return transition
    if (transition.blocker and goal is Goal.ABSENT) or (
        transition.lost and goal is not Goal.ABSENT
    ):
        return transition
    ready = allowed(machine, goal, transition.resources, snapshot, planner)
    if ready.calls:
        said = Next(kind="call", detail=str(ready.calls[0]))
        tried = retry.last_try(transition, ready.calls, snapshot)
        return replace(transition, goal=goal, next=said, tried=tried)
    if transition.next.kind != "nothing":
        return transition
    if ready.waits:
        return wait(transition, "wait", ready.waits, ready.at)
    return _patience(transition, snapshot)


def _patience(transition: Transition, snapshot: Snapshot) -> Transition:
    machine = transition.machine
    bound = bound_of(machine, snapshot)
    at = machine.since + bound if bound is not None else None
    match machine.phase:
        case Phase.STARTING:
            said = f"until it is up (now: {machine.observed or 'not seen yet'})"
            return wait(transition, "observe", said, at)
        case Phase.STOPPING:
            return wait(transition, "observe", "until complete observations show nothing of it", at)
        case _:
            return transition


def _reopened(snapshot: Snapshot) -> Iterator[Transition]:
    for machine in snapshot.late:
        if machine.phase is not Phase.DELETED:
            continue
        transition = Transition(before=machine, machine=machine, resources=())
        yield move(transition, Phase.STOPPING, Reason.APPEARED_LATE, snapshot)


def _advance(transition: Transition, snapshot: Snapshot) -> Advance | None:
    if transition.machine.id in snapshot.moving:
        return None
    changed = (
        transition.machine is not transition.before and transition.machine != transition.before
    )
    if not (changed or transition.goal or transition.probe or transition.ask or transition.close):
        return None
    return Advance(
        machine=transition.machine,
        changed=changed,
        events=transition.events,
        verdict=transition.verdict(),
        goal=transition.goal,
        probe=transition.probe,
        ask=transition.ask,
        close=transition.close,
    )


def _row_command(
    row: FleetRow, sizing: Sizing, told: tuple[Event, ...], snapshot: Snapshot
) -> SaveFleet | None:
    adopted = adoption.adoptable(snapshot)
    creations = (*row.creations, *(snapshot.now,) * sizing.creations)
    kept = evolve(
        row,
        creations=_pruned(creations, snapshot),
        destructions=_pruned(row.destructions, snapshot),
        losses=_pruned(row.losses, snapshot),
        condition=sizing.condition,
    )
    requests = tuple(request.number for request in snapshot.requests)
    records = adoption.records_for(adopted, kept, snapshot)
    if kept == snapshot.row and not (sizing.inserts or requests or adopted or told):
        return None
    return SaveFleet(
        row=kept,
        inserts=sizing.inserts,
        named=sizing.named,
        specs=sizing.specs,
        adopted=(*records, *pool.adopted(snapshot, kept.serial + len(records))),
        installations=adoption.adopted_installations(adopted, snapshot),
        events=(*_row_events(kept, snapshot), *_refusals(sizing, snapshot), *told),
        requests=requests,
    )


def _pruned(times: tuple[datetime, ...], snapshot: Snapshot) -> tuple[datetime, ...]:
    """Return the times that still count; the clock jumped back since those of the future."""
    return tuple(min(at, snapshot.now) for at in recent(times, snapshot.now, KEPT))


def _row_events(row: FleetRow, snapshot: Snapshot) -> Iterator[Event]:
    def said(kind: str, reason: str, detail: str = "") -> Event:
        return Event(
            kind=kind,
            at=snapshot.now,
            fleet=snapshot.fleet.name,
            cycle=snapshot.cycle,
            reason=reason,
            detail=detail,
        )

    if row.condition != snapshot.row.condition:
        yield said("condition", row.condition or WELL)
    for request in snapshot.requests:
        detail = f"{_about(request)} {request.size if request.size is not None else ''}".strip()
        yield said(
            "request", f"{request.kind} by {request.actor}", f"{detail} {request.why}".strip()
        )


def _refusals(sizing: Sizing, snapshot: Snapshot) -> Iterator[Event]:
    """Tell, in the history of each machine that was asked for and cannot be, why."""
    for machine, why in sizing.refused:
        yield Event(
            kind="request_refused",
            at=snapshot.now,
            fleet=snapshot.fleet.name,
            cycle=snapshot.cycle,
            machine=machine,
            reason=str(Reason.REFUSED),
            detail=why,
        )


def _about(request: Request) -> str:
    return str(request.machine or request.host or request.fleet)


def _expects(transition: Transition) -> bool:
    """Tell whether an observation may soon show something new of a machine, dates aside."""
    if transition.next.kind == "prepare" and transition.next.at is not None:
        return False
    return transition.machine.phase not in _SETTLED or transition.machine.doubt is not None


def _due(
    transitions: tuple[Transition, ...], others: tuple[datetime | None, ...], snapshot: Snapshot
) -> datetime | None:
    times = (*(transition.next.at for transition in transitions), *others)
    return min((at for at in times if at is not None and at > snapshot.now), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """The answer to *why*, and *what next*, for one machine."""

    machine: Machine
    verdict: Verdict
    condition: str


def verdict_of(machine: Machine, snapshot: Snapshot, planner: Planner) -> Explained | None:
    """Return what decide() says of one machine, or None where it is not of this fleet."""
    decision = decide(snapshot, planner)
    verdict = next((v for v in decision.verdicts if v.machine == machine.id), None)
    if verdict is None:
        return None
    return Explained(machine=machine, verdict=verdict, condition=decision.condition)
