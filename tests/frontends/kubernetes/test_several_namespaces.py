"""Objects of several namespaces: what is of one name is apart, and nobody gets at another's."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostler.app.provider_registry import KINDS
from hostler.app.store_registry import STORES
from hostler.config.cluster_tables import AllowTable
from hostler.config.decode import Raw, table
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.frontends.kubernetes.objects.assembly import (
    FLEET,
    PROVIDER,
    Assembler,
    Assembly,
    Place,
    Reason,
)
from hostler.frontends.kubernetes.objects.candidates import Candidates, Objects, secret_keys
from hostler.frontends.kubernetes.objects.host_entries import table_list
from hostler.frontends.kubernetes.objects.models import Written
from hostler.frontends.kubernetes.objects.secrets import SecretData, SecretPlaces
from hostler.kubernetes.objects import Key, Metadata
from hostler.kubernetes.requests import EVERYTHING

NAMESPACES = Namespaces(home="home", others=("team", "other"))
PROJECT = "22222222-2222-2222-2222-222222222222"
CLOUD = {"kind": "scaleway", "secretName": "cloud", "scaleway": {"project": PROJECT}}
WEB = {"size": 1, "provider": "cloud", "scaleway": {"types": ["DEV1-S"]}}
RACK = {"kind": "power", "power": {"leastOn": "1m"}}
KEY = "SCW_SECRET_KEY"


def an_object(namespace: str, name: str, spec: Mapping[str, object]) -> Written:
    return Written(metadata=Metadata(name=name, namespace=namespace), spec=spec)


class Site:
    """Objects in namespaces, and what is in force of them."""

    def __init__(self, folder: Path, base: Raw | None = None) -> None:
        self.folder, self.base, self.allow = folder, base or {}, AllowTable()
        self.variables = dict[str, str]()
        self.objects: dict[str, list[Written]] = {"providers": [], "fleets": [], "hosts": []}
        self.secrets = dict[Key, Mapping[str, bytes]]()

    def write(self, kind: str, namespace: str, name: str, spec: Mapping[str, object]) -> "Site":
        self.objects[kind].append(an_object(namespace, name, spec))
        return self

    def secret(self, namespace: str, **values: bytes) -> "Site":
        """Make a Secret `cloud`."""
        self.secrets[Key(namespace, "cloud")] = values
        return self

    def read(self) -> Objects:
        """Return all objects with the Secrets that they name, as those of each namespace."""
        providers, fleets, hosts = (tuple(found) for found in self.objects.values())
        secrets = dict[str, SecretData]()
        for key in secret_keys((*providers, *fleets, *hosts)):
            place, values = NAMESPACES.name(key.namespace, key.name), self.secrets.get(key)
            problem = "" if values is not None else f"there is no Secret in {key.namespace}"
            secrets[place] = SecretData(
                name=key.name, place=place, values=values or {}, problem=problem
            )
        return Objects(providers=providers, fleets=fleets, hosts=hosts, secrets=secrets)

    def judged(self) -> Assembly:
        places = SecretPlaces(self.folder / "secrets", self.variables, b"salt")
        making = Candidates(
            namespaces=NAMESPACES, kinds=KINDS, base=self.base, places=places, allow=self.allow
        )
        assembler = Assembler(
            namespaces=NAMESPACES,
            path=self.folder / "home.toml",
            base=self.base,
            kinds=KINDS,
            stores=STORES,
        )
        return assembler.assemble(making.of(self.read(), {}), {})


def both(folder: Path) -> Site:
    """Return an account and a fleet of one name in each of two namespaces."""
    site = Site(folder)
    for namespace in ("home", "team"):
        site.secret(namespace, **{KEY: namespace.encode(), "init": namespace.encode()})
        site.write("providers", namespace, "cloud", CLOUD).write("fleets", namespace, "web", WEB)
    return site


def fleets(assembly: Assembly) -> dict[str, str]:
    """Return the fleets in force with their accounts."""
    return {str(fleet.name): str(fleet.account) for fleet in assembly.config.fleets}


# ---------------------------------------------------------------- names

LABEL = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
NAME = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,8}[a-z0-9])?", fullmatch=True)


@given(st.lists(st.tuples(LABEL | st.just("home"), NAME), unique=True))
def test_no_two_objects_have_one_name_and_those_of_home_keep_theirs(
    objects: list[tuple[str, str]],
) -> None:
    names = [NAMESPACES.name(namespace, name) for namespace, name in objects]
    assert len(set(names)) == len(objects)
    for (namespace, name), found in zip(objects, names, strict=True):
        assert NAMESPACES.namespace_of(found) == namespace
        assert (found == name) is (namespace == "home")


def test_the_first_namespace_is_the_home_and_each_is_read_once() -> None:
    named = Namespaces.of(("b", "a", "b"), "usual")
    assert (named.home, named.others) == ("b", ("a",))
    assert [one.namespace for one in named.selections] == ["b", "a"]
    every = Namespaces.of((), "usual", every=True)
    assert (every.home, every.selections) == ("usual", (EVERYTHING,))
    assert every.has("anything")
    assert not named.has("c")


@pytest.mark.parametrize(
    ("before", "fleets", "named", "expected"),
    [
        ("", (), ("a",), ""),
        ("a", ("web",), ("a", "b"), ""),
        ("a", ("web", "b_web"), ("a",), ""),
        ("a", ("web",), ("b",), ""),
        ("a", ("web",), ("b", "a"), "the home namespace of these records is a: name it first"),
        ("a", ("b_web",), ("b",), "fleet b_web is on record as one of a namespace beside the home"),
        ("", ("b_web",), ("b",), "name the home of before first, and b after it"),
        ("a", ("bb_web",), ("b",), ""),
    ],
)
def test_the_home_must_not_change_where_fleets_would_get_other_names(
    before: str, fleets: tuple[str, ...], named: tuple[str, ...], expected: str
) -> None:
    why = Namespaces.of(named, "usual").moved(before, fleets)
    assert expected in why
    assert bool(why) is bool(expected)


def test_fleets_of_one_name_in_two_namespaces_are_two_fleets(tmp_path: Path) -> None:
    assembly = both(tmp_path).judged()
    assert fleets(assembly) == {"web": "cloud", "team_web": "team_cloud"}
    assert {str(one.name) for one in assembly.config.accounts} == {"cloud", "team_cloud"}


def test_a_name_that_is_too_long_with_its_namespace_is_refused(tmp_path: Path) -> None:
    long, longer = "a" * 40, "n" * 30
    site = Site(tmp_path).secret(longer, **{KEY: b"x"})
    site.write("providers", longer, "cloud", CLOUD).write("fleets", longer, long, WEB)
    verdicts = site.judged().verdicts
    assert verdicts[Place(PROVIDER, f"{longer}_cloud")].accepted
    assert "at most 62 characters" in verdicts[Place(FLEET, f"{longer}_{long}")].message


def test_a_fleet_of_the_file_clashes_with_one_of_the_home_namespace_alone(tmp_path: Path) -> None:
    site = both(tmp_path)
    site.base = {
        "provider": {"static": {"hosts": [{"address": "127.0.0.1"}]}},
        "fleet": {"web": {"size": 0, "provider": "static"}},
    }
    assembly = site.judged()
    assert assembly.verdicts[Place(FLEET, "web")].reason is Reason.NAME_TAKEN
    assert fleets(assembly) == {"web": "static", "team_web": "team_cloud"}


# ---------------------------------------------------------------- what is whose


@pytest.mark.parametrize("namespace", ["home", "team"])
@pytest.mark.parametrize("named", ["theirs", "other_theirs", "home_theirs", "_theirs", None])
def test_a_fleet_uses_no_provider_of_another_namespace(
    tmp_path: Path, namespace: str, named: str | None
) -> None:
    """Not by its name, not by the engine's for it, and not as the only one that there is."""
    spec = {key: value for key, value in WEB.items() if key != "provider"}
    if named is not None:
        spec["provider"] = named
    site = Site(tmp_path).write("fleets", namespace, "web", spec)
    for other in {"home", "team", "other"} - {namespace}:
        site.secret(other, **{KEY: b"x"}).write("providers", other, "theirs", CLOUD)
    verdict = site.judged().verdicts[Place(FLEET, NAMESPACES.name(namespace, "web"))]
    assert verdict.reason is Reason.INVALID
    assert verdict.message == "spec.provider: expected a Provider that is in force; there is none"


