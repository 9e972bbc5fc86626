"""Manifests: what a person applies for a pool of Macs that are workers of a cluster. Pure."""

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from hostler.frontends.kubernetes.clusterapi.names import (
    CLUSTER_LABEL,
    CONTROL_PLANE,
    CORE,
    CORE_VERSION,
    INFRASTRUCTURE,
    VERSION,
)

from .api import Raw, Sort

FLEET, CLUSTER, POOL = "macs", "c1", "pool-"
WORK, BUDGET = "builds", "builds"
REPLICAS = 3
SPARE = 2
"""Hosts of the pool beside the replicas: one for a surge, one that may be a stray meanwhile."""
PODS, LEAST = 4, 3
"""How many Pods the workload has, and how many of them its disruption budget keeps."""
DEMO_LABEL = "hostler.dev/demo"
"""The label and the taint of Nodes, so that nothing but the workload of the demo comes there."""

NAMESPACES = Sort("", "v1", "namespaces", "Namespace", namespaced=False)
DEFINITIONS = Sort(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
NODES = Sort("", "v1", "nodes", "Node", namespaced=False)
PODS_SORT = Sort("", "v1", "pods", "Pod")
SECRETS = Sort("", "v1", "secrets", "Secret")
DEPLOYMENTS = Sort("apps", "v1", "deployments", "Deployment")
BUDGETS = Sort("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
PROVIDERS = Sort("hostler.dev", "v1alpha1", "providers", "Provider")
FLEETS = Sort("hostler.dev", "v1alpha1", "fleets", "Fleet")
CLUSTERS = Sort(CORE, CORE_VERSION, "clusters", "Cluster")
MACHINES = Sort(CORE, CORE_VERSION, "machines", "Machine")
MACHINE_SETS = Sort(CORE, CORE_VERSION, "machinesets", "MachineSet")
MACHINE_DEPLOYMENTS = Sort(CORE, CORE_VERSION, "machinedeployments", "MachineDeployment")
HOSTLER_MACHINES = Sort(INFRASTRUCTURE, VERSION, "hostlermachines", "HostlerMachine")
HOSTLER_CLUSTERS = Sort(INFRASTRUCTURE, VERSION, "hostlerclusters", "HostlerCluster")
TEMPLATES = Sort(INFRASTRUCTURE, VERSION, "hostlermachinetemplates", "HostlerMachineTemplate")
CONTROL_PLANES = Sort(
    CONTROL_PLANE, VERSION, "hostlerexternalcontrolplanes", "HostlerExternalControlPlane"
)

TIMERS = {
    "start": "60s",
    "stop": "60s",
    "absenceGap": "1s",
    "grace": "5s",
    "sightingGap": "2s",
    "probeEvery": "500ms",
}
"""Short ones: the cloud of the demo lives faster than life, and the engine does not."""


class Manifest(Struct, frozen=True):
    """One object to be applied."""

    sort: Sort
    name: str
    content: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Cloud(Struct, frozen=True, kw_only=True):
    """Where the Macs are, and the kubeconfig by which core reaches the cluster of their Nodes."""

    url: str
    project: str
    key: str
    kubeconfig: bytes


def pool(cloud: Cloud) -> Iterator[Manifest]:
    """Return the account of the Macs, and their fleet: orphans of it are taken back."""
    account = {
        "endpoint": cloud.url,
        "project": cloud.project,
        "secretKeyEnv": "KEY",
        "poolPrefix": POOL,
        "consistencyDelay": "2s",
    }
    spec = {"kind": "scaleway-macs", "secretName": "key", "scalewayMacs": account}
    yield _secret("key", KEY=cloud.key.encode())
    yield Manifest(PROVIDERS, FLEET, {"spec": spec})
    fleet = {
        "provider": FLEET,
        "size": 0,
        "maximum": REPLICAS + SPARE,
        "renews": False,
        "reclaim": True,
        "timers": TIMERS,
        "scalewayMacs": {"types": ["M2-L"], "zones": ["fr-par-1"]},
    }
    yield Manifest(FLEETS, FLEET, {"spec": fleet})


def cluster(cloud: Cloud) -> Iterator[Manifest]:
    """Return a cluster that exists already, with a control plane that nobody here manages."""
    labels = {"metadata": {"labels": {CLUSTER_LABEL: CLUSTER}}}
    yield _secret(f"{CLUSTER}-kubeconfig", value=cloud.kubeconfig)
    yield _secret("no-bootstrap", value=b"")
    yield Manifest(HOSTLER_CLUSTERS, CLUSTER, labels)
    yield Manifest(CONTROL_PLANES, CLUSTER, labels)
    spec = {
        "controlPlaneEndpoint": {"host": "127.0.0.1", "port": 6443},
        "controlPlaneRef": _reference(CONTROL_PLANES, CLUSTER),
        "infrastructureRef": _reference(HOSTLER_CLUSTERS, CLUSTER),
    }
    yield Manifest(CLUSTERS, CLUSTER, {"spec": spec})


def workers(revision: int) -> Iterator[Manifest]:
    """Return the template of a revision, and the MachineDeployment that rolls to it."""
    name = f"{FLEET}-{revision}"
    yield Manifest(TEMPLATES, name, {"spec": {"template": {"spec": {"fleetName": FLEET}}}})
    machine = {
        "clusterName": CLUSTER,
        "bootstrap": {"dataSecretName": "no-bootstrap"},
        "infrastructureRef": _reference(TEMPLATES, name),
        "deletion": {"nodeDrainTimeoutSeconds": 120, "nodeDeletionTimeoutSeconds": 180},
    }
    labels = {"pool": FLEET}
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    spec = {
        "clusterName": CLUSTER,
        "replicas": REPLICAS,
        "rollout": {"strategy": rolling},
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": machine},
    }
    yield Manifest(MACHINE_DEPLOYMENTS, FLEET, {"spec": spec})


def workload() -> Iterator[Manifest]:
    """Return what runs on the Nodes, and the budget of its disruptions."""
    labels = {"app": WORK}
    pod = {
        "nodeSelector": {DEMO_LABEL: FLEET},
        "tolerations": [{"key": DEMO_LABEL, "operator": "Exists"}],
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": WORK, "image": "none"}],
    }
    spec = {
        "replicas": PODS,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    yield Manifest(DEPLOYMENTS, WORK, {"spec": spec})
    budget = {"minAvailable": LEAST, "selector": {"matchLabels": labels}}
    yield Manifest(BUDGETS, BUDGET, {"spec": budget})


def node(name: str, provider_id: str) -> Manifest:
    """Return the Node of a host that has joined."""
    taint = {"key": DEMO_LABEL, "value": FLEET, "effect": "NoSchedule"}
    metadata = {"labels": {DEMO_LABEL: FLEET, "kubernetes.io/hostname": name}}
    content = {"metadata": metadata, "spec": {"providerID": provider_id, "taints": [taint]}}
    return Manifest(NODES, name, content)


def _reference(sort: Sort, name: str) -> Raw:
    return {"apiGroup": sort.group, "kind": sort.kind, "name": name}


def _secret(name: str, **data: bytes) -> Manifest:
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    metadata = {"labels": {CLUSTER_LABEL: CLUSTER}}
    return Manifest(SECRETS, name, {"metadata": metadata, "data": encoded})
