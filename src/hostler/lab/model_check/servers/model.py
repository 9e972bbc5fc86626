"""The model: an abstract world with few machines and coarse time, and every step that it can take.

The decisions are the program's own (`decide`, `allowed`, `fold`, `parts_of`, the provider's
`next_calls`); around them stand the least world, store and process that can still go wrong. One
tick of time is the consistency delay, the absence gap and every pause.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from hostler.domain.decide import decide
from hostler.domain.ids import CycleId, Epoch
from hostler.domain.machines.next_calls import allowed
from hostler.domain.model.calls import Done, Effect, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.commands import Advance, SaveFleet
from hostler.domain.model.inventory import merge
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, Observation, ObservedScope, Scope
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.subject import ask
from hostler.domain.observation.certainty import resources_of
from hostler.domain.observation.outcomes import apply_outcome, apply_to_resources
from hostler.domain.observation.ownership import bound_in, explain, sort_out
from hostler.lab.model_check.explore import Transition
from hostler.testing.fakes.planner import SERVER
from hostler.testing.scenes.builders import HOME, WEB, ZONE

from .actions import (
    Records,
    becomes,
    effect_of,
    holder_of,
    may_tick,
    passing,
    removed,
    saves_of,
    swapped,
    taken,
    ticked,
    with_replica,
)
from .state import Fault, Replica, Setting, State, Task


class World:
    """The steps of the small world."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._fleet, self._capabilities, self._planner = (
            setting.fleet,
            setting.capabilities,
            setting.planner,
        )
        self._records = Records(setting)

    def transitions(self, state: State) -> Iterator[Transition[State]]:
        """Return every step that may be taken next.

        Steps that nothing else can see the order of are taken in one order: a process goes on with
        its own step before it looks; after an observation only its own work comes before the cycle.
        """
        place = state.replicas.index(holder_of(state))
        holder = state.replicas[place]
        going = next((task for task in holder.tasks if task.call is None), None)
        if going is not None:
            yield self._begin(state, place, holder, going)
        if holder.observed:
            yield Transition("a cycle", self._cycle(state, place, holder))
        if going is None:
            yield from self._answers(state, place, holder)
            if not holder.observed:
                yield Transition("an observation", self._observe(state, place, holder))
                yield from self._world(state)
                yield from self._fenced(state)
        if state.faults:
            yield from self._faults(state, place, holder)

    def at_rest(self, state: State) -> bool:
        """Tell whether the fleet is what was asked for, and nothing else exists or is under way."""
        if state.late or state.too_late or any(replica.tasks for replica in state.replicas):
            return False
        desired = state.row.desired(self._fleet)
        ready = [m for m in state.machines if m.phase is Phase.READY and m.health.doubt is None]
        up = [p for p in state.resources if p.slot == SERVER and p.condition is Condition.UP]
        whole = len(state.resources) == desired * (1 + self._setting.addresses)
        return len(ready) == len(state.machines) == len(up) == desired and whole

    # ------------------------------------------------------------ the world

    def _world(self, state: State) -> Iterator[Transition[State]]:
        for resource in state.resources:
            if resource.condition is Condition.STARTING:
                yield Transition(f"{resource.id} boots", becomes(state, resource, Condition.UP))
            if resource.condition is Condition.STOPPING:
                yield Transition(f"{resource.id} ends", removed(state, resource))
        for call in state.late:
            late = tuple(other for other in state.late if other is not call)
            landed, _ = effect_of(replace(state, late=late), call)
            yield Transition(f"{call.kind} lands late", landed)
        if may_tick(state) and not passing(state):
            yield Transition("a tick", ticked(state))
        if self._setting.shrinks and state.row.size is None:
            yield Transition("asked for: none", replace(state, row=replace(state.row, size=0)))

    # ------------------------------------------------------------ the process that holds the lease

    def _answers(self, state: State, place: int, replica: Replica) -> Iterator[Transition[State]]:
        for task in replica.tasks:
            if task.call is not None:
                landed, outcome = effect_of(state, task.call)
                done = self._answer(landed, place, replica, task, outcome)
                yield Transition(f"{task.call.kind} is answered", done)

    def _cycle(self, state: State, place: int, replica: Replica, until: int | None = None) -> State:
        return self._apply(state, place, replica, self._snapshot(state, replica), until)

    def _fenced(self, state: State) -> Iterator[Transition[State]]:
        """Let a process that lost its lease wake up with what it had read, and try to record."""
        for place, replica in enumerate(state.replicas):
            if replica.snapshot is not None:
                after = state
                if self.passes_fence(state, replica):
                    after = self._apply(state, place, replica, replica.snapshot, None)
                awake = replace(after.replicas[place], snapshot=None)
                yield Transition("a stale decision", with_replica(after, place, awake))

    def passes_fence(self, state: State, replica: Replica) -> bool:
        """Tell whether the store takes what a process saves."""
        return replica.epoch == state.epoch

    def _observe(self, state: State, place: int, replica: Replica, *, lag: bool = False) -> State:
        scopes = (*(Scope(ZONE, kind) for kind in self._capabilities.kinds), *replica.asked)
        observed = tuple(ObservedScope(scope=s, begun=state.now, complete=True) for s in scopes)
        ids = {resource for scope in replica.asked for resource in scope.known}
        resources = tuple(
            p for p in state.resources if not (lag and p.created == state.now and p.id not in ids)
        )
        inventory = merge(replica.inventory, Observation(observed=observed, resources=resources))
        return with_replica(
            state, place, replace(replica, inventory=inventory, asked=(), observed=True)
        )

    def _snapshot(self, state: State, replica: Replica) -> Snapshot:
        moving = frozenset(task.machine.id for task in replica.tasks)
        living = {machine.id for machine in state.machines} | moving
        found = sort_out(
            replica.inventory, frozenset({WEB}), living, lambda: bound_in(state.machines), (HOME,)
        )
        past = {machine.id: machine for machine in state.history}
        strangers = explain(found.strangers, past, ())
        return Snapshot(
            cycle=CycleId("turn"),
            now=state.now,
            fleet=self._fleet,
            row=state.row,
            machines=tuple(sorted(state.machines, key=lambda m: m.serial)),
            inventory=replica.inventory,
            capabilities=self._capabilities,
            epoch=Epoch(replica.epoch),
            took=replica.took,
            steady=replica.took,
            ours=(HOME,),
            unissued=strangers.unissued,
            unexplained=strangers.unexplained,
            late=strangers.late,
            moving=moving,
        )

    def _apply(
        self, state: State, place: int, replica: Replica, snapshot: Snapshot, until: int | None
    ) -> State:
        """Decide and record it all, or only the first saves of it, as one who dies over it."""
        saves = saves_of(decide(snapshot, self._planner))
        for save in saves[:until]:
            state = (
                self._records.save_row(state, save)
                if isinstance(save, SaveFleet)
                else (self._records.save(state, save.machine) if save.changed else state)
            )
        if until is not None:
            return state
        asked = tuple(s for s in saves if isinstance(s, Advance) for s in s.close)
        tasks = tuple(
            self._task(state, s, snapshot) for s in saves if isinstance(s, Advance) and s.goal
        )
        after = replace(replica, observed=False, asked=asked, tasks=(*replica.tasks, *tasks))
        return with_replica(state, place, after)

    def _task(self, state: State, advance: Advance, snapshot: Snapshot) -> Task:
        machine = next(m for m in state.machines if m.id == advance.machine.id)
        assert advance.goal is not None  # noqa: S101 - the caller chose those with a goal
        return Task(machine, resources_of(machine, snapshot), advance.goal, snapshot)

    def _begin(self, state: State, place: int, replica: Replica, task: Task) -> Transition[State]:
        """Ask what may be done now; record it where it must be, and send it. Or end the step."""
        snapshot = replace(task.snapshot, now=state.now, inventory=replica.inventory)
        ready = allowed(task.machine, task.goal, task.resources, snapshot, self._planner)
        if not ready.calls:
            return Transition("a step ends", self._end(state, place, replica, task))
        call, machine = ready.calls[0], task.machine
        if call.once:
            machine = ask(machine, call, state.now, Epoch(replica.epoch))
        if call.once or call.effect is Effect.DESTROY:
            state = self._records.save(state, machine)
            machine = replace(machine, version=machine.version + 1)
        sent = replace(task, machine=machine, call=call)
        return Transition(
            f"{call} is sent", with_replica(state, place, swapped(replica, task, sent))
        )

    def _answer(
        self, state: State, place: int, replica: Replica, task: Task, outcome: Outcome
    ) -> State:
        assert task.call is not None  # noqa: S101 - an answer has a call
        machine = apply_outcome(task.machine, task.call, outcome, state.now)
        resources = apply_to_resources(task.resources, outcome)
        after = replace(task, machine=machine, resources=resources, call=None)
        if isinstance(outcome, Done):
            return with_replica(state, place, swapped(replica, task, after))
        return self._end(state, place, swapped(replica, task, after), after)

    def _end(self, state: State, place: int, replica: Replica, task: Task) -> State:
        stored = next((m for m in state.machines if m.id == task.machine.id), None)
        state = state if stored == task.machine else self._records.save(state, task.machine)
        return with_replica(state, place, swapped(replica, task, None))

    # ------------------------------------------------------------ what goes wrong

    def _faults(self, state: State, place: int, holder: Replica) -> Iterator[Transition[State]]:
        less = replace(state, faults=state.faults - 1)
        for fault, what, after in self._faulty(less, place, holder):
            if fault in self._setting.kinds:
                yield Transition(f"{fault}: {what}", after, good=False)

    def _faulty(
        self, state: State, place: int, holder: Replica
    ) -> Iterator[tuple[Fault, str, State]]:
        for task in holder.tasks:
            if task.call is not None:
                yield from self._lost(state, place, holder, task)
        for dead in self._dying(state, place):
            yield Fault.CRASH, "and a start", taken(dead, place)
            for other in range(len(state.replicas)):
                if other != place:
                    yield Fault.TAKE_OVER, str(other), taken(self._paused(dead, place), other)
        if holder.observed:
            yield from self._cut(state, place, holder)
        else:
            yield from self._outside(state, place, holder)

    def _outside(
        self, state: State, place: int, holder: Replica
    ) -> Iterator[tuple[Fault, str, State]]:
        """What happens to servers, and to observations."""
        for resource in state.resources:
            if resource.slot == SERVER:
                yield Fault.VANISHED, resource.id, removed(state, resource)
            if resource.condition is Condition.UP:
                yield Fault.STOPPED, resource.id, becomes(state, resource, Condition.OFF)
        if may_tick(state) and passing(state):
            yield Fault.SLOW, "a tick", ticked(state)
        yield (
            Fault.BLIND,
            "an observation",
            with_replica(state, place, replace(holder, observed=True)),
        )
        if any(resource.created == state.now for resource in state.resources):
            yield Fault.LAG, "an observation", self._observe(state, place, holder, lag=True)

    def _paused(self, state: State, place: int) -> State:
        """Return the state with a process that was stopped in the middle of its turn."""
        replica = state.replicas[place]
        snapshot = self._snapshot(state, replica) if replica.observed else None
        return with_replica(
            state, place, Replica(epoch=replica.epoch, took=replica.took, snapshot=snapshot)
        )

    def _cut(self, state: State, place: int, holder: Replica) -> Iterator[tuple[Fault, str, State]]:
        """Die after some of a cycle's saves."""
        saves = saves_of(decide(self._snapshot(state, holder), self._planner))
        for until in range(1, len(saves)):
            for dead in self._dying(self._cycle(state, place, holder, until), place):
                yield Fault.CRASH, f"after {until} saves", taken(dead, place)

    def _lost(
        self, state: State, place: int, replica: Replica, task: Task
    ) -> Iterator[tuple[Fault, str, State]]:
        assert task.call is not None  # noqa: S101 - the caller chose those on the wire
        call, unknown = task.call, Unknown(text="lost")
        busy = Refused(why=Refusal.BUSY, text="busy")
        landed, _ = effect_of(state, call)
        late = replace(state, late=(*state.late, call))
        for fault, world, outcome in (
            (Fault.BUSY, state, busy),
            (Fault.LOST_BEFORE, state, unknown),
            (Fault.LOST_AFTER, landed, unknown),
            (Fault.LATE, late, unknown),
        ):
            yield fault, call.kind, self._answer(world, place, replica, task, outcome)
        if call.effect is Effect.MAKE:
            world = replace(state, too_late=(*state.too_late, call))
            made = self._answer(world, place, replica, task, unknown)
            yield Fault.TOO_LATE, call.kind, made

    def _dying(self, state: State, place: int) -> Iterator[State]:
        """Return the worlds after the death of a process: what was on the wire is lost, or late."""
        wires = [t.call for t in state.replicas[place].tasks if t.call is not None]
        restarted = replace(state.replicas[place], tasks=())
        dead = with_replica(state, place, restarted)
        for which in range(2 ** len(wires)):
            late = tuple(call for number, call in enumerate(wires) if which >> number & 1)
            yield replace(dead, late=(*dead.late, *late))
