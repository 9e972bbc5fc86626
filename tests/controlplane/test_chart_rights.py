"""The command line, the fleet file and the rights of the chart, run: nothing more is needed.

The pod's part is played by a process of ours, with the token of the chart's own account.
"""

import base64
import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from helm_kit import HOSTLER, manager
from rendering import Helm, Manifest, of_kind
from test_cluster import conditions, until

from hostler.lab.controlplane.api_server import ApiServer
from hostler.lab.controlplane.kubectl import Kubectl
from hostler.lab.controlplane.processes import Running, process, wait
from hostler.simulators.ports import free_port

pytestmark = pytest.mark.timeout(1900)  # the first test may have to build the programs

NAMESPACE = "keepers"
PROJECT = "22222222-2222-2222-2222-222222222222"
UNUSED = "not serving Cluster API"
"""What is logged where a frontend is not enabled: it has no rights, and needs none."""
KEY = (Path(__file__).parents[2] / "examples" / "simulator.key").read_bytes().strip()


def values(port: int, store: str) -> dict[str, Any]:
    """A minimal release with what is served on this port."""
    return {
        "store": {"kind": store},
        "config": {"engine": {"quiet": "1s", "poll": "100ms"}},
        "frontends": {"metrics": {"enabled": True, "port": port}},
    }


@pytest.fixture
def kubectl(api_server: ApiServer) -> Kubectl:
    whole = Kubectl(api_server)
    command = [str(HOSTLER), "kubernetes", "install", f"--kubeconfig={api_server.kubeconfig}"]
    subprocess.run(command, check=True, capture_output=True)
    whole.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    return whole


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[str]:
    """The address of a simulated cloud."""
    at = free_port()
    command = [str(HOSTLER), "simulator", "scaleway", f"--port={at}", "--speed=30"]
    with process(command, tmp_path / "cloud.log") as one:
        wait(one, lambda: "simulator.listening" in one[1].read_text())
        yield f"http://127.0.0.1:{at}"


@pytest.fixture(params=["kubernetes", "sqlite"])
def running(
    request: pytest.FixtureRequest, helm: Helm, kubectl: Kubectl, port: int, tmp_path: Path
) -> Iterator[Running]:
    """The manager of the chart, as its own account."""
    found = helm.objects(values(port, request.param))
    with manager(found, kubectl, NAMESPACE, tmp_path) as one:
        yield one


