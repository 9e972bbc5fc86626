"""Cluster peers: a simulated API server with Cluster API's objects, and a simulated Scaleway.

A process of its own, so that its work and its memory are in no figure. It reads a number of
Machines to make, a line each, and says for each when all are provisioned, and what that took.
"""

import asyncio
import base64
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from figures import silence
from theatre import KEY, PROJECT

from hostler.app.clock import SystemClock
from hostler.app.provider_registry import KINDS
from hostler.frontends.kubernetes.definitions.manifests import manifests
from hostler.ports.http import HttpRequest, Response
from hostler.simulators.kubernetes.http import serve as serve_cluster
from hostler.simulators.kubernetes.reads.watches import Watch
from hostler.simulators.kubernetes.server import KubernetesServer
from hostler.simulators.scaleway.http import serve as serve_cloud
from hostler.simulators.scaleway.state.options import Options
from hostler.simulators.scaleway.world import World

NAMESPACE, FLEET = "machines", "workers"
RATE, BURST = 100, 200
DATA = "#cloud-config\nruncmd: [kubeadm join --token abcdef.0123456789abcdef]\n" + "# \n" * 1000
_CORE, _OURS = "cluster.x-k8s.io/v1beta2", "infrastructure.cluster.x-k8s.io/v1alpha1"
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_LOOK = timedelta(seconds=0.2)
_LONGEST = 1800.0
"""Seconds after which the peers give up waiting."""

Raw = dict[str, Any]


