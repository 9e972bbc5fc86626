"""Process: one run of the plugin over the simulated world; it is killed, and started anew."""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Protocol

from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Account, Ports, Settings
from hostler.domain.ids import (
    AccountName,
    HostId,
    InstallationId,
    MachineId,
    ResourceId,
    machine_id,
)
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import Fleet, FleetRow, Probe
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Orphan
from hostler.frontends.fleeting.contract import Connector
from hostler.frontends.fleeting.group.context import GroupContext
from hostler.frontends.fleeting.group.group import EngineGroup
from hostler.lab.harness.gated_store import GatedStore
from hostler.lab.harness.gates import Gate
from hostler.lab.scaleway.bystanders import SECRET
from hostler.ports.http import HttpRequest, Response
from hostler.ports.metrics import Metrics
from hostler.ports.provider import Connection
from hostler.ports.store import Fence, Lease, Store
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.settings import Account as Key
from hostler.providers.scaleway.common.settings import Secret, Template
from hostler.providers.scaleway.instances.provider import Instances
from hostler.queries.live import EngineRecords
from hostler.simulators.scaleway.in_process import WorldTransport
from hostler.simulators.scaleway.world import World
from hostler.testing.time.clock import SimClock
from hostler.testing.time.loop import LIFE, Life, SimLoop

INSIDE: contextvars.ContextVar[str] = contextvars.ContextVar("inside", default="")
"""Which call of the runner is being answered; empty in the engine's own work."""

_LATENCY = 0.05
_DEADLINE = timedelta(seconds=20)
_CONSISTENCY_DELAY = timedelta(seconds=60)


class Witness(Protocol):
    """Who is told what a plugin does; it sees no more than a person beside the network."""

    def sending(self, request: HttpRequest, inside: str) -> None:
        """Note a request that is about to be sent, whether or not it arrives."""
        ...

    def saved(self, machine: Machine, events: tuple[Event, ...]) -> None:
        """Note a record, for the story."""
        ...

    def struck(self, fault: str) -> None:
        """Note a fault that truly happened."""
        ...


@dataclass(slots=True)
class Site:
    """What all processes of one plugin share: its host, its records, and the world."""

    loop: SimLoop
    world: World
    fleet: Fleet
    template: Template
    witness: Witness
    metrics: Metrics
    dice: Random
    clock: SimClock
    settings: Settings
    open_store: Callable[[], Store]
    key: bytes = b"the key"
    down: bool = False
    starts: int = 0


class MachineListener:
    """Tells the witness of machines that are saved; implements `gated_store.SaveListener`."""

    def __init__(self, witness: Witness) -> None:
        self._witness = witness

    def machine_saved(self, machine: Machine, events: tuple[Event, ...], fence: Fence) -> None:
        """Note a machine's record."""
        del fence
        self._witness.saved(machine, events)

    def fleet_saved(
        self, row: FleetRow, inserts: tuple[Machine, ...], events: tuple[Event, ...], fence: Fence
    ) -> None:
        """Note new machines."""
        del row, events, fence
        for machine in inserts:
            self._witness.saved(machine, ())

    def host_saved(self, host: Host, fence: Fence) -> None:
        """Servers that are made have no hosts."""

    def bound(self, host: HostId, machine: MachineId) -> None:
        """Nobody reads this here."""

    def unbound(self, host: HostId, machine: MachineId) -> None:
        """Nobody reads this here."""

    def orphans_saved(self, orphans: tuple[Orphan, ...], cleared: tuple[ResourceId, ...]) -> None:
        """Nobody reads this here."""

    def adopted(self, installations: tuple[InstallationId, ...]) -> None:
        """Nobody reads this here."""

    def leased(self, lease: Lease) -> None:
        """Nobody reads this here."""

    def store_failed(self) -> None:
        """Nobody reads this here."""


class Wire:
    """Sends to the world through a gate; implements `hostler.ports.http.Transport`."""

    def __init__(self, inner: WorldTransport, gate: Gate, site: Site) -> None:
        self._inner, self._gate, self._site = inner, gate, site

    async def send(self, request: HttpRequest, deadline: timedelta) -> Response:
        """Send once; whoever was killed sends nothing."""
        await self._gate.pass_through("http", before=True)
        self._site.witness.sending(request, INSIDE.get())
        if self._inner.down:
            self._site.witness.struck("network_down")
        response = await self._inner.send(request, deadline)
        await self._gate.pass_through("http", before=False)
        return response

    async def close(self) -> None:
        """Send nothing any more."""
        await self._inner.close()

    def set_network(self, *, down: bool) -> None:
        """Cut the network, or mend it."""
        self._inner.down = down


class GuestProber:
    """Reaches a machine whose guest is up, if our network is."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def probe(
        self, machine: MachineId, connection: Connection, probe: Probe
    ) -> tuple[bool, str]:
        """Probe once."""
        del machine, probe
        await asyncio.sleep(_LATENCY)
        self._site.world.advance()
        up = connection.address in self._site.world.guests and not self._site.down
        return up, "up" if up else "no answer"


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
        self.wire = Wire(WorldTransport(site.world, self.name), self.gate, site)
        self.wire.set_network(down=site.down)
        self._context = contextvars.copy_context()
        self._context.run(LIFE.set, self.life)
        self._context.run(INSIDE.set, "")
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

    async def open(self, config: bytes, connector: Connector) -> GroupContext:
        """Put the group together; implements `GroupOpener`."""
        del config, connector
        site = self.site
        key = Key(project=site.world.options.project, secret_key=Secret(SECRET))
        provider = Instances(
            Client(self.wire, key, site.clock),
            site.clock,
            installation=(await self._store.identity()).own,
            zones=tuple(dict.fromkeys(offer.zone for offer in site.fleet.offers)),
            templates={site.fleet.name: site.template},
            consistency_delay=_CONSISTENCY_DELAY,
        )
        fresh = Random(site.dice.getrandbits(64))
        ports = Ports(
            store=GatedStore(self._store, self.gate, MachineListener(site.witness), exclusive=True),
            clock=site.clock,
            prober=GuestProber(site),
            metrics=site.metrics,
            fresh=lambda: machine_id(fresh.getrandbits(50)),
        )
        account = Account(name=AccountName("main"), provider=provider, fleets=(site.fleet,))
        engine = Engine(ports, (account,), self.name, site.settings)
        return GroupContext(
            fleet=site.fleet,
            engine=engine,
            live=EngineRecords(engine.loops[0], site.fleet.name),
            store=ports.store,
            clock=ports.clock,
            prober=ports.prober,
            fresh=ports.fresh,
            version="0",
            close=_close,
            key=site.key,
        )

    def kill(self) -> None:
        """Let it die as by SIGKILL."""
        if self.dead:
            return
        self.gate.close()
        for task in self._running:
            task.cancel()

    async def bury(self) -> None:
        """Let go of its records, as the kernel does for whoever was killed."""
        self.kill()
        if self._running:
            await asyncio.wait(self._running)
        await self._store.close()


async def _close(living: int) -> None:
    """Nothing is to be released here."""
    del living
