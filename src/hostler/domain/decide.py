"""Decide: one look at the world in, commands with their reasons out. Pure.

Asks, in order: adopt, follow, repair, resize, replace, sweep. Everything that a plan or an
explanation says comes from here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from .decision_cache import Rests
from .fleets import adoption
from .fleets import requested as named
from .fleets.offers import in_present, remember
from .fleets.reclaim import ledger, reclaims
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
from .model.commands import Command, Decision, Event, KeepRow, Loose, Next, Tend, Verdict
from .model.fleet import KEPT, WELL, FleetRow, in_wave, recent
from .model.machine import Machine
from .model.phases import Goal, Phase, Reason
from .model.provider import Ways
from .model.snapshot import Seen, Wish
from .model.transition import IllegalMove, Step, move, wait

_SETTLED = (Phase.READY, Phase.GONE, Phase.RESTING)


def decide(seen: Seen, ways: Ways, rests: Rests | None = None) -> Decision:
    """Return what is to be done for this fleet now.

    The same with and without what earlier decisions of this fleet remember in `rests`, but sooner.
    """
    rests = Rests(remembers=False) if rests is None else rests
    rests.begin(seen)
    return rests.decision(seen) or _decided(seen, ways, rests)


def _decided(seen: Seen, ways: Ways, rests: Rests) -> Decision:
    seen = rollout.with_revision(seen)
    row, machines = granted(seen)
    row = evolve(row, revision=seen.revision)
    row = pool.with_room(row, machines.values(), seen)
    steps, row, alarms = _consider(tuple(machines.values()), in_present(row, seen), seen, rests)
    target = row.wished(seen.fleet) + surge(steps, seen) - pool.joining(seen)
    sizing, row = _sized(steps, row, target, seen)
    steps, row = replace_one(sizing.steps, row, target, seen)
    assigned = assign(steps, seen.fleet.account, seen)
    steps = assigned.steps
    bought = buy(steps, row, seen)
    steps, row = bought.steps, bought.row
    sizing = evolve(sizing, condition=bought.told(sizing.condition))
    steps = tuple(_aimed(step, row, seen, ways, rests) for step in steps)
    steps, row = retry.bounded(steps, row, sizing.creations, seen)
    alarms = (*alarms, *(step.blocker for step in steps if step.failed))
    steps = (*steps, *_reopened(seen))
    swept = reclaims(ledger(seen), row, seen, ways)
    row = evolve(row, destructions=(*row.destructions, *(seen.now,) * swept.counted))
    pardons = tuple(rollout.pardons(row.revision, seen))
    row_command = _row_command(row, sizing, tuple(pardon.event for pardon in pardons), seen)
    tends = tuple(t for step in steps if (t := _tend(step, seen)) is not None)
    commands: list[Command] = [c for c in (row_command,) if c is not None]
    commands += assigned.takes
    commands += (*pool.pooled(seen.fleet.account, seen), *bought.keeps)
    commands += pool.given_up(seen.fleet.account, seen)
    commands += (pardon.keep for pardon in pardons)
    commands += pool.taken_over(adoption.adoptable(seen), seen)
    commands += (bought.order,) if bought.order else ()
    commands += tends
    commands += (Loose(host=h, machine=s.machine.id) for s in steps if (h := _let_go(s)))
    if swept.ledger.suspects or swept.ledger.cleared:
        commands.append(swept.ledger)
    commands += swept.reclaims
    decision = Decision(
        commands=tuple(commands),
        condition=sizing.condition,
        verdicts=tuple(rests.verdict(step) or step.verdict() for step in steps),
        due=_due(steps, (sizing.due, bought.due), seen),
        expecting=bool(sizing.inserts) or any(_expects(step) for step in steps),
        alarms=alarms,
        recalled=tuple(s.machine.id for s in steps if s.machine.id in seen.moving and _ends(s)),
    )
    rests.keep_whole(decision, steps, seen)
    return decision


def _sized(
    steps: tuple[Step, ...], row: FleetRow, target: int, seen: Seen
) -> tuple[Sizing, FleetRow]:
    """Ask how many are wanted, or which, and return the row with the size that is in force."""
    if seen.fleet.renews:
        return _told(resize(steps, row, target, seen), row), row
    sizing = _told(named.resize(steps, row, seen), row)
    return sizing, named.counted(row, sizing)


def _told(sizing: Sizing, row: FleetRow) -> Sizing:
    """Say of the fleet that its list of commands is at fault, whatever else is to be said."""
    broken = rollout.condition(row.revision)
    return replace(sizing, condition=broken) if broken else sizing


def _let_go(step: Step) -> HostId | None:
    return step.before.host if step.machine.host is None else None


def _ends(step: Step) -> bool:
    return step.machine.ending is not None


def _consider(
    machines: tuple[Machine, ...], row: FleetRow, seen: Seen, rests: Rests
) -> tuple[tuple[Step, ...], FleetRow, tuple[str, ...]]:
    """Follow and repair each machine that is not in flight; an illegal move is told, not made."""
    doubted = sum(machine.doubt is not None for machine in machines)
    wave = in_wave(seen.fleet, row, doubted, seen.now)
    steps, alarms = list[Step](), list[str]()
    for before, machine in zip(seen.machines, machines, strict=True):
        if machine.id in seen.moving:
            steps.append(_in_flight(machine))
            continue
        if before is machine and (at_rest := rests.step(machine, seen)) is not None:
            steps.append(at_rest)
            continue
        try:
            step, row = _one(before, machine, row, seen, wave=wave)
        except IllegalMove as illegal:
            alarms.append(str(illegal))
            step = Step(before=before, machine=machine, parts=())
        steps.append(step)
    return tuple(steps), row, tuple(alarms)


def _one(
    before: Machine, machine: Machine, row: FleetRow, seen: Seen, *, wave: bool
) -> tuple[Step, FleetRow]:
    """Follow and repair one machine; `before` is its record without the wishes of this turn."""
    step = follow(machine, seen, wave=wave)
    if before is not machine:
        step = replace(step, before=before)
    row = _count_loss(step, remember(step, row, seen), seen)
    return repair(step, row, seen)


def _in_flight(machine: Machine) -> Step:
    step = Step(before=machine, machine=machine, parts=())
    return wait(step, "answer", "calls are in flight")


def _count_loss(step: Step, row: FleetRow, seen: Seen) -> FleetRow:
    """Count what was lost, or became overdue; a refusal, or a list's fault, is nobody's loss."""
    fell = step.before.phase in {Phase.STARTING, Phase.READY, Phase.DRAINING}
    nobodys = step.machine.reason in {Reason.REFUSED, Reason.OUTFIT_BROKEN}
    if fell and step.machine.phase is Phase.BROKEN and not nobodys:
        return replace(row, losses=(*row.losses, seen.now))
    return row


def _end_now(step: Step, row: FleetRow, seen: Seen) -> Step:
    """Carry endings one phase further, after resizing had the chance to call them back."""
    if step.machine.id in seen.moving or step.machine.ending is None:
        return step
    return end(step, row, seen) if step.machine.phase is step.before.phase else step


def _begins_to_end(step: Step, seen: Seen) -> Step:
    """Settle what becomes of a tenancy's host before the first call of its end.

    Where that is nothing, the machine is gone by its next turn: one save makes one move.
    """
    begins = step.machine.phase is Phase.STOPPING and step.before.phase is not Phase.STOPPING
    if not begins or not seen.traits.hosts or step.machine.goal is Goal.RESTING:
        return step
    settled = allocation.stopping(step, seen)
    if settled.machine.phase is Phase.GONE:
        return replace(step, blocker="its host is left as it is")
    return settled


def _aimed(step: Step, row: FleetRow, seen: Seen, ways: Ways, rests: Rests) -> Step:
    """Return the step with its aim; what the provider cannot say of one machine stops no other."""
    if rests.verdict(step) is not None:
        return step
    try:
        aimed = _aim(_begins_to_end(_end_now(step, row, seen), seen), seen, ways)
    except Exception as error:  # noqa: BLE001 - a third party's code: its bug is told, and kept to one
        return replace(
            step, blocker=f"{step.machine.id}: the provider failed: {error!r}", failed=True
        )
    rests.keep(aimed, seen)
    return aimed


def _aim(step: Step, seen: Seen, ways: Ways) -> Step:
    """Say what the machine is advanced to, and what is next for it."""
    machine = step.machine
    goal = goal_of(machine)
    if machine.id in seen.moving or goal is None:
        return step
    if (step.blocker and goal is Goal.ABSENT) or (step.lost and goal is not Goal.ABSENT):
        return step
    ready = allowed(machine, goal, step.parts, seen, ways)
    if ready.calls:
        said = Next(step="call", detail=str(ready.calls[0]))
        tried = retry.last_try(step, ready.calls, seen)
        return replace(step, goal=goal, next=said, tried=tried)
    if step.next.step != "nothing":
        return step
    if ready.waits:
        return wait(step, "wait", ready.waits, ready.at)
    return _patience(step, seen)


def _patience(step: Step, seen: Seen) -> Step:
    machine = step.machine
    bound = bound_of(machine, seen)
    at = machine.since + bound if bound is not None else None
    match machine.phase:
        case Phase.STARTING:
            said = f"until it is up (now: {machine.observed or 'not seen yet'})"
            return wait(step, "observe", said, at)
        case Phase.STOPPING:
            return wait(step, "observe", "until complete looks show nothing of it", at)
        case _:
            return step


def _reopened(seen: Seen) -> Iterator[Step]:
    for machine in seen.late:
        if machine.phase is not Phase.GONE:
            continue
        step = Step(before=machine, machine=machine, parts=())
        yield move(step, Phase.STOPPING, Reason.TURNED_UP_LATE, seen)


def _tend(step: Step, seen: Seen) -> Tend | None:
    if step.machine.id in seen.moving:
        return None
    changed = step.machine is not step.before and step.machine != step.before
    if not (changed or step.goal or step.probe or step.ask or step.close):
        return None
    return Tend(
        machine=step.machine,
        changed=changed,
        events=step.events,
        verdict=step.verdict(),
        goal=step.goal,
        probe=step.probe,
        ask=step.ask,
        close=step.close,
    )


def _row_command(
    row: FleetRow, sizing: Sizing, told: tuple[Event, ...], seen: Seen
) -> KeepRow | None:
    adopted = adoption.adoptable(seen)
    creations = (*row.creations, *(seen.now,) * sizing.creations)
    kept = evolve(
        row,
        creations=_pruned(creations, seen),
        destructions=_pruned(row.destructions, seen),
        losses=_pruned(row.losses, seen),
        condition=sizing.condition,
    )
    wishes = tuple(wish.number for wish in seen.wishes)
    records = adoption.records_for(adopted, kept, seen)
    if kept == seen.row and not (sizing.inserts or wishes or adopted or told):
        return None
    return KeepRow(
        row=kept,
        inserts=sizing.inserts,
        named=sizing.named,
        adopted=(*records, *pool.adopted(seen, kept.serial + len(records))),
        installations=adoption.adopted_installations(adopted, seen),
        events=(*_row_events(kept, seen), *told),
        wishes=wishes,
    )


def _pruned(times: tuple[datetime, ...], seen: Seen) -> tuple[datetime, ...]:
    """Return the times that still count; the clock jumped back since those of the future."""
    return tuple(min(at, seen.now) for at in recent(times, seen.now, KEPT))


def _row_events(row: FleetRow, seen: Seen) -> Iterator[Event]:
    def said(kind: str, reason: str, detail: str = "") -> Event:
        return Event(
            kind=kind,
            at=seen.now,
            fleet=seen.fleet.name,
            turn=seen.turn,
            reason=reason,
            detail=detail,
        )

    if row.condition != seen.row.condition:
        yield said("condition", row.condition or WELL)
    for wish in seen.wishes:
        detail = f"{_about(wish)} {wish.size if wish.size is not None else ''}".strip()
        yield said("wish", f"{wish.kind} by {wish.actor}", f"{detail} {wish.why}".strip())


def _about(wish: Wish) -> str:
    return str(wish.machine or wish.host or wish.fleet)


def _expects(step: Step) -> bool:
    """Tell whether a look may soon show something new of a machine; a date waits for itself."""
    if step.next.step == "prepare" and step.next.at is not None:
        return False
    return step.machine.phase not in _SETTLED or step.machine.doubt is not None


def _due(
    steps: tuple[Step, ...], others: tuple[datetime | None, ...], seen: Seen
) -> datetime | None:
    times = (*(step.next.at for step in steps), *others)
    return min((at for at in times if at is not None and at > seen.now), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """The answer to *why*, and *what next*, for one machine."""

    machine: Machine
    verdict: Verdict
    condition: str


def verdict_of(machine: Machine, seen: Seen, ways: Ways) -> Explained | None:
    """Return what decide() says of one machine, or None where it is not of this fleet."""
    decision = decide(seen, ways)
    verdict = next((v for v in decision.verdicts if v.machine == machine.id), None)
    if verdict is None:
        return None
    return Explained(machine=machine, verdict=verdict, condition=decision.condition)
