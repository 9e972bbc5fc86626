"""Named: machines that are asked for one by one: which begin now, and which are tried again?

Where a fleet does not renew itself, whoever asked counts its machines under their ids. So nothing
is made or ended for the sake of a size; a start that fails is made again under the same id until
its deadline; and what was lost is not replaced behind the asker's back (docs/decisions/0009).
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from hostler.domain.ids import MachineId
from hostler.domain.model.caps import creations_left
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.machine import Fate, Machine, Offer, Origin
from hostler.domain.model.phases import Phase
from hostler.domain.model.reasons import Reason
from hostler.domain.model.snapshot import Seen
from hostler.domain.model.transition import Step, move

from .requests import births, paused
from .scaling import Sizing, begin_blocked, choose, unbegun_left, why_no_offer


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


def again(machine: Machine, fleet: Fleet, now: datetime, jumped: datetime | None = None) -> bool:
    """Tell whether a machine will be started once more under its id when nothing of it is left."""
    if fleet.renews or machine.was_ready is not None or machine.ending is not None:
        return False
    if machine.origin is not Origin.MADE or machine.reason == Reason.TURNED_UP_LATE:
        return False
    if machine.stuck:  # its place was given to others
        return False
    return now < _deadline(machine, fleet, jumped)


def elsewhere(machine: Machine, seen: Seen) -> Offer | None:
    """Return an offer in the same zone that a start may go on with, where its own is sold out.

    Nothing has to be undone for that as long as no server was ever made, or may have been.
    """
    server = machine.place(seen.traits.main)
    fresh = all(known.gone for known in server.known)
    unsure = any(asked.fate is Fate.OPEN for asked in machine.asked)
    if not again(machine, seen.fleet, seen.now, seen.jumped) or not fresh or unsure:
        return None
    if creations_left(seen.fleet, seen.row, seen.now) == 0:
        return None
    for offer in seen.fleet.offers:
        setback = seen.row.setback(offer)
        blocked = setback is not None and seen.now < setback.until
        if offer.zone == machine.offer.zone and offer != machine.offer and not blocked:
            return offer
    return None


def anew(machine: Machine) -> Machine:
    """Return the record as for a first start, but for the ids and attempts that were used up."""
    return replace(
        machine,
        places=tuple(replace(place, bound=None) for place in machine.places),
        facts=(),
        tries=0,
        again=None,
        blind=None,
        refused=None,
        observed="",
        address="",
        price=0.0,
    )


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
    if late or (tried and seen.now >= _deadline(machine, seen.fleet, seen.jumped)):
        return move(step, Phase.GONE, Reason.NOT_ADMITTED, seen)
    return step


def _deadline(machine: Machine, fleet: Fleet, jumped: datetime | None) -> datetime:
    """Return until when another start may begin."""
    return max(machine.created, jumped or machine.created) + fleet.timers.start


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
