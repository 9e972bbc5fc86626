"""The wire: real HTTP to the simulated Scaleway, over pipes inside the simulated loop.

The client's connections, its codec and its timeouts are those of production; the server's half is
the simulator's own, with the fates of its answers as real behaviour of the connection.
"""

import asyncio
from datetime import timedelta
from email.utils import format_datetime

from aiohttp import web

from hostler.ports.http import HttpRequest, NoAnswer, NotSent, Response, Transport
from hostler.simulators.scaleway.http import PATIENCE, carried_out, read
from hostler.simulators.scaleway.state.calls import Fate
from hostler.simulators.scaleway.world import World
from hostler.testing.time.clock import BEGINNING
from hostler.testing.time.loop import SimLoop

_FIRST_PORT = 8100


def serve(world: World, source: str, loop: SimLoop) -> str:
    """Let a world listen in the loop, for requests from one source; return its endpoint."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        reply = world.handle(await read(request), source)
        await asyncio.sleep(PATIENCE if reply.fate is Fate.HUNG else reply.delay)
        answered = await carried_out(request, reply)
        if not answered.prepared:
            now = BEGINNING + timedelta(seconds=loop.time())
            answered.headers.setdefault("Date", format_datetime(now, usegmt=True))
        return answered

    port = _FIRST_PORT + len(loop.listeners)
    server = web.Server(answer, access_log=None, handler_cancellation=True, loop=loop)
    loop.listeners["127.0.0.1", port] = server
    return f"http://127.0.0.1:{port}"


class Cable:
    """A transport that ends where our own network is down; implements `Transport`.

    While it is `down` nothing is sent, and what is on its way gets no answer.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.down = False

    async def send(self, request: HttpRequest, deadline: timedelta) -> Response:
        """Send once and return the answer within `deadline`; raise `NotSent` or `NoAnswer`."""
        if self.down:
            raise NotSent("the network is down")
        response = await self._inner.send(request, deadline)
        if self.down:
            raise NoAnswer("the network went down")
        return response

    async def close(self) -> None:
        """Close the connections."""
        await self._inner.close()
