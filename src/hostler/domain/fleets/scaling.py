"""Resize: how many machines are wanted, which offers may be tried, and which machines go?"""

from dataclasses import dataclass, replace
from datetime import datetime

from hostler.domain.hosts import parking
from hostler.domain.ids import MachineId
from hostler.domain.machines import rollout
from hostler.domain.model.commands import RESIZE
from hostler.domain.model.fleet import FleetRow, creations_left
from hostler.domain.model.machine import Ending, Offer
from hostler.domain.model.phases import Goal, Phase, Reason
from hostler.domain.model.snapshot import Seen
from hostler.domain.model.transition import Step, move, wait
from hostler.domain.observation.blockers import paused, world_is_right, zone_is_known

from .offers import choose, unbegun_left, why_no_offer


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """What resizing comes to: offers to insert, steps changed, and what holds it up.

    `named` are the ids of the inserts where they were asked for by name; `creations` is how many
    creation attempts this counts as.
    """

    inserts: tuple[Offer, ...] = ()
    named: tuple[MachineId, ...] = ()
    creations: int = 0
    steps: tuple[Step, ...] = ()
    condition: str = ""
    due: datetime | None = None


def resize(steps: tuple[Step, ...], row: FleetRow, target: int, seen: Seen) -> Sizing:
    """Return what brings the number of wanted machines to the target."""
    if why := paused(row, seen.now):
        return Sizing(steps=steps, condition=why)
    steps = tuple(_admit(step, seen) for step in steps)
    wanted = sum(parking.counts(step) for step in steps)
    if wanted > target and seen.fleet.protected:
        return Sizing(steps=steps, condition=f"{wanted - target} too many: the fleet is protected")
    if wanted > target:
        return Sizing(steps=_shed(steps, wanted - target, seen))
    if wanted < target:
        back = _call_back(steps, target - wanted, seen)
        if why := rollout.condition(seen.revision):
            return Sizing(steps=back, condition=why)
        missing = target - sum(parking.counts(step) for step in back)
        return _grow(parking.woken(back, missing, seen), row, target, seen)
    return Sizing(steps=steps)


def _admit(step: Step, seen: Seen) -> Step:
    machine = step.machine
    if machine.phase is not Phase.WANTED or machine.ending is not None:
        return step
    if machine.elapsed(seen.now, seen.jumped) >= seen.fleet.timers.admit:
        return move(step, Phase.GONE, Reason.NOT_ADMITTED, seen)
    if why := world_is_right(seen):
        return replace(step, blocker=why)
    if not zone_is_known(seen, machine.offer):
        said = replace(step, blocker=f"{machine.offer.zone} could not be looked at whole")
        return wait(said, "look", f"at all of {machine.offer.zone}")
    if seen.traits.hosts:  # it begins with its host
        return step
    return move(step, Phase.STARTING, Reason.ADMITTED, seen)


def _call_back(steps: tuple[Step, ...], missing: int, seen: Seen) -> tuple[Step, ...]:
    """Take back as many endings of ours as are wanted again, while nothing was done about them."""
    kept = list(steps)
    for place, step in enumerate(steps):
        ending = step.machine.ending
        ours = ending is not None and ending.actor == RESIZE
        if missing and ours and step.machine.phase is Phase.DRAINING:
            again = replace(step, machine=replace(step.machine, ending=None), blocker="", ask=False)
            kept[place] = move(again, Phase.READY, Reason.RECOVERED, seen)
            missing -= 1
        elif missing and parking.waits_to_rest(step):
            again = replace(step.machine, goal=Goal.PRESENT)
            kept[place] = replace(step, machine=again, blocker="", ask=False)
            missing -= 1
    return tuple(kept)


def _shed(steps: tuple[Step, ...], many: int, seen: Seen) -> tuple[Step, ...]:
    victims = sorted((s for s in steps if parking.counts(s)), key=lambda s: _worth(s, seen))
    free = [step.machine.id for step in victims if not step.machine.held(seen.now)]
    picked = frozenset(free[:many])
    return tuple(_let_go(step, seen) if step.machine.id in picked else step for step in steps)


def _let_go(step: Step, seen: Seen) -> Step:
    """Let one go that is too many: to rest where its host is paid for anyway, else for good."""
    if parking.is_paid(step, seen):
        return replace(step, machine=replace(step.machine, goal=Goal.RESTING))
    ending = Ending(at=seen.now, actor=RESIZE, why=str(Reason.SCALED_DOWN))
    return replace(step, machine=replace(step.machine, ending=ending))


_LEAST_WORTH = (Phase.WANTED, Phase.STARTING, Phase.READY)


def _worth(step: Step, seen: Seen) -> tuple[int, bool, float, int]:
    """Order machines by what is lost with them.

    Unborn, then half made, outdated, on the host with the least paid time left, then youngest.
    """
    machine = step.machine
    current = machine.template == seen.fleet.template
    paid = parking.paid_left(step, seen)
    return (_LEAST_WORTH.index(machine.phase), current, paid, -machine.serial)


def _grow(steps: tuple[Step, ...], row: FleetRow, target: int, seen: Seen) -> Sizing:
    wanted = sum(parking.counts(step) or parking.wakes(step) for step in steps)
    if why := world_is_right(seen):
        return Sizing(steps=steps, condition=why)
    if wanted >= target:
        return Sizing(steps=steps)
    room, full = _room(steps, row, target, seen)
    many = min(target - wanted, room)
    if many <= 0:
        return Sizing(steps=steps, condition=full)
    chosen = choose(steps, row, many, seen)
    short = len(chosen) < many if seen.traits.hosts else not chosen
    condition, due = why_no_offer(row, seen) if short else ("", None)
    return Sizing(inserts=chosen, creations=len(chosen), steps=steps, condition=condition, due=due)


def _room(steps: tuple[Step, ...], row: FleetRow, target: int, seen: Seen) -> tuple[int, str]:
    most = seen.fleet.most(max(target, row.wished(seen.fleet)))
    held = sum(step.machine.in_maximum for step in steps)
    stuck = sum(step.machine.stuck for step in steps)
    left = most - held - max(0, stuck - seen.fleet.caps.stuck)
    if left <= 0:
        return 0, f"the maximum of {most} is reached while {held + stuck} machines still exist"
    creates = creations_left(seen.fleet, row, seen.now)
    if creates == 0:
        return 0, "the bound on creations in an hour is reached"
    return min(left, creates, unbegun_left(steps, seen)), ""