def test_a_refusal_names_no_provider_of_another_namespace(tmp_path: Path) -> None:
    site = both(tmp_path).write("providers", "team", "hidden", CLOUD)
    site.write("fleets", "home", "wrong", {**WEB, "provider": "clout"})
    message = site.judged().verdicts[Place(FLEET, "wrong")].message
    assert message == (
        'spec.provider = "clout": expected one of the providers: cloud (did you mean cloud?)'
    )


def test_the_accounts_of_the_file_are_for_the_home_namespace_alone(tmp_path: Path) -> None:
    base: Raw = {"provider": {"static": {"hosts": [{"address": "127.0.0.1"}]}}}
    site = Site(tmp_path, base)
    for namespace in ("home", "team"):
        site.write("fleets", namespace, "web", {"size": 0, "provider": "static"})
        site.write("fleets", namespace, "any", {"size": 0})
    assert fleets(site.judged()) == {"web": "static", "any": "static"}


def test_secrets_of_one_name_are_apart(tmp_path: Path) -> None:
    site = both(tmp_path)
    init = {**WEB, "scaleway": {"types": ["DEV1-S"], "cloudInitFile": "init"}}
    for namespace in ("home", "team"):
        site.write("fleets", namespace, "init", init)
    assembly = site.judged()
    assert all(verdict.accepted for verdict in assembly.verdicts.values())
    assert sorted(site.variables.values()) == ["home", "team"]
    files = {file.parent.name: file.read_text() for file in (tmp_path / "secrets").rglob("init")}
    assert files == {"cloud": "home", "team_cloud": "team"}


