"""Clusters: what a HostlerCluster, a control plane and a template say of themselves. Pure.

None of them has anything at a provider, so none has a finalizer.
"""

from datetime import datetime

import msgspec

from .conditions import AVAILABLE, READY, condition, merged, paused
from .names import CLUSTER_LABEL, KUBECONFIG_SUFFIX
from .objects import (
    Cluster,
    ClusterWants,
    ControlPlane,
    ControlPlaneStatus,
    Endpoint,
    HostlerCluster,
    InfrastructureStatus,
    Initialization,
    MachineTemplate,
    Secret,
    TemplateStatus,
    TemplateWants,
)
from .pausing import is_externally_managed, is_paused


def infrastructure(
    item: HostlerCluster, cluster: Cluster | None, now: datetime
) -> InfrastructureStatus | None:
    """Return the status that a HostlerCluster is to have; None leaves it alone.

    It is provisioned once the cluster has an endpoint, which we do not make: the user names it here
    or in the Cluster, or a control plane provider does.
    """
    before = item.status or InfrastructureStatus()
    if is_externally_managed(item.metadata) or cluster is None:
        return None
    if item.metadata.deletion_timestamp is not None:
        return None
    if is_paused(item.metadata, cluster):
        conditions = merged(before.conditions, (paused(holds=True),), now)
        return msgspec.structs.replace(before, conditions=conditions)
    wants = item.spec or ClusterWants()
    has_endpoint = _is_valid(wants.control_plane_endpoint) or _is_valid(_endpoint(cluster))
    ready = has_endpoint or before.initialization.provisioned
    text = "" if ready else "set `spec.controlPlaneEndpoint`, here or in the Cluster"
    reason = "Provisioned" if ready else "WaitingForControlPlaneEndpoint"
    changes = (paused(holds=False), condition(READY, reason, text, holds=ready))
    return InfrastructureStatus(
        ready=ready,
        initialization=Initialization(provisioned=ready),
        failure_domains=tuple(sorted(wants.failure_domains, key=lambda domain: domain.name)),
        conditions=merged(before.conditions, changes, now),
    )


def kubeconfig_of(cluster: Cluster) -> str:
    """Return the name of the secret by which core reaches a cluster."""
    return f"{cluster.metadata.name}{KUBECONFIG_SUFFIX}"


def control_plane(
    item: ControlPlane,
    cluster: Cluster | None,
    kubeconfig: Secret | None,
    now: datetime,
    *,
    unread: str = "",
) -> ControlPlaneStatus | None:
    """Return the status that a control plane managed elsewhere is to have; None leaves it alone.

    It counts as initialized once core can reach it, and for ever from then on. `unread` is why its
    secret may not be read, where that is so.
    """
    before = item.status or ControlPlaneStatus()
    if is_externally_managed(item.metadata) or cluster is None:
        return None
    if item.metadata.deletion_timestamp is not None:
        return None
    if is_paused(item.metadata, cluster):
        conditions = merged(before.conditions, (paused(holds=True),), now)
        return msgspec.structs.replace(before, conditions=conditions)
    lacks = unread or _lack(cluster, kubeconfig)
    initialized = not lacks or before.initialization.control_plane_initialized
    missing = "KubeconfigUnreadable" if unread else "KubeconfigMissing"
    reason = missing if lacks else "Available"
    changes = (paused(holds=False), condition(AVAILABLE, reason, lacks, holds=not lacks))
    return ControlPlaneStatus(
        ready=initialized,
        initialized=initialized,
        external_managed_control_plane=True,
        initialization=Initialization(control_plane_initialized=initialized),
        conditions=merged(before.conditions, changes, now),
    )


def is_available(status: ControlPlaneStatus) -> bool:
    """Tell whether it is said that core can reach a control plane, which may cease and come back.

    That it is initialized says nothing of that: it stays so without its secret.
    """
    return any(one.type == AVAILABLE and one.status == "True" for one in status.conditions)


def template(item: MachineTemplate) -> TemplateStatus:
    """Return what scaling from zero counts with: what the template's author says of its nodes."""
    wants = item.spec or TemplateWants()
    capacity = {name: str(amount) for name, amount in wants.capacity.items()}
    return TemplateStatus(capacity=capacity, node_info=wants.node_info)


def _lack(cluster: Cluster, kubeconfig: Secret | None) -> str:
    """Return what keeps core from reaching the cluster, as far as can be seen here."""
    name = kubeconfig_of(cluster)
    if kubeconfig is None or "value" not in (kubeconfig.data or {}):
        return f"make the secret {name}, with a kubeconfig of the cluster under `value`"
    if (kubeconfig.metadata.labels or {}).get(CLUSTER_LABEL) != cluster.metadata.name:
        return f"label the secret {name} with {CLUSTER_LABEL}={cluster.metadata.name}"
    return ""


def _endpoint(cluster: Cluster) -> Endpoint:
    return cluster.spec.control_plane_endpoint if cluster.spec is not None else Endpoint()


def _is_valid(endpoint: Endpoint) -> bool:
    return bool(endpoint.host) and endpoint.port > 0
