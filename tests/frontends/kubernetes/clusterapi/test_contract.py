"""Rules of the contract that no other file tests: docs/explanation/cluster-api-contract.md."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from core_kit import KIND, Site
from msgspec.structs import replace
from view_kit import PROVIDER_ID, READY, item, machine, provisioned, ready, with_spec

from hostler.domain.model.phases import Phase
from hostler.frontends.kubernetes.clusterapi.caches import owner_of
from hostler.frontends.kubernetes.clusterapi.decision import decide
from hostler.frontends.kubernetes.clusterapi.definitions import definitions
from hostler.frontends.kubernetes.clusterapi.names import PAUSED
from hostler.frontends.kubernetes.clusterapi.standing import addresses
from hostler.kubernetes.objects import Owner
from hostler.ports.provider import Connection

ALL = {one["spec"]["names"]["kind"]: one for one in map(dict[str, Any], definitions())}


def schema(kind: str, *path: str) -> Mapping[str, Any]:
    """Return the schema of a kind's part."""
    (version,) = ALL[kind]["spec"]["versions"]
    found: Mapping[str, Any] = version["schema"]["openAPIV3Schema"]
    for name in path:
        found = found["properties"][name]
    return found


# ---------------------------------------------------------------- what the status says


@pytest.mark.parametrize(
    ("connection", "sorts"),
    [
        (Connection(address="51.15.1.2", internal="10.0.0.7"), ["ExternalIP", "InternalIP"]),
        (Connection(address="192.168.1.9"), ["InternalIP"]),
        (Connection(address="2001:bc8::1"), ["ExternalIP"]),
        (Connection(address="mac-1.example"), ["ExternalDNS"]),
        (None, []),
    ],
)
def test_addresses_are_of_the_sorts_that_core_knows(
    connection: Connection | None, sorts: list[str]
) -> None:
    assert [one.type for one in addresses(machine(), connection)] == sorts


def test_an_address_is_named_once() -> None:
    recorded = replace(machine(), address="51.15.1.2")
    assert len(addresses(recorded, Connection(address="51.15.1.2"))) == 1
    assert [one.address for one in addresses(recorded, None)] == ["51.15.1.2"]


@pytest.mark.parametrize("kind", ["HostlerMachine", "HostlerCluster"])
def test_no_field_says_for_good_that_something_failed(kind: str) -> None:
    """Core does nothing with them: conditions say it, and a health check acts on these."""
    assert not {"failureReason", "failureMessage"} & set(schema(kind, "status")["properties"])


@pytest.mark.parametrize("kind", [kind for kind in ALL if not kind.endswith("Template")])
def test_conditions_are_a_list_by_type_as_core_reads_it(kind: str) -> None:
    conditions = schema(kind, "status", "conditions")
    assert conditions["x-kubernetes-list-type"] == "map"
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]
    assert {"type", "status"} <= set(conditions["items"]["required"])
    assert "severity" not in conditions["items"]["properties"]


def test_cores_of_contract_v1beta1_read_ready_and_it_follows_the_condition() -> None:
    there = decide(ready(with_spec(item(), provider_id=PROVIDER_ID))).status
    failed = decide(ready(provisioned(), machine(Phase.FAILED))).status
    assert there is not None
    assert failed is not None
    assert (there.ready, failed.ready) == (True, False)
    assert failed.initialization.provisioned


# ---------------------------------------------------------------- what is read


@pytest.mark.parametrize("controls", [True, False])
def test_an_owner_counts_whether_it_controls_the_object_or_not(controls: bool) -> None:
    reference = Owner(
        api_version="cluster.x-k8s.io/v1beta2",
        kind="Machine",
        name="w-1",
        uid="uid-m",
        controller=controls,
    )
    metadata = item(owner_references=(reference,)).metadata
    assert owner_of(metadata, "Machine") == reference
    assert owner_of(metadata, "Cluster") is None


def test_an_owner_of_another_group_is_none() -> None:
    reference = Owner(api_version="example.com/v1", kind="Machine", name="w-1", uid="u")
    assert owner_of(item(owner_references=(reference,)).metadata, "Machine") is None


def test_a_spec_that_is_changed_in_place_makes_no_other_machine() -> None:
    """Core's own in-place updates write into it: what stands goes on standing."""
    changed = with_spec(provisioned(), type="huge", zone="z-9", image="other", fleet_name="others")
    decision = decide(ready(changed, READY))
    assert decision.act is None
    assert decision.status == provisioned().status


