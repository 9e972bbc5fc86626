"""FakeProvider: the provider port over a tiny deterministic world of servers and addresses.

Made in the shape of cloud servers: an address, a server with it, power; and back again. Nothing
happens by chance: what goes wrong is written into its script, call by call and look by look.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from hostler.domain.ids import FleetName, InstallationId, MachineId, PartId, Zone
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.provider import Traits
from hostler.domain.model.resource import Condition, Look, Looked, Mark, Part, Scope
from hostler.ports.clock import Clock
from hostler.ports.provider import Connection

from .planner import (
    MAKE_SERVER,
    POWER_ON,
    REMOVE_ADDRESS,
    REMOVE_SERVER,
    SERVER,
    TERMINATE,
    FakeWays,
)

_S = timedelta(seconds=1)


class Lost(StrEnum):
    """What becomes of a call whose answer is lost: no effect, its effect, or one that comes late.

    `hung` never answers at all: only the caller's patience ends it.
    """

    BEFORE = "before"
    AFTER = "after"
    LATE = "late"
    HUNG = "hung"


Scripted = Lost | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long things take in the fake world, and how long a listing lags behind it."""

    boot: timedelta = 10 * _S
    removal: timedelta = 3 * _S
    late: timedelta = 30 * _S
    lag: timedelta = timedelta(0)
    answer: timedelta = timedelta(milliseconds=100)


@dataclass(slots=True)
class FakeWorld:
    """What really exists, and the journal of what was asked; its laws are `do` and `settle`."""

    clock: Clock
    pace: Pace = field(default_factory=Pace)
    parts: dict[PartId, Part] = field(default_factory=dict[PartId, Part])
    journal: list[tuple[datetime, str, PartId | None]] = field(
        default_factory=list[tuple[datetime, str, PartId | None]]
    )
    born: dict[PartId, datetime] = field(default_factory=dict[PartId, datetime])
    planned: list[tuple[datetime, int, Callable[[], object]]] = field(
        default_factory=list[tuple[datetime, int, Callable[[], object]]]
    )
    count: int = 0

    def settle(self) -> None:
        """Let everything happen that is due by now, in order."""
        while True:
            due = [entry for entry in self.planned if entry[0] <= self.clock.now()]
            if not due:
                return
            first = min(due, key=lambda entry: entry[:2])
            self.planned.remove(first)
            first[2]()

    def plan(self, after: timedelta, happening: Callable[[], object]) -> None:
        """Let something happen later."""
        self.count += 1
        self.planned.append((self.clock.now() + after, self.count, happening))

    def add(self, part: Part) -> Part:
        """Put a part there, now."""
        self.parts[part.id] = part
        self.born[part.id] = self.clock.now()
        return part

    def remove(self, part: PartId) -> None:
        """Take a part away, as a person with a console does; its addresses are let go of."""
        self.parts.pop(part, None)
        for other in list(self.parts.values()):
            if other.owner == part:
                self.parts[other.id] = replace(other, owner=None, condition=Condition.FREE)

    def become(self, part: PartId, condition: Condition) -> None:
        """Let a part stand otherwise from now on, if it still exists."""
        there = self.parts.get(part)
        if there is not None:
            self.parts[part] = _in_state(there, condition)

    def servers(self) -> tuple[Part, ...]:
        """Return the servers that exist, by id."""
        self.settle()
        return tuple(self.parts[i] for i in sorted(self.parts) if self.parts[i].slot == SERVER)

    def name(self, kind: str) -> PartId:
        """Return a fresh id."""
        self.count += 1
        return PartId(f"{kind}-{self.count:04d}")


_ALLOWED = {
    Condition.OFF: ("poweron", "delete"),
    Condition.STANDBY: ("poweron", "terminate"),
    Condition.UP: ("terminate",),
}


def _in_state(part: Part, condition: Condition) -> Part:
    return replace(
        part, condition=condition, status=str(condition), allowed=_ALLOWED.get(condition, ())
    )


