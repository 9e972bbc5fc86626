"""Service: the provider of Cluster API in each run of the engine's process."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from random import Random

from msgspec.structs import replace

from hostler.controllers.runtime.settings import Ports
from hostler.domain.errors import StoreError
from hostler.domain.ids import FleetName
from hostler.domain.model.fleet import Fleet
from hostler.frontends.kubernetes.clusterapi.bootstrap import BootstrapSecrets
from hostler.frontends.kubernetes.clusterapi.engine import EngineAccess, FleetAccess
from hostler.frontends.kubernetes.clusterapi.provider import ClusterApi
from hostler.frontends.kubernetes.leading import while_leading
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.kubernetes.client import Client
from hostler.kubernetes.informer import Surroundings
from hostler.lab.harness.process import Incarnation, Process
from hostler.lab.harness.process_run import ProcessRun
from hostler.queries.live import EngineRecords
from hostler.requests.by_id import open_by_id

from .candidacy import Candidacy
from .connection import Connection
from .nodes.service import NodeService
from .runs import AGAIN, EachRun
from .site import NAMESPACE, Site

_NAMESPACES = Namespaces(home=NAMESPACE)


@dataclass(slots=True)
class Service:
    """The provider beside the process that lives; each of its runs has another one."""

    process: Process
    site: Site
    random: Random
    nodes: NodeService | None = None
    candidacy: Candidacy = field(init=False)

    def __post_init__(self) -> None:
        """Let the process stand for election.

        Where its machines are Nodes, it asks about these; and it reads what they are given.
        """
        self.candidacy = Candidacy(self.process, NAMESPACE)
        self.process.equip = self._equip

    def _equip(self, run: ProcessRun, ports: Ports) -> Ports:
        """Return the ports of a run with what an engine has that speaks to a cluster."""
        route = self.site.routes.of(self.process.name)
        connection = Connection(self.site.gateway, passes=run.gate.pass_through, route=route)
        secrets = BootstrapSecrets(Client(session=connection))
        ports = replace(ports, bootstraps=secrets)
        return ports if self.nodes is None else self.nodes.equip(run, ports)

    async def run(self) -> None:
        """Serve whatever run of the process there is, for ever."""
        await EachRun(self.process, self._serve).run()

    async def _serve(self, run: Incarnation) -> None:
        async with AsyncExitStack() as stack:
            if self.nodes is not None:
                await stack.enter_async_context(self.nodes.at_work(run))
            await self._serve_objects(run)

    async def _serve_objects(self, run: Incarnation) -> None:
        access = EngineAccess(run.ports.store, run.ports.clock, _NAMESPACES)
        (fleet,) = self.process.home.fleets
        while (found := await _opened(run, fleet)) is None:
            if run.gate.dead:
                return
            await asyncio.sleep(AGAIN)
        access.attach({FleetName(fleet.name): found})
        draw = Random(self.random.getrandbits(64)).random
        route = self.site.routes.of(self.process.name)
        connection = Connection(self.site.gateway, passes=run.gate.pass_through, route=route)
        client = Client(session=connection)
        provider = ClusterApi(
            server=client,
            around=Surroundings(clock=run.ports.clock, draw=draw),
            engine=access,
            namespaces=_NAMESPACES,
        )
        try:
            async with self.candidacy.stands(run, client, self.random) as election:
                if self.process.home.replicas == 1:
                    await provider.run()
                else:
                    await while_leading(provider.run, run.ports.clock, election.leads)
        finally:
            await connection.close()


async def _opened(run: Incarnation, fleet: Fleet) -> FleetAccess | None:
    """Return the fleet of a run; None where its records cannot be read now."""
    live = EngineRecords(run.engine.loops[0], fleet.name)
    store = run.ports.store
    try:
        rows = [row for row in await store.fleets() if row.name == fleet.name]
        if not rows:
            return None
        machines = await open_by_id(
            fleet=fleet,
            live=live,
            store=store,
            clock=run.ports.clock,
            actor="cluster-api",
            fresh=run.ports.fresh,
            row=rows[0],
        )
    except StoreError:
        return None
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if not run.gate.dead or task is None or task.cancelling():
            raise
        return None
    return FleetAccess(machines=machines, live=live, hear=run.engine.hear, current=live.is_current)
