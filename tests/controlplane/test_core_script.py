"""A script as bootstrap data under Cluster API's own core: run by SSH on a static host, once.

The hosts are real SSH servers on loopback with a real shell; the engine is killed while the script
runs. The kubelet is played: a Node is made for the machine that is provisioned.
"""

import asyncio
import json
import secrets
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from test_cluster import a_node
from test_core import CONTROL, CORE, OURS, an_object, reference

from hostler.lab.controlplane.api_server import ApiServer
from hostler.lab.controlplane.kubectl import Kubectl
from hostler.testing.peers.sshd import SshHost

pytestmark = pytest.mark.timeout(1900)  # the first test may have to build the programs

HOSTLER = Path(sys.executable).parent / "hostler"
TOKEN = "abcdef.0123456789abcdef"
SCRIPT = """#!/bin/sh
echo "$HOSTLER_MACHINE" >>~/joined
echo "joining with {token}"
while [ ! -e ~/go-on ]; do sleep 0.1; done
echo "no such registry" >&2
exit {status}
"""
FILE = """
[provider.lab]
kind = "static"
user = "builder"
key = "key"
patience = "2s"
hosts = [{{ name = "one", address = "127.0.0.1", port = {port} }}]

[fleet.builders]
size = 0
maximum = 1
renews = false
ready = {{ probe = "ssh", user = "builder", key = "key", port = {port} }}

[fleet.builders.timers]
drain = "0s"
absence_gap = "1s"
probe_every = "500ms"

[engine]
quiet = "1s"
busy_first = "300ms"
busy_last = "1s"
rare = "500ms"
poll = "100ms"
"""


