"""Service: the program's own controller of Nodes in each run of the engine's process."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from msgspec import Struct
from msgspec.structs import replace

from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Ports
from hostler.domain.errors import StoreError
from hostler.domain.ids import InstallationId
from hostler.frontends.kubernetes.nodes.controller import NodeController
from hostler.frontends.kubernetes.nodes.fleets import Attached, ManagedFleet
from hostler.frontends.kubernetes.nodes.prober import NodeProber
from hostler.kubernetes.client import Client
from hostler.lab.harness.process import Incarnation
from hostler.lab.harness.process_run import ProcessRun
from hostler.lab.kubernetes.connection import Connection
from hostler.lab.kubernetes.simulated_cluster import SimulatedCluster
from hostler.ports.store import Store
from hostler.queries.live import EngineRecords

from .scenario import NodesScenario
from .world import NodesWorld

_AGAIN = timedelta(seconds=1)

Managed = Callable[[Engine], tuple[ManagedFleet, ...]]
"""Tells which fleets of an engine have Nodes that are worked at."""


class NodeService(Struct, frozen=True):
    """Makes a controller for each run of a process, and lets it work beside its engines."""

    cluster: SimulatedCluster
    world: NodesWorld
    managed: Managed

    def equip(self, run: ProcessRun, ports: Ports) -> Ports:
        """Return the ports of a run with what its engine asks about Nodes."""
        route = self.cluster.routes.of(run.name)
        connection = Connection(self.cluster.gateway, passes=run.gate.pass_through, route=route)
        own_node = self.world.own_node
        controller = NodeController(Client(session=connection), run.clock, own_node)
        prober = NodeProber(ports.prober, controller)
        return replace(ports, workloads=controller, prober=prober)

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
        """Go over the Nodes of each engine of a run for ever, once its store can be read."""
        while (own := await _identity(run.ports.store)) is None:
            await run.ports.clock.sleep(_AGAIN)
        engine: Engine | None = None
        async with asyncio.TaskGroup() as group:
            group.create_task(controller.run())
            while True:
                moved = controller.own_node != self.world.own_node
                if moved or run.engine is not engine:
                    controller.own_node = self.world.own_node
                    engine, fleets = run.engine, self.managed(run.engine)
                    store = run.ports.store
                    controller.attach(Attached(fleets=fleets, store=store, installation=own))
                await run.ports.clock.sleep(_AGAIN)


def of_one(scenario: NodesScenario) -> Managed:
    """Return what tells of the one fleet of an engine that its Nodes are worked at."""

    def managed(engine: Engine) -> tuple[ManagedFleet, ...]:
        (loop,) = engine.loops
        (fleet,) = loop.state.account.fleets
        records = EngineRecords(loop, fleet.name)
        return (ManagedFleet(fleet=fleet, table=scenario.table, records=records),)

    return managed


async def _identity(store: Store) -> InstallationId | None:
    """Return whose store it is; None where it cannot be read now."""
    try:
        return (await store.identity()).own
    except StoreError:
        return None
