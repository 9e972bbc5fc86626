"""The chart against Kubernetes: each object is taken; Helm installs, upgrades and removes it."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from components import components
from helm_kit import kubeconfig_of
from rendering import CHART, DEPLOY, VALUES, Helm, Manifest, objects

from hostler.lab.controlplane.api_server import ApiServer
from hostler.lab.controlplane.kubectl import Kubectl, Refused

pytestmark = pytest.mark.timeout(1900)  # the first test may have to build the programs

NAMESPACES = ("keepers", "machines", "releases", "team-a", "team-b")
MONITORING = (("servicemonitors", "ServiceMonitor"), ("prometheusrules", "PrometheusRule"))
RESTRICTED = {"pod-security.kubernetes.io/warn": "restricted"}


@pytest.fixture(scope="module")
def prepared(cluster: ApiServer) -> Kubectl:
    """A command line, with the namespaces and the kinds of others that the chart names."""
    kubectl = Kubectl(cluster)
    kubectl.apply(*(_namespace(name) for name in NAMESPACES))
    kubectl.apply(*(_definition(plural, kind) for plural, kind in MONITORING))
    names = [f"crd/{plural}.monitoring.coreos.com" for plural, _ in MONITORING]
    kubectl.run("wait", "--for=condition=Established", "--timeout=60s", *names)
    return kubectl


def _namespace(name: str) -> Manifest:
    metadata = {"name": name, "labels": RESTRICTED}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _definition(plural: str, kind: str) -> Manifest:
    """A kind of the Prometheus operator, without its schema."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.monitoring.coreos.com"},
        "spec": {
            "group": "monitoring.coreos.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [version],
        },
    }


@pytest.mark.parametrize("name", VALUES)
def test_the_server_takes_every_object(prepared: Kubectl, helm: Helm, name: str) -> None:
    """Unknown fields are refused too; nothing is stored."""
    for one in helm.objects(name):
        prepared.apply(one, dry_run=True)


def test_the_server_takes_every_component_of_clusterctl(prepared: Kubectl, helm: Helm) -> None:
    prepared.apply(_namespace("hostler-system"))
    for one in components(helm):
        prepared.apply(one, dry_run=True)


def test_an_object_with_an_unknown_field_would_not_be_taken(prepared: Kubectl, helm: Helm) -> None:
    (deployment,) = (one for one in helm.objects({}) if one["kind"] == "Deployment")
    deployment["spec"]["template"]["spec"]["containers"][0]["unknown"] = "a"
    with pytest.raises(Refused, match="unknown"):
        prepared.apply(deployment, dry_run=True)


@pytest.mark.parametrize("name", ["minimal", "clusterctl"])
def test_pods_keep_to_the_restricted_profile(prepared: Kubectl, helm: Helm, name: str) -> None:
    """Without the host's network the server has nothing to warn of."""
    for one in helm.objects(name):
        prepared.apply(one, dry_run=True, warnings=False)


def test_the_server_would_warn_of_a_pod_that_does_not(prepared: Kubectl, helm: Helm) -> None:
    (deployment,) = (one for one in helm.objects("homelab") if one["kind"] == "Deployment")
    with pytest.raises(Refused, match="hostNetwork"):
        prepared.apply(deployment, dry_run=True, warnings=False)


class Release:
    """A release of the chart in the cluster: what Helm does with it."""

    def __init__(self, helm: Helm, server: ApiServer) -> None:
        self._helm = helm
        self._place = ("--namespace=releases", f"--kubeconfig={server.kubeconfig}")

    def run(self, verb: str, *arguments: str) -> str:
        return self._helm.run(verb, "fleet", *arguments, *self._place)

    def bring(self, verb: str, name: str, *arguments: str) -> str:
        values = f"--values={DEPLOY / 'values' / name}.yaml"
        return self.run(verb, str(CHART), values, "--wait", "--timeout=90s", *arguments)


@pytest.fixture
def release(cluster: ApiServer, prepared: Kubectl, helm: Helm) -> Iterator[Release]:
    prepared.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "keeper"}})
    made = Release(helm, cluster)
    yield made
    made.run("uninstall", "--ignore-not-found", "--wait")


