"""Calls of a cluster's own parts: kubelets and controllers write without any fault."""

from collections.abc import Callable, Mapping

from hostler.lab.kubernetes.simulated_cluster import Raw, SimulatedCluster

APPS = "apps"
"""The namespace of what runs there."""
NODES, PODS = "nodes", "pods"
BUDGETS = "poddisruptionbudgets.policy"

Time = Callable[[], float]
"""Tells the true time, in seconds since the run began."""


def name_of(item: Raw) -> str:
    """Return an object's name."""
    return str(item["metadata"]["name"])


def is_ending(item: Raw) -> bool:
    """Tell whether an object was deleted, and is there still."""
    return "deletionTimestamp" in item["metadata"]


def is_true(item: Raw, condition: str = "Ready") -> bool:
    """Tell whether a condition of an object is true."""
    conditions = item.get("status", {}).get("conditions") or ()
    return any(one["type"] == condition and one["status"] == "True" for one in conditions)


class ClusterApi:
    """Reads and writes Nodes and Pods as the cluster's own parts do."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._stamp = cluster.server.cluster.stamp

    def everything(self, store: str) -> list[Raw]:
        """Return all objects of a kind."""
        return self._cluster.server.cluster.storage.everything(store)

    def nodes(self) -> dict[str, Raw]:
        """Return all Nodes, by name."""
        return {name_of(one): one for one in self.everything(NODES)}

    def pods(self) -> list[Raw]:
        """Return all Pods."""
        return self.everything(PODS)

    def make(self, path: str, body: Mapping[str, object]) -> Raw:
        """Make an object."""
        return self._cluster.must("POST", path, body)

    def patch(self, path: str, body: Mapping[str, object]) -> None:
        """Merge something into an object; one that is gone meanwhile is let be."""
        self._cluster.must("PATCH", path, body)

    def evict(self, pod: Raw) -> None:
        """Ask for a Pod's eviction, which may be refused."""
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": pod["metadata"]}
        self._cluster.ask("POST", f"{pod_path(pod)}/eviction", body)

    def end_pod(self, pod: Raw) -> None:
        """Let a Pod be gone, as its kubelet says that it is."""
        self._cluster.must("DELETE", pod_path(pod), {"gracePeriodSeconds": 0})

    def delete(self, path: str) -> None:
        """Delete an object."""
        self._cluster.must("DELETE", path)

    def ready(self, of: Raw | None, status: str, reason: str) -> Raw:
        """Return the condition *Ready* of an object as it is written now."""
        now = self._stamp()
        conditions = of.get("status", {}).get("conditions") if of is not None else None
        before = next((one for one in conditions or () if one["type"] == "Ready"), None)
        same = before is not None and before["status"] == status
        return {
            "type": "Ready",
            "status": status,
            "reason": reason,
            "lastHeartbeatTime": now,
            "lastTransitionTime": before["lastTransitionTime"] if before and same else now,
        }


def node_path(name: str) -> str:
    """Return where a Node is."""
    return f"/api/v1/nodes/{name}"


def pod_path(pod: Raw) -> str:
    """Return where a Pod is."""
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{name_of(pod)}"
