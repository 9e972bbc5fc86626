"""Groups and Nodes of the older autoscaler as our objects, which our own reading accepts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from hostler.app.provider_registry import KINDS
from hostler.app.store_registry import STORES
from hostler.config.cluster_tables import AllowTable
from hostler.frontends.kubernetes.importing.homelab import Imported, Importer, OldGroup, OldNode
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.objects.assembly import FLEET, PROVIDER, Assembler, Place
from hostler.frontends.kubernetes.objects.candidates import Candidates, Objects
from hostler.frontends.kubernetes.objects.models import Written
from hostler.frontends.kubernetes.objects.secrets import SecretPlaces

GROUP: Mapping[str, Any] = {
    "metadata": {"name": "workers", "namespace": "home"},
    "spec": {
        "scaleDownUtilizationThreshold": "0.5",
        "scaleDownGpuUtilizationThreshold": "0.7",
        "scaleDownUnneededTime": "10m0s",
        "scaleDownUnreadyTime": "20m",
        "maxNodeProvisionTime": "15m",
        "zeroOrMaxNodeScaling": False,
        "ignoreDaemonSetsUtilization": True,
    },
}
POD: Mapping[str, Any] = {
    "image": "wol:1",
    "args": ["52:54:00:12:34:56"],
    "volumes": [{"name": "key", "mountPath": "/keys", "secretName": "ssh"}],
    "serviceAccount": "power",
}
HOME = Namespaces(home="home")


def a_node(name: str, power: object = "off", **spec: object) -> OldNode:
    made = {
        "metadata": {"name": name, "namespace": "home", "labels": {"group": "workers"}},
        "spec": {
            "powerState": power,
            "startupPodSpec": POD,
            "shutdownPodSpec": POD,
            "kubernetesNodeName": f"{name}.home",
            "pricing": {"hourlyRate": "0.03", "podRate": "0"},
            **spec,
        },
    }
    return msgspec.convert(made, type=OldNode)


def imported(*nodes: OldNode, group: Mapping[str, Any] = GROUP, known: bool = True) -> Imported:
    addresses = {f"{node.metadata.name}.home": "10.0.0.1" for node in nodes} if known else {}
    importer = Importer(namespace="home", provider="homelab")
    return importer.imported((msgspec.convert(group, type=OldGroup),), nodes, addresses)


def spec_of(found: Imported, kind: str, name: str) -> Any:
    (one,) = [o for o in found.objects if (o.kind, o.metadata.name) == (kind, name)]
    return one.wanted


def test_what_is_imported_is_accepted_as_it_is(tmp_path: Path) -> None:
    found = imported(a_node("one", "on"), a_node("two"))
    assert found.remarks == ()

    def of(kind: str) -> tuple[Written, ...]:
        return tuple(one for one in found.objects if one.kind == kind)

    places = SecretPlaces(tmp_path / "secrets", dict[str, str](), b"salt")
    allow = AllowTable(images=("wol:1",), service_accounts=("power",), secrets=("ssh",))
    making = Candidates(namespaces=HOME, kinds=KINDS, base={}, places=places, allow=allow)
    objects = Objects(providers=of("Provider"), fleets=of("Fleet"), hosts=of("Host"))
    candidates = making.of(objects, {})
    hosts = candidates[Place(PROVIDER, "homelab")].hosts
    assert [hosts[name].message for name in ("one", "two")] == ["in force", "in force"]
    assembler = Assembler(
        namespaces=HOME, path=tmp_path / "a.toml", base={}, kinds=KINDS, stores=STORES
    )
    assembly = assembler.assemble(candidates, {})
    messages = {place.path: one.message for place, one in assembly.verdicts.items()}
    assert messages == {"provider.homelab": "in force", "fleet.workers": "in force"}
    assert Place(FLEET, "workers") in assembly.tables


@pytest.mark.parametrize("power", ["on", True])
def test_nothing_is_switched_by_an_import(power: object) -> None:
    found = imported(a_node("one", power), a_node("two"))
    assert spec_of(found, "Host", "one")["desiredPowerState"] == "on"
    assert "desiredPowerState" not in spec_of(found, "Host", "two")
    fleet = spec_of(found, "Fleet", "workers")
    assert (fleet["paused"], fleet["size"], fleet["maximum"]) == (True, 0, 2)


def test_options_for_the_autoscaler_and_prices_are_carried_over() -> None:
    found = imported(a_node("one"))
    assert spec_of(found, "Fleet", "workers")["node"]["options"] == {
        "zeroOrMax": False,
        "ignoreDaemonSets": True,
        "scaleDownUnneeded": "10m0s",
        "scaleDownUnready": "20m",
        "maxNodeProvision": "15m",
        "scaleDownUtilizationThreshold": 0.5,
        "scaleDownGpuUtilizationThreshold": 0.7,
    }
    assert spec_of(found, "Host", "one")["power"]["price"] == 0.03


def test_jobs_run_what_the_pods_ran() -> None:
    job = spec_of(imported(a_node("one")), "Host", "one")["power"]["job"]
    assert job["node"] == "one.home"
    assert job["on"] == {
        "image": "wol:1",
        "args": ["52:54:00:12:34:56"],
        "secretFiles": {"/keys": "ssh"},
        "serviceAccount": "power",
    }


@pytest.mark.parametrize("text", ["nan", "inf", "-Infinity", "1e999"])
def test_what_is_a_number_to_python_alone_is_left_out_and_said(text: str) -> None:
    """There is no such number in JSON: it was written as nothing, and nobody learned of it."""
    found = imported(a_node("one", pricing={"hourlyRate": text}))
    assert "price" not in spec_of(found, "Host", "one")["power"]
    assert f"pricing.hourlyRate = {text!r} is no number" in "\n".join(found.remarks)


def test_what_cannot_be_carried_over_is_said() -> None:
    volume = {"name": "more", "mountPath": "/more", "configMapName": "scripts"}
    spec = {**POD, "volumes": [volume]}
    bad = {**GROUP, "spec": {**GROUP["spec"], "scaleDownUnneededTime": "soon"}}
    node = a_node("one", startupPodSpec=spec, pricing={"hourlyRate": "cheap"})
    found = imported(node, group=bad, known=False)
    text = "\n".join(found.remarks)
    for part in ("ConfigMap scripts", "'soon' is no time", "'cheap' is no number", "no address"):
        assert part in text
    options = cast("Mapping[str, object]", spec_of(found, "Fleet", "workers")["node"]["options"])
    assert "scaleDownUnneeded" not in options
