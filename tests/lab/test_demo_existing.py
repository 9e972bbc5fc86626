"""The demo of Kubernetes on a cluster that is somebody's: what it asks, refuses and takes out."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from hostler.app.clock import SystemClock
from hostler.domain.errors import ConfigError
from hostler.lab.demo.kubernetes.api import Api, Raw, Sort
from hostler.lab.demo.kubernetes.control_plane import Kind
from hostler.lab.demo.kubernetes.existing import clear, confirmed, examine
from hostler.lab.demo.kubernetes.manifests import (
    DEFINITIONS,
    FLEETS,
    HOSTLER_CLUSTERS,
    HOSTLER_MACHINES,
    NAMESPACES,
    NODES,
    PROVIDERS,
    node,
)

SERVER = "https://api.shop.example:6443"
KUBECONFIG = f"""\
apiVersion: v1
kind: Config
current-context: shop-production
contexts: [{{name: shop-production, context: {{cluster: shop, user: me}}}}]
clusters: [{{name: shop, cluster: {{server: "{SERVER}"}}}}]
users: [{{name: me, user: {{token: s3cret}}}}]
"""
CORE = ("clusters", "machines", "machinedeployments")


class Cluster:
    """Objects, and how often they were written; stands for the demo's client."""

    namespace = "hostler-demo"

    def __init__(self, *kinds: str, version: str = "v1beta2") -> None:
        self.items = dict[tuple[str, str], Raw]()
        for kind in kinds:
            versions = [{"name": version, "served": True}]
            self.put(DEFINITIONS, f"{kind}.cluster.x-k8s.io", spec={"versions": versions})

    def put(self, sort: Sort, name: str, **content: Any) -> None:
        metadata = {"name": name, **content.pop("metadata", {})}
        self.items[sort.plural, name] = {"metadata": metadata, **content}

    def names(self, sort: Sort) -> list[str]:
        return [name for plural, name in self.items if plural == sort.plural]

    async def get(self, sort: Sort, name: str) -> Raw | None:
        return self.items.get((sort.plural, name))

    async def list(self, sort: Sort) -> list[Raw]:
        return [item for (plural, _), item in self.items.items() if plural == sort.plural]

    async def delete(self, sort: Sort, name: str) -> None:
        held = [one for one in self.items.values() if one["metadata"].get("finalizers")]
        if sort is not NAMESPACES or not held:
            self.items.pop((sort.plural, name), None)

    async def merge(self, sort: Sort, name: str, body: Raw) -> None:
        self.items[sort.plural, name]["metadata"].update(body["metadata"])
        await self.delete(NAMESPACES, self.namespace)

    @property
    def api(self) -> Api:
        return cast("Api", cast("object", self))


class Quick(SystemClock):
    async def sleep(self, time: object) -> None:
        del time
        await asyncio.sleep(0)


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG)
    return path


@pytest.mark.parametrize("server", ["", "https://kind.example:6443", SERVER.upper()])
def test_nothing_begins_before_the_address_of_the_cluster_was_said(
    kubeconfig: Path, server: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        confirmed(kubeconfig, server, SystemClock())
    text = str(refused.value)
    assert "'shop-production'" in text
    assert f"--server {SERVER}" in text
    assert "installs hostler's kinds" in text
    assert "s3cret" not in text


@pytest.mark.parametrize("server", [SERVER, f"{SERVER}/"])
def test_a_cluster_whose_address_was_said_is_used(kubeconfig: Path, server: str) -> None:
    found = confirmed(kubeconfig, server, SystemClock())
    assert (found.kind, found.kubeconfig) == (Kind.GIVEN, kubeconfig.resolve())
    assert SERVER in found.name


async def test_a_cluster_with_core_and_no_such_namespace_is_fit() -> None:
    await examine(Cluster(*CORE).api)


@pytest.mark.parametrize(
    "cluster", [Cluster(), Cluster(*CORE[:2]), Cluster(*CORE, version="v1beta1")]
)
async def test_a_cluster_without_core_is_told_what_it_lacks(cluster: Cluster) -> None:
    with pytest.raises(ConfigError, match=r"has no \w+\.cluster\.x-k8s\.io of v1beta2.*clusterctl"):
        await examine(cluster.api)


async def test_a_namespace_that_is_there_is_not_taken_and_so_never_deleted() -> None:
    cluster = Cluster(*CORE)
    cluster.put(NAMESPACES, "hostler-demo")
    with pytest.raises(ConfigError, match="hostler-demo is there already"):
        await examine(cluster.api)


async def test_what_the_demo_made_is_taken_out_and_nothing_else() -> None:
    cluster = Cluster(*CORE)
    cluster.put(NAMESPACES, "hostler-demo")
    cluster.put(NODES, "theirs", metadata={"labels": {"a": "b"}})
    cluster.put(NODES, "bare")
    ours = node("ours", "scw://1")
    cluster.put(NODES, "ours", **ours.content)
    assert await clear(cluster.api, Quick()) == ""
    assert (cluster.names(NODES), cluster.names(NAMESPACES)) == (["theirs", "bare"], [])


@pytest.mark.parametrize("sort", [HOSTLER_MACHINES, HOSTLER_CLUSTERS, FLEETS, PROVIDERS])
async def test_objects_that_nobody_ends_any_more_do_not_keep_the_namespace(sort: Sort) -> None:
    """A Fleet and its Provider wait for hostler, which the demo has ended."""
    cluster = Cluster(*CORE)
    cluster.put(NAMESPACES, "hostler-demo")
    cluster.put(sort, "macs", metadata={"finalizers": ["hostler"]})
    assert await clear(cluster.api, Quick()) == ""
    assert cluster.names(NAMESPACES) == []
