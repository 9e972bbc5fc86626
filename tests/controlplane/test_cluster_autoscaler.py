"""A live Cluster Autoscaler over a simulated rack: pods that fit nowhere switch boxes on.

Its module is at no proxy, so that nothing builds it here: CLUSTER_AUTOSCALER names its program,
built from its own repository with `go build -tags externalgrpc`. Without it nothing of this file is
collected.
"""

import os
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hostler.lab.controlplane.api_server import ApiServer
from hostler.lab.controlplane.kubectl import Kubectl, Refused
from hostler.lab.controlplane.processes import process
from hostler.simulators.ports import free_port

pytestmark = pytest.mark.timeout(2000)  # the first test waits for the build of the server

HOSTLER = Path(sys.executable).parent / "hostler"
BOXES = 3
GROUP = """
[fleet.nodes.node]
provider_id = "test://{host}"
cpu = "2"
memory = "4Gi"
price = 0.02

[frontend.externalgrpc]
listen = "127.0.0.1:%d"
"""
SOON = (
    "--scan-interval=2s",
    "--scale-down-unneeded-time=4s",
    "--scale-down-delay-after-add=4s",
    "--scale-down-delay-after-delete=1s",
    "--unremovable-node-recheck-timeout=2s",
    "--scale-down-unready-time=30s",
)


@dataclass(frozen=True, slots=True)
class Rack:
    """A rack that hostler switches, and a cluster whose Nodes are its boxes."""

    url: str
    kubectl: Kubectl
    logs: tuple[Path, ...]

    def state(self) -> list[dict[str, Any]]:
        """Return the boxes as the simulator knows them."""
        with urllib.request.urlopen(f"{self.url}/_sim/state", timeout=5) as page:  # noqa: S310 - loopback only
            boxes: list[dict[str, Any]] = msgspec.json.decode(page.read())["machines"]
            return boxes

    def on(self) -> list[str]:
        """Return the boxes that have power."""
        return [box["name"] for box in self.state() if box["power"] == "on"]

    def play(self) -> None:
        """Do once what boxes do themselves: who is up joins the cluster, who is off left it."""
        known = {item["metadata"]["name"] for item in self.kubectl.read("nodes")["items"]}
        for box in self.state():
            name = box["name"]
            if box["up"] and name not in known:
                self.kubectl.apply(_node(name))
            if box["power"] == "off" and name in known:
                self.kubectl.run("delete", "node", name, "--wait=false")

    def until(self, holds: Callable[[], bool], what: str, seconds: float = 120) -> None:
        """Play until something holds."""
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                logs = "\n".join(f"{log}:\n{log.read_text()[-4000:]}" for log in self.logs)
                pytest.fail(f"{what}: not within {seconds} s; on are {self.on()}\n{logs}")
            self.play()
            time.sleep(0.5)


def _node(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {"providerID": f"test://{name}"},
        "status": {"allocatable": _SIZE, "capacity": _SIZE},
    }


_SIZE = {"cpu": "2", "memory": "4Gi", "pods": "110"}


def _pod(name: str) -> dict[str, Any]:
    container = {
        "name": "work",
        "image": "none",
        "resources": {"requests": {"cpu": "1500m", "memory": "1Gi"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"},
        },
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0},
    }


@pytest.fixture
def rack(cluster: ApiServer, kubectl: Kubectl, tmp_path: Path) -> Iterator[Rack]:
    """A simulated rack, `hostler run` over it, and Cluster Autoscaler, all on loopback."""
    page, grpc = free_port(), free_port()
    simulator = (
        *(str(HOSTLER), "simulator", "power", "--machines", str(BOXES), "--boot", "3"),
        *("--port", str(page), "--guest-port", str(free_port())),
        *("--write-fleet", str(tmp_path / "rack.toml"), "--json"),
    )
    cloud = tmp_path / "cloud-config"
    cloud.write_text(f"address: 127.0.0.1:{grpc}\n")
    autoscaler = (
        *(os.environ["CLUSTER_AUTOSCALER"], "--cloud-provider=externalgrpc"),
        *(f"--cloud-config={cloud}", f"--kubeconfig={cluster.kubeconfig}", "--v=4"),
        *("--leader-elect=false", f"--address=127.0.0.1:{free_port()}", *SOON),
        *("--write-status-configmap=false", "--expander=price"),
    )
    logs = tuple(tmp_path / name for name in ("rack.log", "hostler.log", "autoscaler.log"))
    with process(simulator, logs[0]):
        path = tmp_path / "rack.toml"
        while not path.exists() or "busy_last" not in path.read_text():
            time.sleep(0.1)
        text = path.read_text().replace("size = 3", "size = 0\nrenews = false\nmaximum = 3")
        path.write_text(text + GROUP % grpc)
        with process((str(HOSTLER), "run", str(path)), logs[1]), process(autoscaler, logs[2]):
            yield Rack(f"http://127.0.0.1:{page}", kubectl, logs)


def test_pods_switch_boxes_on_and_their_end_switches_them_off(rack: Rack) -> None:
    assert rack.on() == []
    rack.kubectl.apply(_pod("one"), _pod("two"))
    rack.until(lambda: len(_running(rack.kubectl)) == 2, "two pods run")
    assert len(rack.on()) == 2
    rack.kubectl.run("delete", "pod", "one", "--wait=false")
    rack.until(lambda: len(rack.on()) == 1, "the box of the pod that ended is off")
    assert _running(rack.kubectl) == ["two"]
    rack.kubectl.run("delete", "pod", "two", "--wait=false")
    rack.until(lambda: rack.on() == [], "all are off")
    assert [box["starts"] for box in rack.state()].count(1) == 2


def test_more_pods_than_boxes_take_all_boxes_and_no_more(rack: Rack) -> None:
    names = [f"many-{number}" for number in range(BOXES + 2)]
    rack.kubectl.apply(*(_pod(name) for name in names))
    rack.until(lambda: len(_running(rack.kubectl)) == BOXES, "a pod runs on each box")
    for _ in range(20):
        rack.play()
        time.sleep(0.5)
    assert len(_running(rack.kubectl)) == BOXES
    assert sum(box["starts"] for box in rack.state()) == BOXES
    rack.kubectl.run("delete", "pod", *names, "--wait=false")
    rack.until(lambda: rack.on() == [], "all are off")


def _running(kubectl: Kubectl) -> list[str]:
    try:
        pods = kubectl.read("pods")["items"]
    except Refused:
        return []
    return sorted(
        pod["metadata"]["name"] for pod in pods if pod.get("status", {}).get("phase") == "Running"
    )
