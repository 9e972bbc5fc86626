"""Nodes: the cluster whose Nodes the machines of some fleets are, for an engine that drains them.

It is spoken to as soon as a fleet asks for that (`node.managed`).
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import structlog

from hostler.config.node_tables import HostNodeTable
from hostler.config.values import Config
from hostler.controllers.runtime.settings import Ports
from hostler.domain.errors import ConfigError, first_of
from hostler.domain.ids import AccountName, FleetName, HostId, MachineId, Zone
from hostler.frontends.cli.context import ClusterOptions, Frontends
from hostler.ports.clock import Clock
from hostler.ports.command import Reply

if TYPE_CHECKING:
    from hostler.frontends.kubernetes.nodes.controller import NodeController
    from hostler.frontends.kubernetes.nodes.standing import Standing

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler")

ByHost = Callable[[AccountName, HostId], HostNodeTable | None]
"""Tells what the object of a host says of its Node."""

_LOOK = 10
"""So long, in seconds, a single look at Nodes may take."""
OWN_NODE = "NODE_NAME"
"""The environment variable that says on which Node this process runs; the chart sets it."""


def managed(config: Config) -> tuple[FleetName, ...]:
    """Return the fleets whose Nodes are worked at."""
    return tuple(name for name, node in config.nodes.items() if node.managed is not None)


def node_groups(config: Config) -> frozenset[FleetName]:
    """Return the fleets of which Cluster Autoscaler asks for nodes."""
    asked = config.externalgrpc
    return frozenset(group.fleet for group in asked.groups) if asked is not None else frozenset()


def problem(environment: Mapping[str, str], clock: Clock) -> str:
    """Return why no cluster can be spoken to, or an empty string; nothing is sent."""
    from hostler.frontends.kubernetes.connecting import Target, config_of

    try:
        config_of(Target(), environment, clock)
    except ConfigError as error:
        return str(error)
    return ""


class Nodes:
    """Implements `hostler.ports.workload.Workloads`; it is attached as frontends are."""

    def __init__(
        self, environment: Mapping[str, str], clock: Clock, cluster: ClusterOptions | None = None
    ) -> None:
        """Speak to nobody before a fleet asks for it; `cluster` says to which, if one is named."""
        self._environment, self._clock = environment, clock
        self._named = cluster or ClusterOptions()
        self.controller: NodeController | None = None
        self._why = "no fleet of this engine works at Nodes"
        self._begun = asyncio.Event()
        self.others: Frontends | None = None
        self.by_host: ByHost | None = None

    async def attach(self, config: Config, ports: Ports, engine: object) -> None:
        """Work for this engine from now on, as the other frontends do. Raises StoreError."""
        if managed(config) or self.controller is not None:
            await self._attach(config, ports, engine)
        if self.others is not None:
            await self.others.attach(config, ports, engine)

    async def drain(self, machine: MachineId) -> Reply:
        """Go on draining a machine's Node; see the port."""
        if self.controller is None:
            return Reply(text=self._why)
        return await self.controller.drain(machine)

    def guarded(
        self, account: AccountName, hosts: Iterable[tuple[Zone, HostId]]
    ) -> Mapping[HostId, str] | None:
        """Return which of these hosts have Nodes that are never to be ended; see the port.

        Where no cluster can be spoken to at all, none is.
        """
        return {} if self.controller is None else self.controller.guarded(account, hosts)

    async def ready(self, machine: MachineId) -> tuple[bool, str]:
        """Tell whether a machine's Node is ready."""
        if self.controller is None:
            return False, self._why
        return await self.controller.ready(machine)

    def sizes(self, fleet: FleetName) -> Mapping[str, str]:
        """Return what Pods get on the Nodes of a fleet, as far as such were seen."""
        return {} if self.controller is None else self.controller.sizes.of(fleet)

    async def run(self) -> None:
        """Go over the Nodes, from when a cluster is spoken to."""
        await self._begun.wait()
        if self.controller is not None:
            await self.controller.run()

    async def look(self, config: Config, ports: Ports) -> None:
        """Look at all Nodes once, for whoever runs no engine; a cluster that is away says nothing.

        Raises StoreError. Connections are given back at once.
        """
        from hostler.frontends.kubernetes.nodes.fleets import Attached, ManagedFleet, NoRecords
        from hostler.kubernetes.errors import ApiError

        self._open()
        if self.controller is None:
            return
        fleets = tuple(
            ManagedFleet(fleet=config.fleet(name), table=config.nodes[name], records=NoRecords())
            for name in managed(config)
        )
        installation = (await ports.store.identity()).own
        self.controller.attach(
            Attached(fleets=fleets, store=ports.store, installation=installation)
        )
        try:
            async with asyncio.timeout(_LOOK):
                await self.controller.look()
        except (ApiError, TimeoutError) as error:
            log.warning("nodes cannot be looked at", why=str(error) or f"no answer in {_LOOK} s")
        finally:
            await self.close()

    async def close(self) -> None:
        """Give connections back."""
        if self.controller is not None:
            await self.controller.client.session.close()

    async def _attach(self, config: Config, ports: Ports, engine: object) -> None:
        from hostler.controllers.engine import Engine
        from hostler.frontends.kubernetes.nodes.fleets import Attached, ManagedFleet
        from hostler.queries.live import EngineRecords

        if self.controller is None:
            self._open()
        if self.controller is None or not isinstance(engine, Engine):
            return
        fleets, groups = list[ManagedFleet](), node_groups(config)
        for name in managed(config):
            fleet = config.fleet(name)
            (loop,) = (one for one in engine.loops if fleet in one.state.account.fleets)
            records = EngineRecords(loop, fleet.name)
            table = config.nodes[name]
            fleets.append(
                ManagedFleet(
                    fleet=fleet,
                    table=table,
                    records=records,
                    hosts=self._host,
                    autoscaled=name in groups,
                )
            )
        installation = (await ports.store.identity()).own
        self.controller.attach(
            Attached(fleets=tuple(fleets), store=ports.store, installation=installation)
        )
        self._begun.set()

    def _host(self, account: AccountName, host: HostId) -> HostNodeTable | None:
        return None if self.by_host is None else self.by_host(account, host)

    def standing(self, machine: MachineId) -> "Standing | None":
        """Return how a machine's Node stood when Nodes were last gone over; None without one."""
        rounds = self.controller.rounds if self.controller is not None else None
        return rounds.observed.get(machine) if rounds is not None else None

    def _open(self) -> None:
        """Speak to the cluster in which we run, or to the kubeconfig's; machines wait without."""
        from hostler.frontends.kubernetes.connecting import Target, config_of
        from hostler.frontends.kubernetes.nodes.controller import NodeController
        from hostler.kubernetes.client import Client
        from hostler.kubernetes.session import Session

        try:
            target = Target(kubeconfig=self._named.kubeconfig, context=self._named.context)
            cluster = config_of(target, self._environment, self._clock)
        except ConfigError as error:
            self._why = f"no cluster can be spoken to: {error}"
            log.warning("nodes cannot be drained", why=str(error))
            return
        client, own = Client(session=Session(cluster)), self._environment.get(OWN_NODE, "")
        self.controller = NodeController(client, self._clock, own)
        log.info("working at nodes", cluster=cluster.origin, own_node=own or None)


@asynccontextmanager
async def at_work(nodes: Nodes) -> AsyncGenerator[Nodes]:
    """Let it go over the Nodes by itself while the block lasts."""
    try:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(nodes.run())
            try:
                yield nodes
            finally:
                running.cancel()
    except BaseExceptionGroup as group:  # what went wrong in the block, as it was
        raise first_of(group) from None
    finally:
        await nodes.close()
