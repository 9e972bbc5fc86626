"""Corners: all combinations of reading, reachability, operation, request and lock of one box.

The engine is the whole real one. A corner is brought about as it would be: the operation is begun,
then the box comes to stand so, something is asked, and the process goes on or another one takes
over. Then nothing more goes wrong, and the corner must be left.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import HostId, ResourceId
from hostler.domain.model.calls import Call, Outcome, Shows
from hostler.domain.model.fleet import Caps, Probe, ProbeKind
from hostler.domain.model.hold import HoldKind
from hostler.domain.model.host import HostCondition, host_of
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.domain.model.snapshot import RequestKind
from hostler.lab.scenes.metal import MetalScene
from hostler.ports.provider import Provider
from hostler.testing.fakes.metal import FakeMetal
from hostler.testing.scenes.builders import FLEET, MIN, S

BOX = ResourceId("box-1")
_EAGER = Caps(share=1.0, per_hour=1000, per_reclaim=1000, creates=1000)
_PROBE = Probe(kind=ProbeKind.TCP)
_USED = frozenset({Phase.READY, Phase.DRAINING})
_RESTS = frozenset({Phase.READY, Phase.STANDBY})
_ILL, _HELD, _LONG = 10 * MIN, 30 * MIN, 4 * 60 * MIN
_KNOWN = 30.0
"""So long, in seconds, after a box fell silent whoever looks knows that nothing is known."""


class Reading(StrEnum):
    """How the box stands, or that nobody can tell."""

    ON = "on"
    OFF = "off"
    SILENT = "silent"
    BROKEN = "broken"


class Operation(StrEnum):
    """What is under way: nothing, a start, a machine in use, its end, or the cleaning after it."""

    NONE = "none"
    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"
    CLEANING = "cleaning"


class Wanted(StrEnum):
    """What is asked just then, if anything."""

    NOTHING = "nothing"
    MORE = "more"
    FEWER = "fewer"
    DELETE = "delete"
    STANDBY = "standby"
    RESERVE = "reserve"
    MAINTAIN = "maintain"
    ON = "on"
    OFF = "off"
    CYCLE = "cycle"


_HOLDS = {
    Wanted.RESERVE: HoldKind.RESERVED,
    Wanted.MAINTAIN: HoldKind.MAINTENANCE,
    Wanted.ON: HoldKind.ON,
    Wanted.OFF: HoldKind.OFF,
}
_SIZES = {Wanted.MORE: 1, Wanted.FEWER: 0}
_OF_MACHINES = {Wanted.DELETE: RequestKind.DELETE, Wanted.STANDBY: RequestKind.STANDBY}


class Corner(Struct, frozen=True, kw_only=True):
    """One combination: whether probes pass, and whether another engine goes on.

    `wanted` is asked of the engine that goes on.
    """

    reading: Reading
    reachable: bool
    operation: Operation
    wanted: Wanted
    taken_over: bool

    def __str__(self) -> str:
        """Return it in words."""
        probes = "reachable" if self.reachable else "not reachable"
        holder = "taken over" if self.taken_over else "the same engine"
        return f"{self.operation}, {self.reading}, {probes}, {self.wanted}, {holder}"


def corners() -> Iterator[Corner]:
    """Yield every combination."""
    reach, taken = (True, False), (False, True)
    for reading, one, operation, wanted, other in product(Reading, reach, Operation, Wanted, taken):
        yield Corner(
            reading=reading, reachable=one, operation=operation, wanted=wanted, taken_over=other
        )


class Judged(FakeMetal):
    """The rack, as the judge of a corner sees what is asked of it."""

    scene: "CornerScene"

    async def do(self, call: Call) -> Outcome:
        """Make a call; note it where it is one that must not be made."""
        scene, box = self.scene, str(host_of(call.target or BOX))
        since = scene.silent_since
        if call.shows in {Shows.POWER, Shows.REST} and since is not None:
            quiet = scene.clock.boot() - since
            if quiet > _KNOWN:
                scene.wrong.append(f"{call.kind}, though {box} is silent for {quiet:.0f} s")
        for machine in await scene.machines():
            if call.shows is Shows.REST and machine.host == box and machine.phase in _USED:
                scene.wrong.append(f"{call.kind} while {machine.id} is {machine.phase}")
        return await super().do(call)


@dataclass(slots=True)
class CornerScene(MetalScene):
    """One box, and what a corner came to."""

    wrong: list[str] = field(default_factory=list[str])
    silent_since: float | None = None

    def __post_init__(self) -> None:
        MetalScene.__post_init__(self)
        judged = Judged(self.rack, self.metal.capabilities)
        judged.scene = self
        self.metal = judged

    def served(self) -> Provider:
        """Return the provider that engines are given."""
        return self.metal


def scene() -> CornerScene:
    """Return a rack with one box, and a fleet that may have one machine."""
    return CornerScene(replace(FLEET, size=0, maximum=1, caps=_EAGER, probe=_PROBE), boxes=1)


async def play(corner: Corner) -> str:
    """Bring a corner about and leave it; return what is wrong, empty where nothing is."""
    made = scene()
    async with made.running("a"):
        await _operate(made, corner.operation)
        _stand(made, corner)
        if not corner.taken_over:
            await _ask(made, corner.wanted)
            return await _left(made)
    async with made.running("b"):
        await _ask(made, corner.wanted)
        return await _left(made)


async def _operate(made: CornerScene, operation: Operation) -> None:
    """Begin an operation, and leave it in its midst."""
    await made.pass_by(1 * MIN)
    if operation is Operation.NONE:
        return
    await made.request(RequestKind.SCALE, size=1)
    if operation is Operation.STARTING:
        while not made.calls():
            await made.pass_by(1 * S)
        return
    await made.until([Phase.READY], 10 * MIN)
    if operation is Operation.READY:
        return
    await made.request(RequestKind.SCALE, size=0)
    while Phase.READY in await made.phases():
        await made.pass_by(1 * S)
    while operation is Operation.CLEANING and await made.phases():
        await made.pass_by(1 * S)


def _stand(made: CornerScene, corner: Corner) -> None:
    """Let the box stand so, and what reaches it; both are mended after a while."""
    made.prober.all_unwilling = not corner.reachable
    match corner.reading:
        case Reading.ON:
            made.rack.switch_on(BOX)
        case Reading.OFF:
            made.rack.cut(BOX)
        case Reading.SILENT:
            made.rack.silent.add(BOX)
            made.silent_since = made.clock.boot()
        case Reading.BROKEN:
            made.rack.break_down(BOX)


async def _ask(made: CornerScene, wanted: Wanted) -> None:
    now = made.clock.now()
    if wanted in _SIZES:
        await made.request(RequestKind.SCALE, size=_SIZES[wanted])
    elif wanted in _HOLDS:
        blank = replace(made.blank(RequestKind.HOLD), host=HostId(BOX), until=now + _HELD)
        await made.store.request(replace(blank, hold=_HOLDS[wanted]))
    elif wanted is Wanted.CYCLE:
        await made.store.request(replace(made.blank(RequestKind.CYCLE), host=HostId(BOX)))
    elif wanted in _OF_MACHINES:
        for machine in await made.machines():
            await made.request(_OF_MACHINES[wanted], machine=machine.id)


async def _left(made: CornerScene) -> str:
    """Mend everything after a while, and wait until the corner is left."""
    await made.pass_by(_ILL)
    made.prober.all_unwilling, made.silent_since = False, None
    made.rack.silent.discard(BOX)
    made.rack.mend(BOX)
    passed = 0 * S
    while passed < _LONG and not made.wrong:
        await made.pass_by(2 * MIN)
        passed += 2 * MIN
        if passed > _HELD and not await _stays(made):
            return ""
    return "; ".join(made.wrong) or f"no way out: {await _stays(made)}"


async def _stays(made: CornerScene) -> str:
    """Return what still keeps the box from rest; empty where it rests as it is wanted to."""
    (row,) = await made.store.fleets()
    machines, host = await made.machines(), await made.host()
    desired, condition = row.desired(made.fleet), made.condition()
    if await made.store.requests():
        return "a request has no answer"
    if host is not None and host.condition is HostCondition.QUARANTINED:
        if any(one.phase in _USED for one in machines):
            return "a machine has it"
        return "it is on, and left alone" if condition is Condition.UP else ""
    if any(machine.phase not in _RESTS for machine in machines):
        return ", ".join(f"{machine.id} is {machine.phase}" for machine in machines)
    ready = [machine for machine in machines if machine.phase is Phase.READY]
    if len(ready) != desired and len(machines) != desired:
        return f"{len(ready)} are ready of {desired}"
    on = condition is Condition.UP
    return "" if on is bool(ready) else f"the box is {condition} with {len(ready)} ready"
