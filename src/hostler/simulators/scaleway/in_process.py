"""A world behind the HTTP port, in the same process, under any event loop's time."""

import asyncio
from datetime import timedelta

from hostler.ports.http import HttpRequest, NoAnswer, NotSent, Response

from .state.calls import Fate
from .world import World


class WorldTransport:
    """Sends requests to a world; implements `hostler.ports.http.Transport`.

    Waits for the world's latency by the running loop, simulated or not. `down` is our own network:
    while it is down nothing is sent, and what is on its way gets no answer.
    """

    def __init__(self, world: World, source: str = "") -> None:
        self._world = world
        self._source = source
        self._closed = False
        self.down = False

    async def send(self, request: HttpRequest, deadline: timedelta) -> Response:
        """Send once and return the answer within `deadline`; raise `NotSent` or `NoAnswer`.

        The effect, if there is one, has happened at once; only the answer takes its time.
        """
        if self._closed or self.down:
            raise NotSent("the transport is closed" if self._closed else "the network is down")
        reply = self._world.handle(request, self._source)
        limit = deadline.total_seconds()
        hung = reply.fate is Fate.HUNG or reply.delay > limit
        await asyncio.sleep(limit if hung else reply.delay)
        if hung or self.down:
            raise NoAnswer("the deadline has passed" if hung else "the network went down")
        if reply.response is None or reply.fate is not Fate.ANSWERED:
            raise NoAnswer(f"the connection broke: {reply.fate.value}")
        return reply.response

    async def close(self) -> None:
        """Send nothing any more."""
        self._closed = True
