"""`hostler run --kubernetes` as Cluster API's infrastructure provider, beside a real API server.

Core is modelled: its kinds take whatever is written into them, and the test does what core does.
"""

import asyncio
import re
import signal
import subprocess
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from api_server import ApiServer
from kinds_kit import NAMESPACES, SECRETS, Free, Keys, Thing, installed, until, wait_until
from test_run import HOSTLER
from test_run import Cluster as Ground

from hostler.kubernetes.client import Client
from hostler.kubernetes.errors import AlreadyExists, KindNotServed, NotFound
from hostler.kubernetes.objects import Key, Metadata, Owner
from hostler.kubernetes.requests import merge_patch
from hostler.kubernetes.resources import Resource

pytestmark = pytest.mark.timeout(2000)  # the first test waits for the build of the server

CORE, OURS = "cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io"
NAMES = (f"cluster-api-{number}" for number in range(100))
DEFINITIONS = Resource(
    group="apiextensions.k8s.io",
    version="v1",
    plural="customresourcedefinitions",
    kind="CustomResourceDefinition",
    model=Thing,
    namespaced=False,
)


def _kind(kind: str, group: str = OURS, version: str = "v1alpha1") -> Resource[Thing]:
    return Resource(group=group, version=version, plural=f"{kind.lower()}s", kind=kind, model=Thing)


CLUSTERS, MACHINES = _kind("Cluster", CORE, "v1beta2"), _kind("Machine", CORE, "v1beta2")
HOSTLER_CLUSTERS, HOSTLER_MACHINES = _kind("HostlerCluster"), _kind("HostlerMachine")
CONTROL_PLANES = _kind("HostlerExternalControlPlane", "controlplane.cluster.x-k8s.io")


async def _install_core(client: Client) -> None:
    """Install kinds of core's names that take whatever is written."""
    for resource in (CLUSTERS, MACHINES):
        free: Free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version: Free = {
            "name": resource.version,
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": free},
            "subresources": {"status": {}},
        }
        names = {"kind": resource.kind, "plural": resource.plural}
        spec: Free = {
            "group": CORE,
            "scope": "Namespaced",
            "names": {**names, "singular": resource.kind.lower()},
            "versions": [version],
        }
        thing = Thing(
            api_version=DEFINITIONS.api_version,
            kind=DEFINITIONS.kind,
            metadata=Metadata(name=resource.full_name),
            spec=spec,
        )
        # the real group is protected, and this is what its own definitions say, too:
        approved = {"api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements"}
        metadata = msgspec.structs.replace(thing.metadata, annotations=approved)
        try:
            await client.create(DEFINITIONS, msgspec.structs.replace(thing, metadata=metadata))
        except AlreadyExists:
            continue

    async def served() -> bool:
        try:
            for resource in (CLUSTERS, MACHINES):
                await client.list_all(resource)
        except KindNotServed:
            return False
        return True

    await until(served)


