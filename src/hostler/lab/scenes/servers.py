"""Server scenes: whole hostlers over one simulated Scaleway, in simulated time.

The engine, the real provider and its client, and a store: a scene scripts a fault, lets time pass,
and says what must hold. The seeded simulation is elsewhere; here every fault is chosen.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Account, Ports, Settings
from hostler.domain.ids import AccountName, FleetName, InstallationId, MachineId, Zone, machine_id
from hostler.domain.model.fleet import Caps, Fleet, FleetRow, Probe, Timers
from hostler.domain.model.machine import Machine, Offer
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.ports.bootstrap import NoBootstraps, ReadsBootstraps
from hostler.ports.command import Asker
from hostler.ports.preparer import Preparer
from hostler.ports.provider import Connection, Provider
from hostler.ports.store import StoredEvent
from hostler.providers.scaleway.common import settings as words
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.instances.provider import Instances
from hostler.providers.scaleway.macs.provider import Macs
from hostler.providers.scaleway.macs.settings import MacSite, MacTemplate
from hostler.simulators.scaleway.in_process import WorldTransport
from hostler.simulators.scaleway.state.ledger import Leak
from hostler.simulators.scaleway.state.options import Options
from hostler.simulators.scaleway.world import World
from hostler.stores.memory import MemoryStore
from hostler.testing.fakes.metrics import CountingMetrics
from hostler.testing.time.clock import SimClock
from hostler.testing.time.loop import SimLoop

WEB = FleetName("web")
ZONE = Zone("fr-par-1")
SECRET = words.Secret("11111111-2222-4333-8444-555555555555")
PLAIN = words.Template(image="ubuntu_noble", cloud_init="#cloud-config")
ALL_RESOURCES = words.Template(
    image="ubuntu_noble",
    cloud_init="#cloud-config",
    ipv6=True,
    root=words.Disk(size=30, iops=15000),
    disks=(words.Disk(size=10),),
    networks=("5d1b4b2e-3c19-4f6a-9c86-0d94d7f2a111",),
)
FLEET = Fleet(
    name=WEB,
    account=AccountName("main"),
    size=1,
    offers=(Offer("DEV1-S", ZONE),),
    probe=Probe(),
    timers=Timers(),
    caps=Caps(),
)


ORDINARY = Options()
SETTINGS = Settings(poll=timedelta(seconds=2))
"""Scenes last for days, most of which an engine would ask its store for requests."""


class PassingProber:
    """A prober that every machine passes."""

    async def probe(
        self, machine: MachineId, connection: Connection, probe: Probe
    ) -> tuple[bool, str]:
        """Pass."""
        del machine, connection, probe
        return True, "ok"


@dataclass(slots=True)
class Rig:
    """One world, and any number of hostlers over it.

    `organization` is whose quotas they read; none are where it is empty. `bootstraps` reads what
    single machines are given at their first boot.
    """

    loop: SimLoop
    world: World
    metrics: CountingMetrics = field(default_factory=CountingMetrics)
    dice: random.Random = field(default_factory=lambda: random.Random(5))
    group: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup)
    wires: list[WorldTransport] = field(default_factory=list[WorldTransport])
    preparer: Preparer | None = None
    asker: Asker | None = None
    settings: Settings = SETTINGS
    organization: str = ""
    bootstraps: ReadsBootstraps = field(default_factory=NoBootstraps)
    clock: SimClock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = SimClock(self.loop)

    def fresh(self) -> MachineId:
        """Return the next machine id."""
        return machine_id(self.dice.getrandbits(50))

    def hostler(
        self,
        fleet: Fleet = FLEET,
        store: MemoryStore | None = None,
        template: words.Template = PLAIN,
    ) -> "Hostler":
        """Start an engine of its own; without a store it is a new installation."""
        made = partial(_instances, fleet=fleet, template=template, bootstraps=self.bootstraps)
        return self._hostler(fleet, store, made)

    def mac_hostler(
        self,
        fleet: Fleet,
        store: MemoryStore | None = None,
        pool: str = "pool-",
        template: MacTemplate | None = None,
    ) -> "Hostler":
        """Start an engine of its own over Macs; without a store it is a new installation."""
        made = template or MacTemplate(pool=pool)
        return self._hostler(fleet, store, partial(_macs, fleet=fleet, template=made))

    def _hostler(self, fleet: Fleet, store: MemoryStore | None, make: "Maker") -> "Hostler":
        number = len(self.wires)
        own = store or MemoryStore(InstallationId(f"i-{number}"))
        wire = WorldTransport(self.world, f"h{number}")
        self.wires.append(wire)
        return Hostler(self, fleet, own, make, wire, f"h{number}")

    def servers(self) -> list[Leak]:
        """Return the servers that exist, the oldest first."""
        return [leak for leak in self.world.leaks() if leak.kind == "server"]


Maker = Callable[[Client, SimClock, InstallationId], Provider]


def _instances(  # noqa: PLR0913 - all that an account is made of
    client: Client,
    clock: SimClock,
    installation: InstallationId,
    *,
    fleet: Fleet,
    template: words.Template,
    bootstraps: ReadsBootstraps,
) -> Provider:
    return Instances(
        client,
        clock,
        installation=installation,
        zones=tuple(dict.fromkeys(offer.zone for offer in fleet.offers)),
        templates={fleet.name: template},
        bootstraps=bootstraps,
    )


def _macs(
    client: Client,
    clock: SimClock,
    installation: InstallationId,
    *,
    fleet: Fleet,
    template: MacTemplate,
) -> Provider:
    pool = template.pool
    return Macs(
        client,
        clock,
        installation=installation,
        zones=tuple(dict.fromkeys(offer.zone for offer in fleet.offers)),
        templates={fleet.name: template},
        site=MacSite(pools=(pool,) if pool else (), default=pool),
    )


class Hostler:
    """One engine that runs from the next moment on; `beside` are further fleets of its account."""

    def __init__(  # noqa: PLR0913, PLR0917 - what one engine is made of
        self,
        rig: Rig,
        fleet: Fleet,
        store: MemoryStore,
        make: Maker,
        wire: WorldTransport,
        name: str,
    ) -> None:
        self.rig, self.fleet, self.store, self.wire = rig, fleet, store, wire
        self.beside: tuple[Fleet, ...] = ()
        self.engine: Engine | None = None
        self.task = rig.group.create_task(self._run(make, name))

    async def _run(self, make: Maker, name: str) -> None:
        rig, identity = self.rig, await self.store.identity()
        project, owner = rig.world.options.project, rig.organization
        account = words.Account(project=project, secret_key=SECRET, organization=owner)
        provider = make(Client(self.wire, account, rig.clock), rig.clock, identity.own)
        fleets = (self.fleet, *self.beside)
        main = Account(name=AccountName("main"), provider=provider, fleets=fleets)
        self.engine = Engine(self.ports(), [main], name, rig.settings)
        await self.engine.run()

    @property
    def clock(self) -> SimClock:
        """The clock of all that runs in the rig."""
        return self.rig.clock

    def ports(self) -> Ports:
        """Return what the engine, and frontends beside it, are given."""
        rig = self.rig
        return Ports(
            store=self.store,
            clock=rig.clock,
            prober=PassingProber(),
            metrics=rig.metrics,
            fresh=rig.fresh,
            preparer=rig.preparer,
            bootstraps=rig.bootstraps,
            asker=rig.asker,
        )

    async def stop(self) -> None:
        """End the engine as Ctrl-C does."""
        self.task.cancel()
        await asyncio.sleep(1)

    async def machines(self) -> tuple[Machine, ...]:
        """Return the living machines as recorded."""
        return await self.store.machines(self.fleet.name)

    async def machine(self, machine: MachineId) -> Machine:
        """Return one machine that was recorded, living or gone."""
        stored = await self.store.machine(machine)
        if stored is None:
            raise KeyError(machine)
        return stored

    async def ready(self) -> int:
        """Return how many machines are ready."""
        return sum(machine.phase is Phase.READY for machine in await self.machines())

    async def row(self) -> FleetRow:
        """Return the fleet's row."""
        return (await self.store.fleets())[0]

    async def events(self) -> tuple[StoredEvent, ...]:
        """Return everything that was recorded."""
        return await self.store.events(self.fleet.name, limit=10_000)

    async def request(
        self,
        kind: RequestKind,
        *,
        size: int | None = None,
        installation: InstallationId | None = None,
        machine: MachineId | None = None,
    ) -> None:
        """Request as a frontend does."""
        request = Request(
            number=0,
            kind=kind,
            fleet=self.fleet.name,
            at=self.rig.clock.now(),
            actor="scene",
            size=size,
            installation=installation,
            machine=machine,
        )
        await self.store.request(request)

    async def scale(self, size: int) -> None:
        """Request a size."""
        await self.request(RequestKind.SCALE, size=size)

    async def rests(self, size: int, within: timedelta) -> None:
        """Wait until just this many machines are recorded, ready, and standing with all parts."""
        end = self.rig.loop.time() + within.total_seconds()
        while self.rig.loop.time() < end:
            living = await self.machines()
            if len(living) == size == await self.ready() == len(self.rig.servers()):
                return
            await asyncio.sleep(1)
        unfinished = [(m.phase, m.reason, m.error, m.offer) for m in await self.machines()]
        raise NotAtRest(f"not {size} ready: {unfinished}, {len(self.rig.servers())} servers")

    async def leaves_nothing(self, within: timedelta) -> None:
        """Scale to zero, and wait until neither records nor billable parts are left."""
        await self.scale(0)
        await self.rests(0, within)
        if left := self.rig.world.leaks():
            raise NotAtRest(f"left behind: {left}")


class NotAtRest(AssertionError):
    """A fleet did not come to rest in time; the message says how its machines stand."""


def play(scene: Callable[[Rig], Awaitable[None]], options: Options = ORDINARY) -> None:
    """Run a scene in simulated time; raise AssertionError if the engine met a bug."""
    loop = SimLoop()
    world = World(loop.time, random.Random(3), options)
    rig = Rig(loop=loop, world=world)

    async def whole() -> None:
        async with rig.group:
            await scene(rig)
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()

    try:
        loop.run_until_complete(whole())
    finally:
        loop.close()
    wrong = (loop.failures, rig.metrics.faults())
    if any(wrong):
        raise AssertionError(f"failures, illegal moves, bugs: {wrong}")
