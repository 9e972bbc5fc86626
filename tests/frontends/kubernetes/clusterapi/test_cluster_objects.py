"""Clusters, control planes and templates beside a running provider, in simulated time."""

import asyncio
import base64
from typing import Any

import pytest
from core_kit import Site

from hostler.kubernetes.errors import Forbidden

pytestmark = pytest.mark.looptime

OWNED = {
    "ownerReferences": [
        {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c1", "uid": "uid-c1"}
    ]
}

KUBECONFIG = {
    "metadata": {"name": "c1-kubeconfig", "labels": {"cluster.x-k8s.io/cluster-name": "c1"}},
    "data": {"value": base64.b64encode(b"kind: Config").decode()},
}


def status(here: Site, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = (here.api.raw(kind, "c1") or {}).get("status", {})
    return found


async def test_a_cluster_is_provisioned_once_core_owns_it() -> None:
    here = Site()
    here.cluster(provisioned=False)
    here.api.put("HostlerCluster", {"metadata": {"name": "c1"}})
    async with here.serving():
        await asyncio.sleep(10)
        assert status(here, "HostlerCluster") == {}
        here.api.change("HostlerCluster", "c1", metadata=OWNED)
        await here.until(lambda: "initialization" in status(here, "HostlerCluster"))
        version = here.api.version
        await asyncio.sleep(600)
        assert here.api.version == version


async def test_a_cluster_that_is_unpaused_goes_on_at_once() -> None:
    here = Site()
    here.cluster()
    here.api.change("Cluster", "c1", spec={"paused": True})
    here.api.put("HostlerCluster", {"metadata": {"name": "c1", **OWNED}})
    async with here.serving():
        await here.until(lambda: bool(status(here, "HostlerCluster")))
        assert "initialization" not in status(here, "HostlerCluster")
        here.api.change("Cluster", "c1", spec={"paused": False})
        await here.until(lambda: "initialization" in status(here, "HostlerCluster"))


async def test_a_control_plane_is_initialized_once_its_secret_is_there() -> None:
    here = Site()
    here.cluster()
    here.api.put("HostlerExternalControlPlane", {"metadata": {"name": "c1", **OWNED}})
    async with here.serving():
        kind = "HostlerExternalControlPlane"
        await here.until(lambda: bool(status(here, kind)))
        assert status(here, kind)["externalManagedControlPlane"] is True
        assert "initialization" not in status(here, kind)
        here.api.put("Secret", KUBECONFIG)
        await here.until(lambda: "initialization" in status(here, kind))
        assert status(here, kind)["initialized"] is True


async def test_a_control_plane_is_available_again_once_its_secret_is_back() -> None:
    """Secrets are not watched; and nothing else changes when somebody writes one anew."""
    here, kind = Site(), "HostlerExternalControlPlane"
    here.cluster()
    here.api.put("Secret", KUBECONFIG)
    here.api.put(kind, {"metadata": {"name": "c1", **OWNED}})

    def available() -> str:
        found = status(here, kind).get("conditions", [])
        return next((one["status"] for one in found if one["type"] == "Available"), "")

    async with here.serving():
        await here.until(lambda: available() == "True")
        here.api.vanish("Secret", "c1-kubeconfig")
        here.api.change(kind, "c1", metadata={"labels": {"a": "b"}})
        await here.until(lambda: available() == "False")
        assert status(here, kind)["initialized"] is True
        await asyncio.sleep(10)
        here.api.put("Secret", KUBECONFIG)
        await here.until(lambda: available() == "True")
        version = here.api.version
        await asyncio.sleep(600)
        assert here.api.version == version


async def test_a_template_gets_its_capacity() -> None:
    here = Site()
    capacity = {"cpu": "8", "memory": "16Gi"}
    here.api.put(
        "HostlerMachineTemplate", {"metadata": {"name": "c1"}, "spec": {"capacity": capacity}}
    )
    async with here.serving():
        await here.until(lambda: status(here, "HostlerMachineTemplate").get("capacity") == capacity)


async def test_a_capacity_in_whole_numbers_is_one_and_keeps_no_other_from_being_written() -> None:
    """The server takes `cpu: 8`; one template that could not be read would hide all of them."""
    here = Site()
    here.api.put(
        "HostlerMachineTemplate",
        {"metadata": {"name": "plain"}, "spec": {"capacity": {"cpu": 8, "memory": "16Gi"}}},
    )
    here.api.put(
        "HostlerMachineTemplate", {"metadata": {"name": "c1"}, "spec": {"capacity": {"cpu": "8"}}}
    )

    def capacity(name: str) -> object:
        raw = here.api.raw("HostlerMachineTemplate", name) or {}
        return raw.get("status", {}).get("capacity")

    async with here.serving():
        await here.until(lambda: capacity("c1") == {"cpu": "8"})
        await here.until(lambda: capacity("plain") == {"cpu": "8", "memory": "16Gi"})
        version = here.api.version
        await asyncio.sleep(600)
        assert here.api.version == version


async def test_what_a_template_says_no_longer_of_its_nodes_is_not_counted_with() -> None:
    """A patch that is merged in leaves what it does not name: a GPU that was taken out stayed."""
    here = Site()
    template = {"spec": {"fleetName": "web"}}
    capacity, system = {"cpu": "8", "gpu": "1"}, {"architecture": "arm64", "operatingSystem": "x"}
    spec = {"template": template, "capacity": capacity, "nodeInfo": system}
    here.api.put("HostlerMachineTemplate", {"metadata": {"name": "c1"}, "spec": spec})
    async with here.serving():
        kind = "HostlerMachineTemplate"
        await here.until(lambda: status(here, kind).get("capacity") == capacity)
        left = {"capacity": {"cpu": "8", "gpu": None}, "nodeInfo": {"operatingSystem": None}}
        here.api.change(kind, "c1", spec=left)
        await here.until(lambda: status(here, kind)["capacity"] == {"cpu": "8"})
        assert status(here, kind)["nodeInfo"] == {"architecture": "arm64"}
        version = here.api.version
        await asyncio.sleep(600)
        assert here.api.version == version


async def test_a_control_plane_says_that_its_secret_may_not_be_read() -> None:
    """As where the chart names the Secrets that may be: it said nothing at all."""
    here, kind = Site(), "HostlerExternalControlPlane"
    here.cluster()
    here.api.put("Secret", KUBECONFIG)
    here.api.put(kind, {"metadata": {"name": "c1", **OWNED}})
    here.api.refusals["Secret"] = Forbidden("get secrets fleet/c1-kubeconfig: forbidden", code=403)

    def available() -> dict[str, Any]:
        found = status(here, kind).get("conditions", [])
        return next((one for one in found if one["type"] == "Available"), {"status": ""})

    async with here.serving():
        await here.until(lambda: available()["status"] == "False")
        assert available()["reason"] == "KubeconfigUnreadable"
        assert "get secrets fleet/c1-kubeconfig: forbidden" in available()["message"]
        here.api.refusals.clear()
        await here.until(lambda: available()["status"] == "True")
