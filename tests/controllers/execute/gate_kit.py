"""Gate kit: brings a running engine to each act of the gate, and spoils one thing at the end.

A stage leads to the call; a scene says what goes wrong. What happens between the budget's wait and
the gate is watched, and changed, by wrapping the sender and nothing else.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

import pytest
from msgspec.structs import replace

from hostler.controllers.engine import Engine
from hostler.controllers.execute.sending import Sender, Sent
from hostler.controllers.runtime.rate_limit import Priority
from hostler.controllers.runtime.state import AccountState
from hostler.domain.ids import MachineId, ResourceId, machine_id
from hostler.domain.model.calls import Call
from hostler.domain.model.fleet import Caps, Fleet, Probe, ProbeKind, Timers
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, Observation, Scope
from hostler.domain.model.snapshot import RequestKind
from hostler.domain.policy import gate
from hostler.domain.policy.gate import Act, Evidence
from hostler.lab.scenes.fake import FakeScene
from hostler.testing.fakes.planner import MAKE_ADDRESS, POWER_ON, REMOVE_SERVER, TERMINATE
from hostler.testing.scenes.builders import FLEET, MIN, S, address, server

Cell = tuple[str, Act]

NOBODY = machine_id(7777)
"""The machine that an orphan's tag names, and that no record knows."""

CAPS = Caps(share=9.0, per_hour=100, per_reclaim=100)
"""Caps with room for everything: one that is full has nothing to do with the gate."""
LONG_AGO = timedelta(hours=2)
"""How old orphans are: older than any grace period."""


async def nothing(scene: FakeScene) -> None:
    """An empty world is enough."""
    del scene


async def ready(scene: FakeScene) -> None:
    """Let an engine make the fleet's machine, and stop."""
    async with scene.running():
        await scene.until([Phase.READY], 1 * MIN)
        await scene.pass_by(2 * MIN)


async def never_ready(scene: FakeScene) -> None:
    """No machine answers its probe."""
    scene.prober.all_unwilling = True


async def deletion_requested(scene: FakeScene) -> None:
    """Somebody wants the ready machine to go."""
    await ready(scene)
    await scene.request(RequestKind.DELETE, machine=(await scene.machines())[0].id)


async def switched_off(scene: FakeScene) -> None:
    """The ready machine's server goes off."""
    await ready(scene)
    scene.world.become(scene.world.servers()[0].id, Condition.OFF)


async def outdated(scene: FakeScene) -> None:
    """The fleet's template changed since its machine was made."""
    await ready(scene)
    scene.fleet = replace(scene.fleet, template="another", replace_outdated=True)


