"""The session of one seed: a world, a checker, installations, and their processes."""

from dataclasses import replace
from pathlib import Path
from random import Random

from hostler.domain.ids import InstallationId
from hostler.domain.model.snapshot import Request
from hostler.lab.checks.shadow_store import shadow_for
from hostler.lab.checks.trace import Trace
from hostler.lab.harness.process import Home, Process
from hostler.lab.harness.store_place import StorePlace
from hostler.stores.sqlite.opening import RunnerOf
from hostler.stores.sqlite.worker import Inline, Threaded
from hostler.testing.time.clock import SimClock
from hostler.testing.time.loop import SimLoop

from .cluster_store import InCluster
from .environment import Environment
from .faults import FORGOTTEN
from .stores import store_place


class Session:
    """Everything that one scenario brings. All randomness comes from streams of the seed."""

    def __init__(self, environment: Environment, folder: Path) -> None:
        self.environment, self._folder = environment, folder
        scenario = self.scenario = environment.base
        self.loop = SimLoop()
        self._rng = Random(f"hostler season {scenario.seed}")
        environment.open(self.loop, self._rng)
        self.trace = Trace(self.loop.time)
        self.checker = environment.checker(self.trace)
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
        shadow.issued.add(FORGOTTEN)
        self.checker.shadows.append(shadow)
        home = Home(
            loop=self.loop,
            checker=self.checker,
            shadow=shadow,
            fleets=fleets,
            settings=environment.settings,
            replicas=replicas,
            environment=environment,
            place=self._place(own, replicas),
        )
        self.homes.append(home)
        return home

    def twin_of(self, home: Home) -> Home:
        """Return a second installation with a copy of a store as it is, which goes on apart."""
        self._installations += 1
        shadow = home.shadow.copy()
        shadow.runs = set()
        self.checker.shadows.append(shadow)
        twin = replace(home, shadow=shadow, replicas=1, place=home.place.twin(self._path()))
        self.homes.append(twin)
        return twin

    def standing(self) -> Home:
        """Return the first installation of which somebody still has the store."""
        return next(home for home in self.homes if not home.shadow.lost)

    def _place(self, own: InstallationId, replicas: int) -> StorePlace:
        if self.scenario.cluster is not None:
            return InCluster(own, SimClock(self.loop), self.scenario.cluster)
        return store_place(own, self._path(), exclusive=replicas == 1, runner=self._store_runner())

    def _store_runner(self) -> RunnerOf:
        """Return what does the store's work: what speaks real HTTP has the store's own queue too.

        The loop has no threads: what the queue hands to one is done at once.
        """
        return Threaded if self.scenario.wired else Inline

    def _path(self) -> Path | None:
        return self._folder / f"{self._installations}.db" if self.scenario.sqlite else None

    def add_process(self, home: Home, name: str, skew: float) -> Process:
        """Return a new process of an installation, on a host of its own."""
        clock = SimClock(self.loop, boot=self._rng.uniform(10, 1e6), wall=skew)
        process = Process(home, name, clock, Random(self._rng.getrandbits(64)))
        self.processes.append(process)
        return process

    async def requests_of(self, home: Home) -> tuple[Request, ...]:
        """Return what was asked of an installation, and that it did not answer yet."""
        store = home.place.open_beside()
        requests = await store.requests()
        await store.close()
        return requests

    async def put_request(self, home: Home, request: Request) -> Request:
        """Write a request beside the engine, as a command does; return it as it is stored."""
        store = home.place.open_beside()
        stored = await store.request(request)
        await store.close()
        return stored
