"""Site: a cluster with Cluster API's kinds, in which somebody wants Machines, as core does it.

A health check, as clusters with machines that fail have it, replaces what is not ready for long.
"""

from collections.abc import Iterable
from random import Random
from typing import Any

import msgspec

from hostler.frontends.kubernetes.clusterapi.definitions import definitions
from hostler.frontends.kubernetes.clusterapi.names import (
    CORE,
    CORE_VERSION,
    INFRASTRUCTURE,
    VERSION,
)
from hostler.ports.clock import Clock
from hostler.ports.http import Response

from .nodes.core_drains import CoreDrains
from .simulated_cluster import DEFINITIONS, Raw, SimulatedCluster

NAMESPACE, CLUSTER, DATA = "machines", "c1", "data"
OURS, THEIRS = f"hostlermachines.{INFRASTRUCTURE}", f"machines.{CORE}"
"""Where the server keeps our Machines, and core's."""
UNREADY = 1800.0
"""So long, in seconds, a Machine may not be ready until the health check gives it up."""

_HELD = "machine.cluster.x-k8s.io"


class Site(SimulatedCluster):
    """The objects of one cluster, written without any fault: core's own calls are not judged."""

    def __init__(
        self, clock: Clock, random: Random, fleet: str, data: str = "", unready: float = UNREADY
    ) -> None:
        super().__init__(clock, random)
        self._data, self._longest = data, unready
        self._random, self._fleet, self._made = random, fleet, 0
        self._boot, self._unready = clock.boot, dict[str, float]()
        self.drains: CoreDrains | None = None
        for document in (*definitions(), _kind("Cluster"), _kind("Machine")):
            self.must("POST", DEFINITIONS, document)
        self._found_namespace()

    @property
    def has_namespace(self) -> bool:
        """Tell whether the namespace is there and is to stay."""
        found = self.server.cluster.storage.find("namespaces", ("", NAMESPACE))
        return found is not None and "deletionTimestamp" not in found["metadata"]

    @property
    def has_data(self) -> bool:
        """Tell whether the bootstrap data is there."""
        return self.server.cluster.storage.find("secrets", (NAMESPACE, DATA)) is not None

    def hostler_machines(self) -> list[Raw]:
        """Return our objects."""
        return self.server.cluster.storage.everything(OURS)

    def machines(self) -> list[Raw]:
        """Return core's objects."""
        return self.server.cluster.storage.everything(THEIRS)

    def step(self, wanted: int) -> None:
        """Do once what core does: make and delete Machines, and let go what has ended.

        Somebody makes the namespace anew once it has gone; while it goes nothing can be made in it.
        """
        if not self.server.cluster.storage.find("namespaces", ("", NAMESPACE)):
            self._found_namespace()
        if not self.has_namespace:
            wanted = 0
        for name in self._unhealthy():
            self.must("DELETE", _path(CORE, CORE_VERSION, "machines", name))
        living = [one for one in self.machines() if "deletionTimestamp" not in one["metadata"]]
        for _ in range(wanted - len(living)):
            self._make()
        for one in self._random.sample(living, max(0, len(living) - wanted)):
            self.must("DELETE", _path(CORE, CORE_VERSION, "machines", _name(one)))
        for one in self.machines():
            if "deletionTimestamp" in one["metadata"]:
                self._end(_name(one))

    def delete_machine(self, name: str) -> None:
        """Delete one Machine, as a roll does; one that is gone by now is let be."""
        self.ask("DELETE", _path(CORE, CORE_VERSION, "machines", name))

    def _unhealthy(self) -> list[str]:
        """Return the Machines that a health check gives up: they were not ready for too long."""
        living = {
            _name(one) for one in self.machines() if "deletionTimestamp" not in one["metadata"]
        }
        items = self.hostler_machines()
        unready = [_name(one) for one in items if not is_ready(one)]
        unready += sorted(living - {_name(one) for one in items})
        now = self._boot()
        self._unready = {name: self._unready.get(name, now) for name in unready if name in living}
        return [name for name, since in self._unready.items() if now - since > self._longest]

    def _make(self) -> None:
        """Make a Machine with its HostlerMachine, in core's order."""
        self._made += 1
        name = f"worker-{self._made}"
        own = {
            "apiVersion": f"{INFRASTRUCTURE}/{VERSION}",
            "kind": "HostlerMachine",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"fleetName": self._fleet},
        }
        self.must("POST", _path(INFRASTRUCTURE, VERSION, "hostlermachines"), own)
        machine = {
            "apiVersion": f"{CORE}/{CORE_VERSION}",
            "kind": "Machine",
            "metadata": {"name": name, "namespace": NAMESPACE, "finalizers": [_HELD]},
            "spec": {"clusterName": CLUSTER, "bootstrap": {"dataSecretName": DATA}},
        }
        made = self.must("POST", _path(CORE, CORE_VERSION, "machines"), machine)
        owner = {
            "apiVersion": f"{CORE}/{CORE_VERSION}",
            "kind": "Machine",
            "name": name,
            "uid": made["metadata"]["uid"],
            "controller": True,
        }
        labels = {"cluster.x-k8s.io/cluster-name": CLUSTER}
        patch = {"metadata": {"ownerReferences": [owner], "labels": labels}}
        self.must("PATCH", _path(INFRASTRUCTURE, VERSION, "hostlermachines", name), patch)

    def _end(self, name: str) -> None:
        """Delete the HostlerMachine of a Machine that ends; let the Machine go once it has left."""
        own = _path(INFRASTRUCTURE, VERSION, "hostlermachines", name)
        found = self.ask("GET", own)
        if found.status == 404:
            if self.drains is not None:
                self.drains.over(name)
            patch = {"metadata": {"finalizers": None}}
            self.must("PATCH", _path(CORE, CORE_VERSION, "machines", name), patch)
        elif b"deletionTimestamp" not in found.body and self._is_drained(name, found):
            self.must("DELETE", own)

    def _is_drained(self, name: str, found: Response) -> bool:
        """Tell whether core has drained the Node of a Machine, where it drains any."""
        own = msgspec.json.decode(found.body, type=dict[str, Any])
        return self.drains is None or self.drains.goes_on(name, own)

    # ------------------------------------------------------------ what people do

    def remove(self, kind: str, number: int) -> bool:
        """Remove an object of ours or of core's past its finalizers; tell if there was one."""
        items = self.hostler_machines() if kind == OURS else self.machines()
        if not items:
            return False
        chosen = items[number % len(items)]
        return self.gateway.delete_by_force(kind, NAMESPACE, _name(chosen))

    def delete_data(self) -> bool:
        """Delete the bootstrap data; tell if there was any."""
        return self.gateway.delete_by_force("secrets", NAMESPACE, DATA)

    def make_data(self) -> None:
        """Make the bootstrap data where there is a namespace for it and no data."""
        if not self.has_namespace or self.has_data:
            return
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": DATA, "namespace": NAMESPACE},
            "stringData": {"value": self._data},
        }
        self.must("POST", f"/api/v1/namespaces/{NAMESPACE}/secrets", secret)

    def delete_namespace(self) -> bool:
        """Delete the namespace with all that is in it; tell if it was there to stay."""
        if not self.has_namespace:
            return False
        self.must("DELETE", f"/api/v1/namespaces/{NAMESPACE}")
        return True

    # ------------------------------------------------------------ what there is

    def _found_namespace(self) -> None:
        self.make_namespace(NAMESPACE)
        self._found_cluster()

    def _found_cluster(self) -> None:
        cluster = {
            "apiVersion": f"{CORE}/{CORE_VERSION}",
            "kind": "Cluster",
            "metadata": {"name": CLUSTER, "namespace": NAMESPACE},
            "spec": {"controlPlaneEndpoint": {"host": "api.example", "port": 6443}},
        }
        path = _path(CORE, CORE_VERSION, "clusters")
        self.must("POST", path, cluster)
        status = {"status": {"initialization": {"infrastructureProvisioned": True}}}
        self.must("PATCH", f"{path}/{CLUSTER}/status", status)
        self.make_data()


def _path(group: str, version: str, plural: str, name: str = "") -> str:
    path = f"/apis/{group}/{version}/namespaces/{NAMESPACE}/{plural}"
    return f"{path}/{name}" if name else path


def _name(item: Raw) -> str:
    return str(item["metadata"]["name"])


def provisioned(items: Iterable[Raw]) -> list[Raw]:
    """Return those of our objects of which core was told that they have their host, and live."""
    return [
        one
        for one in items
        if one.get("status", {}).get("initialization", {}).get("provisioned")
        and "deletionTimestamp" not in one["metadata"]
    ]


def is_ready(item: Raw) -> bool:
    """Tell whether one of our objects says that its machine is ready."""
    conditions = item.get("status", {}).get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _kind(kind: str) -> Raw:
    """Return the definition of one of core's kinds, as far as we read it."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version: Raw = {
        "name": CORE_VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {
            "openAPIV3Schema": {"type": "object", "properties": {"spec": free, "status": free}}
        },
    }
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{CORE}"},
        "spec": {
            "group": CORE,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [version],
        },
    }