async def orphaned(scene: FakeScene) -> None:
    """A server and an address are there that no record explains."""
    old = scene.clock.now() - LONG_AGO
    orphan = scene.world.add(replace(server(NOBODY), created=old))
    scene.world.add(replace(address(NOBODY, owner=orphan.id), created=old))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What leads to an act: the kind of its call, the fleet, and what happened before."""

    kind: str
    fleet: Fleet = FLEET
    prepare: Callable[[FakeScene], Awaitable[None]] = nothing


_PROBED = replace(FLEET, probe=Probe(kind=ProbeKind.TCP), timers=Timers(admit=3 * MIN))

STAGES = {
    Act.CREATE: Stage(kind=MAKE_ADDRESS),
    Act.CHANGE: Stage(kind=POWER_ON),
    Act.ROLLBACK: Stage(kind=TERMINATE, fleet=_PROBED, prepare=never_ready),
    Act.DELETE: Stage(kind=TERMINATE, prepare=deletion_requested),
    Act.REPAIR: Stage(kind=REMOVE_SERVER, prepare=switched_off),
    Act.REPLACE: Stage(kind=TERMINATE, prepare=outdated),
    Act.RECLAIM: Stage(kind=TERMINATE, fleet=replace(FLEET, reclaim=True), prepare=orphaned),
}


@dataclass(slots=True)
class Bench:
    """One run of a stage: the call that it leads to, and what the gate said of it once spoiled."""

    act: Act
    patch: pytest.MonkeyPatch
    scene: FakeScene = field(init=False)
    engine: Engine = field(init=False)
    call: Call | None = None
    checks: tuple[str, ...] | None = None
    _begun: bool = False
    _spoiled: bool = False

    def __post_init__(self) -> None:
        fleet = replace(STAGES[self.act].fleet, size=1, caps=CAPS)
        self.scene = FakeScene(fleet, issued=(NOBODY,))

    @property
    def state(self) -> AccountState:
        """What the engine remembers of its account."""
        return self.engine.loops[0].state

    @property
    def target(self) -> ResourceId:
        """The server that is about to go."""
        if self.act is Act.RECLAIM:
            return server(NOBODY).id
        assert self.call is not None
        assert self.call.target is not None
        return self.call.target

    @property
    def machine(self) -> MachineId:
        """The machine whose call is about to be made."""
        assert self.call is not None
        return MachineId(str(self.call.arg("machine")))

    def sent(self) -> int:
        """Return how often the call of the act was sent."""
        assert self.call is not None
        asked = (self.call.kind, self.call.target)
        return sum((kind, target) == asked for _, kind, target in self.scene.world.journal)

    async def run(self, scene: "Scene") -> None:
        """Bring an engine to the act, spoil it, and stop a second after the gate judged it."""
        await STAGES[self.act].prepare(self.scene)
        scene.plant(self)
        self._watch(partial(scene.spoil, self))
        async with self.scene.running("b") as self.engine, asyncio.timeout(1800):
            while self.checks is None:  # noqa: ASYNC110 - simulated time; nothing to wait on
                await asyncio.sleep(0.1)
            await self.scene.pass_by(1 * S)

    def _watch(self, spoil: Callable[[], Awaitable[None]]) -> None:
        """Spoil while the first call of the act waits, or its orphan is read again."""
        wait, send, observe = Sender.wait, Sender.send, self.scene.provider.observe

        async def once() -> None:
            if not self._begun:
                self._begun = True
                await spoil()
                self._spoiled = True

        async def waited(sender: Sender, call: Call, priority: Priority) -> None:
            await wait(sender, call, priority)
            if call.kind == STAGES[self.act].kind:
                self.call = self.call or call
                await once()

        async def reread(scopes: tuple[Scope, ...]) -> Observation:
            found = await observe(scopes)
            if any(scope.machine == NOBODY for scope in scopes):
                await once()
            return found

        async def judged(
            sender: Sender, call: Call, evidence: Callable[[], Evidence], name: str = ""
        ) -> Sent:
            act, sent = evidence().act, await send(sender, call, evidence, name)
            expected = call.kind == STAGES[self.act].kind and act is self.act
            if expected and self._spoiled and self.checks is None:
                self.call, self.checks = call, tuple(bar.check for bar in sent.barred)
            return sent

        self.patch.setattr(Sender, "wait", waited)
        self.patch.setattr(Sender, "send", judged)
        self.patch.setattr(self.scene.provider, "observe", reread)


async def as_it_is(bench: Bench) -> None:
    """Spoil nothing."""
    del bench


def no_bug(bench: Bench) -> None:
    """Plant nothing."""
    del bench


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What goes wrong, in words; `plant` puts a bug into the decision, `spoil` comes at the end."""

    words: str
    plant: Callable[[Bench], None] = no_bug
    spoil: Callable[[Bench], Awaitable[None]] = as_it_is


CELLS = tuple((check.id, act) for check in gate.CHECKS for act in Act if act in check.acts)
"""Every check with every act that it judges."""


def without(cell: Cell, patch: pytest.MonkeyPatch) -> None:
    """Take one cell out of the table: this check judges this act no longer."""
    check, act = cell
    rows = (replace(row, acts=row.acts - {act}) if row.id == check else row for row in gate.CHECKS)
    patch.setattr(gate, "CHECKS", tuple(rows))
