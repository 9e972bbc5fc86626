"""`hostler run --kubernetes` beside a real API server: objects come, change and go."""

import asyncio
import base64
import json
import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from kinds_kit import (
    FLEETS,
    NAMESPACES,
    PROVIDERS,
    SECRETS,
    Keys,
    Thing,
    a_thing,
    installed,
    until,
    wait_until,
)

from hostler.kubernetes.client import Client
from hostler.kubernetes.errors import NotFound
from hostler.kubernetes.objects import Key, Metadata
from hostler.kubernetes.requests import merge_patch
from hostler.kubernetes.resources import Resource
from hostler.lab.controlplane.api_server import ApiServer

pytestmark = pytest.mark.timeout(2000)  # the first test waits for the build of the server

HOSTLER = Path(sys.executable).parent / "hostler"
EXAMPLES = Path(__file__).parents[2] / "examples"
ENGINE = """
[engine]
quiet = "1s"
busy_first = "500ms"
busy_last = "1s"
rare = "1s"
poll = "100ms"
"""


@dataclass
class Cluster:
    """A namespace, and the engine that runs its objects."""

    client: Client
    namespace: str
    server: ApiServer
    folder: Path
    port: int

    async def write(self, resource: Resource[Thing], name: str, **spec: object) -> Thing:
        return await self.client.apply(resource, a_thing(resource, name, self.namespace, **spec))

    async def read(self, resource: Resource[Thing], name: str) -> Thing:
        return await self.client.get(resource, Key(self.namespace, name))

    async def status(self, resource: Resource[Thing], name: str) -> Any:
        return (await self.read(resource, name)).status or {}

    async def condition(self, resource: Resource[Thing], name: str, kind: str) -> Any:
        found = (await self.status(resource, name)).get("conditions", [])
        return next((one for one in found if one["type"] == kind), {"status": "-", "message": ""})

    async def comes(self, name: str, kind: str, status: str) -> None:
        """Wait until a condition of a Fleet has a status."""

        async def holds() -> bool:
            return bool((await self.condition(FLEETS, name, kind))["status"] == status)

        await until(holds)

    async def counts(self, name: str, resource: Resource[Thing] = FLEETS, **numbers: int) -> None:
        """Wait until the status of an object, a Fleet's else, has these numbers."""

        async def holds() -> bool:
            status = await self.status(resource, name)
            return all(status.get(key) == number for key, number in numbers.items())

        await until(holds)

    async def goes(self, resource: Resource[Thing], name: str) -> None:
        async def holds() -> bool:
            try:
                await self.read(resource, name)
            except NotFound:
                return True
            return False

        await until(holds)

    @property
    def log(self) -> Path:
        return self.folder / "engine.log"

    def start(
        self, *, file: bool = True, options: Sequence[str] = (), text: str = ENGINE
    ) -> "subprocess.Popen[bytes]":
        """Start an engine, with a file for its haste, or without any: then records are objects."""
        place = (f"--kubeconfig={self.server.kubeconfig}", f"--namespace={self.namespace}")
        options = [*place, *options]
        if file:
            (self.folder / "engine.toml").write_text(text)
            options.append(str(self.folder / "engine.toml"))
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [str(HOSTLER), "run", "--kubernetes", *options],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "HOME": str(self.folder)},
            )

    def events(self, name: str) -> list[dict[str, Any]]:
        lines = (json.loads(line) for line in self.log.read_text().splitlines() if line[:1] == "{")
        return [line for line in lines if line["event"] == name]

    async def cloud(self) -> None:
        """Write a provider whose key is in a Secret."""
        key = base64.b64encode((EXAMPLES / "simulator.key").read_bytes().strip()).decode()
        secret = a_thing(SECRETS, "cloud", self.namespace)
        await self.client.apply(SECRETS, Keys(metadata=secret.metadata, data={"KEY": key}))
        scaleway = {
            "endpoint": f"http://127.0.0.1:{self.port}",
            "project": "22222222-2222-2222-2222-222222222222",
            "secretKeyEnv": "KEY",
            "consistencyDelay": "1s",
        }
        await self.write(PROVIDERS, "cloud", kind="scaleway", secretName="cloud", scaleway=scaleway)

    async def fleet(self, name: str, size: int, **more: object) -> Thing:
        """Write a fleet whose life is short."""
        waits = {"start": "20s", "stop": "30s", "absenceGap": "1s", "probeEvery": "500ms"}
        timers = {**waits, "tries": ["1s", "2s"]}
        spec = {"provider": "cloud", "timers": timers, "scaleway": {"types": ["DEV1-S"]}}
        return await self.write(FLEETS, name, size=size, **{**spec, **more})


