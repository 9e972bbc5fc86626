"""Datagrams: packets of UDP that are answered, each by itself."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

Sender = tuple[str, int]


@dataclass(slots=True)
class _Inbox(asyncio.DatagramProtocol):
    packets: asyncio.Queue[tuple[bytes, Sender]]

    def datagram_received(self, data: bytes, addr: Sender) -> None:
        """Put it with those to be answered."""
        self.packets.put_nowait((data, addr))


@asynccontextmanager
async def answering(
    answer: Callable[[bytes], Awaitable[bytes | None]], place: Sender
) -> AsyncGenerator[int]:
    """Answer packets at an address and port, and give that; port 0 takes a free one.

    None is silence. Raises OSError where the port is taken.
    """
    packets = asyncio.Queue[tuple[bytes, Sender]]()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: _Inbox(packets), local_addr=place)

    async def reply(data: bytes, sender: Sender) -> None:
        if (packet := await answer(data)) is not None:
            transport.sendto(packet, sender)

    async def serve() -> None:
        async with asyncio.TaskGroup() as replies:
            while True:
                replies.create_task(reply(*await packets.get()))

    try:
        async with asyncio.TaskGroup() as tasks:
            server = tasks.create_task(serve())
            yield transport.get_extra_info("sockname")[1]
            server.cancel()
    finally:
        transport.close()
