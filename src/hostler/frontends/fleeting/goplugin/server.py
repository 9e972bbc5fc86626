"""Server: gRPC over a listening socket, on grpclib's HTTP/2: what arrives goes to a route by path.

Grpclib's own server takes fixed methods and writes each message of a stream by itself. This one
also answers methods that nobody declared, and writes all messages of an answer together: a thousand
instances in one go instead of a thousand (docs/decisions/0008).
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine
from contextlib import suppress

from grpclib.config import Configuration
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from grpclib.metadata import Deadline
from grpclib.protocol import AbstractHandler, H2Protocol, Stream
from h2.config import H2Configuration
from h2.errors import ErrorCodes
from h2.exceptions import H2Error

from .exchange import Exchange, Route
from .logging.hostlog import HostLog

Release = Callable[[], None]
Headers = list[tuple[str, str]]
Routes = Callable[[str], Route]
"""Gives the route of a path; every path has one, if only to say that it is not there."""

_STEP = 0.005

_HTTP2 = H2Configuration(
    client_side=False,
    header_encoding="utf-8",
    validate_inbound_headers=False,
    validate_outbound_headers=False,
    normalize_inbound_headers=False,
    normalize_outbound_headers=False,
)


class Server:
    """Answers whoever connects to a socket, each call in a task of its own."""

    def __init__(self, routes: Routes, tasks: asyncio.TaskGroup, log: HostLog) -> None:
        self._routes = routes
        self._tasks = tasks
        self._log = log
        self._server: asyncio.Server | None = None
        self._connections = set[_Connection]()

    async def start(self, listening: socket.socket, tls: ssl.SSLContext | None) -> None:
        """Accept connections, also those that wait already."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(self._protocol, sock=listening, ssl=tls)

    async def left(self, seconds: float) -> None:
        """Accept no more, and wait for callers to hang up, but no longer than this."""
        if self._server is not None:
            self._server.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._connections:  # noqa: ASYNC110 - they are few, and it is the end
                    await asyncio.sleep(_STEP)

    def close(self) -> None:
        """Accept no more, and cancel what runs; answers that were given are still delivered."""
        if self._server is not None:
            self._server.close()
        for connection in tuple(self._connections):
            connection.processor.close("the plugin ends")

    def _protocol(self) -> H2Protocol:
        return _Connection(_Running(self._answer, self._tasks), self._connections)

    async def _answer(self, stream: Stream, headers: Headers, release: Release) -> None:
        """Answer one call; whatever goes wrong ends this call only."""
        try:
            await self._route(Exchange(stream), headers)
        except (H2Error, ConnectionError) as error:
            self._log.event("debug", "a caller went away before its answer", why=repr(error))
        except Exception as error:  # noqa: BLE001 - the edge of a call: the plugin lives on
            self._log.failure("this is a bug in hostler: a call ended without an answer", error)
            if stream.closable:
                stream.reset_nowait(ErrorCodes.INTERNAL_ERROR)
        finally:
            with suppress(Exception):  # a connection that is gone has nothing to release
                release()

    async def _route(self, exchange: Exchange, headers: Headers) -> None:
        """Run the route of a path, for as long as its caller waits, and end the call."""
        try:
            path, seconds = _asked(headers)
            async with asyncio.timeout(seconds):
                await self._routes(path)(exchange)
        except GRPCError as error:
            await exchange.end(error.status, error.message or "")
        except TimeoutError:
            await exchange.end(Status.DEADLINE_EXCEEDED, "not answered before the deadline")
        else:
            await exchange.end()


def _asked(headers: Headers) -> tuple[str, float | None]:
    """Return the path that is called and the seconds that its caller waits; None is for ever."""
    found = dict(headers)
    if not found.get("content-type", "").startswith("application/grpc"):
        raise GRPCError(Status.UNKNOWN, "this is a gRPC server, and that is no gRPC call")
    try:
        deadline = Deadline.from_headers(headers)
    except ValueError as error:
        raise GRPCError(Status.INTERNAL, "malformed grpc-timeout") from error
    return found.get(":path", ""), None if deadline is None else deadline.time_remaining()


class _Running(AbstractHandler):
    """The calls of one connection, as grpclib's HTTP/2 hands them over."""

    def __init__(
        self,
        answer: Callable[[Stream, Headers, Release], Coroutine[object, object, None]],
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._answer = answer
        self._tasks = tasks
        self._running = dict[Stream, asyncio.Task[None]]()

    def accept(self, stream: Stream, headers: Headers, release_stream: Release) -> None:
        """Begin a call."""
        task = self._tasks.create_task(self._answer(stream, headers, release_stream))
        self._running[stream] = task
        task.add_done_callback(lambda _: self._running.pop(stream, None))

    def cancel(self, stream: Stream) -> None:
        """End a call that its caller gave up."""
        if task := self._running.get(stream):
            task.cancel()

    def close(self) -> None:
        """End every call: the connection is lost."""
        for task in tuple(self._running.values()):
            task.cancel()


class _Connection(H2Protocol):
    """A connection that is known for as long as it is there; TLS that fails never is."""

    def __init__(self, running: _Running, known: "set[_Connection]") -> None:
        super().__init__(running, Configuration().__for_server__(), _HTTP2)
        self._known = known

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        super().connection_made(transport)
        self._known.add(self)

    def connection_lost(self, exc: BaseException | None) -> None:
        """End every call."""
        self._known.discard(self)
        super().connection_lost(exc)
