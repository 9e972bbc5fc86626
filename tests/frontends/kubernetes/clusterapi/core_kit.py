"""What Cluster API's core does with our objects, as far as these tests need it, and an engine."""

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, Protocol, TypeVar

from api_kit import FakeApi
from msgspec.structs import replace

from hostler.app.kubernetes.cluster_api import fleets_of
from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Ports
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.frontends.kubernetes.clusterapi.engine import EngineAccess
from hostler.frontends.kubernetes.clusterapi.provider import ClusterApi
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.kubernetes.informer import Surroundings
from hostler.lab.scenes.fake import FakeScene
from hostler.stores.memory import MemoryStore
from hostler.testing.scenes.builders import FLEET
from hostler.testing.time.clock import SimClock

CORE = "cluster.x-k8s.io/v1beta2"
WORKERS = replace(FLEET, size=0, maximum=10, renews=False)
KIND = "HostlerMachine"
NAMESPACES = Namespaces(home="fleet")
LONG = timedelta(minutes=10)


class Scene(Protocol):
    """What engines run in."""

    @property
    def clock(self) -> SimClock: ...

    @property
    def store(self) -> MemoryStore: ...

    @property
    def fleet(self) -> Fleet: ...

    def ports(self) -> Ports: ...


S_co = TypeVar("S_co", bound=Scene, covariant=True)


@dataclass
class Cluster(Generic[S_co]):
    """One cluster with an engine's fleet; providers over them come and go."""

    scene: S_co
    api: FakeApi = field(init=False)
    engine: Engine | None = None
    namespaces: Namespaces = NAMESPACES
    lent: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.api = FakeApi(self.scene.clock)
        self.belongs_to("uid-of-this-cluster")

    def provider(self, access: EngineAccess) -> ClusterApi:
        """Return a provider that does not run yet."""
        around = Surroundings(clock=self.scene.clock, draw=lambda: 0.5)
        return ClusterApi(server=self.api, around=around, engine=access, namespaces=self.namespaces)

    @asynccontextmanager
    async def provided(self) -> AsyncGenerator["asyncio.Task[None]"]:
        """Run a provider beside the engine that runs."""
        assert self.engine is not None
        access = EngineAccess(
            self.scene.store, self.scene.clock, self.namespaces, lambda: self.lent
        )
        access.attach(await fleets_of(self.engine, self.scene.ports()))
        task = asyncio.get_running_loop().create_task(self.provider(access).run())
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def belongs_to(self, cluster: str) -> None:
        """Let the API server be that of this cluster; empty, of one that cannot be told."""
        self.api.objects["Namespace"] = {}
        if cluster:
            metadata = {"name": "kube-system", "namespace": "", "uid": cluster}
            self.api.put("Namespace", {"metadata": metadata})

    # ------------------------------------------------------------ what core does

    def cluster(self, *, provisioned: bool = True) -> None:
        """Make a Cluster, with its infrastructure or without."""
        raw = {
            "metadata": {"name": "c1", "uid": "uid-c1"},
            "spec": {"controlPlaneEndpoint": {"host": "api.example", "port": 6443}},
            "status": {"initialization": {"infrastructureProvisioned": provisioned}},
        }
        self.api.put("Cluster", raw)

    def secret(self, name: str = "data", value: bytes = b"") -> None:
        """Make bootstrap data; empty, the fleet's own setup is all there is."""
        data = {"value": base64.b64encode(value).decode()}
        self.api.put("Secret", {"metadata": {"name": name}, "data": data})

    def machine(self, name: str, *, secret: str = "data", **spec: object) -> None:  # noqa: S107 - its name
        """Make a Machine with its HostlerMachine, in core's order."""
        wants = {"fleetName": str(self.scene.fleet.name), **spec}
        self.api.put(KIND, {"metadata": {"name": name}, "spec": wants})
        raw = {
            "metadata": {"name": name, "finalizers": ["machine.cluster.x-k8s.io"]},
            "spec": {"clusterName": "c1", "bootstrap": {"dataSecretName": secret}},
        }
        owner = self.api.put("Machine", raw)
        reference = {
            "apiVersion": CORE,
            "kind": "Machine",
            "name": name,
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
        labels = {"cluster.x-k8s.io/cluster-name": "c1"}
        metadata = {"ownerReferences": [reference], "labels": labels}
        self.api.change(KIND, name, metadata=metadata)

    async def deleted(self, name: str, within: timedelta = LONG) -> None:
        """Delete a Machine: its HostlerMachine first, itself when that has left."""
        self.api.delete("Machine", name)
        self.api.delete(KIND, name)
        await self.until(lambda: self.api.raw(KIND, name) is None, within)
        self.api.change("Machine", name, metadata={"finalizers": None})

    # ------------------------------------------------------------ what can be seen

    def status(self, name: str) -> dict[str, Any]:
        """Return the status of a HostlerMachine."""
        raw = self.api.raw(KIND, name)
        found: dict[str, Any] = (raw or {}).get("status", {})
        return found

    def ready(self, name: str) -> str:
        """Return the reason of its condition Ready."""
        for condition in self.status(name).get("conditions", ()):
            if condition["type"] == "Ready":
                return str(condition["reason"])
        return ""

    def is_provisioned(self, name: str) -> bool:
        """Tell whether core would go on with its Node."""
        raw = self.api.raw(KIND, name) or {}
        done = self.status(name).get("initialization", {}).get("provisioned", False)
        assert not done or raw["spec"]["providerID"]
        return bool(done)

    async def machines(self) -> tuple[Machine, ...]:
        """Return the engine's living machines."""
        return await self.scene.store.machines(self.scene.fleet.name)

    async def until(self, holds: Any, within: timedelta = LONG) -> None:
        """Wait until something holds; fail where it does not in time."""
        for _ in range(int(within.total_seconds() * 4)):
            if holds():
                return
            await asyncio.sleep(0.25)
        kinds = {name: self.api.raw(KIND, name) for name in self.api.names(KIND)}
        raise AssertionError(f"it does not hold: {kinds}")


class Site(Cluster[FakeScene]):
    """One over an engine with a fake provider."""

    def __init__(self, fleet: Fleet = WORKERS) -> None:
        super().__init__(FakeScene(fleet))

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Run an engine, and the provider beside it."""
        async with self.scene.running() as engine:
            self.engine = engine
            await asyncio.sleep(2)
            async with self.provided():
                yield
