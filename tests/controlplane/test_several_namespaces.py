"""`hostler run --kubernetes` for several namespaces, beside a real API server."""

import asyncio
import json
import secrets
import signal
import subprocess
import urllib.request
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest
import pytest_asyncio
from kinds_kit import FLEETS, NAMESPACES, PROVIDERS, Thing, until
from test_run import EXAMPLES, HOSTLER, Cluster, cluster, simulator

from hostler.kubernetes.client import Client
from hostler.kubernetes.objects import Key, Metadata
from hostler.kubernetes.requests import merge_patch
from hostler.lab.controlplane.api_server import ApiServer

pytestmark = pytest.mark.timeout(2000)  # the first test waits for the build of the server
__all__ = ["cluster", "simulator"]

KEY = (EXAMPLES / "simulator.key").read_text().strip()


@dataclass
class Two:
    """The home namespace, and another one beside it."""

    home: Cluster
    team: Cluster

    def servers(self) -> dict[str, int]:
        """Return how many servers there are of each fleet, by their tags."""
        return dict(Counter(self.by_id().values()))

    def by_id(self) -> dict[str, str]:
        """Return the fleet of each server."""
        address = f"http://127.0.0.1:{self.home.port}/instance/v1/zones/fr-par-1/servers"
        request = urllib.request.Request(address, headers={"X-Auth-Token": KEY})
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - loopback only
            found = json.loads(answer.read())["servers"]
        return {
            one["id"]: tag.removeprefix("hostler-fleet=")
            for one in found
            for tag in one["tags"]
            if tag.startswith("hostler-fleet=")
        }

    @asynccontextmanager
    async def engine(self, *options: str) -> AsyncGenerator["subprocess.Popen[bytes]"]:
        """Run an engine; the first namespace is its home."""
        with self.home.start(options=options) as process:
            try:
                yield process
                assert process.poll() is None, self.home.log.read_text()[-3000:]
                process.send_signal(signal.SIGTERM)
                assert await asyncio.to_thread(process.wait, 60) == 0
            finally:
                process.kill()


@pytest_asyncio.fixture
async def two(cluster: Cluster) -> Two:
    name = f"team-{secrets.token_hex(4)}"
    await cluster.client.create(NAMESPACES, Thing(metadata=Metadata(name=name)))
    await _without_those_of_other_tests(cluster.client)
    return Two(home=cluster, team=replace(cluster, namespace=name))


async def _is(one: object, other: object) -> bool:
    return one == other


async def _without_those_of_other_tests(client: Client) -> None:
    """Take the objects of other tests away, whose clouds are gone: all namespaces are read here."""
    for resource in (FLEETS, PROVIDERS):
        for one in (await client.list_all(resource)).items:
            key = Key(one.metadata.namespace, one.metadata.name)
            free = merge_patch({}, metadata={"finalizers": None})
            await client.patch(resource, key, free)
            await client.delete(resource, key)


@pytest.mark.parametrize("every", [False, True], ids=["two", "all"])
async def test_fleets_of_one_name_in_two_namespaces_have_servers_of_their_own(
    two: Two, *, every: bool
) -> None:
    options = ("--all-namespaces",) if every else (f"--namespace={two.team.namespace}",)
    async with two.engine(*options):
        for size, one in ((1, two.home), (2, two.team)):
            await one.cloud()
            await one.fleet("web", size)
        await two.home.counts("web", size=1, machines=1)
        await two.team.counts("web", size=2, machines=2)
        await until(lambda: _is(two.servers(), {"web": 1, f"{two.team.namespace}_web": 2}))
        await two.team.fleet("web", 0)
        await two.team.counts("web", size=0, machines=0)
        assert two.servers() == {"web": 1}


async def test_a_fleet_gets_at_no_provider_and_no_secret_of_another_namespace(two: Two) -> None:
    team = two.team.namespace
    async with two.engine(f"--namespace={team}"):
        await two.home.cloud()
        scaleway = {"project": "22222222-2222-2222-2222-222222222222", "secretKeyEnv": "KEY"}
        spec = {"kind": "scaleway", "scaleway": scaleway}
        await two.team.write(PROVIDERS, "own", secretName="cloud", **spec)
        for name, provider in (("cloud", "cloud"), ("own", "own")):
            await two.team.fleet(name, 1, provider=provider)
            await two.team.comes(name, "Accepted", "False")
        message = (await two.team.condition(PROVIDERS, "own", "Accepted"))["message"]
        assert f"there is no Secret cloud in {team}" in message
        message = (await two.team.condition(FLEETS, "cloud", "Accepted"))["message"]
        assert 'spec.provider = "cloud": expected one of the providers: own' in message
        assert two.servers() == {}


async def test_a_namespace_that_is_not_read_is_left_alone(two: Two) -> None:
    async with two.engine():
        for one in (two.home, two.team):
            await one.cloud()
            await one.fleet("web", 1)
        await two.home.counts("web", machines=1)
        assert await two.team.status(FLEETS, "web") == {}


async def test_machines_go_on_when_a_second_namespace_is_read_too(two: Two) -> None:
    """What is at home keeps its name, and so its records and its servers."""
    for one in (two.home, two.team):
        await one.cloud()
        await one.fleet("web", 1)
    async with two.engine():
        await two.home.counts("web", machines=1)
        await until(lambda: _is(two.servers(), {"web": 1}))
        (before,) = two.by_id()
    async with two.engine("--all-namespaces"):
        await until(lambda: _is(two.servers(), {"web": 1, f"{two.team.namespace}_web": 1}))
        assert two.by_id()[before] == "web"
        await two.home.counts("web", machines=1)


async def test_a_home_that_changed_is_refused_before_anything_is_made_twice(two: Two) -> None:
    await two.home.cloud()
    await two.home.fleet("web", 1)
    async with two.engine():
        await two.home.counts("web", machines=1)
        await until(lambda: _is(two.servers(), {"web": 1}))
    with two.team.start(options=("--all-namespaces",)) as process:
        try:
            assert await asyncio.to_thread(process.wait, 60) != 0
        finally:
            process.kill()
    message = f"the home namespace of these records is {two.home.namespace}"
    assert message in two.home.log.read_text()
    assert two.servers() == {"web": 1}


@pytest.mark.parametrize(
    ("options", "role"),
    [
        (("--namespace=machines", "--namespace=more"), ("kind: Role", "namespace: machines")),
        (("--namespace=machines", "--all-namespaces"), ("kind: ClusterRole",)),
    ],
)
async def test_a_missing_permission_is_named_with_its_role_and_its_namespace(
    two: Two, api_server: ApiServer, options: tuple[str, ...], role: tuple[str, ...]
) -> None:
    place = (f"--kubeconfig={api_server.kubeconfig}", "--context=stranger")
    done = await asyncio.to_thread(
        subprocess.run,
        [
            *(str(HOSTLER), "run", "--kubernetes", *place, *options),
            *(f"--state={two.home.folder}", "--json"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    message = json.loads(done.stdout.splitlines()[-1])["error"]["message"]
    assert all(part in message.splitlines() or f"  {part}" in message.splitlines() for part in role)