def test_the_rights_of_the_chart_suffice_to_run_objects(
    running: Running, kubectl: Kubectl, cloud: str, port: int, tmp_path: Path
) -> None:
    """A Secret is read, a status written, a finalizer set and taken away; and all that is read."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "cloud", "namespace": NAMESPACE},
        "data": {"KEY": base64.b64encode(KEY).decode()},
    }
    used, spare, web = (f"{name}-{port}" for name in ("used", "spare", "web"))
    fleet = an_object("Fleet", web, size=0, provider=used, scaleway={"types": ["DEV1-S"]})
    kubectl.apply(secret, a_provider(used, cloud), a_provider(spare, cloud), fleet)
    names = (("provider", used), ("provider", spare), ("fleet", web))
    until(lambda: all(_accepted(kubectl, *name) for name in names))
    kubectl.run("delete", "providers.hostler.dev", spare, "-n", NAMESPACE, "--timeout=30s")
    of_one = ("--fleet", web)  # the cloud of another release's fleet is gone
    for command, options in (("status", of_one), ("plan", of_one), ("check", ())):
        printed = _in_pod(kubectl, tmp_path, command, options)
        assert web in json.dumps(printed)
        assert printed.get("standing", {"notices": []})["notices"] == []
    lines = running[1].read_text().splitlines()
    assert [one for one in lines if "forbidden" in one.lower() and UNUSED not in one] == []
    assert KEY.decode() not in "".join(lines)


def _in_pod(kubectl: Kubectl, folder: Path, command: str, options: Sequence[str]) -> Any:
    """Return what a command prints that is run beside the manager, by its account and its file."""
    account = kubectl.server.folder / "account.kubeconfig"
    done = subprocess.run(
        [str(HOSTLER), command, str(folder / "fleet.toml"), *options, "--json"],
        env={"KUBECONFIG": str(account), "PATH": os.environ["PATH"], "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def an_object(what: str, name: str, /, **spec: Any) -> Manifest:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {
        "apiVersion": "hostler.dev/v1alpha1",
        "kind": what,
        "metadata": metadata,
        "spec": spec,
    }


def a_provider(name: str, endpoint: str) -> Manifest:
    scaleway = {"endpoint": endpoint, "project": PROJECT, "secretKeyEnv": "KEY"}
    return an_object("Provider", name, kind="scaleway", secretName="cloud", scaleway=scaleway)


def _accepted(kubectl: Kubectl, kind: str, name: str, namespace: str = NAMESPACE) -> bool:
    found = kubectl.read(f"{kind}s.hostler.dev", name, "-n", namespace)
    return conditions(found).get("Accepted") == "True"


# ---------------------------------------------------------------- each set of frontends


SETS = (
    frozenset({"clusterApi"}),
    frozenset({"fleets", "clusterApi", "nodes", "jobs"}),
)


def enabled(port: int, frontends: frozenset[str]) -> dict[str, Any]:
    """Values with these frontends and no other."""
    made = values(port, "kubernetes")
    others = {"fleets", "clusterApi", "nodes", "jobs"}
    made["frontends"] |= {name: {"enabled": name in frontends} for name in others}
    return made


@dataclass(frozen=True, slots=True)
class Here:
    """Where a manager runs, and what it finds there."""

    helm: Helm
    kubectl: Kubectl
    port: int
    cloud: str
    folder: Path

    def objects(self, frontends: frozenset[str]) -> Sequence[Manifest]:
        return self.helm.objects(enabled(self.port, frontends))

    def run(self, found: Sequence[Manifest]) -> AbstractContextManager[Running]:
        return manager(found, self.kubectl, NAMESPACE, self.folder)

    def furnish(self, node: Mapping[str, object]) -> str:
        """Write a provider with its Secret, and a fleet without machines; return its name."""
        name = f"web-{self.port}"
        data = {"KEY": base64.b64encode(KEY).decode()}
        metadata = {"name": "cloud", "namespace": NAMESPACE}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
        spec: dict[str, Any] = {"provider": name, "scaleway": {"types": ["DEV1-S"]}}
        spec |= {"node": dict(node)} if node else {}
        fleet = an_object("Fleet", name, size=0, **spec)
        self.kubectl.apply(secret, a_provider(name, self.cloud), fleet)
        return name


@pytest.fixture
def here(helm: Helm, kubectl: Kubectl, port: int, cloud: str, tmp_path: Path) -> Iterator[Here]:
    """A place without objects of the tests before."""
    yield Here(helm, kubectl, port, cloud, tmp_path)
    for kind in ("fleets", "providers"):
        named = (f"{kind}.hostler.dev", f"web-{port}", "-n", NAMESPACE)
        for _ in kubectl.run("get", *named, "--ignore-not-found", "-o", "name").split():
            free = '{"metadata":{"finalizers":null}}'
            kubectl.run("patch", *named, "--type=merge", "-p", free)
            kubectl.run("delete", *named, "--ignore-not-found", "--timeout=30s")


@pytest.mark.parametrize("frontends", SETS, ids=lambda one: "+".join(sorted(one)))
def test_each_set_of_frontends_has_the_rights_that_it_uses(
    here: Here, frontends: frozenset[str]
) -> None:
    """The watch of the journal, and Nodes where a fleet is to have its own worked at, included."""
    managed: Mapping[str, object] = {"managed": {}} if "nodes" in frontends else {}
    kubectl = here.kubectl
    with here.run(here.objects(frontends)) as one:
        name = here.furnish(managed)
        until(lambda: _accepted(kubectl, "fleet", name))
        if managed:
            wait(one, lambda: "working at nodes" in one[1].read_text())
        kubectl.run("delete", "fleets.hostler.dev", name, "-n", NAMESPACE, "--timeout=30s")
    serves = "clusterApi" in frontends
    refused = [line for line in _log(one) if "forbidden" in line.lower() or "may not" in line]
    assert [line for line in refused if serves or UNUSED not in line] == []


CORE, OURS = "cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io"
CONTROL = "controlplane.cluster.x-k8s.io"
WRITTEN = (
    ("hostlerclusters", "initialization"),
    ("hostlerexternalcontrolplanes", "conditions"),
    ("hostlermachinetemplates", "capacity"),
    ("hostlermachines", "conditions"),
)
"""What hostler writes into the status of which kind."""


@pytest.fixture
def core_kinds(kubectl: Kubectl) -> Iterator[None]:
    """The kinds of Cluster API's core, without that core."""
    made = [
        _core_kind(plural, kind)
        for plural, kind in (("clusters", "Cluster"), ("machines", "Machine"))
    ]
    kubectl.apply(*made)
    for one in made:
        kubectl.run("wait", "--for=condition=Established", "crd", one["metadata"]["name"])
    yield
    kubectl.delete(*made)


