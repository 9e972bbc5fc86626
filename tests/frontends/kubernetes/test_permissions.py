"""Whoever may write objects does not do with the engine's rights what he may not do himself."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import pytest
from msgspec import Meta, Struct

from hostler.app.provider_registry import KINDS
from hostler.config.cluster_tables import AllowTable
from hostler.config.decode import decode_table
from hostler.config.errors import Faults
from hostler.config.frontends import allowed
from hostler.config.node_tables import HostNodeTable, NodeTable
from hostler.config.structure import extra, fields_of, struct_of
from hostler.frontends.kubernetes.definitions.sections import hosts as host_tables
from hostler.frontends.kubernetes.fleets.hosts import host_condition
from hostler.frontends.kubernetes.fleets.status import Condition
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.objects.assembly import FLEET, PROVIDER, Place, Reason, Verdict
from hostler.frontends.kubernetes.objects.candidates import Candidates, Objects
from hostler.frontends.kubernetes.objects.models import StoredSecret, Written
from hostler.frontends.kubernetes.objects.permissions import forbidden
from hostler.frontends.kubernetes.objects.secrets import SecretPlaces, read_secret_data
from hostler.kubernetes.objects import Key, Metadata
from hostler.kubernetes.resources import Resource
from hostler.ports.kind import PERMISSION
from hostler.providers.power.settings import BoxTable

OURS = "hostler:1"
MAC = {"mac": "52:54:00:12:34:56"}
HOME = Namespaces(home="")
OF_NAMESPACES = {"fleets", "nodes"}  # no field's: what other namespaces may do


REACHED: Mapping[str, object] = {"reachability": {"address": "192.0.2.1", "offAfter": "2m"}}
"""What tells how a box stands: without it no Host is in force."""


def judged(
    folder: Path,
    power: Mapping[str, object],
    allow: AllowTable,
    before: Mapping[str, object] | None = None,
) -> Verdict:
    """Return what becomes of a Host with this section, whose provider is right."""
    rack = Written(metadata=Metadata(name="rack"), spec={"kind": "power", "power": {}})
    whole = {**REACHED, **power}
    host = Written(metadata=Metadata(name="tower"), spec={"provider": "rack", "power": whole})
    making = Candidates(
        namespaces=HOME, kinds=KINDS, base={}, places=SecretPlaces(folder, {}, b"salt"), allow=allow
    )
    objects = Objects(providers=(rack,), fleets=(), hosts=(host,))
    earlier = {Place(PROVIDER, "rack"): {"boxes": [before]}} if before is not None else {}
    return making.of(objects, earlier)[Place(PROVIDER, "rack")].hosts["tower"]


def a_job(**container: object) -> Mapping[str, object]:
    return {"job": {"node": "tower", "on": {"image": OURS, **container}}}


ALLOWED = AllowTable(images=(OURS,))


@pytest.mark.parametrize(
    "container",
    [
        {},
        {"command": ["sh"], "args": ["-c", "true"], "environment": {"A": "b"}},
        {"hostNetwork": False, "serviceAccount": ""},
        {"securityContext": {"runAsUser": 1000, "runAsNonRoot": True, "privileged": False}},
        {"securityContext": {"readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}},
        {"securityContext": {"capabilities": {"drop": ["NET_RAW", "ALL"]}}},
    ],
)
def test_a_job_of_an_allowed_image_with_no_rights_is_in_force(
    tmp_path: Path, container: Mapping[str, object]
) -> None:
    assert judged(tmp_path, a_job(**container), ALLOWED).accepted


MORE_RIGHTS: tuple[Mapping[str, object], ...] = (
    {"privileged": True},
    {"allowPrivilegeEscalation": True},
    {"capabilities": {"add": ["SYS_ADMIN"]}},
    {"capabilities": {"add": ["SYS_ADMIN"], "drop": ["ALL"]}},
    {"capabilities": {"drop": ["CHOWN"]}},
    {"capabilities": {"drop": "ALL"}},
    {"capabilities": {"drop": []}},
    {"capabilities": {}},
    {"capabilities": None},
    {"allowPrivilegeEscalation": None},
    {"runAsNonRoot": False},
    {"runAsUser": True},
    {"runAsGroup": 0},
    {"seccompProfile": None},
    {"seLinuxOptions": {"type": "spc_t"}},
    {"appArmorProfile": {"type": "Unconfined"}},
    {"windowsOptions": {"hostProcess": True}},
    {"anything": False},
    {"runAsUser": 0},
    {"seccompProfile": {"type": "Unconfined"}},
    {"procMount": "Unmasked"},
)
ASKED: tuple[tuple[str, Mapping[str, object], AllowTable], ...] = (
    ("images", a_job(image="evil:1"), AllowTable(images=(OURS, "evil:1"))),
    (
        "service_accounts",
        a_job(serviceAccount="admin"),
        AllowTable(images=(OURS,), service_accounts=("admin",)),
    ),
    (
        "secrets",
        a_job(secrets={"TOKEN": "admin/token"}),
        AllowTable(images=(OURS,), secrets=("admin",)),
    ),
    (
        "secrets",
        a_job(secretFiles={"/keys": "admin"}),
        AllowTable(images=(OURS,), secrets=("admin",)),
    ),
    ("host_network", a_job(hostNetwork=True), AllowTable(images=(OURS,), host_network=True)),
    *(
        ("privileged", a_job(securityContext=context), AllowTable(images=(OURS,), privileged=True))
        for context in MORE_RIGHTS
    ),
    (
        "namespaces",
        {"job": {"node": "tower", "namespace": "kube-system", "on": {"image": OURS}}},
        AllowTable(images=(OURS,), namespaces=("kube-system",)),
    ),
    (
        "webhooks",
        {"webhook": {"url": "http://10.0.0.7", "on": "POST /on"}},
        AllowTable(webhooks=("http://10.0.0.7",)),
    ),
)


@pytest.mark.parametrize(("name", "power", "allow"), ASKED, ids=lambda one: str(one)[:60])
def test_what_lends_the_engines_rights_is_refused_until_the_installation_allows_it(
    tmp_path: Path, name: str, power: Mapping[str, object], allow: AllowTable
) -> None:
    """The refusal is a condition of the Host, with the place in it, and with the cure."""
    verdict = judged(tmp_path, power, ALLOWED)
    provider = Condition(type="Accepted", holds=True, reason="Accepted")
    condition = host_condition(verdict, provider)
    assert (condition.status, condition.reason) == ("False", "NotAllowed")
    assert condition.message.startswith("spec.power.")
    assert f"`{name}` of [frontend.kubernetes.allow]" in condition.message
    assert judged(tmp_path, power, allow).accepted


@pytest.mark.parametrize("key", ["service_account", "serviceAccount"])
def test_the_notation_of_the_file_is_no_way_around(tmp_path: Path, key: str) -> None:
    assert not judged(tmp_path, a_job(**{key: "admin"}), ALLOWED).accepted


@pytest.mark.parametrize(
    "power",
    [
        {"command": {"on": ["/bin/true"], "off": ["/bin/true"], "query": ["/bin/true"]}},
        {"job": {"node": "tower", "kubeconfig": "/root/.kube/config", "on": {"image": OURS}}},
        {"job": {"node": "tower", "context": "admin", "on": {"image": OURS}}},
    ],
)
def test_programs_and_files_of_the_engines_computer_are_for_its_file_alone(
    tmp_path: Path, power: Mapping[str, object]
) -> None:
    """Also where a definition of another version lets the key through."""
    verdict = judged(tmp_path, power, AllowTable(images=(OURS,)))
    assert verdict.reason is Reason.NOT_ALLOWED
    assert "it stands in the fleet file alone" in verdict.message


def test_a_host_that_asks_for_too_much_stays_as_it_was(tmp_path: Path) -> None:
    before = {"name": "tower", "wake-on-lan": MAC}
    verdict = judged(tmp_path, a_job(image="evil:1"), ALLOWED, before)
    assert verdict.older
    assert "what was in force before stays in force" in host_condition(verdict, None).message


@pytest.mark.parametrize(
    ("pattern", "image", "fits"),
    [
        ("registry.example/power/*", "registry.example/power/wol:1", True),
        ("registry.example/power/*", "registry.example/powerful:1", False),
        ("hostler:*", "hostler:2", True),
        ("hostler:*", "hostler.evil.example/a:1", False),
        ("hostler:1", "hostler:11", False),
    ],
)
def test_images_are_allowed_whole_or_below_a_name(
    tmp_path: Path, pattern: str, image: str, *, fits: bool
) -> None:
    allow = AllowTable(images=(pattern,))
    assert judged(tmp_path, a_job(image=image), allow).accepted is fits


@pytest.mark.parametrize(
    ("url", "fits"),
    [
        ("http://plugs", True),
        ("http://plugs/", True),
        ("http://plugs/a", True),
        ("http://plugs.evil.example", False),
        ("http://plugs:8080", False),
        ("http://plugs@evil.example/", False),
        ("https://plugs", False),
    ],
)
def test_webhooks_are_allowed_at_a_device(tmp_path: Path, url: str, *, fits: bool) -> None:
    power = {"webhook": {"url": url, "on": "POST /on"}}
    allow = AllowTable(webhooks=("http://plugs",))
    expected = "NotAllowed" if not fits else "Accepted"
    assert judged(tmp_path, power, allow).reason == expected


class Strange(Struct):
    """The table of a package that asks for a permission of its own."""

    word: Annotated[str, Meta(extra={PERMISSION: "everything"})] = ""


def test_a_permission_that_nobody_knows_cannot_be_given() -> None:
    (fault,) = forbidden({"word": "a"}, (Strange,), AllowTable())
    assert "cannot be allowed" in fault.expected


def test_labels_that_say_what_a_node_is_are_the_installations(tmp_path: Path) -> None:
    """Of a Host and of a Fleet; any other label may be written by who writes the object."""
    for key in ("node-role.kubernetes.io/worker", "kubernetes.io/hostname", "hostler.dev/fleet"):
        for allow in (AllowTable(), AllowTable(labels=(key,))):
            making = Candidates(
                namespaces=HOME,
                kinds=KINDS,
                base={},
                places=SecretPlaces(tmp_path, {}, b"salt"),
                allow=allow,
            )
            candidates = making.of(labelled(key), {})
            found = candidates[Place(PROVIDER, "rack")].hosts["tower"]
            assert found.accepted is bool(allow.labels)
            assert bool(candidates[Place(FLEET, "nodes")].forbidden) is not bool(allow.labels)


def labelled(key: str) -> Objects:
    """Return a provider with a Host and a Fleet whose Nodes are to have this label."""
    labels = {key: "a", "example.com/rack": "b"}
    return Objects(
        providers=(Written(metadata=Metadata(name="rack"), spec={"kind": "power"}),),
        hosts=(
            Written(
                metadata=Metadata(name="tower"),
                spec={
                    "provider": "rack",
                    "power": {**REACHED, "wakeOnLan": MAC},
                    "labels": labels,
                },
            ),
        ),
        fleets=(
            Written(
                metadata=Metadata(name="nodes"),
                spec={"provider": "rack", "size": 0, "node": {"labels": labels}},
            ),
        ),
    )


def permissions(struct: type[object]) -> set[str]:
    """Return the permissions that a table and all tables inside of it ask for."""
    found = set[str]()
    for one in fields_of(struct):
        found.add(extra(one.type, PERMISSION))
        for member in (one.type, *getattr(one.type, "__args__", ())):
            for inner in (member, *getattr(member, "__args__", ())):
                table = struct_of(inner)
                found |= permissions(table) if table is not None else set()
    return found - {""}


def test_every_permission_is_a_key_of_the_file_and_the_other_way_round() -> None:
    hosts = set[str]().union(*(permissions(table) for table in host_tables(KINDS).values()))
    assert permissions(BoxTable) == hosts
    assert permissions(HostNodeTable) == permissions(NodeTable) == {"labels"}
    assert hosts | {"labels"} | OF_NAMESPACES == {
        field.encode_name for field in fields_of(AllowTable)
    }


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("images", "*"),
        ("images", "hostler*"),
        ("images", ""),
        ("webhooks", "plugs"),
        ("webhooks", "http://"),
        ("webhooks", "http://plugs/a"),
    ],
)
def test_the_file_refuses_what_would_allow_more_than_it_looks(key: str, value: str) -> None:
    faults = Faults()
    decode_table({key: [value]}, (AllowTable,), "", faults)
    assert faults.found


def test_the_file_says_what_is_allowed_and_nothing_is_by_itself() -> None:
    table = {"frontend": {"kubernetes": {"allow": {"images": [OURS], "host_network": True}}}}
    assert allowed(table) == AllowTable(images=(OURS,), host_network=True)
    assert allowed({}) == AllowTable()


class OneSecret:
    """Implements `ReadsSecrets`."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    async def get(self, resource: Resource[StoredSecret], key: Key) -> StoredSecret:
        del resource
        return StoredSecret(metadata=Metadata(name=key.name), type=self._kind, data={"a": "Yg=="})


@pytest.mark.parametrize(
    ("kind", "is_read"),
    [
        ("", True),
        ("Opaque", True),
        ("kubernetes.io/basic-auth", True),
        ("kubernetes.io/ssh-auth", True),
        ("kubernetes.io/service-account-token", False),
        ("bootstrap.kubernetes.io/token", False),
        ("kubernetes.io/dockerconfigjson", False),
        ("helm.sh/release.v1", False),
    ],
)
async def test_secrets_of_the_cluster_itself_are_lent_to_nobody(
    kind: str, *, is_read: bool
) -> None:
    found = await read_secret_data(OneSecret(kind), Key("ns", "one"))
    assert (found.values == {"a": b"b"}) is is_read
    assert bool(found.problem) is not is_read
