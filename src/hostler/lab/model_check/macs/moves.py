"""Every step that one installation of the small world can take, as it sees them.

What it does depends on its own side and on the Macs alone, so it is worked out once for each pair
of these, and remembered. Whether it is the first or the second makes no difference: as it sees them
it is always the first.
"""

import itertools
from collections.abc import Iterator

from msgspec.structs import replace

from hostler.domain.ids import HostId
from hostler.domain.model.calls import Call, Done, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.phases import Phase

from . import host_effects
from .calls import HOSTS, WIPING, Sighting, Write, host_in, next_of
from .cycles import Actor
from .installation import NOW, TICK, Side, Task
from .values import Box, Fault, Late, Local, Numbered, Setting, Touch


class One:
    """The steps of one installation; Macs, sides and calls that go on alone are numbers."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.actor = Actor(setting.home(0))
        self.sides, self.boxes = Numbered[Side](), Numbered[tuple[Box, ...]]()
        self.alone = Numbered[Late]()
        self._found = dict[tuple[int, int, bool], tuple[Local, ...]]()

    def steps(self, side: int, boxes: int, *, faulty: bool) -> tuple[Local, ...]:
        """Return every step that may be taken next."""
        key = (side, boxes, faulty)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = tuple(self._steps(side, boxes, faulty=faulty))
        return found

    def sightings(self, boxes: int, side: Side) -> tuple[Sighting, ...]:
        """Return what a listing shows; dates of changes only where anything asks for them."""
        dates = dict(side.dates)
        return tuple(
            Sighting(box.name, box.status, dates.get(host))
            for host, box in zip(HOSTS, self.boxes[boxes], strict=False)
        )

    def _steps(self, number: int, boxes: int, *, faulty: bool) -> Iterator[Local]:
        side, here = self.sides[number], Local("", boxes, number)
        if side.observed:
            yield from self._cycles(side, here, faulty=faulty)
        elif self.setting.overlaps or not side.tasks:
            yield from self._observations(side, here, faulty=faulty)
        for which in range(len(side.tasks)):
            yield from self._goes_on(side, which, here, faulty=faulty)
        if faulty and Fault.CRASH in self.setting.kinds:
            yield from self._dies(side, side, here, "dies")
        if faulty and Fault.TAKE_OVER in self.setting.kinds and side.tasks:
            yield from self._interrupted(side, list(side.tasks), here, "is taken over")

    def _observations(self, side: Side, here: Local, *, faulty: bool) -> Iterator[Local]:
        """Look, and take the cycle at once where nothing of one's own can come between."""
        observed = self.actor.observe(side, self.sightings(here.boxes, side))
        if side.tasks:
            yield here._replace(label="{0} observes", side=self.sides.number(observed))
        else:
            yield from self._cycles(observed, here, faulty=faulty)

    def _cycles(self, side: Side, here: Local, *, faulty: bool) -> Iterator[Local]:
        """Take a cycle, also with a request that has come just before: none asks for it earlier."""
        yield from self._cycle(side, here._replace(label="{0} goes through a cycle"), faulty=faulty)
        if side.row.size is None:
            request = here._replace(
                label="{0} is asked for none, and goes through a cycle", good=False
            )
            yield from self._cycle(self.actor.desired(side), request, faulty=faulty)

    def _cycle(self, side: Side, here: Local, *, faulty: bool) -> Iterator[Local]:
        after, stores = self.actor.reconcile(side)
        yield here._replace(side=self.sides.number(after))
        if faulty and Fault.CRASH in self.setting.kinds:
            for saves, store in enumerate(stores, start=1):
                yield from self._dies(side, store, here, f"dies after {saves} saves of a cycle")

    def brought_up(self, side: int, boxes: int) -> tuple[int, int]:
        """Return a side and the Macs once it has its machine, with nobody else about."""
        while (claims := self.sides[side]).tasks or not is_served(claims, self.setting.size):
            if claims.tasks:
                step = self.steps(side, boxes, faulty=False)[-1]
                side, boxes = step.side, step.boxes
            else:
                step = self.steps(self.aged(side) or side, boxes, faulty=False)[0]
                side, boxes = step.side, self._rested(boxes)
        return side, boxes

    def _rested(self, boxes: int) -> int:
        every = (
            host_effects.wiped(box) if box.status == WIPING else box for box in self.boxes[boxes]
        )
        return self.boxes.number(tuple(every))

    # ------------------------------------------------------------ calls

    def _goes_on(self, side: Side, which: int, here: Local, *, faulty: bool) -> Iterator[Local]:
        """Let a call read its host, or write and be answered, or go wrong."""
        task = side.tasks[which]
        if task.name is not None:
            yield from self._writes(side, which, here, faulty=faulty)
            return
        host = HOSTS.index(host_in(task.call))
        box, label = self.boxes[here.boxes][host], f"{{0}} {task.call.kind} {HOSTS[host]}"
        found = self.asks(task.call, box)
        if isinstance(found, Write):
            read = self.actor.reads(side, which, box.name)
            yield here._replace(label=f"{label}: it is read", side=self.sides.number(read))
        else:
            yield from self._answers(side, which, found, here._replace(label=f"{label}: no"))
        if faulty and Fault.BUSY in self.setting.kinds:
            busy = here._replace(label=f"{label}: busy", fault=True, good=False)
            yield from self._answers(side, which, _BUSY, busy)

    def _writes(self, side: Side, which: int, here: Local, *, faulty: bool) -> Iterator[Local]:
        """Let a write take effect and be answered; or effect, answer, or both are lost."""
        late = _late(side.tasks[which], self.setting.consistency_delay)
        beyond = late._replace(limit=2 * self.setting.consistency_delay + 1)
        landed, outcome = self.lands(late, here)
        crashes = faulty and Fault.CRASH in self.setting.kinds
        yield from self._answers(side, which, outcome, landed, crashes=crashes)
        lost = (
            (Fault.LOST_BEFORE, here),
            (Fault.LOST_AFTER, landed),
            (Fault.LATE, here._replace(late=(self.alone.number(late),))),
            (Fault.TOO_LATE, here._replace(late=(self.alone.number(beyond),))),
        )
        for fault, world in lost if faulty else ():
            if fault in self.setting.kinds:
                label = f"{{0}} {late.call.kind} {host_in(late.call)}: {fault}"
                unknown = world._replace(label=label, fault=True, good=False)
                yield from self._answers(side, which, _LOST, unknown)

    def _answers(
        self, side: Side, which: int, outcome: object, landed: Local, *, crashes: bool = False
    ) -> Iterator[Local]:
        assert isinstance(outcome, Done | Refused | Unknown)  # noqa: S101 - it has read its host
        after, stores = self.actor.answered(side, which, outcome)
        yield landed._replace(side=self.sides.number(after))
        others = replace(side, tasks=(*side.tasks[:which], *side.tasks[which + 1 :]))
        for saves, store in enumerate(stores if crashes else (), start=1):
            yield from self._dies(others, store, landed, f"dies after the answer and {saves} saves")

    def asks(self, call: Call, box: Box) -> Write | Outcome | None:
        """Return what a call writes, or comes to, once it has read its host."""
        home = self.actor.home.installation
        return next_of(home, call, (Sighting(box.name, box.status),))

    def lands(self, late: Late, here: Local) -> tuple[Local, Outcome]:
        """Return the step of a call's write, and what the call makes of the answer."""
        call, home = late.call, self.actor.home.installation
        host = HOSTS.index(host_in(call))
        boxes = self.boxes[here.boxes]
        box, read = boxes[host], Sighting(late.name or "")
        write = next_of(home, call, (read,))
        assert isinstance(write, Write)  # noqa: S101 - a call that has read goes on to write
        name = write.name
        after = host_effects.renamed(box, name) if name else box._replace(status=WIPING)
        answer = Sighting(after.name, after.status if name else box.status)
        outcome = next_of(home, call, (read, answer))
        assert isinstance(outcome, Done | Refused | Unknown)  # noqa: S101 - there is no fourth
        step = here._replace(
            label=f"{{0}} {call.kind} {HOSTS[host]}: done",
            boxes=self.boxes.number((*boxes[:host], after, *boxes[host + 1 :])),
            touch=Touch(host, late.holder, "renames it" if name else "wipes it"),
            wrong=host_effects.unwiped(box, name, host),
        )
        return step, outcome

    # ------------------------------------------------------------ deaths, and time

    def _dies(self, side: Side, store: Side, here: Local, label: str) -> Iterator[Local]:
        """Let a process die over what its store held; what was on the wire is lost, or late."""
        wires = [task for task in side.tasks if task.read]
        yield from self._interrupted(store, wires, here, label)

    def _interrupted(
        self, store: Side, wires: list[Task], here: Local, label: str
    ) -> Iterator[Local]:
        number = self.sides.number(self.actor.dead(store))
        consistency_delay = self.setting.consistency_delay
        for continues in itertools.product((False, True), repeat=len(wires)):
            pairs = zip(wires, continues, strict=True)
            late = tuple(self.alone.number(_late(t, consistency_delay)) for t, on in pairs if on)
            what = f"{{0}} {label} ({len(late)} calls go on)"
            yield here._replace(label=what, side=number, late=late, fault=True, good=False)

    def aged(self, number: int) -> int | None:
        """Return the side a tick later; None while a call must have its effect before."""
        side = self.sides[number]
        if side.observed or any(
            _age(task) + 1 >= self.setting.consistency_delay for task in side.tasks
        ):
            return None
        return self.sides.number(self.actor.aged(side))

    def dated(self, number: int, host: HostId) -> int:
        """Return the side to which the date of a host that bears its pending tag is shown."""
        return self.sides.number(self.actor.dated(self.sides[number], host))


def is_served(side: Side, size: int) -> bool:
    """Tell whether an installation has all the machines that it wants."""
    return sum(machine.phase is Phase.READY for machine in side.machines) == size


_LOST = Unknown(text="lost")
_BUSY = Refused(why=Refusal.BUSY, text="busy")


def _age(task: Task) -> int:
    return (NOW - task.sent) // TICK


def _late(task: Task, limit: int) -> Late:
    return Late(str(task.holder.id), task.call, task.name, _age(task), limit)
