"""Simulated cluster: an API server behind a gateway, and what others than we write in it."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any, Protocol

import msgspec

from hostler.lab.scenario.faults import Disruption
from hostler.ports.clock import Clock
from hostler.ports.http import HttpRequest, Response
from hostler.simulators.kubernetes.faults import Faults
from hostler.simulators.kubernetes.gateway import Gateway, Reply
from hostler.simulators.kubernetes.server import KubernetesServer
from hostler.stores.kubernetes.kinds import JOURNALS, PARTS
from hostler.testing.time.loop import SimLoop

from . import faults, routes

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_MERGE = "application/merge-patch+json"
Raw = dict[str, Any]


_OF_LEASES = frozenset({"leases", PARTS.plural, JOURNALS.plural})


class Witness(Protocol):
    """Who sees each call of ours."""

    def before(self, request: HttpRequest) -> None:
        """See a call that is about to arrive, if it does."""
        ...

    def after(self, request: HttpRequest, reply: Reply) -> None:
        """See what it did, and what its client gets of that."""
        ...


class _Gateway(Gateway):
    """A gateway that tells what is written on objects from what is written on leases and stores."""

    _apart = 0
    witness: Witness | None = None

    @property
    def revision(self) -> int:
        """How often anything was written, but for leases and stores."""
        return self.server.cluster.storage.revision - self._apart

    @contextmanager
    def aside(self) -> Generator[None]:
        """Count nothing that is written meanwhile."""
        before = self.server.cluster.storage.revision
        try:
            yield
        finally:
            self._apart += self.server.cluster.storage.revision - before

    def handle(self, request: HttpRequest) -> Reply:
        """Carry a call, with the fault that strikes it."""
        before, writes = self.server.cluster.storage.revision, self.writes
        if self.witness is not None:
            self.witness.before(request)
        reply = super().handle(request)
        if self.witness is not None:
            self.witness.after(request, reply)
        if not _OF_LEASES.isdisjoint(request.path.split("/")[-2:]):
            self._apart += self.server.cluster.storage.revision - before
            self.writes = writes
        return reply


class SimulatedCluster:
    """One cluster; what others write comes without any fault: their calls are not judged."""

    def __init__(self, clock: Clock, random: Random) -> None:
        self.server = KubernetesServer(clock, random)
        self.gateway = _Gateway(self.server, Faults(random))
        self.routes = routes.Routes()

    @property
    def written(self) -> tuple[int, int]:
        """How often anything was written, and how often we asked for it, changed or not.

        Leases are renewed for ever, and their store is written with them: that counts for neither.
        """
        return self.gateway.revision, self.gateway.writes

    @contextmanager
    def aside(self) -> Generator[None]:
        """Count nothing that is written meanwhile: the cluster's own parts write all the time."""
        with self.gateway.aside():
            yield

    def strike(self, disruption: Disruption, loop: SimLoop) -> bool:
        """Let the way to the server, or its memory, fail; tell whether it is one of these."""
        match disruption.fault:
            case faults.CUT:
                self.gateway.cut_watches()
            case faults.COMPACTED:
                self.server.cluster.storage.compact()
                self.gateway.cut_watches()
            case faults.DOWN:
                self.gateway.take_down()
                loop.call_later(disruption.length, self.gateway.bring_up)
            case routes.CUT_OFF:
                self._cut_off(disruption, loop)
            case routes.UNHEARD:
                if (route := self.routes.chosen(disruption.who)) is not None:
                    route.silence()
            case _:
                return False
        return True

    def _cut_off(self, disruption: Disruption, loop: SimLoop) -> None:
        """Cut the way of one process to the server for a while, if there is any."""
        if (route := self.routes.chosen(disruption.who)) is not None:
            route.cut()
            loop.call_later(disruption.length, route.mend)

    def calm(self) -> None:
        """Let all calls arrive and be answered."""
        self.gateway.faults.rates = {}
        self.gateway.bring_up()
        self.routes.mend()

    def make_namespace(self, name: str) -> None:
        """Make a namespace."""
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        self.must("POST", "/api/v1/namespaces", space)

    def must(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Raw:
        """Return what a call brings; AssertionError where the server refuses it."""
        answer = self.ask(method, path, body)
        if not 200 <= answer.status < 300:
            raise AssertionError(f"{method} {path}: {answer.body.decode()}")
        return msgspec.json.decode(answer.body, type=dict[str, Any])

    def ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Response:
        """Return the answer to a call; patches are merged."""
        kind = _MERGE if method == "PATCH" else "application/json"
        answer = self.server.handle(
            HttpRequest(
                method=method,
                path=path,
                headers=(("Content-Type", kind), ("User-Agent", "core/1")),
                body=b"" if body is None else msgspec.json.encode(body),
            )
        )
        if not isinstance(answer, Response):
            raise TypeError(f"{method} {path} is a watch")
        return answer
