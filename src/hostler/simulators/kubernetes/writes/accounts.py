"""Accounts: every Pod runs as a service account, which must be there."""

from hostler.simulators.kubernetes.state.body import Body, mapping, text_at
from hostler.simulators.kubernetes.state.cluster import Cluster
from hostler.simulators.kubernetes.state.refusals import About, forbidden

STORE = "serviceaccounts"


def with_account(cluster: Cluster, pod: Body) -> Body:
    """Return a Pod that names its service account; Forbidden where there is none."""
    spec, namespace = mapping(pod.get("spec")), text_at(pod, "metadata", "namespace")
    name = text_at(spec, "serviceAccountName") or "default"
    if cluster.storage.find(STORE, (namespace, name)) is None:
        about = About("", "pods", "Pod", text_at(pod, "metadata", "name"))
        why = (
            f"error looking up service account {namespace}/{name}: serviceaccount "
            f'"{name}" not found'
        )
        raise forbidden(about, why)
    return {**pod, "spec": {**spec, "serviceAccountName": name}}
