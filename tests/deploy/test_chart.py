"""The chart as Helm renders it: golden files, rights, refusals, and the fleet file of values.

After an intended change `make chart` writes the golden files anew.
"""

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from rendering import CHART, DEPLOY, VALUES, Helm, Manifest, Refused, of_kind, one_of

from hostler.ports.metrics import Count, Gauge

pytestmark = pytest.mark.timeout(900)  # the first test may have to build Helm

GOLDEN = Path(__file__).parent / "golden"
ON: Mapping[str, bool] = {"enabled": True}
OFF: Mapping[str, bool] = {"enabled": False}
NOTHING = {
    "frontends": dict.fromkeys(("fleets", "metrics"), OFF),
    "store": {"kind": "sqlite"},
    "install": OFF,
}
"""Values with which hostler speaks to no API server, and serves nothing."""


@pytest.mark.parametrize("name", VALUES)
def test_what_the_chart_renders_is_what_was_read_last(helm: Helm, name: str) -> None:
    """Compared as objects: comments and the order of keys are free."""
    expected = yaml.safe_load_all((GOLDEN / f"{name}.yaml").read_text())
    assert list(helm.objects(name)) == list(expected)


@pytest.mark.parametrize("name", VALUES)
def test_helm_finds_nothing_wrong_with_the_chart(helm: Helm, name: str) -> None:
    values = str(DEPLOY / "values" / f"{name}.yaml")
    assert "0 chart(s) failed" in helm.run("lint", str(CHART), "--strict", "--values", values)


# ---------------------------------------------------------------- the fleet file


@pytest.mark.parametrize("name", VALUES)
def test_the_fleet_file_is_one_that_hostler_takes(helm: Helm, name: str, tmp_path: Path) -> None:
    """Nothing is wrong with it but that this computer has not the Secrets that it names."""
    checked = _checked(_fleet_file(helm.objects(name)), tmp_path)
    wrong = {str(one["text"]) for one in checked["checks"] if not one["ok"]}
    assert {text for text in wrong if not text.startswith("/etc/hostler/secrets/")} == set()


def _fleet_file(found: Sequence[Manifest]) -> str:
    return str(one_of(found, "ConfigMap")["data"]["fleet.toml"])


