"""Process: one run of the plugin over the simulated world; it is killed, and started anew."""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Account, Ports, Settings
from hostler.domain.ids import AccountName, machine_id
from hostler.domain.model.commands import Decision, Event
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.machine import Machine
from hostler.domain.model.provider import Planner
from hostler.domain.model.snapshot import Snapshot
from hostler.frontends.fleeting.contract import Connector
from hostler.frontends.fleeting.group.context import GroupContext
from hostler.frontends.fleeting.group.group import EngineGroup
from hostler.lab.harness.decisions import OBSERVER
from hostler.lab.harness.gated_store import GatedStore, SaveListener
from hostler.lab.harness.gates import Gate
from hostler.lab.harness.process import SimProber
from hostler.lab.scaleway.transport import GatedTransport, client
from hostler.lab.servers.environment import ServerEnvironment
from hostler.ports.http import HttpRequest, Response
from hostler.ports.metrics import Metrics
from hostler.ports.store import Fence, Store
from hostler.queries.live import EngineRecords
from hostler.simulators.scaleway.in_process import WorldTransport
from hostler.testing.invariants import Found
from hostler.testing.time.clock import SimClock
from hostler.testing.time.loop import LIFE, Life, SimLoop

from .checker import INSIDE

_DEADLINE = timedelta(seconds=20)


class Witness(Protocol):
    """Who is told what plugins do, each with the name of its run."""

    def begins(self, plugin: str, request: HttpRequest) -> None:
        """Note a request at its beginning."""
        ...

    def sends(self, request: HttpRequest, *, network_down: bool) -> None:
        """Note a request that a plugin lived to send."""
        ...

    def receives(self, plugin: str, request: HttpRequest, response: Response, begun: float) -> None:
        """Note an answer that a plugin lived to get to what it sent then."""
        ...

    def decided(self, plugin: str, fleet: Fleet, decision: Decision) -> None:
        """Note a decision."""
        ...

    def saved(self, plugin: str, machine: Machine, events: tuple[Event, ...]) -> None:
        """Note a record."""
        ...

    def found(self, violations: Found) -> None:
        """Note what is wrong."""
        ...

    def struck(self, fault: str) -> None:
        """Note a fault that truly happened."""
        ...


@dataclass(slots=True)
class Site:
    """What all processes of one plugin share: its host, its records, and the world."""

    loop: SimLoop
    environment: ServerEnvironment
    fleet: Fleet
    witness: Witness
    metrics: Metrics
    dice: Random
    clock: SimClock
    settings: Settings
    open_store: Callable[[], Store]
    key: bytes = b"the key"
    down: bool = False
    starts: int = 0

    def reaches(self, address: str) -> bool:
        """Tell whether a guest is up there, and our network too."""
        self.environment.world.advance()
        return self.environment.answers(address) and not self.down


class MachineListener(SaveListener):
    """Tells the witness of machines that are saved; of no other save."""

    def __init__(self, witness: Witness, plugin: str) -> None:
        self._witness, self._plugin = witness, plugin

    def machine_saved(self, machine: Machine, events: tuple[Event, ...], fence: Fence) -> None:
        """Note a machine's record."""
        del fence
        self._witness.saved(self._plugin, machine, events)

    def fleet_removed(self, row: FleetRow, fence: Fence) -> None:
        """No file is edited here: no fleet leaves one."""
        del row, fence

    def fleet_saved(
        self, row: FleetRow, inserts: tuple[Machine, ...], events: tuple[Event, ...], fence: Fence
    ) -> None:
        """Note new machines, as the store has them."""
        del row, events, fence
        for machine in inserts:
            self._witness.saved(self._plugin, replace(machine, version=1), ())


