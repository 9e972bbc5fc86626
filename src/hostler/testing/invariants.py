"""Invariants: what must hold after every step, each as a checker that can be shown a violation.

The checkers know records and plain facts about the outside, never who brings them: a simulation, an
end-to-end test, or a production alarm. Times are seconds of true time. For records they are
absolute; for resources they hold within the consistency delay, and beyond that what breaks them
must be seen and removed within a bound.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from msgspec import Struct

from hostler.domain.ids import Epoch, InstallationId, MachineId, ResourceId
from hostler.domain.model.commands import Decision, SaveFleet
from hostler.domain.model.fleet import Fleet, FleetRow, Timers
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase, legal
from hostler.domain.model.resource import OwnerTag, Slot
from hostler.domain.model.snapshot import Request


class Violation(Struct, frozen=True, kw_only=True):
    """An invariant that did not hold: which, what was seen, and the machine concerned if any."""

    invariant: str
    text: str
    machine: MachineId | None = None


class Thing(Struct, frozen=True, kw_only=True):
    """A billable thing that truly exists outside; `mark` as its tags or name say it.

    `owner` is the thing that it hangs on.
    """

    id: ResourceId
    kind: str
    created: float
    owner_tag: OwnerTag | None = None
    slot: Slot | None = None
    owner: ResourceId | None = None


Found = tuple[Violation, ...]
_FINE: Found = ()

COUNTED = frozenset({Phase.PENDING, Phase.STARTING, Phase.READY})
"""Phases in which a machine counts towards the size that was asked for, unless it is to end."""

_CLOSE = timedelta(seconds=2)
"""By so much a pause may be over sooner than it is on record: a decision takes its time."""

_MANY = 40
"""So many machines that start may be waiting for their first answers."""

_REPLACES = "hostler-replace"
_OURS = frozenset({"hostler", _REPLACES})
"""Who ends a machine by the engine's own choice: one too many, and one that is replaced."""

LIVE = frozenset({Phase.PENDING, Phase.STARTING, Phase.READY, Phase.DRAINING, Phase.STANDBY})
"""Phases in which what a record binds must not be destroyed."""


@dataclass(slots=True)
class Recorded:
    """S1: every billable resource is in a record or in the orphan report within a bounded time.

    Only time counts in which the place of the resource was observed with success.
    """

    bound: float
    unexplained: dict[ResourceId, float] = field(default_factory=dict[ResourceId, float])

    def check(
        self,
        things: Iterable[Thing],
        explained: Collection[ResourceId],
        passed: Mapping[ResourceId, float],
    ) -> Found:
        """Check the things that exist; `passed` is the time that counts since the last check."""
        older, found = self.unexplained, list[Violation]()
        self.unexplained = {}
        for thing in things:
            if thing.id in explained:
                continue
            time = older.get(thing.id, 0.0) + passed.get(thing.id, 0.0)
            self.unexplained[thing.id] = time
            if time > self.bound:
                whose = thing.owner_tag.machine if thing.owner_tag else None
                text = (
                    f"{thing.kind} {thing.id} is in no record and no orphan report for {time:.0f} s"
                )
                found.append(Violation(invariant="S1", text=text, machine=whose))
        return tuple(found)


def in_maximum(machines: Iterable[Machine]) -> int:
    """Return how many machines count towards a fleet's maximum; what is stuck in its end not."""
    return sum(m.phase is not Phase.DELETED and not m.health.stuck for m in machines)


def grown(
    fleet: Fleet,
    row: FleetRow,
    machines: Iterable[Machine],
    inserts: Collection[Machine],
    ending: Collection[MachineId] = (),
) -> Found:
    """S2: a save that inserts takes the fleet beyond neither its size and surge nor its maximum.

    `ending` are machines that the same pass ends. Where machines are asked for by id, the row with
    new ones is saved before the records of those.
    """
    if not inserts:
        return _FINE
    living = tuple(machines)
    size = row.desired(fleet)
    staying = (m for m in living if fleet.renews or m.id not in ending)
    wanted = sum(m.phase in COUNTED and m.deletion is None for m in staying)
    held = in_maximum(living)
    most = fleet.most(size)
    found = list[Violation]()
    if wanted > size + fleet.surge:
        text = f"{wanted} machines are desired; {size} were asked for, {fleet.surge} may be more"
        found.append(Violation(invariant="S2", text=text, machine=next(iter(inserts)).id))
    if held > most:
        text = f"{held} machines count; the maximum is {most}"
        found.append(Violation(invariant="S2", text=text, machine=next(iter(inserts)).id))
    return tuple(found)