def _checked(text: str, folder: Path) -> dict[str, Any]:
    """Check a fleet file with hostler, its store in memory, and one account and fleet at least."""
    _, _, rest = text.partition("\n")
    if "[provider." not in rest:
        rest += "\n[provider.scaleway]\n"
    if "[fleet." not in rest:
        rest += '\n[fleet.web]\nsize = 0\ntypes = ["DEV1-S"]\n'
    (folder / "fleet.toml").write_text(f'store = "memory:"\n{rest}')
    command = [Path(sys.executable).with_name("hostler"), "check", "--json", "fleet.toml"]
    environment = {"SCW_SECRET_KEY": "22222222-2222-2222-2222-222222222222", "PATH": "/usr/bin"}
    done = subprocess.run(  # noqa: S603 - our own program
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode in {0, 1}, done.stdout
    return msgspec.json.decode(done.stdout)


def test_values_become_toml_as_they_are(helm: Helm) -> None:
    """Whole numbers stay whole, and texts keep their lines, quotes and signs."""
    table: dict[str, Any] = {
        "text": 'a "b"\n<c> \\ é',
        "whole": 3,
        "part": 2.5,
        "on": False,
        "list": [1, "a b"],
    }
    table["deep"] = {"a key": {"x": []}}
    read = msgspec.toml.decode(_fleet_file(helm.objects({"config": {"engine": table}})))
    assert msgspec.json.encode(read["engine"], order="sorted") == msgspec.json.encode(
        table, order="sorted"
    )


@pytest.mark.parametrize("active", [True, False])
def test_strays_are_taken_back_where_values_or_the_fleet_say_so(
    helm: Helm, *, active: bool
) -> None:
    fleets = {"one": {"size": 1}, "other": {"size": 1, "reclaim": not active}}
    values = {"config": {"fleet": fleets}, "orphanReclaim": {"activeReclaim": active}}
    file = msgspec.toml.decode(_fleet_file(helm.objects(values)))
    assert file["reclaim"] is active
    found = {name: fleet.get("reclaim") for name, fleet in file["fleet"].items()}
    assert found == {"one": None, "other": not active}


def test_strays_are_only_reported_unless_asked() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert values["orphanReclaim"] == {"activeReclaim": False}


@pytest.mark.parametrize(
    ("frontends", "policy", "is_there"),
    [(ON, ON, True), (ON, OFF, False), (OFF, ON, False)],
)
def test_templates_are_guarded_where_cluster_api_is_served(
    helm: Helm, frontends: Mapping[str, bool], policy: Mapping[str, bool], *, is_there: bool
) -> None:
    """The binding names its policy: without one nothing is refused."""
    found = helm.objects({"frontends": {"clusterApi": frontends}, "templatePolicy": policy})
    names = [one["metadata"]["name"] for one in of_kind(found, "ValidatingAdmissionPolicy")]
    bound = [
        one["spec"]["policyName"] for one in of_kind(found, "ValidatingAdmissionPolicyBinding")
    ]
    assert names == bound
    assert bool(names) is is_there


# ---------------------------------------------------------------- namespaces

FRONTENDS = dict.fromkeys(("fleets", "clusterApi", "jobs"), ON)


def _granted(found: Sequence[Manifest], group: str, resource: str) -> set[str]:
    """Return the namespaces in which a right is granted, `*` for the whole cluster."""
    roles = of_kind(found, "Role", "ClusterRole")
    return {
        one["metadata"].get("namespace", "*")
        for one in roles
        for rule in one["rules"]
        if group in rule["apiGroups"] and resource in rule["resources"]
    }


def _arguments(found: Sequence[Manifest]) -> list[str]:
    (container,) = one_of(found, "Deployment")["spec"]["template"]["spec"]["containers"]
    return [one for one in container["args"] if "namespace" in one]


@pytest.mark.parametrize(
    ("watch", "named", "read", "jobs"),
    [
        ({}, ["--namespace=keepers"], {"keepers"}, {"keepers"}),
        ({"namespace": "a"}, ["--namespace=a"], {"a"}, {"keepers"}),
        (
            {"namespaces": ["a", "keepers", "b"]},
            ["--namespace=keepers", "--namespace=a", "--namespace=b"],
            {"keepers", "a", "b"},
            {"keepers", "a", "b"},
        ),
        (
            {"namespace": "a", "all": True},
            ["--namespace=a", "--all-namespaces"],
            {"*"},
            {"keepers"},
        ),
    ],
    ids=["one", "another", "several", "all"],
)
def test_rights_are_granted_where_objects_are_watched_and_leases_at_home(
    helm: Helm,
    watch: Mapping[str, object],
    named: list[str],
    read: set[str],
    jobs: set[str],
) -> None:
    """Jobs are granted nowhere in the whole cluster: whoever makes them is anybody there."""
    found = helm.objects({"watch": watch, "frontends": FRONTENDS})
    assert _arguments(found) == named
    for resource in (
        ("hostler.dev", "fleets"),
        ("hostler.dev", "hosts/status"),
        ("infrastructure.cluster.x-k8s.io", "hostlermachines"),
        ("", "secrets"),
        ("events.k8s.io", "events"),
    ):
        assert _granted(found, *resource) == read
    home = str(watch.get("namespace", "keepers"))
    assert _granted(found, "coordination.k8s.io", "leases") == {home}
    assert _granted(found, "batch", "jobs") == jobs
    assert _granted(found, "hostler.dev", "journals") == {"keepers"}
    bound = of_kind(found, "RoleBinding", "ClusterRoleBinding")
    assert {
        (one["kind"], one["metadata"]["name"], one["metadata"].get("namespace")) for one in bound
    } == {
        (f"{one['kind']}Binding", one["metadata"]["name"], one["metadata"].get("namespace"))
        for one in of_kind(found, "Role", "ClusterRole")
    }


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"replica": 2}, "replica"),
        ({"frontends": {"fleet": ON}}, "fleet"),
        ({"replicas": 2, "store": {"kind": "sqlite"}}, "a SQLite file has one writer"),
        ({"frontends": {"externalgrpc": ON}}, "externalgrpc.tlsSecret"),
        (
            {"replicas": 2, "frontends": {"externalgrpc": {**ON, "tlsSecret": "a"}}},
            "set replicas to 1",
        ),
        ({"existingConfig": "a", "config": {"engine": {}}}, "exclude each other"),
        ({"watch": {"all": True, "namespaces": ["a"]}}, "watch.all and watch.namespaces exclude"),
        ({"watch": {"namespaces": ["a_b"]}}, "watch"),
        ({"watch": {"namespaces": "a"}}, "watch"),
        ({"config": {"metrics": {"listen": "a"}}}, "the chart writes it"),
        ({"config": {"engine": {"quiet": [None]}}}, "a key without a value"),
        ({"secretEnv": [{"env": "A", "value": "hidden"}]}, "secretEnv"),
    ],
)
def test_values_that_cannot_be_are_refused_with_their_place(
    helm: Helm, values: dict[str, Any], reason: str
) -> None:
    with pytest.raises(Refused, match=reason):
        helm.objects(values)


