"""A node group over a store in memory, and an engine that does what a test says."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from msgspec.structs import replace

from hostler.config.node_tables import NodeTable
from hostler.controllers.runtime.settings import Ports
from hostler.domain.ids import HostId, InstallationId, MachineId, machine_id
from hostler.domain.model.fleet import Fleet, FleetRow, Setback
from hostler.domain.model.machine import Deletion, Machine, MachineHealth, Offer
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import RequestKind
from hostler.frontends.externalgrpc.calls import NodeRef
from hostler.frontends.externalgrpc.group import NodeGroup, open_group
from hostler.frontends.externalgrpc.members import Gathering
from hostler.ports.provider import Connection
from hostler.requests.by_id import MachinesById
from hostler.stores.memory import MemoryStore
from hostler.testing.fakes.metrics import CountingMetrics
from hostler.testing.fakes.prober import FakeProber
from hostler.testing.scenes.builders import BEGIN, FLEET, OFFER

NODES = replace(FLEET, size=0, maximum=10, renews=False)


class Clock:
    """The time of the tests: it stands."""

    def __init__(self) -> None:
        self.at = BEGIN

    def now(self) -> datetime:
        return self.at

    def boot(self) -> float:
        return 0.0

    async def sleep(self, time: timedelta) -> None:
        del time
        await asyncio.sleep(0)


@dataclass
class FakeLive:
    """What an engine has on record. Machines have hosts, and so providerIDs, once they begin."""

    listed: dict[MachineId, Machine] = field(default_factory=dict[MachineId, Machine])
    fleet_row: FleetRow = field(default_factory=lambda: FleetRow(name=NODES.name, created=BEGIN))
    has_read: bool = True
    has_observed: bool = True
    leads: bool = True
    blocker: str = ""
    supports_standby: bool = False
    hosts: int | None = None

    def is_current(self) -> bool:
        return self.leads

    def room(self, fleet: Fleet, now: datetime) -> int | None:
        del fleet, now
        return self.hosts

    def row(self) -> FleetRow | None:
        return self.fleet_row if self.has_read else None

    def machines(self) -> tuple[Machine, ...] | None:
        return tuple(self.listed.values()) if self.has_read else None

    def set_back(self, setback: Setback) -> None:
        """Remember something against an offer."""
        self.fleet_row = self.fleet_row.with_setback(setback)

    def creation_blocker(self) -> str:
        return self.blocker

    def connection(self, machine: Machine) -> Connection | None:
        del machine
        return None

    def provider_id(self, machine: Machine) -> str | None:
        return f"test://{machine.host}" if machine.host else None

    def observed_at(self, machine: Machine) -> datetime | None:
        del machine
        return None

    def protected_at_provider(self, machines: Iterable[Machine]) -> frozenset[MachineId]:
        del machines
        return frozenset()


class Cluster:
    """One node group, and its engine by hand."""

    def __init__(self, node: NodeTable | None = None, maximum: int = 10) -> None:
        self.live, self.clock = FakeLive(), Clock()
        self.store = MemoryStore(InstallationId("home"))
        self.fleet = replace(NODES, maximum=maximum)
        self._ids = iter(range(1, 1 << 20))
        self.heard, self.done = 0, 0
        machines = MachinesById(
            fleet=self.fleet,
            live=self.live,
            store=self.store,
            clock=self.clock,
            actor="cluster-autoscaler",
            fresh=lambda: machine_id(next(self._ids)),
            first_row=self.live.fleet_row,
            first_machines=(),
        )
        node = node or NodeTable()
        self.group = NodeGroup(
            machines=machines,
            live=self.live,
            node=node,
            gathering=Gathering(machines, self.live, node, lambda: 0.0),
            hear=self._hear,
        )

    async def reopened(self) -> NodeGroup:
        """Return the group as the next engine's process opens it, over the same store."""
        ports = Ports(
            store=self.store,
            clock=self.clock,
            prober=FakeProber(),
            metrics=CountingMetrics(),
            fresh=self.group.machines.fresh,
        )
        return await open_group(self.fleet, self.group.node, self.live, ports, self._hear)

    def _hear(self) -> None:
        self.heard += 1

    # ------------------------------------------------------------ the engine

    async def take_requests(self) -> None:
        """Do what was requested, as far as records go."""
        for request in await self.store.requests():
            if request.number <= self.done:
                continue
            self.done = request.number
            if request.kind is RequestKind.GROW:
                for name in request.machines:
                    self._insert(name)
                self.live.fleet_row = replace(self.live.fleet_row, grown=request.number)
            elif request.machine is not None and request.machine in self.live.listed:
                deletion = Deletion(at=self.clock.now(), actor=request.actor, why=request.why)
                self.change(request.machine, deletion=deletion)
        self.refresh()

    def _insert(self, name: MachineId, phase: Phase = Phase.PENDING) -> Machine:
        serial = self.live.fleet_row.serial + 1
        self.live.fleet_row = replace(self.live.fleet_row, serial=serial)
        made = Machine(
            id=name,
            fleet=self.fleet.name,
            serial=serial,
            created=BEGIN,
            phase=phase,
            since=BEGIN,
            offer=OFFER,
        )
        self.live.listed[name] = made
        return made

    def change(self, name: MachineId, **fields: object) -> Machine:
        """Change a record."""
        changed = replace(self.live.listed[name], **fields)
        self.live.listed[name] = changed
        self.refresh()
        return changed

    def begin(self, name: MachineId) -> None:
        """Let a machine begin: it has a host."""
        host = HostId(f"box-{self.live.listed[name].serial}")
        self.change(name, phase=Phase.STARTING, host=host)

    def come(self, name: MachineId) -> None:
        """Let a machine be ready."""
        if self.live.listed[name].host is None:
            self.begin(name)
        self.change(name, phase=Phase.READY, health=MachineHealth(was_ready=BEGIN))

    def go(self, name: MachineId) -> None:
        """Let a machine be gone."""
        del self.live.listed[name]
        self.refresh()

    def refresh(self) -> None:
        """Let the group see what changed: a moment has passed."""
        self.group.gathering.forget()

    async def with_ready(self, many: int) -> list[MachineId]:
        """Ask for machines, and let them come."""
        await self.group.increase(many)
        await self.take_requests()
        names = [*self.live.listed][-many:]
        for name in names:
            self.come(name)
        return names

    # ------------------------------------------------------------ what is asked

    @property
    def target(self) -> int:
        return self.group.members().target

    def states(self) -> list[str]:
        return sorted(instance.state.name for instance in self.group.instances())

    def node(self, name: MachineId) -> NodeRef:
        """Return the real node of a machine."""
        return node(f"test://{self.live.listed[name].host}")


def node(provider_id: str = "", name: str = "", *, fake: bool = False) -> NodeRef:
    return NodeRef(provider_id=provider_id, name=name, labels={}, fake=fake)


def offer(kind: str) -> Offer:
    return Offer(type=kind, zone=OFFER.zone)
