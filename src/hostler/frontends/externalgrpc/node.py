"""Node: what a new node of a group will be, and which part of it a pod takes."""

from collections.abc import Mapping

from hostler.config.node_tables import NodeTable
from hostler.config.quantities import quantity
from hostler.domain.model.fleet import Fleet

from .schema import message

FLEET_LABEL = "hostler.dev/fleet"
"""The label of templates by which a price finds its group: their names are made up."""

GPU_LABEL = "hostler.dev/gpu"
"""The label whose value says which GPU a node has."""

_CONDITIONS = {
    "Ready": "True",
    "MemoryPressure": "False",
    "DiskPressure": "False",
    "PIDPressure": "False",
    "NetworkUnavailable": "False",
}


def template(fleet: Fleet, node: NodeTable, amounts: Mapping[str, str]) -> bytes | None:
    """Return a new node as Kubernetes' protobuf; None where nobody knows what it will be."""
    if not amounts:
        return None
    name = f"{fleet.name}-template"
    written = {resource: {"string": amount} for resource, amount in amounts.items()}
    labels = {"kubernetes.io/hostname": name, FLEET_LABEL: str(fleet.name), **_labels(fleet, node)}
    made = message(
        "Node",
        metadata={"name": name, "labels": labels},
        spec={
            "taints": [
                {"key": taint.key, "value": taint.value, "effect": taint.effect}
                for taint in node.taints
            ]
        },
        status={
            "capacity": written,
            "allocatable": written,
            "conditions": [
                {"type": kind, "status": status} for kind, status in _CONDITIONS.items()
            ],
        },
    )
    return made.SerializeToString()


def amounts_of(node: NodeTable) -> Mapping[str, str]:
    """Return what pods get on a node, by resource; empty where the file does not say."""
    if node.cpu is None or node.memory is None:
        return {}
    found = {"cpu": node.cpu, "memory": node.memory, "pods": str(node.pods), **node.resources}
    if node.storage is not None:
        found["ephemeral-storage"] = node.storage
    return found


def _labels(fleet: Fleet, node: NodeTable) -> Mapping[str, str]:
    """Return the labels of a new node: those that every kubelet sets, and the file's."""
    known = {"kubernetes.io/arch": node.architecture, "kubernetes.io/os": node.system}
    kinds = {offer.type for offer in fleet.offers}
    zones = {offer.zone for offer in fleet.offers}
    if len(kinds) == 1:
        known["node.kubernetes.io/instance-type"] = kinds.pop()
    if len(zones) == 1:
        known["topology.kubernetes.io/zone"] = zones.pop()
    return known | node.labels


def share(on_node: Mapping[str, str], requests: Mapping[str, float]) -> float | None:
    """Return which part of a node a pod takes: of what it takes most of; None: it does not fit."""
    amounts = {name: quantity(text) or 0.0 for name, text in on_node.items()}
    if not amounts:
        return None
    parts = [1.0 / amounts["pods"]] if amounts.get("pods") else [0.0]
    for resource, wanted in requests.items():
        if wanted <= 0:
            continue
        there = amounts.get(resource, 0.0)
        if resource != "ephemeral-storage" or there:
            if wanted > there:
                return None
            parts.append(wanted / there)
    return max(parts)
