"""Small acts: the small changes of a small world's state, and the questions about it. Pure."""

from dataclasses import replace

from hostler.domain.model.calls import Call, Done, Effect, Outcome
from hostler.domain.model.commands import Decision, KeepRow, Tend
from hostler.domain.model.resource import Condition, Part

from .state import TICK, Replica, State, Task


def saves_of(decision: Decision) -> tuple[KeepRow | Tend, ...]:
    """Return the saves in the order in which a turn makes them: new machines come last."""
    rows = [c for c in decision.commands if isinstance(c, KeepRow)]
    tends = [c for c in decision.commands if isinstance(c, Tend)]
    firsts = [replace(row, inserts=()) for row in rows if not row.inserts]
    return (*firsts, *tends, *(row for row in rows if row.inserts))


def may_tick(state: State) -> bool:
    """Tell whether time may go on: nothing is late, and no step is in the middle."""
    return not state.late and not any(replica.tasks for replica in state.replicas)


def ticked(state: State) -> State:
    """Return the state a tick later: what was late has come, and what was too late is late."""
    return replace(state, now=state.now + TICK, late=state.too_late, too_late=())


def passing(state: State) -> bool:
    """Tell whether a server is on its way to another state: that takes less than a tick."""
    return any(p.condition in {Condition.STARTING, Condition.STOPPING} for p in state.parts)


def makes(call: Call) -> bool:
    """Tell whether a call makes something."""
    return call.effect is Effect.MAKE


def holder_of(state: State) -> Replica:
    """Return the process that holds the lease."""
    return next(replica for replica in state.replicas if replica.epoch == state.epoch)


def taken(state: State, place: int) -> State:
    """Let a process start, or take over, under the next epoch, knowing nothing."""
    epoch = state.epoch + 1
    return with_replica(replace(state, epoch=epoch), place, Replica(epoch=epoch, took=state.now))


def with_replica(state: State, place: int, replica: Replica) -> State:
    """Return the state with another process in a place."""
    replicas = (*state.replicas[:place], replica, *state.replicas[place + 1 :])
    return replace(state, replicas=replicas)


def swapped(replica: Replica, task: Task, after: Task | None) -> Replica:
    """Return the process with a task as it goes on, or without it."""
    tasks = tuple(after if t is task else t for t in replica.tasks)
    return replace(replica, tasks=tuple(t for t in tasks if t is not None))


def standing(part: Part, condition: Condition) -> Part:
    """Return the part in another condition, with what may be asked of it then."""
    allowed_now = {Condition.OFF: ("poweron", "delete"), Condition.UP: ("terminate",)}
    return replace(
        part, condition=condition, status=str(condition), allowed=allowed_now.get(condition, ())
    )


def becomes(state: State, part: Part, condition: Condition) -> State:
    """Return the state after a part came into another condition."""
    after = standing(part, condition)
    return replace(state, parts=tuple(after if p.id == part.id else p for p in state.parts))


def answered(state: State, part: Part) -> tuple[State, Outcome]:
    """Return the state as it is, and an answer that shows a part of it."""
    return state, Done(parts=tuple(p for p in state.parts if p.id == part.id))


def removed(state: State, part: Part) -> State:
    """Return the state without a part; what was its own is nobody's."""
    kept = tuple(p for p in state.parts if p.id != part.id)
    return replace(
        state, parts=tuple(replace(p, owner=None) if p.owner == part.id else p for p in kept)
    )
