"""A host that the real preparer logs in to, with a real SSH server on loopback."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from hostler.access.preparer import SshPreparer
from hostler.ports.preparer import Order, Prepared
from hostler.ports.provider import Connection
from hostler.testing.peers.sshd import SshHost


@dataclass(frozen=True, slots=True)
class PreparedHost:
    """One host, and what may be asked of it and read on its disk."""

    host: SshHost

    @property
    def connection(self) -> Connection:
        """How it is reached."""
        return Connection(address=self.host.address, port=self.host.port, user="m1")

    async def prepare(self, order: Order) -> Prepared:
        """Carry an order out there."""
        return await SshPreparer((self.host.key,)).prepare(self.connection, order)

    def read(self, name: str) -> str:
        """Return what is in a file of its disk; nothing where there is none."""
        file = self.host.disk / name
        return file.read_text() if file.exists() else ""


async def eventually(holds: Callable[[], bool], within: float = 20) -> None:
    """Wait until something holds at the far side, for so many seconds at most."""
    async with asyncio.timeout(within):
        while not holds():  # noqa: ASYNC110 - it is the far side that is asked
            await asyncio.sleep(0.02)
