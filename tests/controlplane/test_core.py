"""Cluster API's core beside the kinds of ours: what it reads of them, and makes of a template."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_cluster import a_node, conditions, until

from hostler.lab.controlplane.api_server import ApiServer
from hostler.lab.controlplane.kubectl import Kubectl, Refused

pytestmark = pytest.mark.timeout(1900)  # the first test may have to build the programs

CORE = "cluster.x-k8s.io"
OURS = "infrastructure.cluster.x-k8s.io"
CONTROL = "controlplane.cluster.x-k8s.io"
PLACE = ("-n", "fleet")


def an_object(group: str, kind: str, name: str, **spec: Any) -> dict[str, Any]:
    version = "v1beta2" if group == CORE else "v1alpha1"
    metadata = {"name": name, "namespace": "fleet"}
    body = {"spec": spec} if spec else {}
    return {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": metadata, **body}


def reference(group: str, kind: str, name: str) -> dict[str, str]:
    return {"apiGroup": group, "kind": kind, "name": name}


@pytest.fixture(scope="module")
def fleet(core_cluster: ApiServer) -> Kubectl:
    """A cluster with a pool of two: its own test cluster is the one that the machines join."""
    kubectl = Kubectl(core_cluster)
    program = str(Path(sys.executable).parent / "hostler")
    command = [program, "kubernetes", "install", f"--kubeconfig={core_cluster.kubeconfig}"]
    subprocess.run(command, capture_output=True, check=True)
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fleet"}})
    whole = core_cluster.kubeconfig.read_text()
    kubectl.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "cluster.x-k8s.io/secret",
            "metadata": {
                "name": "c1-kubeconfig",
                "namespace": "fleet",
                "labels": {"cluster.x-k8s.io/cluster-name": "c1"},
            },
            "stringData": {"value": whole},
        },
        an_object(OURS, "HostlerCluster", "c1"),
        an_object(CONTROL, "HostlerExternalControlPlane", "c1"),
        an_object(
            CORE,
            "Cluster",
            "c1",
            controlPlaneEndpoint={"host": "127.0.0.1", "port": 6443},
            controlPlaneRef=reference(CONTROL, "HostlerExternalControlPlane", "c1"),
            infrastructureRef=reference(OURS, "HostlerCluster", "c1"),
        ),
    )
    return kubectl


def test_core_refuses_what_its_webhooks_refuse(fleet: Kubectl) -> None:
    wrong = reference(OURS, "HostlerMachineTemplate", "")
    with pytest.raises(Refused, match="MachineDeployment"):
        fleet.apply(a_pool("wrong", wrong))


def a_pool(name: str, template: dict[str, str]) -> dict[str, Any]:
    machine = {
        "clusterName": "c1",
        "bootstrap": {"dataSecretName": "bootstrap"},
        "infrastructureRef": template,
    }
    labels = {"pool": name}
    return an_object(
        CORE,
        "MachineDeployment",
        name,
        clusterName="c1",
        replicas=2,
        selector={"matchLabels": labels},
        template={"metadata": {"labels": labels}, "spec": machine},
    )


def test_core_makes_our_machines_of_our_template_and_reads_their_status(fleet: Kubectl) -> None:
    """Hostler's part is played: the definitions and the contract are what is tried."""
    provisioned = {"provisioned": True}
    fleet.write_status(f"hostlerclusters.{OURS}", "c1", "fleet", initialization=provisioned)
    begun = {"controlPlaneInitialized": True}
    plane = f"hostlerexternalcontrolplanes.{CONTROL}"
    fleet.write_status(plane, "c1", "fleet", initialization=begun, externalManagedControlPlane=True)
    until(lambda: _phase(fleet, "cluster", "c1") == "Provisioned")
    template = an_object(OURS, "HostlerMachineTemplate", "workers")
    template["spec"] = {"template": {"spec": {"fleetName": "builders"}}}
    fleet.apply(template)
    fleet.apply(a_pool("workers", reference(OURS, "HostlerMachineTemplate", "workers")))
    until(lambda: len(_machines(fleet)) == 2)
    for machine in _machines(fleet):
        name = machine["metadata"]["name"]
        node = a_node(f"node-{name}")
        node["spec"] = {"providerID": f"hostler://{name}"}
        fleet.apply(node)
        until(lambda name=name: _is_owned(fleet, name))
        patch = f'{{"spec": {{"providerID": "hostler://{name}"}}}}'
        fleet.run("patch", "hostlermachine", name, *PLACE, "--type=merge", "-p", patch)
        fleet.write_status(f"hostlermachines.{OURS}", name, "fleet", initialization=provisioned)
    names = [machine["metadata"]["name"] for machine in _machines(fleet)]
    until(
        lambda: all(_phase(fleet, "machine.cluster.x-k8s.io", name) == "Running" for name in names)
    )
    assert all(_is_found(fleet, name) for name in names)


def _phase(kubectl: Kubectl, resource: str, name: str) -> str:
    return str(kubectl.read(resource, name, *PLACE).get("status", {}).get("phase"))


def _machines(kubectl: Kubectl) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = kubectl.read(f"hostlermachines.{OURS}", *PLACE)["items"]
    return found


def _is_owned(kubectl: Kubectl, name: str) -> bool:
    found = kubectl.read(f"hostlermachines.{OURS}", name, *PLACE)["metadata"]
    return any(owner["kind"] == "Machine" for owner in found.get("ownerReferences", []))


def _is_found(kubectl: Kubectl, name: str) -> bool:
    found = kubectl.read("machine.cluster.x-k8s.io", name, *PLACE)
    node = found["status"]["nodeRef"]["name"] == f"node-{name}"
    return node and conditions(found)["NodeReady"] == "True"
