"""Theatre: the whole engine over a simulated Scaleway, in simulated time, from a fleet file.

Engine, store, provider, client and JSON are the real ones; the clock and the network are simulated.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from msgspec.structs import replace

from hostler.app.compose import Composed
from hostler.config.values import Config
from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Account, Ports
from hostler.domain.ids import FleetName, InstallationId, MachineId, machine_id
from hostler.domain.model.fleet import Probe
from hostler.domain.model.phases import Phase
from hostler.ports.clock import Clock
from hostler.ports.provider import Connection
from hostler.ports.secret import Secret
from hostler.ports.store import Store
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.config_tables import MachineTable
from hostler.providers.scaleway.common.settings import Account as Key
from hostler.providers.scaleway.common.settings import Template
from hostler.providers.scaleway.instances.provider import Instances
from hostler.simulators.scaleway.faults.rates import CALM, FaultRates
from hostler.simulators.scaleway.in_process import WorldTransport
from hostler.simulators.scaleway.state.options import Options
from hostler.simulators.scaleway.world import World
from hostler.stores.memory import MemoryStore
from hostler.testing.fakes.metrics import CountingMetrics
from hostler.testing.time.clock import SimClock
from hostler.testing.time.loop import SimLoop

FLEET = FleetName("web")
INSTALLATION = InstallationId("bench")
KEY = "11111111-1111-1111-1111-111111111111"
PROJECT = "22222222-2222-2222-2222-222222222222"
LOOPBACK = "http://127.0.0.1:9"
"""An endpoint at which nobody listens: in simulated time nobody is asked there."""

_FILE = """
[provider.scaleway]
endpoint = "{endpoint}"
project = "{project}"
secret_key_file = "key"
rate = {rate}
burst = {burst}

[fleet.web]
size = {size}
types = ["DEV1-S"]
volume = {{ size = "10GB" }}
ready = {{ probe = "{probe}" }}

[metrics]
listen = "127.0.0.1:{port}"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a benchmark's fleet file says; all else is the default."""

    size: int
    rate: float = 10.0
    burst: int = 20
    probe: str = "api"
    endpoint: str = LOOPBACK
    port: int = 0


def fleet_file(folder: Path, asked: Asked) -> Path:
    """Write a fleet file with its key into a folder, and return where it is."""
    (folder / "key").write_text(KEY)
    path = folder / "web.toml"
    path.write_text(
        _FILE.format(
            endpoint=asked.endpoint,
            project=PROJECT,
            rate=asked.rate,
            burst=asked.burst,
            size=asked.size,
            probe=asked.probe,
            port=asked.port,
        )
    )
    return path


class SimProber:
    """Reaches a machine whose guest is up."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def probe(
        self, machine: MachineId, connection: Connection, probe: Probe
    ) -> tuple[bool, str]:
        """Probe once."""
        del machine, probe
        await asyncio.sleep(0.05)
        self._world.advance()
        up = connection.address in self._world.guests
        return up, "up" if up else "no answer"


class Theatre:
    """One engine, one account, one fleet, and the world that it lives in."""

    def __init__(
        self,
        config: Config,
        options: Options,
        fault_rates: FaultRates = CALM,
        wall: float = 0.0,
        chance: int = 7,
    ) -> None:
        """Compose everything; `wall` is by how many seconds the clock is off `BEGINNING`.

        How long each call takes is drawn by `chance`.
        `time` is what the world's clock goes by; whoever serves it elsewhere gives it another one.
        """
        self.loop = SimLoop()
        self.time: Callable[[], float] = self.loop.time
        self.world = World(self._now, Random(chance), options, fault_rates)
        self.metrics = CountingMetrics()
        clock = SimClock(self.loop, wall=wall)
        self.store = self.made_store(clock)
        fresh = Random(11)
        ports = Ports(
            store=self.store,
            clock=clock,
            prober=SimProber(self.world),
            metrics=self.metrics,
            fresh=lambda: machine_id(fresh.getrandbits(50)),
        )
        key = Key(project=options.project, secret_key=Secret(KEY))
        provider = Instances(
            Client(WorldTransport(self.world), key, clock),
            clock,
            installation=INSTALLATION,
            zones=tuple(dict.fromkeys(o.zone for f in config.fleets for o in f.offers)),
            templates={FLEET: _template(config)},
        )
        (bought,) = config.accounts
        account = Account(
            name=bought.name,
            provider=provider,
            fleets=config.fleets,
            rate=bought.rate,
            burst=bought.burst,
        )
        self._made_of = ports, account, config.settings
        self.engine = Engine(ports, (account,), "bench", config.settings)

    def made_store(self, clock: Clock) -> Store:
        """Return the store, which is in memory; benchmarks of another one say so."""
        del clock
        return MemoryStore(INSTALLATION)

    def slow_down(self, rate: float) -> None:
        """Put another engine in place of one that runs no more: it may make fewer calls."""
        ports, account, settings = self._made_of
        slower = replace(account, rate=rate, burst=2 * rate)
        self.engine = Engine(ports, (slower,), "bench", settings)

    def _now(self) -> float:
        return self.time()

    def ready(self) -> int:
        """Return how many machines are ready."""
        (loop,) = self.engine.loops
        return sum(machine.phase is Phase.READY for machine in loop.state.living(FLEET))

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Run the engine for as long as the block lasts."""
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.engine.run())
            yield
            task.cancel()

    async def until_ready(self, size: int) -> float:
        """Wait until so many machines are ready, and return the simulated time."""
        while self.ready() < size:  # noqa: ASYNC110 - simulated time: nobody waits for anything
            await asyncio.sleep(0.25)
        return self.loop.time()

    def check(self) -> None:
        """Fail where the engine did: a figure that came of a failure is none."""
        assert not self.loop.failures, self.loop.failures
        assert not self.metrics.faults(), self.metrics.faults()


def _template(config: Config) -> Template:
    table = config.templates[FLEET]
    assert isinstance(table, MachineTable)
    return table.template("")


def load(path: Path) -> Config:
    """Return a fleet file's values."""
    return Composed().load(path)