def set_back(fleet: Fleet, row: FleetRow, inserts: Iterable[Machine], now: datetime) -> Found:
    """S4: no machine is made of an offer that failed before the pause that is on record is over.

    `row` is the fleet's record as it is saved with them, `now` is by the clock of who saves it. A
    machine that was asked for by name gets its offer later; that hosts are sold out bars none.
    """
    for machine in inserts if fleet.renews else ():
        setback = row.setback(machine.offer)
        if setback is not None and not setback.stock and setback.until - now > _CLOSE:
            text = f"{machine.offer} is tried, and waits until {setback.until:%H:%M:%S}"
            return (Violation(invariant="S4", text=text, machine=machine.id),)
    return _FINE


def unmade(
    fleet: Fleet, row: FleetRow, machines: Iterable[tuple[Machine, Machine]], made: Decision
) -> Found:
    """L3: a fleet that has fewer machines than were asked for makes some, or says why it does not.

    `machines` are the fleet's, as they are saved and as the decision leaves them. What it ends as
    one too many is judged apart (E3). Where many wait for their first answer more need not begin.
    """
    saves = [command for command in made.commands if isinstance(command, SaveFleet)]
    if made.condition or not fleet.renews or any(save.inserts for save in saves):
        return _FINE
    pairs = tuple(machines)
    shed = sum(old.wanted and _is_shed(new) for old, new in pairs)
    living = tuple(new for _, new in pairs)
    rest = sum(m.phase is Phase.READY and m.goal is Goal.STANDBY for m in living if m.wanted)
    wake = sum(m.phase is Phase.STANDBY and m.goal is Goal.PRESENT for m in living)
    wanted = sum(m.wanted for m in living) - rest + wake + shed
    size = (saves[0].row if saves else row).desired(fleet)
    if wanted >= size or sum(m.phase is Phase.STARTING for m in living) >= _MANY:
        return _FINE
    text = f"{fleet.name} has {wanted} of {size} machines, makes none, and says nothing"
    return (Violation(invariant="L3", text=text),)


def _is_shed(machine: Machine) -> bool:
    return machine.deletion is not None and machine.deletion.actor in _OURS


def crowded(fleet: Fleet, size: int, old_servers: int) -> Found:
    """S2 outside: servers older than delay and bound never exceed the maximum."""
    most = fleet.most(size) + fleet.caps.stuck
    if old_servers <= most:
        return _FINE
    text = f"{old_servers} servers exist beyond the delay; at most {most} may"
    return (Violation(invariant="S2", text=text),)


@dataclass(slots=True)
class Attempts:
    """S4: creation attempts in any hour are bounded, whatever fails.

    Each attempt is kept with the bound at its time: no smaller size makes an earlier one too many.
    """

    window: float = 3600.0
    times: deque[tuple[float, int]] = field(default_factory=deque[tuple[float, int]])

    def made(self, now: float, most: int) -> Found:
        """Count one attempt, at a time at which so many were allowed in an hour."""
        self.times.append((now, most))
        while now - self.times[0][0] > self.window:
            self.times.popleft()
        largest = max(most for _, most in self.times)
        if len(self.times) <= largest:
            return _FINE
        text = f"{len(self.times)} creations were tried in an hour; the bound is {largest}"
        return (Violation(invariant="S4", text=text),)

    def jumped(self, by: float) -> None:
        """Let the clock of whoever counts jump: forward, what was tried is so much longer ago."""
        if by > 0.0:
            self.times = deque((time - by, most) for time, most in self.times)


class Touch(Struct, frozen=True, kw_only=True):
    """A request that changes or destroys a thing outside: of which installation, and how."""

    thing: Thing
    by: tuple[InstallationId, ...]
    destroys: bool


def touched(touch: Touch, owner: Machine | None) -> Found:
    """S5: what a live record binds is never destroyed; what is another's is never touched.

    `owner` is the record, of any installation, that binds the thing.
    """
    owner_tag = touch.thing.owner_tag
    if owner_tag is not None and owner_tag.installation not in touch.by:
        text = f"{touch.thing.kind} {touch.thing.id} of {owner_tag.installation} was touched"
        return (
            Violation(invariant="S5", text=f"{text} by {touch.by[0]}", machine=owner_tag.machine),
        )
    if owner is not None and touch.destroys and owner.phase in LIVE:
        text = f"{touch.thing.kind} {touch.thing.id} was destroyed while {owner.id} is"
        return (Violation(invariant="S5", text=f"{text} {owner.phase}", machine=owner.id),)
    return _FINE


