"""Group: one fleet as a node group: how many nodes it has, and what is asked of it.

Answered from memory, and never by asking a provider. What is refused raises GRPCError, in a
sentence; Cluster Autoscaler writes it into its log and its events.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import structlog
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from hostler.config.node_tables import NodeTable
from hostler.controllers.runtime.settings import Ports
from hostler.domain.errors import RequestRefused, StoreError
from hostler.domain.ids import MachineId, is_machine_id
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.snapshot import RequestKind
from hostler.ports.store import Store
from hostler.queries.live import LiveRecords
from hostler.requests.by_id import MachinesById, open_by_id

from .calls import Instance, NodeRef, State
from .members import Gathering, Member, Members, own_id
from .node import amounts_of

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.externalgrpc")

ACTOR = "cluster-autoscaler"
"""Who asks, in records and events."""

_ENDS = frozenset({RequestKind.DELETE, RequestKind.RETIRE})


@dataclass(slots=True, kw_only=True)
class NodeGroup:
    """One node group. `hear` makes the engine read requests now; `node` is what its nodes are.

    `learnt` is what pods get on a node by those that were seen, where the file does not say it.
    """

    machines: MachinesById
    live: LiveRecords
    node: NodeTable
    gathering: Gathering
    hear: Callable[[], None]
    learnt: Callable[[], Mapping[str, str]] = dict[str, str]

    @property
    def amounts(self) -> Mapping[str, str]:
        """What pods get on a node, by resource; empty where nobody knows."""
        return amounts_of(self.node) or self.learnt()

    @property
    def id(self) -> str:
        """Its name: the fleet's."""
        return self.machines.fleet.name

    @property
    def minimum(self) -> int:
        """How many nodes Cluster Autoscaler leaves."""
        return self.node.minimum

    @property
    def maximum(self) -> int:
        """How many nodes it may ask for: no more than its hosts that nobody holds can bear."""
        room, most = self.gathering.room(), self.machines.fleet.most(0)
        return most if room is None else max(self.minimum, min(most, room))

    @property
    def is_current(self) -> bool:
        """Whether the engine of this process decides for the fleet now."""
        return self.live.is_current()

    @property
    def is_known(self) -> bool:
        """Whether the engine has read the records, and observed the provider once."""
        return self.live.machines() is not None and self.live.has_observed

    def members(self) -> Members:
        """Return its machines."""
        return self.gathering.members()

    def instances(self) -> Iterable[Instance]:
        """Return every instance that it has, or that is being made or deleted."""
        return [member.instance for member in self.members().all]

    def has(self, node: NodeRef) -> bool:
        """Tell whether a node counts as this group's now.

        The node of a machine that is not up was left there before it started, and that of one that
        is lost or ends is in no target any more: counted, each would be one that is not ready, and
        stand in for one that is on its way. A node that was made up always counts.
        """
        member = self.members().find(node)
        if node.fake:
            return member is not None or self._named(node) is not None
        return member is not None and member.state is State.RUNNING

    def price(self) -> float | None:
        """Return the price of a node in euros an hour; None where nobody knows."""
        if self.node.price is not None:
            return self.node.price
        return max((member.price for member in self.members().all), default=0.0) or None

    # ------------------------------------------------------------ what is asked

    async def increase(self, delta: int) -> None:
        """Request more machines: all of them, or none."""
        if delta <= 0:
            raise GRPCError(Status.INVALID_ARGUMENT, f"delta: expected 1 or more, not {delta}")
        target = self.members().target
        if target + delta > self.maximum:
            room = self.maximum < self.machines.fleet.most(0)
            on = " on the hosts that it may have now" if room else ""
            text = f"{self.id} has at most {self.maximum} nodes{on}, and {target} by now"
            raise GRPCError(Status.INVALID_ARGUMENT, text)
        admission = self.machines.admit(delta, whole=True)
        if admission.count < delta:
            text = f"{delta} more nodes cannot be made in {self.id} now: {admission.why}"
            raise GRPCError(Status.RESOURCE_EXHAUSTED, text)
        self.gathering.forget()
        try:
            ids = await self.machines.grow(delta, "NodeGroupIncreaseSize")
        except StoreError as error:
            raise _unrecorded(error) from error
        finally:
            self.gathering.forget()
        self.hear()
        log.info("nodes requested", group=self.id, many=delta, machines=ids)

    async def delete(self, nodes: Sequence[NodeRef]) -> None:
        """Request the deletion of the machines of these nodes: of all of them, or of none.

        Also of those that failed and are out of the target: they may recover else.
        """
        members = [self._member(node) for node in nodes]
        leaving = {m.machine: m for m in members if m is not None and not m.leaves}
        many = sum(member.counts for member in leaving.values())
        left = self.members().target - many
        if many and left < self.minimum:
            text = f"{self.id} keeps {self.minimum} nodes at least, and would have {left}"
            raise GRPCError(Status.FAILED_PRECONDITION, text)
        self._require_unprotected(leaving)
        await self._request_deletions(tuple(leaving), "NodeGroupDeleteNodes")

    async def decrease(self, delta: int) -> None:
        """Give up machines that have not come yet, the newest first, and no more than there are.

        What somebody protects is not given up.
        """
        if delta >= 0:
            text = f"delta: expected less than 0, not {delta}"
            raise GRPCError(Status.INVALID_ARGUMENT, text)
        coming = [
            member
            for member in self.members().all
            if member.counts and member.state is State.CREATING and not member.came
        ]
        held = self._protected({member.machine for member in coming})
        free = [member for member in coming if member.machine not in held]
        newest = sorted(free, key=lambda member: -member.serial)[:-delta]
        names = tuple(member.machine for member in newest)
        await self._request_deletions(names, "NodeGroupDecreaseTargetSize")

    def _member(self, node: NodeRef) -> Member | None:
        """Return whose node this is; None where it was ours, and is deleted already."""
        member = self.members().find(node)
        if member is None and self._named(node) is None:
            text = f"no node of {self.id}: {node}; nothing of this call is carried out"
            raise GRPCError(Status.NOT_FOUND, text)
        return member

    def _named(self, node: NodeRef) -> MachineId | None:
        """Return the machine that a node's id names by our own form of it."""
        for text in (node.provider_id, node.name):
            machine = text.rpartition("/")[2]
            if is_machine_id(machine) and text == own_id(self.id, machine):
                return MachineId(machine)
        return None

    def _require_unprotected(self, leaving: Iterable[MachineId]) -> None:
        if held := self._protected(tuple(leaving)):
            text = f"somebody protects {', '.join(held)}: nothing of this call is carried out"
            raise GRPCError(Status.FAILED_PRECONDITION, text)

    def _protected(self, names: Collection[MachineId]) -> list[MachineId]:
        """Return which of these somebody protects: they would be deleted when that is over."""
        now = self.machines.clock.now()
        return [m.id for m in self.machines.machines() if m.id in names and m.is_protected(now)]

    async def _request_deletions(self, names: Sequence[MachineId], why: str) -> None:
        """Request these; they are out of the target from now on."""
        waiting = set(names)
        self.machines.deleting |= waiting
        self.gathering.forget()
        try:
            await self.machines.delete(*names, why=why)
            waiting.clear()
        except StoreError as error:
            raise _unrecorded(error) from error
        except RequestRefused as error:
            raise GRPCError(Status.FAILED_PRECONDITION, str(error)) from error
        finally:
            self.machines.deleting -= waiting
            self.gathering.forget()
            self.hear()
        if names:
            log.info("deletions requested", group=self.id, machines=names, call=why)


