"""What clusterctl reads of a provider: the rules of its contract for both files."""

from collections.abc import Sequence

import pytest
from components import CONTRACT, LABEL, PROVIDER, components, metadata, version
from rendering import Helm, Manifest, of_kind, one_of

pytestmark = pytest.mark.timeout(900)  # the first test may have to build Helm

OURS = "infrastructure.cluster.x-k8s.io"


@pytest.fixture(scope="module")
def found(helm: Helm) -> Sequence[Manifest]:
    return tuple(components(helm))


def test_everything_is_in_the_one_namespace_and_says_whose_it_is(
    found: Sequence[Manifest],
) -> None:
    name = one_of(found, "Namespace")["metadata"]["name"]
    whole = ("Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding")
    inside = [one for one in found if one["kind"] not in whole]
    assert {one["metadata"]["namespace"] for one in inside} == {name}
    assert {one["metadata"]["labels"][LABEL] for one in found} == {PROVIDER}


def test_the_controller_is_a_deployment_whose_container_is_the_manager(
    found: Sequence[Manifest],
) -> None:
    (container,) = one_of(found, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["name"] == "manager"
    assert any(one.startswith("--namespace") for one in container["args"])


def test_the_series_keeps_the_contract_of_the_definitions(found: Sequence[Manifest]) -> None:
    """clusterctl goes by the file, and core by the label: both must say the same."""
    (series,) = metadata()["releaseSeries"]
    assert f"{series['major']}.{series['minor']}." in f"{version()}."
    definitions = of_kind(found, "CustomResourceDefinition")
    ours = [one for one in definitions if one["spec"]["group"] == OURS]
    assert {one["spec"]["names"]["kind"] for one in ours} >= {"HostlerMachine", "HostlerCluster"}
    for one in ours:
        served = {version["name"] for version in one["spec"]["versions"] if version["served"]}
        named = one["metadata"]["labels"][f"cluster.x-k8s.io/{CONTRACT}"]
        assert set(named.split("_")) <= served
    assert series["contract"] == CONTRACT


def test_no_hook_is_left_that_clusterctl_would_not_run(found: Sequence[Manifest]) -> None:
    assert not [one for one in found if "helm.sh/hook" in str(one["metadata"])]
    assert of_kind(found, "Job") == ()
