"""Service: the program's own controller of Nodes in each run of the engine's process."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

from hostler.controllers.runtime.settings import Ports
from hostler.domain.errors import StoreError
from hostler.domain.ids import InstallationId
from hostler.frontends.kubernetes.nodes.controller import NodeController
from hostler.frontends.kubernetes.nodes.fleets import Attached, ManagedFleet
from hostler.kubernetes.client import Client
from hostler.lab.harness.process import Incarnation
from hostler.lab.harness.process_run import ProcessRun
from hostler.lab.kubernetes.connection import Connection
from hostler.lab.kubernetes.routes import Routes
from hostler.lab.kubernetes.simulated_cluster import SimulatedCluster
from hostler.ports.store import Store
from hostler.queries.live import EngineRecords

from .scenario import NodesScenario

_AGAIN = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class NodeService:
    """Makes a controller for each run of a process, and lets it work beside its engine."""

    cluster: SimulatedCluster
    routes: Routes
    scenario: NodesScenario

    def equip(self, run: ProcessRun, ports: Ports) -> Ports:
        """Return the ports of a run with what its engine asks about Nodes."""
        route = self.routes.of(run.name)
        connection = Connection(self.cluster.gateway, passes=run.gate.pass_through, route=route)
        return replace(ports, workloads=NodeController(Client(session=connection), run.clock))

    @asynccontextmanager
    async def at_work(self, run: Incarnation) -> AsyncGenerator[None]:
        """Go over the Nodes of a run's engine while the block lasts."""
        controller = run.ports.workloads
        if not isinstance(controller, NodeController):
            yield
            return
        async with asyncio.TaskGroup() as group:
            going = group.create_task(self._go_over(controller, run))
            try:
                yield
            finally:
                going.cancel()
                await controller.client.session.close()

    async def _go_over(self, controller: NodeController, run: Incarnation) -> None:
        """Attach the engine once its store can be read, and go over its Nodes for ever."""
        while (own := await _identity(run.ports.store)) is None:
            await run.ports.clock.sleep(_AGAIN)
        (loop,) = run.engine.loops
        (fleet,) = loop.state.account.fleets
        records = EngineRecords(loop, fleet.name)
        fleets = (ManagedFleet(fleet=fleet, table=self.scenario.table, records=records),)
        controller.attach(Attached(fleets=fleets, store=run.ports.store, installation=own))
        await controller.run()


async def _identity(store: Store) -> InstallationId | None:
    """Return whose store it is; None where it cannot be read now."""
    try:
        return (await store.identity()).own
    except StoreError:
        return None