async def open_group(  # noqa: PLR0913 - what it is opened with, the last of it seldom
    fleet: Fleet,
    node: NodeTable,
    live: LiveRecords,
    ports: Ports,
    hear: Callable[[], None],
    *,
    learnt: Callable[[], Mapping[str, str]] = dict[str, str],
) -> NodeGroup:
    """Read a fleet's records, and the requests that no engine took yet. Raises StoreError."""
    store, clock = ports.store, ports.clock
    row = await store.add_fleet(FleetRow(name=fleet.name, created=clock.now()))
    machines = await open_by_id(
        fleet=fleet, live=live, store=store, clock=clock, actor=ACTOR, fresh=ports.fresh, row=row
    )
    machines.deleting |= await _deletions(store, fleet)
    time = asyncio.get_running_loop().time
    gathering = Gathering(machines, live, node, time)
    return NodeGroup(
        machines=machines, live=live, node=node, gathering=gathering, hear=hear, learnt=learnt
    )


async def _deletions(store: Store, fleet: Fleet) -> set[MachineId]:
    """Return the machines whose deletion is requested, by whomever, and on no record yet."""
    return {
        request.machine
        for request in await store.requests()
        if request.kind in _ENDS and request.fleet == fleet.name and request.machine is not None
    }


def _unrecorded(error: StoreError) -> GRPCError:
    return GRPCError(Status.UNAVAILABLE, f"it could not be recorded: {error}")