def lost_falsely(before: Machine, after: Machine, *, healthy: bool) -> Found:
    """S5: what is healthy is not believed lost: its record does not break."""
    fell = before.phase in {Phase.READY, Phase.DRAINING} and after.phase in {
        Phase.FAILED,
        Phase.STOPPING,
    }
    if not (fell and healthy and after.deletion is None):
        return _FINE
    text = f"{after.id} was believed lost ({after.reason}), and is healthy"
    return (Violation(invariant="S5", text=text, machine=after.id),)


def deleted(before: Phase | None, machine: Machine, left: Iterable[Thing], oldest: float) -> Found:
    """S7: *deleted* only after confirmed absence; `left` is what still exists of the machine.

    What was made after `oldest` is a late effect: it reopens the record, which S1 watches over.
    """
    if machine.phase is not Phase.DELETED or before is Phase.DELETED:
        return _FINE
    still = [thing for thing in left if thing.created < oldest]
    if not still:
        return _FINE
    text = f"{machine.id} is gone, and its {still[0].kind} {still[0].id} still exists"
    return (Violation(invariant="S7", text=text, machine=machine.id),)


def begun(*, holds_lease: bool, call: str) -> Found:
    """S8: no call is begun after the lease's end."""
    if holds_lease:
        return _FINE
    return (Violation(invariant="S8", text=f"{call} was begun without a valid lease"),)


def saved(epoch: Epoch, newest: Epoch, what: str) -> Found:
    """S8: a stale epoch changes no record."""
    if epoch >= newest:
        return _FINE
    text = f"{what} was saved under epoch {epoch}; {newest} holds the lease"
    return (Violation(invariant="S8", text=text),)


def moved(before: Machine | None, after: Machine) -> Found:
    """The table of phases knows every move that is saved."""
    if before is None or before.phase is after.phase or legal(before.phase, after.phase):
        return _FINE
    text = f"{after.id} moved from {before.phase} to {after.phase}"
    return (Violation(invariant="illegal move", text=text, machine=after.id),)


SLACK = timedelta(minutes=3)
"""How much later than its bound a phase may end: observations, delays and caps take their time."""
_CAPPED = timedelta(minutes=60)


_Way = tuple[MachineId, Phase, Goal, bool]
"""A machine, its phase and goal, and whether it has a host: what one bound is about."""


def _way(machine: Machine) -> _Way:
    return machine.id, machine.phase, machine.goal, machine.host is not None


@dataclass(slots=True)
class Bounds:
    """S9, L2: every phase on the way somewhere has a bound and an exit.

    Only time counts in which a machine's own resources can be observed, and nobody protects it.
    `slack` is how much later than its bound a phase may end. A standby that is given up is another
    way: its bound begins again; as does that of a start that took its host at last.
    """

    timers: Timers
    slack: timedelta = SLACK
    spent: dict[_Way, float] = field(default_factory=dict[_Way, float])

    def check(self, machines: Iterable[Machine], passed: Mapping[MachineId, float]) -> Found:
        """Check the living machines; `passed` is the time that counts since the last check."""
        older, found = self.spent, list[Violation]()
        self.spent = {}
        for machine in machines:
            key = _way(machine)
            time = older.get(key, 0.0) + passed.get(machine.id, 0.0)
            self.spent[key] = time
            bound = self._bound(machine)
            if bound is not None and time > bound.total_seconds():
                text = f"{machine.id} is {machine.phase} for {time:.0f} s ({machine.error})"
                found.append(Violation(invariant="S9", text=text, machine=machine.id))
        return tuple(found)

    def forget(self, machine: Machine) -> None:
        """Have the bound of this machine's phase begin anew."""
        self.spent.pop(_way(machine), None)

    def _bound(self, machine: Machine) -> timedelta | None:
        timers = self.timers
        match machine.phase:
            case Phase.PENDING:
                return timers.admit + self.slack
            case Phase.STARTING:
                return timers.start + self.slack
            case Phase.DRAINING:
                return timers.drain + self.slack
            case Phase.STOPPING:
                return None if machine.health.stuck else timers.stop + self.slack
            case Phase.FAILED:
                return timers.keep_failed + _CAPPED
            case Phase.READY | Phase.STANDBY | Phase.DELETED:
                return None


def delayed(machine: MachineId, waited: float, most: float) -> Found:
    """S10: a machine that has something to do is not kept waiting by the others."""
    if waited <= most:
        return _FINE
    text = f"{machine} had a call to make, and waited {waited:.0f} s for its cycle"
    return (Violation(invariant="S10", text=text, machine=machine),)


