"""Cluster API: its infrastructure provider beside an engine, for as long as the process leads."""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager

from msgspec import Struct

from hostler.config.values import Config
from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Ports
from hostler.domain.ids import FleetName
from hostler.domain.model.fleet import FleetRow
from hostler.frontends.cli.context import Frontends
from hostler.frontends.kubernetes.clusterapi.engine import EngineAccess, FleetAccess
from hostler.frontends.kubernetes.clusterapi.names import ACTOR
from hostler.frontends.kubernetes.clusterapi.provider import ClusterApi
from hostler.frontends.kubernetes.connecting import Connected
from hostler.frontends.kubernetes.leading import while_leading
from hostler.kubernetes.informer import Surroundings
from hostler.queries.live import EngineRecords
from hostler.requests.by_id import open_by_id


class _Attached(Struct, frozen=True):
    """Frontends of which Cluster API's provider is one more."""

    others: Frontends
    access: EngineAccess

    async def attach(self, config: Config, ports: Ports, engine: object) -> None:
        """Answer from this engine from now on. Raises StoreError."""
        await self.others.attach(config, ports, engine)
        if isinstance(engine, Engine):
            self.access.attach(await fleets_of(engine, ports))


@asynccontextmanager
async def cluster_api(
    cluster: Connected, access: EngineAccess, frontends: Frontends, leads: Callable[[], bool]
) -> AsyncGenerator[Frontends]:
    """Serve Cluster API while the block lasts; gives the frontends with it among them."""
    clock = access.clock
    provider = ClusterApi(
        server=cluster.client,
        around=Surroundings(clock=clock, draw=random.random),
        engine=access,
        namespaces=access.namespaces,
    )
    async with asyncio.TaskGroup() as group:
        running = group.create_task(while_leading(provider.run, clock, leads))
        try:
            yield _Attached(frontends, access)
        finally:
            running.cancel()


async def fleets_of(engine: Engine, ports: Ports) -> Mapping[FleetName, FleetAccess]:
    """Return an engine's fleets as Cluster API's provider sees them. Raises StoreError."""
    found, store, clock = dict[FleetName, FleetAccess](), ports.store, ports.clock
    for loop in engine.loops:
        for fleet in loop.state.account.fleets:
            row = await store.add_fleet(FleetRow(name=fleet.name, created=clock.now()))
            live = EngineRecords(loop, fleet.name)
            machines = await open_by_id(
                fleet=fleet,
                live=live,
                store=store,
                clock=clock,
                actor=ACTOR,
                fresh=ports.fresh,
                row=row,
            )
            found[fleet.name] = FleetAccess(
                machines=machines,
                live=live,
                hear=engine.hear,
                hosts=live.hosts,
                current=live.is_current,
                capabilities=loop.state.account.provider.capabilities,
            )
    return found
