"""Existing: whether the demo may use a cluster that is there, and what it takes out of it again.

A kubeconfig names a cluster that a person may not have in mind. So nothing is written there before
its address was said, and what is not there already is not made in its place.
"""

from datetime import timedelta
from pathlib import Path

from hostler.domain.errors import ConfigError
from hostler.kubernetes.contexts import Place, from_kubeconfig
from hostler.kubernetes.kubeconfig import is_there
from hostler.ports.clock import Clock

from .api import Api, name_of
from .control_plane import ControlPlane, Kind
from .manifests import (
    CLUSTERS,
    DEFINITIONS,
    DEMO_LABEL,
    FLEETS,
    HOSTLER_CLUSTERS,
    HOSTLER_MACHINES,
    MACHINE_DEPLOYMENTS,
    MACHINES,
    NAMESPACES,
    NODES,
    PROVIDERS,
)

_STEP, _STEPS, _PATIENCE = timedelta(seconds=1), 60, 5
_FINALIZED = (HOSTLER_MACHINES, HOSTLER_CLUSTERS, FLEETS, PROVIDERS)
"""Objects of ours that would keep the namespace: hostler has ended, and their hosts are gone."""

_WRITES = (
    "the demo installs hostler's kinds there, makes Nodes that no computer stands behind, and "
    "deletes them and its namespace at the end; the kinds stay"
)


def confirmed(kubeconfig: Path, server: str, clock: Clock) -> ControlPlane:
    """Return the cluster of a kubeconfig, where `server` is its address; else ConfigError."""
    if not is_there(kubeconfig):
        raise ConfigError(f"{kubeconfig}: there is no such kubeconfig file")
    place = Place(environment={"KUBECONFIG": str(kubeconfig)}, home=kubeconfig.parent)
    found = from_kubeconfig(place, clock)
    if found.server.rstrip("/") != server.rstrip("/"):
        other = f", and not {server}" if server else ""
        raise ConfigError(
            f"{found.origin}: that is the cluster at {found.server}{other}: {_WRITES}. If that is "
            f"meant: --server {found.server}"
        )
    return ControlPlane(kubeconfig.resolve(), Kind.GIVEN, f"the cluster at {found.server}")


async def examine(api: Api) -> None:
    """Raise ConfigError where the cluster lacks what the demo needs, or has its namespace."""
    for sort in (CLUSTERS, MACHINES, MACHINE_DEPLOYMENTS):
        name = f"{sort.plural}.{sort.group}"
        kind = await api.get(DEFINITIONS, name)
        versions = kind["spec"]["versions"] if kind is not None else ()
        if not any(one["name"] == sort.version and one["served"] for one in versions):
            raise ConfigError(
                f"the cluster has no {name} of {sort.version}: it needs Cluster API's core, such "
                "as `clusterctl init` installs it, and kwok"
            )
    if await api.get(NAMESPACES, api.namespace) is not None:
        raise ConfigError(
            f"the namespace {api.namespace} is there already, and whoever made it may need it: "
            f"if not, `kubectl delete namespace {api.namespace}`, and begin again"
        )


async def clear(api: Api, clock: Clock) -> str:
    """Take the demo's Nodes and namespace out again; return what stays, if anything does."""
    for one in await api.list(NODES):
        if DEMO_LABEL in (one["metadata"].get("labels") or {}):
            await api.delete(NODES, name_of(one))
    await api.delete(NAMESPACES, api.namespace)
    for step in range(_STEPS):
        if await api.get(NAMESPACES, api.namespace) is None:
            return ""
        if step >= _PATIENCE:
            await _let_go(api)
        await clock.sleep(_STEP)
    return f"the namespace {api.namespace} is not gone yet: see what keeps it"


async def _let_go(api: Api) -> None:
    """Take the finalizers of ours off, which nobody heeds any more."""
    for sort in _FINALIZED:
        for one in await api.list(sort):
            if one["metadata"].get("finalizers"):
                await api.merge(sort, name_of(one), {"metadata": {"finalizers": None}})
