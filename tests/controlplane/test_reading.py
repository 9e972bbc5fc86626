"""Commands that read and ask beside `hostler run --kubernetes`, beside a real API server."""

import asyncio
import json
import os
import secrets
import signal
import subprocess
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from kinds_kit import FLEETS, NAMESPACES, Free, Thing, a_thing
from msgspec import Struct
from rack_kit import Rack
from test_hosts import a_fleet, furnish, rack
from test_run import ENGINE, HOSTLER, Cluster, cluster, engine, simulator

from hostler.app.compose import Composed
from hostler.domain.errors import StoreError
from hostler.domain.ids import AccountName
from hostler.frontends.kubernetes.fleets.source import Source
from hostler.kubernetes.objects import Key, Metadata
from hostler.kubernetes.requests import merge_patch
from hostler.kubernetes.resources import Resource
from hostler.ports.engine_record import EngineRecord
from hostler.stores.memory import MemoryStore
from hostler.testing.scenes.builders import BEGIN, HOME

pytestmark = pytest.mark.timeout(2000)  # the first test waits for the build of the server
__all__ = ["cluster", "engine", "rack", "simulator"]


class Rights(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A Role, or a RoleBinding."""

    metadata: Metadata
    rules: list[Free] = []
    role_ref: Free = {}
    subjects: list[Free] = []


RBAC = "rbac.authorization.k8s.io"


def rights(plural: str, kind: str) -> Resource[Rights]:
    return Resource(group=RBAC, version="v1", plural=plural, kind=kind, model=Rights)


async def hostler(
    cluster: Cluster, *words: str, kubeconfig: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command as a person does, whose kubeconfig is the cluster's unless told otherwise."""
    environment = {**os.environ, "HOME": str(cluster.folder)}
    environment["KUBECONFIG"] = str(kubeconfig or cluster.server.kubeconfig)
    return await asyncio.to_thread(
        subprocess.run,
        [str(HOSTLER), *words],
        env=environment,
        cwd=cluster.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


async def printed(cluster: Cluster, *words: str, kubeconfig: Path | None = None) -> Any:
    """Return what a command prints with --json; it must be well."""
    done = await hostler(cluster, *words, "--json", kubeconfig=kubeconfig)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


async def up(cluster: Cluster) -> None:
    """Have one ready machine, of a Fleet."""
    await cluster.cloud()
    await cluster.fleet("web", 1)
    await cluster.counts("web", ready=1)


@pytest_asyncio.fixture
async def alone(cluster: Cluster) -> AsyncGenerator["subprocess.Popen[bytes]"]:
    """An engine without any file: its records are in the cluster."""
    with cluster.start(file=False) as process:
        try:
            yield process
            process.send_signal(signal.SIGTERM)
            await asyncio.to_thread(process.wait, 60)
        finally:
            process.kill()


def names(result: Any) -> list[str]:
    return [fleet["name"] for fleet in result["fleets"]]


@pytest.mark.usefixtures("engine")
async def test_beside_a_file_fleets_of_objects_are_shown_as_what_they_are(cluster: Cluster) -> None:
    await up(cluster)
    file = str(cluster.folder / "engine.toml")
    status = await printed(cluster, "status", file)
    assert names(status) == ["web"]
    assert status["standing"]["notices"] == []
    (machine,) = (one["id"] for one in status["fleets"][0]["machines"])
    explained = await printed(cluster, "explain", file, machine)
    assert explained["phase"] == "ready"
    assert "no longer in the file" not in json.dumps(explained)
    checked = await printed(cluster, "check", file)
    assert [one["about"] for one in checked["checks"]] == ["fleet web"]
    done = await hostler(cluster, "scale", file, "3")
    assert done.returncode == 2
    assert "kubectl scale fleets.hostler.dev web --replicas=3" in done.stderr
    done = await hostler(cluster, "delete", file, "web")
    assert "deletionPolicy: end" in done.stderr


@pytest.mark.usefixtures("engine")
async def test_beside_a_file_without_the_cluster_the_rest_is_shown_and_why(
    cluster: Cluster,
) -> None:
    await up(cluster)
    nowhere = cluster.folder / "nowhere.yaml"
    status = await printed(cluster, "status", "engine.toml", kubeconfig=nowhere)
    assert names(status) == []
    (notice,) = status["standing"]["notices"]
    assert "the objects that the engine runs beside this file cannot be read" in notice
    assert "nowhere.yaml" in notice
    checked = await printed(cluster, "check", "engine.toml", kubeconfig=nowhere)
    assert [(one["about"], one["warning"]) for one in checked["checks"]] == [("objects", True)]


@pytest.mark.parametrize("fault", [StoreError("locked"), TimeoutError()])
async def test_what_breaks_while_objects_are_read_is_told(
    cluster: Cluster, fault: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks(*_: object) -> None:
        raise fault

    monkeypatch.setattr(Source, "first", breaks)
    (cluster.folder / "beside.toml").write_text(ENGINE)
    composed = Composed(environment={"KUBECONFIG": str(cluster.server.kubeconfig)})
    before = composed.cluster
    config = composed.load(cluster.folder / "beside.toml", partial=True)
    store = MemoryStore(HOME)
    record = EngineRecord(
        file=str(config.path), since=BEGIN, objects=("fleet.web",), home=cluster.namespace
    )
    await store.save_engine_record(record)
    async with composed.objects(config, store) as read:
        assert read.objects == {"fleet.web"}
        assert "cannot be read: " in read.unread
        assert (str(fault) or "did not answer within 20 s") in read.unread
        assert not composed.lends_to(AccountName("cloud"))  # whoever wrote it has no key of ours
    assert composed.lends_to(AccountName("cloud"))
    assert composed.cluster is before


async def test_an_address_says_in_which_cluster_nodes_are_too(cluster: Cluster) -> None:
    kubeconfig = cluster.server.kubeconfig
    where = f"context=admin&kubeconfig={kubeconfig}"
    composed = Composed(environment={"HOME": str(cluster.folder)})
    config = composed.load(Path(f"kubernetes:{cluster.namespace}?{where}"), partial=True)
    async with composed.objects(config, MemoryStore(HOME)) as read:
        assert (read.objects, read.unread) == (frozenset(), "")
        named = composed.cluster
    assert (named.kubeconfig, named.context) == (kubeconfig, "admin")


@pytest.mark.usefixtures("alone")
async def test_an_address_stands_for_the_objects_where_there_is_no_file(cluster: Cluster) -> None:
    await up(cluster)
    address = f"kubernetes:{cluster.namespace}"
    status = await printed(cluster, "status", address)
    assert names(status) == ["web"]
    assert status["standing"] == {"store": True, "engine": True, "differs": [], "notices": []}
    (machine,) = (one["id"] for one in status["fleets"][0]["machines"])
    assert (await printed(cluster, "explain", address, machine))["phase"] == "ready"
    assert (await printed(cluster, "history", address, machine))["events"]
    assert [one["fleet"] for one in (await printed(cluster, "plan", address))["fleets"]] == ["web"]
    assert (await printed(cluster, "orphans", address, "--observe"))["orphans"] == []
    done = await printed(cluster, "delete", address, machine)
    assert done["taken"]
    checked = await printed(cluster, "check", address, "--online")
    assert {"fleet web", "provider cloud"} <= {one["about"] for one in checked["checks"]}
    assert checked["ok"]
    refused = await hostler(cluster, "run", address)
    assert refused.returncode == 2
    assert "this command takes a fleet file" in refused.stderr
    done_again = await hostler(cluster, "reload", address)
    assert "there is nothing to reload" in done_again.stderr


@pytest.mark.usefixtures("alone")
async def test_hosts_that_are_objects_are_listed_and_explained(
    cluster: Cluster, rack: Rack
) -> None:
    await furnish(cluster, rack)
    await a_fleet(cluster, rack, 1)
    await cluster.counts("nodes", ready=1)
    address = f"kubernetes:{cluster.namespace}"
    hosts = (await printed(cluster, "pool", address, "list"))["hosts"]
    assert {one["name"] for one in hosts} == {*rack.hosts}
    (taken,) = (one["name"] for one in hosts if one["machine"])
    explained = await printed(cluster, "explain", address, taken)
    assert explained["host"]["machine"]
    done = await printed(cluster, "host", address, "reserve", taken, "--why", "a new disk")
    assert done["taken"]


@pytest.mark.usefixtures("alone")
async def test_whose_rights_end_at_secrets_reads_records_and_is_told_of_the_secret(
    cluster: Cluster,
) -> None:
    await up(cluster)
    metadata = a_thing(FLEETS, "reader", cluster.namespace).metadata
    ours = ["fleets", "providers", "hosts", "journals", "journalparts"]
    rules: list[Free] = [
        {"apiGroups": ["hostler.dev"], "resources": ours, "verbs": ["get", "list", "watch"]}
    ]
    binding = Rights(
        metadata=metadata,
        role_ref={"apiGroup": RBAC, "kind": "Role", "name": "reader"},
        subjects=[{"apiGroup": RBAC, "kind": "User", "name": "stranger"}],
    )
    role = Rights(metadata=metadata, rules=rules)
    await cluster.client.apply(rights("roles", "Role"), role)
    await cluster.client.apply(rights("rolebindings", "RoleBinding"), binding)
    address = f"kubernetes:{cluster.namespace}?context=stranger"
    status = await printed(cluster, "status", address)
    assert names(status) == ["web"]
    (machine,) = (one["id"] for one in status["fleets"][0]["machines"])
    done = await hostler(cluster, "explain", address, machine)
    assert done.returncode == 2
    assert "the Secret cloud cannot be read" in done.stderr
    assert done.stderr.count("This rule would allow it") == 1
    checked = await printed(cluster, "check", address)
    (lacking,) = (one for one in checked["checks"] if one["warning"])
    assert "the Secret cloud cannot be read" in lacking["text"]


@pytest.mark.usefixtures("alone")
async def test_secrets_that_a_command_read_are_nowhere_afterwards(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    await up(cluster)
    await printed(cluster, "plan", f"kubernetes:{cluster.namespace}")
    assert list(folder.iterdir()) == []


async def test_a_fleet_whose_object_went_without_an_engine_is_shown_as_left(
    cluster: Cluster,
) -> None:
    with cluster.start(file=False) as process:
        try:
            await up(cluster)
        finally:
            process.kill()
    unheld = merge_patch({"metadata": {"finalizers": None}})
    key = Key(cluster.namespace, "web")
    await cluster.client.patch(FLEETS, key, unheld)
    await cluster.client.delete(FLEETS, key)
    status = await printed(cluster, "status", f"kubernetes:{cluster.namespace}")
    assert names(status) == ["web"]
    (notice,) = status["standing"]["notices"]
    assert "the fleet web is not in the file, and has 1 machine" in notice


async def test_fleets_of_other_namespaces_are_shown_by_the_names_of_the_engine(
    cluster: Cluster,
) -> None:
    name = f"team-{secrets.token_hex(4)}"
    await cluster.client.create(NAMESPACES, Thing(metadata=Metadata(name=name)))
    team = replace(cluster, namespace=name)
    with cluster.start(options=[f"--namespace={name}"], text=ENGINE) as process:
        try:
            await up(team)
            status = await printed(cluster, "status", "engine.toml")
            assert names(status) == [f"{name}_web"]
            assert status["standing"]["notices"] == []
            done = await hostler(cluster, "scale", "engine.toml", "3")
            assert f"kubectl -n {name} scale fleets.hostler.dev web --replicas=3" in done.stderr
        finally:
            process.kill()
