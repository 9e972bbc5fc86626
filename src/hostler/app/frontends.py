"""Frontends of an engine: what other programs ask of it, while it runs and over its restarts.

What is served stays open while the fleet file is read again: whoever asks is answered from the
records of the engine before, until the next one has read them.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import structlog

from hostler.config.values import Config
from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Ports
from hostler.frontends.externalgrpc.group import NodeGroup, open_group
from hostler.frontends.externalgrpc.serve import serving
from hostler.frontends.externalgrpc.service import CloudProvider
from hostler.queries.live import EngineRecords

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler")


@dataclass(slots=True)
class EngineFrontends:
    """What is served; `attach` gives it the engine that has the records from now on."""

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
            groups.append(await open_group(fleet, asked.node, live, ports, engine.hear))
        self.provider.attach(groups)


@asynccontextmanager
async def frontends(config: Config) -> AsyncGenerator[EngineFrontends]:
    """Serve what the file asks for until the block ends; ConfigError where it cannot be."""
    served = EngineFrontends()
    if config.externalgrpc is None:
        yield served
        return
    async with serving(config.externalgrpc, config.folder, served.provider) as listen:
        log.info("serving Cluster Autoscaler", listen=f"{listen.host}:{listen.port}")
        yield served
