"""Repair: what becomes of machines that failed, and of those that were asked to end?"""

from dataclasses import replace

from hostler.domain.model.fleet import FleetRow, destructions_left, next_room
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.snapshot import Seen
from hostler.domain.model.transition import Step, event, move, wait
from hostler.domain.observation.blockers import ends_at_once, protection

from . import drain as busy


def repair(step: Step, row: FleetRow, seen: Seen) -> tuple[Step, FleetRow]:
    """Return the step, and the row that counts what is destroyed unasked."""
    if step.machine.phase is Phase.BROKEN:
        return _clear_away(step, row, seen)
    return step, row


def _clear_away(step: Step, row: FleetRow, seen: Seen) -> tuple[Step, FleetRow]:
    machine = step.machine
    kept = seen.fleet.timers.keep_broken
    if held := protection(machine, row, seen):
        return replace(step, blocker=held), row
    if machine.elapsed(seen.now, seen.jumped) < kept and machine.ending is None:
        return wait(
            step, "move", "stopping: its evidence is kept until then", machine.since + kept
        ), row
    if busy.is_asked(seen) and machine.was_ready is not None and busy.may_run(step, seen):
        step = replace(step, machine=busy.begun(machine, machine.since))
        if (found := busy.waits(step.machine, seen)) is not None:
            return busy.waiting(step, found), row
    if machine.was_ready is None or machine.ending is not None:
        return _start_cleaning(step, seen), row
    if destructions_left(seen.fleet, row, seen.now) == 0:
        blocked = replace(step, blocker="cap: enough was repaired for now")
        at = next_room(seen.fleet, row, seen.now)
        return wait(blocked, "move", "stopping: when the cap has room", at), row
    counted = replace(row, destructions=(*row.destructions, seen.now))
    allowed = replace(step, machine=step.machine.with_fact("allowed", seen.now))
    return _start_cleaning(allowed, seen), counted


def _start_cleaning(step: Step, seen: Seen) -> Step:
    moved = move(step, Phase.STOPPING, Reason.CLEANING, seen, f"after: {step.machine.reason}")
    if step.machine.was_ready is not None:
        return moved
    started = event("rollback_started", moved.machine, seen, step.machine.reason)
    return replace(moved, events=(*moved.events, started))


def end(step: Step, row: FleetRow, seen: Seen) -> Step:
    """Return the step one phase further to its end, where somebody asked that it goes."""
    if held := protection(step.machine, row, seen):
        return replace(step, blocker=held)
    return _go(step, seen)


def _go(step: Step, seen: Seen) -> Step:
    machine = step.machine
    match machine.phase:
        case Phase.WANTED:
            return move(step, Phase.GONE, Reason.NOTHING_MADE, seen)
        case Phase.STARTING | Phase.RESTING:
            moved = move(step, Phase.STOPPING, Reason.ENDED, seen, _why(machine))
            return replace(moved, events=(*moved.events, event("rollback_started", machine, seen)))
        case Phase.READY if ends_at_once(machine):
            return move(step, Phase.STOPPING, Reason.ENDED, seen, _why(machine))
        case Phase.READY:
            drains = replace(step, machine=machine.with_fact(busy.DRAIN, seen.now))
            return move(drains, Phase.DRAINING, Reason.ENDED, seen, _why(machine))
        case Phase.DRAINING:
            return _drained(step, seen)
        case Phase.STOPPING | Phase.BROKEN | Phase.GONE:
            return step


def _drained(step: Step, seen: Seen) -> Step:
    """Go on when nothing runs on it any more, when nobody waits for that, or not any longer."""
    machine = step.machine
    if (found := busy.waits(machine, seen)) is not None:
        return busy.waiting(step, found)
    if ends_at_once(machine):
        return move(step, Phase.STOPPING, Reason.ENDED, seen, "at once, whatever runs on it")
    since = machine.fact(busy.DRAIN)
    late = since is not None and seen.now >= since + seen.fleet.timers.drain
    reason = Reason.DRAIN_OVERDUE if late and busy.is_asked(seen) else Reason.DRAINED
    return move(step, Phase.STOPPING, reason, seen)


def _why(machine: Machine) -> str:
    ending = machine.ending
    return f"{ending.why} ({ending.actor})" if ending else ""
