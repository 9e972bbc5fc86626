"""Smallworld: two Macs, one or two installations, and a person, with every step that can be taken.

A call is begun and recorded, reads its host, writes, and is answered: between these anything else
may happen. Times are ticks; what was sent has its effect before settle has passed, unless the
setting says otherwise. What one installation does depends on its own side and on the Macs alone, so
it is worked out once for each pair of these, and remembered.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace

from hostler.domain.calls import Call, Done, Outcome, Refusal, Refused, Unknown
from hostler.domain.ids import MachineId
from hostler.domain.machine import Fate, Machine
from hostler.domain.phases import Phase
from hostler.providers.scaleway.macs.names import Name, Stage, name_of, pool_digest

from .smalldeeds import HOSTS, POOL, READY, WIPING, Shown, Write, host_in, next_of
from .smallsame import aged
from .smallside import NOW, TICK, Side, Task
from .smallsteps import Actor
from .smallvalues import (
    BY_HAND,
    PERSON,
    THEIRS,
    Box,
    Fault,
    Late,
    Local,
    Numbered,
    Setting,
    State,
    Step,
    Touch,
    Violated,
)


class World:
    """The steps of a small world."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.actors = tuple(Actor(setting.home(place)) for place in range(setting.homes))
        self.sides, self.boxes = Numbered[Side](), Numbered[tuple[Box, ...]]()
        self.alone = Numbered[Late]()
        self._locals = dict[tuple[int, int, int, bool], tuple[Local, ...]]()
        self._ticks = dict[int, int | None]()
        self._has = dict[tuple[int, int], tuple[tuple[MachineId, ...], ...]]()

    def first(self) -> State:
        """Return the beginning: hosts in the pool, as a person put them there, or wiped."""
        clean, actors = self.setting.clean, self.actors
        user, named = None if clean else PERSON, range(self.setting.hosts)
        boxes = tuple(Box(f"{POOL}{host}", user=user, by_hand=not clean) for host in named)
        wiped = {HOSTS[host]: box.name for host, box in enumerate(boxes) if clean}
        first = (actors[0].first(wiped), *(actor.first() for actor in actors[1:]))
        sides = tuple(self.sides.number(side) for side in first)
        number = self.boxes.number(boxes)
        return State(number, sides, (), self.setting.faults, self.setting.acts)

    def shown(self, state: State) -> tuple[Shown, ...]:
        """Return what a listing shows."""
        return tuple(Shown(box.name, box.status) for box in self.boxes[state.boxes])

    def steps(self, state: State) -> Iterator[Step]:
        """Yield every step that may be taken next; raise Violated where one breaks a promise."""
        boxes, sides, late, faults, acts = state
        for place, side in enumerate(sides):
            key = (place, side, boxes, faults > 0)
            found = self._locals.get(key)
            if found is None:
                found = self._locals[key] = tuple(self._local(place, side, boxes, faults > 0))
            for step in found:
                if step.touch is not None:
                    self._check(step, state)
                after = State(
                    step.boxes,
                    (*sides[:place], step.side, *sides[place + 1 :]),
                    tuple(sorted((*late, *step.late))) if step.late else late,
                    faults - step.fault,
                    acts,
                )
                yield Step(step.said, after, step.good)
        yield from self._world(state)
        if acts:
            yield from self._person(state._replace(acts=acts - 1))

    def _check(self, step: Local, state: State) -> None:
        """What one machine has, no call for anybody else may wipe or rename."""
        touch = step.touch
        if step.wrong:
            raise Violated(f"{step.wrong} ({step.said})")
        if touch is None or self.boxes[state.boxes][touch.host].torn:
            return
        for holder in self.holders(state, touch.host):
            if holder != touch.holder:
                said = f"{HOSTS[touch.host]} is {holder}'s, and {touch.holder} {touch.what}"
                raise Violated(f"S5: {said} ({step.said})")

    def holders(self, state: State, host: int) -> tuple[MachineId, ...]:
        """Return the machines that have a host: by their records, or by its name and their tie."""
        found = tuple[MachineId, ...]()
        for side in state.sides:
            has = self._has.get((side, state.boxes))
            if has is None:
                boxes = self.boxes[state.boxes]
                has = tuple(_holders(self.sides[side], n, box) for n, box in enumerate(boxes))
                self._has[side, state.boxes] = has
            found += has[host]
        return found

    # ------------------------------------------------------------ what one installation does

    def _local(self, place: int, number: int, boxes: int, faulty: bool) -> Iterator[Local]:
        side, here = self.sides[number], Local("", boxes, number)
        if side.looked:
            yield from self._turns(place, side, here, faulty=faulty)
        elif self.setting.overlaps or not side.tasks:
            yield from self._looks(place, side, here, faulty=faulty)
        for which in range(len(side.tasks)):
            yield from self._goes_on(place, side, which, here, faulty=faulty)
        if side.row.size is None and self.setting.ends:
            wished = self.sides.number(self.actors[place].wished(side))
            yield here._replace(said=f"{place} wishes none", side=wished, good=False)
        if faulty and Fault.CRASH in self.setting.kinds:
            yield from self._dies(place, side, side, here, "dies")
        if faulty and Fault.TAKE_OVER in self.setting.kinds and side.tasks:
            yield from self._gone(place, side, list(side.tasks), here, "is taken over")

    def _looks(self, place: int, side: Side, here: Local, *, faulty: bool) -> Iterator[Local]:
        """Look, and take the turn at once where nothing of one's own can come between."""
        shown = tuple(Shown(box.name, box.status) for box in self.boxes[here.boxes])
        looked = self.actors[place].look(side, shown)
        if side.tasks:
            yield here._replace(said=f"{place} looks", side=self.sides.number(looked))
        else:
            yield from self._turns(place, looked, here, faulty=faulty)

    def _turns(self, place: int, side: Side, here: Local, *, faulty: bool) -> Iterator[Local]:
        after, stores = self.actors[place].turn(side)
        said = f"{place} takes a turn"
        yield here._replace(said=said, side=self.sides.number(after))
        if faulty and Fault.CRASH in self.setting.kinds:
            for saves, store in enumerate(stores, start=1):
                dies = f"dies after {saves} saves of a turn"
                yield from self._dies(place, side, store, here, dies)

    def _goes_on(
        self, place: int, side: Side, which: int, here: Local, *, faulty: bool
    ) -> Iterator[Local]:
        """Let a call read its host, or write and be answered, or go wrong."""
        task = side.tasks[which]
        if task.name is not None:
            yield from self._writes(place, side, which, here, faulty=faulty)
            return
        host = HOSTS.index(host_in(task.call))
        box, said = self.boxes[here.boxes][host], f"{place} {task.call.kind} {HOSTS[host]}"
        found = self._asks(place, task.call, box)
        if isinstance(found, Write):
            read = self.actors[place].reads(side, which, box.name)
            yield here._replace(said=f"{said}: it is read", side=self.sides.number(read))
        else:
            yield from self._answers(place, side, which, found, here._replace(said=f"{said}: no"))
        if faulty and Fault.BUSY in self.setting.kinds:
            busy = here._replace(said=f"{said}: busy", fault=True, good=False)
            yield from self._answers(place, side, which, _BUSY, busy)

    def _writes(
        self, place: int, side: Side, which: int, here: Local, *, faulty: bool
    ) -> Iterator[Local]:
        """Let a write take effect and be answered; or effect, answer, or both are lost."""
        late = _late(place, side.tasks[which], self.setting.settle)
        beyond = late._replace(limit=2 * self.setting.settle + 1)
        landed, outcome = self._lands(late, here)
        crashes = faulty and Fault.CRASH in self.setting.kinds
        yield from self._answers(place, side, which, outcome, landed, crashes=crashes)
        lost = (
            (Fault.LOST_BEFORE, here),
            (Fault.LOST_AFTER, landed),
            (Fault.LATE, here._replace(late=(self.alone.number(late),))),
            (Fault.TOO_LATE, here._replace(late=(self.alone.number(beyond),))),
        )
        for fault, world in lost if faulty else ():
            if fault in self.setting.kinds:
                said = f"{place} {late.call.kind} {host_in(late.call)}: {fault}"
                unknown = world._replace(said=said, fault=True, good=False)
                yield from self._answers(place, side, which, _LOST, unknown)

    def _answers(  # noqa: PLR0913 - a call of a side, its outcome, and the world around
        self,
        place: int,
        side: Side,
        which: int,
        outcome: object,
        landed: Local,
        *,
        crashes: bool = False,
    ) -> Iterator[Local]:
        assert isinstance(outcome, Done | Refused | Unknown)  # noqa: S101 - it has read its host
        after, stores = self.actors[place].answered(side, which, outcome)
        yield landed._replace(side=self.sides.number(after))
        others = _without(side, which)
        for saves, store in enumerate(stores if crashes else (), start=1):
            dies = f"dies after the answer and {saves} saves"
            yield from self._dies(place, others, store, landed, dies)

    def _asks(self, place: int, call: Call, box: Box) -> Write | Outcome | None:
        """Return what a call writes, or comes to, once it has read its host."""
        home = self.actors[place].home.installation
        return next_of(home, call, (Shown(box.name, box.status),))

    def _lands(self, late: Late, here: Local) -> tuple[Local, Outcome]:
        """Return the step of a call's write, and what its deed makes of the answer."""
        place, call = late.place, late.call
        host, home = HOSTS.index(host_in(call)), self.actors[late.place].home.installation
        boxes = self.boxes[here.boxes]
        box, read = boxes[host], Shown(late.name or "")
        write = next_of(home, call, (read,))
        assert isinstance(write, Write)  # noqa: S101 - a call that has read goes on to write
        after = box._replace(status=WIPING) if not write.name else _renamed(box, write.name)
        answer = Shown(after.name, after.status if write.name else box.status)
        outcome = next_of(home, call, (read, answer))
        assert isinstance(outcome, Done | Refused | Unknown)  # noqa: S101 - there is no fourth
        step = here._replace(
            said=f"{place} {call.kind} {HOSTS[host]}: done",
            boxes=self.boxes.number((*boxes[:host], after, *boxes[host + 1 :])),
            touch=Touch(host, late.holder, "renames it" if write.name else "wipes it"),
            wrong=_unwiped(box, write.name, host),
        )
        return step, outcome

    def _dies(self, place: int, side: Side, store: Side, here: Local, said: str) -> Iterator[Local]:
        """Let a process die over what its store held; what was on the wire is lost, or late."""
        wires = [task for task in side.tasks if task.read]
        yield from self._gone(place, store, wires, here, said)

    def _gone(
        self, place: int, store: Side, wires: list[Task], here: Local, said: str
    ) -> Iterator[Local]:
        number = self.sides.number(self.actors[place].dead(store))
        settle = self.setting.settle
        for kept in itertools.product((False, True), repeat=len(wires)):
            pairs = zip(wires, kept, strict=True)
            late = tuple(self.alone.number(_late(place, t, settle)) for t, on in pairs if on)
            what = f"{place} {said} ({len(late)} calls go on)"
            yield here._replace(said=what, side=number, late=late, fault=True, good=False)

    # ------------------------------------------------------------ everything else

    def _world(self, state: State) -> Iterator[Step]:
        boxes = self.boxes[state.boxes]
        for host, box in enumerate(boxes):
            if box.status == WIPING:
                yield Step(f"{HOSTS[host]} is wiped", self._boxed(state, host, _wiped(box)), True)
        for number in dict.fromkeys(state.late):
            yield self._late_goes_on(state, number)
        if (ticked := self._ticked(state)) is not None:
            yield Step("a tick", ticked, True)

    def _boxed(self, state: State, host: int, box: Box) -> State:
        boxes = self.boxes[state.boxes]
        return state._replace(boxes=self.boxes.number((*boxes[:host], box, *boxes[host + 1 :])))

    def _late_goes_on(self, state: State, number: int) -> Step:
        """Let a call that nobody waits for read its host, or write."""
        late, rest = self.alone[number], list(state.late)
        rest.remove(number)
        left = state._replace(late=tuple(rest))
        said = f"late: {late.place} {late.call.kind} {host_in(late.call)}"
        if late.name is not None:
            here = Local(said, state.boxes, state.sides[late.place])
            step, _ = self._lands(late, here)
            if late.limit <= self.setting.settle:
                self._check(step, state)
                return Step(said, left._replace(boxes=step.boxes), True)
            return Step(said, self._doubled(left, step), True)
        box = self.boxes[state.boxes][HOSTS.index(host_in(late.call))]
        if not isinstance(self._asks(late.place, late.call, box), Write):
            return Step(f"{said}: no", left, True)
        read = self.alone.number(late._replace(name=box.name))
        return Step(f"{said}: it is read", left._replace(late=tuple(sorted((*rest, read)))), True)

    def _doubled(self, state: State, step: Local) -> State:
        """Return the world after an effect beyond settle, which hit whoever had the host."""
        landed = state._replace(boxes=step.boxes)
        if step.touch is None or not self.holders(state, step.touch.host):
            return landed
        box = self.boxes[step.boxes][step.touch.host]
        return self._boxed(landed, step.touch.host, box._replace(double=True))

    def _ticked(self, state: State) -> State | None:
        """Return the state a tick later; None while something must have its effect before."""
        under_way = [self.alone[number] for number in state.late]
        if any(late.age + 1 >= late.limit for late in under_way):
            return None
        sides = list[int]()
        for side in state.sides:
            if side not in self._ticks:
                self._ticks[side] = self._aged(self.sides[side])
            ticked = self._ticks[side]
            if ticked is None:
                return None
            sides.append(ticked)
        older = sorted(self.alone.number(late._replace(age=late.age + 1)) for late in under_way)
        boxes = self.boxes.number(tuple(_kept(box) for box in self.boxes[state.boxes]))
        return state._replace(boxes=boxes, sides=tuple(sides), late=tuple(older))

    def _aged(self, side: Side) -> int | None:
        settle = self.setting.settle
        if side.looked or any(_age(task) + 1 >= settle for task in side.tasks):
            return None
        return self.sides.number(aged(side, settle))

    def _person(self, state: State) -> Iterator[Step]:
        """A person renames a host: into the pool, to what is nobody's, to another's name."""
        claims = tuple(str(self._claim(place)) for place in range(len(state.sides)))
        for host, box in enumerate(self.boxes[state.boxes]):
            for name in (BY_HAND, THEIRS, *claims):
                if name != box.name:
                    had = self.holders(state, host) or name_of(box.name) or name_of(name)
                    after = box._replace(
                        name=name,
                        by_hand=box.by_hand or name == BY_HAND,
                        torn=box.torn or bool(had),
                    )
                    said = f"a person names {HOSTS[host]} {name}"
                    yield Step(said, self._boxed(state, host, after), False)

    def _claim(self, place: int) -> Name:
        home = self.actors[place].home
        return Name(
            stage=Stage.CLAIMED,
            installation=home.installation,
            fleet=home.fleet,
            machine=home.ids[0],
            pool=pool_digest(POOL),
        )