def test_every_value_is_in_the_schema() -> None:
    """An unknown key is refused: so a value without its place in the schema could not be set."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = msgspec.json.decode((CHART / "values.schema.json").read_bytes())
    assert _unknown(values, schema) == []


def _unknown(values: Manifest, schema: Manifest, path: str = "") -> list[str]:
    found = list[str]()
    for key, value in values.items():
        known = schema["properties"].get(key)
        if known is None:
            found.append(f"{path}{key}")
        elif "properties" in known:
            found += _unknown(value, known, f"{path}{key}.")
    return found


# ---------------------------------------------------------------- rights


def test_who_enables_nothing_of_kubernetes_grants_nothing(helm: Helm) -> None:
    found = helm.objects(NOTHING)
    assert of_kind(found, "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding") == ()
    assert one_of(found, "Deployment")["spec"]["template"]["spec"][
        "automountServiceAccountToken"
    ] is (False)


@pytest.mark.parametrize(
    ("frontend", "granted"),
    [
        ("fleets", {"fleets", "fleets/status", "hosts", "providers"}),
        (
            "clusterApi",
            {"hostlermachines", "hostlerclusters", "hostlermachinetemplates", "machines"},
        ),
        ("nodes", {"nodes", "pods", "pods/eviction"}),
        ("jobs", {"jobs", "pods"}),
    ],
)
def test_a_frontend_brings_its_own_rights_and_no_other_s(
    helm: Helm, frontend: str, granted: set[str]
) -> None:
    """What is granted beside them is what each needs that speaks to the API server."""
    kinds = {"fleets", "hosts", "providers"}
    shared = {
        "secrets",
        "events",
        "leases",
        "namespaces",
        *kinds,
        *(f"{kind}/status" for kind in kinds),
    }
    values = {**NOTHING, "frontends": {"fleets": OFF, "metrics": OFF, frontend: ON}}
    resources = {
        resource for rule in _rules(helm.objects(values)) for resource in rule["resources"]
    }
    assert granted <= resources
    others = {"hostlermachines", "nodes", "jobs"} - granted
    assert not resources & others
    assert resources - granted <= shared | {
        *(f"{name}/{part}" for name in granted for part in ("status", "finalizers")),
        "clusters",
        *("hostlerexternalcontrolplanes", "hostlerexternalcontrolplanes/status"),
    }


def _rules(found: Sequence[Manifest]) -> Sequence[dict[str, Any]]:
    return tuple(rule for role in of_kind(found, "Role", "ClusterRole") for rule in role["rules"])


@pytest.mark.parametrize("name", VALUES)
def test_nobody_may_do_everything(helm: Helm, name: str) -> None:
    for rule in _rules(helm.objects(name)):
        assert "*" not in rule["verbs"]
        assert "*" not in rule["apiGroups"]
        if "secrets" in rule["resources"]:
            assert rule["verbs"] == ["get"]


WATCHED = frozenset({"list", "watch"})
PATCHED = frozenset({"patch"})
USED: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("fleets", "hosts", "providers"), WATCHED | PATCHED),
    **dict.fromkeys(("fleets/status", "hosts/status", "providers/status"), PATCHED),
    "hostlermachines": WATCHED | PATCHED | {"get"},
    **dict.fromkeys(("hostlerclusters", "hostlermachinetemplates"), WATCHED),
    **dict.fromkeys(("clusters", "machines", "hostlerexternalcontrolplanes"), WATCHED),
    **dict.fromkeys(("hostlermachines/status", "hostlerexternalcontrolplanes/status"), PATCHED),
    **dict.fromkeys(("hostlerclusters/status", "hostlermachinetemplates/status"), PATCHED),
    "secrets": frozenset({"get"}),
    "events": frozenset({"get", "create", "patch"}),
    "leases": frozenset({"get", "create", "update"}),
    "journals": WATCHED | {"get", "create", "update"},
    "journalparts": frozenset({"get", "list", "create", "delete"}),
    "jobs": frozenset({"get", "list", "create", "delete"}),
    "pods": frozenset({"list"}),
    "pods/eviction": frozenset({"create"}),
    "nodes": frozenset({"get", "list", "patch", "delete"}),
    "namespaces": frozenset({"get"}),
    "customresourcedefinitions": frozenset({"get", "create", "patch"}),
}
"""What the code asks for; that this suffices is tried against an API server, in controlplane."""


def test_no_verb_is_granted_that_nothing_uses(helm: Helm) -> None:
    names = ("fleets", "clusterApi", "nodes", "jobs")
    found = dict[str, set[str]]()
    for rule in _rules(helm.objects({"frontends": dict.fromkeys(names, ON)})):
        for resource in rule["resources"]:
            found.setdefault(resource, set()).update(rule["verbs"])
    assert found == USED


def test_nodes_are_removed_only_where_values_say_so(helm: Helm) -> None:
    def verbs(*, remove: bool) -> set[str]:
        nodes = {**ON, "remove": remove}
        rules = _rules(helm.objects({"frontends": {"nodes": nodes}}))
        return {verb for rule in rules if "nodes" in rule["resources"] for verb in rule["verbs"]}

    assert verbs(remove=True) - verbs(remove=False) == {"delete"}


# ---------------------------------------------------------------- pods


@pytest.mark.parametrize("name", VALUES)
def test_every_pod_keeps_to_the_restricted_profile(helm: Helm, name: str) -> None:
    for workload in of_kind(helm.objects(name), "Deployment", "Job"):
        spec = workload["spec"]["template"]["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


@pytest.mark.parametrize("name", VALUES)
def test_secrets_are_named_and_never_written(helm: Helm, name: str) -> None:
    found = helm.objects(name)
    assert of_kind(found, "Secret") == ()
    (container,) = one_of(found, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert all("value" not in variable for variable in container["env"])


def test_a_changed_fleet_file_starts_the_pods_anew(helm: Helm) -> None:
    def annotations(size: int) -> dict[str, str]:
        found = helm.objects({"config": {"fleet": {"web": {"size": size}}}})
        return dict(one_of(found, "Deployment")["spec"]["template"]["metadata"]["annotations"])

    assert annotations(1) == annotations(1)
    assert annotations(1) != annotations(2)


def test_no_pod_stands_on_what_it_may_switch_off(helm: Helm) -> None:
    affinity = {"avoidNodesWithLabels": ["a.example/b"], "avoidControlPlane": True}
    for workload in of_kind(helm.objects({"affinity": affinity}), "Deployment", "Job"):
        placed = workload["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
        (term,) = placed["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        assert {one["key"]: one["operator"] for one in term["matchExpressions"]} == {
            "a.example/b": "DoesNotExist",
            "node-role.kubernetes.io/control-plane": "DoesNotExist",
        }


def test_the_definitions_are_applied_before_each_installation_and_upgrade(helm: Helm) -> None:
    job = one_of(helm.objects({}), "Job")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["kubernetes", "install"]
    assert not list((CHART / "crds").glob("*")), "Helm never upgrades what is in crds/"


def test_one_writer_at_a_time_on_a_volume(helm: Helm) -> None:
    deployment = one_of(helm.objects(NOTHING), "Deployment")
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}


# ---------------------------------------------------------------- alerts


def test_alerts_ask_for_metrics_that_there_are(helm: Helm) -> None:
    rule = one_of(helm.objects("clusterctl"), "PrometheusRule")
    names = {metric.value.name for metric in (*Count, *Gauge)}
    words = "hostler_", "scaleway_"
    asked = {
        piece
        for alert in rule["spec"]["groups"][0]["rules"]
        for piece in "".join(c if c.isalnum() or c == "_" else " " for c in alert["expr"]).split()
        if piece.startswith(words)
    }
    assert {"hostler_orphans", "scaleway_orphan_servers", "hostler_no_available_host"} <= asked
    assert asked <= names


def test_the_first_event_of_its_sort_is_an_alert_too(helm: Helm) -> None:
    """A series with labels is not there before it counts one: `increase` sees nothing of that."""
    rule = one_of(helm.objects("clusterctl"), "PrometheusRule")
    expressions = [alert["expr"] for alert in rule["spec"]["groups"][0]["rules"]]
    grown = [text for text in expressions if "increase(" in text]
    assert grown
    for text in grown:
        (metric,) = set(re.findall(r"hostler_\w+_total", text))
        assert f"increase({metric}[15m]) > 0 or {metric} unless" in text


def test_what_is_monitored_needs_metrics(helm: Helm) -> None:
    values = {"serviceMonitor": ON, "prometheusRule": ON, "frontends": {"metrics": OFF}}
    assert of_kind(helm.objects(values), "ServiceMonitor", "PrometheusRule") == ()


def test_the_guide_names_every_value() -> None:
    guide = (DEPLOY.parent / "docs" / "guides" / "kubernetes-install.md").read_text()
    table = guide.partition("## Values")[2]
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert [name for name in values if f"`{name}`" not in table] == []
