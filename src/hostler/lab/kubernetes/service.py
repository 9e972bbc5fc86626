"""Service: the provider of Cluster API in each run of the engine's process."""

import asyncio
from dataclasses import dataclass
from random import Random

from hostler.domain.errors import StoreError
from hostler.domain.ids import FleetName
from hostler.domain.model.fleet import Fleet
from hostler.frontends.kubernetes.clusterapi.engine import EngineAccess, FleetAccess
from hostler.frontends.kubernetes.clusterapi.provider import ClusterApi
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.kubernetes.client import Client
from hostler.kubernetes.informer import Surroundings
from hostler.lab.harness.process import Incarnation, Process
from hostler.queries.live import EngineRecords
from hostler.requests.by_id import open_by_id

from .connection import Connection
from .runs import AGAIN, EachRun
from .site import NAMESPACE, Site

_NAMESPACES = Namespaces(home=NAMESPACE)


@dataclass(slots=True)
class Service:
    """The provider beside the process that lives; each of its runs has another one."""

    process: Process
    site: Site
    random: Random

    async def run(self) -> None:
        """Serve whatever run of the process there is, for ever."""
        await EachRun(self.process, self._serve).run()

    async def _serve(self, run: Incarnation) -> None:
        access = EngineAccess(run.ports.store, run.ports.clock, _NAMESPACES)
        (fleet,) = self.process.home.fleets
        while (found := await _opened(run, fleet)) is None:
            if run.gate.dead:
                return
            await asyncio.sleep(AGAIN)
        access.attach({FleetName(fleet.name): found})
        draw = Random(self.random.getrandbits(64)).random
        connection = Connection(self.site.gateway, passes=run.gate.pass_through)
        provider = ClusterApi(
            server=Client(session=connection),
            around=Surroundings(clock=run.ports.clock, draw=draw),
            engine=access,
            namespaces=_NAMESPACES,
        )
        try:
            await provider.run()
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
    return FleetAccess(machines=machines, live=live, hear=run.engine.hear)
