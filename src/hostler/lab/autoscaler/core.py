"""Core: a model of what Cluster Autoscaler does in each of its loops, for one node group.

After part 2.6 of a reading of its source at 1.36. It knows what nodes there are, what the pods
need, and what it is answered; nothing of machines.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from hostler.frontends.externalgrpc.calls import State

from .asked import Asked
from .calls import CallFailed, Client, Listed, NodeName, Seen
from .cluster import Cluster, Node
from .faults import AutoscalerScenario

INTERVAL, DRAINS = 10.0, 5.0
STARTUP = 900.0
"""How long a Node object may be not ready after it was made (`max-node-startup-time`)."""
UNREADY = 1200.0
"""After so long a node that is not ready goes (`scale-down-unready-time`)."""
_BACKOFF, _MOST_BACKOFF = 300.0, 1800.0
_AFTER_ADDING = 120.0
_MOST_UNREADY, _SHARE_UNREADY = 3, 0.45


class _Order(Struct, frozen=True):
    """An increase that is waited for."""

    delta: int
    at: float


@dataclass(slots=True)
class _Memory:
    """What core keeps in memory; a restart begins with none."""

    unregistered: dict[str, float] = field(default_factory=dict[str, float])
    unneeded: dict[str, float] = field(default_factory=dict[str, float])
    order: _Order | None = None
    wrong_size: float | None = None
    added: float = -_AFTER_ADDING
    backoff: float = 0.0
    backed_off: float = 0.0


@dataclass(slots=True, kw_only=True)
class _View:
    """What one loop sees."""

    group: Listed
    target: int
    instances: list[Seen]
    nodes: list[Node]
    members: list[Node]
    unregistered: list[str]
    long_unregistered: list[str]
    ready: list[Node] = field(default_factory=list[Node])
    unready: list[Node] = field(default_factory=list[Node])

    @property
    def upcoming(self) -> int:
        """How many nodes are still to come."""
        seen = len(self.ready) + len(self.unready) + len(self.long_unregistered)
        return max(0, self.target - seen)


class Core:
    """Goes round for ever; `restart` lets it forget everything."""

    def __init__(
        self, client: Client, asked: Asked, cluster: Cluster, scenario: AutoscalerScenario
    ) -> None:
        self._client, self._asked = client, asked
        self._cluster, self._scenario = cluster, scenario
        self._memory = _Memory()
        self.view: _View | None = None
        self.acted = 0.0

    @property
    def _now(self) -> float:
        return self._cluster.truth.now

    async def run(self) -> None:
        """Go round every ten seconds; what fails is tried again in the next loop."""
        while True:
            try:
                await self.loop()
            except CallFailed:
                self.view = None
            await asyncio.sleep(INTERVAL)

    async def restart(self) -> None:
        """Begin anew: nodes of a group lose the taints that the last run left."""
        self._memory, self.view = _Memory(), None
        for node in self._cluster.observe():
            if node.tainted is not None and await self._is_member(node):
                node.tainted = None

    async def _is_member(self, node: Node) -> bool:
        """Tell whether a node is in the group, as soon as anybody answers."""
        while True:
            try:
                return await self._client.group_of(_name(node)) is not None
            except CallFailed:
                await asyncio.sleep(INTERVAL)

    async def loop(self) -> None:
        """Go round once: one thing is done at a time."""
        await self._client.refresh()
        group = await self._asked.group()
        if group is None:
            return
        view = self.view = await self._observe(group)
        if await self._remove_long_unregistered(view) or self._is_unhealthy(view):
            return
        if await self._remove_failed(view) or await self._fix_size(view):
            return
        await self._expire(view)
        if not await self._scale_up(view):
            await self._scale_down(view)

    # ------------------------------------------------------------ what there is

    async def _observe(self, group: Listed) -> _View:
        target = await self._client.target(group.id)
        instances = await self._client.instances(group.id)
        self._asked.listed(instances)
        nodes = self._cluster.observe()
        members = [node for node in nodes if await self._client.group_of(_name(node)) is not None]
        known = {node.provider_id for node in nodes}
        unregistered = [
            one.id for one in instances if one.id not in known and not one.ends and not one.error
        ]
        view = _View(
            group=group,
            target=target,
            instances=instances,
            nodes=nodes,
            members=members,
            unregistered=unregistered,
            long_unregistered=self._long_unregistered(unregistered),
        )
        for name in unregistered:
            await self._asked.find(_fake(name))
        self._classify(view)
        return view

    def _long_unregistered(self, names: Sequence[str]) -> list[str]:
        since = self._memory.unregistered
        self._memory.unregistered = {name: since.get(name, self._now) for name in names}
        limit = self._now - self._scenario.provision
        return [name for name, at in self._memory.unregistered.items() if at < limit]

    def _classify(self, view: _View) -> None:
        """Sort the group's nodes: what is tainted is being deleted, and counts no more."""
        for node in view.members:
            if node.tainted is not None:
                continue
            if node.ready:
                view.ready.append(node)
            elif self._now - node.created > STARTUP:
                view.unready.append(node)

    def _is_unhealthy(self, view: _View) -> bool:
        """Tell whether too many nodes of the whole cluster are not ready."""
        unready = [
            node
            for node in view.nodes
            if not node.ready and node.tainted is None and self._now - node.created > STARTUP
        ]
        of_all = len(view.nodes) + self._scenario.others
        return len(unready) > _MOST_UNREADY and len(unready) > _SHARE_UNREADY * of_all

    # ------------------------------------------------------------ what did not come

    async def _remove_long_unregistered(self, view: _View) -> bool:
        """Delete instances whose nodes did not come in time, as far as the least size allows."""
        room = max(0, view.target - view.group.minimum)
        names = view.long_unregistered[:room]
        self._asked.keep(view.long_unregistered[room:])
        return bool(names) and await self._delete(view, [_fake(name) for name in names])

    async def _remove_failed(self, view: _View) -> bool:
        failed = [one.id for one in view.instances if one.error and one.state == State.CREATING]
        room = max(0, view.target - view.group.minimum)
        if not failed[:room]:
            return False
        self._back_off()
        return await self._delete(view, [_fake(name) for name in failed[:room]])

    async def _fix_size(self, view: _View) -> bool:
        """Let the target follow, where for long fewer nodes registered than it says."""
        registered = len([node for node in view.members if node.tainted is None])
        least = view.target - (len(view.unregistered) - len(view.long_unregistered))
        if registered >= least:
            self._memory.wrong_size = None
            return False
        if self._memory.wrong_size is None:
            self._memory.wrong_size = self._now
        if self._now - self._memory.wrong_size <= self._scenario.provision:
            return False
        self._memory.wrong_size = None
        return await self._decrease(view, view.target - registered)

    async def _expire(self, view: _View) -> None:
        """Give an order up that is overdue; newer versions take all of it back."""
        order = self._memory.order
        if order is None:
            return
        if not view.upcoming:
            self._memory.order = None
        elif self._now - order.at > self._scenario.provision:
            self._memory.order = None
            self._back_off()
            if self._scenario.reverts:
                await self._decrease(view, order.delta)

    async def _decrease(self, view: _View, many: int) -> bool:
        self.acted = self._now
        await self._asked.decrease(view.group.id, many)
        return True

    def _back_off(self) -> None:
        length = min(_MOST_BACKOFF, max(_BACKOFF, 2 * self._memory.backoff))
        self._memory.backoff, self._memory.backed_off = length, self._now + length

    # ------------------------------------------------------------ more and fewer

    async def _scale_up(self, view: _View) -> bool:
        needed = self._cluster.demand() - len(view.ready) - view.upcoming
        delta = min(needed, view.group.maximum - view.target)
        if delta <= 0 or self._now < self._memory.backed_off:
            return False
        self.acted = self._now
        try:
            await self._asked.increase(view.group.id, delta, self._cluster.demand())
        except CallFailed:
            self._back_off()
            raise
        self._memory.order = _Order(delta, self._now)
        self._memory.added, self._memory.backoff = self._now, 0.0
        return True

    async def _scale_down(self, view: _View) -> None:
        """Delete together the nodes that were not needed for long, and those not ready for long."""
        spare = len(view.ready) - self._cluster.demand()
        idle = sorted(view.ready, key=lambda node: node.ready_since)
        idle = idle[len(idle) - spare :] if spare > 0 else []
        since = self._memory.unneeded
        self._memory.unneeded = {node.name: since.get(node.name, self._now) for node in idle}
        if self._now - self._memory.added < _AFTER_ADDING:
            return
        due = [node for node in idle if self._is_due(node)]
        due += [node for node in view.unready if self._now - node.unready_since > UNREADY]
        room = max(0, view.target - view.group.minimum)
        if due[:room]:
            await self._drain_and_delete(view, due[:room])

    def _is_due(self, node: Node) -> bool:
        return self._now - self._memory.unneeded[node.name] > self._scenario.unneeded

    async def _drain_and_delete(self, view: _View, nodes: Sequence[Node]) -> None:
        for node in nodes:
            node.tainted = self._now
        await asyncio.sleep(DRAINS)
        try:
            await self._delete(view, [_name(node) for node in nodes])
        except CallFailed:
            for node in nodes:
                node.tainted = None
            self._memory.unneeded.clear()
            raise

    async def _delete(self, view: _View, nodes: Sequence[NodeName]) -> bool:
        self.acted = self._now
        await self._asked.delete(view.group.id, nodes)
        return True


def _name(node: Node) -> NodeName:
    return NodeName(node.provider_id, node.name)


def _fake(instance: str) -> NodeName:
    return NodeName(instance, instance, fake=True)
