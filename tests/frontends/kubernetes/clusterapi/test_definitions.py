"""What our definitions promise to Cluster API's core, which never looks them up by name."""

from collections.abc import Mapping
from typing import Any

import pytest

from hostler.frontends.kubernetes.clusterapi.definitions import definitions
from hostler.frontends.kubernetes.clusterapi.names import CONTRACTS, PROVIDER

ALL: list[Mapping[str, Any]] = [dict(definition) for definition in definitions()]
OWN_GROUPS = {"infrastructure.cluster.x-k8s.io", "controlplane.cluster.x-k8s.io"}


def by_kind(kind: str) -> Mapping[str, Any]:
    (found,) = (each for each in ALL if each["spec"]["names"]["kind"] == kind)
    return found


def schema(kind: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = by_kind(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


@pytest.mark.parametrize("one", ALL, ids=lambda one: str(one["spec"]["names"]["kind"]))
class TestEach:
    def test_its_name_is_what_core_computes_from_the_kind(self, one: Mapping[str, Any]) -> None:
        names, group = one["spec"]["names"], one["spec"]["group"]
        assert one["metadata"]["name"] == f"{names['kind'].lower()}s.{group}"
        assert names["plural"] == f"{names['kind'].lower()}s"
        assert names["listKind"] == f"{names['kind']}List"

    def test_it_says_which_version_keeps_which_contract(self, one: Mapping[str, Any]) -> None:
        labels = one["metadata"]["labels"]
        served = {version["name"] for version in one["spec"]["versions"] if version["served"]}
        assert {labels[contract] for contract in CONTRACTS} <= served
        assert labels["cluster.x-k8s.io/provider"] == PROVIDER

    def test_it_is_in_a_group_that_core_may_write(self, one: Mapping[str, Any]) -> None:
        assert one["spec"]["group"] in OWN_GROUPS

    def test_it_is_namespaced_with_a_status_of_its_own(self, one: Mapping[str, Any]) -> None:
        assert one["spec"]["scope"] == "Namespaced"
        assert all("status" in version["subresources"] for version in one["spec"]["versions"])

    def test_all_that_it_has_is_explained(self, one: Mapping[str, Any]) -> None:
        whole = one["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        parts = {k: v for k, v in whole["properties"].items() if k in {"spec", "status"}}
        assert [name for name, part in parts.items() if not part.get("description")] == []
        assert list(unexplained(parts)) == []


def unexplained(properties: Mapping[str, Any]) -> list[str]:
    found = list[str]()
    for name, part in properties.items():
        found += [] if part.get("description") else [name]
        found += unexplained(part.get("properties", {}))
        found += unexplained(part.get("items", {}).get("properties", {}))
    return found


def test_a_template_clones_what_a_machine_understands() -> None:
    cloned = schema("HostlerMachineTemplate")["properties"]["spec"]["properties"]["template"]
    machine = schema("HostlerMachine")["properties"]["spec"]

    assert cloned["properties"]["spec"]["properties"].items() <= machine["properties"].items()
    assert cloned["properties"]["spec"]["required"] == machine["required"]


def test_a_template_holds_no_machines_identity() -> None:
    cloned = schema("HostlerMachineTemplate")["properties"]["spec"]["properties"]["template"]

    assert not {"providerID", "machineID"} & set(cloned["properties"]["spec"]["properties"])


def test_a_machine_names_no_failure_domain_in_its_spec() -> None:
    """Core would copy it over the Machine's own."""
    assert "failureDomain" not in schema("HostlerMachine")["properties"]["spec"]["properties"]


def test_failure_domains_are_a_list_by_name() -> None:
    for part in ("spec", "status"):
        domains = schema("HostlerCluster")["properties"][part]["properties"]["failureDomains"]
        assert domains["type"] == "array"
        assert domains["x-kubernetes-list-map-keys"] == ["name"]


def test_a_template_says_what_its_nodes_have_for_scaling_from_zero() -> None:
    status = schema("HostlerMachineTemplate")["properties"]["status"]["properties"]

    assert {"capacity", "nodeInfo"} <= set(status)


def test_a_control_plane_says_that_it_is_managed_elsewhere() -> None:
    status = schema("HostlerExternalControlPlane")["properties"]["status"]["properties"]

    assert "externalManagedControlPlane" in status
    assert "controlPlaneInitialized" in status["initialization"]["properties"]
