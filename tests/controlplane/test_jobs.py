"""Jobs that switch machines, against Kubernetes' own server and controllers; Pods are played."""

import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from hostler.access.http import AiohttpTransport
from hostler.access.shell import SshShell
from hostler.app.clock import SystemClock
from hostler.domain.model.calls import Done, Refusal, Refused, Unknown
from hostler.kubernetes.client import Client
from hostler.kubernetes.errors import NotFound
from hostler.kubernetes.objects import Key, Metadata, Object, Owner
from hostler.kubernetes.resources import Resource
from hostler.lab.controlplane.api_server import ApiServer
from hostler.lab.controlplane.kubectl import Kubectl
from hostler.ports.power import Power, PowerAction, PowerOpening, Turn
from hostler.providers.power.job.objects import JOBS, PODS, end_of
from hostler.providers.power.job.objects import Job as RunJob
from hostler.providers.power.methods.job import Job, JobTable

ON, OFF = PowerAction.ON, PowerAction.OFF_SOFT
LIMIT = timedelta(minutes=2)
Anything = Object[dict[str, object], dict[str, object]]
RAW_PODS = Resource(group="", version="v1", plural="pods", kind="Pod", model=Anything)
pytestmark = pytest.mark.timeout(1900)  # the first test may have to build the programs


@pytest.fixture(scope="session")
def api_server(cluster: ApiServer) -> ApiServer:
    """Here the server is that of a whole cluster."""
    return cluster


@asynccontextmanager
async def method(server: ApiServer, node: str, **more: object) -> AsyncGenerator[Power]:
    known: dict[str, object] = {
        "node": node,
        "kubeconfig": str(server.kubeconfig),
        "on": {"image": "wake", "args": ["52:54:00:12:34:56"], "host_network": True},
        "off": {
            "image": "poweroff",
            "secrets": {"PASSWORD": "login/password"},
            "secret_files": {"/keys": "poweroff-key"},
            "service_account": "poweroff",
        },
        "deadline": timedelta(seconds=3),
        "limit": LIMIT,
    }
    opening = PowerOpening(
        settings=msgspec.convert(known | more, JobTable),
        turn=Turn(),
        folder=Path("/nonexistent"),
        environment={},
        clock=SystemClock(),
        shell=SshShell(),
        connect=AiohttpTransport,
    )
    power = Job().open(opening)
    try:
        yield power
    finally:
        await power.close()


async def found(client: Client, key: Key) -> str:
    """Return the uid of a Job."""
    return (await client.get(JOBS, key)).metadata.uid


def names(node: str) -> tuple[Key, Key]:
    """Return what the Jobs of a node are called."""
    return Key("default", f"node-startup-{node}"), Key("default", f"node-shutdown-{node}")


def a_node() -> str:
    return f"worker-{secrets.token_hex(4)}"


async def test_a_job_runs_to_its_end_and_another_one_is_made_for_the_next_call(
    client: Client, api_server: ApiServer, kubectl: Kubectl
) -> None:
    kubectl.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "runs-jobs"}})
    node = a_node()
    key, _ = names(node)
    async with method(api_server, node, deadline=timedelta(seconds=60)) as power:
        assert isinstance(await power.act(ON), Done)
        first, end = await found(client, key), end_of(await client.get(JOBS, key))
        assert end is not None
        assert end.type == "Complete"
        assert isinstance(await power.act(ON), Done)
    assert await found(client, key) != first


async def test_a_job_that_is_under_way_is_found_again(
    client: Client, api_server: ApiServer
) -> None:
    """Its service account is not there, so that its controller makes no Pod of it."""
    node = a_node()
    key, _ = names(node)
    endless = {"image": "wake", "service_account": "no-such"}
    async with method(api_server, node, on=endless) as power:
        assert isinstance(await power.act(ON), Done)
        first = await found(client, key)
        assert isinstance(await power.act(ON), Done)
    assert await found(client, key) == first


async def test_a_job_beyond_its_bound_is_ended_by_kubernetes_and_why_is_told(
    api_server: ApiServer,
) -> None:
    endless, limit = {"image": "wake", "service_account": "no-such"}, timedelta(seconds=2)
    node, deadline = a_node(), timedelta(seconds=40)
    async with method(api_server, node, on=endless, limit=limit, deadline=deadline) as power:
        outcome = await power.act(ON)
    assert isinstance(outcome, Unknown)
    assert "DeadlineExceeded" in outcome.text


async def test_an_old_job_is_removed_with_its_pods_which_are_waited_for(
    client: Client, api_server: ApiServer
) -> None:
    """What is removed is removed by Kubernetes' own garbage collector."""
    node = a_node()
    key, old = names(node)
    endless = {"image": "poweroff", "service_account": "no-such"}
    async with method(api_server, node, off=endless, deadline=timedelta(seconds=15)) as power:
        assert isinstance(await power.act(OFF), Done)
        one = await pod_of(client, await client.get(JOBS, old))
        assert isinstance(await power.act(ON), Done)
        for resource, deleted in ((JOBS, old), (PODS, one)):
            with pytest.raises(NotFound):
                await client.get(resource, deleted)
        assert await found(client, key)


async def pod_of(client: Client, job: RunJob) -> Key:
    """Make a Pod of a Job that nobody schedules."""
    key = Key("default", f"p-{secrets.token_hex(4)}")
    owner = Owner(
        api_version="batch/v1",
        kind="Job",
        name=job.metadata.name,
        uid=job.metadata.uid,
        controller=True,
    )
    metadata = Metadata(
        name=key.name,
        namespace=key.namespace,
        labels=job.metadata.labels,
        owner_references=(owner,),
    )
    spec: dict[str, object] = {
        "schedulerName": "nobody",
        "containers": [{"name": "c", "image": "i"}],
    }
    await client.create(RAW_PODS, Anything(metadata=metadata, spec=spec))
    return key


async def test_a_name_that_is_too_long_is_taken_by_the_server(api_server: ApiServer) -> None:
    node = f"worker-{secrets.token_hex(4)}." + "x" * 60 + ".example"
    async with method(api_server, node) as power:
        assert isinstance(await power.act(ON), Done)


async def test_a_permission_that_is_missing_is_named(api_server: ApiServer) -> None:
    async with method(api_server, "worker-1", context="stranger") as power:
        outcome = await power.act(ON)
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.INVALID
    assert 'resources: ["jobs"] verbs: ["list"]' in outcome.text


async def test_a_namespace_that_is_not_there_is_named(api_server: ApiServer) -> None:
    async with method(api_server, "worker-1", namespace="no-such-place") as power:
        outcome = await power.act(ON)
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.INVALID
    assert "no-such-place" in outcome.text