@pytest.mark.parametrize("name", ["cloud", "other_cloud", "home_cloud"])
def test_a_provider_uses_no_secret_of_another_namespace(tmp_path: Path, name: str) -> None:
    site = Site(tmp_path).secret("home", **{KEY: b"h"}).secret("other", **{KEY: b"o"})
    site.write("providers", "home", "cloud", CLOUD).write("providers", "other", "cloud", CLOUD)
    site.write("providers", "team", "cloud", {**CLOUD, "secretName": name})
    verdict = site.judged().verdicts[Place(PROVIDER, "team_cloud")]
    assert "there is no Secret in team" in verdict.message
    assert not verdict.accepted


def test_a_fleet_is_lent_the_secret_of_its_own_provider(tmp_path: Path) -> None:
    site = both(tmp_path)
    spec = {**WEB, "scaleway": {"types": ["DEV1-S"], "cloudInitFile": "init"}}
    site.write("fleets", "team", "init", spec).judged()
    (file,) = (tmp_path / "secrets").rglob("init")
    assert file.read_text() == "team"


# ---------------------------------------------------------------- hosts


def a_host(**power: object) -> Mapping[str, object]:
    ways = power or {"wakeOnLan": {"mac": "52:54:00:12:34:56"}}
    reached = {"reachability": {"address": "10.0.0.1", "offAfter": "2m"}}
    return {"provider": "rack", "power": {"address": "10.0.0.1", **reached, **ways}}


def boxes(assembly: Assembly, provider: str) -> dict[str, Raw]:
    found = table_list(assembly.tables[Place(PROVIDER, provider)]["boxes"])
    return {str(box["name"]): box for box in found}


def test_hosts_of_one_name_are_of_the_provider_of_their_namespace(tmp_path: Path) -> None:
    site = Site(tmp_path)
    for namespace in ("home", "team"):
        site.write("providers", namespace, "rack", RACK)
        site.write("hosts", namespace, "tower", a_host())
    site.write("hosts", "other", "attic", a_host())
    assembly = site.judged()
    assert list(boxes(assembly, "rack")) == ["tower"]
    assert list(boxes(assembly, "team_rack")) == ["team_tower"]


def test_a_job_of_another_namespace_runs_there_and_not_in_the_home_one(tmp_path: Path) -> None:
    site = Site(tmp_path).write("providers", "team", "rack", RACK)
    site.allow = AllowTable(images=("wol:1",))
    job: Raw = {"node": "tower", "on": {"image": "wol:1"}}
    site.write("hosts", "team", "tower", a_host(job=job))
    site.write("hosts", "team", "thief", a_host(job={**job, "namespace": "home"}))
    found = boxes(site.judged(), "team_rack")
    assert list(found) == ["team_tower"]
    assert table(found["team_tower"]["job"])["namespace"] == "team"


# ---------------------------------------------------------------- nodes


@pytest.mark.parametrize(
    ("namespace", "nodes", "accepted"),
    [("home", (), True), ("team", (), False), ("team", ("team",), True), ("team", ("x",), False)],
)
def test_fleets_of_other_namespaces_work_at_nodes_where_that_is_allowed(
    tmp_path: Path, namespace: str, nodes: tuple[str, ...], *, accepted: bool
) -> None:
    site = both(tmp_path)
    site.allow = AllowTable(nodes=nodes)
    site.write("fleets", namespace, "nodes", {**WEB, "node": {"managed": {}}})
    verdict = site.judged().verdicts[Place(FLEET, NAMESPACES.name(namespace, "nodes"))]
    assert verdict.accepted is accepted, verdict.message
    assert accepted or verdict.reason is Reason.NOT_ALLOWED
    assert accepted or "`nodes` of [frontend.kubernetes.allow]" in verdict.message
