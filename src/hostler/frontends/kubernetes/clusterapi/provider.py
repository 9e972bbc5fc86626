"""Provider: everything of Cluster API that runs beside an engine, as one thing to start."""

import asyncio
from datetime import timedelta
from typing import Protocol

import structlog
from msgspec import Struct

from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.kubernetes.cache import Change
from hostler.kubernetes.errors import ApiError
from hostler.kubernetes.informer import Informers, Reader, Surroundings
from hostler.kubernetes.objects import Key, M, key_of
from hostler.kubernetes.queue import WorkQueue
from hostler.kubernetes.resources import Resource

from .caches import Caches, watched
from .cluster_reconcilers import (
    ClusterReconciler,
    ControlPlaneReconciler,
    TemplateReconciler,
    cluster_of,
)
from .controller import Controller, Reconcile
from .engine import LOOK, EngineAccess
from .looking import Identity
from .machines import Api, MachineReconciler
from .objects import CLUSTERS, CONTROL_PLANES, HOSTLER_CLUSTERS, MACHINES, TEMPLATES, Cluster
from .sweep import Sweep

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.clusterapi")


_INSTALLED = timedelta(seconds=30)
"""How often it is asked whether Cluster API is installed by now."""


class Server(Api, Reader, Protocol):
    """A client, as all of this needs it."""


class ClusterApi(Struct, frozen=True, kw_only=True):
    """The infrastructure provider: machines, clusters, control planes and templates.

    `engine` is given its fleets by `attach`, before this runs or while it does, and again whenever
    another engine begins. One process at a time runs this: whoever leads.
    """

    server: Server
    around: Surroundings
    engine: EngineAccess
    namespaces: Namespaces

    async def run(self) -> None:
        """Work for ever; ends by being cancelled."""
        await self._installed()
        caches = watched(self.server, self.around, self.namespaces)
        async with asyncio.TaskGroup() as group:
            group.create_task(caches.run())
            await caches.synced()
            log.info("serving Cluster API", namespaces=str(self.namespaces))
            group.create_task(self._machines(caches))
            group.create_task(self._clusters(caches))
            group.create_task(self._control_planes(caches))
            group.create_task(self._templates())
            group.create_task(self._sweep())

    async def _installed(self) -> None:
        """Return once the cluster serves Cluster API's kinds and ours; not all clusters do."""
        missing = ""
        while True:
            try:
                for selection in self.namespaces.selections:
                    await self.server.list_all(CLUSTERS, selection)
                    await self.server.list_all(MACHINES, selection)
            except ApiError as error:
                if str(error) != missing:
                    missing = str(error)
                    log.info("not serving Cluster API", why=missing)
            else:
                return
            await self.around.clock.sleep(_INSTALLED)

    async def _machines(self, caches: Caches) -> None:
        clock = self.around.clock
        queue = WorkQueue[Key](clock)
        reconciler = MachineReconciler(
            api=self.server,
            caches=caches,
            engine=self.engine,
            clock=clock,
            identity=Identity(self.server),
        )
        caches.on_change(queue.add)
        controller = Controller(kind="HostlerMachine", queue=queue, reconcile=reconciler.reconcile)
        async with asyncio.TaskGroup() as group:
            group.create_task(controller.run())
            group.create_task(self._follow_engine(caches, queue))

    async def _sweep(self) -> None:
        sweep = Sweep(
            server=self.server,
            engine=self.engine,
            clock=self.around.clock,
            namespaces=self.namespaces,
        )
        await sweep.run()

    async def _follow_engine(self, caches: Caches, queue: WorkQueue[Key]) -> None:
        """Look at an object again whenever the record of its machine changed."""
        while True:
            for machine in self.engine.changes():
                for key in caches.of_machine(machine):
                    queue.add(key)
            await self.around.clock.sleep(LOOK)

    async def _clusters(self, caches: Caches) -> None:
        items = self._informer(HOSTLER_CLUSTERS)
        reconciler = ClusterReconciler(
            api=self.server, items=items, clusters=caches.clusters, clock=self.around.clock
        )
        await self._run("HostlerCluster", items, reconciler.reconcile, caches.clusters)

    async def _control_planes(self, caches: Caches) -> None:
        items = self._informer(CONTROL_PLANES)
        reconciler = ControlPlaneReconciler(
            api=self.server, items=items, clusters=caches.clusters, clock=self.around.clock
        )
        kind = "HostlerExternalControlPlane"
        await self._run(kind, items, reconciler.reconcile, caches.clusters)

    async def _templates(self) -> None:
        items = self._informer(TEMPLATES)
        reconciler = TemplateReconciler(api=self.server, items=items)
        await self._run("HostlerMachineTemplate", items, reconciler.reconcile, None)

    def _informer(self, resource: Resource[M]) -> Informers[M]:
        return Informers(self.server, resource, self.around, self.namespaces.selections)

    async def _run(
        self,
        kind: str,
        items: Informers[M],
        reconcile: Reconcile,
        clusters: Informers[Cluster] | None,
    ) -> None:
        """Follow a kind, and reconcile each object when it or its cluster changes."""
        queue = WorkQueue[Key](self.around.clock)

        def cluster(change: Change[Cluster]) -> None:
            for item in items.cache:
                if clusters is not None and cluster_of(item.metadata, clusters) is change.new:
                    queue.add(key_of(item))

        items.on_change(lambda change: queue.add(change.key))
        if clusters is not None:
            clusters.on_change(cluster)
        controller = Controller(kind=kind, queue=queue, reconcile=reconcile)
        async with asyncio.TaskGroup() as group:
            group.create_task(items.run())
            group.create_task(controller.run(1))