@dataclass(slots=True)
class Site:
    """One host, a namespace with a Cluster, and hostler, which may be killed."""

    host: SshHost
    kubectl: Kubectl
    folder: Path
    namespace: str
    engine: "subprocess.Popen[bytes] | None" = None

    @property
    def place(self) -> tuple[str, str]:
        """How its namespace is named to kubectl."""
        return ("-n", self.namespace)

    def start(self) -> None:
        """Run hostler, as before where it ran."""
        options = [
            f"--kubeconfig={self.kubectl.server.kubeconfig}",
            f"--namespace={self.namespace}",
        ]
        command = [str(HOSTLER), "run", "--kubernetes", *options, "lab.toml"]
        with (self.folder / "log").open("ab") as log:
            self.engine = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)

    def kill(self) -> None:
        """End hostler as a crash does."""
        if self.engine is not None:
            self.engine.kill()
            self.engine.wait()

    def joined(self) -> list[str]:
        """Return for which machines the script began."""
        file = self.host.disk / "joined"
        return file.read_text().splitlines() if file.exists() else []

    def machines(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.kubectl.read(f"hostlermachines.{OURS}", *self.place)[
            "items"
        ]
        return found

    def reasons(self) -> set[str]:
        """Return why the machines stand as they do."""
        conditions = (one.get("status", {}).get("conditions", ()) for one in self.machines())
        return {one["reason"] for found in conditions for one in found if one["type"] == "Ready"}

    def pool(self, replicas: int, secret: str) -> None:
        """Want so many Machines with this bootstrap data."""
        machine = {
            "clusterName": "c5",
            "bootstrap": {"dataSecretName": secret},
            "infrastructureRef": reference(OURS, "HostlerMachineTemplate", "builders"),
        }
        self.apply(
            an_object(
                CORE,
                "MachineDeployment",
                "builders",
                clusterName="c5",
                replicas=replicas,
                selector={"matchLabels": {"pool": "builders"}},
                template={"metadata": {"labels": {"pool": "builders"}}, "spec": machine},
            )
        )

    def apply(self, *objects: dict[str, Any]) -> None:
        for one in objects:
            one["metadata"]["namespace"] = self.namespace
        self.kubectl.apply(*objects)

    def join(self) -> bool:
        """Be the kubelet; tell whether the Machine runs."""
        for machine in self.machines():
            if provider_id := machine["spec"].get("providerID"):
                node = a_node(machine["metadata"]["name"])
                self.kubectl.apply({**node, "spec": {"providerID": provider_id}})
        found = self.kubectl.read(f"machines.{CORE}", *self.place)["items"]
        return any(one.get("status", {}).get("phase") == "Running" for one in found)

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait; the host answers meanwhile."""
        for _ in range(400):
            if await asyncio.to_thread(holds):
                return
            await asyncio.sleep(0.3)
        seen = [self.machines(), self.host.commands[-3:]]
        pytest.fail(f"not in time: {what}; {json.dumps(seen)}\n{self.log()[-3000:]}")

    def log(self) -> str:
        return (self.folder / "log").read_text()


@asynccontextmanager
async def a_site(core_cluster: ApiServer, folder: Path) -> AsyncGenerator[Site]:
    """A namespace of its own, with scripts that end well, and that do not."""
    host = SshHost(folder)
    await host.start()
    (folder / "key").touch(0o600)
    (folder / "key").write_bytes(host.key)
    (folder / "lab.toml").write_text(FILE.format(port=host.port))
    site = Site(host, Kubectl(core_cluster), folder, f"scripts-{secrets.token_hex(3)}")
    await asyncio.to_thread(_furnish, site)
    site.start()
    try:
        yield site
    finally:
        site.kill()
        await host.kill()
        await host.stop()


def _furnish(site: Site) -> None:
    server = site.kubectl.server
    install = [str(HOSTLER), "kubernetes", "install", f"--kubeconfig={server.kubeconfig}"]
    subprocess.run(install, capture_output=True, check=True)
    site.kubectl.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": site.namespace}}
    )
    site.apply(*_objects(server))


def _objects(server: ApiServer) -> list[dict[str, Any]]:
    cluster = an_object(
        CORE,
        "Cluster",
        "c5",
        controlPlaneEndpoint={"host": "127.0.0.1", "port": 6443},
        controlPlaneRef=reference(CONTROL, "HostlerExternalControlPlane", "c5"),
        infrastructureRef=reference(OURS, "HostlerCluster", "c5"),
    )
    inner = {"spec": {"fleetName": "builders"}}
    scripts = {name: SCRIPT.format(token=TOKEN, status=n) for name, n in (("well", 0), ("ill", 3))}
    texts = {"c5-kubeconfig": server.kubeconfig.read_text(), **scripts}
    return [
        *(_secret(name, value) for name, value in texts.items()),
        an_object(OURS, "HostlerCluster", "c5"),
        an_object(CONTROL, "HostlerExternalControlPlane", "c5"),
        an_object(OURS, "HostlerMachineTemplate", "builders", template=inner),
        cluster,
    ]


def _secret(name: str, value: str) -> dict[str, Any]:
    labels = {"cluster.x-k8s.io/cluster-name": "c5"}
    metadata = {"name": name, "labels": labels}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "stringData": {"value": value},
    }


async def test_a_script_runs_once_on_its_host_though_the_engine_is_killed_meanwhile(
    core_cluster: ApiServer, tmp_path: Path
) -> None:
    async with a_site(core_cluster, tmp_path) as site:
        site.pool(1, "well")
        await site.until(lambda: len(site.joined()) == 1, "the script began")
        assert site.reasons() != {"Provisioned"}
        site.kill()
        site.start()
        (site.host.disk / "go-on").touch()
        await site.until(site.join, "the Machine runs")
        assert len(site.joined()) == 1
        site.pool(0, "well")
        await site.until(lambda: not site.machines(), "the machine has left")
        site.pool(1, "well")
        await site.until(site.join, "the next Machine runs")
        assert len(set(site.joined())) == len(site.joined()) == 2
        assert TOKEN not in site.log() + json.dumps(site.machines())
        site.pool(0, "well")
        await site.until(lambda: not site.machines(), "that has left, too")


async def test_a_script_that_fails_is_told_without_its_secrets_and_is_not_run_again(
    core_cluster: ApiServer, tmp_path: Path
) -> None:
    async with a_site(core_cluster, tmp_path) as site:
        (site.host.disk / "go-on").touch()
        site.pool(1, "ill")
        await site.until(lambda: "BootstrapFailed" in site.reasons(), "its failure is told")
        seen = json.dumps(site.machines())
        assert "failed with 3: joining with *** / no such registry" in seen
        assert TOKEN not in seen + site.log()
        assert len(site.joined()) == 1
        site.pool(0, "ill")
        await site.until(lambda: not site.machines(), "the machine has left")
