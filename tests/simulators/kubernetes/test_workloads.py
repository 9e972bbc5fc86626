"""Pods that run and end, and Jobs that end as they are told, in simulated time."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest

from hostler.ports.http import HttpRequest, Response
from hostler.simulators.kubernetes.controllers.workloads import JobEnd, Workloads
from hostler.simulators.kubernetes.server import KubernetesServer
from hostler.testing.time.clock import SimClock

pytestmark = pytest.mark.looptime

Raw = dict[str, Any]
POD = "/api/v1/namespaces/default/pods"
JOB = "/apis/batch/v1/namespaces/default/jobs"
CONTAINERS = [{"name": "main", "image": "none.example/none"}]


def a_server(job: Callable[[Raw], JobEnd | None] = lambda _: None) -> KubernetesServer:
    server = KubernetesServer(SimClock(asyncio.get_running_loop()), Random(1))
    server.run(Workloads(job=job, start=2, stop=5))
    return server


def ask(server: KubernetesServer, method: str, path: str, body: Raw | None = None) -> Raw:
    text = b"" if body is None else msgspec.json.encode(body)
    answer = server.handle(HttpRequest(method=method, path=path, body=text))
    assert isinstance(answer, Response)
    found: Raw = msgspec.json.decode(answer.body)
    return found


def a_pod(**spec: object) -> Raw:
    metadata = {"name": "p", "namespace": "default"}
    return {"metadata": metadata, "spec": {"containers": CONTAINERS, **spec}}


def a_job(**spec: object) -> Raw:
    template = {"spec": {"restartPolicy": "Never", "containers": CONTAINERS}}
    metadata = {"name": "j", "namespace": "default"}
    return {"metadata": metadata, "spec": {"template": template, **spec}}


def ends(server: KubernetesServer) -> list[tuple[str, str]]:
    conditions = ask(server, "GET", f"{JOB}/j")["status"].get("conditions", [])
    return [(one["type"], one["reason"]) for one in conditions]


async def test_a_pod_on_a_node_runs_after_a_while_and_one_without_never() -> None:
    server = a_server()
    ask(server, "POST", POD, a_pod(nodeName="n"))
    await asyncio.sleep(1.9)
    assert ask(server, "GET", f"{POD}/p")["status"]["phase"] == "Pending"
    await asyncio.sleep(0.2)
    pod = ask(server, "GET", f"{POD}/p")
    assert pod["status"]["phase"] == "Running"
    assert [one["type"] for one in pod["status"]["conditions"]] == ["Ready"]


async def test_a_pod_that_is_deleted_ends_with_its_grace_or_before() -> None:
    server = a_server()
    for grace, seconds in ((30, 5), (3, 3)):
        ask(server, "POST", POD, a_pod(nodeName="n", terminationGracePeriodSeconds=grace))
        ask(server, "DELETE", f"{POD}/p")
        await asyncio.sleep(seconds - 0.1)
        assert ask(server, "GET", f"{POD}/p")["metadata"]["deletionTimestamp"]
        await asyncio.sleep(0.2)
        assert ask(server, "GET", f"{POD}/p")["code"] == 404


async def test_a_job_ends_by_both_conditions() -> None:
    server = a_server(lambda _: JobEnd(after=10))
    ask(server, "POST", JOB, a_job())
    await asyncio.sleep(9.9)
    assert ends(server) == []
    await asyncio.sleep(0.2)
    reached = "CompletionsReached"
    assert ends(server) == [("SuccessCriteriaMet", reached), ("Complete", reached)]


async def test_a_job_fails_by_both_conditions() -> None:
    server = a_server(lambda _: JobEnd(after=1, succeeded=False))
    ask(server, "POST", JOB, a_job())
    await asyncio.sleep(1.1)
    why = "BackoffLimitExceeded"
    assert ends(server) == [("FailureTarget", why), ("Failed", why)]


async def test_a_job_that_hangs_fails_at_its_deadline() -> None:
    server = a_server()
    ask(server, "POST", JOB, a_job(activeDeadlineSeconds=60))
    await asyncio.sleep(59.9)
    assert ends(server) == []
    await asyncio.sleep(0.2)
    why = "DeadlineExceeded"
    assert ends(server) == [("FailureTarget", why), ("Failed", why)]


async def test_a_job_is_removed_some_time_after_its_end() -> None:
    server = a_server(lambda _: JobEnd(after=1))
    ask(server, "POST", JOB, a_job(ttlSecondsAfterFinished=3))
    await asyncio.sleep(3.9)
    assert ends(server)
    await asyncio.sleep(0.2)
    assert ask(server, "GET", f"{JOB}/j")["code"] == 404
