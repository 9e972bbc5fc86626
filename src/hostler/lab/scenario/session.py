"""The session of one seed: a world, a checker, installations, and their processes."""

from collections.abc import Callable
from pathlib import Path
from random import Random

from hostler.domain.ids import InstallationId
from hostler.domain.model.snapshot import Request
from hostler.lab.checks.shadow_store import shadow_for
from hostler.lab.checks.trace import Trace
from hostler.lab.harness.process import Home, Process
from hostler.ports.store import Store
from hostler.stores.memory import MemoryStore
from hostler.stores.sqlite.opening import open_beside, open_engine, open_shared
from hostler.stores.sqlite.worker import Inline
from hostler.testing.time.clock import SimClock
from hostler.testing.time.loop import SimLoop

from .environment import Environment, ServerEnvironment, make_world, start_faults
from .faults import Scenario


class Session:
    """Everything that one scenario brings. All randomness comes from streams of the seed."""

    def __init__(
        self, scenario: Scenario, folder: Path, environment: Environment | None = None
    ) -> None:
        self.scenario, self._folder = scenario, folder
        self.environment: Environment = environment or ServerEnvironment(scenario)
        self.loop = SimLoop()
        self._rng = Random(f"hostler season {scenario.seed}")
        world = self.world = make_world(self.environment, self.loop, self._rng)
        self.strangers = self.environment.fill(world)
        start_faults(world, scenario)
        self.trace = Trace(self.loop.time)
        self.checker = world.checker = self.environment.checker(world, self.trace)
        self.homes = list[Home]()
        self.processes = list[Process]()
        self._installations = 0

    # ------------------------------------------------------------ what there is

    def found_home(self, *, replicas: int, other: bool = False) -> Home:
        """Return a new installation, with an empty store of its own; `other`: somebody else's."""
        self._installations += 1
        own = InstallationId(f"i{self._installations}{self.scenario.seed}")
        environment, fleets = self.environment, self.environment.fleets(other=other)
        shadow = shadow_for(own, fleets, environment.settings.quiet.total_seconds())
        self.checker.shadows.append(shadow)
        home = Home(
            loop=self.loop,
            checker=self.checker,
            shadow=shadow,
            project=self.world.options.project,
            fleets=fleets,
            settings=environment.settings,
            replicas=replicas,
            watched=environment.watched,
            answers=environment.answers,
            open_provider=lambda client, clock: environment.provider(client, clock, own),
            open_store=self._opener(own, exclusive=replicas == 1),
            open_preparer=environment.preparer,
        )
        self.homes.append(home)
        return home

    def _opener(self, own: InstallationId, *, exclusive: bool) -> Callable[[], Store]:
        if not self.scenario.sqlite:
            memory = MemoryStore(own, exclusive=exclusive)
            return lambda: memory
        path = self._folder / f"{self._installations}.db"
        if exclusive:
            return lambda: open_engine(path, own, runner=Inline)
        return lambda: open_shared(path, own)

    def add_process(self, home: Home, name: str, skew: float) -> Process:
        """Return a new process of an installation, on a host of its own."""
        clock = SimClock(self.loop, boot=self._rng.uniform(10, 1e6), wall=skew)
        process = Process(home, name, clock, Random(self._rng.getrandbits(64)))
        self.processes.append(process)
        return process

    async def put_request(self, home: Home, request: Request) -> None:
        """Write a request beside the engine, as the command line does."""
        if not self.scenario.sqlite:
            await home.open_store().request(request)
            return
        number = self.homes.index(home) + 1
        store = open_beside(self._folder / f"{number}.db", runner=Inline)
        await store.request(request)
        await store.close()
