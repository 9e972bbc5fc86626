"""Small: an abstract world with few machines and coarse time, and every step that it can take.

The decisions are the program's own (`decide`, `allowed`, `fold`, `parts_of`, the provider's
`next_calls`); around them stand the least world, store and process that can still go wrong. One
tick of time is the settle time, the absence gap and every pause.
"""

from collections.abc import Iterator
from dataclasses import replace

from hostler.domain.allowed import allowed
from hostler.domain.calls import Call, Done, Effect, Outcome, Refusal, Refused, Unknown
from hostler.domain.commands import KeepRow, Tend
from hostler.domain.decide import decide
from hostler.domain.fold import fold, fold_parts
from hostler.domain.ids import Epoch, MachineId, PartId, TurnId, machine_id
from hostler.domain.machine import Machine, ask
from hostler.domain.parts import Condition, Look, Looked, Mark, Part, Scope
from hostler.domain.phases import Phase
from hostler.domain.seen import Seen
from hostler.domain.sure import parts_of
from hostler.domain.view import merge
from hostler.domain.whose import bound_in, sort_out
from hostler.testing.fakeways import POWER_ON, SERVER, TERMINATE
from hostler.testing.pieces import HOME, OFFER, WEB, ZONE

from .smallacts import (
    answered,
    becomes,
    holder_of,
    makes,
    may_tick,
    passing,
    removed,
    saves_of,
    standing,
    swapped,
    taken,
    ticked,
    with_replica,
)
from .smallstate import Fault, Replica, Setting, State, Step, Task, Violated

_WANTED = {POWER_ON: Condition.OFF, TERMINATE: Condition.UP}
"""How a server must stand for a call to do anything."""


class Small:
    """The steps of the small world."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._fleet, self._traits, self._ways = setting.fleet, setting.traits, setting.ways

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
            landed, _ = self._effect(replace(state, late=late), call)
            yield f"{call.kind} lands late", landed, False
        if may_tick(state) and not passing(state):
            yield "a tick", ticked(state), False
        if self._setting.shrinks and state.row.size is None:
            yield "wish: none", replace(state, row=replace(state.row, size=0)), False

    def _effect(self, state: State, call: Call) -> tuple[State, Outcome]:
        """Return the world after a call, and its answer."""
        if call.effect is Effect.MAKE:
            return self._make(state, call)
        part = next((p for p in state.parts if p.id == call.target), None)
        if part is None and call.effect is Effect.DESTROY and call.target is not None:
            return state, Done(gone=(call.target,), missing=True)
        wanted = _WANTED.get(call.kind)
        if part is None or wanted not in {None, part.condition}:
            return state, Refused(why=Refusal.WRONG_STATE, text="it does not stand so")
        if call.effect is Effect.CHANGE:
            return answered(becomes(state, part, Condition.STARTING), part)
        self._may_go(state, part)
        if call.kind == TERMINATE:
            return answered(becomes(state, part, Condition.STOPPING), part)
        return removed(state, part), Done(gone=(part.id,))

    def _make(self, state: State, call: Call) -> tuple[State, Outcome]:
        server = call.slot == SERVER
        part = Part(
            id=PartId(f"{call.slot.kind}-{state.names:06d}"),
            slot=call.slot,
            zone=ZONE,
            mark=Mark(
                installation=HOME,
                fleet=WEB,
                machine=MachineId(str(call.arg("machine"))),
                attempt=call.attempt,
            ),
            created=state.now,
        )
        part = standing(part, Condition.OFF if server else Condition.FREE)
        made = replace(state, parts=(*state.parts, part), names=state.names + 1)
        for address in call.arg("addresses") if server else ():  # type: ignore[union-attr]
            parts = tuple(replace(p, owner=part.id) if p.id == address else p for p in made.parts)
            made = replace(made, parts=parts)
        return made, Done(parts=(part,))

    def _may_go(self, state: State, part: Part) -> None:
        """What a wanted record is bound to must never be destroyed."""
        for machine in state.machines:
            if machine.wanted and machine.bound(part.slot) == part.id:
                raise Violated(f"S5: {part.id} is bound in {machine.id}, which is {machine.phase}")

    # ------------------------------------------------------------ the process that holds the lease

    def _answers(self, state: State, place: int, replica: Replica) -> Iterator[Step]:
        for task in replica.tasks:
            if task.call is not None:
                landed, outcome = self._effect(state, task.call)
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
                self._save_row(state, save)
                if isinstance(save, KeepRow)
                else (self._save(state, save.machine) if save.changed else state)
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

    def _save_row(self, state: State, command: KeepRow) -> State:
        row = replace(command.row, version=state.row.version + 1, creations=(), losses=())
        row = replace(row, destructions=(), serial=row.serial + len(command.inserts), condition="")
        born = tuple(
            Machine(
                id=machine_id(command.row.serial + number),
                fleet=WEB,
                serial=command.row.serial + number,
                created=state.now,
                since=state.now,
                phase=Phase.WANTED,
                offer=OFFER,
                version=1,
            )
            for number, _ in enumerate(command.inserts, start=1)
        )
        after = replace(state, row=row, machines=(*state.machines, *born))
        wanted = sum(machine.wanted for machine in after.machines)
        if born and wanted > row.wished(self._fleet):
            raise Violated(f"S2: {wanted} machines are wanted of {row.wished(self._fleet)}")
        return after

    def _save(self, state: State, machine: Machine) -> State:
        """Write a record; nothing of what is gone may exist, or come yet."""
        saved = replace(machine, version=machine.version + 1)
        machines = tuple(m for m in state.machines if m.id != machine.id)
        history = tuple(m for m in state.history if m.id != machine.id)
        if machine.phase is Phase.GONE:
            left = [p.id for p in state.parts if p.mark and p.mark.machine == machine.id]
            left += [c.kind for c in state.late if c.arg("machine") == str(machine.id) if makes(c)]
            if left and Fault.TOO_LATE not in self._setting.kinds:
                raise Violated(f"S7: {machine.id} is called gone, and there is {left}")
            return replace(state, machines=machines, history=(*history, saved))
        return replace(state, machines=(*machines, saved), history=history)

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
            state = self._save(state, machine)
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
        state = state if stored == task.machine else self._save(state, task.machine)
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
        landed, _ = self._effect(state, call)
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
