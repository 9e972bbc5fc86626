"""Requested: machines that are asked for by id: which begin now, and which are tried again?

Where a fleet does not renew itself, whoever asked counts its machines under their ids. So nothing
is made or ended for the sake of a size; a start that fails is made again under the same id until
its deadline; and what was lost is not replaced behind the asker's back (docs/decisions/0009).
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from hostler.domain.ids import MachineId
from hostler.domain.machines.retry import start_deadline
from hostler.domain.model.fleet import Fleet, FleetRow, creations_left
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition, move
from hostler.domain.observation.blockers import paused

from .offers import begin_blocked, choose, unbegun_left, why_no_offer
from .requests import births
from .scaling import Sizing


def resize(transitions: tuple[Transition, ...], row: FleetRow, snapshot: Snapshot) -> Sizing:
    """Return the machines that were asked for by name, and which of those that wait begin now."""
    named = _new(row, snapshot)
    transitions = tuple(_too_late(transition, snapshot) for transition in transitions)
    waiting = [transition for transition in transitions if _waits(transition)]
    why, due = "", None
    begun = dict[MachineId, Transition]()
    if waiting:
        begun, why, due = _begin(waiting, transitions, row, snapshot)
    return Sizing(
        inserts=(snapshot.fleet.offers[0],) * len(named),
        named=named,
        creations=sum(transition.machine.phase is Phase.STARTING for transition in begun.values()),
        transitions=tuple(
            begun.get(transition.machine.id, transition) for transition in transitions
        ),
        condition=why,
        due=due,
    )


def counted(row: FleetRow, sizing: Sizing) -> FleetRow:
    """Return the row with the size that comes of what was asked for, and is not lost."""
    size = sum(transition.machine.wanted for transition in sizing.transitions) + len(sizing.named)
    return row if row.size == size else replace(row, size=size)


def room(fleet: Fleet, row: FleetRow, machines: Iterable[Machine]) -> int:
    """Return how many machines may still be named under the fleet's maximum."""
    most = fleet.most(row.desired(fleet))
    stuck, held = 0, 0
    for machine in machines:
        stuck, held = stuck + machine.stuck, held + machine.in_maximum
    return max(0, most - held - max(0, stuck - fleet.caps.stuck))


def _new(row: FleetRow, snapshot: Snapshot) -> tuple[MachineId, ...]:
    """Return the ids to insert: those asked for, no more than the maximum has room for.

    Frontends accept no more than there is room; it is kept here whatever they do.
    """
    known = {machine.id for machine in snapshot.machines}
    desired = tuple(machine for machine in births(snapshot) if machine not in known)
    return desired[: room(snapshot.fleet, row, snapshot.machines)]


def _waits(transition: Transition) -> bool:
    return transition.machine.phase is Phase.PENDING and transition.machine.deletion is None


def _too_late(transition: Transition, snapshot: Snapshot) -> Transition:
    """Give up a machine that could not begin in time; nothing of it exists."""
    machine = transition.machine
    if not _waits(transition) or machine.is_protected(snapshot.now):
        return transition
    tried = machine.reason == Reason.MADE_AGAIN
    late = machine.elapsed(snapshot.now, snapshot.jumped) >= snapshot.fleet.timers.admit
    if late or (tried and snapshot.now >= start_deadline(machine, snapshot.fleet, snapshot.jumped)):
        return move(transition, Phase.DELETED, Reason.NOT_ADMITTED, snapshot)
    return transition


def _begin(
    waiting: list[Transition],
    transitions: tuple[Transition, ...],
    row: FleetRow,
    snapshot: Snapshot,
) -> tuple[dict[MachineId, Transition], str, datetime | None]:
    """Return the steps of those that wait, begun or with a reason why not, and what blocks."""
    why, due = paused(row, snapshot.now) or begin_blocked(transitions, row, snapshot), None
    left = min(
        creations_left(snapshot.fleet, row, snapshot.now), unbegun_left(transitions, snapshot)
    )
    offers = () if why else choose(transitions, row, min(len(waiting), left), snapshot)
    if not why and not offers:
        why, due = why_no_offer(row, snapshot)
    changed = dict[MachineId, Transition]()
    for transition, offer in zip(waiting, offers, strict=False):
        chosen = replace(transition, machine=replace(transition.machine, offer=offer))
        changed[transition.machine.id] = move(chosen, Phase.STARTING, Reason.ADMITTED, snapshot)
    for transition in waiting[len(offers) :]:
        said = why or "others begin first"
        changed[transition.machine.id] = replace(transition, blocker=said)
    return changed, why, due
