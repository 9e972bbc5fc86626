"""Demo: Macs as Machines of Cluster API: rolled inside their floor, drained, stranded, reclaimed.

Everything is real but the Macs and their kubelets: hostler runs as an operator runs it, beside
Kubernetes' own programs and Cluster API's core where those can be built, else beside a simulated
API server, which is said. The cloud of the Macs lives faster than life.
"""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random

from msgspec import Struct

from hostler.config.store_url import StoreUrl
from hostler.config.values import Config
from hostler.controllers.runtime.settings import Settings as EngineSettings
from hostler.domain.errors import ConfigError
from hostler.frontends.cli.console.guard import guarded
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Purpose, Services
from hostler.lab.demo.board import Board
from hostler.ports.store import Store
from hostler.simulators.scaleway.http import Settings, serve, world_of
from hostler.simulators.scaleway.world import World
from hostler.stores.kubernetes.opening import ClusterPlace

from .api import Api, connected
from .control_plane import Choice, ControlPlane, Kind, Opening, opened
from .core_model import CoreModel, definitions
from .engine import Hostler, HostlerEnded
from .environment import Display
from .existing import clear, confirmed, examine
from .manifests import NAMESPACES, POOL, REPLICAS, SPARE, Cloud
from .nodes import Kubelets, WorkloadModel
from .sampling import HostState, Sampler
from .scenes import NotReached, Scenes
from .tally import KubernetesTally

SPEED = 120.0
"""How many times faster than life the cloud is: a wipe takes 3 to 10 seconds."""
NAMESPACE = "hostler-demo"
KEY = "11111111-1111-1111-1111-111111111111"
"""The simulator takes any UUID."""
_STOCK = f"{REPLICAS + SPARE}:M2-L:fr-par-1:{POOL}"


class Options(Struct, frozen=True, kw_only=True):
    """What was asked of the demo.

    `server` is the address of the cluster of `kubeconfig`, as a person said it.
    """

    choice: Choice
    kubeconfig: Path | None
    server: str = ""
    seed: int


def main(services: Services, options: Options, *, json: bool) -> int:
    """Give the demo and return its exit code: 0 only if all of it happened as it should."""

    async def work(screen: Screen) -> int:
        with tempfile.TemporaryDirectory(prefix="hostler-demo-") as folder, Board(screen) as board:
            display = Display(board, services.clock())
            tally = await Demo(services, options, Path(folder), display).give()
        display.conclude(tally)
        return 0 if tally.good else 1

    return guarded(json, work)


