"""Controller: drains the Nodes that an engine asks about, and goes over all of them by itself."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import structlog

from hostler.domain.errors import HostlerError
from hostler.domain.ids import AccountName, HostId, MachineId, Zone
from hostler.kubernetes.client import Client
from hostler.kubernetes.errors import ApiError
from hostler.ports.clock import Clock
from hostler.ports.command import Reply

from .drainer import PASS, Drainer
from .fleets import Attached, ManagedFleet
from .rounds import EVERY, Rounds
from .sizes import Sizes
from .standing import NodeIndex, is_up, standing
from .upkeep import guarded, is_to_end

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler")

RECENT = timedelta(seconds=3)
"""So old may be what a probe goes by."""

BUSY, FREE = 0, 1
"""What a reply says, as the exit status of a host's command does."""


@dataclass(slots=True)
class NodeController:
    """Works at Nodes. Implements `hostler.ports.workload.Workloads`.

    `own_node` is the Node on which this process runs, empty where it runs elsewhere; `lasts` is how
    long one pass of a drain goes on.
    """

    client: Client
    clock: Clock
    own_node: str = ""
    lasts: timedelta = PASS
    rounds: Rounds | None = None
    sizes: Sizes = field(default_factory=Sizes)
    _drainer: Drainer = field(init=False)
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    _read: tuple[float, NodeIndex] | None = None

    def __post_init__(self) -> None:
        """Have one drainer for all: it remembers what was refused."""
        self._drainer = Drainer(self.client, self.clock, self.lasts)

    def attach(self, attached: Attached) -> None:
        """Work for this engine from now on."""
        known = None if self.rounds is None else self.rounds.nodes
        self.rounds = Rounds(
            client=self.client,
            clock=self.clock,
            attached=attached,
            own_node=self.own_node,
            sizes=self.sizes,
            nodes=known,
        )

    async def run(self) -> None:
        """Go over all Nodes, again and again; what the API server refuses is logged."""
        while True:
            try:
                if self.rounds is not None:
                    await self.rounds.go_over()
            except HostlerError as error:
                log.warning("nodes not gone over", error=str(error))
            await self.clock.sleep(EVERY)

    async def look(self) -> None:
        """Look at all Nodes once, and write nothing. Raises ApiError."""
        if self.rounds is not None:
            await self.rounds.look()

    async def ready(self, machine: MachineId) -> tuple[bool, str]:
        """Tell whether a machine's Node is ready, by what its kubelet said since it is ours.

        Never raises for the outside; what was read a moment ago is not read again.
        """
        rounds = self.rounds
        fleet = rounds.attached.fleet_of(machine) if rounds is not None else None
        found = fleet.machine(machine) if fleet is not None else None
        if rounds is None or fleet is None or found is None:
            return False, "it is in no fleet whose Nodes are known here"
        try:
            node = fleet.node_of(found, await self._recent(rounds))
        except ApiError as error:
            return False, " ".join(str(error).split())
        if node is None:
            return False, "the cluster has no Node of it"
        stands = standing(node)
        name = node.metadata.name
        if is_up(stands, found.created):
            return True, f"Node {name} is ready"
        why = f" ({stands.text})" if stands.text else ""
        return False, f"Node {name} is {stands.readiness}{why}"

    async def _recent(self, rounds: Rounds) -> NodeIndex:
        """Return all Nodes as they were read at most a moment ago: many machines start at once.

        What is read for one machine is known for all from then on.
        """
        async with self._reading:
            now = self.clock.boot()
            if self._read is None or now - self._read[0] >= RECENT.total_seconds():
                self._read = (now, await rounds.look())
            return self._read[1]

    def guarded(
        self, account: AccountName, hosts: Iterable[tuple[Zone, HostId]]
    ) -> Mapping[HostId, str] | None:
        """Return which of these hosts have Nodes that are never to be ended; see the port."""
        return None if self.rounds is None else self.rounds.guarded(account, hosts)

    async def drain(self, machine: MachineId) -> Reply:
        """Go on draining a machine's Node for a while; see the port."""
        rounds = self.rounds
        fleet = rounds.attached.fleet_of(machine) if rounds is not None else None
        if rounds is None or fleet is None:
            return Reply(text="it is in no fleet whose Nodes are known here")
        try:
            return await self._drained(rounds, fleet, machine)
        except ApiError as error:
            return Reply(text=" ".join(str(error).split()))

    async def _drained(self, rounds: Rounds, fleet: ManagedFleet, name: MachineId) -> Reply:
        nodes = await rounds.look()
        machine = fleet.machine(name)
        if machine is None:
            return Reply(text="it has ended")
        node = fleet.node_of(machine, nodes)
        if node is None:
            return Reply(status=FREE, text="the cluster has no Node of it")
        if why := guarded(node, self.own_node, fleet.table):
            return Reply(text=why, barred=True)

        def is_wanted() -> bool:
            now = fleet.machine(name)
            return fleet.records.leads and now is not None and is_to_end(now)

        drained = await self._drainer.drain(node, str(name), fleet.rules, is_wanted)
        return Reply(status=FREE if drained.free else BUSY, text=drained.text)
