"""`hostler run --kubernetes` under Cluster API's own core: Machines come, roll and go.

The kubelet is played: a Node is made for each machine that is up.
"""

import base64
import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kinds_kit import wait_until
from test_cluster import a_node

from hostler.lab.controlplane.api_server import ApiServer
from hostler.lab.controlplane.kubectl import Kubectl

pytestmark = pytest.mark.timeout(1900)  # the first test may have to build the programs

CORE, OURS = "cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io"
CONTROL = "controlplane.cluster.x-k8s.io"
FINALIZER = "hostlermachine.infrastructure.cluster.x-k8s.io"
NAMESPACE = "machines"
PLACE = ("-n", NAMESPACE)
HOSTLER = Path(sys.executable).parent / "hostler"
EXAMPLES = Path(__file__).parents[2] / "examples"
KEY = (EXAMPLES / "simulator.key").read_text().strip()
TOKEN = "abcdef.0123456789abcdef"
ENGINE = """
[engine]
quiet = "1s"
busy_first = "500ms"
busy_last = "1s"
rare = "1s"
poll = "100ms"
"""
LABELS = {"cluster.x-k8s.io/cluster-name": "c2"}


def _object(group: str, kind: str, name: str, **parts: Any) -> dict[str, Any]:
    version = {CORE: f"{CORE}/v1beta2", "": "v1"}.get(group, f"{group}/v1alpha1")
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **parts}


def _reference(group: str, kind: str, name: str) -> dict[str, str]:
    return {"apiGroup": group, "kind": kind, "name": name}


def _secret(name: str, value: str) -> dict[str, Any]:
    made = _object("", "Secret", name, type="cluster.x-k8s.io/secret", stringData={"value": value})
    made["metadata"]["labels"] = LABELS
    return made