class Demo:
    """A demo under way; all that it opens is closed when `give` is left, however that is."""

    def __init__(
        self, services: Services, options: Options, folder: Path, display: Display
    ) -> None:
        self._services, self._options = services, options
        self._folder, self._display = folder, display
        self._clock, self._random = services.clock(), Random(options.seed)

    async def give(self) -> KubernetesTally:
        """Play all scenes, and tell what came of it."""
        opening = Opening(
            folder=self._folder, clock=self._clock, random=self._random, tell=self._display.tell
        )
        async with (
            opened(self._options.choice, self._existing(), opening) as plane,
            connected(plane.kubeconfig, NAMESPACE, self._clock) as api,
        ):
            self._display.control_plane = plane.name
            self._display.tell(f"{plane.name} serves")
            if plane.kind is Kind.GIVEN:
                await examine(api)
            return await self._give(plane, api)

    async def _give(self, plane: ControlPlane, api: Api) -> KubernetesTally:
        """Play all scenes in a control plane, and leave nothing of them in it."""
        async with asyncio.TaskGroup() as group:
            tasks = list[asyncio.Task[None]]()
            try:
                await self._prepare(plane, api)
                tasks += [group.create_task(run) for run in self._players(plane, api)]
                return await self._beside(plane, api)
            finally:
                for task in tasks:
                    task.cancel()
                await self._clear(plane, api)

    def _existing(self) -> ControlPlane | None:
        """Return the cluster that is there, if one is to be used; ConfigError says why not."""
        kubeconfig, server = self._options.kubeconfig, self._options.server
        if kubeconfig is None:
            if server:
                raise ConfigError("--server confirms which cluster --kubeconfig means: add that")
            return None
        return confirmed(kubeconfig, server, self._clock)

    async def _prepare(self, plane: ControlPlane, api: Api) -> None:
        """Install the kinds, and make the namespace."""
        if plane.kind is Kind.SIMULATED:
            for manifest in definitions():
                await api.apply(manifest.sort, manifest.name, **manifest.content)
        hostler = self._hostler(plane)
        self._display.say("$ hostler kubernetes install")
        await hostler.do("kubernetes", "install")
        await api.apply(NAMESPACES, NAMESPACE)

    def _players(self, plane: ControlPlane, api: Api) -> Iterator[Coroutine[None, None, None]]:
        """Yield what goes on beside: kubelets, and controllers where there are no real ones."""
        simulated = plane.kind is Kind.SIMULATED
        yield Kubelets(api, self._clock, alone=simulated).run()
        if simulated:
            yield CoreModel(api, self._clock, self._random).run()
            yield WorkloadModel(api, self._clock, self._random).run()

    async def _clear(self, plane: ControlPlane, api: Api) -> None:
        """Take what is ours out of a cluster that stays."""
        if plane.kind is Kind.GIVEN:
            self._display.say(f"$ kubectl delete namespace {NAMESPACE}")
            if stays := await clear(api, self._clock):
                self._display.say(stays)

    def _hostler(self, plane: ControlPlane) -> Hostler:
        return Hostler(self._folder, plane.kubeconfig, NAMESPACE)

    async def _beside(self, plane: ControlPlane, api: Api) -> KubernetesTally:
        """Play the scenes beside a cloud and an engine."""
        async with AsyncExitStack() as stack:
            world = world_of(Settings(speed=SPEED, seed=self._options.seed, macs=(_STOCK,)))
            server = await stack.enter_async_context(serve(world, "127.0.0.1", 0, SPEED))
            hostler = self._hostler(plane)
            hostler.write_settings()
            store = await stack.enter_async_context(self._store(plane))
            stack.push_async_callback(hostler.stop)
            sampler = Sampler(api, world, store, self._display.tell)
            scenes = Scenes(
                api=api,
                hostler=hostler,
                sampler=sampler,
                clock=self._clock,
                say=self._display.say,
                show=self._display.show,
            )
            self._display.sampler = sampler
            self._display.say("$ hostler run --kubernetes")
            await hostler.start()
            cloud = Cloud(
                url=server.url,
                project=world.options.project,
                key=KEY,
                kubeconfig=plane.kubeconfig.read_bytes(),
            )
            failed = await self._play(scenes, cloud)
            return await self._tally(plane, scenes, world, failed)

    @asynccontextmanager
    async def _store(self, plane: ControlPlane) -> AsyncGenerator[Store]:
        """Open the records that the engine keeps in the cluster, to read them."""
        place = ClusterPlace(namespace=NAMESPACE, kubeconfig=str(plane.kubeconfig))
        config = Config(
            path=self._folder / "hostler.toml",
            store=StoreUrl("kubernetes", str(place)),
            accounts=(),
            fleets=(),
            templates={},
            settings=EngineSettings(),
        )
        async with self._services.store(config, Purpose.READ) as store:
            yield store

    async def _play(self, scenes: Scenes, cloud: Cloud) -> str:
        """Play all scenes in their order; return what did not happen, empty where all did."""
        try:
            await scenes.bring_up(cloud)
            await scenes.roll()
            await scenes.drain()
            await scenes.strand()
            await scenes.end()
        except (NotReached, HostlerEnded) as error:
            self._display.fail(str(error))
            return str(error)
        return ""

    async def _tally(
        self, plane: ControlPlane, scenes: Scenes, world: World, failed: str
    ) -> KubernetesTally:
        sampler, seen = scenes.sampler, await scenes.sampler.look()
        busy = sum(state is not HostState.FREE for state in seen.hosts.values())
        return KubernetesTally(
            control_plane=plane.kind,
            machines=REPLICAS,
            rolled=scenes.rolled,
            roll_seconds=scenes.roll_seconds,
            deleted_hosts=sampler.deleted(),
            strays_found=len(sampler.strays),
            reclaimed=scenes.reclaimed,
            evicted=scenes.evicted,
            least_ready=scenes.least_ready,
            leaks=busy + len(seen.orphans) + len(seen.objects),
            hosts=len(sampler.macs()),
            wipes=sampler.wipes(),
            calls=sum(world.calls.values()),
            seconds=self._display.passed,
            failed=failed,
        )