def _has(kubectl: Kubectl, named: Sequence[str], part: str) -> bool:
    return part in kubectl.read(*named).get("status", {})


def _core_kind(plural: str, kind: str) -> Manifest:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    version = {"name": "v1beta2", "served": True, "storage": True}
    version |= {"schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{CORE}"},
        "spec": {"group": CORE, "scope": "Namespaced", "names": names, "versions": [version]},
    }


@pytest.mark.usefixtures("core_kinds")
def test_the_rights_of_the_chart_suffice_for_each_kind_of_cluster_api(here: Here) -> None:
    """Statuses are written, a finalizer is set and taken away, a Secret of bootstrap data read."""
    kubectl, name = here.kubectl, f"c{here.port}"

    def one(group: str, kind: str, owner: Manifest | None = None, **parts: Any) -> Manifest:
        metadata: Manifest = {"name": name, "namespace": NAMESPACE}
        metadata["labels"] = {f"{CORE}/cluster-name": name}
        if owner is not None:
            known = ("apiVersion", "kind")
            reference = {key: owner[key] for key in known} | {"name": name}
            metadata["ownerReferences"] = [reference | {"uid": owner["metadata"]["uid"]}]
        version = "v1beta2" if group == CORE else "v1alpha1"
        made = {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": metadata, **parts}
        return made if group else {**made, "apiVersion": "v1"}

    value = {"value": base64.b64encode(b"#cloud-config").decode()}
    endpoint = {"controlPlaneEndpoint": {"host": "api.example", "port": 6443}}
    provisioned = {"initialization": {"infrastructureProvisioned": True}}
    bootstrap = {"dataSecretName": name}
    with here.run(here.objects(frozenset({"clusterApi"}))) as running:
        fleet = here.furnish({})
        kubectl.apply(
            one("", "Secret", data=value),
            one(CORE, "Cluster", spec=endpoint, status=provisioned),
            one(CORE, "Machine", spec={"clusterName": name, "bootstrap": bootstrap}),
        )
        where = ("-n", NAMESPACE)
        cluster = kubectl.read(f"clusters.{CORE}", name, *where)
        machine = kubectl.read(f"machines.{CORE}", name, *where)
        wants = {"fleetName": fleet}
        template = {"capacity": {"cpu": "2"}, "template": {"spec": wants}}
        ours = (
            one(OURS, "HostlerCluster", cluster, spec={}),
            one(CONTROL, "HostlerExternalControlPlane", cluster, spec={}),
            one(OURS, "HostlerMachineTemplate", spec=template),
            one(OURS, "HostlerMachine", machine, spec=wants),
        )
        kubectl.apply(*ours)
        for plural, part in WRITTEN:
            group = CONTROL if "plane" in plural else OURS
            named = (f"{plural}.{group}", name, *where)
            until(partial(_has, kubectl, named, part))
        kubectl.run("delete", f"hostlermachines.{OURS}", name, *where, "--timeout=30s")
    refused = [line for line in _log(running) if "forbidden" in line.lower() or "may not" in line]
    assert refused == []
    assert any("serving Cluster API" in line for line in _log(running))


@pytest.mark.parametrize("watch", [{"namespaces": ["team"]}, {"all": True}], ids=["two", "all"])
def test_the_rights_of_the_chart_suffice_in_other_namespaces_that_are_watched(
    here: Here, watch: Mapping[str, object]
) -> None:
    """A Secret is read there, a status written, an Event and a finalizer; Leases are at home."""
    kubectl, name = here.kubectl, f"web-{here.port}"
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    made = enabled(here.port, frozenset({"fleets", "clusterApi"})) | {"watch": watch}
    secret: Manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cloud"}}
    secret["data"] = {"KEY": base64.b64encode(KEY).decode()}
    fleet = an_object("Fleet", name, size=0, provider=name, scaleway={"types": ["DEV1-S"]})
    with here.run(here.helm.objects(made)) as one:
        for each in (secret, a_provider(name, here.cloud), fleet):
            kubectl.apply({**each, "metadata": {**each["metadata"], "namespace": "team"}})
        kinds = ("provider", "fleet")
        until(lambda: all(_accepted(kubectl, kind, name, "team") for kind in kinds))
        for kind in reversed(kinds):
            kubectl.run("delete", f"{kind}s.hostler.dev", name, "-n", "team", "--timeout=30s")
    refused = [line for line in _log(one) if "forbidden" in line.lower() or "may not" in line]
    assert [line for line in refused if UNUSED not in line] == []


LACKING = (
    ("", "secrets", "get", "fleets"),
    ("hostler.dev", "hosts", "list", "fleets"),
    ("", "nodes", "list", "nodes"),
)


@pytest.mark.parametrize(
    ("group", "resource", "verb", "frontend"), LACKING, ids=lambda one: one or "core"
)
def test_a_right_that_is_missing_is_named_with_the_role_that_grants_it(
    here: Here, group: str, resource: str, verb: str, frontend: str
) -> None:
    """The engine goes on with what it may do; the message is in its log, whole."""
    found = here.objects(frozenset({"fleets", frontend}))
    lacking = Lacking(group, resource, verb)
    for role in of_kind(found, "Role", "ClusterRole"):
        role["rules"] = [one for rule in role["rules"] for one in lacking.out_of(rule)]
    with here.run(found) as one:
        here.furnish({"managed": {}} if frontend == "nodes" else {})
        wait(one, lambda: lacking.is_in(one[1].read_text()))
        assert one[0].poll() is None


class Lacking(NamedTuple):
    """One verb of one resource that is not granted."""

    group: str
    resource: str
    verb: str

    def out_of(self, rule: Manifest) -> tuple[Manifest, ...]:
        """Return a rule without it."""
        if self.group not in rule["apiGroups"] or self.resource not in rule["resources"]:
            return (rule,)
        others = [one for one in rule["resources"] if one != self.resource]
        verbs = [one for one in rule["verbs"] if one != self.verb]
        own = {**rule, "resources": [self.resource], "verbs": verbs}
        made = ({**rule, "resources": others}, own)
        return tuple(one for one in made if one["resources"] and one["verbs"])

    def is_in(self, log: str) -> bool:
        """Tell whether a log of JSON has the rule that would grant it."""
        rule = (
            f'- apiGroups: ["{self.group}"]\n  resources: ["{self.resource}"]\n'
            f'  verbs: ["{self.verb}"]'
        )
        return msgspec.json.encode(rule).decode()[1:-1] in log


def _log(running: Running) -> list[str]:
    return running[1].read_text().splitlines()
