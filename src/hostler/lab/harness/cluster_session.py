"""Calls of our client of Kubernetes that a fake API server answers in the same process."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from urllib.parse import unquote

import msgspec

from hostler.kubernetes.config import ClusterConfig
from hostler.kubernetes.credentials import FixedCredentials, Identity
from hostler.kubernetes.session import Answer, Call, Session
from hostler.ports.http import HttpRequest, Response
from hostler.simulators.kubernetes.server import KubernetesServer

Gate = Callable[[Call], Awaitable[None]]
"""What stands between client and server: it may wait, or raise what the client would."""

Manifest = dict[str, object]


async def passed(call: Call) -> None:
    """Let a call through at once."""
    del call


def request_of(call: Call, headers: tuple[tuple[str, str], ...] = ()) -> HttpRequest:
    """Return a call of our client as a server in the same process takes it."""
    return HttpRequest(
        method=call.method,
        path=unquote(call.path),
        query=call.query,
        headers=(("Content-Type", call.content_type), *headers),
        body=call.body,
    )


class ClusterSession(Session):
    """Sends calls to a server; `before` a call has its effect and `after` it something may happen.

    As long as neither waits, no call does. Watches are not served.
    """

    def __init__(
        self, server: KubernetesServer, before: Gate = passed, after: Gate = passed
    ) -> None:
        super().__init__(
            ClusterConfig(server="http://cluster", credentials=FixedCredentials(Identity()))
        )
        self.server, self.before, self.after = server, before, after
        self.calls = list[Call]()

    async def send(self, call: Call, deadline: timedelta) -> Answer:
        """Send a call and return its whole answer."""
        del deadline
        self.calls.append(call)
        await self.before(call)
        answer = self.server.handle(request_of(call))
        if not isinstance(answer, Response):
            raise TypeError(f"{call.path} is watched, which a cluster in the same process is not")
        await self.after(call)
        return Answer(status=answer.status, body=answer.body)

    @property
    def writes(self) -> list[Call]:
        """The calls that wrote."""
        return [call for call in self.calls if call.method != "GET"]


def teach(server: KubernetesServer, definitions: tuple[object, ...]) -> None:
    """Define kinds in a server; ValueError where it refuses one."""
    for definition in definitions:
        answer = server.handle(
            HttpRequest(
                method="POST",
                path="/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                headers=(("Content-Type", "application/json"),),
                body=msgspec.json.encode(definition),
            )
        )
        if not isinstance(answer, Response) or answer.status != 201:
            raise ValueError(f"the server refuses a kind: {answer!r}")
