"""Macs of the older Cluster API provider as our objects: the same names and ids, or a reason."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from hostler.frontends.kubernetes.importing.applesilicon import MacImporter
from hostler.frontends.kubernetes.importing.former_macs import Former, Old
from hostler.frontends.kubernetes.importing.homelab import Imported
from hostler.kubernetes.objects import Metadata

SERVER = "6170692d-7363-616c-6577-61792d617069"
PROVIDER_ID = f"scw-applesilicon://fr-par-1/{SERVER}"


def a_machine(name: str = "runners-abcde", **parts: Any) -> Old:
    """Return a machine that has its host; `parts` replace those of the object."""
    spec = {"type": "M2-L", "zone": "fr-par-1", "os": "Tahoe", "fleetName": "runners"}
    made: dict[str, Any] = {
        "metadata": {
            "name": name,
            "namespace": "macs",
            "uid": f"uid-{name}",
            "labels": {"cluster.x-k8s.io/cluster-name": "c1"},
        },
        "spec": {**spec, "providerID": PROVIDER_ID, "adoptPoolPrefix": "tuist-pool-"},
        "status": {"serverID": SERVER, "ready": True, "phase": "Ready"},
        **parts,
    }
    return msgspec.convert(made, type=Old)


def with_spec(name: str = "runners-abcde", **spec: Any) -> Old:
    return a_machine(name, spec={"fleetName": "runners", "providerID": PROVIDER_ID, **spec})


def imported(*machines: Old, **others: Any) -> Imported:
    importer = MacImporter(namespace="macs", provider="macs")
    return importer.imported(Former(machines=machines, **others))


def spec_of(found: Imported, kind: str, name: str) -> Any:
    (one,) = (o for o in found.objects if (o.kind, o.metadata.name) == (kind, name))
    return one.spec


def named(found: Imported, kind: str) -> list[str]:
    return [one.metadata.name for one in found.objects if one.kind == kind]


def reason(found: Imported, name: str = "ScalewayAppleSiliconMachine/runners-abcde") -> str:
    return found.left[name]


# ---------------------------------------------------------------- what is taken over


def test_a_machine_keeps_its_name_and_its_provider_id() -> None:
    found = imported(a_machine())
    spec = spec_of(found, "HostlerMachine", "runners-abcde")
    assert spec["providerID"] == PROVIDER_ID
    assert (spec["fleetName"], spec["type"], spec["zone"]) == ("runners", "M2-L", "fr-par-1")
    assert not found.left


def test_a_machine_is_imported_under_the_same_id_each_time() -> None:
    first, again = (imported(a_machine()) for _ in range(2))
    assert first.objects == again.objects


def test_a_machine_begins_paused_with_its_cluster_and_its_release_policy() -> None:
    metadata = {
        "name": "runners-abcde",
        "uid": "uid-1",
        "labels": {"cluster.x-k8s.io/cluster-name": "c1", "other": "x"},
        "annotations": {"tuist.dev/release-policy": "terminate", "other": "x"},
    }
    found = imported(a_machine(metadata=metadata))
    (machine,) = (one for one in found.objects if one.kind == "HostlerMachine")
    assert machine.metadata.labels == {"cluster.x-k8s.io/cluster-name": "c1"}
    assert machine.metadata.annotations == {
        "cluster.x-k8s.io/paused": "imported",
        "hostler.dev/release-policy": "terminate",
    }


def test_a_person_is_told_what_to_say_of_each_host() -> None:
    (remark,) = (r for r in imported(a_machine()).remarks if "annotate" in r)
    assert remark.endswith(
        "kubectl -n macs annotate hostlermachine runners-abcde hostler.dev/adopt=runners-abcde "
        "cluster.x-k8s.io/paused-"
    )


def test_each_fleet_begins_paused_with_what_its_machines_are() -> None:
    other = f"scw-applesilicon://fr-par-3/{SERVER[:-1]}0"
    second = with_spec("b", type="M4-S", zone="fr-par-3", providerID=other)
    found = imported(a_machine(), msgspec.structs.replace(second, status=None))
    assert spec_of(found, "Fleet", "runners") == {
        "paused": True,
        "provider": "macs",
        "renews": False,
        "size": 0,
        "maximum": 3,
        "scalewayMacs": {"types": ["M2-L", "M4-S"], "zones": ["fr-par-1", "fr-par-3"]},
    }


def test_a_template_clones_what_its_machines_had() -> None:
    spec = {"type": "M4-XL", "fleetName": "builders", "hostCPU": 14, "hostMemoryMB": 60000}
    template = Old(metadata=Metadata(name="builders-1"), spec={"template": {"spec": spec}})
    found = imported(templates=(template,))
    assert spec_of(found, "HostlerMachineTemplate", "builders-1") == {
        "template": {"spec": {"fleetName": "builders", "type": "M4-XL", "zone": "fr-par-1"}},
        "capacity": {"cpu": "14", "memory": "60000M"},
        "nodeInfo": {"architecture": "arm64", "operatingSystem": "darwin"},
    }
    assert named(found, "Fleet") == ["builders"]


def test_a_cluster_keeps_its_endpoint() -> None:
    endpoint = {"host": "127.0.0.1", "port": 6443}
    stub = Old(metadata=Metadata(name="c1"), spec={"controlPlaneEndpoint": endpoint})
    bare = Old(metadata=Metadata(name="c2"))
    found = imported(clusters=(stub, bare))
    assert spec_of(found, "HostlerCluster", "c1") == {"controlPlaneEndpoint": endpoint}
    assert spec_of(found, "HostlerCluster", "c2") == {}


def test_what_the_older_provider_did_to_a_host_is_said_to_be_the_fleets() -> None:
    found = imported(with_spec(ghActionsRunner={"ghRunnerVersion": "2.3"}, maxPods=2))
    text = "\n".join(found.remarks)
    assert "ghActionsRunner" in text
    assert "maxPods" in text


def test_the_pools_that_there_were_are_named() -> None:
    second = with_spec("b", providerID=f"scw-applesilicon://fr-par-1/{SERVER[:-1]}0")
    without = msgspec.structs.replace(second, status=None)
    text = "\n".join(imported(a_machine(), without).remarks)
    assert "1 objects have the pool tuist-pool-…" in text
    assert "1 objects have no pool of their own" in text


# ---------------------------------------------------------------- what is not

PARTIAL: Mapping[str, tuple[Old, str]] = {
    "no spec": (a_machine(spec=None, status=None), "it has no host"),
    "no host yet": (with_spec(providerID="", type="M2-L"), "its providerID is no"),
    "being deleted": (
        a_machine(
            metadata={
                "name": "runners-abcde",
                "uid": "u",
                "deletionTimestamp": "2026-01-01T00:00:00Z",
            }
        ),
        "it is being deleted",
    ),
    "another server in its status": (a_machine(status={"serverID": "x"}), "its status x"),
    "no uid": (a_machine(metadata={"name": "runners-abcde"}), "it has no uid"),
    "another scheme": (with_spec(providerID="hostler://x/y"), "its providerID is no"),
    "no server": (with_spec(providerID="scw-applesilicon://fr-par-1/"), "its providerID is no"),
    "a path": (
        with_spec(providerID="scw-applesilicon://fr-par-1/../x"),
        "its providerID is no",
    ),
    "another zone": (with_spec(zone="fr-par-3"), "names another zone than fr-par-3"),
    "a list for a text": (with_spec(providerID=["x"]), "its providerID is no"),
    "a spec that is none": (a_machine(spec="x", status=7), "it has no host"),
    "a fleet that cannot be": (with_spec(fleetName="../Fleet"), "no name of a Fleet"),
    "a fleet of a long name": (with_spec(fleetName="f" * 41), "no name of a Fleet"),
}


@pytest.mark.parametrize("case", PARTIAL)
def test_what_is_not_taken_over_is_said_with_the_reason(case: str) -> None:
    machine, why = PARTIAL[case]
    found = imported(machine)
    assert why in reason(found)
    assert not named(found, "HostlerMachine")


def test_two_machines_of_one_host_are_both_left() -> None:
    found = imported(a_machine("a"), a_machine("b"))
    assert not named(found, "HostlerMachine")
    assert "b names the same host" in reason(found, "ScalewayAppleSiliconMachine/a")
    assert "a names the same host" in reason(found, "ScalewayAppleSiliconMachine/b")


def test_one_that_is_wrong_stops_no_other() -> None:
    found = imported(a_machine(), a_machine("b", spec=None, status=None))
    assert named(found, "HostlerMachine") == ["runners-abcde"]


@pytest.mark.parametrize("spec", [None, "x", {"template": "x"}, {"template": {"spec": [1]}}])
def test_a_template_of_nothing_is_one_of_the_usual_macs(spec: object) -> None:
    found = imported(templates=(Old(metadata=Metadata(name="t"), spec=spec),))
    assert spec_of(found, "HostlerMachineTemplate", "t")["template"]["spec"] == {
        "fleetName": "macs",
        "type": "M2-L",
        "zone": "fr-par-1",
    }


def test_a_template_of_a_fleet_that_cannot_be_is_left() -> None:
    spec = {"template": {"spec": {"fleetName": "No Fleet"}}}
    found = imported(templates=(Old(metadata=Metadata(name="t"), spec=spec),))
    assert found.objects == ()
    assert "no name of a Fleet" in reason(found, "ScalewayAppleSiliconMachineTemplate/t")