class Site(Ground):
    """A namespace with an engine, and a test that does what core does."""

    async def put(
        self, resource: Resource[Thing], name: str, owner: Thing | None = None, **spec: object
    ) -> Thing:
        """Create an object of the cluster, owned as core does it."""
        owners = () if owner is None else (_owner(owner),)
        metadata = Metadata(
            name=name,
            namespace=self.namespace,
            labels={"cluster.x-k8s.io/cluster-name": "c1"},
            owner_references=owners,
        )
        made = Thing(
            api_version=resource.api_version, kind=resource.kind, metadata=metadata, spec=spec
        )
        return await self.client.create(resource, made)

    async def has(self, resource: Resource[Thing], name: str, *path: str) -> Any:
        """Wait until a status says something there; return it."""
        found: list[Any] = []

        async def holds() -> bool:
            value: dict[str, Any] = await self.status(resource, name)
            for part in path[:-1]:
                value = value.get(part, {})
            found[:] = [value.get(path[-1])]
            return bool(found[0])

        try:
            await until(holds, 90)
        except TimeoutError:
            seen = (await self.read(resource, name), self.log.read_text()[-3000:])
            raise AssertionError(seen) from None
        return found[0]

    async def begin(self) -> Thing:
        """Make a provider, a fleet and a Cluster, and return that once its parts stand."""
        await self.cloud()
        await self.fleet("workers", 0, renews=False, maximum=5)
        await self.comes("workers", "Accepted", "True")
        endpoint = {"host": "api.example", "port": 6443}
        cluster = await self.put(CLUSTERS, "c1", controlPlaneEndpoint=endpoint)
        labels = {"cluster.x-k8s.io/cluster-name": "c1"}
        for name, value in (("c1-kubeconfig", "a2luZDogQ29uZmlnCg=="), ("nothing", "")):
            metadata = Metadata(name=name, namespace=self.namespace, labels=labels)
            await self.client.create(SECRETS, Keys(metadata=metadata, data={"value": value}))
        await self.put(HOSTLER_CLUSTERS, "c1", cluster)
        await self.put(CONTROL_PLANES, "c1", cluster)
        await self.has(CONTROL_PLANES, "c1", "initialization", "controlPlaneInitialized")
        await self.has(HOSTLER_CLUSTERS, "c1", "initialization", "provisioned")
        done = {"status": {"initialization": {"infrastructureProvisioned": True}}}
        key = Key(self.namespace, "c1")
        return await self.client.patch(CLUSTERS, key, merge_patch(done), "status")

    async def machine(self, name: str) -> None:
        """Make a Machine, with what it owns."""
        bootstrap = {"dataSecretName": "nothing"}
        owner = await self.put(MACHINES, name, clusterName="c1", bootstrap=bootstrap)
        await self.put(HOSTLER_MACHINES, name, owner, fleetName="workers")


def _owner(thing: Thing) -> Owner:
    meta = thing.metadata
    version = f"{CORE}/v1beta2"
    return Owner(
        api_version=version, kind=thing.kind, name=meta.name, uid=meta.uid, controller=True
    )


@pytest.fixture
def simulator(tmp_path: Path) -> Iterator[int]:
    """A cloud, thirty times faster than life; its port."""
    log = tmp_path / "simulator.log"
    command = [str(HOSTLER), "simulator", "scaleway", "--port", "0", "--speed", "30"]
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            wait_until(lambda: "simulator.listening" in log.read_text(), 30, "the simulator")
            (found,) = re.findall(r"127\.0\.0\.1:(\d+)", log.read_text())[:1]
            yield int(found)
        finally:
            process.kill()


@pytest_asyncio.fixture
async def site(
    client: Client, api_server: ApiServer, simulator: int, tmp_path: Path
) -> AsyncGenerator[Site]:
    await installed(client)
    await _install_core(client)
    name = next(NAMES)
    await client.create(NAMESPACES, Thing(metadata=Metadata(name=name)))
    yield Site(client=client, namespace=name, server=api_server, folder=tmp_path, port=simulator)


async def _stop(site: Site, process: "subprocess.Popen[bytes]") -> None:
    assert process.poll() is None, site.log.read_text()[-3000:]
    process.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(process.wait, 60) == 0, site.log.read_text()[-3000:]


async def _vanished(site: Site, name: str) -> bool:
    try:
        await site.read(HOSTLER_MACHINES, name)
    except NotFound:
        return True
    return False


async def test_a_machine_of_cluster_api_comes_stays_over_a_restart_and_goes(site: Site) -> None:
    with site.start() as process:
        try:
            await site.begin()
            await site.machine("w-1")
            await site.has(HOSTLER_MACHINES, "w-1", "initialization", "provisioned")
            before = await site.read(HOSTLER_MACHINES, "w-1")
            assert before.spec is not None
            assert str(before.spec["providerID"]).startswith("scaleway://")
            assert (await site.condition(HOSTLER_MACHINES, "w-1", "Ready"))["status"] == "True"
            process.kill()
        finally:
            process.kill()
    with site.start() as process:
        try:
            await site.comes("workers", "Ready", "True")
            after = await site.read(HOSTLER_MACHINES, "w-1")
            assert (after.spec, after.status) == (before.spec, before.status)
            await site.client.delete(MACHINES, Key(site.namespace, "w-1"))
            await site.client.delete(HOSTLER_MACHINES, Key(site.namespace, "w-1"))
            await until(lambda: _vanished(site, "w-1"), 90)
            await _stop(site, process)
        finally:
            process.kill()
