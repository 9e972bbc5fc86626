"""The engines of the demo: two fleets, the store, and real engines over one simulated world."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Account, Ports, Settings
from hostler.domain.ids import AccountName, FleetName, InstallationId, MachineId, Zone, machine_id
from hostler.domain.model.fleet import Fleet, Timers
from hostler.domain.model.machine import Offer
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.domain.policy.purchasing import Limits
from hostler.lab.scenes.servers import SECRET, PassingProber
from hostler.ports.http import HttpRequest, Response
from hostler.ports.store import Lease
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.settings import Account as Credentials
from hostler.providers.scaleway.macs.provider import Macs
from hostler.providers.scaleway.macs.settings import MacSite, MacTemplate
from hostler.simulators.scaleway.in_process import WorldTransport
from hostler.simulators.scaleway.state.options import Options
from hostler.simulators.scaleway.world import World
from hostler.stores.memory import MemoryStore
from hostler.testing.fakes.metrics import CountingMetrics
from hostler.testing.time.clock import BEGINNING, SimClock
from hostler.testing.time.loop import SimLoop

_MIN = timedelta(minutes=1)
POOL, TYPE, ZONE, FAMILY = "pool-", "M2-L", Zone("fr-par-1"), "Tahoe"
POOLED = 6
"""How many hosts are in the pool."""
IOS, TESTS = FleetName("ios"), FleetName("tests")
MAIN = AccountName("main")
GRACE = timedelta(hours=4)
"""How long an orphan must be known before it is taken back; so long the ledger can be looked at."""
LIMITS = Limits(batch=2, most=3)
"""What each fleet may order."""
QUIET = 3 * _MIN
"""The time between observations when nothing is expected: 30 s in life, of which a
week has too many for a minute of ours."""
SETTINGS = Settings(
    quiet=QUIET,
    busy_first=timedelta(seconds=5),
    busy_last=_MIN,
    rare=QUIET,
    poll=_MIN,
    lease_ttl=4 * _MIN,
    lease_beat=_MIN,
)


def fleet(name: FleetName, size: int) -> Fleet:
    """Return one of the fleets; orphans are taken back, because both say `reclaim = true`."""
    return Fleet(
        name=name,
        account=MAIN,
        size=size,
        offers=(Offer(TYPE, ZONE, FAMILY),),
        reclaim=True,
        timers=Timers(start=45 * _MIN, stop=45 * _MIN, observation_limit=QUIET + _MIN, grace=GRACE),
    )


FLEETS = (fleet(IOS, 2), fleet(TESTS, 0))


class FragileStore(MemoryStore):
    """A store in memory that several engines use, one after the other."""

    killed = False
    """Whether the engine that holds the leases was killed: who is dead gives nothing back."""

    async def drop_lease(self, lease: Lease) -> None:
        """Give a lease back, unless its holder was killed: then it must run out."""
        if not self.killed:
            await super().drop_lease(lease)


@dataclass(slots=True)
class Engines:
    """The world, the store, and the engine that runs just now."""

    loop: SimLoop
    seed: int
    world: World = field(init=False)
    clock: SimClock = field(init=False)
    store: FragileStore = field(init=False)
    metrics: CountingMetrics = field(default_factory=CountingMetrics)
    names: int = 0
    engine: "asyncio.Task[None] | None" = None
    wire: "Wire | None" = None
    dice: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        options = Options(epoch=BEGINNING)
        self.world = World(self.loop.time, random.Random(self.dice.getrandbits(64)), options)
        self.clock = SimClock(self.loop)
        self.store = FragileStore(InstallationId("demo"), exclusive=False)

    def start(self) -> None:
        """Start an engine over the same records; it is the only one."""
        if self.engine is not None and not self.engine.done():
            self.kill()
        self.names += 1
        name = f"engine-{self.names}"
        self.wire = Wire(WorldTransport(self.world, name))
        self.store.killed = False
        self.engine = self.loop.create_task(self._engine(name, self.wire).run())

    def _engine(self, name: str, wire: "Wire") -> Engine:
        ports = Ports(
            store=self.store,
            clock=self.clock,
            prober=PassingProber(),
            metrics=self.metrics,
            fresh=self._fresh,
        )
        credentials = Credentials(project=self.world.options.project, secret_key=SECRET)
        provider = Macs(
            Client(wire, credentials, self.clock),
            self.clock,
            installation=InstallationId("demo"),
            zones=(ZONE,),
            templates={one.name: MacTemplate(pool=POOL, limits=LIMITS) for one in FLEETS},
            site=MacSite(pools=(POOL,), default=POOL),
        )
        account = Account(name=MAIN, provider=provider, fleets=FLEETS)
        return Engine(ports, [account], name, SETTINGS)

    def _fresh(self) -> MachineId:
        return machine_id(self.dice.getrandbits(50))

    def kill(self) -> None:
        """Let the engine die as by SIGKILL: nothing is given back."""
        if self.engine is not None:
            self.store.killed = True
            self.engine.cancel()

    async def end(self) -> None:
        """Let the engine end, and wait for it."""
        if self.engine is not None:
            self.engine.cancel()
            await asyncio.gather(self.engine, return_exceptions=True)

    def check(self) -> None:
        """Raise what ended the engine, if anything did but a kill; and what nobody heard of."""
        engine = self.engine
        if engine is not None and engine.done() and not engine.cancelled():
            engine.result()
        if self.loop.failures or self.metrics.faults():
            bugs = (self.loop.failures, self.metrics.faults())
            raise RuntimeError(f"failures, bugs, illegal moves: {bugs}")

    async def scale(self, name: FleetName, size: int) -> None:
        """Request a size, as `hostler scale` does."""
        request = Request(
            number=0,
            kind=RequestKind.SCALE,
            fleet=name,
            at=self.clock.now(),
            actor="demo",
            size=size,
        )
        await self.store.request(request)


class Wire:
    """A connection on which a process can die: a change takes effect, and nobody hears of it."""

    def __init__(self, inner: WorldTransport) -> None:
        self._inner = inner
        self._die: Callable[[], None] | None = None

    def arm(self, die: Callable[[], None]) -> None:
        """Let this happen after the effect of the next rename, in place of its answer."""
        self._die = die

    async def send(self, request: HttpRequest, deadline: timedelta) -> Response:
        """Send once; the one who asked may not live to hear the answer."""
        response = await self._inner.send(request, deadline)
        if self._die is not None and request.method == "PATCH":
            die, self._die = self._die, None
            die()
            await asyncio.sleep(deadline.total_seconds())
        return response

    async def close(self) -> None:
        """Send nothing any more."""
        await self._inner.close()