class CountingServer(KubernetesServer):
    """An API server that counts the writes of others by the kind of their objects."""

    def __init__(self) -> None:
        self.written, self._own = Counter[str](), True
        super().__init__(SystemClock(), Random(1))
        self._own = False

    def handle(self, request: HttpRequest) -> Response | Watch:
        """Count a write that is not our own, and answer."""
        if request.method in _WRITES and not self._own:
            self.written[_plural(request.path)] += 1
        return super().handle(request)

    def make(self, plural: str, document: Raw) -> Raw:
        """Make an object, as somebody else does."""
        return self._ask("POST", _path(plural, document), document, "application/json")

    def merge(self, plural: str, document: Raw, subresource: str = "") -> Raw:
        """Change an object, as somebody else does."""
        path = f"{_path(plural, document)}/{document['metadata']['name']}{subresource}"
        return self._ask("PATCH", path, document, "application/merge-patch+json")

    def _ask(self, method: str, path: str, document: Raw, kind: str) -> Raw:
        headers = (("Content-Type", kind), ("Authorization", "Bearer admin"))
        body = msgspec.json.encode(document)
        self._own = True
        answer = self.handle(HttpRequest(method=method, path=path, headers=headers, body=body))
        self._own = False
        assert isinstance(answer, Response)
        assert answer.status < 300, answer.body
        return msgspec.json.decode(answer.body, type=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioned:
    """What it took: seconds, the calls to the cloud by kind, and the writes to the API by kind."""

    seconds: float
    calls: Mapping[str, int]
    writes: Mapping[str, int]


@dataclass(slots=True)
class Peers:
    """The peers, as another process asks them; `kubeconfig` is where they are reached."""

    process: "subprocess.Popen[str]"
    kubeconfig: Path

    def provision(self, count: int) -> Provisioned:
        """Make so many Machines, and wait until all are provisioned."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return msgspec.json.decode(self.process.stdout.readline(), type=Provisioned)


@contextmanager
def peers(folder: Path) -> Generator[Peers]:
    """Give the peers in a process of their own, for as long as the block lasts."""
    command = (sys.executable, __file__, str(folder))
    with subprocess.Popen(  # noqa: S603 - ourselves
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "serving"
        try:
            yield Peers(process, folder / "kubeconfig")
        finally:
            process.stdin.close()


# ---------------------------------------------------------------- in their process


async def _serve(folder: Path) -> None:
    loop = asyncio.get_running_loop()
    start = loop.time()
    now = SystemClock().now()
    options = Options(project=PROJECT, epoch=now, boot=0.1, boot_slow=0.1, pace=0.0)
    world = World(lambda: loop.time() - start, Random(1), options)
    server = CountingServer()
    async with (
        serve_cloud(world, "127.0.0.1", 0, 1.0) as cloud,
        serve_cluster(server) as cluster,
    ):
        (folder / "kubeconfig").write_bytes(cluster.kubeconfig(namespace=NAMESPACE))
        _found(server, cloud.url)
        print("serving", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            server.written.clear()
            world.calls.clear()
            begun = loop.time()
            _machines(server, int(line))
            async with asyncio.timeout(_LONGEST):
                while _provisioned(server) < int(line):
                    await SystemClock().sleep(_LOOK)
            seconds = loop.time() - begun
            await asyncio.sleep(5)  # what is written late counts too
            found = Provisioned(seconds=seconds, calls=world.calls, writes=server.written)
            print(msgspec.json.encode(found).decode(), flush=True)


def _found(server: CountingServer, cloud: str) -> None:
    """Install all kinds, and make what an engine has for its Machines."""
    kinds = (*manifests(KINDS), _of_core("Cluster"), _of_core("Machine"))
    for one in kinds:
        server.make("customresourcedefinitions", dict(one))
    server.make("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": _named("")})
    account = {
        "endpoint": cloud,
        "project": PROJECT,
        "secretKeyEnv": "KEY",
    }
    provider = {"kind": "scaleway", "secretName": "cloud", "rate": RATE, "burst": BURST}
    server.make("secrets", _secret("cloud", KEY=KEY))
    server.make("secrets", _secret("data", value=DATA))
    account_ = _object("hostler.dev", "Provider", "cloud", **provider, scaleway=account)
    server.make("providers", account_)
    fleet = {"provider": "cloud", "size": 0, "renews": False, "maximum": 5000}
    caps = {"creates": 100_000}
    server.make(
        "fleets",
        _object("hostler.dev", "Fleet", FLEET, **fleet, caps=caps, scaleway={"types": ["DEV1-S"]}),
    )
    cluster = server.make("clusters", _object(_CORE, "Cluster", "c1", controlPlaneEndpoint={}))
    status = {"initialization": {"infrastructureProvisioned": True}}
    server.merge("clusters", {**_only(cluster), "status": status}, "/status")


def _machines(server: CountingServer, count: int) -> None:
    """Make Machines with their HostlerMachines, in core's order."""
    for number in range(count):
        name = f"worker-{number}"
        own = server.make(
            "hostlermachines", _object(_OURS, "HostlerMachine", name, fleetName=FLEET)
        )
        machine = server.make(
            "machines",
            _object(_CORE, "Machine", name, clusterName="c1", bootstrap={"dataSecretName": "data"}),
        )
        owner = {
            "apiVersion": _CORE,
            "kind": "Machine",
            "name": name,
            "uid": machine["metadata"]["uid"],
            "controller": True,
        }
        changes = _only(own)
        changes["metadata"] |= {
            "ownerReferences": [owner],
            "labels": {"cluster.x-k8s.io/cluster-name": "c1"},
        }
        server.merge("hostlermachines", changes)


def _provisioned(server: CountingServer) -> int:
    group = _OURS.partition("/")[0]
    found = server.cluster.storage.everything(f"hostlermachines.{group}")
    statuses = (one.get("status", {}) for one in found)
    return sum(one.get("initialization", {}).get("provisioned", False) for one in statuses)


def _named(name: str) -> Raw:
    return {"name": name, "namespace": NAMESPACE} if name else {"name": NAMESPACE}


def _object(group: str, kind: str, name: str, /, **spec: object) -> Raw:
    version = group if "/" in group else f"{group}/v1alpha1"
    return {"apiVersion": version, "kind": kind, "metadata": _named(name), "spec": spec}


def _secret(name: str, **texts: str) -> Raw:
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": _named(name), "data": data}


def _only(made: Raw) -> Raw:
    """Return what names an object."""
    metadata = _named(made["metadata"]["name"])
    return {"apiVersion": made["apiVersion"], "kind": made["kind"], "metadata": metadata}


def _path(plural: str, document: Raw) -> str:
    version, metadata = document["apiVersion"], document["metadata"]
    root = f"/api/{version}" if version == "v1" else f"/apis/{version}"
    place = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return f"{root}{place}/{plural}"


def _plural(path: str) -> str:
    """Return the kind that a path is about, as its plural."""
    _, namespaces, rest = path.partition("/namespaces/")
    parts = rest.split("/")
    return parts[1] if namespaces and len(parts) > 1 else path


def _of_core(kind: str) -> Raw:
    """Return the definition of one of core's kinds, as far as we read it."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    group, version = _CORE.split("/")
    plural = f"{kind.lower()}s"
    properties = {"spec": free, "status": free}
    served: Raw = {
        "name": version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    names = {"plural": plural, "kind": kind}
    spec: Raw = {"group": group, "scope": "Namespaced", "names": names, "versions": [served]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": spec,
    }


if __name__ == "__main__":
    silence()
    asyncio.run(_serve(Path(sys.argv[1])))