@pytest.fixture
def simulator(tmp_path: Path) -> Iterator[int]:
    """A cloud, thirty times faster than life; its port. It has no other installation's servers."""
    log = tmp_path / "simulator.log"
    command = [str(HOSTLER), "simulator", "scaleway", "--port", "0", "--speed", "30"]
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            wait_until(lambda: "simulator.listening" in log.read_text(), 30, "the simulator")
            (found,) = re.findall(r"127\.0\.0\.1:(\d+)", log.read_text())[:1]
            yield int(found)
        finally:
            process.kill()


@pytest_asyncio.fixture
async def cluster(
    client: Client, api_server: ApiServer, simulator: int, tmp_path: Path
) -> AsyncGenerator[Cluster]:
    await installed(client)
    name = f"fleets-{secrets.token_hex(4)}"
    await client.create(NAMESPACES, Thing(metadata=Metadata(name=name)))
    yield Cluster(client=client, namespace=name, server=api_server, folder=tmp_path, port=simulator)


@pytest_asyncio.fixture
async def engine(cluster: Cluster) -> AsyncGenerator["subprocess.Popen[bytes]"]:
    with cluster.start() as process:
        try:
            yield process
            assert process.poll() is None, cluster.log.read_text()[-3000:]
            process.send_signal(signal.SIGTERM)
            ended = await asyncio.to_thread(process.wait, 60)
            assert ended == 0, cluster.log.read_text()[-3000:]
        finally:
            process.kill()


@pytest.mark.usefixtures("engine")
async def test_a_fleet_is_run_and_its_object_says_how_it_stands(cluster: Cluster) -> None:
    await cluster.cloud()
    made = await cluster.fleet("web", 2)
    await cluster.comes("web", "Accepted", "True")
    await cluster.counts("web", size=2, machines=2)
    status = await cluster.status(FLEETS, "web")
    assert status["observedGeneration"] == made.metadata.generation
    states = {one["type"]: one["status"] for one in status["conditions"]}
    assert states["Ready"] == str(status["ready"] == status["size"])
    await cluster.comes("web", "Ready", "True")
    await cluster.counts("cloud", PROVIDERS, fleets=1)


@pytest.mark.usefixtures("engine")
async def test_scaling_makes_and_ends_machines(cluster: Cluster) -> None:
    await cluster.cloud()
    await cluster.fleet("web", 1)
    await cluster.counts("web", machines=1)
    for size in (3, 0):
        key = Key(cluster.namespace, "web")
        await cluster.client.patch(FLEETS, key, merge_patch({"spec": {"replicas": size}}), "scale")
        await cluster.counts("web", size=size, machines=size)


@pytest.mark.usefixtures("engine")
async def test_a_wrong_fleet_is_refused_with_its_place_and_stops_no_other(cluster: Cluster) -> None:
    await cluster.cloud()
    await cluster.fleet("wrong", 1, provider="clout")
    await cluster.fleet("right", 1)
    await cluster.counts("right", machines=1)
    await cluster.comes("wrong", "Accepted", "False")
    message = (await cluster.condition(FLEETS, "wrong", "Accepted"))["message"]
    assert "spec.provider" in message
    assert "did you mean cloud?" in message


@pytest.mark.usefixtures("engine")
async def test_a_slip_in_an_edit_leaves_in_force_what_was_right(cluster: Cluster) -> None:
    await cluster.cloud()
    await cluster.fleet("web", 2)
    await cluster.counts("web", machines=2)
    await cluster.fleet("web", 2, provider="nowhere")
    await cluster.comes("web", "Accepted", "False")
    message = (await cluster.condition(FLEETS, "web", "Accepted"))["message"]
    assert "spec.provider" in message
    assert "stays in force" in message
    await cluster.counts("web", machines=2)


@pytest.mark.usefixtures("engine")
async def test_a_fleet_that_is_paused_changes_nothing_until_it_is_not(cluster: Cluster) -> None:
    await cluster.cloud()
    await cluster.fleet("web", 1)
    await cluster.counts("web", machines=1)
    await cluster.fleet("web", 1, paused=True)
    await cluster.comes("web", "Paused", "True")
    await cluster.fleet("web", 2, paused=True)
    await cluster.counts("web", size=2, machines=1)
    await cluster.fleet("web", 2, paused=False)
    await cluster.counts("web", machines=2)
    await cluster.comes("web", "Paused", "False")


