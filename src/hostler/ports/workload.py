"""Workload: what runs on a machine that is a Node of a cluster, asked of the cluster."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from hostler.domain.ids import AccountName, HostId, MachineId, Zone

from .command import Reply


class Workloads(Protocol):
    """Clears Nodes of what runs on them."""

    async def drain(self, machine: MachineId) -> Reply:
        """Go on draining the Node of a machine that is to end; never raises for the outside.

        The reply is 0 while something that matters runs there, 1 when nothing does, None where
        nobody knows, with what to say of it; or it says that this Node is never drained, nor its
        machine ended. It is asked again until the machine has ended, or
        nobody wants its end any more; then the Node takes Pods again, without being asked.
        """
        ...

    def guarded(
        self, account: AccountName, hosts: Iterable[tuple[Zone, HostId]]
    ) -> Mapping[HostId, str] | None:
        """Return those of these hosts whose Nodes are never to be ended, each with why.

        That is by the newest look at all Nodes, and None before the first one.
        """
        ...
