"""Repair: what becomes of machines that failed, and of those that were asked to end?"""

from msgspec.structs import replace

from hostler.domain.model.commands import RESIZE
from hostler.domain.model.fleet import FleetRow, destructions_left, next_room
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase, Reason, sentence
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition, event, move, wait
from hostler.domain.observation.blockers import ends_at_once, protection

from . import drain as busy


def repair(
    transition: Transition, row: FleetRow, snapshot: Snapshot
) -> tuple[Transition, FleetRow]:
    """Return the step, and the row that counts what is destroyed unasked."""
    if transition.machine.phase is Phase.FAILED:
        return _clear_away(transition, row, snapshot)
    return transition, row


def _clear_away(
    transition: Transition, row: FleetRow, snapshot: Snapshot
) -> tuple[Transition, FleetRow]:
    machine = transition.machine
    retention = snapshot.fleet.timers.keep_failed
    if held := protection(machine, row, snapshot):
        return replace(transition, blocker=held), row
    if machine.elapsed(snapshot.now, snapshot.jumped) < retention and machine.deletion is None:
        return wait(
            transition,
            "move",
            "stopping: its evidence is kept until then",
            machine.since + retention,
        ), row
    if (
        busy.is_asked(snapshot)
        and machine.health.was_ready is not None
        and busy.may_run(transition, snapshot)
    ):
        transition = replace(transition, machine=busy.begun(machine, machine.since))
        if (found := busy.waits(transition.machine, snapshot)) is not None:
            return busy.waiting(transition, found), row
    if machine.health.was_ready is None or machine.deletion is not None:
        return _start_cleaning(transition, snapshot), row
    if destructions_left(snapshot.fleet, row, snapshot.now) == 0:
        blocked = replace(transition, blocker="cap: enough was repaired for now")
        at = next_room(snapshot.fleet, row, snapshot.now)
        return wait(blocked, "move", "stopping: when the cap has room", at), row
    counted = replace(row, destructions=(*row.destructions, snapshot.now))
    allowed = replace(transition, machine=transition.machine.with_fact("allowed", snapshot.now))
    return _start_cleaning(allowed, snapshot), counted


def _start_cleaning(transition: Transition, snapshot: Snapshot) -> Transition:
    moved = move(
        transition, Phase.STOPPING, Reason.CLEANING, snapshot, f"after: {transition.machine.reason}"
    )
    if transition.machine.health.was_ready is not None:
        return moved
    started = event("rollback_started", moved.machine, snapshot, transition.machine.reason)
    return replace(moved, events=(*moved.events, started))


def end(transition: Transition, row: FleetRow, snapshot: Snapshot) -> Transition:
    """Return the step one phase further to its end, where somebody asked that it goes."""
    if held := protection(transition.machine, row, snapshot):
        return replace(transition, blocker=held)
    return _go(transition, snapshot)


def _go(transition: Transition, snapshot: Snapshot) -> Transition:
    machine = transition.machine
    match machine.phase:
        case Phase.PENDING:
            return move(transition, Phase.DELETED, Reason.NOTHING_MADE, snapshot)
        case Phase.STARTING | Phase.STANDBY:
            return _rolled_back(transition, snapshot)
        case Phase.READY if ends_at_once(machine):
            return move(transition, Phase.STOPPING, Reason.ENDED, snapshot, _why(machine))
        case Phase.READY:
            drains = replace(transition, machine=machine.with_fact(busy.DRAIN, snapshot.now))
            return move(drains, Phase.DRAINING, Reason.ENDED, snapshot, _why(machine))
        case Phase.DRAINING:
            return _drained(transition, snapshot)
        case Phase.STOPPING | Phase.FAILED | Phase.DELETED:
            return transition


def _rolled_back(transition: Transition, snapshot: Snapshot) -> Transition:
    """End what is not ready; what was, and may have work still, is asked first: it was adopted."""
    machine = transition.machine
    was_ready = machine.health.was_ready is not None and not machine.woken
    if was_ready and busy.is_asked(snapshot) and busy.may_run(transition, snapshot):
        transition = replace(transition, machine=busy.begun(machine, snapshot.now))
        if (found := busy.waits(transition.machine, snapshot)) is not None:
            return busy.waiting(transition, found)
    moved = move(transition, Phase.STOPPING, Reason.ENDED, snapshot, _why(machine))
    started = event("rollback_started", machine, snapshot)
    return replace(moved, events=(*moved.events, started))


def _drained(transition: Transition, snapshot: Snapshot) -> Transition:
    """Go on when nothing runs on it any more, when nobody waits for that, or not any longer."""
    machine = transition.machine
    if (found := busy.waits(machine, snapshot)) is not None:
        return busy.waiting(transition, found)
    if ends_at_once(machine):
        return move(
            transition, Phase.STOPPING, Reason.ENDED, snapshot, "at once, whatever runs on it"
        )
    since = machine.fact(busy.DRAIN)
    late = since is not None and snapshot.now >= since + snapshot.fleet.timers.drain
    reason = Reason.DRAIN_OVERDUE if late and busy.is_asked(snapshot) else Reason.DRAINED
    return move(transition, Phase.STOPPING, reason, snapshot)


def _why(machine: Machine) -> str:
    """Return why it is to go, and who asked for that where it was not the engine itself."""
    if (deletion := machine.deletion) is None:
        return ""
    why = sentence(deletion.why)
    return why if deletion.actor == RESIZE else f"{why} ({deletion.actor})"
