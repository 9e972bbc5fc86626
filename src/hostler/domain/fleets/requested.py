"""Named: machines that are asked for one by one: which begin now, and which are tried again?

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
from hostler.domain.model.snapshot import Seen
from hostler.domain.model.transition import Step, move
from hostler.domain.observation.blockers import paused

from .offers import begin_blocked, choose, unbegun_left, why_no_offer
from .requests import births
from .scaling import Sizing


def resize(steps: tuple[Step, ...], row: FleetRow, seen: Seen) -> Sizing:
    """Return the machines that were wished by name, and which of those that wait begin now."""
    named = _new(row, seen)
    steps = tuple(_too_late(step, seen) for step in steps)
    waiting = [step for step in steps if _waits(step)]
    why, due = "", None
    begun = dict[MachineId, Step]()
    if waiting:
        begun, why, due = _begin(waiting, steps, row, seen)
    return Sizing(
        inserts=(seen.fleet.offers[0],) * len(named),
        named=named,
        creations=sum(step.machine.phase is Phase.STARTING for step in begun.values()),
        steps=tuple(begun.get(step.machine.id, step) for step in steps),
        condition=why,
        due=due,
    )


def counted(row: FleetRow, sizing: Sizing) -> FleetRow:
    """Return the row with the size that comes of what was asked for, and is not lost."""
    size = sum(step.machine.wanted for step in sizing.steps) + len(sizing.named)
    return row if row.size == size else replace(row, size=size)


def room(fleet: Fleet, row: FleetRow, machines: Iterable[Machine]) -> int:
    """Return how many machines may still be named under the fleet's maximum."""
    most = fleet.most(row.wished(fleet))
    stuck, held = 0, 0
    for machine in machines:
        stuck, held = stuck + machine.stuck, held + machine.in_maximum
    return max(0, most - held - max(0, stuck - fleet.caps.stuck))


def _new(row: FleetRow, seen: Seen) -> tuple[MachineId, ...]:
    """Return the ids to insert: those wished, no more than the maximum has room for.

    Doors accept no more than there is room; it is kept here whatever they do.
    """
    known = {machine.id for machine in seen.machines}
    wished = tuple(machine for machine in births(seen) if machine not in known)
    return wished[: room(seen.fleet, row, seen.machines)]


def _waits(step: Step) -> bool:
    return step.machine.phase is Phase.WANTED and step.machine.ending is None


def _too_late(step: Step, seen: Seen) -> Step:
    """Give up a machine that could not begin in time; nothing of it exists."""
    machine = step.machine
    if not _waits(step) or machine.held(seen.now):
        return step
    tried = machine.reason == Reason.MADE_AGAIN
    late = machine.elapsed(seen.now, seen.jumped) >= seen.fleet.timers.admit
    if late or (tried and seen.now >= start_deadline(machine, seen.fleet, seen.jumped)):
        return move(step, Phase.GONE, Reason.NOT_ADMITTED, seen)
    return step


def _begin(
    waiting: list[Step], steps: tuple[Step, ...], row: FleetRow, seen: Seen
) -> tuple[dict[MachineId, Step], str, datetime | None]:
    """Return the steps of those that wait, begun or told why not, and what holds the rest up."""
    why, due = paused(row, seen.now) or begin_blocked(steps, row, seen), None
    left = min(creations_left(seen.fleet, row, seen.now), unbegun_left(steps, seen))
    offers = () if why else choose(steps, row, min(len(waiting), left), seen)
    if not why and not offers:
        why, due = why_no_offer(row, seen)
    changed = dict[MachineId, Step]()
    for step, offer in zip(waiting, offers, strict=False):
        chosen = replace(step, machine=replace(step.machine, offer=offer))
        changed[step.machine.id] = move(chosen, Phase.STARTING, Reason.ADMITTED, seen)
    for step in waiting[len(offers) :]:
        said = why or "others begin first"
        changed[step.machine.id] = replace(step, blocker=said)
    return changed, why, due
