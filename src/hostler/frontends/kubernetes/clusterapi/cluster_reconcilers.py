"""Cluster reconcilers: clusters, control planes and templates say what they should."""

from datetime import timedelta

from msgspec import Struct

from hostler.kubernetes.errors import Forbidden, NotFound
from hostler.kubernetes.informer import Informers
from hostler.kubernetes.objects import Key, Metadata
from hostler.ports.clock import Clock

from . import clusters, patches
from .caches import owner_of
from .machines import Api
from .names import CLUSTER_LABEL
from .objects import (
    CONTROL_PLANES,
    HOSTLER_CLUSTERS,
    SECRETS,
    TEMPLATES,
    Cluster,
    ControlPlane,
    ControlPlaneStatus,
    HostlerCluster,
    InfrastructureStatus,
    MachineTemplate,
    Secret,
    TemplateStatus,
)

_LATER = timedelta(seconds=30)
"""When a secret that is missing is looked for again: secrets are not watched."""


class ClusterReconciler(Struct, frozen=True, kw_only=True):
    """Brings one HostlerCluster after the other to where it should be; errors go through."""

    api: Api
    items: Informers[HostlerCluster]
    clusters: Informers[Cluster]
    clock: Clock

    async def reconcile(self, key: Key) -> timedelta | None:
        """Write what an object says of itself, where that changed."""
        item = self.items.cache.get(key)
        if item is None:
            return None
        cluster = cluster_of(item.metadata, self.clusters)
        status = clusters.infrastructure(item, cluster, self.clock.now())
        if status is not None and status != (item.status or InfrastructureStatus()):
            patch = patches.status_of_cluster(item.metadata, status)
            await self.api.patch(HOSTLER_CLUSTERS, key, patch, "status")
        return None


class ControlPlaneReconciler(Struct, frozen=True, kw_only=True):
    """Brings one control plane after the other to where it should be; errors go through."""

    api: Api
    items: Informers[ControlPlane]
    clusters: Informers[Cluster]
    clock: Clock

    async def reconcile(self, key: Key) -> timedelta | None:
        """Write what an object says of itself, where that changed."""
        item = self.items.cache.get(key)
        if item is None:
            return None
        cluster = cluster_of(item.metadata, self.clusters)
        secret, unread = await self._kubeconfig(cluster) if cluster is not None else (None, "")
        now = self.clock.now()
        status = clusters.control_plane(item, cluster, secret, now, unread=unread)
        if status is not None and status != (item.status or ControlPlaneStatus()):
            patch = patches.status_of_control_plane(item.metadata, status)
            await self.api.patch(CONTROL_PLANES, key, patch, "status")
        return None if status is None or clusters.is_available(status) else _LATER

    async def _kubeconfig(self, cluster: Cluster) -> tuple[Secret | None, str]:
        """Return a cluster's secret, None where there is none; and why it may not be read."""
        name = clusters.kubeconfig_of(cluster)
        try:
            return await self.api.get(SECRETS, Key(cluster.metadata.namespace, name)), ""
        except NotFound:
            return None, ""
        except Forbidden as error:
            return None, str(error)


class TemplateReconciler(Struct, frozen=True, kw_only=True):
    """Writes into templates what their nodes will have; errors go through."""

    api: Api
    items: Informers[MachineTemplate]

    async def reconcile(self, key: Key) -> timedelta | None:
        """Write what a template says of its nodes, where that changed."""
        item = self.items.cache.get(key)
        if item is None or item.metadata.deletion_timestamp is not None:
            return None
        before, status = item.status or TemplateStatus(), clusters.template(item)
        if status != before:
            patch = patches.status_of_template(item.metadata, before, status)
            await self.api.patch(TEMPLATES, key, patch, "status")
        return None


def cluster_of(metadata: Metadata, known: Informers[Cluster]) -> Cluster | None:
    """Return the Cluster that owns an object, once core has said so."""
    owner = owner_of(metadata, "Cluster")
    name = owner.name if owner is not None else (metadata.labels or {}).get(CLUSTER_LABEL, "")
    return known.cache.get(Key(metadata.namespace, name)) if name else None
