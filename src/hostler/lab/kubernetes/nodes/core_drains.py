"""Core drains: Cluster API's core drains a Machine's Node before it has our object deleted.

It knows a Node by its provider ID alone; one without any it does not drain. Once the machine has
ended it deletes the Node.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from hostler.lab.kubernetes.simulated_cluster import Raw

from .api import ClusterApi, Time, is_ending, is_true, name_of, node_path
from .workloads import AGENT

_FINISHED = frozenset({"Succeeded", "Failed"})


@dataclass(slots=True)
class CoreDrains:
    """Drains Nodes for as long as `longest`, in seconds, each.

    `whole` are the Nodes from which it took all that matters.
    """

    api: ClusterApi
    longest: float
    now: Time
    whole: set[str] = field(default_factory=set[str])
    _begun: dict[str, float] = field(default_factory=dict[str, float])
    _nodes: dict[str, str] = field(default_factory=dict[str, str])

    def goes_on(self, name: str, own: Raw) -> bool:
        """Go on draining the Node of a Machine; tell whether our object is to be deleted now."""
        node = self._node(str(own["spec"].get("providerID", "")))
        if node is None:
            return True
        self._nodes[name] = node["metadata"]["uid"]
        begun = self._begun.setdefault(name, self.now())
        if not node["spec"].get("unschedulable"):
            self.api.patch(node_path(name_of(node)), {"spec": {"unschedulable": True}})
        left = list(self._left(node))
        for pod in left:
            if not is_ending(pod):
                self.api.evict(pod)
        if not left:
            self.whole.add(name_of(node))
        return not left or self.now() - begun >= self.longest

    def over(self, name: str) -> None:
        """Delete the Node of a Machine whose object of ours has left, that very one."""
        uid = self._nodes.pop(name, "")
        for node, one in self.api.nodes().items():
            if one["metadata"]["uid"] == uid:
                self.whole.discard(node)
                self.api.delete(node_path(node))

    def _node(self, provider_id: str) -> Raw | None:
        found = (n for n in self.api.nodes().values() if n["spec"].get("providerID") == provider_id)
        return next(found, None) if provider_id else None

    def _left(self, node: Raw) -> Iterator[Raw]:
        """Yield the Pods that are waited for: on a silent Node not those that end."""
        silent = not is_true(node)
        for pod in self.api.pods():
            here = pod["spec"].get("nodeName") == name_of(node)
            finished = pod.get("status", {}).get("phase") in _FINISHED
            matters = not finished and pod["metadata"]["labels"].get("app") != AGENT
            if here and matters and not (silent and is_ending(pod)):
                yield pod
