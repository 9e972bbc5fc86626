"""What a HostlerCluster, a control plane managed elsewhere and a template say of themselves."""

import base64
from collections.abc import Mapping

import msgspec
import pytest

from hostler.frontends.kubernetes.clusterapi.clusters import (
    control_plane,
    infrastructure,
    template,
)
from hostler.frontends.kubernetes.clusterapi.names import CLUSTER_LABEL, MANAGED_BY, PAUSED
from hostler.frontends.kubernetes.clusterapi.objects import (
    Cluster,
    ClusterSpec,
    ClusterWants,
    Condition,
    ControlPlane,
    ControlPlaneStatus,
    Endpoint,
    FailureDomain,
    HostlerCluster,
    InfrastructureStatus,
    MachineTemplate,
    NodeInfo,
    Secret,
    TemplateWants,
)
from hostler.kubernetes.objects import Metadata
from hostler.testing.scenes.builders import BEGIN, MIN

ENDPOINT = Endpoint(host="api.example", port=6443)
METADATA = Metadata(name="c1", namespace="fleet")


def cluster(endpoint: Endpoint = ENDPOINT, *, paused: bool = False) -> Cluster:
    return Cluster(
        metadata=METADATA, spec=ClusterSpec(paused=paused, control_plane_endpoint=endpoint)
    )


def annotated(name: str) -> Metadata:
    return msgspec.structs.replace(METADATA, annotations={name: ""})


def deleted() -> Metadata:
    return msgspec.structs.replace(METADATA, deletion_timestamp=BEGIN)


def of(conditions: tuple[Condition, ...], type_: str) -> Condition:
    (found,) = (condition for condition in conditions if condition.type == type_)
    return found


# ---------------------------------------------------------------- HostlerCluster


def written(item: HostlerCluster, of_cluster: Cluster | None = None) -> InfrastructureStatus:
    status = infrastructure(item, of_cluster or cluster(), BEGIN)
    assert status is not None
    return status


def test_a_cluster_with_an_endpoint_is_provisioned() -> None:
    status = written(HostlerCluster(metadata=METADATA))

    assert status.initialization.provisioned
    assert status.ready
    assert of(status.conditions, "Ready").status == "True"
    assert of(status.conditions, "Paused").status == "False"


def test_an_endpoint_of_ours_counts_too() -> None:
    item = HostlerCluster(metadata=METADATA, spec=ClusterWants(control_plane_endpoint=ENDPOINT))

    assert written(item, cluster(Endpoint())).ready


@pytest.mark.parametrize("endpoint", [Endpoint(), Endpoint(host="api"), Endpoint(port=6443)])
def test_a_cluster_waits_for_its_endpoint_and_says_so(endpoint: Endpoint) -> None:
    status = written(HostlerCluster(metadata=METADATA), cluster(endpoint))

    assert not status.initialization.provisioned
    assert "spec.controlPlaneEndpoint" in of(status.conditions, "Ready").message


def test_a_cluster_never_goes_back_from_provisioned() -> None:
    item = HostlerCluster(metadata=METADATA)
    after = msgspec.structs.replace(item, status=written(item))

    assert written(after, cluster(Endpoint())).initialization.provisioned


def test_failure_domains_are_handed_on_sorted() -> None:
    domains = (FailureDomain(name="z-2"), FailureDomain(name="z-1"))
    item = HostlerCluster(metadata=METADATA, spec=ClusterWants(failure_domains=domains))

    assert [domain.name for domain in written(item).failure_domains] == ["z-1", "z-2"]


def test_nothing_is_written_twice() -> None:
    item = HostlerCluster(metadata=METADATA)
    after = msgspec.structs.replace(item, status=written(item))

    assert infrastructure(after, cluster(), BEGIN + 60 * MIN) == after.status


def test_a_cluster_managed_by_somebody_else_is_not_touched() -> None:
    item = HostlerCluster(metadata=annotated(MANAGED_BY))

    assert infrastructure(item, cluster(), BEGIN) is None


