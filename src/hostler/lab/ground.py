"""Ground: what there is in one seed: a world, a watch, installations, and their processes."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random

from hostler.controllers.settings import Settings
from hostler.domain.fleet import Fleet, Probe, ProbeKind, Timers
from hostler.domain.ids import AccountName, FleetName, InstallationId, Zone
from hostler.domain.machine import Offer
from hostler.domain.seen import Wish
from hostler.ports.http import Request
from hostler.ports.store import Store
from hostler.providers.scaleway.settings import Disk, Template
from hostler.simulators.scaleway.options import Options
from hostler.simulators.scaleway.replies import Reply
from hostler.simulators.scaleway.world import World
from hostler.stores.memory import MemoryStore
from hostler.stores.sqlite.opening import open_beside, open_engine, open_shared
from hostler.stores.sqlite.runner import Inline
from hostler.testing.simclock import BEGINNING, SimClock
from hostler.testing.simloop import SimLoop

from .book import book_for
from .people import crowd
from .process import Home, Process
from .things import things_in
from .trace import Trace
from .watch import Watch
from .weather import Climate

FLEET = FleetName("web")
SETTLE = timedelta(seconds=60)
_SETTINGS = Settings(poll=timedelta(seconds=5))


class WatchedWorld(World):
    """A world that tells the watch of each request that it handled."""

    watch: Watch | None = None

    def handle(self, request: Request, source: str = "") -> Reply:
        """Process one request."""
        reply = super().handle(request, source)
        if self.watch is not None:
            self.watch.answered(request, source, self.journal[-1])
        return reply


class Ground:
    """Everything that one climate brings. All randomness comes from streams of the seed."""

    def __init__(self, climate: Climate, folder: Path) -> None:
        self.climate, self._folder = climate, folder
        self.loop = SimLoop()
        self._rng = Random(f"hostler season {climate.seed}")
        options = Options(
            epoch=BEGINNING,
            list_lag=climate.list_lag,
            pace=climate.pace,
            generation=self._rng.choice(("2026", "2025", "mixed")),
        )
        world = WatchedWorld(self.loop.time, Random(self._rng.getrandbits(64)), options)
        crowd(world, climate.crowd)
        self.strangers = frozenset(thing.id for thing, _ in things_in(world))
        world.set_weather(climate.world)
        for rule in climate.scripts:
            world.script(rule)
        self.world = world
        self.trace = Trace(self.loop.time)
        self.watch = world.watch = Watch(world, self.trace, SETTLE.total_seconds())
        self.homes = list[Home]()
        self.processes = list[Process]()
        self._installations = 0
        self._files = 0

    # ------------------------------------------------------------ what there is

    def found_home(self, *, replicas: int) -> Home:
        """Return a new installation, with an empty store of its own."""
        self._installations += 1
        own = InstallationId(f"i{self._installations}{self.climate.seed}")
        fleets = (self._fleet(),)
        book = book_for(own, fleets)
        self.watch.books.append(book)
        home = Home(
            loop=self.loop,
            watch=self.watch,
            book=book,
            project=self.world.options.project,
            zones=(),
            fleets=fleets,
            templates={FLEET: self._template()},
            settings=_SETTINGS,
            settle=SETTLE,
            replicas=replicas,
            open_store=self._opener(own, exclusive=replicas == 1),
        )
        self.homes.append(home)
        return home

    def _opener(self, own: InstallationId, *, exclusive: bool) -> Callable[[], Store]:
        if not self.climate.sqlite:
            memory = MemoryStore(own, exclusive=exclusive)
            return lambda: memory
        path = self._folder / f"{self._installations}.db"
        if exclusive:
            return lambda: open_engine(path, own, runner=Inline)
        return lambda: open_shared(path, own)

    def _fleet(self) -> Fleet:
        climate = self.climate
        zones = ("fr-par-1", "nl-ams-1") if climate.two_zones else ("fr-par-1",)
        types = ("DEV1-S",) if climate.local_disk else ("PLAY2-PICO", "PLAY2-NANO")
        return Fleet(
            name=FLEET,
            account=AccountName("main"),
            size=climate.machines,
            offers=tuple(Offer(t, Zone(z), "ubuntu_noble") for t in types for z in zones),
            template="t1",
            reclaim=climate.reclaim,
            probe=Probe(kind=ProbeKind(climate.probe)),
            timers=Timers(keep_broken=timedelta(seconds=climate.keep_broken)),
        )

    def _template(self) -> Template:
        climate = self.climate
        disk = Disk(size=10, type="l_ssd") if climate.local_disk else Disk(size=10)
        return Template(
            root=disk,
            disks=(Disk(size=5),) * climate.disks,
            cloud_init="#cloud-config\n",
            ipv6=climate.ipv6,
            protected=climate.protected,
        )

    def add_process(self, home: Home, name: str, skew: float) -> Process:
        """Return a new process of an installation, on a host of its own."""
        clock = SimClock(self.loop, boot=self._rng.uniform(10, 1e6), wall=skew)
        process = Process(home, name, clock, Random(self._rng.getrandbits(64)))
        self.processes.append(process)
        return process

    async def put_wish(self, home: Home, wish: Wish) -> None:
        """Write a wish beside the engine, as the command line does."""
        if not self.climate.sqlite:
            await home.open_store().wish(wish)
            return
        number = self.homes.index(home) + 1
        store = open_beside(self._folder / f"{number}.db", runner=Inline)
        await store.wish(wish)
        await store.close()
