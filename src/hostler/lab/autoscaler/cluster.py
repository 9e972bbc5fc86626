"""Cluster: the Node objects that Kubernetes has of the boxes, and what the pods need."""

from collections.abc import Callable
from dataclasses import dataclass, field

from hostler.domain.ids import HostId
from hostler.domain.model.resource import Condition
from hostler.lab.metal.ground_truth import MetalTruth

from .faults import AutoscalerScenario, NodeObjects

PROVIDER_ID = "k3s://{host}"
_DELETED_AFTER = 60.0


@dataclass(slots=True)
class Node:
    """One Node object; `tainted` is since when Cluster Autoscaler is deleting it."""

    name: str
    created: float
    ready: bool = True
    ready_since: float = 0.0
    unready_since: float = 0.0
    tainted: float | None = None

    @property
    def provider_id(self) -> str:
        """Its providerID, as the cluster writes it."""
        return PROVIDER_ID.format(host=self.name)


@dataclass(slots=True)
class Cluster:
    """Nodes register themselves as soon as their boxes are up; they are ready while these are.

    What an operator of Kubernetes does stands in here: it deletes the object of a box that is off,
    or removes the taint of one that is off; and that of one whose box another machine has by now:
    `ready_since` is since when the box's machine is ready, None where it has none that is.
    """

    truth: MetalTruth
    scenario: AutoscalerScenario
    ready_since: Callable[[HostId], float | None]
    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    final: int | None = None

    def demand(self) -> int:
        """Return how many nodes the pods need now."""
        if self.final is not None:
            return self.final
        past = [one.nodes for one in self.scenario.demands if one.at <= self.truth.now]
        return past[-1] if past else 0

    def observe(self) -> list[Node]:
        """Return the nodes as they stand now."""
        self.truth.advance()
        for box in self.truth.rack.boxes():
            self._follow(str(box.id), box.condition)
        return [*self.nodes.values()]

    def _follow(self, name: str, condition: Condition) -> None:
        now, node, up = self.truth.now, self.nodes.get(name), condition is Condition.UP
        if node is None:
            if up:
                self.nodes[name] = Node(name=name, created=now, ready_since=now)
            return
        if up and not node.ready:
            node.ready, node.ready_since = True, now
        if not up and node.ready:
            node.ready, node.unready_since = False, now
        if condition is Condition.OFF:
            self._off(node)
        machine = self.ready_since(HostId(name))
        if up and node.tainted is not None and machine is not None and machine > node.tainted:
            node.tainted = None

    def _off(self, node: Node) -> None:
        """Do what is done to the object of a box that is off."""
        off_for = self.truth.now - self.truth.since(HostId(node.name))
        if self.scenario.nodes is NodeObjects.DELETED and off_for > _DELETED_AFTER:
            del self.nodes[node.name]
        if self.scenario.nodes is NodeObjects.BARE:
            node.tainted = None
