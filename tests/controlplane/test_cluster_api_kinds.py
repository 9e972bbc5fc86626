"""Our kinds of Cluster API in Kubernetes' own API server: stored, pruned, judged."""

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from rendering import Helm, of_kind

from hostler.app.clock import SystemClock
from hostler.app.provider_registry import KINDS
from hostler.frontends.kubernetes.clusterapi.names import INFRASTRUCTURE, VERSION
from hostler.frontends.kubernetes.clusterapi.objects import (
    CONTROL_PLANES,
    HOSTLER_CLUSTERS,
    MACHINES,
    Address,
    ClusterWants,
    Condition,
    ControlPlane,
    ControlPlaneStatus,
    Endpoint,
    FailureDomain,
    HostlerCluster,
    HostlerMachine,
    InfrastructureStatus,
    Initialization,
    MachineStatus,
    MachineWants,
)
from hostler.frontends.kubernetes.definitions.manifests import manifests
from hostler.frontends.kubernetes.install import install, wait_established
from hostler.kubernetes.client import Client
from hostler.kubernetes.errors import Invalid
from hostler.kubernetes.objects import Key, Metadata
from hostler.kubernetes.requests import merge_patch
from hostler.lab.controlplane.kubectl import Kubectl, Refused

pytestmark = pytest.mark.timeout(2000)  # the first test waits for the build of the server

NAMESPACE = "default"
READY = Condition(
    type="Ready",
    status="True",
    reason="Provisioned",
    message="",
    last_transition_time="2026-01-01T00:00:00Z",
)


async def _install(client: Client) -> None:
    names = [one.name async for one in install(client, manifests(KINDS))]
    await wait_established(client, SystemClock(), names, timedelta(seconds=60))


def _machine(name: str, fleet: str = "workers") -> HostlerMachine:
    return HostlerMachine(
        api_version=f"{INFRASTRUCTURE}/{VERSION}",
        kind="HostlerMachine",
        metadata=Metadata(name=name, namespace=NAMESPACE),
        spec=MachineWants(fleet_name=fleet),
    )


async def test_a_status_that_is_written_is_read_again_whole(client: Client) -> None:
    """A field that the schema lacks would be taken out without a word."""
    await _install(client)
    await client.create(MACHINES, _machine("whole"))
    status = MachineStatus(
        ready=True,
        initialization=Initialization(provisioned=True),
        addresses=(Address(type="InternalIP", address="10.0.0.7"),),
        failure_domain="z-1",
        conditions=(READY,),
    )
    patch = merge_patch({"status": msgspec.to_builtins(status)})
    read = await client.patch(MACHINES, Key(NAMESPACE, "whole"), patch, "status")
    assert read.status == status


async def test_a_provider_id_is_written_once(client: Client) -> None:
    await _install(client)
    await client.create(MACHINES, _machine("once"))
    key = Key(NAMESPACE, "once")
    first = {"spec": {"providerID": "hostler://a/b/c", "machineID": "m-aaaaaaaaaa"}}
    assert (await client.patch(MACHINES, key, merge_patch(first))).spec == MachineWants(
        fleet_name="workers", provider_id="hostler://a/b/c", machine_id="m-aaaaaaaaaa"
    )
    with pytest.raises(Invalid, match="replace the Machine instead"):
        await client.patch(MACHINES, key, merge_patch({"spec": {"providerID": "another"}}))


async def test_a_machine_of_no_fleet_is_not_stored(client: Client) -> None:
    await _install(client)
    with pytest.raises(Invalid, match="fleetName"):
        await client.create(MACHINES, _machine("without", fleet=""))


async def test_a_cluster_is_stored_with_its_failure_domains(client: Client) -> None:
    await _install(client)
    domains = (FailureDomain(name="z-1", attributes={"a": "b"}),)
    spec = ClusterWants(
        control_plane_endpoint=Endpoint(host="api.example", port=6443), failure_domains=domains
    )
    made = await client.create(
        HOSTLER_CLUSTERS,
        HostlerCluster(
            api_version=HOSTLER_CLUSTERS.api_version,
            kind="HostlerCluster",
            metadata=Metadata(name="c1", namespace=NAMESPACE),
            spec=spec,
        ),
    )
    assert made.spec == spec
    status = InfrastructureStatus(
        ready=True,
        initialization=Initialization(provisioned=True),
        failure_domains=domains,
        conditions=(READY,),
    )
    patch = merge_patch({"status": msgspec.to_builtins(status)})
    read = await client.patch(HOSTLER_CLUSTERS, Key(NAMESPACE, "c1"), patch, "status")
    assert read.status == status


async def test_a_control_plane_says_all_that_core_reads(client: Client) -> None:
    await _install(client)
    await client.create(
        CONTROL_PLANES,
        ControlPlane(
            api_version=CONTROL_PLANES.api_version,
            kind="HostlerExternalControlPlane",
            metadata=Metadata(name="c1", namespace=NAMESPACE),
        ),
    )
    status = ControlPlaneStatus(
        ready=True,
        initialized=True,
        external_managed_control_plane=True,
        initialization=Initialization(control_plane_initialized=True),
        conditions=(READY,),
    )
    patch = merge_patch({"status": msgspec.to_builtins(status)})
    read = await client.patch(CONTROL_PLANES, Key(NAMESPACE, "c1"), patch, "status")
    assert read.status == status


def test_a_template_is_not_changed_in_place_but_for_cores_dry_runs(
    kubectl: Kubectl, helm: Helm
) -> None:
    """By the policy of the chart."""
    kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    policy = of_kind(helm.objects("clusterctl"), *kinds)
    assert len(policy) == len(kinds)
    kubectl.apply(*(dict(one) for one in manifests(KINDS)))
    kubectl.apply(*policy)
    kubectl.run("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    kubectl.apply(_template("one"))

    def refused(*, fleet: str, **options: bool) -> str:
        annotations = {"topology.cluster.x-k8s.io/dry-run": ""} if options.get("annotated") else {}
        try:
            kubectl.apply(_template(fleet, annotations), dry_run=options.get("dry_run", False))
        except Refused as error:
            return str(error)
        return ""

    end = time.monotonic() + 30
    while not refused(fleet="other") and time.monotonic() < end:  # a policy takes a while
        kubectl.apply(_template("one"))
        time.sleep(0.5)
    kubectl.apply(_template("one", {"note": "that is not the spec"}))
    assert "make another one" in refused(fleet="other")
    assert "make another one" in refused(fleet="other", dry_run=True)
    assert "make another one" in refused(fleet="other", annotated=True)
    assert not refused(fleet="other", dry_run=True, annotated=True)


def _template(fleet: str, annotations: Mapping[str, str] | None = None) -> dict[str, Any]:
    return {
        "apiVersion": f"{INFRASTRUCTURE}/{VERSION}",
        "kind": "HostlerMachineTemplate",
        "metadata": {
            "name": "fixed",
            "namespace": NAMESPACE,
            "annotations": dict(annotations or {}),
        },
        "spec": {"template": {"spec": {"fleetName": fleet}}},
    }
