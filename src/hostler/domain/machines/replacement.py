"""Replacement: which machines are too old, outdated or too dear, and may one of them go now?"""

from msgspec.structs import replace

from hostler.domain.hosts import parking
from hostler.domain.model.fleet import FleetRow, destructions_left, next_room
from hostler.domain.model.machine import Deletion
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition, wait
from hostler.domain.observation.blockers import paused

from . import failure

REPLACE = "hostler-replace"
"""The actor of endings that age, a changed template or the price of a host asks for."""


def due(transition: Transition, snapshot: Snapshot) -> Reason | None:
    """Return why this machine should be replaced, or None."""
    machine, timers = transition.machine, snapshot.fleet.timers
    if (
        machine.phase is not Phase.READY
        or machine.deletion is not None
        or machine.health.was_ready is None
    ):
        return None
    since = max(machine.health.was_ready, snapshot.jumped or machine.health.was_ready)
    if timers.max_age is not None and snapshot.now - since >= timers.max_age:
        return Reason.MAX_AGE
    if snapshot.fleet.replace_outdated and snapshot.fleet.outdates(machine):
        return Reason.OUTDATED
    return Reason.WINDOW_OVER if parking.may_move(transition, snapshot) else None


def _replaces(snapshot: Snapshot) -> bool:
    """Tell whether anything makes machines of this fleet due: an age, a template, ordered hosts."""
    fleet = snapshot.fleet
    return fleet.timers.max_age is not None or fleet.replace_outdated or bool(snapshot.hosts)


def _may_go(transition: Transition, snapshot: Snapshot) -> Reason | None:
    """Return why this machine should be replaced, where nothing keeps it from that now."""
    if (
        transition.machine.id in snapshot.moving
        or transition.machine.is_protected(snapshot.now)
        or transition.lost
    ):
        return None
    return due(transition, snapshot)


def surge(transitions: tuple[Transition, ...], snapshot: Snapshot) -> int:
    """Return by how many machines the fleet may be larger while some are replaced.

    What only waits a moment for an answer, or to be seen again, keeps its replacement.
    """
    if not _replaces(snapshot):
        return 0
    replaced = (
        not transition.machine.is_protected(snapshot.now) and due(transition, snapshot) is not None
        for transition in transitions
    )
    return min(snapshot.fleet.surge, sum(replaced))


def replace_one(
    transitions: tuple[Transition, ...], row: FleetRow, target: int, snapshot: Snapshot
) -> tuple[tuple[Transition, ...], FleetRow]:
    """End at most one machine that is due, once its replacement is ready and the caps allow it.

    None while many are lost at once: drained, it would stand unused until the gate lets it go.
    """
    if not _replaces(snapshot) or paused(row, snapshot.now) or snapshot.fleet.protected:
        return transitions, row
    ready = sum(s.machine.phase is Phase.READY and s.machine.wanted for s in transitions)
    if ready < target:
        return transitions, row
    for place, transition in enumerate(transitions):
        reason = _may_go(transition, snapshot)
        if reason is not None:
            if failure.loses_many((one.machine for one in transitions), row, snapshot):
                changed = wait(transition, "move", "draining: when no more are lost at once")
            else:
                changed, row = _replaced(transition, reason, row, snapshot)
            return (*transitions[:place], changed, *transitions[place + 1 :]), row
    return transitions, row


def _replaced(
    transition: Transition, reason: Reason, row: FleetRow, snapshot: Snapshot
) -> tuple[Transition, FleetRow]:
    """End a machine, and count that; or say when the caps allow it."""
    if destructions_left(snapshot.fleet, row, snapshot.now) == 0:
        at = next_room(snapshot.fleet, row, snapshot.now)
        return wait(transition, "move", "draining: when the cap has room", at), row
    deletion = Deletion(at=snapshot.now, actor=REPLACE, why=str(reason))
    machine = replace(transition.machine, deletion=deletion).with_fact("allowed", snapshot.now)
    counted = replace(row, destructions=(*row.destructions, snapshot.now))
    return replace(transition, machine=machine), counted
