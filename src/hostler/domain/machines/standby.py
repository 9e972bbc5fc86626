"""Standby: which machines go there at somebody's word, which stay, and which wake?

A machine in standby keeps its host and its name. On its way it is *stopping* with the goal
*standby*; what cannot reach it within the bound of *stop* comes back if it is still up, and is
given up if it is not. A host that does not stand as it was left is given up too.
"""

from msgspec.structs import replace

from hostler.domain.model.machine import RESTED, UNANSWERED_REST, Deletion, Machine
from hostler.domain.model.phases import Goal, Phase, Reason
from hostler.domain.model.resource import Condition, Resource
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition, event, move, wait
from hostler.domain.observation.blockers import is_ending, protection
from hostler.domain.observation.effects import may_be_sent_until

from . import drain, failure, probing

STANDBY = "hostler-standby"
"""The actor of endings of what could not go into standby, or did not stay as it was left."""

_ON_ITS_WAY = "the command to switch it off that nobody answered may still come"


def to_rest(transition: Transition, snapshot: Snapshot) -> Transition:
    """Go into standby, where somebody asked for it of a machine that is up and well."""
    machine = transition.machine
    if machine.goal is not Goal.STANDBY or machine.phase is not Phase.READY:
        return transition
    if machine.deletion is not None or transition.lost:
        return transition
    if held := protection(machine, snapshot.row, snapshot):
        return replace(transition, blocker=held)
    if drain.is_asked(snapshot):
        transition = replace(transition, machine=drain.begun(machine, snapshot.now))
        if (found := drain.waits(transition.machine, snapshot)) is not None:
            return drain.waiting(transition, found)
    return _with_goal(move(transition, Phase.STOPPING, Reason.TO_STANDBY, snapshot), Goal.STANDBY)


def stopping(transition: Transition, snapshot: Snapshot) -> Transition:
    """Follow a machine on its way into standby."""
    machine = transition.machine
    if machine.deletion is not None:
        return _give_up(transition, machine.deletion, snapshot)
    if failure.is_missing(machine) or machine.health.doubt is not None:
        return _doubted(transition, snapshot)
    resource = transition.main(snapshot)
    if resource is None or not _shown_since(machine, resource, snapshot):
        return wait(transition, "observe", "it since it was asked to go to standby")
    return _stands(transition, resource, snapshot)


def _stands(transition: Transition, resource: Resource, snapshot: Snapshot) -> Transition:
    """Judge how it stands since it was asked into standby."""
    machine = transition.machine
    if resource.condition is Condition.STANDBY:
        rested = machine.with_fact(RESTED, snapshot.now).without_fact(drain.DRAIN)
        rested = replace(transition, machine=rested)
        return _with_goal(move(rested, Phase.STANDBY, Reason.IN_STANDBY, snapshot), Goal.STANDBY)
    if machine.elapsed(snapshot.now, snapshot.jumped) < snapshot.fleet.timers.stop:
        return transition
    if resource.condition is not Condition.UP:
        return _give_up(transition, _deletion(Reason.STOP_OVERDUE, snapshot), snapshot)
    until = may_be_sent_until(machine.fact(UNANSWERED_REST), snapshot)
    if until is not None:
        return wait(transition, "wait", _ON_ITS_WAY, until)
    back = move(transition, Phase.READY, Reason.RECOVERED, snapshot, "it could not go into standby")
    return _with_goal(back, Goal.PRESENT)


def resting(transition: Transition, snapshot: Snapshot) -> Transition:
    """Follow a machine in standby: wake it, believe that it is up, or give it up.

    One that is to end and may not yet is up as well, where somebody switched it on.
    """
    transition = _doubted(transition, snapshot)
    machine, resource = transition.machine, transition.main(snapshot)
    if machine.phase is not Phase.STANDBY or transition.lost or is_ending(machine, snapshot):
        return transition
    until = may_be_sent_until(machine.fact(UNANSWERED_REST), snapshot)
    if until is not None:
        return wait(transition, "wait", _ON_ITS_WAY, until)
    if machine.goal is Goal.PRESENT and machine.deletion is None:
        return move(transition, Phase.STARTING, Reason.WOKEN, snapshot)
    up = (
        resource is not None
        and resource.condition is Condition.UP
        and _shown_since(machine, resource, snapshot)
    )
    if not up:
        return transition
    return _with_goal(
        probing.recovered(transition, snapshot, "somebody switched it on"), Goal.PRESENT
    )


def _doubted(transition: Transition, snapshot: Snapshot) -> Transition:
    """Doubt what is not as it was left, and give it up once the doubt is believed."""
    transition, reason = failure.doubted(transition, snapshot)
    return (
        transition
        if reason is None
        else _give_up(transition, _deletion(reason, snapshot), snapshot)
    )


def _deletion(why: Reason, snapshot: Snapshot) -> Deletion:
    return Deletion(at=snapshot.now, actor=STANDBY, why=str(why), now=True)


def _give_up(transition: Transition, deletion: Deletion, snapshot: Snapshot) -> Transition:
    """Remove what was to go into standby: it is of no use to whoever asked for that."""
    deleting = replace(
        transition, machine=replace(transition.machine.with_health(doubt=None), deletion=deletion)
    )
    if transition.machine.phase is Phase.STANDBY:
        return move(deleting, Phase.STOPPING, Reason.ENDED, snapshot, deletion.why)
    changed = replace(deleting.machine, goal=Goal.ABSENT, since=snapshot.now)
    notice = event(
        "given_up",
        changed,
        snapshot,
        deletion.why,
        "it was to go into standby, and is removed instead",
    )
    return replace(deleting, machine=changed, events=(*deleting.events, notice))


def _with_goal(transition: Transition, goal: Goal) -> Transition:
    return replace(transition, machine=replace(transition.machine, goal=goal))


def _shown_since(machine: Machine, resource: Resource, snapshot: Snapshot) -> bool:
    sighting = snapshot.inventory.sightings.get(resource.id)
    return sighting is not None and snapshot.inventory.observed_at(sighting) > machine.since
