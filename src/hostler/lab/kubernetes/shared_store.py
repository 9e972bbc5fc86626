"""Shared store: records that lie beside the objects, in the API server that fails for both.

Engines reach it as they reach their objects: over the route of their process, and with the faults
of the API. Whoever judges them reads past all that.
"""

import asyncio
from datetime import timedelta

from msgspec import Struct

from hostler.domain.ids import InstallationId
from hostler.kubernetes.errors import Timeout, Unavailable
from hostler.kubernetes.session import Answer, Call, Session
from hostler.lab.harness.cluster_session import ClusterSession, request_of, teach
from hostler.lab.harness.process_run import ProcessRun
from hostler.lab.scenario.cluster_store import InCluster
from hostler.ports.clock import Clock
from hostler.ports.http import Response
from hostler.simulators.kubernetes.faults import WRITES
from hostler.simulators.kubernetes.gateway import Fate
from hostler.stores.kubernetes.definitions import definitions

from .routes import Route
from .simulated_cluster import SimulatedCluster
from .unheard import tell


class SharedStore(InCluster):
    """Implements `StorePlace` in the cluster of a run's objects."""

    def __init__(self, own: InstallationId, clock: Clock, cluster: SimulatedCluster) -> None:
        teach(cluster.server, definitions())
        self._cluster = cluster
        super().__init__(own, clock, server=cluster.server)

    def _session(self, run: ProcessRun | None) -> Session:
        if run is None:
            return self._at_hand()
        return _RunSession(self._cluster, _Writer(run, self, self._cluster.routes.of(run.name)))


class _Writer(Struct, frozen=True):
    """One run of an engine, the store that it writes to, and its way there."""

    run: ProcessRun
    store: SharedStore
    route: Route

    def missed(self) -> None:
        """Let the checker know what was saved, for the engine may never hear of it."""
        tell(self.run, self.store.tables())


class _RunSession(ClusterSession):
    """Sends the calls of one run of an engine; none of them waits, whatever becomes of it."""

    def __init__(self, cluster: SimulatedCluster, writer: _Writer) -> None:
        super().__init__(cluster.server)
        self._gateway, self._writer = cluster.gateway, writer

    async def send(self, call: Call, deadline: timedelta) -> Answer:
        """Send a call and return its whole answer; Unavailable or Timeout else."""
        del deadline
        if self._writer.run.gate.dead:
            raise asyncio.CancelledError
        text = f"{call.method} {call.path}"
        self._writer.route.check(text)
        reply = self._gateway.handle(request_of(call))
        if reply.fate is Fate.UNREACHABLE:
            raise Unavailable(f"{text}: no connection: Connection refused")
        heard = isinstance(reply.answer, Response) and reply.answer.status < _GATEWAY_TIMEOUT
        if call.method in WRITES and not heard:
            self._writer.missed()
        if reply.fate is Fate.HUNG:
            raise Timeout(f"{text}: no answer within the deadline", unknown=True)
        if not isinstance(reply.answer, Response):
            raise Unavailable(f"{text}: the connection was reset", unknown=True)
        return Answer(
            status=reply.answer.status,
            body=reply.answer.body,
            retry_after=reply.answer.header("Retry-After") or "",
        )


_GATEWAY_TIMEOUT = 504
