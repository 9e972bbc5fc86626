"""Macs of the older provider come over under core: the same Machines, and objects of ours.

The older provider's definitions are stood in for: of them core reads a label, and we the objects.
"""

import json
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from test_cluster import until
from test_core import CONTROL, CORE, OURS, an_object, reference

from hostler.lab.controlplane.api_server import ApiServer
from hostler.lab.controlplane.kubectl import Kubectl

pytestmark = pytest.mark.timeout(1900)  # the first test may have to build the programs

NAMESPACE = "former"
PLACE = ("-n", NAMESPACE)
KIND, STUB = "ScalewayAppleSiliconMachine", "TuistCluster"
SERVER = "6170692d-7363-616c-6577-61792d617069"
PROVIDER_ID = f"scw-applesilicon://fr-par-1/{SERVER}"
NAME = "runners-abcde"


def _definition(kind: str) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{OURS}",
            "labels": {"cluster.x-k8s.io/v1beta1": "v1alpha1"},
        },
        "spec": {
            "group": OURS,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [version],
        },
    }


def _here(one: dict[str, Any]) -> dict[str, Any]:
    return {**one, "metadata": {**one["metadata"], "namespace": NAMESPACE}}


@pytest.fixture
def former(core_cluster: ApiServer) -> Kubectl:
    """A Machine of core's with an object of the older provider, on hold as the guide says."""
    kubectl = Kubectl(core_cluster)
    _hostler(core_cluster, "install")
    kinds = (KIND, f"{KIND}Template", STUB)
    kubectl.apply(*(_definition(kind) for kind in kinds))
    names = [f"crd/{kind.lower()}s.{OURS}" for kind in kinds]
    kubectl.run("wait", "--for=condition=Established", *names, "--timeout=60s")
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    mac = {"type": "M2-L", "zone": "fr-par-1", "fleetName": "runners"}
    cluster = an_object(
        CORE,
        "Cluster",
        "c1",
        controlPlaneEndpoint={"host": "127.0.0.1", "port": 6443},
        infrastructureRef=reference(OURS, STUB, "c1"),
        paused=True,
    )
    machine = an_object(
        CORE,
        "Machine",
        NAME,
        clusterName="c1",
        bootstrap={"dataSecretName": "nothing"},
        infrastructureRef=reference(OURS, KIND, NAME),
    )
    wanted = {
        "clusterName": "c1",
        "bootstrap": {"dataSecretName": "nothing"},
        "infrastructureRef": reference(OURS, f"{KIND}Template", "runners-1"),
    }
    deployment = an_object(
        CORE,
        "MachineDeployment",
        "runners",
        clusterName="c1",
        replicas=0,
        rollout={"strategy": {"type": "OnDelete"}},
        selector={"matchLabels": {"pool": "runners"}},
        template={"metadata": {"labels": {"pool": "runners"}}, "spec": wanted},
    )
    found = [
        an_object(OURS, KIND, NAME, providerID=PROVIDER_ID, **mac),
        an_object(OURS, KIND, "runners-fghij", **mac),
        an_object(OURS, f"{KIND}Template", "runners-1", template={"spec": mac}),
        an_object(OURS, STUB, "c1"),
        an_object(CONTROL, "HostlerExternalControlPlane", "c1"),
        cluster,
        deployment,
        machine,
    ]
    kubectl.apply(*map(_here, found))
    return kubectl


def _hostler(server: ApiServer, *words: str) -> str:
    program = str(Path(sys.executable).parent / "hostler")
    command = [program, "kubernetes", *words, f"--kubeconfig={server.kubeconfig}"]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return done.stdout


def _follow(kubectl: Kubectl) -> None:
    """Name our objects in core's, as the guide says, and let the cluster go."""
    control = reference(CONTROL, "HostlerExternalControlPlane", "c1")
    cluster = {
        "infrastructureRef": reference(OURS, "HostlerCluster", "c1"),
        "controlPlaneRef": control,
    }
    template = {"infrastructureRef": {"kind": "HostlerMachineTemplate"}}
    changes: list[tuple[str, str, dict[str, Any]]] = [
        ("machines", NAME, {"infrastructureRef": {"kind": "HostlerMachine"}}),
        ("machinedeployments", "runners", {"template": {"spec": template}}),
        ("clusters", "c1", cluster),
        ("clusters", "c1", {"paused": False}),
    ]
    for kind, name, spec in changes:
        patch = json.dumps({"spec": spec})
        kubectl.run("patch", f"{kind}.{CORE}", name, *PLACE, "--type=merge", "-p", patch)


def test_a_machine_of_the_older_provider_goes_on_with_an_object_of_ours(
    core_cluster: ApiServer, former: Kubectl
) -> None:
    names = (f"--namespace={NAMESPACE}", "--json")
    listed = json.loads(_hostler(core_cluster, "import", "--dry-run", *names))["items"]
    assert not former.read(f"hostlermachines.{OURS}", *PLACE)["items"]
    first, again = (json.loads(_hostler(core_cluster, "import", *names)) for _ in range(2))
    assert all(first["imported"].values())
    assert first["imported"].keys() == {f"{o['kind']}/{o['metadata']['name']}" for o in listed}
    assert not any(again["imported"].values())
    assert "no host" in first["left"][f"{KIND}/runners-fghij"]
    ours = former.read(f"hostlermachines.{OURS}", NAME, *PLACE)
    assert ours["spec"]["providerID"] == PROVIDER_ID
    _follow(former)

    looks = count()

    def is_owned() -> bool:
        """Core may have read its Machine before it knew ours, and reads it again in ten minutes."""
        look = f"hostler.test/look={next(looks)}"
        former.run("annotate", f"machines.{CORE}", NAME, look, "--overwrite", *PLACE)
        found = former.read(f"hostlermachines.{OURS}", NAME, *PLACE)["metadata"]
        return any(o["kind"] == "Machine" for o in found.get("ownerReferences", ()))

    until(is_owned)
