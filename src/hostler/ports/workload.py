"""Workload: what runs on a machine that is a Node of a cluster, asked of the cluster."""

from typing import Protocol

from hostler.domain.ids import MachineId

from .command import Reply


class Workloads(Protocol):
    """Clears Nodes of what runs on them."""

    async def drain(self, machine: MachineId) -> Reply:
        """Go on draining the Node of a machine that is to end; never raises for the outside.

        The reply is 0 while something that matters runs there, 1 when nothing does, None where
        nobody knows, with what to say of it. It is asked again until the machine has ended, or
        nobody wants its end any more; then the Node takes Pods again, without being asked.
        """
        ...
