"""Actions: the small changes of a small world's state, and the questions about it. Pure."""

from msgspec.structs import replace

from hostler.domain.ids import MachineId, ResourceId, machine_id
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused
from hostler.domain.model.commands import Advance, Decision, SaveFleet
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, OwnerTag, Resource
from hostler.lab.model_check.explore import Violated
from hostler.testing.fakes.planner import POWER_ON, SERVER, TERMINATE
from hostler.testing.scenes.builders import HOME, OFFER, WEB, ZONE

from .state import TICK, Fault, Replica, Setting, State, Task


def saves_of(decision: Decision) -> tuple[SaveFleet | Advance, ...]:
    """Return the saves in the order in which a cycle makes them: new machines come last."""
    rows = [c for c in decision.commands if isinstance(c, SaveFleet)]
    advances = [c for c in decision.commands if isinstance(c, Advance)]
    firsts = [replace(row, inserts=()) for row in rows if not row.inserts]
    return (*firsts, *advances, *(row for row in rows if row.inserts))


def may_tick(state: State) -> bool:
    """Tell whether time may go on: nothing is late, and no step is in the middle."""
    return not state.late and not any(replica.tasks for replica in state.replicas)


def ticked(state: State) -> State:
    """Return the state a tick later: what was late has come, and what was too late is late."""
    return replace(state, now=state.now + TICK, late=state.too_late, too_late=())


def passing(state: State) -> bool:
    """Tell whether a server is on its way to another state: that takes less than a tick."""
    return any(p.condition in {Condition.STARTING, Condition.STOPPING} for p in state.resources)


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


def standing(resource: Resource, condition: Condition) -> Resource:
    """Return the part in another condition, with what may be asked of it then."""
    allowed_now = {Condition.OFF: ("poweron", "delete"), Condition.UP: ("terminate",)}
    return replace(
        resource, condition=condition, status=str(condition), allowed=allowed_now.get(condition, ())
    )


def becomes(state: State, resource: Resource, condition: Condition) -> State:
    """Return the state after a part came into another condition."""
    after = standing(resource, condition)
    return replace(
        state, resources=tuple(after if p.id == resource.id else p for p in state.resources)
    )


def answered(state: State, resource: Resource) -> tuple[State, Outcome]:
    """Return the state as it is, and an answer that shows a part of it."""
    return state, Done(resources=tuple(p for p in state.resources if p.id == resource.id))


def removed(state: State, resource: Resource) -> State:
    """Return the state without a part; what was its own is nobody's."""
    remaining = tuple(p for p in state.resources if p.id != resource.id)
    return replace(
        state,
        resources=tuple(replace(p, owner=None) if p.owner == resource.id else p for p in remaining),
    )


_WANTED = {POWER_ON: Condition.OFF, TERMINATE: Condition.UP}
"""How a server must stand for a call to do anything."""


def effect_of(state: State, call: Call) -> tuple[State, Outcome]:
    """Return the world after a call, and its answer."""
    if call.effect is Effect.MAKE:
        return _make(state, call)
    resource = next((p for p in state.resources if p.id == call.target), None)
    if resource is None and call.effect is Effect.DESTROY and call.target is not None:
        return state, Done(absent=(call.target,), missing=True)
    wanted = _WANTED.get(call.kind)
    if resource is None or wanted not in {None, resource.condition}:
        return state, Refused(why=Refusal.WRONG_STATE, text="it does not stand so")
    if call.effect is Effect.CHANGE:
        return answered(becomes(state, resource, Condition.STARTING), resource)
    _may_go(state, resource)
    if call.kind == TERMINATE:
        return answered(becomes(state, resource, Condition.STOPPING), resource)
    return removed(state, resource), Done(absent=(resource.id,))


def _make(state: State, call: Call) -> tuple[State, Outcome]:
    server = call.slot == SERVER
    resource = Resource(
        id=ResourceId(f"{call.slot.kind}-{state.names:06d}"),
        slot=call.slot,
        zone=ZONE,
        owner_tag=OwnerTag(
            installation=HOME,
            fleet=WEB,
            machine=MachineId(str(call.arg("machine"))),
            attempt=call.attempt,
        ),
        created=state.now,
    )
    resource = standing(resource, Condition.OFF if server else Condition.FREE)
    made = replace(state, resources=(*state.resources, resource), names=state.names + 1)
    for address in call.arg("addresses") if server else ():  # type: ignore[union-attr]
        resources = tuple(
            replace(p, owner=resource.id) if p.id == address else p for p in made.resources
        )
        made = replace(made, resources=resources)
    return made, Done(resources=(resource,))


def _may_go(state: State, resource: Resource) -> None:
    """What a wanted record is bound to must never be destroyed."""
    for machine in state.machines:
        if machine.wanted and machine.bound(resource.slot) == resource.id:
            raise Violated(f"S5: {resource.id} is bound in {machine.id}, which is {machine.phase}")


class Records:
    """Saves rows and machines; raises Violated where one breaks a promise."""

    def __init__(self, setting: Setting) -> None:
        self._setting, self._fleet = setting, setting.fleet

    def save_row(self, state: State, command: SaveFleet) -> State:
        """Write a row with its new machines; no more may be wanted than were asked for."""
        row = replace(command.row, version=state.row.version + 1, creations=(), losses=())
        row = replace(row, destructions=(), serial=row.serial + len(command.inserts), condition="")
        born = tuple(
            Machine(
                id=machine_id(command.row.serial + number),
                fleet=WEB,
                serial=command.row.serial + number,
                created=state.now,
                since=state.now,
                phase=Phase.PENDING,
                offer=OFFER,
                version=1,
            )
            for number, _ in enumerate(command.inserts, start=1)
        )
        after = replace(state, row=row, machines=(*state.machines, *born))
        wanted = sum(machine.wanted for machine in after.machines)
        if born and wanted > row.desired(self._fleet):
            raise Violated(f"S2: {wanted} machines are wanted of {row.desired(self._fleet)}")
        return after

    def save(self, state: State, machine: Machine) -> State:
        """Write a record; nothing of what is gone may exist, or come yet."""
        saved = replace(machine, version=machine.version + 1)
        machines = tuple(m for m in state.machines if m.id != machine.id)
        history = tuple(m for m in state.history if m.id != machine.id)
        if machine.phase is Phase.DELETED:
            left = [
                p.id for p in state.resources if p.owner_tag and p.owner_tag.machine == machine.id
            ]
            left += [c.kind for c in state.late if c.arg("machine") == str(machine.id) if makes(c)]
            if left and Fault.TOO_LATE not in self._setting.kinds:
                raise Violated(f"S7: {machine.id} is called gone, and there is {left}")
            return replace(state, machines=machines, history=(*history, saved))
        return replace(state, machines=(*machines, saved), history=history)
