"""The stages that ask about each machine by itself: where it stands, and what comes next for it."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from hostler.domain.fleets import offers
from hostler.domain.hosts import allocation, turns
from hostler.domain.ids import evolve
from hostler.domain.machines import drift, failure, lifecycle, repair, retry
from hostler.domain.machines.next_calls import allowed
from hostler.domain.machines.probing import failure_of
from hostler.domain.model.calls import Shows
from hostler.domain.model.commands import Next
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase, Reason
from hostler.domain.model.resource import Resource
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import IllegalMove, Transition, move, wait
from hostler.domain.observation import certainty

from .draft import Context, Draft


def follow(draft: Draft, context: Context) -> Draft:
    """What has the world already done? An illegal move is reported, not made."""
    snapshot, cache = context.snapshot, context.cache
    row = offers.in_present(draft.row, snapshot)
    wave = failure.loses_many(draft.machines, row, snapshot)
    transitions, alarms, unissued = list[Transition](), list[str](), list[Resource]()
    for before, machine in zip(snapshot.machines, draft.machines, strict=True):
        if machine.id in snapshot.moving:
            transitions.append(_in_flight(machine))
            continue
        if before is machine and (at_rest := cache.transition(machine, snapshot)) is not None:
            transitions.append(at_rest)
            continue
        try:
            transition = lifecycle.follow(machine, snapshot, wave=wave)
        except IllegalMove as illegal:
            alarms.append(str(illegal))
            found = certainty.unissued_of(machine, snapshot)
            transition = Transition(before=machine, machine=machine, resources=(), unissued=found)
        if before is not machine:  # what this cycle's requests changed is saved too
            transition = replace(transition, before=before)
        unissued += transition.unissued
        if transition.machine is not transition.before:
            row = _count_loss(transition, offers.remember(transition, row, snapshot), snapshot)
        transitions.append(transition)
    return replace(
        draft,
        row=row,
        transitions=tuple(transitions),
        unissued=tuple(unissued),
        alarms=tuple(alarms),
    )


def _in_flight(machine: Machine) -> Transition:
    transition = Transition(before=machine, machine=machine, resources=())
    return wait(transition, "answer", "calls are in flight")


_NOBODYS = frozenset({Reason.REFUSED, Reason.BOOTSTRAP_FAILED, Reason.BOOTSTRAP_REFUSED})


def _count_loss(transition: Transition, row: FleetRow, snapshot: Snapshot) -> FleetRow:
    """Count what was lost, or became overdue; a refusal, or a list's fault, is nobody's loss."""
    if transition.machine.phase is not Phase.FAILED:
        return row
    fell = transition.before.phase in {Phase.STARTING, Phase.READY, Phase.DRAINING}
    nobodys = transition.machine.reason in _NOBODYS
    return replace(row, losses=(*row.losses, snapshot.now)) if fell and not nobodys else row


def repair_failed(draft: Draft, context: Context) -> Draft:
    """What becomes of machines that failed? They are cleared away, as far as the caps allow."""
    snapshot, row = context.snapshot, draft.row
    transitions = list(draft.transitions)
    for place, transition in enumerate(transitions):
        machine = transition.machine
        if machine.phase is Phase.FAILED and machine.id not in snapshot.moving:
            transitions[place], row = repair.repair(transition, row, snapshot)
    return replace(draft, transitions=tuple(transitions), row=row)


def advance(draft: Draft, context: Context) -> Draft:
    """What comes next for each machine? Endings go one phase further, then calls are planned.

    Resizing had the chance to call endings back by now.
    """
    row = draft.row
    return replace(
        draft,
        transitions=tuple(_aimed(transition, row, context) for transition in draft.transitions),
    )


def _aimed(transition: Transition, row: FleetRow, context: Context) -> Transition:
    """Return the step with its aim; what the provider cannot say of one machine stops no other."""
    if context.cache.verdict(transition) is not None:
        return transition
    snapshot = context.snapshot
    try:
        ends = transition.machine.deletion is not None
        ended = _end_now(transition, row, snapshot) if ends else transition
        aimed = _aim(_begins_to_end(ended, snapshot), context)
    except Exception as error:  # noqa: BLE001 - a third party's code: its bug is reported, and kept to one
        return replace(
            transition,
            blocker=f"{transition.machine.id}: the provider failed: {error!r}",
            failed=True,
        )
    context.cache.keep(aimed, snapshot)
    return aimed


def _end_now(transition: Transition, row: FleetRow, snapshot: Snapshot) -> Transition:
    """Carry an ending one phase further, where this cycle did not move the machine already."""
    machine = transition.machine
    if machine.id in snapshot.moving or machine.phase is not transition.before.phase:
        return transition
    return repair.end(transition, row, snapshot)


def _begins_to_end(transition: Transition, snapshot: Snapshot) -> Transition:
    """Decide what becomes of an allocation's host before the first call of its end.

    Where that is nothing, the machine is deleted by its next cycle: one save makes one move.
    """
    if not snapshot.capabilities.hosts or transition.machine.phase is not Phase.STOPPING:
        return transition
    if transition.before.phase is Phase.STOPPING or transition.machine.goal is Goal.STANDBY:
        return transition
    settled = allocation.stopping(transition, snapshot)
    if settled.machine.phase is Phase.DELETED:
        return replace(transition, blocker="its host is left as it is")
    return settled


def _aim(transition: Transition, context: Context) -> Transition:
    """Say what the machine is advanced to, and what is next for it."""
    machine, snapshot = transition.machine, context.snapshot
    goal = lifecycle.goal_of(machine)
    if machine.id in snapshot.moving or goal is None:
        return transition
    if transition.blocker if goal is Goal.ABSENT else transition.lost:
        return transition
    ready = allowed(machine, goal, transition.resources, snapshot, context.planner)
    if drift.may_drift(machine):
        transition = drift.noted(transition, ready.named, snapshot)
    if ready.calls:
        call = Next(kind="call", detail=str(ready.calls[0]))
        tried = retry.last_try(transition, ready.calls, snapshot)
        starts = any(call.shows is Shows.POWER for call in ready.calls)
        return replace(transition, goal=goal, next=call, tried=tried, starts=starts)
    if transition.next.kind != "nothing":
        return transition
    if ready.waits:
        return wait(transition, "wait", ready.waits, ready.at)
    return _patience(_settled(transition), snapshot)


def _settled(transition: Transition) -> Transition:
    """Return the step without the error of a call that nobody would make any more.

    It was ready, nothing is to be done, and nothing waited for: what failed last is past, however
    that was settled. Why a probe failed is no call's error, and ends with a probe that passes.
    """
    machine = transition.machine
    if not machine.error:
        return transition
    was_ready = machine.phase is Phase.READY and transition.before.phase is Phase.READY
    if not was_ready or failure_of(machine):
        return transition
    return replace(
        transition, machine=replace(machine, error="", tries=0, retry_at=None, retry_since=None)
    )


def _patience(transition: Transition, snapshot: Snapshot) -> Transition:
    machine = transition.machine
    match machine.phase:
        case Phase.STARTING:
            detail = f"until it is up (now: {machine.observed or 'not seen yet'})"
        case Phase.STOPPING:
            detail = "until complete observations show nothing of it"
        case _:
            return transition
    return wait(transition, "observe", detail, lifecycle.overdue_at(machine, snapshot))


def bound_retries(draft: Draft, context: Context) -> Draft:
    """Which machines may try to be made once more? Those without room in this hour wait."""
    transitions, row = retry.bounded(
        draft.transitions, draft.row, draft.sizing.creations, context.snapshot
    )
    blockers = (transition.blocker for transition in transitions if transition.failed)
    return replace(draft, transitions=transitions, row=row, alarms=(*draft.alarms, *blockers))


def space_starts(draft: Draft, context: Context) -> Draft:
    """Which hosts may be switched on now? One after the other, where their limits say so."""
    return replace(draft, transitions=turns.spaced(draft.transitions, context.snapshot))


def reopen(draft: Draft, context: Context) -> Draft:
    """Which machines of the history appeared late? Their ends begin once more."""
    snapshot = context.snapshot
    past = (*((machine, machine) for machine in snapshot.reopening), *_adopted(draft, snapshot))
    return replace(draft, transitions=(*draft.transitions, *_reopened(past, snapshot)))


def _adopted(draft: Draft, snapshot: Snapshot) -> Iterator[tuple[Machine, Machine]]:
    """Yield each machine of the history that is reopened by an adoption, before and with it."""
    before = {machine.id: machine for machine in snapshot.ended}
    return ((before[machine.id], machine) for machine in draft.reopened)


def _reopened(past: Iterable[tuple[Machine, Machine]], snapshot: Snapshot) -> Iterator[Transition]:
    for before, machine in past:
        own = evolve(machine, fleet=snapshot.fleet.name)  # it may be of one that was taken over
        transition = Transition(before=before, machine=own, resources=())
        yield move(transition, Phase.STOPPING, Reason.APPEARED_LATE, snapshot)
