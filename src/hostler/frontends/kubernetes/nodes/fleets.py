"""Fleets whose Nodes are worked at, with the records that an engine has of their machines."""

from collections.abc import Callable, Iterator
from typing import Protocol

from msgspec import Struct

from hostler.config.node_tables import HostNodeTable, ManagedTable, NodeTable, with_host
from hostler.domain.ids import AccountName, HostId, InstallationId, MachineId
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.ports.store import Store
from hostler.queries.nodes import provider_id_of

from .objects import Node
from .standing import Identity, NodeIndex
from .workload import Choice, Rules

ByHost = Callable[[AccountName, HostId], HostNodeTable | None]


def no_hosts(account: AccountName, host: HostId) -> HostNodeTable | None:
    """Return that hosts have no say."""
    del account, host
    return None


class NodeRecords(Protocol):
    """One fleet's records as the engine of this process has them."""

    @property
    def leads(self) -> bool:
        """Whether this process decides for the fleet."""
        ...

    def machines(self) -> tuple[Machine, ...] | None:
        """Return the living machines, or None until the engine has read them."""
        ...

    def provider_id(self, machine: Machine) -> str | None:
        """Return the providerID of a machine's Node; None while not known."""
        ...


class NoRecords:
    """The records of who runs no engine. Implements `NodeRecords`."""

    leads = False

    def machines(self) -> tuple[Machine, ...] | None:
        """Return that none were read."""
        return None

    def provider_id(self, machine: Machine) -> str | None:
        """Return that it is not known."""
        del machine


class ManagedFleet(Struct, frozen=True, kw_only=True):
    """A fleet whose Nodes are worked at; `hosts` tells what single hosts are as Nodes.

    `autoscaled` says that Cluster Autoscaler asks for its machines: it is a node group.
    """

    fleet: Fleet
    table: NodeTable
    records: NodeRecords
    hosts: ByHost = no_hosts
    autoscaled: bool = False

    @property
    def managed(self) -> ManagedTable:
        """What its settings say of that."""
        return self.table.managed or ManagedTable()

    @property
    def rules(self) -> Rules:
        """What becomes of its Pods."""
        managed = self.managed
        return Rules(
            unmanaged=Choice(managed.unmanaged),
            local_storage=Choice(managed.local_storage),
            unsafe=Choice(managed.unsafe),
            grace=managed.grace,
        )

    def table_of(self, machine: Machine) -> NodeTable:
        """Return what a machine's Node is to be, by its fleet and by its host."""
        host = machine.host
        return with_host(self.table, None if host is None else self.hosts(self.fleet.account, host))

    def machine(self, name: MachineId) -> Machine | None:
        """Return a living machine."""
        machines = self.records.machines() or ()
        return next((machine for machine in machines if machine.id == name), None)

    def node_of(self, machine: Machine, nodes: NodeIndex) -> Node | None:
        """Return a machine's Node."""
        known = provider_id_of(machine, self.table.provider_id, self.records)
        names = tuple(filter(None, (machine.host, str(machine.id))))
        return nodes.find(Identity(provider_id=known, names=names))

    def pairs(self, nodes: NodeIndex) -> Iterator[tuple[Machine, Node]]:
        """Yield the living machines that have a Node, each with it."""
        for machine in self.records.machines() or ():
            node = self.node_of(machine, nodes)
            if node is not None and machine.phase is not Phase.DELETED:
                yield machine, node


class Attached(Struct, frozen=True, kw_only=True):
    """An engine's fleets with Nodes, its store, and whose machines they are."""

    fleets: tuple[ManagedFleet, ...] = ()
    store: Store
    installation: InstallationId

    def fleet_of(self, machine: MachineId) -> ManagedFleet | None:
        """Return the fleet of a living machine."""
        return next((one for one in self.fleets if one.machine(machine) is not None), None)
