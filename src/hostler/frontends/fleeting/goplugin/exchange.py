"""Exchange: one gRPC call on its HTTP/2 stream, and the handlers that answer methods.

A handler's refusal reaches the operator as a Go plugin's error would: status UNKNOWN with its text.
Anything else that it raises is our own fault: it is logged whole, answered in short, and the plugin
lives on, for nobody would start it again.
"""

import struct
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager

from google.protobuf.message import DecodeError, Message
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from grpclib.metadata import encode_grpc_message
from grpclib.protocol import Stream

from hostler.frontends.fleeting.contract import Method, Refused

from .logging.hostlog import HostLog

LARGEST = 64 * 1024 * 1024
"""Bytes of a request that are taken; the largest that is expected names every instance's id."""

_PREFIX = struct.Struct(">BI")
_LONGEST_TEXT = 8_000
_BEGINNING = [(":status", "200"), ("content-type", "application/grpc")]


class Exchange:
    """What a route has of a call."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._begun = False

    async def request(self) -> bytes:
        """Return the next message of the request, empty where the caller sends no more."""
        prefix = await self._read(_PREFIX.size)
        if not prefix:
            return b""
        compressed, size = _PREFIX.unpack(prefix)
        if compressed:
            raise GRPCError(Status.UNIMPLEMENTED, "compressed messages are not spoken here")
        if size > LARGEST:
            raise GRPCError(Status.RESOURCE_EXHAUSTED, f"a message of {size} bytes is too large")
        return await self._read(size)

    async def _read(self, size: int) -> bytes:
        try:
            return await self._stream.recv_data(size)
        except AssertionError as error:  # grpclib's word for fewer bytes than that
            raise GRPCError(Status.INTERNAL, "the request was cut short") from error

    async def answer(self, messages: Iterable[bytes]) -> None:
        """Write messages of the answer, all together."""
        data = b"".join(_PREFIX.pack(0, len(message)) + message for message in messages)
        await self._begin()
        if data:
            await self._stream.send_data(data)

    async def end(self, status: Status = Status.OK, text: str = "") -> None:
        """Write the end of the answer; a caller that still sends is told to stop."""
        headers = [] if self._begun else list(_BEGINNING)
        headers.append(("grpc-status", str(status.value)))
        if text:
            headers.append(("grpc-message", encode_grpc_message(text[:_LONGEST_TEXT])))
        await self._stream.send_headers(headers, end_stream=True)
        if status is not Status.OK and self._stream.closable:
            self._stream.reset_nowait()

    async def _begin(self) -> None:
        if not self._begun:
            await self._stream.send_headers(list(_BEGINNING))
            self._begun = True


Route = Callable[[Exchange], Awaitable[None]]
"""Answers one call, short of its end; GRPCError says with what status it ends otherwise."""


class Calls:
    """Counts calls, so that a signal can wait for them."""

    def __init__(self, log: HostLog) -> None:
        self._log = log
        self.running = 0
        self.begun = 0

    @contextmanager
    def counted(self) -> Generator[None]:
        """Count a call for as long as the block lasts."""
        self.begun += 1
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1

    async def answer(self, method: Method, exchange: Exchange) -> None:
        """Answer a call of this method."""
        await exchange.answer(await self._replies(method, await exchange.request()))

    async def _replies(self, method: Method, request: bytes) -> Sequence[bytes]:
        try:
            replies = await method.handle(_decoded(method, request))
            return _encoded(method, replies)
        except Refused as refused:
            self._log.event("debug", "a call was refused", method=method.path, why=str(refused))
            raise GRPCError(Status.UNKNOWN, str(refused) or "refused") from refused
        except GRPCError:
            raise
        except (Exception, SystemExit) as error:
            self._log.failure("this is a bug in hostler: a call failed", error, method=method.path)
            text = f"this is a bug in hostler: {type(error).__name__} in {method.path}"
            raise GRPCError(Status.INTERNAL, text) from error


def _decoded(method: Method, request: bytes) -> Message:
    """Return a request; INTERNAL, as a Go plugin has it, for bytes that are none.

    That is no fault of ours: its sender speaks another schema, or something between us cut it.
    """
    try:
        return method.request.FromString(request)
    except (DecodeError, UnicodeDecodeError) as error:
        name = method.request.DESCRIPTOR.full_name
        text = f"{len(request)} bytes of a request to {method.path} are no {name}: {error}"
        raise GRPCError(Status.INTERNAL, text) from error


def _encoded(method: Method, replies: Sequence[Message]) -> Sequence[bytes]:
    if not method.streams and len(replies) != 1:
        raise ValueError(f"{len(replies)} replies to a method that has one")
    return [reply.SerializeToString() for reply in replies]