class FakeProvider:
    """One account in a fake world. `script` holds, by kind of call, what befalls the next ones.

    `dead` zones answer no look; with `empty` set every list is whole and shows nothing; `strange`
    words are told with each look; `hung` looks never end while it is set.
    """

    def __init__(
        self,
        world: FakeWorld,
        installation: InstallationId,
        traits: Traits | None = None,
        addresses: int = 1,
    ) -> None:
        self.ways = FakeWays(addresses)
        self.world, self.installation = world, installation
        kinds = ("server", "address") if addresses else ("server",)
        self._traits = traits or Traits(main=SERVER, kinds=kinds)
        self.script: dict[str, deque[Scripted]] = {}
        self.answers = dict[MachineId, timedelta]()
        self.dead = set[Zone]()
        self.empty = False
        self.strange: tuple[str, ...] = ()
        self.looks = list[tuple[datetime, tuple[Scope, ...]]]()
        self.out_of_stock = set[tuple[str, Zone]]()

    @property
    def traits(self) -> Traits:
        """Return how its machines behave."""
        return self._traits

    def next_calls(
        self, goal: Goal, machine: Machine, parts: tuple[Part, ...], now: datetime
    ) -> tuple[Call, ...]:
        """Return the calls that may be made now."""
        return self.ways.next_calls(goal, machine, parts, now)

    def befall(self, kind: str, *what: Scripted) -> None:
        """Let these befall the next calls of a kind, in order."""
        self.script.setdefault(kind, deque()).extend(what)

    # ------------------------------------------------------------ looks

    async def look(self, scopes: tuple[Scope, ...]) -> Look:
        """Look at these scopes; what is younger than the lag is missing from lists."""
        begun = self.world.clock.now()
        self.looks.append((begun, scopes))
        self.world.settle()
        looked = tuple(
            Looked(
                scope=scope,
                begun=begun,
                complete=scope.zone not in self.dead,
                error="the zone does not answer" if scope.zone in self.dead else "",
            )
            for scope in scopes
        )
        found = {part.id: part for scope in scopes for part in self._found(scope, begun)}
        await asyncio.sleep(self.world.pace.answer.total_seconds())
        parts = tuple(found[part] for part in sorted(found))
        return Look(looked=looked, parts=parts, strange=self.strange)

    def _found(self, scope: Scope, now: datetime) -> tuple[Part, ...]:
        if scope.zone in self.dead:
            return ()
        here = [
            part
            for part in self.world.parts.values()
            if part.zone == scope.zone and part.slot.kind == scope.kind
        ]
        listed = [part for part in here if self.world.born[part.id] + self.world.pace.lag <= now]
        if scope.machine is None:
            return () if self.empty else tuple(listed)
        marked = [p for p in listed if p.mark is not None and p.mark.machine == scope.machine]
        known = [part for part in here if part.id in scope.known]
        return (*known, *(() if self.empty else marked))

    # ------------------------------------------------------------ calls

    async def do(self, call: Call) -> Outcome:
        """Make one call as the script says, else as the world allows."""
        fate = self._fate(call)
        await asyncio.sleep(self._patience(call))
        self.world.settle()
        self.world.journal.append((self.world.clock.now(), call.kind, call.target))
        match fate:
            case Refused():
                return fate
            case Lost.BEFORE:
                return Unknown(text="the connection was reset")
            case Lost.AFTER:
                self._effect(call)
                return Unknown(text="the answer was lost")
            case Lost.LATE:
                self.world.plan(self.world.pace.late, lambda: self._effect(call))
                return Unknown(text="no answer in time")
            case Lost.HUNG:
                await asyncio.sleep(self.traits.deadline.total_seconds())
                return Unknown(text="no answer in time")
            case None:
                return self._effect(call)

    def _fate(self, call: Call) -> Scripted | None:
        queue = self.script.get(call.kind)
        return queue.popleft() if queue else None

    def _patience(self, call: Call) -> float:
        machine = MachineId(str(call.arg("machine")))
        return self.answers.get(machine, self.world.pace.answer).total_seconds()

    def _effect(self, call: Call) -> Outcome:
        """Let a call have its effect, and return the answer that the world gives."""
        if call.effect is Effect.MAKE:
            return self._make(call)
        part = self.world.parts.get(call.target) if call.target is not None else None
        if part is None:
            gone = (call.target,) if call.target is not None else ()
            if call.effect is Effect.DESTROY:
                return Done(gone=gone, missing=True)
            return Refused(why=Refusal.WRONG_STATE, text="there is no such part")
        return self._change(call, part)

    def _make(self, call: Call) -> Outcome:
        kind = str(call.arg("type"))
        if call.kind == MAKE_SERVER and (kind, call.zone) in self.out_of_stock:
            return Refused(why=Refusal.STOCK, text=f"no {kind} left in {call.zone}")
        part = Part(
            id=self.world.name(call.slot.kind),
            slot=call.slot,
            zone=call.zone,
            mark=self._mark(call),
            created=self.world.clock.now(),
            price=0.01,
            notes=(("type", kind),) if call.kind == MAKE_SERVER else (),
        )
        server = call.kind == MAKE_SERVER
        made = self.world.add(_in_state(part, Condition.OFF if server else Condition.FREE))
        addresses = call.arg("addresses")
        for address in addresses if isinstance(addresses, tuple) else ():
            there = self.world.parts.get(PartId(address))
            if there is not None:
                self.world.parts[there.id] = replace(there, owner=made.id)
        return Done(parts=(made,))

    def _mark(self, call: Call) -> Mark:
        return Mark(
            installation=self.installation,
            fleet=FleetName(str(call.arg("fleet"))),
            machine=MachineId(str(call.arg("machine"))),
            attempt=call.attempt,
        )

    def _change(self, call: Call, part: Part) -> Outcome:
        match call.kind:
            case _ if call.kind == POWER_ON:
                return self._power_on(part)
            case _ if call.kind == TERMINATE:
                return self._terminate(part)
            case _ if call.kind in {REMOVE_SERVER, REMOVE_ADDRESS}:
                self.world.remove(part.id)
                return Done(gone=(part.id,))
            case _:
                return Refused(why=Refusal.INVALID, text=f"no such call: {call.kind}")

    def _power_on(self, part: Part) -> Outcome:
        if "poweron" not in part.allowed:
            return Refused(why=Refusal.WRONG_STATE, text=f"it is {part.status}")
        self.world.become(part.id, Condition.STARTING)
        self.world.plan(self.world.pace.boot, lambda: self._booted(part.id))
        return Done(parts=(self.world.parts[part.id],))

    def _booted(self, part: PartId) -> None:
        there = self.world.parts.get(part)
        if there is not None and there.condition is Condition.STARTING:
            address = f"192.0.2.{len(self.world.parts) % 250}"
            self.world.parts[part] = replace(_in_state(there, Condition.UP), address=address)

    def _terminate(self, part: Part) -> Outcome:
        if "terminate" not in part.allowed:
            return Refused(why=Refusal.WRONG_STATE, text=f"it is {part.status}")
        self.world.become(part.id, Condition.STOPPING)
        self.world.plan(self.world.pace.removal, lambda: self.world.remove(part.id))
        return Done(parts=(self.world.parts[part.id],))

    # ------------------------------------------------------------ the rest of the port

    def connection(self, machine: Machine, parts: tuple[Part, ...]) -> Connection | None:
        """Return the address of the bound server once it is up."""
        bound = machine.bound(SERVER)
        server = next((part for part in parts if part.id == bound), None)
        if server is None or server.condition is not Condition.UP or not server.address:
            return None
        return Connection(address=server.address)

    def cost(self, call: Call | Scope) -> int:
        """Return one request for everything, but a look at a machine asks for each of its ids."""
        if isinstance(call, Scope) and call.machine is not None:
            return 1 + len(call.known)
        return 1

    async def close(self) -> None:
        """Nothing to give back."""
