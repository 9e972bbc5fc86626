"""A pool of Macs under Cluster API's own core: a roll inside their paid period takes a claim each.

Hostler runs as the chart runs it, with the chart's rights; the Macs are simulated, sixty times
faster than life, and their Nodes are played. Core, its webhooks and all controllers are real.
"""

import base64
import json
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from helm_kit import HOSTLER, manager
from rendering import Helm, Manifest
from test_cluster import a_node
from test_core import CONTROL, CORE, OURS, an_object, reference

from hostler.lab.controlplane.api_server import ApiServer
from hostler.lab.controlplane.kubectl import Kubectl
from hostler.lab.controlplane.processes import Running, process, wait
from hostler.simulators.ports import free_port

pytestmark = pytest.mark.timeout(1900)  # the first test may have to build the programs

NAMESPACE = "macs"
POOL = "macs"
REPLICAS = 2
PAUSED = "cluster.x-k8s.io/paused"
HOOKS = {"pre-drain": "WaitingForPreDrainHook", "pre-terminate": "WaitingForPreTerminateHook"}
"""Core's hooks, each with the reason by which a Machine says that it waits for it."""
OUR_MACHINES, MACHINES = f"hostlermachines.{OURS}", f"machines.{CORE}"
LIMIT = 400.0
PROJECT = "22222222-2222-2222-2222-222222222222"
KEY = (Path(__file__).parents[2] / "examples" / "simulator.key").read_bytes().strip()
TIMERS = {
    "start": "60s",
    "stop": "60s",
    "absenceGap": "1s",
    "grace": "10s",
    "sightingGap": "2s",
    "probeEvery": "500ms",
}


