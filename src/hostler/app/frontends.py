"""Frontends of an engine: what other programs ask of it, while it runs and over its restarts.

What is served stays open while the fleet file is read again: whoever asks is answered from the
records of the engine before, until the next one has read them.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import structlog

from hostler.config.values import Config
from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Ports
from hostler.domain.ids import FleetName
from hostler.frontends.externalgrpc.group import NodeGroup, open_group
from hostler.frontends.externalgrpc.serve import serving
from hostler.frontends.externalgrpc.service import CloudProvider
from hostler.queries.live import EngineRecords

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler")


@dataclass(slots=True)
class EngineFrontends:
    """What is served; `attach` gives it the engine that has the records from now on.

    `sizes` says what Pods get on the Nodes of a fleet, as far as somebody learnt that.
    """

    sizes: Callable[[FleetName], Mapping[str, str]]
    provider: CloudProvider = field(default_factory=CloudProvider)

    async def attach(self, config: Config, ports: Ports, engine: object) -> None:
        """Answer from this engine. Raises StoreError."""
        if not isinstance(engine, Engine) or config.externalgrpc is None:
            return
        groups = list[NodeGroup]()
        for asked in config.externalgrpc.groups:
            fleet = config.fleet(asked.fleet)
            (loop,) = (one for one in engine.loops if fleet in one.state.account.fleets)
            live = EngineRecords(loop, fleet.name)
            learnt = partial(self.sizes, fleet.name)
            group = await open_group(fleet, asked.node, live, ports, engine.hear, learnt=learnt)
            groups.append(group)
        self.provider.attach(groups)


@asynccontextmanager
async def frontends(
    config: Config, sizes: Callable[[FleetName], Mapping[str, str]]
) -> AsyncGenerator[EngineFrontends]:
    """Serve what the file asks for until the block ends; ConfigError where it cannot be."""
    served = EngineFrontends(sizes)
    if config.externalgrpc is None:
        yield served
        return
    async with serving(config.externalgrpc, config.folder, served.provider) as listen:
        log.info("serving Cluster Autoscaler", listen=f"{listen.host}:{listen.port}")
        yield served