# ---------------------------------------------------------------- templates


def test_a_template_of_clusters_clones_what_a_cluster_understands() -> None:
    cloned = schema("HostlerClusterTemplate", "spec", "template", "spec")
    assert cloned["properties"].items() <= schema("HostlerCluster", "spec")["properties"].items()


@pytest.mark.parametrize("kind", ["HostlerMachineTemplate", "HostlerClusterTemplate"])
def test_a_template_hands_on_labels_and_annotations(kind: str) -> None:
    metadata = schema(kind, "spec", "template", "metadata")
    assert {"labels", "annotations"} == set(metadata["properties"])


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        *(("500M", True), ("500Mi", True), ("2", True), ("-1.5e3", True), (".5", True)),
        *(("500mb", False), ("about 4", False), (" 4", False), ("1Gi2", False), ("", False)),
    ],
)
def test_a_capacity_is_a_quantity(text: str, is_one: bool) -> None:
    """The sample of core's own book is none."""
    pattern = schema("HostlerMachineTemplate", "spec", "capacity")["additionalProperties"][
        "pattern"
    ]
    assert bool(re.fullmatch(pattern, text)) is is_one


def test_a_node_of_a_template_has_a_processor_that_the_autoscaler_knows() -> None:
    node = schema("HostlerMachineTemplate", "spec", "nodeInfo")["properties"]
    assert node["architecture"]["enum"] == ["amd64", "arm64", "s390x", "ppc64le"]


# ---------------------------------------------------------------- moves


def _one() -> Site:
    """Return a site with one Machine."""
    here = Site()
    here.cluster()
    here.secret()
    here.machine("w-0")
    return here


def _here(site: Site, name: str) -> dict[str, Any]:
    found = site.api.raw(KIND, name)
    assert found is not None
    return found


@pytest.mark.looptime
async def test_an_object_that_is_moved_keeps_its_machine_and_gets_its_status_again() -> None:
    """As clusterctl does it: paused, made anew with another uid and no status.

    The store is the same at both ends.
    """
    here = _one()
    async with here.serving():
        await here.until(lambda: here.is_provisioned("w-0"))
    (before,) = await here.machines()
    here.api.change("Cluster", "c1", spec={"paused": True})
    there = {kind: dict(_raw(here, kind)) for kind in ("Machine", KIND)}
    for kind in there:
        here.api.vanish(kind, "w-0")
    async with here.serving():
        owner = here.api.put("Machine", _moved(there["Machine"]))
        moved = _moved(there[KIND])
        moved["metadata"]["ownerReferences"][0]["uid"] = owner["metadata"]["uid"]
        here.api.put(KIND, moved)
        await asyncio.sleep(120)
        assert not here.is_provisioned("w-0")
        here.api.change("Cluster", "c1", spec={"paused": False})
        await here.until(lambda: here.is_provisioned("w-0"))
        assert here.ready("w-0") == "Provisioned"
        assert here.status("w-0")["addresses"]
        assert _here(here, "w-0")["spec"] == there[KIND]["spec"]
    assert [one.id for one in await here.machines()] == [before.id]
    assert len(here.scene.world.servers()) == 1


@pytest.mark.looptime
async def test_what_vanishes_at_the_source_of_a_move_ends_no_machine() -> None:
    here = _one()
    async with here.serving():
        await here.until(lambda: here.is_provisioned("w-0"))
        here.api.change("Cluster", "c1", spec={"paused": True})
        here.api.change(KIND, "w-0", metadata={"annotations": {PAUSED: ""}})
        here.api.delete(KIND, "w-0")
        here.api.change(KIND, "w-0", metadata={"finalizers": None})
        await asyncio.sleep(600)
        assert here.api.raw(KIND, "w-0") is None
    assert len(await here.machines()) == 1
    assert len(here.scene.world.servers()) == 1


def _raw(site: Site, kind: str) -> dict[str, Any]:
    found = site.api.raw(kind, "w-0")
    assert found is not None
    return msgspec.json.decode(msgspec.json.encode(found))


def _moved(raw: dict[str, Any]) -> dict[str, Any]:
    """Return an object as clusterctl makes it anew: without a status, a uid and a version."""
    metadata = dict(raw["metadata"])
    for name in ("uid", "resourceVersion", "creationTimestamp"):
        metadata.pop(name, None)
    return {"metadata": metadata, "spec": raw["spec"]}
