"""The model: two Macs, one or two installations, and a person, with every step that can be taken.

A call is begun and recorded, reads its host, writes, and is answered: between these anything else
may happen. Times are ticks; what was sent has its effect before the consistency delay has passed,
unless the setting says otherwise. Two worlds in which the installations have changed their places
are one.
"""

from collections.abc import Iterator

from hostler.domain.ids import MachineId
from hostler.domain.model.machine import CallState, Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Stage
from hostler.lab.macs.names import read_name
from hostler.lab.model_check.explore import Transition, Violated

from . import host_effects
from .calls import HOSTS, POOL, WIPING, Write, host_in
from .installation import Side
from .moves import One
from .values import (
    BY_HAND,
    PERSON,
    THEIRS,
    Act,
    Box,
    Late,
    Local,
    Setting,
    State,
)

Holder = tuple[int, MachineId]


class World:
    """The steps of a small world."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.one = setting, One(setting)
        self.boxes, self.sides = self.one.boxes, self.one.sides
        self._mirror = host_effects.Mirror(setting.home(0), setting.home(1))
        self._mirrored = dict[int, int]()
        self._has = dict[tuple[int, int], tuple[tuple[MachineId, ...], ...]]()
        self._aged = dict[int, int | None]()
        self._boxes_aged = dict[int, int]()
        self._changed = dict[tuple[int, int], tuple[tuple[int, int], ...]]()
        self._wiped = dict[int, tuple[tuple[str, int], ...]]()
        self._done = dict[int, tuple[tuple[str, int, Box], ...]]()

    def first(self) -> State:
        """Return the beginning: hosts in the pool, as a person put them there, or wiped."""
        clean, actor = self.setting.clean, self.one.actor
        user, named = None if clean else PERSON, range(self.setting.hosts)
        boxes = tuple(Box(f"{POOL}{host}", user=user) for host in named)
        wiped = {HOSTS[host]: box.name for host, box in enumerate(boxes) if clean}
        first = (actor.first(wiped), *(actor.first() for _ in range(1, self.setting.homes)))
        sides, number = list[int](), self.boxes.number(boxes)
        for place, side in enumerate(first):
            stays = actor.desired(side, self.setting.size) if place >= self.setting.ends else side
            own, snapshot = self.sides.number(stays), self.seen_by(place, number)
            if place < self.setting.ready:
                own, snapshot = self.one.brought_up(own, snapshot)
            sides.append(own)
            number = self.seen_by(place, snapshot)
        return State(number, tuple(sides), (), self.setting.faults, self.setting.acts)

    def seen_by(self, place: int, boxes: int) -> int:
        """Return the Macs as seen by an installation, or back."""
        if not place:
            return boxes
        found = self._mirrored.get(boxes)
        if found is None:
            found = self.boxes.number(self._mirror.boxes(self.boxes[boxes]))
            self._mirrored[boxes], self._mirrored[found] = found, boxes
        return found

    def transitions(self, state: State) -> Iterator[Transition[State]]:
        """Yield every step that may be taken next; raise Violated where one breaks a promise."""
        boxes, sides, late, faults, acts = state
        for place, side in enumerate(sides):
            snapshot = self.seen_by(place, boxes)
            for transition in self.one.steps(side, snapshot, faulty=faults > 0):
                if transition.touch is not None:
                    self._check(transition, place, state)
                after = State(
                    boxes
                    if transition.boxes == snapshot
                    else self.seen_by(place, transition.boxes),
                    (*sides[:place], transition.side, *sides[place + 1 :]),
                    _with(late, transition.late, place) if transition.late else late,
                    faults - transition.fault,
                    acts,
                )
                yield self._transition(transition.label, state, after, transition.good, place)
        for label, after, good in self._world(state):
            yield self._transition(label, state, after, good)
        if acts:
            for label, after in self._person(state._replace(acts=acts - 1)):
                yield self._transition(label, state, after, good=False)

    def _transition(
        self, label: str, before: State, after: State, good: bool, place: int = 0
    ) -> Transition[State]:
        """Return the step, with whose dates it changes, and the one world of the two for it."""
        if after.boxes != before.boxes:
            after = self._dated(before.boxes, after)
        if self.setting.alike:
            boxes = self.seen_by(1, after.boxes)
            if boxes <= after.boxes:
                sides, late = after.sides[::-1], tuple(sorted(one ^ 1 for one in after.late))
                other = State(boxes, sides, late, after.faults, after.acts)
                if other < after:
                    return Transition(label, other, good, place, mirrored=True)
        return Transition(label, after, good, place)

    def _dated(self, before: int, after: State) -> State:
        """Show the date of a change to whoever has its pending tag on the host."""
        changed = self._changed.get((before, after.boxes))
        if changed is None:
            changed = self._changed[before, after.boxes] = tuple(self._pending(before, after.boxes))
        for place, host in changed:
            dated = self.one.dated(after.sides[place], HOSTS[host])
            sides = (*after.sides[:place], dated, *after.sides[place + 1 :])
            after = after._replace(sides=sides)
        return after

    def _pending(self, before: int, after: int) -> Iterator[tuple[int, int]]:
        homes = [self.setting.home(place).installation for place in range(self.setting.homes)]
        pairs = zip(self.boxes[before], self.boxes[after], strict=True)
        for host, (older, newer) in enumerate(pairs):
            owner = host_effects.pending_for(newer.name)
            if owner is not None and (older.name, older.status) != (newer.name, newer.status):
                yield homes.index(owner), host

    def _check(self, transition: Local, place: int, state: State) -> None:
        """What one machine has, no call for anybody else may wipe or rename."""
        touch = transition.touch
        if transition.wrong:
            raise Violated(f"{transition.wrong} ({transition.label})")
        if touch is None or self.boxes[state.boxes][touch.host].torn:
            return
        for owner, holder in self.holders(state, touch.host):
            if (owner, holder) != (place, touch.holder):
                text = f"{HOSTS[touch.host]} is {holder}'s, and {touch.holder} {touch.what}"
                raise Violated(f"S5: {text} ({transition.label})")

    def holders(self, state: State, host: int) -> list[Holder]:
        """Return the machines that have a host: by their records, or by its name and their tie."""
        found = list[Holder]()
        for place, side in enumerate(state.sides):
            boxes = self.seen_by(place, state.boxes)
            has = self._has.get((side, boxes))
            if has is None:
                every = enumerate(self.boxes[boxes])
                has = tuple(_holders(self.sides[side], n, box) for n, box in every)
                self._has[side, boxes] = has
            if has[host]:
                found += [(place, machine) for machine in has[host]]
        return found

    # ------------------------------------------------------------ everything else

    def _world(self, state: State) -> Iterator[tuple[str, State, bool]]:
        """Yield what happens by itself: a wipe ends, a call goes on alone, time passes."""
        wiped = self._wiped.get(state.boxes)
        if wiped is None:
            wiped = self._wiped[state.boxes] = tuple(self._wipes(state.boxes))
        for label, boxes in wiped:
            yield label, state._replace(boxes=boxes), True
        for late in dict.fromkeys(state.late):
            label, after = self._late_goes_on(state, late)
            yield label, after, True
        if (ticked := self._ticked(state)) is not None:
            yield "a tick", ticked, True

    def _wipes(self, number: int) -> Iterator[tuple[str, int]]:
        for host, box in enumerate(self.boxes[number]):
            if box.status == WIPING:
                yield f"{HOSTS[host]} is wiped", self._boxed(number, host, host_effects.wiped(box))

    def _boxed(self, number: int, host: int, box: Box) -> int:
        boxes = self.boxes[number]
        return self.boxes.number((*boxes[:host], box, *boxes[host + 1 :]))

    def _late_goes_on(self, state: State, key: int) -> tuple[str, State]:
        """Let a call that nobody waits for read its host, or write."""
        (number, place), rest = divmod(key, 2), list(state.late)
        rest.remove(key)
        late, left = self.one.alone[number], state._replace(late=tuple(rest))
        label = f"late: {late.call.kind} {host_in(late.call)} of {{{place}}}"
        snapshot = self.seen_by(place, state.boxes)
        if late.name is not None:
            transition, _ = self.one.lands(late, Local(label, snapshot, state.sides[place]))
            landed = left._replace(boxes=self.seen_by(place, transition.boxes))
            if late.limit > self.setting.consistency_delay:
                return label, self._doubled(left, landed, transition)
            self._check(transition, place, state)
            return label, landed
        box = self.boxes[snapshot][HOSTS.index(host_in(late.call))]
        if not isinstance(self.one.asks(late.call, box), Write):
            return f"{label}: no", left
        read = self.one.alone.number(late._replace(name=box.name))
        return f"{label}: it is read", left._replace(late=_with(left.late, (read,), place))

    def _doubled(self, before: State, landed: State, transition: Local) -> State:
        """Return the world after an effect that was too late, which hit whoever had the host."""
        if transition.touch is None or not self.holders(before, transition.touch.host):
            return landed
        box = self.boxes[landed.boxes][transition.touch.host]
        boxes = self._boxed(landed.boxes, transition.touch.host, box._replace(double=True))
        return landed._replace(boxes=boxes)

    def _ticked(self, state: State) -> State | None:
        """Return the state a tick later; None while something must have its effect before."""
        sides = list[int]()
        for side in state.sides:
            if side not in self._aged:
                self._aged[side] = self.one.aged(side)
            ticked = self._aged[side]
            if ticked is None:
                return None
            sides.append(ticked)
        late = list[int]()
        for key in state.late:
            older = _older(self.one.alone[key // 2])
            if older is None:
                return None
            late.append(2 * self.one.alone.number(older) + key % 2)
        return state._replace(
            boxes=self._ticked_boxes(state.boxes), sides=tuple(sides), late=tuple(sorted(late))
        )

    def _ticked_boxes(self, number: int) -> int:
        if number not in self._boxes_aged:
            ticked = tuple(host_effects.ticked(box) for box in self.boxes[number])
            self._boxes_aged[number] = self.boxes.number(ticked)
        return self._boxes_aged[number]

    def _person(self, state: State) -> Iterator[tuple[str, State]]:
        """A person renames a host, or wipes it."""
        found = self._done.get(state.boxes)
        if found is None:
            found = self._done[state.boxes] = tuple(self._by_hand(state.boxes))
        for label, host, box in found:
            before = self.boxes[state.boxes][host]
            if box.name != before.name and self.holders(state, host):
                box = box._replace(torn=True)  # noqa: PLW2901 - somebody had it
            yield label, state._replace(boxes=self._boxed(state.boxes, host, box))

    def _by_hand(self, number: int) -> Iterator[tuple[str, int, Box]]:
        """Yield what a person may do: a host that anybody's name stands or comes on is torn."""
        names = {
            Act.POOL: {BY_HAND: BY_HAND},
            Act.KEEP: {THEIRS: THEIRS},
            Act.CLAIM: self._claims(),
        }
        for host, box in enumerate(self.boxes[number]):
            every = [pair for act in self.setting.calls for pair in names.get(act, {}).items()]
            for name, description in every:
                if name != box.name:
                    torn = box.torn or bool(read_name(box.name) or read_name(name))
                    label = f"a person names {HOSTS[host]} {description}"
                    yield label, host, box._replace(name=name, torn=torn)
            if Act.WIPE in self.setting.calls and box.status != WIPING:
                yield f"a person wipes {HOSTS[host]}", host, box._replace(status=WIPING)

    def _claims(self) -> dict[str, str]:
        places = range(self.setting.homes)
        claims = {host_effects.claim_of(self.setting.home(p)): p for p in places}
        return {name: f"as claimed by {{{place}}}" for name, place in claims.items()}


def _with(late: tuple[int, ...], more: tuple[int, ...], place: int) -> tuple[int, ...]:
    return tuple(sorted((*late, *(2 * number + place for number in more))))


def _older(late: Late) -> Late | None:
    """Return a call that goes on alone a tick later; None where it has its effect before."""
    return None if late.age + 1 >= late.limit else late._replace(age=late.age + 1)


_HAS = frozenset({Phase.STARTING, Phase.READY, Phase.DRAINING, Phase.FAILED})


def _holders(side: Side, host: int, box: Box) -> tuple[MachineId, ...]:
    claimed = host_effects.claimant(box.name)
    mine = (m for m in side.machines if m.host == HOSTS[host] and m.phase in _HAS)
    return tuple(m.id for m in mine if m.id == claimed or _has(m))


def _has(machine: Machine) -> bool:
    """Tell whether a machine's record says that its claim was completed."""
    asked = any(a.aim is Stage.CLAIMED and a.call_state is CallState.DONE for a in machine.asked)
    return asked or machine.health.was_ready is not None
