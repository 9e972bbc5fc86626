"""The cluster of these tests: what it plays without a kubelet."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from hostler.lab.controlplane.kubectl import Kubectl

LIMIT = 400.0
pytestmark = pytest.mark.timeout(1900)  # the first test may have to build the programs


def a_node(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def a_job(name: str, **annotations: str) -> dict[str, Any]:
    pod = {
        "metadata": {"annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "only", "image": "none"}]},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"backoffLimit": 0, "template": pod},
    }


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < end, f"not within {LIMIT} s"
        time.sleep(0.2)


def conditions(found: dict[str, Any]) -> dict[str, str]:
    listed: list[dict[str, str]] = found.get("status", {}).get("conditions") or []
    return {one["type"]: one["status"] for one in listed}


@pytest.fixture
def node(kubectl: Kubectl) -> str:
    kubectl.apply(a_node("plain"))
    until(lambda: conditions(kubectl.read("node", "plain")).get("Ready") == "True")
    return "plain"


def test_jobs_end_as_their_annotations_say(node: str, kubectl: Kubectl) -> None:
    kubectl.apply(
        a_job("good"), a_job("bad", **{"test/exit-code": "3"}), a_job("slow", **{"test/hangs": "1"})
    )

    def ends() -> dict[str, dict[str, str]]:
        return {name: conditions(kubectl.read("job", name)) for name in ("good", "bad", "slow")}

    until(lambda: ends()["good"].get("Complete") == "True")
    until(lambda: ends()["bad"].get("Failed") == "True")
    until(lambda: bool(_pods(kubectl, "slow")))
    assert ends()["slow"] == {}
    (pod,) = _pods(kubectl, "slow")
    nodes = {one["metadata"]["name"] for one in kubectl.read("nodes")["items"]}
    assert node in nodes
    assert pod["spec"]["nodeName"] in nodes
    kubectl.run("delete", "job", "good", "bad", "slow")
    until(lambda: not any(_pods(kubectl, name) for name in ("good", "bad", "slow")))


def _pods(kubectl: Kubectl, job: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = kubectl.read("pods", "-l", f"job-name={job}")["items"]
    return found


def test_a_node_that_nobody_plays_is_never_ready(node: str, kubectl: Kubectl) -> None:
    kubectl.apply(a_node("dark", **{"test/unmanaged": ""}))
    kubectl.apply(a_node("bright"))
    until(lambda: conditions(kubectl.read("node", "bright")).get("Ready") == "True")
    assert conditions(kubectl.read("node", "dark")).get("Ready") != "True"
    assert node == "plain"
    kubectl.run("delete", "node", "dark", "bright")
