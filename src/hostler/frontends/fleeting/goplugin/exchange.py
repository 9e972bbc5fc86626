"""Exchange: one gRPC call on its HTTP/2 stream: the request read, the answer written, the end."""

import struct
from collections.abc import Awaitable, Callable, Iterable

from grpclib.const import Status
from grpclib.exceptions import GRPCError
from grpclib.metadata import encode_grpc_message
from grpclib.protocol import Stream

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