@dataclass(frozen=True, slots=True)
class Site:
    """A namespace with a pool of Macs; what a kubelet would do is done by `step`."""

    kubectl: Kubectl
    cloud: str
    manager: Running
    metrics: int

    def step(self) -> None:
        """Let each host that has an id join as a Node; core takes it off."""
        for machine in self.machines():
            provider_id = machine["spec"].get("providerID")
            if provider_id and not machine["metadata"].get("deletionTimestamp"):
                node = a_node(machine["metadata"]["name"])
                node["spec"] = {"providerID": provider_id}
                self.kubectl.apply(node)

    def machines(self) -> list[Manifest]:
        return self._items(OUR_MACHINES)

    def running(self) -> dict[str, Manifest]:
        """Return core's Machines that are running, by name."""
        found = self._items(MACHINES)
        running = (one for one in found if one.get("status", {}).get("phase") == "Running")
        return {one["metadata"]["name"]: one for one in running}

    def _items(self, resource: str) -> list[Manifest]:
        found: list[Manifest] = self.kubectl.read(resource, "-n", NAMESPACE)["items"]
        return found

    def hosts(self) -> dict[str, str]:
        """Return the names of all Macs, by id, as the cloud has them."""
        with urllib.request.urlopen(f"{self.cloud}/_sim/macs", timeout=10) as answer:  # noqa: S310 - loopback only
            return {one["id"]: one["name"] for one in json.loads(answer.read())["macs"]}

    def ours(self, name: str) -> Manifest:
        """Return a HostlerMachine."""
        return self.kubectl.read(OUR_MACHINES, name, "-n", NAMESPACE)

    def host(self, name: str) -> str:
        """Return the id of a HostlerMachine's Mac."""
        return str(self.ours(name)["spec"]["providerID"]).rpartition("/")[2]

    def deleting(self, name: str) -> str:
        """Return why core has a Machine still that somebody deleted."""
        found = self.kubectl.read(MACHINES, name, "-n", NAMESPACE)
        conditions: list[dict[str, str]] = found.get("status", {}).get("conditions", [])
        return next((one["reason"] for one in conditions if one["type"] == "Deleting"), "")

    def gauge(self, name: str, label: str = "") -> float:
        """Return what the series of a metric that have this label come to; 0 without any."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}/metrics", timeout=10) as page:
            lines = page.read().decode().splitlines()
        found = (line for line in lines if line.startswith((f"{name}{{", f"{name} ")))
        return sum(float(line.rpartition(" ")[2]) for line in found if label in line)

    def force_away(self, name: str) -> None:
        """Remove a Machine and its HostlerMachine past their finalizers, as a person in a hurry."""
        places = [(kind, name, "-n", NAMESPACE) for kind in (OUR_MACHINES, MACHINES)]
        for place in places:
            self.kubectl.run("annotate", *place, f"{PAUSED}=for-ever")
        for place in places:
            self.until(lambda place=place: self._removed(*place), f"{name} is removed")

    def _removed(self, *place: str) -> bool:
        """Delete an object without its finalizers; tell whether it is gone: core may add one."""
        self.kubectl.run("delete", *place, "--ignore-not-found", "--wait=false")
        bare = '{"metadata":{"finalizers":null}}'
        self.kubectl.asked("patch", *place, "--type=merge", "-p", bare)
        return not self.kubectl.run("get", *place, "--ignore-not-found")

    def repeated_events(self) -> int:
        """Return how many Events were told more than once."""
        return sum("series" in one for one in self._items("events.events.k8s.io"))

    def until(self, holds: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + LIMIT
        while not holds():
            self.step()
            if time.monotonic() > end:
                seen = json.dumps([one.get("status") for one in self.machines()])
                pytest.fail(f"not within {LIMIT} s: {what}; {seen}\n{self.log()[-3000:]}")
            time.sleep(0.3)

    def log(self) -> str:
        return self.manager[1].read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("macs")


@pytest.fixture(scope="module")
def cloud(folder: Path) -> Iterator[str]:
    """The address of a simulated cloud with a pool of Macs, one more than replicas.

    Records outlive a test as the cluster does: all tests have one cloud, and leave its Machines.
    """
    at = free_port()
    options = ("--speed=60", f"--macs={REPLICAS + 1}")
    command = [str(HOSTLER), "simulator", "scaleway", f"--port={at}", *options]
    with process(command, folder / "cloud.log") as one:
        wait(one, lambda: "simulator.listening" in one[1].read_text())
        yield f"http://127.0.0.1:{at}"


@pytest.fixture(scope="module")
def site(core_cluster: ApiServer, helm: Helm, cloud: str, folder: Path) -> Iterator[Site]:
    kubectl = Kubectl(core_cluster)
    install = [str(HOSTLER), "kubernetes", "install", f"--kubeconfig={core_cluster.kubeconfig}"]
    subprocess.run(install, capture_output=True, check=True)
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    metrics = free_port()
    engine = {"quiet": "2s", "busy_first": "500ms", "busy_last": "2s", "rare": "2s"}
    values = {
        "watch": {"namespace": NAMESPACE},
        "config": {"engine": engine},
        "frontends": {
            "clusterApi": {"enabled": True},
            "metrics": {"enabled": True, "port": metrics},
        },
    }
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "keepers"}})
    with manager(helm.objects(values), kubectl, "keepers", folder) as one:
        kubectl.apply(*_pool(cloud), *_cluster(core_cluster))
        yield Site(kubectl, cloud, one, metrics)


def _secret(name: str, **data: bytes) -> Manifest:
    labels = {"cluster.x-k8s.io/cluster-name": "c1"}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
    }


def _pool(cloud: str) -> list[Manifest]:
    """Return the provider of the Macs, and their fleet, as a person writes them."""
    account = {
        "endpoint": cloud,
        "project": PROJECT,
        "secretKeyEnv": "KEY",
        "poolPrefix": "pool-",
        "consistencyDelay": "2s",
    }
    provider = _ours("Provider", POOL, kind="scaleway-macs", secretName="key", scalewayMacs=account)
    macs = {"types": ["M2-L"], "zones": ["fr-par-1"]}
    fleet = _ours(
        "Fleet",
        POOL,
        provider=POOL,
        size=0,
        maximum=REPLICAS + 1,
        renews=False,
        timers=TIMERS,
        scalewayMacs=macs,
    )
    return [_secret("key", KEY=KEY), provider, fleet]


def _ours(what: str, name: str, /, **spec: Any) -> Manifest:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {
        "apiVersion": "hostler.dev/v1alpha1",
        "kind": what,
        "metadata": metadata,
        "spec": spec,
    }


def _cluster(server: ApiServer) -> list[Manifest]:
    """Return a cluster that exists already, and a MachineDeployment of workers for it."""
    cluster = an_object(
        CORE,
        "Cluster",
        "c1",
        controlPlaneEndpoint={"host": "127.0.0.1", "port": 6443},
        controlPlaneRef=reference(CONTROL, "HostlerExternalControlPlane", "c1"),
        infrastructureRef=reference(OURS, "HostlerCluster", "c1"),
    )
    template = an_object(
        OURS, "HostlerMachineTemplate", POOL, template={"spec": {"fleetName": POOL}}
    )
    machine = {
        "clusterName": "c1",
        "bootstrap": {"dataSecretName": "nothing"},
        "infrastructureRef": reference(OURS, "HostlerMachineTemplate", POOL),
        "deletion": {"nodeDrainTimeoutSeconds": 30, "nodeDeletionTimeoutSeconds": 60},
    }
    deployment = an_object(
        CORE,
        "MachineDeployment",
        POOL,
        clusterName="c1",
        replicas=REPLICAS,
        rollout={"strategy": {"type": "OnDelete"}},
        selector={"matchLabels": {"pool": POOL}},
        template={"metadata": {"labels": {"pool": POOL}}, "spec": machine},
    )
    parts = [an_object(OURS, "HostlerCluster", "c1")]
    parts.append(an_object(CONTROL, "HostlerExternalControlPlane", "c1"))
    found = [
        _secret("c1-kubeconfig", value=server.kubeconfig.read_bytes()),
        _secret("nothing", value=b""),
        *(*parts, cluster, template, deployment),
    ]
    for one in found:
        one["metadata"]["namespace"] = NAMESPACE
    return found


def test_a_roll_of_macs_inside_their_floor_deletes_no_host(site: Site) -> None:
    """A Machine that is deleted leaves without waiting for the wipe, and its host stays."""
    site.until(lambda: len(site.running()) == REPLICAS, "all Machines running")
    hosts, first = site.hosts(), site.running()
    assert len(hosts) == REPLICAS + 1
    for name in first:
        before = set(site.running())
        site.kubectl.run("delete", MACHINES, name, "-n", NAMESPACE, "--wait=false")
        site.until(lambda name=name: name not in site.running(), f"{name} leaves")
        site.until(lambda: len(site.running()) == REPLICAS, "another one runs")
        assert name not in site.running()
        assert set(site.running()) != before
    assert site.hosts().keys() == hosts.keys()
    assert not set(first) & set(site.running())
    site.until(lambda: site.repeated_events() > 0, "an Event is counted again")
    assert "forbidden" not in site.log()


def test_a_machine_removed_past_its_finalizer_is_reported_and_then_taken_back(site: Site) -> None:
    """Origin 001: nobody would look at it again, and its host would be on the bill for ever."""
    site.until(lambda: len(site.running()) == REPLICAS, "all Machines running")
    hosts, name = site.hosts(), min(site.running())
    lost = site.host(name)
    site.force_away(name)
    abandoned = 'class="abandoned"'
    site.until(lambda: site.gauge("hostler_orphans", abandoned) == 1, "it is reported")
    assert site.gauge("scaleway_orphan_servers") == 1
    assert not site.hosts()[lost].startswith("pool-")
    reclaim = '{"spec":{"reclaim":true}}'
    site.kubectl.run("patch", "fleet", POOL, "-n", NAMESPACE, "--type=merge", "-p", reclaim)
    site.until(lambda: site.hosts()[lost].startswith("pool-"), "its host is in the pool again")
    site.until(lambda: site.gauge("hostler_orphans", abandoned) == 0, "nothing is left of it")
    site.kubectl.run("delete", "node", name)  # as the guide says: core would take neither of two
    site.until(lambda: len(site.running()) == REPLICAS, "another one runs in its place")
    assert site.hosts().keys() == hosts.keys()


def test_hooks_of_a_machine_are_waited_for_before_its_host_is_let_go(site: Site) -> None:
    """Core keeps our object as long as a hook is there, and hostler the host."""
    site.until(lambda: len(site.running()) == REPLICAS, "all Machines running")
    hosts, name = site.hosts(), min(site.running())
    mine = site.host(name)
    core = (MACHINES, name, "-n", NAMESPACE)
    hooks = [f"{when}.delete.hook.machine.cluster.x-k8s.io/test" for when in HOOKS]
    site.kubectl.run("annotate", *core, *(f"{hook}=me" for hook in hooks))
    site.kubectl.run("delete", *core, "--wait=false")
    for hook, reason in zip(hooks, HOOKS.values(), strict=True):
        site.until(lambda reason=reason: site.deleting(name) == reason, reason)
        assert "deletionTimestamp" not in site.ours(name)["metadata"]
        assert site.hosts()[mine] == hosts[mine]
        site.kubectl.run("annotate", *core, f"{hook}-")
    site.until(lambda: name not in site.running(), f"{name} leaves")
    site.until(lambda: len(site.running()) == REPLICAS, "another one runs")
    assert site.hosts().keys() == hosts.keys()
