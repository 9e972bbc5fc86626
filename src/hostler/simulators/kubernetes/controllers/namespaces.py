"""Namespaces: those that end are emptied, and then let go; new ones get their service account."""

from hostler.simulators.kubernetes.state.body import Body, mapping, metadata_of, text_at
from hostler.simulators.kubernetes.state.cluster import Cluster
from hostler.simulators.kubernetes.state.storage import Change
from hostler.simulators.kubernetes.writes.change import written_or_ended
from hostler.simulators.kubernetes.writes.deletion import Terms, delete

STORE = "namespaces"


class Namespaces:
    """Ends namespaces."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._due = set[str]()
        self._new: list[str] = []
        cluster.storage.listeners.append(self._take)

    def _take(self, change: Change) -> None:
        item = change.item
        if change.store == STORE and change.before is None:
            self._new.append(text_at(item, "metadata", "name"))
        elif change.store == STORE and metadata_of(item).get("deletionTimestamp"):
            self._due.add(text_at(item, "metadata", "name"))
        elif change.deleted:
            self._due.add(text_at(item, "metadata", "namespace"))

    def settle(self) -> bool:
        """Empty those that end; tell whether something was done."""
        for name in self._new:
            self._account(name)
        due, self._due, self._new = self._due, set[str](), []
        return sum(self._visit(name) for name in sorted(due)) > 0

    def _visit(self, name: str) -> bool:
        namespace = self._cluster.storage.find(STORE, ("", name))
        if namespace is None or not metadata_of(namespace).get("deletionTimestamp"):
            return False
        storage = self._cluster.storage
        for store in storage.stores():
            kind = self._cluster.kinds.stored(store)
            if kind is None or not kind.namespaced:
                continue
            for item in storage.everything(store, name):
                delete(self._cluster, kind, item, Terms(policy="Background"))
        if not self._left(name):
            self._let_go(namespace)
        return True

    def _account(self, namespace: str) -> None:
        """Give a new namespace the service account of Pods that name none."""
        metadata = {
            "name": "default",
            "namespace": namespace,
            "uid": self._cluster.uid(),
            "creationTimestamp": self._cluster.stamp(),
        }
        body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
        self._cluster.storage.put("serviceaccounts", body)

    def _left(self, name: str) -> bool:
        storage = self._cluster.storage
        return any(storage.everything(store, name) for store in storage.stores())

    def _let_go(self, namespace: Body) -> None:
        kind = self._cluster.kinds.stored(STORE)
        if kind is not None:
            spec: Body = {**mapping(namespace.get("spec")), "finalizers": []}
            written_or_ended(self._cluster, kind, {**namespace, "spec": spec})
