"""Connection: our client's calls to a simulated server, in one process and in any loop's time."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta
from typing import Protocol

from hostler.kubernetes.errors import Timeout, Unavailable
from hostler.kubernetes.session import Answer, Call
from hostler.lab.harness.cluster_session import request_of
from hostler.ports.http import HttpRequest, Response
from hostler.simulators.kubernetes.gateway import Fate, Gateway, Reply
from hostler.simulators.kubernetes.reads.watches import Watch

from .routes import Route

LATENCY = 0.005
"""Seconds that a call takes on its way."""


class Passes(Protocol):
    """What stands before and after each call: there the process of its client may die."""

    async def __call__(self, port: str, *, before: bool) -> None:
        """Return, or be cancelled."""
        ...


async def free(port: str, *, before: bool) -> None:
    """Let every call pass."""
    del port, before


class Connection:
    """Sends calls through a gateway; implements `hostler.kubernetes.session.Transport`.

    The effect of a call, if it has one, comes half-way; only its answer takes the other half.
    """

    def __init__(
        self,
        gateway: Gateway,
        token: str = "",
        latency: float = LATENCY,
        passes: Passes = free,
        route: Route | None = None,
    ) -> None:
        self._gateway, self._token, self._latency = gateway, token, latency
        self._passes, self._route = passes, route or Route()
        self._watches: list[Watch] = []
        self._closed = False
        self._route.watched.append(self._break_off)
        self._route.silenced.append(self._be_silent)

    async def send(self, call: Call, deadline: timedelta) -> Answer:
        """Send a call and return its whole answer; Timeout or Unavailable else."""
        answer = await self._sent(call, deadline)
        if isinstance(answer, Watch):
            answer.end()
            raise Unavailable(f"{call.method} {call.path}: a watch where an answer was wanted")
        return _whole(answer)

    @asynccontextmanager
    async def streaming(
        self, call: Call, opening: timedelta
    ) -> AsyncGenerator[Answer | AsyncIterator[bytes]]:
        """Send a call; give the lines of its watch as they come, or the whole of a refusal."""
        answer = await self._sent(call, opening)
        if isinstance(answer, Response):
            yield _whole(answer)
            return
        self._watches.append(answer)
        try:
            async with aclosing(_lines(call, answer)) as lines:
                yield lines
        finally:
            answer.end()
            self._watches.remove(answer)

    async def close(self) -> None:
        """Send nothing any more; break off what is watched."""
        self._closed = True
        self._break_off()
        if self._break_off in self._route.watched:
            self._route.watched.remove(self._break_off)
            self._route.silenced.remove(self._be_silent)

    def _break_off(self) -> None:
        for watch in self._watches:
            watch.break_off()

    def _be_silent(self) -> None:
        for watch in self._watches:
            watch.silent = True

    async def _sent(self, call: Call, deadline: timedelta) -> Response | Watch:
        if self._closed:
            raise Unavailable("the connections to the API server were closed")
        await asyncio.sleep(self._latency / 2)
        await self._passes("kubernetes", before=True)
        self._route.check(f"{call.method} {call.path}")
        reply = self._gateway.handle(self._request(call))
        await self._passes("kubernetes", before=False)
        await asyncio.sleep(self._latency / 2)
        return await _arrived(call, reply, deadline)

    def _request(self, call: Call) -> HttpRequest:
        headers = [("User-Agent", "hostler/simulated")]
        if self._token:
            headers.append(("Authorization", f"Bearer {self._token}"))
        return request_of(call, tuple(headers))


async def _arrived(call: Call, reply: Reply, deadline: timedelta) -> Response | Watch:
    """Return what the client gets of a reply, or what it believes of none."""
    text = f"{call.method} {call.path}"
    if reply.fate is Fate.UNREACHABLE:
        raise Unavailable(f"{text}: no connection: Connection refused")
    if reply.fate is Fate.HUNG:
        await asyncio.sleep(deadline.total_seconds())
        raise Timeout(f"{text}: no answer within the deadline", unknown=True)
    if reply.answer is None:
        raise Unavailable(f"{text}: the connection was reset", unknown=True)
    return reply.answer


async def _lines(call: Call, watch: Watch) -> AsyncGenerator[bytes]:
    async with aclosing(watch.frames()) as frames:
        async for frame in frames:
            yield frame
    if watch.cut:
        raise Unavailable(f"{call.method} {call.path}: the connection was reset")


def _whole(response: Response) -> Answer:
    return Answer(
        status=response.status,
        body=response.body,
        retry_after=response.header("Retry-After") or "",
    )
