"""A scripted API server on loopback: it expects requests in order, and a stray one fails."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from aiohttp import web

from hostler.kubernetes.client import Client
from hostler.kubernetes.config import ClusterConfig
from hostler.kubernetes.credentials import Credentials, FixedCredentials, Identity
from hostler.kubernetes.objects import Metadata, Object
from hostler.kubernetes.resources import Resource
from hostler.kubernetes.session import Session
from hostler.ports.secret import Secret

TOKEN = "token-that-nobody-may-see"
Box = Object[Mapping[str, object], Mapping[str, object]]
BOXES = Resource(group="example.com", version="v1", plural="boxes", kind="Box", model=Box)
LONG = timedelta(seconds=20)
PATH = "/apis/example.com/v1/namespaces/ns/boxes"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Seen:
    """One request that was answered."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Script:
    """What is still to come, what came, and what nobody expected."""

    expected: list[tuple[str, str, Handler]]
    seen: list[Seen] = field(default_factory=list[Seen])
    strays: list[str] = field(default_factory=list[str])

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        line = f"{request.method} {request.path}"
        if not self.expected or self.expected[0][:2] != (request.method, request.path):
            self.strays.append(line)
            return web.Response(status=418)
        handler = self.expected.pop(0)[2]
        query, headers = dict(request.query), dict(request.headers)
        self.seen.append(Seen(request.method, request.path, query, headers, body))
        return await handler(request)


def answer(body: object, status: int = 200, **headers: str) -> Handler:
    async def handle(_: web.Request) -> web.StreamResponse:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.json_response(body, status=status, headers=names)

    return handle


def text(body: str, status: int = 200, content_type: str = "text/plain") -> Handler:
    async def handle(_: web.Request) -> web.StreamResponse:
        return web.Response(text=body, status=status, content_type=content_type)

    return handle


def refusal(code: int, reason: str, name: str = "b", **more: object) -> Handler:
    return answer(status_of(code, reason, name, **more), code)


def status_of(code: int, reason: str, name: str = "b", **more: object) -> dict[str, object]:
    details = {"name": name, "kind": "boxes", **more}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"boxes: {reason}",
        "reason": reason,
        "code": code,
        "details": details,
    }


def stream(*pieces: bytes, hang: bool = False, cut: bool = False) -> Handler:
    """Send pieces of a watch; then end, hang, or break the connection."""

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
            await asyncio.sleep(0)
        if cut:
            assert request.transport is not None
            request.transport.abort()
        if hang:  # until the client goes away, or the server ends
            await asyncio.get_running_loop().create_future()
        return response

    return handle


def box(name: str, version: str, uid: str = "", **spec: object) -> dict[str, object]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Box",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": uid or f"uid-{name}",
            "resourceVersion": version,
            "managedFields": [{"manager": "somebody", "fieldsV1": {"f:spec": {}}}],
        },
        "spec": spec,
    }


def line(kind: str, item: Mapping[str, object]) -> bytes:
    return json.dumps({"type": kind, "object": item}).encode() + b"\n"


def bookmark(version: str, *, complete: bool = False) -> bytes:
    annotations = {"k8s.io/initial-events-end": "true"} if complete else {}
    metadata = {"resourceVersion": version, "annotations": annotations}
    return line("BOOKMARK", {"kind": "Box", "apiVersion": "example.com/v1", "metadata": metadata})


def page(items: Sequence[object], version: str, further: str = "") -> dict[str, object]:
    metadata = {"resourceVersion": version, "continue": further}
    return {"kind": "BoxList", "apiVersion": "example.com/v1", "metadata": metadata, "items": items}


def item(name: str = "b", version: str = "") -> Box:
    return Box(
        metadata=Metadata(name=name, namespace="ns", resource_version=version), spec={"n": 1}
    )


@contextlib.asynccontextmanager
async def scripted(
    *expected: tuple[str, str, Handler],
    credentials: Credentials | None = None,
    deadline: timedelta = LONG,
) -> AsyncGenerator[tuple[Client, Script]]:
    """Serve these exchanges; afterwards all were made, and no other was tried."""
    script = Script(list(expected))
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", script.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    fixed = FixedCredentials(Identity(token=Secret(TOKEN)))
    config = ClusterConfig(server=f"http://{host}:{port}", credentials=credentials or fixed)
    session = Session(config)
    try:
        yield Client(session=session, deadline=deadline), script
        assert script.strays == []
        assert [entry[:2] for entry in script.expected] == []
    finally:
        await session.close()
        await runner.cleanup()
