"""Jobs that switch machines, against Kubernetes' own API server; no controller runs them here."""

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import msgspec
from api_server import ApiServer

from hostler.access.http import AiohttpTransport
from hostler.access.shell import SshShell
from hostler.app.clock import SystemClock
from hostler.domain.model.calls import Done, Refusal, Refused, Unknown
from hostler.kubernetes.client import Client
from hostler.kubernetes.objects import Key
from hostler.kubernetes.requests import Selection, merge_patch
from hostler.ports.power import Power, PowerAction, PowerOpening, Turn
from hostler.providers.power.job.objects import JOBS, PODS, end_of
from hostler.providers.power.methods.job import Job, JobTable

ON, OFF = PowerAction.ON, PowerAction.OFF_SOFT
LIMIT = timedelta(minutes=2)


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


async def finish(client: Client, key: Key, kind: str) -> None:
    """Finish a Job as its controller does, by both conditions."""
    job, early = await client.get(JOBS, key), {"Complete": "SuccessCriteriaMet"}.get(kind)
    now = job.metadata.creation_timestamp
    condition = {"status": "True", "reason": "Why", "message": "so", "lastProbeTime": now}
    condition |= {"lastTransitionTime": now}
    names = (early or "FailureTarget", kind)
    status: dict[str, object] = {
        "startTime": now,
        **({"completionTime": now, "succeeded": 1} if kind == "Complete" else {"failed": 1}),
        "uncountedTerminatedPods": {},
        "conditions": [{"type": name, **condition} for name in names],
    }
    await client.patch(JOBS, key, merge_patch({"status": status}), "status")


async def test_a_job_is_made_once_and_found_again_until_it_is_finished(
    client: Client, api_server: ApiServer
) -> None:
    node = f"worker-{secrets.token_hex(4)}"
    key = Key("default", f"node-startup-{node}")
    async with method(api_server, node) as power:
        assert isinstance(await power.act(ON), Done)
        first = await client.get(JOBS, key)
        assert isinstance(await power.act(ON), Done)
        assert (await client.get(JOBS, key)).metadata.uid == first.metadata.uid
        await finish(client, key, "Complete")
        assert end_of(await client.get(JOBS, key)) is not None
        assert isinstance(await power.act(ON), Done)
        assert (await client.get(JOBS, key)).metadata.uid != first.metadata.uid


async def test_a_job_that_fails_is_told_while_it_is_followed(
    client: Client, api_server: ApiServer
) -> None:
    node = f"worker-{secrets.token_hex(4)}"
    key = Key("default", f"node-startup-{node}")
    async with method(api_server, node) as power, asyncio.TaskGroup() as group:
        task = group.create_task(power.act(ON))
        while not (
            await client.list_all(JOBS, Selection(fields=f"metadata.name={key.name}"))
        ).items:
            await asyncio.sleep(0.05)
        await finish(client, key, "Failed")
        assert await task == Unknown(text=f"the Job {key} failed: Why: so")


async def test_the_other_job_of_a_node_is_removed_first(
    client: Client, api_server: ApiServer
) -> None:
    node = f"worker-{secrets.token_hex(4)}"
    async with method(api_server, node) as power:
        assert isinstance(await power.act(OFF), Done)
        assert isinstance(await power.act(ON), Done)
    jobs = await client.list_all(JOBS, Selection(labels=f"hostler.dev/node={node}"))
    assert [job.metadata.name for job in jobs.items] == [f"node-startup-{node}"]
    assert not (await client.list_all(PODS, Selection(labels=f"hostler.dev/node={node}"))).items


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
