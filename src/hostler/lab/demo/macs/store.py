"""Store: records that a process can die over, and from which a person can delete one by force."""

from hostler.domain.ids import MachineId
from hostler.ports.store import Lease
from hostler.stores.memory import MemoryStore


class FragileStore(MemoryStore):
    """A store in memory that several engines use, one after the other."""

    killed = False
    """Whether the engine that holds the leases was killed: who is dead gives nothing back."""

    async def drop_lease(self, lease: Lease) -> None:
        """Give a lease back, unless its holder was killed: then it must run out."""
        if not self.killed:
            await super().drop_lease(lease)

    def forget_by_force(self, machine: MachineId) -> bool:
        """Delete a living machine's record behind the engine's back; its host keeps its name.

        Its tie stays too: so a custom resource ends whose finalizer somebody takes away.
        """
        record = self._find(machine)
        if record is None:
            return False
        self._drop(record)
        self._revision += 1
        return True
