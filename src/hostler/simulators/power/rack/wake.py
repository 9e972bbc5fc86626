"""Wake: the network cards of a rack, which listen for magic packets on one UDP port of loopback."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from .machine import Machine

_HEADER, _REPEATS, _LENGTH = b"\xff" * 6, 16, 6
BURST = 0.5
"""Packets to one card that follow each other within so many seconds are one command, repeated."""


@dataclass(slots=True)
class Cards(asyncio.DatagramProtocol):
    """All cards by their addresses. What is no magic packet, or nobody's, wakes nobody."""

    time: Callable[[], float]
    machines: dict[bytes, Machine] = field(default_factory=dict[bytes, Machine])
    last: dict[bytes, float] = field(default_factory=dict[bytes, float])

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Take a packet."""
        del addr
        card = called(data)
        machine = None if card is None else self.machines.get(card)
        if card is None or machine is None:
            return
        now, before = self.time(), self.last.get(card)
        self.last[card] = now
        if before is None or now - before > BURST:
            machine.wake()


def called(data: bytes) -> bytes | None:
    """Return the card that a magic packet calls; None for any other packet."""
    start = data.find(_HEADER)
    card = data[start + 6 : start + 6 + _LENGTH]
    wanted = _HEADER + card * _REPEATS
    complete = start >= 0 and len(card) == _LENGTH and data[start:].startswith(wanted)
    return card if complete else None


@asynccontextmanager
async def listening(cards: Cards, port: int) -> AsyncGenerator[None]:
    """Let the cards listen; raises OSError where the port is taken."""
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: cards, local_addr=("127.0.0.1", port)
    )
    try:
        yield
    finally:
        transport.close()
