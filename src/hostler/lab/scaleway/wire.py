"""The wire: real HTTP to the simulated Scaleway, over pipes inside the simulated loop.

The client's connections, its codec and its timeouts are those of production; the server's half is
the simulator's own, with the fates of its answers as real behaviour of the connection.
"""

import asyncio
from datetime import timedelta
from email.utils import format_datetime

from aiohttp import web

from hostler.ports.http import HttpRequest, NoAnswer, NotSent, Response
from hostler.providers.scaleway.common.transport import AiohttpTransport
from hostler.simulators.scaleway.http import PATIENCE, carried_out, read
from hostler.simulators.scaleway.state.calls import Fate
from hostler.simulators.scaleway.world import World
from hostler.testing.time.clock import BEGINNING
from hostler.testing.time.loop import SimLoop

_FIRST_PORT = 8100


class WiredTransport:
    """The real transport to a world; implements `hostler.ports.http.Transport`.

    `down` is our own network: while it is down nothing is sent, and what is on its way gets no
    answer.
    """

    def __init__(self, world: World, source: str, loop: SimLoop) -> None:
        self._world, self._source, self._loop = world, source, loop
        self.down = False
        port = _FIRST_PORT + len(loop.listeners)
        loop.listeners["127.0.0.1", port] = web.Server(
            self._answer, access_log=None, handler_cancellation=True, loop=loop
        )
        self._inner = AiohttpTransport(f"http://127.0.0.1:{port}")

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

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        reply = self._world.handle(await read(request), self._source)
        await asyncio.sleep(PATIENCE if reply.fate is Fate.HUNG else reply.delay)
        answer = await carried_out(request, reply)
        if not answer.prepared:
            now = BEGINNING + timedelta(seconds=self._loop.time())
            answer.headers.setdefault("Date", format_datetime(now, usegmt=True))
        return answer
