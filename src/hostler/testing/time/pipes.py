"""Pipes: connections inside one simulated loop, for clients and servers of the real protocols.

What is written at one end is received at the other at the same moment of simulated time, in order;
each end runs in the context that it was opened in.
"""

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Iterable

Factory = Callable[[], asyncio.BaseProtocol]


class Pipe(asyncio.Transport):
    """One end of a connection."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        protocol: asyncio.BaseProtocol,
        context: contextvars.Context,
    ) -> None:
        super().__init__()
        self._loop, self._protocol, self._context = loop, protocol, context
        self._peer: Pipe | None = None
        self._waiting = deque[bytes]()
        self._paused = self._closing = self._lost = False

    def meet(self, peer: "Pipe") -> None:
        """Begin: from now on this end may be written to."""
        self._peer = peer
        self._soon(lambda: self._protocol.connection_made(self))

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send to the other end; what is written after the end is lost, as on a socket."""
        if self._peer is not None and not self._closing:
            self._peer.receive(bytes(data))

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """Send all of it."""
        self.write(b"".join(list_of_data))

    def receive(self, data: bytes) -> None:
        """Hand to the protocol what came from the other end, once it reads."""
        self._waiting.append(data)
        self._soon(self._deliver)

    def _deliver(self) -> None:
        while self._waiting and not self._paused and not self._lost:
            data = self._waiting.popleft()
            if isinstance(self._protocol, asyncio.Protocol):
                self._protocol.data_received(data)

    def close(self) -> None:
        """End the connection; what is on its way still arrives."""
        self._end(None)

    def abort(self) -> None:
        """Break the connection."""
        self._end(ConnectionResetError("the connection was broken"))

    def _end(self, error: Exception | None) -> None:
        if self._closing:
            return
        self._closing = True
        self._soon(lambda: self._lose(None))
        if self._peer is not None:
            self._peer.end_from_peer(error)

    def end_from_peer(self, error: Exception | None) -> None:
        """Notice that the other end is no more."""
        if not self._closing:
            self._closing = True
            self._soon(lambda: self._lose(error))

    def _lose(self, error: Exception | None) -> None:
        if not self._lost:
            self._lost = True
            self._protocol.connection_lost(error)

    def _soon(self, callback: Callable[[], object]) -> None:
        self._loop.call_soon(callback, context=self._context)

    def pause_reading(self) -> None:
        """Keep what arrives until reading is resumed."""
        self._paused = True

    def resume_reading(self) -> None:
        """Hand over what was kept."""
        self._paused = False
        self._soon(self._deliver)

    def is_reading(self) -> bool:
        """Tell whether what arrives is handed over."""
        return not self._paused

    def is_closing(self) -> bool:
        """Tell whether it has ended, or is about to."""
        return self._closing

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Let another protocol go on."""
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Return the protocol."""
        return self._protocol

    def get_write_buffer_size(self) -> int:
        """Nothing is ever kept back here."""
        return 0

    def can_write_eof(self) -> bool:
        """A half of a connection cannot be closed."""
        return False


def connect(loop: asyncio.AbstractEventLoop, client: Factory, server: Factory) -> Pipe:
    """Connect a client to a server and return the client's end; both soon begin.

    The server's end belongs to no process of the simulation.
    """
    nobody = contextvars.Context()
    near = Pipe(loop, client(), contextvars.copy_context())
    far = Pipe(loop, nobody.run(server), nobody)
    far.meet(near)
    near.meet(far)
    return near
