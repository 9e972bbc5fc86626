"""Scaling: how many machines are wanted, which offers may be tried, and which machines go?"""

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.hosts import parking
from hostler.domain.ids import MachineId
from hostler.domain.machines import rollout
from hostler.domain.model.commands import RESIZE
from hostler.domain.model.fleet import FleetRow, creations_left
from hostler.domain.model.machine import Deletion, MachineSpec, Offer
from hostler.domain.model.phases import Goal, Phase, Reason
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition, move, wait
from hostler.domain.observation.blockers import paused, world_is_right, zone_is_known

from .offers import choose, unbegun_left, why_no_offer


class Sizing(Struct, frozen=True, kw_only=True):
    """What resizing comes to: offers to insert, steps changed, and what holds it up.

    `named` are the ids of the inserts where they were asked for by name, `specs` what was asked of
    each, and `refused` those that cannot be, with the reason; `creations` is how many creation
    attempts this counts as.
    """

    inserts: tuple[Offer, ...] = ()
    named: tuple[MachineId, ...] = ()
    specs: tuple[MachineSpec, ...] = ()
    refused: tuple[tuple[MachineId, str], ...] = ()
    creations: int = 0
    transitions: tuple[Transition, ...] = ()
    condition: str = ""
    due: datetime | None = None


def resize(
    transitions: tuple[Transition, ...], row: FleetRow, target: int, snapshot: Snapshot
) -> Sizing:
    """Return what brings the number of wanted machines to the target."""
    if why := paused(row, snapshot.now):
        return Sizing(transitions=transitions, condition=why)
    transitions = tuple(
        _admit(transition, snapshot) if transition.machine.phase is Phase.PENDING else transition
        for transition in transitions
    )
    wanted = sum(parking.counts(transition) for transition in transitions)
    if wanted > target and snapshot.fleet.protected:
        return Sizing(
            transitions=transitions, condition=f"{wanted - target} too many: the fleet is protected"
        )
    if wanted > target:
        return Sizing(transitions=_shed(transitions, wanted - target, snapshot))
    if wanted < target:
        back = _call_back(transitions, target - wanted, snapshot)
        if why := rollout.condition(snapshot.revision):
            return Sizing(transitions=back, condition=why)
        missing = target - sum(parking.counts(transition) for transition in back)
        return _grow(parking.woken(back, missing, snapshot), row, target, snapshot)
    return Sizing(transitions=transitions)


def _admit(transition: Transition, snapshot: Snapshot) -> Transition:
    machine = transition.machine
    if machine.deletion is not None:
        return transition
    if machine.elapsed(snapshot.now, snapshot.jumped) >= snapshot.fleet.timers.admit:
        return move(transition, Phase.DELETED, Reason.NOT_ADMITTED, snapshot)
    if why := world_is_right(snapshot):
        return replace(transition, blocker=why)
    if not zone_is_known(snapshot, machine.offer):
        waiting = replace(transition, blocker=f"{machine.offer.zone} could not be observed whole")
        return wait(waiting, "observe", f"all of {machine.offer.zone}")
    if snapshot.capabilities.hosts:  # it begins with its host
        return transition
    return move(transition, Phase.STARTING, Reason.ADMITTED, snapshot)


def _call_back(
    transitions: tuple[Transition, ...], missing: int, snapshot: Snapshot
) -> tuple[Transition, ...]:
    """Take back as many endings of ours as are wanted again, while nothing was done about them."""
    changed = list(transitions)
    for place, transition in enumerate(transitions):
        deletion = transition.machine.deletion
        ours = deletion is not None and deletion.actor == RESIZE
        if missing and ours and transition.machine.phase is Phase.DRAINING:
            recovered = replace(
                transition,
                machine=replace(transition.machine, deletion=None),
                blocker="",
                ask=False,
            )
            changed[place] = move(recovered, Phase.READY, Reason.RECOVERED, snapshot)
            missing -= 1
        elif missing and parking.waits_to_rest(transition):
            present = replace(transition.machine, goal=Goal.PRESENT)
            changed[place] = replace(transition, machine=present, blocker="", ask=False)
            missing -= 1
    return tuple(changed)


def _shed(
    transitions: tuple[Transition, ...], many: int, snapshot: Snapshot
) -> tuple[Transition, ...]:
    victims = sorted(
        (s for s in transitions if parking.counts(s)), key=lambda s: _worth(s, snapshot)
    )
    free = [
        transition.machine.id
        for transition in victims
        if not transition.machine.is_protected(snapshot.now)
    ]
    picked = frozenset(free[:many])
    return tuple(
        _let_go(transition, snapshot) if transition.machine.id in picked else transition
        for transition in transitions
    )


def _let_go(transition: Transition, snapshot: Snapshot) -> Transition:
    """Let one go that is too many: into standby where its host is paid for, else for good."""
    if parking.is_paid(transition, snapshot):
        return replace(transition, machine=replace(transition.machine, goal=Goal.STANDBY))
    deletion = Deletion(at=snapshot.now, actor=RESIZE, why=str(Reason.SCALED_DOWN))
    return replace(transition, machine=replace(transition.machine, deletion=deletion))


_LEAST_WORTH = (Phase.PENDING, Phase.STARTING, Phase.READY)


def _worth(transition: Transition, snapshot: Snapshot) -> tuple[int, bool, bool, float, float, int]:
    """Order machines by what is lost with them.

    Unborn, then half made, on an ordered host whose window is over, outdated, on the host with the
    least paid time left, then youngest. Machines that came from another fleet have newer serials
    than those that were made here since, so that a serial only tells between equally old ones.
    """
    machine = transition.machine
    current = not snapshot.fleet.outdates(machine)
    paid = parking.paid_left(transition, snapshot)
    cheap = not parking.is_overdue(transition, snapshot)
    came = (-machine.created.timestamp(), -machine.serial)
    return (_LEAST_WORTH.index(machine.phase), cheap, current, paid, *came)


def _grow(
    transitions: tuple[Transition, ...], row: FleetRow, target: int, snapshot: Snapshot
) -> Sizing:
    wanted = sum(
        parking.counts(transition) or parking.wakes(transition) for transition in transitions
    )
    if why := world_is_right(snapshot):
        return Sizing(transitions=transitions, condition=why)
    if wanted >= target:
        return Sizing(transitions=transitions)
    room, full = _room(transitions, row, snapshot)
    many = min(target - wanted, room)
    if many <= 0:
        return Sizing(transitions=transitions, condition=full)
    chosen = choose(transitions, row, many, snapshot)
    short = len(chosen) < many if snapshot.capabilities.hosts else not chosen
    condition, due = why_no_offer(row, snapshot, len(chosen)) if short else ("", None)
    return Sizing(
        inserts=chosen, creations=len(chosen), transitions=transitions, condition=condition, due=due
    )


def _room(
    transitions: tuple[Transition, ...], row: FleetRow, snapshot: Snapshot
) -> tuple[int, str]:
    most = snapshot.fleet.most(row.desired(snapshot.fleet))
    held = sum(transition.machine.in_maximum for transition in transitions)
    held += len(snapshot.reopening)
    stuck = sum(transition.machine.health.stuck for transition in transitions)
    left = most - held - max(0, stuck - snapshot.fleet.caps.stuck)
    if left <= 0:
        return 0, f"the maximum of {most} is reached while {held + stuck} machines still exist"
    creates = creations_left(snapshot.fleet, row, snapshot.now)
    if creates == 0:
        return 0, "the bound on creations in an hour is reached"
    return min(left, creates, unbegun_left(transitions, snapshot)), ""