def test_a_cluster_without_its_owner_is_not_touched() -> None:
    assert infrastructure(HostlerCluster(metadata=METADATA), None, BEGIN) is None


def test_a_cluster_that_goes_is_not_touched() -> None:
    assert infrastructure(HostlerCluster(metadata=deleted()), cluster(), BEGIN) is None


@pytest.mark.parametrize(("metadata", "paused"), [(annotated(PAUSED), False), (METADATA, True)])
def test_a_paused_cluster_says_so_and_no_more(metadata: Metadata, paused: bool) -> None:
    status = written(HostlerCluster(metadata=metadata), cluster(paused=paused))

    assert of(status.conditions, "Paused").status == "True"
    assert not status.initialization.provisioned


# ---------------------------------------------------------------- the control plane


def kubeconfig(
    labels: Mapping[str, str] | None = None, data: Mapping[str, str] | None = None
) -> Secret:
    labels = {CLUSTER_LABEL: "c1"} if labels is None else labels
    content = base64.b64encode(b"kind: Config").decode()
    metadata = Metadata(name="c1-kubeconfig", namespace="fleet", labels=labels)
    return Secret(metadata=metadata, data={"value": content} if data is None else data)


def managed(item: ControlPlane, secret: Secret | None) -> ControlPlaneStatus:
    status = control_plane(item, cluster(), secret, BEGIN)
    assert status is not None
    return status


def test_a_control_plane_that_core_can_reach_is_initialized() -> None:
    status = managed(ControlPlane(metadata=METADATA), kubeconfig())

    assert status.external_managed_control_plane
    assert status.initialization.control_plane_initialized
    assert status.initialized
    assert of(status.conditions, "Available").status == "True"


@pytest.mark.parametrize(
    ("secret", "cure"),
    [
        (None, "make the secret c1-kubeconfig"),
        (kubeconfig(data={"config": "x"}), "under `value`"),
        (kubeconfig(labels={}), f"{CLUSTER_LABEL}=c1"),
    ],
)
def test_a_control_plane_says_what_keeps_core_from_it(secret: Secret | None, cure: str) -> None:
    status = managed(ControlPlane(metadata=METADATA), secret)

    assert not status.initialization.control_plane_initialized
    assert cure in of(status.conditions, "Available").message


def test_a_control_plane_stays_initialized_without_its_secret() -> None:
    item = ControlPlane(metadata=METADATA)
    after = msgspec.structs.replace(item, status=managed(item, kubeconfig()))

    status = managed(after, None)

    assert status.initialization.control_plane_initialized
    assert of(status.conditions, "Available").reason == "KubeconfigMissing"


def test_a_control_plane_is_externally_managed_from_the_beginning() -> None:
    """Core asks for it before it drains a Node, whether the API server was reached or not."""
    assert managed(ControlPlane(metadata=METADATA), None).external_managed_control_plane


@pytest.mark.parametrize("metadata", [annotated(MANAGED_BY), deleted()])
def test_a_control_plane_that_is_not_ours_or_goes_is_not_touched(metadata: Metadata) -> None:
    assert control_plane(ControlPlane(metadata=metadata), cluster(), kubeconfig(), BEGIN) is None


def test_a_control_plane_without_its_cluster_is_not_touched() -> None:
    assert control_plane(ControlPlane(metadata=METADATA), None, kubeconfig(), BEGIN) is None


# ---------------------------------------------------------------- templates


def test_a_template_tells_the_autoscaler_what_its_nodes_have() -> None:
    node = NodeInfo(architecture="arm64", operating_system="darwin")
    wants = TemplateWants(capacity={"cpu": "8", "memory": "16Gi"}, node_info=node)

    status = template(MachineTemplate(metadata=METADATA, spec=wants))

    assert (status.capacity, status.node_info) == (wants.capacity, node)


def test_a_template_that_says_nothing_has_no_capacity() -> None:
    assert template(MachineTemplate(metadata=METADATA)).capacity == {}