@pytest.mark.parametrize(("policy", "left"), [("end", 0), ("leave", 2)])
async def test_a_deletion_ends_the_machines_or_leaves_them(
    cluster: Cluster, engine: "subprocess.Popen[bytes]", policy: str, left: int
) -> None:
    await cluster.cloud()
    await cluster.fleet("web", 2, deletionPolicy=policy)
    await cluster.counts("web", machines=2)
    await cluster.client.delete(FLEETS, Key(cluster.namespace, "web"))
    await cluster.goes(FLEETS, "web")
    await cluster.fleet("web", 2, paused=True)
    await cluster.counts("web", machines=left)
    assert engine.poll() is None


@pytest.mark.usefixtures("engine")
async def test_a_deleted_fleet_that_is_protected_ends_once_it_is_so_no_more(
    cluster: Cluster,
) -> None:
    await cluster.cloud()
    await cluster.fleet("web", 1, deletionPolicy="end", protected=True)
    await cluster.counts("web", machines=1)
    await cluster.client.delete(FLEETS, Key(cluster.namespace, "web"))

    async def says() -> bool:
        ready = await cluster.condition(FLEETS, "web", "Ready")
        return "kept by spec.protected: set it to false" in ready["message"]

    await until(says)
    await cluster.fleet("web", 1, deletionPolicy="end", protected=False)
    await cluster.goes(FLEETS, "web")
    await cluster.fleet("web", 1, paused=True)
    await cluster.counts("web", machines=0)


@pytest.mark.usefixtures("engine")
async def test_a_provider_stays_until_its_fleets_are_gone(cluster: Cluster) -> None:
    await cluster.cloud()
    await cluster.fleet("web", 1, deletionPolicy="end")
    await cluster.counts("web", machines=1)
    await cluster.client.delete(PROVIDERS, Key(cluster.namespace, "cloud"))
    await cluster.client.delete(FLEETS, Key(cluster.namespace, "web"))
    await cluster.goes(FLEETS, "web")
    await cluster.goes(PROVIDERS, "cloud")


async def test_what_an_engine_ran_it_runs_after_a_restart_past_a_slip(cluster: Cluster) -> None:
    await cluster.cloud()
    await cluster.fleet("web", 1)
    with cluster.start() as process:
        try:
            await cluster.counts("web", machines=1)
        finally:
            process.kill()
    await cluster.fleet("web", 2, provider="nowhere")
    with cluster.start() as process:
        try:
            await cluster.comes("web", "Accepted", "False")
            await cluster.counts("web", size=1, machines=1)
            assert process.poll() is None
        finally:
            process.kill()


async def test_without_a_file_the_cluster_has_the_records_and_another_engine_takes_over(
    cluster: Cluster,
) -> None:
    await cluster.cloud()
    await cluster.fleet("web", 1)
    with cluster.start(file=False) as first:
        try:
            await cluster.counts("web", machines=1)
            assert not list(cluster.folder.rglob("*.db"))
        finally:
            first.kill()
    await cluster.fleet("web", 2)
    with cluster.start(file=False) as other:
        try:
            await cluster.counts("web", size=2, machines=2)
        finally:
            other.kill()


@pytest.mark.parametrize(("policy", "size"), [("leave", 0), ("end", 0), ("leave", 1)])
async def test_an_accounts_only_fleet_is_let_go(cluster: Cluster, policy: str, size: int) -> None:
    """One that holds nothing is run by no engine any more, and so is never marked as removed."""
    await cluster.cloud()
    await cluster.fleet("web", size, deletionPolicy=policy)
    with cluster.start(file=False) as process:
        try:
            await cluster.comes("web", "Accepted", "True")
            await cluster.counts("web", machines=size)
            await cluster.client.delete(FLEETS, Key(cluster.namespace, "web"))
            await cluster.goes(FLEETS, "web")
            assert process.poll() is None
        finally:
            process.kill()


async def test_kinds_that_are_not_installed_are_named_with_the_cure(
    api_server: ApiServer, tmp_path: Path
) -> None:
    options = ("--kubernetes", f"--kubeconfig={api_server.kubeconfig}", "--context=stranger")
    done = await asyncio.to_thread(
        subprocess.run,
        [str(HOSTLER), "run", *options, f"--state={tmp_path}", "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "kind: Role" in done.stdout
    assert msgspec.json.decode(done.stdout.splitlines()[-1])["error"]["kind"] == "Forbidden"