class PluginObserver(Struct, frozen=True):
    """Tells the witness what one run of the plugin sends and decides.

    Implements `SendObserver` and `DecisionObserver`.
    """

    witness: Witness
    plugin: str

    def begins(self, request: HttpRequest) -> None:
        """Note a request at its beginning."""
        self.witness.begins(self.plugin, request)

    def sends(self, request: HttpRequest, *, network_down: bool) -> None:
        """Note a request that is sent."""
        self.witness.sends(request, network_down=network_down)

    def receives(self, request: HttpRequest, response: Response, begun: float) -> None:
        """Note an answer."""
        self.witness.receives(self.plugin, request, response, begun)

    def decided(self, snapshot: Snapshot, planner: Planner, decision: Decision) -> None:
        """Note a decision."""
        del planner
        self.witness.decided(self.plugin, snapshot.fleet, decision)

    def found(self, violations: Found) -> None:
        """Note what is wrong."""
        self.witness.found(violations)


class Plugin:
    """One run of the plugin, from its start to its death."""

    def __init__(self, site: Site, tasks: asyncio.TaskGroup) -> None:
        self.site, self._tasks = site, tasks
        self.deadline = _DEADLINE
        site.starts += 1
        self.name = f"p.{site.starts}"
        self.life = Life()
        self.gate = Gate(site.loop, self.life)
        self.gate.on_refusal = site.witness.struck
        self._inner = WorldTransport(site.environment.world, self.name)
        self._inner.down = site.down
        observer = PluginObserver(site.witness, self.name)
        self.wire = GatedTransport(self._inner, self.gate, observer)
        self._context = contextvars.copy_context()
        self._context.run(LIFE.set, self.life)
        self._context.run(INSIDE.set, "")
        self._context.run(OBSERVER.set, observer)
        self._running = list[asyncio.Task[None]]()
        self.group = EngineGroup(self, self._spawn)
        self._store = site.open_store()

    @property
    def dead(self) -> bool:
        """Whether nothing of it has an effect any more."""
        return self.gate.dead

    def _spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = self._tasks.create_task(work, context=self._context)
        self._running.append(task)
        return task

    def set_network(self, *, down: bool) -> None:
        """Cut the network, or mend it."""
        self._inner.down = down

    async def open(self, config: bytes, connector: Connector) -> GroupContext:
        """Put the group together; implements `GroupOpener`."""
        del config, connector
        site = self.site
        own, world = (await self._store.identity()).own, site.environment.world
        made = client(self.wire, world, site.clock)
        provider = site.environment.account(made, site.clock, own, site.fleet.name)
        fresh = Random(site.dice.getrandbits(64))
        listener = MachineListener(site.witness, self.name)
        ports = Ports(
            store=GatedStore(self._store, self.gate, listener, exclusive=True),
            clock=site.clock,
            prober=SimProber(site.reaches),
            metrics=site.metrics,
            fresh=lambda: machine_id(fresh.getrandbits(50)),
        )
        account = Account(name=AccountName("main"), provider=provider, fleets=(site.fleet,))
        engine = Engine(ports, (account,), self.name, site.settings)
        return group_context(engine, ports, site.fleet, site.key)

    def kill(self) -> None:
        """Let it die as by SIGKILL."""
        if self.dead:
            return
        self.gate.close(self._cancel)

    def _cancel(self) -> None:
        for task in self._running:
            task.cancel()

    async def bury(self) -> None:
        """Let go of its records, as the kernel does for whoever was killed."""
        self.kill()
        if self._running:
            await asyncio.wait(self._running)
        await self._store.close()


def group_context(engine: Engine, ports: Ports, fleet: Fleet, key: bytes) -> GroupContext:
    """Return what a group works with, over an engine of one fleet."""
    return GroupContext(
        fleet=fleet,
        engine=engine,
        live=EngineRecords(engine.loops[0], fleet.name),
        store=ports.store,
        clock=ports.clock,
        prober=ports.prober,
        fresh=ports.fresh,
        version="0",
        close=_close,
        key=key,
    )


async def _close(living: int) -> None:
    """Nothing is to be released here."""
    del living
