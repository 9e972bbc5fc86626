"""Core model: what Cluster API's core does for a MachineDeployment, where core itself is not there.

One Machine more than wanted at most, none less: as a rolling update with a surge of one. Nodes are
cordoned and emptied by the Eviction API before a Machine lets go of its host, and deleted after.
"""

from collections.abc import Iterator
from datetime import timedelta
from random import Random

from hostler.frontends.kubernetes.clusterapi.names import CLUSTER_LABEL
from hostler.ports.clock import Clock

from .api import Api, Raw, is_going, is_true, name_of
from .manifests import (
    CLUSTERS,
    DEFINITIONS,
    HOSTLER_CLUSTERS,
    HOSTLER_MACHINES,
    MACHINE_DEPLOYMENTS,
    MACHINES,
    NODES,
    PODS_SORT,
    TEMPLATES,
    Manifest,
)

CLONED_FROM = "cluster.x-k8s.io/cloned-from-name"
_HELD = "machine.cluster.x-k8s.io"
_STEP = timedelta(milliseconds=300)
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


class CoreModel:
    """Brings the Machines of one namespace to where core would bring them, for ever."""

    def __init__(self, api: Api, clock: Clock, random: Random) -> None:
        self._api, self._clock, self._random = api, clock, random

    async def run(self) -> None:
        """Go on until cancelled."""
        while True:
            await self.step()
            await self._clock.sleep(_STEP)

    async def step(self) -> None:
        """Do what can be done now."""
        await self._found_clusters()
        machines = await self._api.list(MACHINES)
        deployments = await self._api.list(MACHINE_DEPLOYMENTS)
        for deployment in deployments:
            await self._resize(deployment, machines)
        if not deployments:
            await self._collect(machines)
        nodes = {one["spec"].get("providerID"): one for one in await self._api.list(NODES)}
        for machine in await self._api.list(MACHINES):
            own = await self._api.get(HOSTLER_MACHINES, name_of(machine))
            if is_going(machine):
                await self._end(machine, own)
            elif own is not None:
                await self._follow(machine, own, nodes)

    async def _found_clusters(self) -> None:
        for cluster in await self._api.list(CLUSTERS):
            own = await self._api.get(HOSTLER_CLUSTERS, name_of(cluster))
            known = cluster.get("status", {}).get("initialization")
            if own and own.get("status", {}).get("initialization", {}).get("provisioned"):
                status = {"initialization": {"infrastructureProvisioned": True}}
                if known != status["initialization"]:
                    await self._api.merge(CLUSTERS, name_of(cluster), {"status": status}, "status")

    # ------------------------------------------------------------ how many

    async def _resize(self, deployment: Raw, machines: list[Raw]) -> None:
        """Make or delete one Machine where there are too few, too many, or outdated ones."""
        spec = deployment["spec"]
        wanted, template = spec["replicas"], spec["template"]["spec"]["infrastructureRef"]["name"]
        living = [one for one in machines if not is_going(one)]
        old = [one for one in living if one["metadata"]["annotations"][CLONED_FROM] != template]
        running = sum(one.get("status", {}).get("phase") == "Running" for one in living)
        if len(living) < wanted + bool(old) and len(living) - len(old) < wanted:
            return await self._make(deployment, template)
        if surplus := old[:1] if running > wanted else living[wanted:] if not old else []:
            await self._api.delete(MACHINES, name_of(surplus[0]))
        return None

    async def _collect(self, machines: list[Raw]) -> None:
        """Delete the Machines whose MachineDeployment is gone."""
        for one in machines:
            if not is_going(one):
                await self._api.delete(MACHINES, name_of(one))

    async def _make(self, deployment: Raw, template: str) -> None:
        """Make a Machine with its HostlerMachine, in core's order."""
        found = await self._api.get(TEMPLATES, template)
        if found is None:
            return
        name = f"{name_of(deployment)}-{''.join(self._random.choices(_LETTERS, k=5))}"
        metadata = {"annotations": {CLONED_FROM: template}}
        spec = found["spec"]["template"]["spec"]
        await self._api.apply(HOSTLER_MACHINES, name, metadata=metadata, spec=spec)
        held = {**metadata, "finalizers": [_HELD], **deployment["spec"]["template"]["metadata"]}
        spec = deployment["spec"]["template"]["spec"]
        made = await self._api.apply(MACHINES, name, metadata=held, spec=spec)
        owner = {
            "apiVersion": MACHINES.api_version,
            "kind": MACHINES.kind,
            "name": name,
            "uid": made["metadata"]["uid"],
            "controller": True,
        }
        labels = {CLUSTER_LABEL: spec["clusterName"]}
        patch = {"metadata": {"ownerReferences": [owner], "labels": labels}}
        await self._api.merge(HOSTLER_MACHINES, name, patch)

    # ------------------------------------------------------------ one Machine

    async def _follow(self, machine: Raw, own: Raw, nodes: dict[str, Raw]) -> None:
        """Say how a Machine stands: its host, and its Node once that is ready."""
        provisioned = own.get("status", {}).get("initialization", {}).get("provisioned")
        node = nodes.get(own["spec"].get("providerID", "")) if provisioned else None
        status: Raw = {"phase": "Provisioned" if provisioned else "Provisioning"}
        if node is not None and is_true(node, "Ready"):
            status = {"phase": "Running", "nodeRef": {"name": name_of(node)}}
        if machine.get("status") != status:
            await self._api.merge(MACHINES, name_of(machine), {"status": status}, "status")

    async def _end(self, machine: Raw, own: Raw | None) -> None:
        """Empty the Node, let the host go, delete the Node, and let the Machine go."""
        name = name_of(machine)
        node = machine.get("status", {}).get("nodeRef", {}).get("name", "")
        if machine.get("status", {}).get("phase") != "Deleting":
            await self._api.merge(MACHINES, name, {"status": {"phase": "Deleting"}}, "status")
        if node and own is not None and not is_going(own) and not await self._drained(node):
            return
        if own is not None:
            if not is_going(own):
                await self._api.delete(HOSTLER_MACHINES, name)
            return
        if node:
            await self._api.delete(NODES, node)
        await self._api.merge(MACHINES, name, {"metadata": {"finalizers": None}})

    async def _drained(self, node: str) -> bool:
        """Cordon a Node and ask its Pods to go; tell whether none is left."""
        if await self._api.merge(NODES, node, {"spec": {"unschedulable": True}}) is None:
            return True
        pods = [one for one in await self._api.list(PODS_SORT) if one["spec"]["nodeName"] == node]
        for pod in pods:
            if not is_going(pod):
                await self._api.evict(PODS_SORT, name_of(pod))
        return not pods


_FREE: Raw = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definitions() -> Iterator[Manifest]:
    """Return definitions of core's kinds, as far as the model has them."""
    for sort in (CLUSTERS, MACHINES, MACHINE_DEPLOYMENTS):
        schema = {"type": "object", "properties": {"spec": _FREE, "status": _FREE}}
        version: Raw = {
            "name": sort.version,
            "served": True,
            "storage": True,
            "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": schema},
        }
        names = {"plural": sort.plural, "kind": sort.kind}
        spec = {
            "group": sort.group,
            "scope": "Namespaced",
            "names": names,
            "versions": [version],
        }
        yield Manifest(DEFINITIONS, f"{sort.plural}.{sort.group}", {"spec": spec})