_LOST = Unknown(text="lost")
_BUSY = Refused(why=Refusal.BUSY, text="busy")


def _without(side: Side, which: int) -> Side:
    """Return the side without one of its calls."""
    return replace(side, tasks=(*side.tasks[:which], *side.tasks[which + 1 :]))


def _age(task: Task) -> int:
    return (NOW - task.sent) // TICK


def _late(place: int, task: Task, limit: int) -> Late:
    return Late(place, str(task.holder.id), task.call, task.name, _age(task), limit)


def _claimed(text: str) -> MachineId | None:
    """Return the machine that a name says has claimed the host, or None."""
    name = name_of(text)
    return name.machine if name is not None and name.stage is Stage.CLAIMED else None


def _kept(box: Box) -> Box:
    """Return the Mac a tick later: a person who still finds a name of their own there uses it."""
    return box._replace(user=PERSON) if box.name == THEIRS else box


def _wiped(box: Box) -> Box:
    """Return the Mac wiped: whoever claimed it uses it again, unless a person wrote that name."""
    return box._replace(status=READY, user=None if box.torn else _claimed(box.name))


def _renamed(box: Box, text: str) -> Box:
    """Return the Mac under a name that a program gave it."""
    pool = text.startswith(POOL)
    return Box(
        name=text,
        status=box.status,
        user=_claimed(text) or box.user,
        by_hand=box.by_hand and not pool,
        torn=box.torn and not pool,
        double=box.double and not pool,
    )


def _unwiped(box: Box, text: str, host: int) -> str:
    """Return what is wrong with a new name of a host that was used since its last wipe."""
    claimant = _claimed(text)
    if claimant is not None and box.user not in {None, claimant}:
        return f"S12: {HOSTS[host]} is claimed unwiped: {box.user} used it last"
    if text.startswith(POOL) and box.user is not None:
        return f"S12: {HOSTS[host]} goes into the pool unwiped: {box.user} used it last"
    return ""


_HAS = frozenset({Phase.STARTING, Phase.READY, Phase.DRAINING, Phase.BROKEN})


def _holders(side: Side, host: int, box: Box) -> tuple[MachineId, ...]:
    claimed = _claimed(box.name)
    mine = (m for m in side.machines if m.host == HOSTS[host] and m.phase in _HAS)
    return tuple(m.id for m in mine if m.id == claimed or _has(m))


def _has(machine: Machine) -> bool:
    """Tell whether a machine's record says that its claim was completed."""
    asked = any(a.aim == Stage.CLAIMED and a.fate is Fate.DONE for a in machine.asked)
    return asked or machine.was_ready is not None