def wedged(waited: float, most: float) -> Found:
    """S10: cycles go on, whatever single calls do."""
    if waited <= most:
        return _FINE
    return (Violation(invariant="S10", text=f"no cycle was run for {waited:.0f} s"),)


def rested(
    size: int,
    machines: Iterable[Machine],
    things: Iterable[Thing],
    explained: Collection[ResourceId],
) -> Found:
    """L1: in good weather the fleet reaches its size, and nothing else is left on the bill."""
    living = [machine for machine in machines if machine.phase is not Phase.DELETED]
    ready = [machine for machine in living if machine.phase is Phase.READY]
    for machine in living:
        if machine.phase is not Phase.READY:
            text = f"{machine.id} is {machine.phase} ({machine.error or machine.reason})"
            return (Violation(invariant="L1", text=text, machine=machine.id),)
        if machine.health.doubt is not None:
            text = f"{machine.id} is in doubt still"
            return (Violation(invariant="L1", text=text, machine=machine.id),)
    if len(ready) != size:
        return (Violation(invariant="L1", text=f"{len(ready)} are ready, {size} were asked for"),)
    for thing in things:
        if thing.id not in explained:
            whose = thing.owner_tag.machine if thing.owner_tag else None
            text = f"{thing.kind} {thing.id} is left on the bill"
            return (Violation(invariant="L1", text=text, machine=whose),)
    return _FINE


def held_back(
    before: Machine | None, machine: Machine, row: FleetRow | None, fleet: Fleet
) -> Found:
    """E3: a fleet that is held back loses no machine by the engine's own choice.

    It is paused, protected, or gone from the file, where its machines are to stay. `row` is the
    fleet's as it was saved last; what a person asked for is not the engine's choice, nor that a
    fleet ends which the file lets end.
    """
    deletion = machine.deletion
    if row is not None and row.ends:
        return _FINE
    if before is None or not before.wanted or deletion is None or deletion.actor not in _OURS:
        return _FINE
    pause = row.pause if row is not None else None
    paused = pause is not None and deletion.at < pause.until
    stays = row is not None and row.is_kept
    if paused or stays or (fleet.protected and before.health.was_ready is not None):
        why = "paused" if paused else "left as it is" if stays else "protected"
        text = f"{machine.id} ends ({deletion.why}) while {fleet.name} is {why}"
        return (Violation(invariant="E3", text=text, machine=machine.id),)
    return _FINE


def replaced(
    before: Machine | None, machine: Machine, fleet: Fleet, ready: int, size: int
) -> Found:
    """E3: what is replaced is due by the file, and as many as were asked for are ready with it.

    A machine on a host whose window is over is judged elsewhere.
    """
    deletion = machine.deletion
    if before is None or before.deletion is not None or deletion is None:
        return _FINE
    if deletion.actor != _REPLACES or deletion.why == "window_over":
        return _FINE
    age, since = fleet.timers.max_age, before.health.was_ready
    old = age is not None and since is not None and deletion.at - since >= age
    outdated = fleet.replace_outdated and before.template != fleet.template
    if not (old or outdated):
        text = f"{machine.id} is replaced ({deletion.why}), and nothing in the file makes it due"
        return (Violation(invariant="E3", text=text, machine=machine.id),)
    if ready < size:
        text = f"{machine.id} is replaced while {ready} of {size} are ready"
        return (Violation(invariant="E3", text=text, machine=machine.id),)
    return _FINE


def over(fleet: Fleet, living: Collection[Machine]) -> Found:
    """C1: a fleet is known until it left the file, and no machine of it lives."""
    if not fleet.removed:
        return (Violation(invariant="C1", text=f"{fleet.name} is in the file, and was removed"),)
    if living:
        text = f"{fleet.name} was removed, and {len(living)} of its machines live"
        return (Violation(invariant="C1", text=text, machine=next(iter(living)).id),)
    return _FINE


def unanswered(requests: Collection[Request]) -> Found:
    """E3: what was asked for is carried out or refused; nothing waits when all is at rest."""
    for request in requests:
        text = f"request {request.number} ({request.kind}) has no answer"
        return (Violation(invariant="E3", text=text, machine=request.machine),)
    return _FINE


def quiet(commands: int, calls: Iterable[str]) -> Found:
    """L1: at rest nothing is decided, and nothing is asked but lists."""
    other = sorted(set(calls))
    if commands:
        return (Violation(invariant="L1", text=f"{commands} commands were decided at rest"),)
    if other:
        return (Violation(invariant="L1", text=f"at rest, these were called: {', '.join(other)}"),)
    return _FINE
