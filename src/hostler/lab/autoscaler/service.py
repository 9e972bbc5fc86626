"""Service: what serves Cluster Autoscaler in each run of the engine's process."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from grpclib.const import Handler

from hostler.config.node_tables import NodeTable
from hostler.domain.errors import StoreError
from hostler.domain.model.fleet import Fleet
from hostler.frontends.externalgrpc.group import NodeGroup, open_group
from hostler.frontends.externalgrpc.service import CloudProvider
from hostler.lab.harness.process import Incarnation, Process
from hostler.queries.live import EngineRecords

_AGAIN, _READS = 1.0, 3.0
"""How often a run is looked for, and how long one reads its records, in seconds."""


@dataclass(slots=True)
class Service:
    """The service of the process that lives; each of its runs has another one."""

    process: Process
    node: NodeTable
    _run: Incarnation | None = None
    _handlers: Mapping[str, Handler] = field(default_factory=dict[str, Handler])

    def handlers(self) -> Mapping[str, Handler]:
        """Return what answers calls now, by path; none where the process does not run."""
        listens = self.process.alive and self.process.incarnation is self._run
        return self._handlers if listens else {}

    async def run(self) -> None:
        """Serve whatever run of the process there is, for ever."""
        while True:
            run = self.process.incarnation
            if run is not None and run is not self._run:
                await self._serve(run)
            await asyncio.sleep(_AGAIN)

    async def _serve(self, run: Incarnation) -> None:
        """Listen at once, and answer as soon as the records are read, as the program does."""
        provider = CloudProvider()
        self._run, self._handlers = run, provider.__mapping__()
        (fleet,) = self.process.home.fleets
        live = EngineRecords(run.engine.loops[0], fleet.name)
        await asyncio.sleep(_READS)
        while (group := await _opened(run, fleet, self.node, live)) is None:
            if run.gate.dead:
                return
            await asyncio.sleep(_AGAIN)
        provider.attach([group])


async def _opened(
    run: Incarnation, fleet: Fleet, node: NodeTable, live: EngineRecords
) -> NodeGroup | None:
    """Return the group of a run; None where its records cannot be read now."""
    try:
        return await open_group(fleet, node, live, run.ports, run.engine.hear)
    except StoreError:
        return None
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if not run.gate.dead or task is None or task.cancelling():
            raise
        return None