@dataclass
class Site:
    """One namespace with hostler, a cloud, and a Cluster whose workers are hostler's."""

    kubectl: Kubectl
    log: Path
    cloud: str

    def user_data(self) -> list[str]:
        """Return what each server that is switched on was to read at its first boot."""
        servers = json.loads(self._asked("servers"))["servers"]
        return [
            self._asked(f"servers/{one['id']}/user_data/cloud-init").decode()
            for one in servers
            if one["state"] != "stopped"
        ]

    def fleets(self) -> set[str]:
        """Return of which fleets there are servers, by their tags."""
        servers = json.loads(self._asked("servers"))["servers"]
        tags = {tag for one in servers for tag in one["tags"] if tag.startswith("hostler-fleet=")}
        return {tag.partition("=")[2] for tag in tags}

    def _asked(self, path: str) -> bytes:
        address = f"{self.cloud}/instance/v1/zones/fr-par-1/{path}"
        request = urllib.request.Request(address, headers={"X-Auth-Token": KEY})  # noqa: S310 - loopback only
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - loopback only
            found: bytes = answer.read()
            return found

    def read(self, resource: str, name: str) -> dict[str, Any]:
        return self.kubectl.read(resource, name, *PLACE)

    def listed(self, resource: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.kubectl.read(resource, *PLACE)["items"]
        return found

    def until(self, holds: Any, what: str, seconds: float = 300) -> None:
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                seen = [self.listed(kind) for kind in ("machines", "hostlermachines")]
                raise AssertionError((what, json.dumps(seen)[-6000:], self.log.read_text()[-3000:]))
            self.join()
            time.sleep(0.3)

    def join(self) -> None:
        """Be the kubelets: each machine that is up registers its Node."""
        nodes = {one["metadata"]["name"] for one in self.kubectl.read("nodes")["items"]}
        for machine in self.listed("hostlermachines"):
            name, provider = machine["metadata"]["name"], machine["spec"].get("providerID")
            leaves = "deletionTimestamp" in machine["metadata"]
            if provider and not leaves and name not in nodes:
                self.kubectl.apply({**a_node(name), "spec": {"providerID": provider}})

    def running(self) -> list[str]:
        """Return the Machines that have their Nodes and are available."""
        return sorted(
            one["metadata"]["name"]
            for one in self.listed("machines")
            if one.get("status", {}).get("phase") == "Running"
            and "deletionTimestamp" not in one["metadata"]
        )

    def template(self, name: str) -> None:
        template = _object(OURS, "HostlerMachineTemplate", name)
        capacity = {"cpu": "2", "memory": "2Gi"}
        inner = {"spec": {"fleetName": "workers"}}
        self.kubectl.apply({**template, "spec": {"capacity": capacity, "template": inner}})

    def pool(self, template: str, replicas: int, secret: str = "nothing") -> None:  # noqa: S107 - its name
        """Apply a MachineDeployment that rolls when its Machines are deleted."""
        labels = {"pool": "workers"}
        machine = {
            "clusterName": "c2",
            "bootstrap": {"dataSecretName": secret},
            "infrastructureRef": _reference(OURS, "HostlerMachineTemplate", template),
            "deletion": {"nodeDeletionTimeoutSeconds": 600},
        }
        spec = {
            "clusterName": "c2",
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "rollout": {"strategy": {"type": "OnDelete"}},
            "template": {"metadata": {"labels": labels}, "spec": machine},
        }
        self.kubectl.apply(_object(CORE, "MachineDeployment", "workers", spec=spec))


@contextmanager
def _running(command: list[str], log: Path) -> Generator["subprocess.Popen[bytes]"]:
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def site(core_cluster: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving(core_cluster, tmp_path_factory.mktemp("machines")) as one:
        yield one


@contextmanager
def serving(core_cluster: ApiServer, folder: Path, home: str = "") -> Generator[Site]:
    """Hostler, a simulated cloud thirty times faster than life, and a Cluster without workers.

    With `home` hostler reads the namespace of the Cluster beside that one.
    """
    kubectl, kubeconfig = Kubectl(core_cluster), f"--kubeconfig={core_cluster.kubeconfig}"
    install = [str(HOSTLER), "kubernetes", "install", kubeconfig]
    subprocess.run(install, capture_output=True, check=True)
    namespaces = [name for name in (home, NAMESPACE) if name]
    for name in namespaces:
        kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    simulator = [str(HOSTLER), "simulator", "scaleway", "--port", "0", "--speed", "30"]
    cloud, file = folder / "cloud.log", folder / "engine.toml"
    file.write_text(ENGINE)
    read = [f"--namespace={name}" for name in namespaces]
    engine = [str(HOSTLER), "run", "--kubernetes", kubeconfig, *read]
    with _running(simulator, cloud):
        wait_until(lambda: "simulator.listening" in cloud.read_text(), 30, "the simulator")
        port = re.findall(r"127\.0\.0\.1:(\d+)", cloud.read_text())[0]
        kubectl.apply(*_fleet(port), *_cluster(core_cluster.kubeconfig.read_text()))
        with _running([*engine, str(file)], folder / "engine.log") as process:
            yield Site(kubectl, folder / "engine.log", f"http://127.0.0.1:{port}")
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0


def _fleet(port: str) -> tuple[dict[str, Any], ...]:
    key = base64.b64encode(KEY.encode()).decode()
    scaleway = {
        "endpoint": f"http://127.0.0.1:{port}",
        "project": "22222222-2222-2222-2222-222222222222",
        "secretKeyEnv": "KEY",
        "consistencyDelay": "1s",
    }
    waits = {"start": "20s", "stop": "30s", "absenceGap": "1s", "probeEvery": "500ms"}
    provider = {"kind": "scaleway", "secretName": "cloud", "scaleway": scaleway}
    fleet = {
        "provider": "cloud",
        "size": 0,
        "renews": False,
        "maximum": 5,
        "timers": {**waits, "tries": ["1s", "2s"]},
        "scaleway": {"types": ["DEV1-S"], "cloudInit": "#cloud-config\npackages: [curl]\n"},
    }
    return (
        _object("", "Secret", "cloud", data={"KEY": key}),
        _object("hostler.dev", "Provider", "cloud", spec=provider),
        _object("hostler.dev", "Fleet", "workers", spec=fleet),
    )


def _cluster(kubeconfig: str) -> tuple[dict[str, Any], ...]:
    spec = {
        "controlPlaneEndpoint": {"host": "127.0.0.1", "port": 6443},
        "controlPlaneRef": _reference(CONTROL, "HostlerExternalControlPlane", "c2"),
        "infrastructureRef": _reference(OURS, "HostlerCluster", "c2"),
    }
    return (
        _secret("c2-kubeconfig", kubeconfig),
        _secret("nothing", ""),
        _secret("join", f"#cloud-config\nruncmd: [kubeadm join --token {TOKEN}]\n"),
        _object(OURS, "HostlerCluster", "c2"),
        _object(CONTROL, "HostlerExternalControlPlane", "c2"),
        _object(CORE, "Cluster", "c2", spec=spec),
    )


def test_machines_of_core_get_their_hosts_and_roll_when_they_are_deleted(site: Site) -> None:
    site.template("workers-1")
    site.pool("workers-1", 2)
    site.until(lambda: len(site.running()) == 2, "two Machines are running")
    old = site.running()
    assert site.read("hostlermachinetemplates", "workers-1")["status"]["capacity"]["cpu"] == "2"
    site.template("workers-2")
    site.pool("workers-2", 2)
    for name in old:
        site.kubectl.run("delete", "machine.cluster.x-k8s.io", name, *PLACE, "--wait=false")
        site.until(lambda name=name: name not in _names(site, "machines"), f"{name} left")
        site.until(lambda: len(site.running()) == 2, "another Machine is running")
    assert not {*old} & {*site.running()}
    nodes = {one["metadata"]["name"] for one in site.kubectl.read("nodes")["items"]}
    assert not {*old} & nodes  # core drained them, and deleted them
    assert {*site.running()} <= nodes
    for machine in site.listed("hostlermachines"):
        assert machine["metadata"]["finalizers"] == [FINALIZER]
    site.pool("workers-2", 0)
    site.until(lambda: not _names(site, "machines"), "all Machines left")
    assert _names(site, "hostlermachines") == []


def test_servers_get_the_bootstrap_data_of_their_machines_and_nobody_else_sees_it(
    site: Site,
) -> None:
    site.template("workers-3")
    site.pool("workers-3", 2, "join")
    site.until(lambda: len(site.running()) == 2, "two Machines are running")
    texts = site.user_data()
    assert len(texts) == 2
    for text in texts:
        assert 0 < text.index("packages: [curl]") < text.index(TOKEN)
    seen = json.dumps([site.listed(kind) for kind in ("hostlermachines", "events")])
    assert TOKEN not in seen + site.log.read_text()
    site.pool("workers-3", 0, "join")
    site.until(lambda: not _names(site, "machines"), "all Machines left")


def _names(site: Site, resource: str) -> list[str]:
    return [one["metadata"]["name"] for one in site.listed(resource)]
