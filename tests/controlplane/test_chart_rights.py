"""The command line, the fleet file and the rights of the chart, run: nothing more is needed.

The pod's part is played by a process of ours, with the token of the chart's own account.
"""

import base64
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helm_kit import HOSTLER, manager
from rendering import Helm, Manifest
from test_cluster import conditions, until

from hostler.lab.controlplane.api_server import ApiServer
from hostler.lab.controlplane.kubectl import Kubectl
from hostler.lab.controlplane.processes import Running, free_port, process, wait

pytestmark = pytest.mark.timeout(1900)  # the first test may have to build the programs

NAMESPACE = "keepers"
PROJECT = "22222222-2222-2222-2222-222222222222"
UNUSED = "not serving Cluster API"
"""What is logged where a frontend is not enabled: it has no rights, and needs none."""
KEY = (Path(__file__).parents[2] / "examples" / "simulator.key").read_bytes().strip()


def values(port: int, store: str) -> dict[str, Any]:
    """A minimal release with what is served on this port."""
    return {
        "store": {"kind": store},
        "config": {"engine": {"quiet": "1s", "poll": "100ms"}},
        "frontends": {"metrics": {"enabled": True, "port": port}},
    }


@pytest.fixture
def kubectl(api_server: ApiServer) -> Kubectl:
    whole = Kubectl(api_server)
    command = [str(HOSTLER), "kubernetes", "install", f"--kubeconfig={api_server.kubeconfig}"]
    subprocess.run(command, check=True, capture_output=True)
    whole.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    return whole


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[str]:
    """The address of a simulated cloud."""
    at = free_port()
    command = [str(HOSTLER), "simulator", "scaleway", f"--port={at}", "--speed=30"]
    with process(command, tmp_path / "cloud.log") as one:
        wait(one, lambda: "simulator.listening" in one[1].read_text())
        yield f"http://127.0.0.1:{at}"


@pytest.fixture(params=["kubernetes", "sqlite"])
def running(
    request: pytest.FixtureRequest, helm: Helm, kubectl: Kubectl, port: int, tmp_path: Path
) -> Iterator[Running]:
    """The manager of the chart, as its own account."""
    found = helm.objects(values(port, request.param))
    with manager(found, kubectl, NAMESPACE, tmp_path) as one:
        yield one


def test_the_rights_of_the_chart_suffice_to_run_objects(
    running: Running, kubectl: Kubectl, cloud: str, port: int
) -> None:
    """A Secret is read, a status written, a finalizer set and taken away."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "cloud", "namespace": NAMESPACE},
        "data": {"KEY": base64.b64encode(KEY).decode()},
    }
    used, spare, web = (f"{name}-{port}" for name in ("used", "spare", "web"))
    fleet = an_object("Fleet", web, size=0, provider=used, scaleway={"types": ["DEV1-S"]})
    kubectl.apply(secret, a_provider(used, cloud), a_provider(spare, cloud), fleet)
    names = (("provider", used), ("provider", spare), ("fleet", web))
    until(lambda: all(_accepted(kubectl, *name) for name in names))
    kubectl.run("delete", "providers.hostler.dev", spare, "-n", NAMESPACE, "--timeout=30s")
    lines = running[1].read_text().splitlines()
    assert [one for one in lines if "forbidden" in one.lower() and UNUSED not in one] == []
    assert KEY.decode() not in "".join(lines)


def an_object(what: str, name: str, /, **spec: Any) -> Manifest:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {
        "apiVersion": "hostler.dev/v1alpha1",
        "kind": what,
        "metadata": metadata,
        "spec": spec,
    }


def a_provider(name: str, endpoint: str) -> Manifest:
    scaleway = {"endpoint": endpoint, "project": PROJECT, "secretKeyEnv": "KEY"}
    return an_object("Provider", name, kind="scaleway", secretName="cloud", scaleway=scaleway)


def _accepted(kubectl: Kubectl, kind: str, name: str) -> bool:
    found = kubectl.read(f"{kind}s.hostler.dev", name, "-n", NAMESPACE)
    return conditions(found).get("Accepted") == "True"
