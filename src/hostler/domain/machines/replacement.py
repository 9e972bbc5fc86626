"""Replace: which machines are too old or outdated, and may one of them go now?"""

from dataclasses import replace

from hostler.domain.model.fleet import FleetRow, destructions_left
from hostler.domain.model.machine import Ending
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.snapshot import Seen
from hostler.domain.model.transition import Step
from hostler.domain.observation.blockers import paused

REPLACE = "hostler-replace"
"""The actor of endings that age or a changed template asks for."""


def due(step: Step, seen: Seen) -> Reason | None:
    """Return why this machine should be replaced, or None."""
    machine, timers = step.machine, seen.fleet.timers
    if machine.phase is not Phase.READY or machine.ending is not None or machine.was_ready is None:
        return None
    since = max(machine.was_ready, seen.jumped or machine.was_ready)
    if timers.max_age is not None and seen.now - since >= timers.max_age:
        return Reason.MAX_AGE
    if seen.fleet.replace_outdated and machine.template != seen.fleet.template:
        return Reason.OUTDATED
    return None


def _may_go(step: Step, seen: Seen) -> Reason | None:
    """Return why this machine should be replaced, where nothing keeps it from that now."""
    if step.machine.id in seen.moving or step.machine.held(seen.now) or step.lost:
        return None
    return due(step, seen)


def surge(steps: tuple[Step, ...], seen: Seen) -> int:
    """Return by how many machines the fleet may be larger while some are replaced."""
    return min(seen.fleet.surge, sum(_may_go(step, seen) is not None for step in steps))


def replace_one(
    steps: tuple[Step, ...], row: FleetRow, target: int, seen: Seen
) -> tuple[tuple[Step, ...], FleetRow]:
    """End at most one machine that is due, once its replacement is ready and the caps allow it."""
    if paused(row, seen.now) or seen.fleet.protected:
        return steps, row
    ready = sum(s.machine.phase is Phase.READY and s.machine.wanted for s in steps)
    if ready < target or destructions_left(seen.fleet, row, seen.now) == 0:
        return steps, row
    for place, step in enumerate(steps):
        reason = _may_go(step, seen)
        if reason is not None:
            ending = Ending(at=seen.now, actor=REPLACE, why=str(reason))
            machine = replace(step.machine, ending=ending).with_fact("allowed", seen.now)
            changed = replace(step, machine=machine)
            counted = replace(row, destructions=(*row.destructions, seen.now))
            return (*steps[:place], changed, *steps[place + 1 :]), counted
    return steps, row
