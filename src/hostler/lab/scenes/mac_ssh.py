"""Logins that meet what the simulated world says of a Mac, in simulated time."""

from dataclasses import replace

from hostler.domain.ids import MachineId
from hostler.ports.command import Question, Reply
from hostler.ports.preparer import Order, Prepared
from hostler.ports.provider import Connection
from hostler.simulators.scaleway.macs.reach import Ssh
from hostler.simulators.scaleway.world import World
from hostler.testing.fakes.preparer import FakeDisk, FakePreparer


class WorldPreparer:
    """The preparer's and the asker's port over simulated Macs.

    Addresses, host keys and wiped disks are the world's.

    What it does once it is logged in is the fake's (`fake`); a disk is known by its host key.
    `orders` is all that was asked, `overlaps` are machines that were tried twice at once.
    """

    def __init__(self, world: World) -> None:
        self.fake = FakePreparer()
        self.orders = list[Order]()
        self.overlaps = list[MachineId]()
        self._world, self._inside = world, list[MachineId]()

    def disk(self, mac: str) -> FakeDisk:
        """Return what the disk that a Mac has now knows."""
        address = self._world.console.mac(mac).ip
        met = self._world.reach(address)
        if met is None:
            raise KeyError(mac)
        return self.fake.disk(met.host_key)

    async def prepare(self, connection: Connection, order: Order) -> Prepared:
        """Log in, and run the commands if the host does not carry them yet."""
        if order.machine in self._inside:
            self.overlaps.append(order.machine)
        self.orders.append(order)
        self._inside.append(order.machine)
        try:
            return await self._prepare(connection, order)
        finally:
            self._inside.remove(order.machine)

    async def ask(self, connection: Connection, question: Question) -> Reply:
        """Tell what `busy` exits with on a machine's host."""
        met = self._world.reach(connection.address)
        if met is None or met.ssh is not Ssh.UP:
            return Reply(text="no login: see that the host is up")
        return await self.fake.ask(replace(connection, address=met.host_key), question)

    async def _prepare(self, connection: Connection, order: Order) -> Prepared:
        met = self._world.reach(connection.address)
        if met is None or met.ssh is not Ssh.UP:
            return Prepared(error="no login: see that the host is up")
        return await self.fake.prepare(replace(connection, address=met.host_key), order)
