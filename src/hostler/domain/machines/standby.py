"""Standby: which machines go to rest at somebody's word, which rest, and which wake?

A machine that rests keeps its host and its name. On its way it is *stopping* with the goal
*resting*; what cannot rest within the bound of *stop* comes back if it is still up, and is given up
if it is not. A host that does not stand as it was left is given up too.
"""

from dataclasses import replace

from hostler.domain.model.machine import RESTED, Ending, Machine
from hostler.domain.model.phases import Goal, Phase, Reason
from hostler.domain.model.resource import Condition, Part
from hostler.domain.model.snapshot import Seen
from hostler.domain.model.transition import Step, event, move, wait
from hostler.domain.observation.blockers import protection

from . import drain, failure

STANDBY = "hostler-standby"
"""The actor of endings of what could not rest, or did not stay as it was left."""


def to_rest(step: Step, seen: Seen) -> Step:
    """Begin to rest, where somebody wished it of a machine that is up and well."""
    machine = step.machine
    wished = machine.goal is Goal.RESTING and machine.phase is Phase.READY
    if not wished or machine.ending is not None or step.lost:
        return step
    if held := protection(machine, seen.row, seen):
        return replace(step, blocker=held)
    if drain.is_asked(seen):
        step = replace(step, machine=drain.begun(machine, seen.now))
        if (found := drain.waits(step.machine, seen)) is not None:
            return drain.waiting(step, found)
    return _with_goal(move(step, Phase.STOPPING, Reason.TO_REST, seen), Goal.RESTING)


def stopping(step: Step, seen: Seen) -> Step:
    """Follow a machine on its way to rest."""
    machine = step.machine
    if machine.ending is not None:
        return _give_up(step, machine.ending, seen)
    if failure.is_missing(machine) or machine.doubt is not None:
        return _doubted(step, seen)
    part = step.main(seen)
    if part is None or not _shown_since(machine, part, seen):
        return wait(step, "look", "at it since it was asked to rest")
    return _stands(step, part, seen)


def _stands(step: Step, part: Part, seen: Seen) -> Step:
    """Judge how it stands since it was asked to rest."""
    machine = step.machine
    if part.condition is Condition.STANDBY:
        rested = machine.with_fact(RESTED, seen.now).without_fact(drain.DRAIN)
        rested = replace(step, machine=rested)
        return _with_goal(move(rested, Phase.RESTING, Reason.RESTS, seen), Goal.RESTING)
    if machine.elapsed(seen.now, seen.jumped) < seen.fleet.timers.stop:
        return step
    if part.condition is not Condition.UP:
        return _give_up(step, _ending(Reason.STOP_OVERDUE, seen), seen)
    back = move(step, Phase.READY, Reason.RECOVERED, seen, "it would not rest")
    return _with_goal(back, Goal.PRESENT)


def resting(step: Step, seen: Seen) -> Step:
    """Follow a machine that rests: wake it, believe that it is up, or give it up."""
    step = _doubted(step, seen)
    machine, part = step.machine, step.main(seen)
    if machine.phase is not Phase.RESTING or machine.ending is not None or step.lost:
        return step
    if machine.goal is Goal.PRESENT:
        return move(step, Phase.STARTING, Reason.WOKEN, seen)
    up = part is not None and part.condition is Condition.UP and _shown_since(machine, part, seen)
    if not up:
        return step
    back = move(step, Phase.READY, Reason.RECOVERED, seen, "somebody switched it on")
    return _with_goal(back, Goal.PRESENT)


def _doubted(step: Step, seen: Seen) -> Step:
    """Doubt what is not as it was left, and give it up once the doubt is believed."""
    step, reason = failure.doubted(step, seen)
    return step if reason is None else _give_up(step, _ending(reason, seen), seen)


def _ending(why: Reason, seen: Seen) -> Ending:
    return Ending(at=seen.now, actor=STANDBY, why=str(why), now=True)


def _give_up(step: Step, ending: Ending, seen: Seen) -> Step:
    """Remove what was to rest: it is of no use to whoever asked for that."""
    given = replace(step, machine=replace(step.machine, ending=ending, doubt=None))
    if step.machine.phase is Phase.RESTING:
        return move(given, Phase.STOPPING, Reason.ENDED, seen, ending.why)
    changed = replace(given.machine, goal=Goal.ABSENT, since=seen.now)
    told = event("given_up", changed, seen, ending.why, "it was to rest, and is removed instead")
    return replace(given, machine=changed, events=(*given.events, told))


def _with_goal(step: Step, goal: Goal) -> Step:
    return replace(step, machine=replace(step.machine, goal=goal))


def _shown_since(machine: Machine, part: Part, seen: Seen) -> bool:
    sighting = seen.view.sightings.get(part.id)
    return sighting is not None and seen.view.shown(sighting) > machine.since
