"""Small: an abstract world with few machines and coarse time, and every step that it can take.

The decisions are the program's own (`decide`, `allowed`, `fold`, `parts_of`, the provider's
`next_calls`); around them stand the least world, store and process that can still go wrong. One
tick of time is the settle time, the absence gap and every pause.
"""

from collections.abc import Iterator
from dataclasses import replace

from hostler.domain.decide import decide
from hostler.domain.ids import Epoch, TurnId
from hostler.domain.machines.next_calls import allowed
from hostler.domain.model.calls import Done, Effect, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.commands import KeepRow, Tend
from hostler.domain.model.inventory import merge
from hostler.domain.model.machine import ask
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, Look, Looked, Scope
from hostler.domain.model.snapshot import Seen
from hostler.domain.observation.certainty import parts_of
from hostler.domain.observation.outcomes import fold, fold_parts
from hostler.domain.observation.ownership import bound_in, sort_out
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
from .state import Fault, Replica, Setting, State, Step, Task


class Small:
    """The steps of the small world."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._fleet, self._traits, self._ways = setting.fleet, setting.traits, setting.ways
        self._records = Records(setting)

    def steps(self, state: State) -> Iterator[Step]:
        """Return every step that may be taken next.

        Steps that nothing else can see the order of are taken in one order: a process goes on with
        its own step before it looks; after a look only its own work comes before the turn.
        """
        place = state.replicas.index(holder_of(state))
        holder = state.replicas[place]
        going = next((task for task in holder.tasks if task.call is None), None)
        if going is not None:
            yield self._begin(state, place, holder, going)
        if holder.looked:
            yield "a turn", self._turn(state, place, holder), False
        if going is None:
            yield from self._answers(state, place, holder)
            if not holder.looked:
                yield "a look", self._look(state, place, holder), False
                yield from self._world(state)
                yield from self._fenced(state)
        if state.faults:
            yield from self._faults(state, place, holder)

    def at_rest(self, state: State) -> bool:
        """Tell whether the fleet is what was wished, and nothing else exists or is under way."""
        if state.late or state.too_late or any(replica.tasks for replica in state.replicas):
            return False
        wished = state.row.wished(self._fleet)
        ready = [m for m in state.machines if m.phase is Phase.READY and m.doubt is None]
        up = [p for p in state.parts if p.slot == SERVER and p.condition is Condition.UP]
        whole = len(state.parts) == wished * (1 + self._setting.addresses)
        return len(ready) == len(state.machines) == len(up) == wished and whole

    # ------------------------------------------------------------ the world

    def _world(self, state: State) -> Iterator[Step]:
        for part in state.parts:
            if part.condition is Condition.STARTING:
                yield f"{part.id} boots", becomes(state, part, Condition.UP), False
            if part.condition is Condition.STOPPING:
                yield f"{part.id} ends", removed(state, part), False
        for call in state.late:
            late = tuple(other for other in state.late if other is not call)
            landed, _ = effect_of(replace(state, late=late), call)
            yield f"{call.kind} lands late", landed, False
        if may_tick(state) and not passing(state):
            yield "a tick", ticked(state), False
        if self._setting.shrinks and state.row.size is None:
            yield "wish: none", replace(state, row=replace(state.row, size=0)), False

    # ------------------------------------------------------------ the process that holds the lease

    def _answers(self, state: State, place: int, replica: Replica) -> Iterator[Step]:
        for task in replica.tasks:
            if task.call is not None:
                landed, outcome = effect_of(state, task.call)
                done = self._answer(landed, place, replica, task, outcome)
                yield f"{task.call.kind} is answered", done, False

    def _turn(self, state: State, place: int, replica: Replica, until: int | None = None) -> State:
        return self._apply(state, place, replica, self._seen(state, replica), until)

    def _fenced(self, state: State) -> Iterator[Step]:
        """Let a process that lost its lease wake up with what it had read, and try to record."""
        for place, replica in enumerate(state.replicas):
            if replica.seen is not None:
                after = state
                if self.passes_fence(state, replica):
                    after = self._apply(state, place, replica, replica.seen, None)
                awake = replace(after.replicas[place], seen=None)
                yield "a stale decision", with_replica(after, place, awake), False

    def passes_fence(self, state: State, replica: Replica) -> bool:
        """Tell whether the store takes what a process saves."""
        return replica.epoch == state.epoch

    def _look(self, state: State, place: int, replica: Replica, *, lag: bool = False) -> State:
        scopes = (*(Scope(ZONE, kind) for kind in self._traits.kinds), *replica.asked)
        looked = tuple(Looked(scope=s, begun=state.now, complete=True) for s in scopes)
        ids = {part for scope in replica.asked for part in scope.known}
        parts = tuple(
            p for p in state.parts if not (lag and p.created == state.now and p.id not in ids)
        )
        view = merge(replica.view, Look(looked=looked, parts=parts))
        return with_replica(state, place, replace(replica, view=view, asked=(), looked=True))

    def _seen(self, state: State, replica: Replica) -> Seen:
        moving = frozenset(task.machine.id for task in replica.tasks)
        living = {machine.id for machine in state.machines} | moving
        found = sort_out(replica.view, WEB, living, lambda: bound_in(state.machines), (HOME,))
        late = tuple(m for m in state.history if m.id in found.machines())
        known = {machine.id for machine in late}
        return Seen(
            turn=TurnId("turn"),
            now=state.now,
            fleet=self._fleet,
            row=state.row,
            machines=tuple(sorted(state.machines, key=lambda m: m.serial)),
            view=replica.view,
            traits=self._traits,
            epoch=Epoch(replica.epoch),
            took=replica.took,
            steady=replica.took,
            ours=(HOME,),
            unexplained=tuple(p for p in found.strangers if p.mark and p.mark.machine not in known),
            late=late,
            moving=moving,
        )

    def _apply(
        self, state: State, place: int, replica: Replica, seen: Seen, until: int | None
    ) -> State:
        """Decide and record it all, or only the first saves of it, as one who dies over it."""
        saves = saves_of(decide(seen, self._ways))
        for save in saves[:until]:
            state = (
                self._records.save_row(state, save)
                if isinstance(save, KeepRow)
                else (self._records.save(state, save.machine) if save.changed else state)
            )
        if until is not None:
            return state
        asked = tuple(s for s in saves if isinstance(s, Tend) for s in s.close)
        tasks = tuple(self._task(state, s, seen) for s in saves if isinstance(s, Tend) and s.goal)
        after = replace(replica, looked=False, asked=asked, tasks=(*replica.tasks, *tasks))
        return with_replica(state, place, after)

    def _task(self, state: State, tend: Tend, seen: Seen) -> Task:
        machine = next(m for m in state.machines if m.id == tend.machine.id)
        assert tend.goal is not None  # noqa: S101 - the caller chose those with a goal
        return Task(machine, parts_of(machine, seen), tend.goal, seen)

    def _begin(self, state: State, place: int, replica: Replica, task: Task) -> Step:
        """Ask what may be done now; record it where it must be, and send it. Or end the step."""
        seen = replace(task.seen, now=state.now, view=replica.view)
        ready = allowed(task.machine, task.goal, task.parts, seen, self._ways)
        if not ready.calls:
            return "a step ends", self._end(state, place, replica, task), False
        call, machine = ready.calls[0], task.machine
        if call.once:
            machine = ask(machine, call, state.now, Epoch(replica.epoch))
        if call.once or call.effect is Effect.DESTROY:
            state = self._records.save(state, machine)
            machine = replace(machine, version=machine.version + 1)
        sent = replace(task, machine=machine, call=call)
        return f"{call} is sent", with_replica(state, place, swapped(replica, task, sent)), False

    def _answer(
        self, state: State, place: int, replica: Replica, task: Task, outcome: Outcome
    ) -> State:
        assert task.call is not None  # noqa: S101 - an answer has a call
        machine = fold(task.machine, task.call, outcome, state.now)
        parts = fold_parts(task.parts, outcome)
        after = replace(task, machine=machine, parts=parts, call=None)
        if isinstance(outcome, Done):
            return with_replica(state, place, swapped(replica, task, after))
        return self._end(state, place, swapped(replica, task, after), after)

    def _end(self, state: State, place: int, replica: Replica, task: Task) -> State:
        stored = next((m for m in state.machines if m.id == task.machine.id), None)
        state = state if stored == task.machine else self._records.save(state, task.machine)
        return with_replica(state, place, swapped(replica, task, None))

    # ------------------------------------------------------------ what goes wrong

    def _faults(self, state: State, place: int, holder: Replica) -> Iterator[Step]:
        less = replace(state, faults=state.faults - 1)
        for fault, what, after in self._mishaps(less, place, holder):
            if fault in self._setting.kinds:
                yield f"{fault}: {what}", after, True

    def _mishaps(
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
        if holder.looked:
            yield from self._cut(state, place, holder)
        else:
            yield from self._outside(state, place, holder)

    def _outside(
        self, state: State, place: int, holder: Replica
    ) -> Iterator[tuple[Fault, str, State]]:
        """What happens to servers, and to looks."""
        for part in state.parts:
            if part.slot == SERVER:
                yield Fault.VANISHED, part.id, removed(state, part)
            if part.condition is Condition.UP:
                yield Fault.STOPPED, part.id, becomes(state, part, Condition.OFF)
        if may_tick(state) and passing(state):
            yield Fault.SLOW, "a tick", ticked(state)
        yield Fault.BLIND, "a look", with_replica(state, place, replace(holder, looked=True))
        if any(part.created == state.now for part in state.parts):
            yield Fault.LAG, "a look", self._look(state, place, holder, lag=True)

    def _paused(self, state: State, place: int) -> State:
        """Return the state with a process that was stopped in the middle of its turn."""
        replica = state.replicas[place]
        seen = self._seen(state, replica) if replica.looked else None
        return with_replica(
            state, place, Replica(epoch=replica.epoch, took=replica.took, seen=seen)
        )

    def _cut(self, state: State, place: int, holder: Replica) -> Iterator[tuple[Fault, str, State]]:
        """Die after some of a turn's saves."""
        saves = saves_of(decide(self._seen(state, holder), self._ways))
        for until in range(1, len(saves)):
            for dead in self._dying(self._turn(state, place, holder, until), place):
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
        gone = replace(state.replicas[place], tasks=())
        dead = with_replica(state, place, gone)
        for which in range(2 ** len(wires)):
            late = tuple(call for number, call in enumerate(wires) if which >> number & 1)
            yield replace(dead, late=(*dead.late, *late))
