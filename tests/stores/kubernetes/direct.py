"""A client of the fake API server without a socket between them, which may be cut at any call."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from urllib.parse import unquote

import msgspec

from hostler.kubernetes.client import Client
from hostler.kubernetes.config import ClusterConfig
from hostler.kubernetes.credentials import FixedCredentials, Identity
from hostler.kubernetes.errors import Unavailable
from hostler.kubernetes.session import Answer, Call, Session
from hostler.ports.clock import Clock
from hostler.ports.http import HttpRequest, Response
from hostler.simulators.kubernetes.server import KubernetesServer
from hostler.stores.kubernetes.batches import Batches, Writing
from hostler.stores.kubernetes.definitions import definitions
from hostler.stores.kubernetes.objects import Objects
from hostler.stores.kubernetes.store import KubernetesStore

NAMESPACE, NAME = "default", "hostler"


def passed(call: Call) -> None:
    """Let a call through."""
    del call


@dataclass(eq=False)
class Direct(Session):
    """Calls that the server answers at once; `before` and `after` may raise, or wait."""

    server: KubernetesServer
    before: Callable[[Call], object] = passed
    after: Callable[[Call], object] = passed
    calls: list[Call] = field(default_factory=list[Call])

    def __post_init__(self) -> None:
        super().__init__(
            ClusterConfig(server="http://fake", credentials=FixedCredentials(Identity()))
        )

    async def send(self, call: Call, deadline: timedelta) -> Answer:
        del deadline
        await asyncio.sleep(0)
        self.calls.append(call)
        await _awaited(self.before(call))
        request = HttpRequest(
            method=call.method,
            path=unquote(call.path),
            query=call.query,
            headers=(("Content-Type", call.content_type),),
            body=call.body,
        )
        answer = self.server.handle(request)
        assert isinstance(answer, Response)
        await _awaited(self.after(call))
        return Answer(status=answer.status, body=answer.body)

    @property
    def writes(self) -> list[Call]:
        """The calls that wrote."""
        return [call for call in self.calls if call.method != "GET"]


async def _awaited(value: object) -> None:
    if hasattr(value, "__await__"):
        await value  # type: ignore[misc] - it has just been looked at


def lost(call: Call) -> None:
    """Lose a call or its answer."""
    raise Unavailable(f"{call.method} {call.path}: lost", unknown=True)


def cluster(clock: Clock) -> KubernetesServer:
    """Return a server that knows the store's kinds."""
    server = KubernetesServer(clock, Random(1))
    for definition in definitions():
        answer = server.handle(
            HttpRequest(
                method="POST",
                path="/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                headers=(("Content-Type", "application/json"),),
                body=msgspec.json.encode(definition),
            )
        )
        assert isinstance(answer, Response)
        assert answer.status == 201, answer.body
    return server


def opened(
    session: Session, clock: Clock, writer: str, installation: str | None = "i-own"
) -> KubernetesStore:
    """Return a handle of the store in the server's cluster."""
    objects = Objects(client=Client(session=session), namespace=NAMESPACE, name=NAME)
    random = Random(writer)
    return KubernetesStore(
        Batches(
            objects,
            Writing(writer=writer, installation=installation, clock=clock, draw=random.random),
        )
    )