def test_helm_installs_upgrades_and_removes_the_chart(prepared: Kubectl, release: Release) -> None:
    """Pods are played: what is shown is Helm's waiting, the hook, and what stays and goes."""
    release.bring("install", "minimal")
    assert _ready(prepared) == 1
    assert prepared.read("jobs", "-n", "releases")["items"] == [], (
        "a hook's Job goes when it is done"
    )
    release.bring("upgrade", "clusterctl", "--atomic")
    assert _ready(prepared) == 2
    release.bring("upgrade", "minimal", "--atomic")
    release.run("uninstall", "--wait")
    kinds = "deployments,services,roles,rolebindings,configmaps,networkpolicies,pdb"
    left = prepared.read(kinds, "-n", "releases", "-l", "app.kubernetes.io/name=hostler")
    assert left["items"] == []
    found = prepared.read(
        "clusterroles,clusterrolebindings", "-l", "app.kubernetes.io/name=hostler"
    )
    names = [one["metadata"]["name"] for one in found["items"]]
    assert [one for one in names if one.startswith("releases-")] == []


def _ready(kubectl: Kubectl) -> int:
    found: dict[str, Any] = kubectl.read("deployment", "fleet-hostler", "-n", "releases")
    return int(found["status"]["readyReplicas"])


@pytest.fixture
def account(prepared: Kubectl, helm: Helm) -> Iterator[str]:
    """The token of the account that applies definitions, with its rights and no others."""
    found = [one for one in helm.objects({}) if one["metadata"]["name"].endswith("-install")]
    chosen = [one for one in found if one["kind"] != "Job"]
    prepared.apply(*chosen)
    yield prepared.run("create", "token", "fleet-hostler-install", "-n", "keepers").strip()
    for one in chosen:
        prepared.run("delete", one["kind"], one["metadata"]["name"], "-n", "keepers")


def test_the_rights_of_the_hook_suffice_to_install_the_definitions(
    prepared: Kubectl, account: str
) -> None:
    kubeconfig = kubeconfig_of(prepared.server, account)
    program = Path(sys.executable).parent / "hostler"
    command = [str(program), "kubernetes", "install", f"--kubeconfig={kubeconfig}"]
    for _ in ("first", "again"):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert "fleets" in prepared.run("get", "crd", "fleets.hostler.dev")


def test_each_kind_of_ours_may_be_read_and_written_by_who_enables_it(
    prepared: Kubectl, helm: Helm
) -> None:
    """As the server judges it, for every kind that `hostler kubernetes crds` prints."""
    program = Path(sys.executable).parent / "hostler"
    printed = subprocess.run(
        [str(program), "kubernetes", "crds"], capture_output=True, text=True, check=True
    ).stdout
    prepared.run("apply", "--server-side", "--force-conflicts", "-f", "-", text=printed)
    values = {
        "watch": {"namespace": "machines"},
        "frontends": {name: {"enabled": True} for name in ("clusterApi", "nodes", "jobs")},
    }
    prepared.apply(*(one for one in helm.objects(values) if "Role" in one["kind"]))
    kinds = [one["metadata"]["name"] for one in objects(printed)]
    assert {f"{name}.hostler.dev" for name in ("fleets", "journals")} <= {*kinds}
    assert [text for kind in kinds for text in _missing(prepared, kind)] == []


_OWN: Mapping[str, tuple[str, ...]] = {
    "journals.hostler.dev": ("get", "list", "watch", "create", "update"),
    "journalparts.hostler.dev": ("get", "list", "create", "delete"),
}
_NEVER = ("hostlerclustertemplates.infrastructure.cluster.x-k8s.io",)
"""Kinds that are for Cluster API's core alone."""


def _missing(kubectl: Kubectl, kind: str) -> list[str]:
    """Return what the chart's account may not do; records are where the release is."""
    own = kind in _OWN
    verbs = _OWN.get(kind, () if kind in _NEVER else ("list", "watch"))
    place = "keepers" if own else "machines"
    who = "--as=system:serviceaccount:keepers:fleet-hostler"
    return [
        f"{verb} {kind}"
        for verb in verbs
        if "yes" not in kubectl.asked("auth", "can-i", verb, kind, "-n", place, who)
    ]
