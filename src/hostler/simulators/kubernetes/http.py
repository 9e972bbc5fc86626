"""A server behind a loopback socket, with what a client needs to find it."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec
from aiohttp import web
from msgspec import Struct

from hostler.ports.http import HttpRequest

from .access import MASTERS, User
from .gateway import Fate, Gateway
from .reads.watches import Watch
from .server import KubernetesServer

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
PATIENCE = 120.0  # real seconds after which a hung connection is broken
ADMIN, STRANGER = "admin", "stranger"


class Served(Struct, frozen=True):
    """A server that is reached at `url`, by way of its gateway, where faults are."""

    server: KubernetesServer
    gateway: Gateway
    url: str

    def kubeconfig(self, user: str = ADMIN, namespace: str = "default") -> bytes:
        """Return a kubeconfig with one context, as whom a token stands for: admin, stranger, …."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "fake", "cluster": {"server": self.url}}],
            "users": [{"name": user, "user": {"token": user}}],
            "contexts": [
                {
                    "name": user,
                    "context": {"cluster": "fake", "user": user, "namespace": namespace},
                }
            ],
            "current-context": user,
        }
        return msgspec.json.encode(config)  # which is YAML


@asynccontextmanager
async def serve(server: KubernetesServer, port: int = 0) -> AsyncGenerator[Served]:
    """Serve on loopback until the block is left; the token `admin` may do everything."""
    server.access.grant(ADMIN, User("admin", (MASTERS,)))
    server.access.grant(STRANGER, User("stranger"))
    application = web.Application(client_max_size=8 << 20)
    gateway = Gateway(server)
    application.router.add_route("*", "/{path:.*}", _handler(gateway))
    runner = web.AppRunner(
        application, access_log=None, handler_cancellation=True, shutdown_timeout=0.2
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield Served(server, gateway, f"http://127.0.0.1:{runner.addresses[0][1]}")
    finally:
        for watch in server.watches:
            watch.end()
        await runner.cleanup()


def _handler(gateway: Gateway) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        reply = gateway.handle(await _read(request))
        answer = reply.answer
        if answer is None:
            return await _lost(request, reply.fate)
        if isinstance(answer, Watch):
            return await _streamed(request, answer)
        response = web.Response(status=answer.status, body=answer.body)
        response.headers.update(dict(answer.headers))
        return response

    return handle


async def _lost(request: web.Request, fate: Fate) -> web.StreamResponse:
    """Break the connection, at once or when the client has lost its patience."""
    if fate is Fate.HUNG:
        await asyncio.sleep(PATIENCE)  # cancelled when the client leaves
    if request.transport is not None:
        request.transport.abort()
    return web.StreamResponse()


async def _read(request: web.Request) -> HttpRequest:
    return HttpRequest(
        method=request.method,
        path=request.path,
        query=tuple(request.query.items()),
        headers=tuple(request.headers.items()),
        body=await request.read(),
    )


async def _streamed(request: web.Request, watch: Watch) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    try:
        async for frame in watch.frames():
            await response.write(frame)
    except ConnectionError:
        watch.end()
    if watch.cut and request.transport is not None:
        request.transport.abort()
    return response
